"""The history of an entry in words: who did what, when, and what it said before and after."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.acts import NextFrom, Status
from app.domain.delivery import Resolution, State
from app.exports.other_events import OF_OTHERS
from app.queries.entry_history import Event, History
from app.queries.names import Names
from app.vocabulary import OF
from app.wording import gettext as _
from app.wording import later, ngettext, plural
from app.words import before, day, every, moment, word

Built = Callable[[Mapping[str, Any], Names], str]  # What happened, of the detail of an event.
SCHEDULER, OPERATOR = "system:scheduler", "system:operator"
EMPTY = later("nothing")
DATES = ("old", "new", "series_from", "snoozed_until", "valid_until")  # What is a date, besides whatever ends in _on.

LABELS: Mapping[str, str] = {
    "title": later("Title"),
    "kind": later("Kind"),
    "kind_id": later("Kind"),
    "owner_member_id": later("Responsible"),
    "holder_id": later("Holder"),
    "recurrence": later("Comes again"),
    "recurrence_basis": later("Counted"),
    "legal_basis": later("Legal basis"),
    "notes": later("Notes"),
    "part_of_id": later("Part of"),
    "site_id": later("Site"),
    "filed_on": later("Filed on"),
    "filed_reference": later("Receipt"),
    "in_force_meanwhile": later("In force meanwhile"),
    "ask_again_on": later("Ask again on"),
    "filing_ended_on": later("Answered on"),
    "filing_result": later("Answer"),
    "owner_post_id": later("Responsible post"),
    "due_on": later("Due date"),
    "snoozed_until": later("Paused until"),
    "series_from": later("Later dates are counted from"),
    "due_from": later("Due date from its whole"),
}
REASONS: Mapping[str, str] = {
    "date_moved": "move_reason", "subject_snoozed": "snooze_reason", "subject_archived": "archive_reason",
    "obligation_closed": "close_reason", "obligation_reopened": "reopen_reason",
    "file_dropped": "drop_reason",
}  # fmt: skip


@dataclass(frozen=True)
class Change:
    """What something said before and says now."""

    label: str
    old: str
    new: str


@dataclass(frozen=True)
class Told:
    """One line of the history. `by` is empty where Onus itself did it."""

    at: str
    by: str
    what: str
    changes: Sequence[Change]
    note: str
    claim_id: int | None
    batch_id: int | None = None


def told_history(history: History, timezone: str) -> Sequence[Told]:
    return [told(event, history.names, timezone) for event in history.events]


def told(event: Event, names: Names, timezone: str) -> Told:
    by = {SCHEDULER: "Onus", OPERATOR: _("An operator, by a command")}.get(event.actor) or names.of_actor(event.actor)
    note = str(event.detail.get("note") or "")
    said = sentence(event, names), changes(event, names), note, event.claim_id
    return Told(moment(event.at, timezone), by, *said, event.detail.get("batch"))


def sentence(event: Event, names: Names) -> str:
    """What happened; an event that has no words of its own yet is at least named."""
    detail = event.detail
    plain = PLAIN.get(event.type) or OF_OTHERS.get(event.type)
    said = _(plain) if plain else BUILT[event.type](detail, names) if event.type in BUILT else ""
    said = said or event.type.replace("_", " ").capitalize()
    if event.type in REASONS and detail.get("reason"):
        said = _("%(said)s (%(why)s)", said=said, why=word(detail["reason"], REASONS[event.type]))
    if "line" in detail:
        said = _("%(said)s, by an import (line %(line)s of the file)", said=said, line=detail["line"])
    elif "import_in_error" in detail:
        said = _("%(said)s, with a whole import that was entered in error", said=said)
    return in_a_batch(said, detail)


AMONG = plural("%(said)s, with %(number)d other, in one batch", "%(said)s, with %(number)d others, in one batch")


def in_a_batch(said: str, detail: Mapping[str, Any]) -> str:
    """With 39 others, in one batch: Royal Decree 1/2027. The same again for what was done to this entry alone."""
    if "batch" not in detail:
        return said
    if others := int(detail.get("others", 0)):
        said = ngettext(*AMONG, others, said=said)
    else:
        said = _("%(said)s, in a batch of its own", said=said)
    return f"{said}: {detail['by_act']}" if detail.get("by_act") else said


PLAIN: Mapping[str, str] = {
    "subject_retitled": later("Changed the title"),
    "subject_changed": later("Changed the entry"),
    "subject_assigned": later("Handed it over"),
    "holder_assigned": later("Changed the holder"),
    "subject_archived": later("Archived it"),
    "subject_out_of_service": later("Took it out of service"),
    "left_by_mistaken_import": later("Left it as it is"),
    "subject_moved": later("Moved it to another site"),
    "subject_put_into": later("Said what it is part of"),
    "snooze_ended": later("Ended the pause of its alerts"),
    "claim_refreshed": later("Brought an alert that was not sent yet up to date"),
    "claim_delivered": later("Everybody who was to be told of the alert has been told"),
    "nobody_to_tell": later("Found nobody to tell of the alert"),
    "somebody_to_tell": later("Found somebody to tell of the alert"),
}


def hour_of(detail: Mapping[str, Any]) -> str:
    return word(detail["timed_by"], "waits_for") if detail.get("timed_by") else _("at once")


def on(detail: Mapping[str, Any], name: str) -> str:
    """A date of the details in words."""
    return value_of(name, detail.get(name), Names()) if detail.get(name) else _("an unknown day")


def deadline(detail: Mapping[str, Any], names: Names) -> str:
    """The deadline of 3 April 2027. Its date is as it was then; where the event has none, as it is now."""
    said = detail.get("due_on") or names.of("obligation_id", detail.get("obligation_id"))
    return _("the deadline of %(day)s", day=value_of("due_on", said, names)) if said else _("a deadline")


def alert(detail: Mapping[str, Any]) -> str:
    if "threshold" not in detail:
        return _("the alert")
    return _("the alert %(when)s for %(day)s", when=before(detail["threshold"]), day=on(detail, "due_on"))


def created(detail: Mapping[str, Any], names: Names) -> str:
    title, site = detail.get("title") or detail.get("reference"), names.of("site_id", detail.get("site_id"))
    return (
        _("Added it: %(title)s, at %(site)s", title=title, site=site) if site else _("Added it: %(title)s", title=title)
    )


def closed(detail: Mapping[str, Any], names: Names) -> str:
    which, outcome = deadline(detail, names), word(detail.get("outcome"), "outcome")
    if detail.get("source") == "rhythm":
        return _(
            "Closed %(deadline)s: the entry comes in another rhythm now, and nobody had acted on it", deadline=which
        )
    if detail.get("met_on"):
        day = on(detail, "met_on")
        return _("Closed %(deadline)s: %(outcome)s on %(day)s", deadline=which, outcome=outcome, day=day)
    return _("Closed %(deadline)s: %(outcome)s", deadline=which, outcome=outcome)


ORIGINS: Mapping[str, str] = {
    NextFrom.paper: later("Opened %(deadline)s, the last day of the new paper"),
    NextFrom.person: later("Opened %(deadline)s, the next one, as was said"),
    "series": later("Opened %(deadline)s, the next by the calendar"),
    "whole": later("Opened %(deadline)s, as its whole's date says"),
}


def opened(detail: Mapping[str, Any], names: Names) -> str:
    which, source = deadline(detail, names), detail.get("source", "")
    is_next = bool(detail.get("after_obligation_id"))
    if source in ORIGINS and is_next == (source in (NextFrom.paper, NextFrom.person)):
        return _(ORIGINS[source], deadline=which)
    return (
        _("Opened %(deadline)s, the next one", deadline=which) if is_next else _("Opened %(deadline)s", deadline=which)
    )


def reopened(detail: Mapping[str, Any], names: Names) -> str:
    which = deadline(detail, names)
    if detail.get("disproved"):
        return _("Opened %(deadline)s again; its papers prove it no more", deadline=which)
    return _("Opened %(deadline)s again", deadline=which)


def moved(detail: Mapping[str, Any], _names: Names) -> str:
    days = {"old": on(detail, "old"), "new": on(detail, "new")}
    if detail.get("source") == "whole":
        return _("Moved the date from %(old)s to %(new)s, with its whole", **days)
    return _("Moved the date from %(old)s to %(new)s", **days)


def left_behind(detail: Mapping[str, Any], _names: Names) -> str:
    return _(
        "Could not move the date from %(old)s to %(new)s with its whole, since there is a deadline on that day "
        "already. Move that one, and this one follows; or move this one yourself",
        old=on(detail, "old"), new=on(detail, "new"),
    )  # fmt: skip


def released(detail: Mapping[str, Any], _names: Names) -> str:
    return _("Released the draft: %(start)s", start=word(detail.get("start"), "start").lower())


def dropped(detail: Mapping[str, Any], _names: Names) -> str:
    return _("Removed the file %(name)s (SHA-256 %(sha256)s)", name=detail["name"], sha256=detail["sha256"])


def timed(detail: Mapping[str, Any], names: Names) -> str:
    return _("Set the hour of the message to %(who)s: %(hour)s", who=person(detail, names), hour=hour_of(detail))


def restored(detail: Mapping[str, Any], _names: Names) -> str:
    return _("Put it back as a draft") if detail.get("new") == Status.draft else _("Put it back on the watch")


def because(said: str, detail: Mapping[str, Any]) -> str:
    """With the reason, where there is one."""
    if not detail.get("reason"):
        return said
    return _("%(said)s: %(why)s", said=said, why=OF["reason"].get(detail["reason"], detail["reason"]))


def person(detail: Mapping[str, Any], names: Names) -> str:
    who = names.of("recipient", detail.get("recipient")) or _("somebody")
    return f"{who} ({word(detail['channel'], 'channel')})" if detail.get("channel") else who


def to_person(sentence: str) -> Built:
    """A sentence about a message: its reader, and the code of the mail server's answer if there was one."""

    def said(detail: Mapping[str, Any], names: Names) -> str:
        found = _(sentence, who=person(detail, names))
        return f"{found} ({detail['code']})" if detail.get("code") else found

    return said


