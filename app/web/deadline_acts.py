"""What can be done to the deadlines of an entry: close, open again, move, add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.domain.acts import CloseReason, MoveReason, Outcome, ReopenReason
from app.operations import documents, obligations
from app.queries.entry import Deadline, Entry
from app.vocabulary import OF
from app.web.entry_acts import NOTE, Call, Deed, Do, is_alive
from app.web.entry_fields import Field, Options, offered, words_of
from app.web.paper_acts import FILE_HINT, file_of
from app.words import day, every

NOT_DONE = "not_done"
HOW: Options = (
    (Outcome.met.value, "Done, or renewed"),
    (Outcome.failed.value, "Failed: it was done, and did not pass"),
    (NOT_DONE, "Closed without doing it"),
)


def close(call: Call) -> Do:
    """Done, with its proof, or failed on a day; or closed without doing it, for a reason."""
    how = offered(call.form, "how", HOW) or Outcome.met.value
    note, member_id = call.note, call.visit.person.member_id
    if how == NOT_DONE:
        reason = call.code("reason", CloseReason, "Choose why it is closed without doing it.")
        wrong = reason == CloseReason.entered_in_error
        outcome = Outcome.entered_in_error if wrong else Outcome.not_required
        return lambda: obligations.close(
            call.act, call.obligation_id, outcome, reason=reason, note=note, member_id=member_id
        )
    met_on = call.day("met_on", "Choose the day on which it was done.")
    if met_on is not None and met_on > call.today:
        call.form.faults["met_on"] = f"This day is still to come: at the site it is {day(call.today)}."
    if how == Outcome.met:
        proof = proof_of(call)
        return lambda: documents.close_with(call.act, call.obligation_id, proof, met_on, note, member_id)
    return lambda: obligations.close(call.act, call.obligation_id, how, met_on, note=note, member_id=member_id)


def proof_of(call: Call) -> documents.Paper:
    """The number or the file of the proof; neither, where it needs none or has one already."""
    return documents.Paper(str(call.form.values["number"]), file=file_of(call))


def close_fields(call: Call) -> Sequence[Field]:
    needs = call.entry.proof_needed and call.deadline and not call.entry.proof_of(call.deadline.id)
    says = "Its number or its file is needed where it was done." if needs else "Of a report, if there is one."
    return (
        Field("how", "How was it closed?", "radio", HOW),
        Field("met_on", "Done on", "day", hint="Not needed where it is closed without doing it."),
        Field("number", "Number of the proof", hint=says),
        Field("file", "File of the proof", "file", hint=FILE_HINT),
        Field(
            "reason", "Why without doing it?", "choice", words_of("close_reason", CloseReason), "It was done",
        ),
        NOTE,
    )  # fmt: skip


def close_says(call: Call) -> str:
    entry = call.entry
    if entry.recurrence is None:
        return "It does not come again: no further deadline is opened."
    basis = OF["basis"][entry.recurrence_basis or "due"]
    return f"It comes again {every(entry.recurrence)}, counted {basis}: once it is done, the next deadline is opened."


def reopen(call: Call) -> Do:
    reason = call.code("reason", ReopenReason)
    return lambda: obligations.reopen(call.act, call.obligation_id, reason, call.note)


def move(call: Call) -> Do:
    to = call.day("due_on", "Choose the new due date.")
    reason = call.code("reason", MoveReason)
    return lambda: obligations.move(call.act, call.obligation_id, to, reason, call.note)


def add(call: Call) -> Do:
    due_on = call.day("due_on", "Choose the due date.")
    return lambda: obligations.add_obligation(call.act, call.subject, due_on)


def is_open(_: Entry, deadline: Deadline | None) -> bool:
    return deadline is not None and deadline.is_open


ADDING: Mapping[str, Deed] = {
    "add-deadline": Deed(
        "Add a deadline", "Add the deadline", add, is_alive,
        lambda _: (Field("due_on", "Due date", "day", is_required=True),),
    ),
}  # fmt: skip

DEADLINE_DEEDS: Mapping[str, Deed] = {
    "close": Deed(
        "Close the deadline", "Close the deadline", close, is_open, close_fields,
        lambda call: {"how": Outcome.met.value, "met_on": call.today}, close_says, True,
    ),
    "move": Deed(
        "Move the date", "Move the date", move, is_open,
        lambda _: (
            Field("due_on", "New due date", "day", is_required=True),
            Field("reason", "Reason", "radio", words_of("move_reason", MoveReason)),
            NOTE,
        ),
        lambda call: {"due_on": call.deadline.due_on if call.deadline else None},
        lambda _: "The first date stays on record, and so does the reason.", True,
    ),
    "reopen": Deed(
        "Open the deadline again", "Open it again", reopen,
        lambda _, deadline: deadline is not None and not deadline.is_open,
        lambda _: (Field("reason", "Reason", "radio", words_of("reopen_reason", ReopenReason)), NOTE),
        says=lambda _: "How it was closed stays in the history.", is_of_deadline=True,
    ),
}  # fmt: skip
