"""What the pages say of an import that is, or may be, entered in error: what is left and why, and what was told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.exports.event_words import LABELS, Change, changes, told
from app.operations.mistake_plan import Plan
from app.operations.typed import iso
from app.queries.entry_history import Event, names_of
from app.queries.imports import Run
from app.queries.mistakes import (
    Entered,
    LeftEntry,
    Named,
    Reason,
    Told,
    count_told,
    read_entered,
    read_left,
    read_named,
    read_reasons,
    read_told,
)
from app.web.access import Visit
from app.wording import gettext

SHOWN = 50  # Rows of each list on the page; the counts are of all.
MOST_TOLD = 200  # Messages on the page: they are what somebody may have to be called about.


@dataclass(frozen=True)
class LeftRow:
    """An entry that is left as it is, and why, in words."""

    entry: LeftEntry
    why: str


@dataclass(frozen=True)
class PutBack:
    """An entry that becomes what it was, and how."""

    entry: Named
    changes: Sequence[Change]


@dataclass(frozen=True)
class Taken:
    """What the pages show: counts, what is left, what was told; and beforehand, what would become of what."""

    counts: Mapping[str, int]
    left: Sequence[LeftRow]
    told: Sequence[Told]
    told_in_all: int
    archived: Sequence[Named] = ()
    put_back: Sequence[PutBack] = ()

    @property
    def is_nothing(self) -> bool:
        """Whether nothing of the import is there to be taken back, or left."""
        return not any(self.counts.values())


def taken_back(visit: Visit, run: Run) -> Taken | None:
    """What was taken back; None of an import that is not in error."""
    session, org = visit.act.session, visit.act.org
    entered = read_entered(session, org, run)
    if entered is None:
        return None
    return Taken(entered.counts, left_rows(visit, read_left(session, org, run, SHOWN)), *told_of(visit, run, entered))


def to_take_back(visit: Visit, run: Run, plan: Plan) -> Taken:
    """What would be taken back."""
    session, org = visit.act.session, visit.act.org
    reasons: list[Reason] = [(one.subject_id, one.event_id, one.kept) for one in plan.left[:SHOWN]]
    archived = read_named(session, org, plan.archived[:SHOWN])
    left = left_rows(visit, reasons)
    return Taken(plan.counts, left, *told_of(visit, run, None), archived, put_back_rows(visit, plan))


def told_of(visit: Visit, run: Run, entered: Entered | None) -> tuple[Sequence[Told], int]:
    session, org = visit.act.session, visit.act.org
    return read_told(session, org, run, entered, MOST_TOLD), count_told(session, org, run, entered)


def left_rows(visit: Visit, reasons: Sequence[Reason]) -> list[LeftRow]:
    entries, names = read_reasons(visit.act.session, visit.act.org, reasons)
    rows = []
    for one in entries:
        if one.work is None:
            fields = ", ".join(LABELS.get(name, name).lower() for name in one.kept)
            why = gettext("Not put back, since it is not what the import wrote any more: %(fields)s", fields=fields)
            rows.append(LeftRow(one, why))
        else:
            said = told(one.work, names, visit.place.timezone)
            rows.append(LeftRow(one, f"{said.what}: {said.by}, {said.at}"))
    return rows


def put_back_rows(visit: Visit, plan: Plan) -> list[PutBack]:
    """The first entries that become what they were, as the trail would tell it."""
    shown = read_named(visit.act.session, visit.act.org, plan.changed[:SHOWN])
    found: dict[int, list[Event]] = {one.id: [] for one in shown}
    for put in plan.put_back:
        if put.subject_id in found:
            found[put.subject_id].append(as_event(visit, "subject_changed", put.new, put.old))
    for move in plan.moved:
        if move.subject_id in found:
            days = ({"due_on": iso(move.new)}, {"due_on": iso(move.old)})
            found[move.subject_id].append(as_event(visit, "date_moved", *days))
    for date in plan.closed:
        if date.subject_id in found:
            days = ({"due_on": iso(date.due_on)}, {"due_on": None})
            found[date.subject_id].append(as_event(visit, "obligation_closed", *days))
    events = [event for some in found.values() for event in some]
    names = names_of(visit.act.session, visit.act.org, events)
    return [PutBack(one, [change for event in found[one.id] for change in changes(event, names)]) for one in shown]


def as_event(visit: Visit, type: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Event:
    return Event(0, visit.act.now, visit.act.actor, type, None, {"old": dict(old), "new": dict(new)})
