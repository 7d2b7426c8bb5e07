"""The names of the codes, as they stand on the screens and in what leaves in a file, in the reader's language.

Nothing else knows them. Never on a screen: claim, crossing, threshold, lease, hand-over, tick, standing, watermark,
horizon.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from app.domain import media
from app.domain.acts import Outcome
from app.domain.delivery import Outcome as Reply
from app.domain.delivery import Resolution, State
from app.wording import pgettext


class Named(Mapping[str, str]):
    """The names of the codes of one kind, in the language of whoever reads them now."""

    def __init__(self, of: str, english: Mapping[str, str]) -> None:
        self.of = of
        self.english = english

    def __getitem__(self, code: str) -> str:
        return pgettext(self.of, self.english[code])

    def __iter__(self) -> Iterator[str]:
        return iter(self.english)

    def __len__(self) -> int:
        return len(self.english)


NAMES: Mapping[str, Mapping[str, str]] = {
    "role": {"admin": "Administrator", "officer": "Compliance manager", "staff": "Team member", "inspector": "Inspector"},
    "status": {"draft": "Draft", "watched": "Watched", "out_of_service": "Out of service", "archived": "Archived"},
    "outcome": {
        Outcome.met: "Done", Outcome.failed: "Failed", Outcome.not_required: "Closed without doing it: not required",
        Outcome.entered_in_error: "Entered in error",
    },
    "answer": {"seen": "Got it", "on_it": "On it", "done": "Done", "not_mine": "Not mine", "help": "Help needed"},
    "channel": {"in_app": "in the app", "email": "e-mail"},
    "state": {
        State.pending: "Waiting", State.leased: "Waiting", State.handing_over: "Being sent", State.delivered: "Delivered",
        State.failed: "Refused by the mail server", State.in_doubt: "May have been sent, not confirmed",
        State.cancelled: "Not sent", State.bounced: "Came back", State.held: "Held until a person looks",
    },
    "standing": {"open": "Raised", "superseded": "Not sent", "withdrawn": "Stopped"},
    "because": {
        "owner": "responsible for it", "holder": "its holder", "post": "holds a post at the site",
        "role": "has a role that is told", "named": "named in the rule",
        "fallback": "the rule names this person for messages that are refused or come back",
        "returned": "a message of this alert was refused or came back", "cover": "stands in for",
        "above": "holds the post above; it was said to be somebody else's, and nobody has acted since",
        "nobody_above": "administrator; it was said to be somebody else's, nobody has acted since or holds a post above",
    },
    "reason": {
        "sharper": "a later alert covers it", "start": "already past when entered", "nobody_to_tell": "nobody to tell",
        "closed": "done or closed", "moved": "the date was moved", "rule_off": "the rule is off",
        "threshold_off": "the rule no longer has this alert", "no_match": "the rule is no longer about this entry",
        "snoozed": "alerts are paused", "archived": "the entry is archived", "out_of_service": "out of service",
        "draft": "the entry is a draft", "site_archived": "the site is archived", "filed": "pending with the authority",
        "somebody_on_it": "somebody is on it", "not_a_recipient": "no longer told by the rule",
        "channel_off": "the rule no longer uses this channel",
        "away": "is away, and the stand-in is told instead",
        "refused": "refused for good", "gave_up": "tried as often as it may be",
        "no_answer": "the line broke before the mail server answered",
        "abandoned": "the process that was sending it is gone", "stopped": "Onus was stopped before the answer came",
        "restored": "the database was restored, so this may have been told since",
    },
    "waits_for": {
        "alert_from": "before, no alert of the site goes out", "daily": "it goes with the daily message",
        "rest": "rest time", "day_off": "rest time and days off", "due_soon": "it is due soon",
        "despite_rest": "part of the rest time gives way, since it is due before it would have ended",
    },
    "timed_by": {
        "alert_from": "It had waited for the hour of the site", "daily": "It went with the daily message",
        "rest": "It had waited for the end of the rest time", "day_off": "It had waited for the end of rest time and days off",
        "due_soon": "It did not wait for the daily message: due within two working days, or past its date",
        "despite_rest": "Sent in rest time: due before it would have ended",
    },
    "resolution": {
        Resolution.delivered: "it arrived", Resolution.failed: "it was not sent", Resolution.resend: "it is sent again",
        Resolution.settled: "settled otherwise, told in another way",
    },
    "try": {
        Reply.delivered: "the mail server took it", Reply.retry: "refused for now", Reply.failed: "refused for good",
        Reply.in_doubt: "no answer", Reply.transport: "the mail server could not be used, so this try does not count",
        Reply.lost_lease: "stopped before anything was sent, so this try does not count",
        "lost": "broken off before anything was sent", State.bounced: "it came back",
    },
    "verb": {
        "connect": "while connecting", "greeting": "at the greeting", "ehlo": "at the greeting",
        "starttls": "while securing the line", "auth": "while signing in", "mail": "at the sender's address",
        "rcpt": "at the recipient's address", "data": "before the text", "body": "during the text",
        "mark": "just before the end of the text", "dot": "after the whole message", "compose": "before anything was sent",
        "file": "as a file of this host", "lease": "before anything was sent", "bounce": "by a report of a mail server",
    },
    "move_reason": {
        "authority": "The authority set another date", "typing_error": "The date was typed wrongly",
        "law_change": "The law changed", "agreed": "Agreed with the authority", "other": "Another reason",
    },
    "snooze_reason": {"waiting": "Waiting for somebody", "planned": "Planned already", "other": "Another reason"},
    "drop_reason": {
        "kept_long_enough": "Kept long enough", "personal": "It says what may not be kept of a person",
        "wrong_file": "The wrong file", "other": "Another reason",
    },
    "archive_reason": {"gone": "No longer exists", "replaced": "Replaced", "sold": "Sold", "entered_in_error": "Entered in error", "other": "Another reason"},
    "close_reason": {
        "not_required": "Not required", "replaced": "Replaced by another", "entered_in_error": "Entered in error",
        "other": "Another reason",
    },
    "reopen_reason": {"not_done": "It was not done after all", "typing_error": "Typing error", "other": "Another reason"},
    "in_force": {"yes": "Yes", "no": "No", "unclear": "Unclear"},
    "filing_result": {"granted": "Granted", "refused": "Refused", "withdrawn": "Withdrawn"},
    "basis": {"due": "from the due date", "done": "from the day it was done", "calendar": "by the calendar, also while the last one is open"},
    "media_type": {
        media.PDF: "PDF", media.JPEG: "JPEG", media.PNG: "PNG", media.HEIC: "HEIC", media.TIFF: "TIFF",
        media.WEBP: "WebP", media.DOCX: "DOCX", media.XLSX: "XLSX", media.ODT: "ODT", media.ODS: "ODS",
        media.MAIL: "e-mail", media.TEXT: "text", media.CSV: "CSV",
    },
    "next_from": {
        "paper": "the day until which the new paper is valid", "person": "as a person said",
        "nothing": "no next date",
    },
    "start": {"now": "alerts that are due already are sent", "next": "alerts from the next one on"},
    "import_outcome": {
        "new": "New", "changed": "Changed", "unchanged": "Unchanged", "confirm": "To confirm",
        "no_expiry": "Without a due date", "duplicate": "Repeated in the file", "conflict": "In conflict",
        "skipped": "Blank", "rejected": "Rejected",
    },
    "import_field": {
        "reference": "Reference", "due_on": "Due date", "title": "Title", "site": "Site", "kind": "Kind",
        "owner": "Responsible (e-mail, number or post:NAME)", "holder": "Holder (e-mail or number)",
        "part_of": "Part of (reference)", "recurrence": "Comes again (1y, 6m, 30d)",
        "recurrence_basis": "Counted (due, done, calendar)", "due_from": "Before or after its whole (180d, +7d)",
        "legal_basis": "Legal basis",
        "notes": "Notes", "left_out": "Leave it out",
    },
    "people_field": {
        "name": "Name", "first_name": "First name", "last_name": "Last name", "number": "Number (of the employee)",
        "email": "E-mail", "site": "Site", "post": "Post", "role": "Role",
    },
    "date_format": {
        "auto": "As the whole column proves", "ymd": "Year, month, day", "dmy": "Day, month, year",
        "mdy": "Month, day, year", "pattern": "Another way: by the pattern below",
    },
    "on_conflict": {
        "refuse": "None of them is taken", "latest": "The one with the latest due date is taken",
    },
    "only_if": {"always": "always", "nobody_on_it": "only if nobody acts"},
    "wording": {"expires": "expires (a paper)", "falls_due": "falls due (something to do)"},
    "gap": {
        "site_archived": "the site is archived", "draft": "drafts", "out_of_service": "out of service",
        "no_date": "no open deadline", "no_rule": "no rule for kind and site", "nobody_to_tell": "nobody to tell",
        "paused": "paused",
    },
    "queue": {
        "overdue": "Overdue, and nobody is on it", "check": "To check", "silent": "Told, no answer",
        "attention": "Not mine, help asked, nobody to tell, came back", "doubt": "May have been sent, not confirmed",
        "filed": "Pending with the authority: ask again", "coming": "Next 14 days, nobody on it", "late": "Overdue",
        "month": "Next 30 days",
    },
    "queue_hint": {
        "unwatched": "No alert comes for these as things stand. Release, complete or hand them over.",
        "unreached": "Alerts of the next 90 days for which everybody will be away, gone or out of reach. Name a stand-in, or somebody else.",
        "overdue": "Past the date, with no answer that stands and nothing pending with the authority.",
        "check": "Somebody says it is done, and the deadline is still open: look, then accept it, or send it back with words.",
        "silent": "An alert arrived, and nobody has answered since. The longest silence first.",
        "attention": "Somebody else must take it, help is wanted, or an alert has not reached anybody.",
        "doubt": "The line broke while the message was being sent. Ask the person, then decide.",
        "filed": "Filed and not decided; the day to ask again is within a week, or past.",
        "coming": "Due within two weeks, and nobody has said that they are on it.",
        "late": "Past the date, whoever is on it. Where the old paper stays in force meanwhile it is not overdue.",
        "month": "Due today or within 30 days, whoever is on it.",
    },
    "queue_none": {
        "overdue": "Nothing is past its date without somebody on it.", "check": "No answer waits to be checked.",
        "silent": "Every alert that arrived has an answer.", "attention": "Every alert has found somebody.",
        "doubt": "No message is without an outcome.", "filed": "The authority need not be asked this week.",
        "coming": "Somebody is on whatever is due within two weeks.", "late": "Nothing is past its date.",
        "month": "Nothing is due within 30 days.",
    },
    "queue_column": {
        "check": "What was said", "silent": "Silent for", "attention": "What happened", "doubt": "Message",
        "filed": "With the authority", "overdue": "Alerts", "coming": "Alerts", "late": "Alerts", "month": "Alerts",
    },
    "why_unreached": {
        "nobody": "Nobody is there whom the rule means", "no_way": "No login, and no address to which mail comes",
        "away": "Everybody is away, and nobody stands in who can be told",
    },
    "why_unwatched": {
        "site_archived": "Site archived", "draft": "Draft", "out_of_service": "Out of service",
        "no_date": "No open deadline", "no_rule": "No rule for kind and site", "nobody_to_tell": "Nobody to tell",
        "paused": "Paused",
    },
    "what": {
        "not_mine": "Not mine", "help": "Help asked", "nobody_to_tell": "Nobody to tell", "done": "Done",
        State.failed: "Refused by the mail server", State.bounced: "Came back",
        State.in_doubt: "May have been sent, not confirmed",
    },
    "lack": {
        "never_raised": "should have been raised, and was not",
        "put_aside": "was not sent or was stopped, and should be open again",
        "to_nobody": "was raised, and goes to nobody, or to somebody who is away and has a stand-in",
    },
    "actor": {"system:scheduler": "the watch", "system:operator": "an operator (command line)"},
    "alert_state": {
        "raised": "Raised, not delivered", "arrived": "Delivered, no answer", "answered": "Answered",
        "unsent": "Not sent", "stopped": "Stopped",
    },
    "cause": {
        "entered": "the entry or its date was added", "moved": "the date was moved", "rule": "the rule was made or changed",
        "released": "the draft was released", "restored": "the entry was put back on the watch",
        "unpaused": "the pause ended", "reopened": "the deadline was opened again",
        "filed": "it was entered that it is with the authority", "filing_ended": "what was pending with the authority ended", "taken_back": "an answer was taken back",
        "sent_back": "an answer was sent back",
        "no_check": "nobody had checked since", "first_check": "it was the first check", "unknown": "no change explains it",
    },
    "trigger": {"schedule": "by itself", "command": "on request", "start": "after a change of a rule"},
    "event": {
        "claimed": "Raised", "superseded": "Not sent", "withdrawn": "Stopped", "reopened": "Raised again",
        "claim_refreshed": "Brought up to date with the entry", "claim_delivered": "Everybody has it",
        "nobody_to_tell": "Nobody to tell", "somebody_to_tell": "Somebody to tell again",
        "delivery_due": "Message made ready", "delivery_timed": "Hour of the message set",
        "delivery_cancelled": "Message not sent", State.delivered: "Delivered",
        "handed_over": "Sent to the mail server", "delivery_put_off": "Refused for now, tried again later",
        "delivery_failed": "Refused by the mail server", "delivery_in_doubt": "May have been sent, not confirmed",
        "delivery_given_back": "Not sent: the mail server could not be used; waits again",
        "delivery_lost": "Broken off before it was sent; waits again", State.bounced: "Came back",
        "doubt_resolved_delivered": "Decided: it arrived", "doubt_resolved_failed": "Decided: it was not sent",
        "doubt_resolved_resend": "Decided: send it again", "doubt_resolved_settled": "Decided: settled otherwise",
        "delivery_resent": "To be sent again", "late_answer": "An answer came late, after a person had decided", "delivery_held": "Held until a person looks",
        "delivery_released": "Let go", "gap_explained": "Gap in the checks explained",
        "deliveries_held": "All messages held", "deliveries_released": "All messages let go",
        "opened": "Opened in the app", "acknowledged": "Answered", "answer_taken_back": "Answer taken back",
        "answer_accepted": "Answer accepted", "answer_sent_back": "Answer sent back",
        "mail_trial_asked": "Test mail asked for", "mail_trial_handed_over": "Test mail sent to the mail server",
        "mail_trial_settled": "What became of a test mail",
        "checkpoint_mail_asked": "Seal of the day to be mailed", "checkpoint_mail_handed_over": "Seal sent to the mail server",
        "checkpoint_mail_settled": "What became of the mail with the seal",
        "daily_checkpoint_changed": "Who gets the seal of each day", "retention_applied": "Removed by a policy of retention",
        "calendar_feed_made": "Calendar address made", "calendar_feed_revoked": "Calendar address revoked",
    },
    "rule_event": {
        "rule_created": "Made", "rule_changed": "Changed", "rule_renamed": "Renamed", "rule_switched_on": "Switched on",
        "rule_switched_off": "Switched off",
    },
    "trial_end": {
        "taken": "The mail server took it. Look whether it is there, among unwanted mail, too: Onus cannot know that.",
        "filed": "It was written to a file of the host of Onus, so it reached nobody.",
        "put_off": "The mail server did not take it for now. It is not tried again: send another one later.",
        "refused": "The mail server refused it, so it was not sent.",
        "broken": "The line to the mail server broke before it was sent. It is not tried again: send another one.",
        "no_answer": "It may have been sent, not confirmed: no answer came. Look whether it is there; it is not sent again.",
        "too_late": "Not sent: no mail was sent within an hour.",
    },
    "checkpoint_end": {
        "taken": "The mail server took it.", "filed": "Written to a file of the host of Onus, so it reached nobody.",
        "put_off": "Not sent: the mail server did not take it for now. The next one goes tomorrow.",
        "refused": "Not sent: the mail server refused it.",
        "broken": "Not sent: the line to the mail server broke. The next one goes tomorrow.",
        "no_answer": "It may have been sent, not confirmed: no answer came. It is not sent again.",
        "too_late": "Not sent: no mail could be sent for most of that day.",
    },
    "ready": {
        "rules": "Rules", "drafts": "Drafts", "dates": "Dates", "responsible": "Responsible", "posts": "Posts",
        "people": "People", "watch": "The watch", "server": "Mail server", "line": "Outgoing e-mail",
        "trial": "Test mail",
    },
    "ready_mend": {
        "rules": "See the rules", "drafts": "See the drafts", "dates": "See what has no open deadline",
        "responsible": "See the entries here, and who is responsible", "posts": "See who holds which post",
        "people": "See the people", "watch": "See how the watch stands", "server": "See what is set up",
        "line": "See how the mail stands", "trial": "Send a test mail",
    },
    "verdict": {"fine": "Fine", "open": "Open", "untested": "Not tested yet"},
    "off_watch": {
        "subject_archived": "Archived", "subject_out_of_service": "Out of service", "subject_snoozed": "Paused",
        "obligation_closed": "Closed without doing it", "date_moved": "Date moved", "rule_switched_off": "Rule switched off",
        "site_archived": "Site archived",
    },
}  # fmt: skip
OF: Mapping[str, Mapping[str, str]] = {of: Named(of, names) for of, names in NAMES.items()}