def of_deadline(sentence: str) -> Built:
    return lambda detail, names: _(sentence, deadline=deadline(detail, names))


def of_alert(sentence: str) -> Built:
    return lambda detail, _names: because(_(sentence, alert=alert(detail)), detail)


def decided(decision: Resolution) -> Built:
    def said(detail: Mapping[str, Any], names: Names) -> str:
        places = {"who": person(detail, names), "decision": word(decision, "resolution")}
        return _("Decided about the message to %(who)s: %(decision)s", **places)

    return said


def answered(detail: Mapping[str, Any], names: Names) -> str:
    who, answer = names.of("member", detail.get("member")) or _("Somebody"), word(detail.get("answer"), "answer")
    said = _("%(who)s answered: %(answer)s", who=who, answer=answer)
    if detail.get("until_on"):
        said = _("%(said)s until %(day)s", said=said, day=on(detail, "until_on"))
    if detail.get("done_on"):
        said = _("%(said)s, on %(day)s", said=said, day=on(detail, "done_on"))
    whose = names.of("whose_member_id", detail.get("whose_member_id")) or names.of(
        "whose_post_id", detail.get("whose_post_id")
    )
    return with_file(_("%(said)s, it belongs to %(whose)s", said=said, whose=whose) if whose else said, detail)


