"""What can be done to the deadlines of an entry: close, open again, move, add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.domain.acts import CloseReason, MoveReason, Outcome, ReopenReason
from app.operations import documents, obligations, reopenings
from app.queries.entry import Deadline, Entry
from app.vocabulary import OF
from app.web.entry_acts import Call, Deed, Do, is_alive, note
from app.web.entry_fields import Field, Options, offered, told, words_of
from app.web.paper_acts import file_hint, file_of
from app.wording import gettext, later
from app.words import day, every

NOT_DONE = "not_done"
HOW: Options = (
    (Outcome.met.value, later("Done, or renewed")),
    (Outcome.failed.value, later("Failed: it was done, and did not pass")),
    (NOT_DONE, later("Closed without doing it")),
)


def close(call: Call) -> Do:
    """Done, with its proof, or failed on a day; or closed without doing it, for a reason."""
    how = offered(call.form, "how", HOW) or Outcome.met.value
    said, member_id, retest_on = call.note, call.visit.person.member_id, call.day("retest_on")
    if retest_on is not None and how != Outcome.failed:
        call.form.faults["retest_on"] = gettext("Only what failed is tested again: leave this out.")
    if how == NOT_DONE:
        reason = call.code("reason", CloseReason, later("Choose why it is closed without doing it."))
        wrong = reason == CloseReason.entered_in_error
        outcome = Outcome.entered_in_error if wrong else Outcome.not_required
        return lambda: obligations.close(
            call.act, call.obligation_id, outcome, reason=reason, note=said, member_id=member_id
        )
    met_on = call.day("met_on", later("Choose the day on which it was done."))
    if met_on is not None and met_on > call.today:
        call.form.faults["met_on"] = gettext(
            "This day is still to come: at the site it is %(day)s.", day=day(call.today)
        )
    if how == Outcome.met:
        proof = proof_of(call)
        return lambda: documents.close_with(call.act, call.obligation_id, proof, met_on, said, member_id)
    return lambda: obligations.fail(call.act, call.obligation_id, met_on, retest_on, said, member_id)


def proof_of(call: Call) -> documents.Paper:
    """The number or the file of the proof; neither, where it needs none or has one already."""
    return documents.Paper(str(call.form.values["number"]), file=file_of(call))


def close_fields(call: Call) -> Sequence[Field]:
    needs = call.entry.proof_needed and call.deadline and not call.entry.proof_of(call.deadline.id)
    needed = gettext("Its number or its file is needed where it was done.")
    says = needed if needs else gettext("Of a report, if there is one.")
    unneeded, why, reasons = (
        gettext("Not needed where it is closed without doing it."), gettext("Why without doing it?"),
        words_of("close_reason", CloseReason),
    )  # fmt: skip
    only = gettext("Only where it failed. Empty: no day is fixed yet, and nothing comes again by itself.")
    return (
        Field("how", gettext("How was it closed?"), "radio", told(HOW)),
        Field("met_on", gettext("Done on"), "day", hint=unneeded),
        Field("retest_on", gettext("Re-test due on"), "day", hint=only),
        Field("number", gettext("Number of the proof"), hint=says),
        Field("file", gettext("File of the proof"), "file", hint=file_hint()),
        Field("reason", why, "choice", reasons, gettext("It was done")),
        note(),
    )


def close_says(call: Call) -> str:
    entry = call.entry
    if entry.recurrence is None:
        return gettext("It does not come again: no further deadline is opened.")
    return gettext(
        "It comes again %(every)s, counted %(basis)s: once it is done, the next deadline is opened.",
        every=every(entry.recurrence), basis=OF["basis"][entry.recurrence_basis or "due"],
    )  # fmt: skip


def reopen_says(_: Call) -> str:
    return gettext(
        "How it was closed stays in the history. If it was not done after all, its papers prove it no more, and "
        "whoever said that it is done is told so with your note."
    )


def reopen(call: Call) -> Do:
    reason = call.code("reason", ReopenReason)
    return lambda: reopenings.reopen(call.act, call.obligation_id, reason, call.note)


def move(call: Call) -> Do:
    to = call.day("due_on", later("Choose the new due date."))
    reason = call.code("reason", MoveReason)
    return lambda: obligations.move(call.act, call.obligation_id, to, reason, call.note)


def add(call: Call) -> Do:
    due_on = call.day("due_on", later("Choose the due date."))
    return lambda: obligations.add_obligation(call.act, call.subject, due_on)


def is_open(_: Entry, deadline: Deadline | None) -> bool:
    return deadline is not None and deadline.is_open


ADDING: Mapping[str, Deed] = {
    "add-deadline": Deed(
        later("Add a deadline"), later("Add the deadline"), add, is_alive,
        lambda _: (Field("due_on", gettext("Due date"), "day", is_required=True),),
    ),
}  # fmt: skip

DEADLINE_DEEDS: Mapping[str, Deed] = {
    "close": Deed(
        later("Close the deadline"), later("Close the deadline"), close, is_open, close_fields,
        lambda call: {"how": Outcome.met.value, "met_on": call.today}, close_says, True,
    ),
    "move": Deed(
        later("Move the date"), later("Move the date"), move, is_open,
        lambda _: (
            Field("due_on", gettext("New due date"), "day", is_required=True),
            Field("reason", gettext("Reason"), "radio", words_of("move_reason", MoveReason)),
            note(),
        ),
        lambda call: {"due_on": call.deadline.due_on if call.deadline else None},
        lambda _: gettext("The first date stays on record, and so does the reason."), True,
    ),
    "reopen": Deed(
        later("Open the deadline again"), later("Open it again"), reopen,
        lambda _, deadline: deadline is not None and not deadline.is_open,
        lambda _: (Field("reason", gettext("Reason"), "radio", words_of("reopen_reason", ReopenReason)), note()),
        says=reopen_says, is_of_deadline=True,
    ),
}  # fmt: skip
