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
from app.words import noted, word

MESSAGES = Plan(
    "messages",
    "Messages",
    "Each alert to each person by each way: the address used, what became of it, and when. Whether a mail was read, nobody can know.",
    (
        number("message", "Message"), number("alert", "Alert"), number("entry", "Entry"), Column("reference", "Reference"),
        Column("to", "To"), Column("because", "Why this person"), Column("in_place_of", "In place of"),
        Column("by", "By"), Column("address", "Address used"), Column("state", "State"), Column("why", "Why"),
        *instants("not_before", "Not before"), *instants("handed_over", "Sent"), *instants("arrived", "Delivered"),
        *instants("opened", "Opened in the app"), number("tries", "Tries"), Column("reply", "Last answer of the mail server"),
        Column("message_id", "Message-ID"), Column("sha256", "SHA-256 of the mail"), number("repeats", "Repeats message"),
        Column("decision", "Decided"), Column("decided_by", "Decided by"), *instants("decided", "Decided"),
    ),
    (
        Group("Message", ("message", "alert", "reference"), 1.4),
        Group("To", ("to", "because", "in_place_of", "by", "address"), 2.4),
        Group("State", ("state", "why", "tries", "reply", "repeats"), 2),
        Group("Sent", ("handed_over", "arrived", "opened", "not_before"), 2.2),
        Group("Decided", ("decision", "decided_by", "decided"), 1.4),
        Group("Mail", ("message_id", "sha256"), 1.6),
    ),
)  # fmt: skip

TRIES = Plan(
    "tries",
    "Tries",
    "Each try to hand a mail to the mail server, and what the server answered.",
    (
        number("try", "Try"), number("message", "Message"), number("alert", "Alert"), Column("reference", "Reference"),
        *instants("at", "At"), Column("ended", "Ended"), Column("became", "What became of it"), Column("reply", "Answer"),
    ),
    (
        Group("Try", ("try", "message", "alert"), 1.2), Group("Reference", ("reference",), 1.2), Group("At", ("at",), 2),
        Group("What became of it", ("became", "ended"), 2), Group("Answer", ("reply",), 3),
    ),
)  # fmt: skip

ANSWERS = Plan(
    "answers",
    "Answers",
    "What people answered, also what was taken back or sent back. An answer closes nothing by itself.",
    (
        number("answer_no", "Answer no."), number("alert", "Alert"), number("entry", "Entry"), Column("reference", "Reference"),
        Column("by", "By"), *instants("at", "At"), Column("answer", "Answer"), date("until_on", "Until"),
        date("done_on", "Done on"), Column("note", "Note"), Column("whose", "Whose it is"),
        Column("sha256", "SHA-256 of the files"), *instants("taken_back", "Taken back"), *instants("sent_back", "Sent back"),
        Column("sent_back_note", "Sent back with the words"), *instants("accepted", "Accepted"), Column("checked_by", "Checked by"),
    ),
    (
        Group("Answer", ("answer_no", "alert", "reference"), 1.4), Group("By", ("by", "at"), 2),
        Group("Said", ("answer", "until_on", "done_on", "note", "whose", "sha256"), 3),
        Group("Then", ("accepted", "sent_back", "sent_back_note", "taken_back", "checked_by"), 2.4),
    ),
)  # fmt: skip

WRITTEN = "it was written to a file of this host, and has not left it"
LATE = "; that came after a person had decided"


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
        became = WRITTEN if tried.is_written else word(tried.outcome, "try") + (LATE if tried.is_late else "")
        yield (
            one.id, one.delivery_id, one.claim_id, one.reference, *instant(one.at, one.timezone),
            OF["verb"].get(one.verb, one.verb), became, noted(one.reply) or None,
        )  # fmt: skip


def answer_rows(session: Session, scope: Scope) -> Iterator[Row]:
    for one, hashes in read_answers(session, scope):
        zone = one.timezone
        whose = one.whose or (f"{one.whose_post} (post)" if one.whose_post else None)
        yield (
            one.id, one.claim_id, one.subject_id, one.reference, person(one.person, one.member_id),
            *instant(one.acknowledged_at, zone), word(one.answer, "answer"), one.until_on, one.done_on, one.note or None,
            whose, "; ".join(hashes) or None, *instant(one.taken_back_at, zone), *instant(one.sent_back_at, zone),
            one.sent_back_note, *instant(one.accepted_at, zone), person(one.checker, one.checked_by),
        )  # fmt: skip