def paper_added(detail: Mapping[str, Any], _names: Names) -> str:
    said = _("Added the paper %(number)s", number=detail["number"])
    if detail.get("valid_until"):
        said = _("%(said)s, valid until %(day)s", said=said, day=on(detail, "valid_until"))
    if detail.get("obligation_id"):
        said = _("%(said)s, with which it was renewed", said=said)
    return with_file(said, detail)


def with_file(said: str, detail: Mapping[str, Any]) -> str:
    """With what a reader needs to tell whether a file is still the same."""
    file = detail.get("file") or {}
    if not file:
        return said
    return _(
        "%(said)s, with the file %(name)s (SHA-256 %(sha256)s)", said=said, name=file["name"], sha256=file["sha256"]
    )


def of_answer(sentence: str) -> Built:
    def said(detail: Mapping[str, Any], names: Names) -> str:
        who = names.of("member", detail.get("member")) or _("Somebody")
        return _(sentence, who=who, answer=word(detail.get("answer"), "answer"))

    return said


BUILT: Mapping[str, Built] = {
    "subject_created": created,
    "subject_snoozed": lambda d, _names: _("Paused its alerts until %(day)s", day=on(d, "new")),
    "subject_restored": restored,
    "subject_released": released,
    "obligation_opened": opened,
    "obligation_closed": closed,
    "obligation_reopened": reopened,
    "date_moved": moved,
    "part_left_behind": left_behind,
    "paper_added": paper_added,
    "paper_withdrawn": lambda d, _names: _("Marked the paper %(number)s as entered in error", number=d["number"]),
    "file_dropped": dropped,
    "recurrence_anchored": lambda d, _names: _("Later dates are counted from %(day)s", day=on(d, "series_from")),
    "obligation_filed": of_deadline(later("Filed %(deadline)s with the authority")),
    "filing_ended": of_deadline(later("Noted the answer of the authority to %(deadline)s")),
    "claimed": of_alert(later("Raised %(alert)s")),
    "superseded": of_alert(later("Did not send %(alert)s")),
    "withdrawn": of_alert(later("Stopped %(alert)s")),
    "reopened": of_alert(later("Raised %(alert)s again")),
    "delivery_due": to_person(later("Is to tell %(who)s")),
    "delivery_timed": timed,
    "delivery_cancelled": lambda d, n: because(_("Does not tell %(who)s", who=person(d, n)), d),
    State.delivered: to_person(later("Told %(who)s")),
    "handed_over": to_person(later("Sent it to the mail server for %(who)s")),
    "delivery_put_off": to_person(later("Could not tell %(who)s yet: refused for now")),
    "delivery_failed": to_person(later("Could not tell %(who)s: refused by the mail server")),
    "delivery_in_doubt": to_person(later("May have told %(who)s: not confirmed")),
    "delivery_given_back": to_person(later("Could not tell %(who)s yet: the mail server could not be used")),
    "delivery_lost": to_person(later("Could not tell %(who)s yet: broken off before it was sent")),
    State.bounced: to_person(later("The message to %(who)s came back")),
    "late_answer": to_person(later("An answer about the message to %(who)s came late")),
    "delivery_resent": to_person(later("Is to tell %(who)s again")),
    "delivery_held": to_person(later("Holds the message to %(who)s: the database was restored")),
    "delivery_released": to_person(later("Let the message to %(who)s go")),
    **{f"doubt_resolved_{decision}": decided(decision) for decision in Resolution},
    "opened": of_answer(later("%(who)s opened the alert in the app")),
    "acknowledged": answered,
    "answer_accepted": of_answer(later("Accepted the answer of %(who)s: %(answer)s")),
    "answer_sent_back": of_answer(later("Sent back the answer of %(who)s: %(answer)s")),
    "answer_taken_back": of_answer(later("%(who)s took back: %(answer)s")),
}  # fmt: skip


