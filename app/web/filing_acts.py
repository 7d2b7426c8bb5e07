"""What can be done with the authority: a deadline is filed, and the authority answers. Granted is a renewal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.domain.acts import FilingResult, InForce
from app.operations import documents, filings
from app.queries.entry import Deadline, Entry
from app.web import paper_acts
from app.web.deadline_acts import is_open
from app.web.entry_acts import Call, Deed, Do, note
from app.web.entry_fields import Field, words_of
from app.wording import gettext, later

ANSWERS = later(
    "Granted: the deadline is closed as done on that day, the new paper replaces the last one, and the next deadline "
    "is opened. Refused or withdrawn: the deadline stays open, and its alerts are sent again at once."
)


def file(call: Call) -> Do:
    filed_on = call.day("filed_on", later("Choose the day of filing."))
    in_force = call.code("in_force_meanwhile", InForce, later("Say whether it stays in force meanwhile."))
    ask_again_on = call.day("ask_again_on")
    reference = str(call.form.values["filed_reference"])
    return lambda: filings.file(call.act, call.obligation_id, filed_on, reference, in_force, ask_again_on)


def file_fields(_: Call) -> Sequence[Field]:
    hint = gettext("With yes, its alerts are silent until the authority has answered.")
    once = gettext("Whoever is told of the entry is reminded on this day, once.")
    return (
        Field("filed_on", gettext("Filed on"), "day", is_required=True),
        Field("filed_reference", gettext("Receipt from the authority"), hint=gettext("The number on the receipt.")),
        Field("in_force_meanwhile", gettext("In force meanwhile?"), "radio", words_of("in_force", InForce), hint=hint),
        Field("ask_again_on", gettext("Ask again on"), "day", hint=once),
    )


def file_holds(call: Call) -> Mapping[str, Any]:
    """What is filed already can be corrected; else it is filed today."""
    one = call.deadline
    if one is None or not one.is_pending:
        return {"filed_on": call.today}
    return {name: getattr(one, name) for name in ("filed_on", "filed_reference", "in_force_meanwhile", "ask_again_on")}


def end_filing(call: Call) -> Do:
    ended_on = call.day("ended_on", later("Choose the day of the answer."))
    result = call.code("result", FilingResult, later("Choose what the authority answered."))
    if not renews(call):
        return lambda: filings.end_filing(call.act, call.obligation_id, ended_on, result)
    if result == FilingResult.granted:
        paper = paper_acts.paper_of(call)
        next_due_on, goes_on = paper_acts.next_of(call, paper)
        member_id = call.visit.person.member_id
        return lambda: documents.grant(
            call.act, call.obligation_id, ended_on, paper, next_due_on, goes_on=goes_on, member_id=member_id
        )
    if result is not None and str(call.form.values["number"]).strip():
        call.form.faults["number"] = gettext(
            "A new paper comes only where it was granted: choose that, or leave it out."
        )
    return lambda: filings.end_filing(call.act, call.obligation_id, ended_on, result)


def renews(call: Call) -> bool:
    """Whether the deadline is still to be done; of one that is closed only the answer is noted."""
    return call.deadline is not None and call.deadline.is_open


def answer_fields(call: Call) -> Sequence[Field]:
    asked = (
        Field("result", gettext("Answer"), "radio", words_of("filing_result", FilingResult)),
        Field("ended_on", gettext("Answered on"), "day", is_required=True),
    )
    if not renews(call):
        return asked
    number, *others = paper_acts.paper_fields()
    label, hint = gettext("Number of the new paper"), gettext("Needed where it was granted.")
    number = replace(number, label=label, hint=hint, is_required=False)
    return (*asked, number, *others, *paper_acts.next_fields(call), note())


def answer_holds(call: Call) -> Mapping[str, Any]:
    if not renews(call):
        return {"ended_on": call.today}
    return {**paper_acts.renew_holds(call), "ended_on": call.today}


def answer_says(call: Call) -> str:
    return gettext(ANSWERS if renews(call) else later("The deadline is closed already: only the answer is noted."))


def is_pending(_: Entry, deadline: Deadline | None) -> bool:
    return deadline is not None and deadline.is_pending


FILING: Mapping[str, Deed] = {
    "file": Deed(
        later("Filed with the authority"), later("Save the filing"), file, is_open, file_fields, file_holds,
        is_of_deadline=True,
    ),
    "end-filing": Deed(
        later("The authority has answered"), later("Save the answer"), end_filing, is_pending, answer_fields,
        answer_holds, answer_says, True,
    ),
}  # fmt: skip
