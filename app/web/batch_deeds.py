"""What can be done to many entries at once: each act with its fields, the order that they make, and its words."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain import recurrences
from app.domain.acts import ArchiveReason, MoveReason, NextFrom, SnoozeReason
from app.domain.batches import BatchAct, Left, Several
from app.operations import documents, register
from app.operations.batch_plan import Order, Step
from app.queries.sight import Sight
from app.vocabulary import OF
from app.web.access import Visit
from app.web.entry_acts import NOTE, STARTS
from app.web.entry_fields import Field, Options, offered, typed_code, typed_day, words_of
from app.web.entry_people import candidates_for, owner_of, responsibles
from app.web.paper_acts import FIELDS as PAPER_FIELDS
from app.web.paper_acts import FILE_HINT
from app.web.typed_form import Form
from app.words import day, word

BY, TO = "by", "to"
LATER, EARLIER = "later", "earlier"
HOW: Options = ((BY, "By a length of time, each from its own date"), (TO, "To one day, the same for all"))
UNITS: Options = (("d", "days"), ("w", "weeks"), ("m", "months"), ("y", "years"))
DIRECTIONS: Options = ((LATER, "Later"), (EARLIER, "Earlier"))
SEVERAL: Options = (
    (Several.leave.value, "Leave them as they are"),
    (Several.next.value, "Move the next open date, and leave the others"),
)
SEVERAL_DONE: Options = (
    (Several.leave.value, "Leave them as they are"),
    (Several.next.value, "Close the next open date, and leave the others"),
)
FILE = Field("file", "File of the paper", "file", hint=f"One file for all of them. {FILE_HINT}")
BY_ACT = Field("by_act", "By which act", hint="The law or the decision that it follows from: its name and its date.")

LEFT: Mapping[str, str] = {
    Left.taken: "there is a deadline on the new day already",
    Left.several: "several dates are open",
    Left.follows: "the date follows that of the whole and moves with it",
    Left.closed: "all deadlines are closed",
    Left.no_date: "there is no date",
    Left.beyond: "the new day is outside the years 1990 to 2079",
    Left.archived: "archived",
    Left.out_of_sight: "whoever was chosen may not see the site",
    Left.day_over: "the day is not after today at the site",
    Left.day_unknown: "the date at the site is unknown",
    Left.day_ahead: "the day on which it was done, or issued, is still to come at the site",
    Left.filed: "it is pending with the authority: note the answer first",
    Left.nothing_next: "the paper has no last day and the entry does not come again: renew it by itself",
    Left.has_paper: "it has this very paper already",
    Left.not_paused: "alerts are not paused",
    Left.no_draft: "not a draft",
    Left.same: "so already",
}


@dataclass(frozen=True)
class BatchDeed:
    """One act: its words, its fields, what they hold at first, and the order that is read out of them."""

    act: BatchAct
    title: str
    button: str
    fields: Callable[[Visit, Sight], Sequence[Field]]
    order: Callable[[Form], Order | None]
    holds: Mapping[str, Any]
    says: str = ""
    file: Field | None = None  # Asked for with the last button, since no page can keep a file.


def text(form: Form, name: str) -> str:
    return str(form.values.get(name, ""))


def move_fields(_: Visit, __: Sight) -> Sequence[Field]:
    return (
        Field("how", "How do the dates move?", "radio", HOW),
        Field("count", "By how many", hint="A whole number, such as 6. Only where they move by a length of time."),
        Field("unit", "Unit", "choice", UNITS, is_required=True),
        Field("direction", "Direction", "radio", DIRECTIONS),
        Field("due_on", "To this day", "day", hint="Only where all of them move to one day."),
        Field("several", "Entries with several open dates", "radio", SEVERAL),
        Field("reason", "Reason", "radio", words_of("move_reason", MoveReason)),
        BY_ACT,
        NOTE,
    )


def move(form: Form) -> Order | None:
    how = offered(form, "how", HOW)
    to = typed_day(form, "due_on", "Choose the day to which they move.") if how == TO else None
    by = length(form) if how == BY else None
    if not how:
        form.faults["how"] = "Choose how the dates move."
    reason = typed_code(form, "reason", MoveReason, "Choose a reason.")
    several = typed_code(form, "several", Several, "Choose what becomes of entries with several open dates.")
    earlier = offered(form, "direction", DIRECTIONS) == EARLIER
    said: dict[str, Any] = {
        "reason": reason,
        "to": to,
        "by": by,
        "is_earlier": earlier and how == BY,
        "several": several,
    }
    return None if form.is_wrong else Order(BatchAct.move, **said, **noted(form))


def length(form: Form) -> str | None:
    """The length of time as the trail has it: 30d, 6w, 3m, 1y."""
    count, unit = text(form, "count").strip(), offered(form, "unit", UNITS) or "d"
    most = recurrences.LONGEST.get(unit, 0)
    if not (count.isascii() and count.isdecimal() and len(count) <= 4 and 1 <= int(count) <= most):
        form.faults.setdefault("count", f"Write a whole number from 1 to {most or 10}, such as 6.")
        return None
    if not text(form, "direction"):
        form.faults["direction"] = "Choose whether they move later or earlier."
    return f"{int(count)}{unit}"


def noted(form: Form) -> dict[str, Any]:
    return {name: text(form, name) for name in ("note", "by_act") if name in form.values}


def renew_fields(_: Visit, __: Sight) -> Sequence[Field]:
    return (
        *(field for field in PAPER_FIELDS if field.kind != "file"),
        Field("met_on", "Done on", "day", hint="The day on which all of them were done.", is_required=True),
        Field("several", "Entries with several open dates", "radio", SEVERAL_DONE),
        NOTE,
    )


def renew(form: Form) -> Order | None:
    if not text(form, "number").strip():
        form.faults["number"] = "Write the number of the paper."
    days: dict[str, Any] = {name: typed_day(form, name) for name in ("issued_on", "valid_from", "valid_until")}
    met_on = typed_day(form, "met_on", "Choose the day on which it was done.")
    several = typed_code(form, "several", Several, "Choose what becomes of entries with several open dates.")
    paper = documents.Paper(text(form, "number"), text(form, "issuer"), **days)
    if form.is_wrong or several is None:
        return None
    return Order(BatchAct.renew, paper=paper, met_on=met_on, several=several, **noted(form))


def owner_fields(visit: Visit, sight: Sight) -> Sequence[Field]:
    hint = "Alerts that were not answered go to the new responsible, too."
    people = responsibles(visit, candidates_for(visit, sight.in_use))
    return (Field("responsible", "Responsible", "choice", people, "Choose somebody", hint, True), NOTE)


def assign(form: Form) -> Order | None:
    route, _, number = text(form, "responsible").partition(":")
    if not route or not number.isdecimal():
        form.faults.setdefault("responsible", "Choose who is responsible from now on.")
    owner: dict[str, Any] = dict(owner_of(f"{route}:{number}"))
    return None if form.is_wrong else Order(BatchAct.assign, **owner, **noted(form))


def pause_fields(_: Visit, __: Sight) -> Sequence[Field]:
    return (
        Field("until", "Until", "day", hint="The first day on which alerts go out again.", is_required=True),
        Field("reason", "Reason", "radio", words_of("snooze_reason", SnoozeReason)),
        NOTE,
    )


def pause(form: Form) -> Order | None:
    until: dt.date | None = typed_day(form, "until", "Choose the day on which alerts go out again.")
    reason = typed_code(form, "reason", SnoozeReason, "Choose a reason.")
    return None if form.is_wrong else Order(BatchAct.pause, reason, until=until, **noted(form))


def release(form: Form) -> Order | None:
    start = offered(form, "start", STARTS)
    if not start:
        form.faults["start"] = "Choose from when on alerts are sent."
    return None if form.is_wrong else Order(BatchAct.release, start=start, **noted(form))


def archive(form: Form) -> Order | None:
    reason = typed_code(form, "reason", ArchiveReason, "Choose a reason.")
    return None if form.is_wrong else Order(BatchAct.archive, reason, **noted(form))


def only_noted(_: Visit, __: Sight) -> Sequence[Field]:
    return (NOTE,)


BATCH_DEEDS: Mapping[str, BatchDeed] = {
    "move": BatchDeed(
        BatchAct.move, "Move the dates", "Move the dates", move_fields, move,
        {"how": BY, "unit": "m", "direction": LATER, "several": Several.leave.value},
        "Of each entry its next open date is moved. The first date stays on record, and so does the reason.",
    ),
    "renew": BatchDeed(
        BatchAct.renew, "Renew with one paper", "Renew them", renew_fields, renew, {"several": Several.leave.value},
        "Of each entry its next open date is closed as done, and the next one is opened: on the last day of the "
        "paper's validity, or else as the entry comes again. What comes by the calendar goes on by the calendar. "
        "The paper stands with each entry, and replaces its last one. Its file is asked for in the next step.", FILE,
    ),
    "hand-over": BatchDeed(BatchAct.assign, "Hand over", "Hand them over", owner_fields, assign, {}),
    "pause": BatchDeed(
        BatchAct.pause, "Pause alerts", "Pause their alerts", pause_fields, pause, {},
        "The dates stay. Alerts on the due date and after it are sent all the same.",
    ),
    "resume": BatchDeed(
        BatchAct.resume, "End the pause", "End the pause", only_noted,
        lambda form: Order(BatchAct.resume, **noted(form)), {}, "Their alerts go out again at once.",
    ),
    "release": BatchDeed(
        BatchAct.release, "Release the drafts", "Put them on the watch",
        lambda *_: (Field("start", "Alerts begin", "radio", STARTS), NOTE), release, {"start": register.NOW},
        "A draft is not watched. Once it is released, its alerts are sent.",
    ),
    "out-of-service": BatchDeed(
        BatchAct.out_of_service, "Out of service", "Take them out of service", lambda *_: (BY_ACT, NOTE),
        lambda form: Order(BatchAct.out_of_service, **noted(form)), {},
        "Nobody is told while an entry is out of service.",
    ),
    "archive": BatchDeed(
        BatchAct.archive, "Archive", "Archive them",
        lambda *_: (Field("reason", "Reason", "radio", words_of("archive_reason", ArchiveReason)), BY_ACT, NOTE),
        archive, {}, "Nothing is deleted: the entries keep their history, and nobody is told of them any more.",
    ),
}  # fmt: skip
OF_ACT: Mapping[str, BatchDeed] = {deed.act.value: deed for deed in BATCH_DEEDS.values()}


def read_order(deed: BatchDeed, form: Form, fields: Sequence[Field]) -> Order | None:
    """The order; None where something is wrong beside a field. What is chosen is checked against what was offered."""
    for field in fields:
        if field.kind in ("choice", "radio"):
            offered(form, field.name, field.options)
    return deed.order(form)


def change_of(deed: BatchDeed, step: Step, form: Form, fields: Sequence[Field]) -> tuple[str, str]:
    """What an entry says before and after, in words."""
    if deed.act == BatchAct.assign:
        offers = {value: words for field in fields if field.name == "responsible" for value, words in field.options}
        return step.owner or "nobody", offers.get(text(form, "responsible"), "")
    if deed.act == BatchAct.move:
        which = f", the next of {step.open_dates} open dates" if step.open_dates > 1 else ""
        return of_day(step.old) + which, of_day(step.new)
    if deed.act == BatchAct.renew:
        which = f", the next of {step.open_dates} open dates" if step.open_dates > 1 else ""
        source = OF["next_from"][NextFrom.paper] if step.next_from == NextFrom.paper else "as it comes again"
        return of_day(step.old) + which, f"done; next {of_day(step.new)}, {source}"
    if deed.act in (BatchAct.pause, BatchAct.resume):
        return tuple(f"paused until {of_day(one)}" if one else "not paused" for one in (step.old, step.new))  # type: ignore[return-value]
    return word(step.old, "status"), word(step.new, "status")


def of_day(iso: str) -> str:
    return day(dt.date.fromisoformat(iso))
