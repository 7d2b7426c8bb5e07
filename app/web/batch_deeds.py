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
from app.web.entry_acts import STARTS, note, owner_hint, pause_fields
from app.web.entry_fields import Field, Options, offered, told, typed_code, typed_day, words_of
from app.web.entry_people import candidates_for, owner_of, responsibles
from app.web.paper_acts import file_hint, paper_fields
from app.web.typed_form import Form
from app.wording import gettext, later, ngettext
from app.words import day, word

BY, TO = "by", "to"
LATER, EARLIER = "later", "earlier"
HOW: Options = (
    (BY, later("By a length of time, each from its own date")),
    (TO, later("To one day, the same for all")),
)
UNITS: Options = (("d", later("days")), ("w", later("weeks")), ("m", later("months")), ("y", later("years")))
DIRECTIONS: Options = ((LATER, later("Later")), (EARLIER, later("Earlier")))
SEVERAL: Options = (
    (Several.leave.value, later("Leave them as they are")),
    (Several.next.value, later("Move the next open date, and leave the others")),
)
SEVERAL_DONE: Options = (
    (Several.leave.value, later("Leave them as they are")),
    (Several.next.value, later("Close the next open date, and leave the others")),
)
WHICH = later("Choose what becomes of entries with several open dates.")
WHY = later("Choose a reason.")

LEFT: Mapping[str, str] = {
    Left.taken: later("there is a deadline on the new day already"),
    Left.several: later("several dates are open"),
    Left.follows: later("the date follows that of the whole and moves with it"),
    Left.closed: later("all deadlines are closed"),
    Left.no_date: later("there is no date"),
    Left.beyond: later("the new day is outside the years 1990 to 2079"),
    Left.archived: later("archived"),
    Left.out_of_sight: later("whoever was chosen may not see the site"),
    Left.day_over: later("the day is not after today at the site"),
    Left.day_unknown: later("the date at the site is unknown"),
    Left.day_ahead: later("the day on which it was done, or issued, is still to come at the site"),
    Left.filed: later("it is pending with the authority: note the answer first"),
    Left.nothing_next: later("the paper has no last day and the entry does not come again: renew it by itself"),
    Left.has_paper: later("it has this very paper already"),
    Left.not_paused: later("alerts are not paused"),
    Left.no_draft: later("not a draft"),
    Left.same: later("so already"),
}


@dataclass(frozen=True)
class BatchDeed:
    """One act: its marked words, its fields, what they hold at first, and the order that is read out of them."""

    act: BatchAct
    title: str
    button: str
    fields: Callable[[Visit, Sight], Sequence[Field]]
    order: Callable[[Form], Order | None]
    holds: Mapping[str, Any]
    says: str = ""
    file: Callable[[], Field] | None = None  # Asked for with the last button, since no page can keep a file.


def file_field() -> Field:
    hint = f"{gettext('One file for all of them.')} {file_hint()}"
    return Field("file", gettext("File of the paper"), "file", hint=hint)


def by_act() -> Field:
    hint = gettext("The law or the decision that it follows from: its name and its date.")
    return Field("by_act", gettext("By which act"), hint=hint)


def text(form: Form, name: str) -> str:
    return str(form.values.get(name, ""))


def move_fields(_: Visit, __: Sight) -> Sequence[Field]:
    count = gettext("A whole number, such as 6. Only where they move by a length of time.")
    return (
        Field("how", gettext("How do the dates move?"), "radio", told(HOW)),
        Field("count", gettext("By how many"), hint=count),
        Field("unit", gettext("Unit"), "choice", told(UNITS), is_required=True),
        Field("direction", gettext("Direction"), "radio", told(DIRECTIONS)),
        Field("due_on", gettext("To this day"), "day", hint=gettext("Only where all of them move to one day.")),
        Field("several", gettext("Entries with several open dates"), "radio", told(SEVERAL)),
        Field("reason", gettext("Reason"), "radio", words_of("move_reason", MoveReason)),
        by_act(),
        note(),
    )


def move(form: Form) -> Order | None:
    how = offered(form, "how", HOW)
    to = typed_day(form, "due_on", later("Choose the day to which they move.")) if how == TO else None
    by = length(form) if how == BY else None
    if not how:
        form.faults["how"] = gettext("Choose how the dates move.")
    reason = typed_code(form, "reason", MoveReason, WHY)
    several = typed_code(form, "several", Several, WHICH)
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
        fault = gettext("Write a whole number from 1 to %(most)s, such as 6.", most=most or 10)
        form.faults.setdefault("count", fault)
        return None
    if not text(form, "direction"):
        form.faults["direction"] = gettext("Choose whether they move later or earlier.")
    return f"{int(count)}{unit}"


def noted(form: Form) -> dict[str, Any]:
    return {name: text(form, name) for name in ("note", "by_act") if name in form.values}


def renew_fields(_: Visit, __: Sight) -> Sequence[Field]:
    return (
        *(field for field in paper_fields() if field.kind != "file"),
        Field("met_on", gettext("Done on"), "day", (), None, gettext("The day on which all of them were done."), True),
        Field("several", gettext("Entries with several open dates"), "radio", told(SEVERAL_DONE)),
        note(),
    )


def renew(form: Form) -> Order | None:
    if not text(form, "number").strip():
        form.faults["number"] = gettext("Write the number of the paper.")
    days: dict[str, Any] = {name: typed_day(form, name) for name in ("issued_on", "valid_from", "valid_until")}
    met_on = typed_day(form, "met_on", later("Choose the day on which it was done."))
    several = typed_code(form, "several", Several, WHICH)
    paper = documents.Paper(text(form, "number"), text(form, "issuer"), **days)
    if form.is_wrong or several is None:
        return None
    return Order(BatchAct.renew, paper=paper, met_on=met_on, several=several, **noted(form))


