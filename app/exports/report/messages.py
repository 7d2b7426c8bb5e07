"""The sections *Messages*, *Tries* and *Answers*: what hangs on the alerts of the report."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy.orm import Session

from app.exports.report.said import instant, person
from app.exports.report.section import Column, Group, Plan, date, number
from app.exports.report.section import instant as instants
from app.exports.tables import Row
from app.queries.dispatches import Try
from app.queries.report.messages import read_answers, read_messages, read_tries
from app.queries.report.scope import Scope
from app.vocabulary import OF
from app.wording import gettext
from app.wording import later as _
from app.words import noted, word

MESSAGES = Plan(
    "messages",
    _("Messages"),
    _("Each alert to each person by each way: the address used, what became of it, and when. Whether a mail was read, nobody can know."),
    (
        number("message", _("Message")), number("alert", _("Alert")), number("entry", _("Entry")), Column("reference", _("Reference")),
        Column("to", _("To")), Column("because", _("Why this person")), Column("in_place_of", _("In place of")),
        Column("by", _("By")), Column("address", _("Address used")), Column("state", _("State")), Column("why", _("Why")),
        *instants("not_before", _("Not before")), *instants("handed_over", _("Sent")), *instants("arrived", _("Delivered")),
        *instants("opened", _("Opened in the app")), number("tries", _("Tries")), Column("reply", _("Last answer of the mail server")),
        Column("message_id", _("Message-ID")), Column("sha256", _("SHA-256 of the mail")), number("repeats", _("Repeats message")),
        Column("decision", _("Decided")), Column("decided_by", _("Decided by")), *instants("decided", _("Decided")),
    ),
    (
        Group(_("Message"), ("message", "alert", "reference"), 1.4),
        Group(_("To"), ("to", "because", "in_place_of", "by", "address"), 2.4),
        Group(_("State"), ("state", "why", "tries", "reply", "repeats"), 2),
        Group(_("Sent"), ("handed_over", "arrived", "opened", "not_before"), 2.2),
        Group(_("Decided"), ("decision", "decided_by", "decided"), 1.4),
        Group(_("Mail"), ("message_id", "sha256"), 1.6),
    ),
)  # fmt: skip

TRIES = Plan(
    "tries",
    _("Tries"),
    _("Each try to hand a mail to the mail server, and what the server answered."),
    (
        number("try", _("Try")), number("message", _("Message")), number("alert", _("Alert")), Column("reference", _("Reference")),
        *instants("at", _("At")), Column("ended", _("Ended")), Column("became", _("What became of it")), Column("reply", _("Answer")),
    ),
    (
        Group(_("Try"), ("try", "message", "alert"), 1.2), Group(_("Reference"), ("reference",), 1.2), Group(_("At"), ("at",), 2),
        Group(_("What became of it"), ("became", "ended"), 2), Group(_("Answer"), ("reply",), 3),
    ),
)  # fmt: skip

ANSWERS = Plan(
    "answers",
    _("Answers"),
    _("What people answered, also what was taken back or sent back. An answer closes nothing by itself."),
    (
        number("answer_no", _("Answer no.")), number("alert", _("Alert")), number("entry", _("Entry")), Column("reference", _("Reference")),
        Column("by", _("By")), *instants("at", _("At")), Column("answer", _("Answer")), date("until_on", _("Until")),
        date("done_on", _("Done on")), Column("note", _("Note")), Column("whose", _("Whose it is")),
        Column("sha256", _("SHA-256 of the files")), *instants("taken_back", _("Taken back")), *instants("sent_back", _("Sent back")),
        Column("sent_back_note", _("Sent back with the words")), *instants("accepted", _("Accepted")), Column("checked_by", _("Checked by")),
    ),
    (
        Group(_("Answer"), ("answer_no", "alert", "reference"), 1.4), Group(_("By"), ("by", "at"), 2),
        Group(_("Said"), ("answer", "until_on", "done_on", "note", "whose", "sha256"), 3),
        Group(_("Then"), ("accepted", "sent_back", "sent_back_note", "taken_back", "checked_by"), 2.4),
    ),
)  # fmt: skip

WRITTEN = _("it was written to a file of this host, and has not left it")
LATE = _("%(became)s; that came after a person had decided")


def message_rows(session: Session, scope: Scope) -> Iterator[Row]:
    for beside, one in read_messages(session, scope):
        zone = beside.timezone
        why = word(one.reason, "reason") if one.reason else None
        yield (
            one.id, one.claim_id, beside.subject_id, beside.reference, person(one.person, one.recipient_id),
            word(one.because, "because"), one.covers, word(one.channel, "channel"), one.sent_to,
            word(one.state, "state"), why, *instant(one.not_before, zone), *instant(one.handed_over_at, zone),
            *instant(one.delivered_at, zone), *instant(one.seen_at, zone), one.attempts,
            noted(one.last_reply) if one.last_reply else None, one.message_id, one.words.sha256 if one.words else None,
            one.repeats, word(one.decision, "resolution") if one.decision else None, one.decided_by,
            *instant(one.decided_at, zone),
        )  # fmt: skip


def try_rows(session: Session, scope: Scope) -> Iterator[Row]:
    for one in read_tries(session, scope):
        tried = Try(one.at, one.verb, one.reply, one.outcome)
        became = gettext(WRITTEN) if tried.is_written else word(tried.outcome, "try")
        became = gettext(LATE, became=became) if tried.is_late else became
        yield (
            one.id, one.delivery_id, one.claim_id, one.reference, *instant(one.at, one.timezone),
            OF["verb"].get(one.verb, one.verb), became, noted(one.reply) or None,
        )  # fmt: skip


def answer_rows(session: Session, scope: Scope) -> Iterator[Row]:
    for one, hashes in read_answers(session, scope):
        zone = one.timezone
        whose = one.whose or (gettext("%(post)s (post)", post=one.whose_post) if one.whose_post else None)
        yield (
            one.id, one.claim_id, one.subject_id, one.reference, person(one.person, one.member_id),
            *instant(one.acknowledged_at, zone), word(one.answer, "answer"), one.until_on, one.done_on, one.note or None,
            whose, "; ".join(hashes) or None, *instant(one.taken_back_at, zone), *instant(one.sent_back_at, zone),
            one.sent_back_note, *instant(one.accepted_at, zone), person(one.checker, one.checked_by),
        )  # fmt: skip