def changes(event: Event, names: Names) -> Sequence[Change]:
    """Old and new values, where the words do not say them already."""
    old, new = event.detail.get("old"), event.detail.get("new")
    if event.type == "subject_retitled":
        return [Change(_("Title"), str(old), str(new))]
    if event.type == "holder_assigned":
        return [Change(_("Holder"), value_of("holder_id", old, names), value_of("holder_id", new, names))]
    if event.type == "subject_moved":
        return [Change(_("Site"), value_of("site_id", old, names), value_of("site_id", new, names))]
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return []
    if event.type == "subject_assigned":
        return [Change(_("Responsible"), owner(old, names), owner(new, names))]
    differ = [name for name in new if old.get(name) != new[name]]
    return [
        Change(_(LABELS.get(name, name)), value_of(name, old.get(name), names), value_of(name, new[name], names))
        for name in differ
    ]


def owner(detail: Mapping[str, Any], names: Names) -> str:
    found = names.of("member_id", detail.get("member_id")) or names.of("post_id", detail.get("post_id"))
    return found or _("nobody")


def value_of(name: str, value: object, names: Names) -> str:
    """A value in words: dates, people, kinds, sites and codes by what the screens call them."""
    if value is None or value == "":
        return _(EMPTY)
    if name == "recurrence":
        return every(str(value))
    if (of := {"recurrence_basis": "basis", "in_force_meanwhile": "in_force"}.get(name, name)) in OF:
        return word(value, of)
    if name.endswith("_id") and name != "part_of_id" and isinstance(value, int):
        return names.of(name, value) or str(value)
    if name == "part_of_id":
        return _("an entry")
    if name == "due_from":
        return before(str(value))
    if name.endswith("_on") or name in DATES:
        return day(dt.date.fromisoformat(str(value)))
    return str(value)
