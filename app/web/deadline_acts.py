"""What can be done to the deadlines of an entry: close, open again, move, file with the authority, add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.domain.acts import CloseReason, FilingResult, InForce, MoveReason, Outcome, ReopenReason
from app.operations import documents, obligations
from app.queries.entry import Deadline, Entry
from app.web.entry_acts import NOTE, Call, Deed, Do, is_alive
from app.web.entry_fields import Field, Options, offered, words_of
from app.web.paper_acts import FILE_HINT, file_of
from app.web.words import OF, day, every

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


def file(call: Call) -> Do:
    filed_on = call.day("filed_on", "Choose the day of filing.")
    in_force = call.code("in_force_meanwhile", InForce, "Say whether it stays in force meanwhile.")
    ask_again_on = call.day("ask_again_on")
    reference = str(call.form.values["filed_reference"])
    return lambda: obligations.file(call.act, call.obligation_id, filed_on, reference, in_force, ask_again_on)


def file_fields(_: Call) -> Sequence[Field]:
    hint = "With yes, its alerts are silent until the authority has answered."
    return (
        Field("filed_on", "Filed on", "day", is_required=True),
        Field("filed_reference", "Receipt from the authority", hint="The number on the receipt."),
        Field("in_force_meanwhile", "In force meanwhile?", "radio", words_of("in_force", InForce), hint=hint),
        Field("ask_again_on", "Ask again on", "day"),
    )


def file_holds(call: Call) -> Mapping[str, Any]:
    """What is filed already can be corrected; else it is filed today."""
    one = call.deadline
    if one is None or not one.is_pending:
        return {"filed_on": call.today}
    return {name: getattr(one, name) for name in ("filed_on", "filed_reference", "in_force_meanwhile", "ask_again_on")}


def end_filing(call: Call) -> Do:
    ended_on = call.day("ended_on", "Choose the day of the answer.")
    result = call.code("result", FilingResult, "Choose what the authority answered.")
    return lambda: obligations.end_filing(call.act, call.obligation_id, ended_on, result)


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
    "file": Deed(
        "Filed with the authority", "Save the filing", file, is_open, file_fields, file_holds, is_of_deadline=True,
    ),
    "end-filing": Deed(
        "The authority has answered", "Save the answer", end_filing,
        lambda _, deadline: deadline is not None and deadline.is_pending,
        lambda _: (
            Field("result", "Answer", "radio", words_of("filing_result", FilingResult)),
            Field("ended_on", "Answered on", "day", is_required=True),
        ),
        lambda call: {"ended_on": call.today},
        lambda _: "This neither closes nor moves the deadline. Close it, or move it, by what was granted.", True,
    ),
    "reopen": Deed(
        "Open the deadline again", "Open it again", reopen,
        lambda _, deadline: deadline is not None and not deadline.is_open,
        lambda _: (Field("reason", "Reason", "radio", words_of("reopen_reason", ReopenReason)), NOTE),
        says=lambda _: "How it was closed stays in the history.", is_of_deadline=True,
    ),
}  # fmt: skip