def owner_fields(visit: Visit, sight: Sight) -> Sequence[Field]:
    people, choose = responsibles(visit, candidates_for(visit, sight.in_use)), gettext("Choose somebody")
    return (Field("responsible", gettext("Responsible"), "choice", people, choose, owner_hint(), True), note())


def assign(form: Form) -> Order | None:
    route, _, number = text(form, "responsible").partition(":")
    if not route or not number.isdecimal():
        form.faults.setdefault("responsible", gettext("Choose who is responsible from now on."))
    owner: dict[str, Any] = dict(owner_of(f"{route}:{number}"))
    return None if form.is_wrong else Order(BatchAct.assign, **owner, **noted(form))


def pause(form: Form) -> Order | None:
    until: dt.date | None = typed_day(form, "until", later("Choose the day on which alerts go out again."))
    reason = typed_code(form, "reason", SnoozeReason, WHY)
    return None if form.is_wrong else Order(BatchAct.pause, reason, until=until, **noted(form))


def release(form: Form) -> Order | None:
    start = offered(form, "start", STARTS)
    if not start:
        form.faults["start"] = gettext("Choose from when on alerts are sent.")
    return None if form.is_wrong else Order(BatchAct.release, start=start, **noted(form))


def archive_fields(_: Visit, __: Sight) -> Sequence[Field]:
    reasons = words_of("archive_reason", ArchiveReason)
    return (Field("reason", gettext("Reason"), "radio", reasons), by_act(), note())


def archive(form: Form) -> Order | None:
    reason = typed_code(form, "reason", ArchiveReason, WHY)
    return None if form.is_wrong else Order(BatchAct.archive, reason, **noted(form))


def only_noted(_: Visit, __: Sight) -> Sequence[Field]:
    return (note(),)


BATCH_DEEDS: Mapping[str, BatchDeed] = {
    "move": BatchDeed(
        BatchAct.move, later("Move the dates"), later("Move the dates"), move_fields, move,
        {"how": BY, "unit": "m", "direction": LATER, "several": Several.leave.value},
        later("Of each entry its next open date is moved. The first date stays on record, and so does the reason."),
    ),
    "renew": BatchDeed(
        BatchAct.renew, later("Renew with one paper"), later("Renew them"), renew_fields, renew,
        {"several": Several.leave.value}, later(
        "Of each entry its next open date is closed as done, and the next one is opened: on the last day of the "
        "paper's validity, or else as the entry comes again. What comes by the calendar goes on by the calendar. "
        "The paper stands with each entry, and replaces its last one. Its file is asked for in the next step."),
        file_field,
    ),
    "hand-over": BatchDeed(
        BatchAct.assign, later("Hand over"), later("Hand them over"), owner_fields, assign, {},
    ),
    "pause": BatchDeed(
        BatchAct.pause, later("Pause alerts"), later("Pause their alerts"), lambda *_: pause_fields(), pause, {},
        later("The dates stay. Alerts on the due date and after it are sent all the same."),
    ),
    "resume": BatchDeed(
        BatchAct.resume, later("End the pause"), later("End the pause"), only_noted,
        lambda form: Order(BatchAct.resume, **noted(form)), {}, later("Their alerts go out again at once."),
    ),
    "release": BatchDeed(
        BatchAct.release, later("Release the drafts"), later("Put them on the watch"),
        lambda *_: (Field("start", gettext("Alerts begin"), "radio", told(STARTS)), note()), release,
        {"start": register.NOW}, later("A draft is not watched. Once it is released, its alerts are sent."),
    ),
    "out-of-service": BatchDeed(
        BatchAct.out_of_service, later("Out of service"), later("Take them out of service"),
        lambda *_: (by_act(), note()), lambda form: Order(BatchAct.out_of_service, **noted(form)), {},
        later("Nobody is told while an entry is out of service."),
    ),
    "archive": BatchDeed(
        BatchAct.archive, later("Archive"), later("Archive them"), archive_fields, archive, {},
        later("Nothing is deleted: the entries keep their history, and nobody is told of them any more."),
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
        return step.owner or gettext("nobody"), offers.get(text(form, "responsible"), "")
    if deed.act == BatchAct.move:
        return which_day(step), of_day(step.new)
    if deed.act == BatchAct.renew:
        of_paper = step.next_from == NextFrom.paper
        source = OF["next_from"][NextFrom.paper] if of_paper else gettext("as it comes again")
        return which_day(step), gettext("done; next %(day)s, %(origin)s", day=of_day(step.new), origin=source)
    if deed.act in (BatchAct.pause, BatchAct.resume):
        return paused(step.old), paused(step.new)
    return word(step.old, "status"), word(step.new, "status")


def which_day(step: Step) -> str:
    """The date that is meant, where an entry has several."""
    if step.open_dates <= 1:
        return of_day(step.old)
    return ngettext(
        "%(day)s, the next of %(number)d open date", "%(day)s, the next of %(number)d open dates",
        step.open_dates, day=of_day(step.old),
    )  # fmt: skip


def paused(until: str) -> str:
    return gettext("paused until %(day)s", day=of_day(until)) if until else gettext("not paused")


def of_day(iso: str) -> str:
    return day(dt.date.fromisoformat(iso))
