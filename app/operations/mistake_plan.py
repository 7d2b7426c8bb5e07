"""What taking back a whole import would do: read from its trail and from the entries as they are now. Writes nothing.

An entry on which somebody has worked since the import is left alone, whatever the work was: to take off the watch what
somebody has confirmed is the more dangerous fault. Each such entry is named, for a person to decide.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.ledger.planning import plan_simply
from app.operations.kinds import key_of, known_kinds
from app.trail.act import Act

# The events of an import bear its instant, by which the trail is indexed.
TOUCHED = """
select e.subject_id, bool_or(e.type in ('subject_created', 'subject_restored')) as made, min(e.id) as first_event
from import_run r
join audit_event e on e.org_id = :org and e.at = r.at and e.detail -> 'import_run_id' = to_jsonb(r.id)
where r.org_id = :org and r.id = :import_run and e.subject_id is not null
group by e.subject_id order by e.subject_id"""

# The last thing that a person, or a later import, did to an entry since. Alerts, messages and answers bear a claim or a
# delivery, and are no work on the entry; nor is a release, nor a date that came by a series or by the whole's, nor what
# an import did that was itself taken back.
WORKED = """
select distinct on (e.subject_id) e.subject_id, e.id
from audit_event e
where e.org_id = :org and e.subject_id = any (cast(:subjects as bigint[])) and e.id > :since
  and e.claim_id is null and e.delivery_id is null and e.type <> 'subject_released'
  and e.detail -> 'import_in_error' is null and coalesce(e.detail ->> 'source', '') not in ('series', 'whole')
  and not exists (select from import_run r
                  where r.org_id = :org and r.id = cast(e.detail ->> 'import_run_id' as bigint)
                    and (r.id = :import_run or r.in_error_at is not null))
order by e.subject_id, e.id desc"""

DATES = """
select distinct o.id, o.subject_id, o.due_on
from import_run r
join audit_event e on e.org_id = :org and e.at = r.at and e.detail -> 'import_run_id' = to_jsonb(r.id)
join obligation o on o.org_id = :org and o.id = cast(e.detail ->> 'obligation_id' as bigint)
where r.org_id = :org and r.id = :import_run and e.type in ('obligation_opened', 'obligation_reopened')
  and e.subject_id = any (cast(:subjects as bigint[])) and o.closed_at is null
order by o.subject_id, o.id"""

# What came since, by a series or by the whole's date, of entries that the import made: it goes with them.
CAME = """
select distinct o.id, o.subject_id, o.due_on
from audit_event e
join obligation o on o.org_id = :org and o.id = cast(e.detail ->> 'obligation_id' as bigint)
where e.org_id = :org and e.subject_id = any (cast(:made as bigint[])) and e.id > :since
  and e.type in ('obligation_opened', 'obligation_reopened') and e.detail ->> 'source' in ('series', 'whole')
  and o.closed_at is null
order by o.subject_id, o.id"""

# What follows a date that is closed, of whatever entry: it is as wrong as that.
FOLLOWED = """
select o.id, o.subject_id, o.due_on from obligation o
where o.org_id = :org and o.follows_id = any (cast(:ids as bigint[])) and o.closed_at is null order by o.id"""

MOVES = """
select o.id, o.subject_id, cast(e.detail ->> 'old' as date) as old, o.due_on as new,
       o.closed_at is null and o.due_on = cast(e.detail ->> 'new' as date)
       and not exists (select from obligation x where x.org_id = :org and x.subject_id = o.subject_id
                       and x.due_on = cast(e.detail ->> 'old' as date)) as is_free
from import_run r
join audit_event e on e.org_id = :org and e.at = r.at and e.detail -> 'import_run_id' = to_jsonb(r.id)
join obligation o on o.org_id = :org and o.id = cast(e.detail ->> 'obligation_id' as bigint)
where r.org_id = :org and r.id = :import_run and e.type = 'date_moved'
  and e.subject_id = any (cast(:subjects as bigint[]))
order by o.subject_id, o.id"""

COLUMNS = """
select s.id, e.detail -> 'old' as old, e.detail -> 'new' as new, k.name as kind, s.title, s.owner_member_id,
       s.owner_post_id, s.holder_id, s.part_of_id, s.due_from, s.recurrence, s.recurrence_basis, s.legal_basis, s.notes
from import_run r
join audit_event e on e.org_id = :org and e.at = r.at and e.detail -> 'import_run_id' = to_jsonb(r.id)
join subject s on s.org_id = :org and s.id = e.subject_id
join kind k on k.org_id = :org and k.id = s.kind_id
where r.org_id = :org and r.id = :import_run and e.type = 'subject_changed'
  and e.subject_id = any (cast(:subjects as bigint[]))
order by s.id"""


@dataclass(frozen=True, slots=True)
class Putting:
    """Columns of one entry that are put back: what they say, and what they said before the import."""

    subject_id: int
    new: Mapping[str, Any]
    old: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Moving:
    """A due date that goes back to its day."""

    obligation_id: int
    subject_id: int
    new: dt.date
    old: dt.date


@dataclass(frozen=True, slots=True)
class Closing:
    """A due date that the import opened, and that is closed."""

    obligation_id: int
    subject_id: int
    due_on: dt.date


@dataclass
class Left:
    """An entry that is left as it is: the event of the work that was done on it, or what could not be put back."""

    subject_id: int
    event_id: int | None
    kept: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Plan:
    """What would be done. `touched` are all entries that the import made, brought back or changed."""

    import_run_id: int
    touched: Sequence[int]
    archived: Sequence[int]
    closed: Sequence[Closing]
    moved: Sequence[Moving]
    put_back: Sequence[Putting]
    left: Sequence[Left]

    @property
    def changed(self) -> list[int]:
        """The entries that were there before and become what they were."""
        moved, put_back = {one.subject_id for one in self.moved}, {one.subject_id for one in self.put_back}
        return sorted((moved | put_back | {one.subject_id for one in self.closed}) - set(self.archived))

    @property
    def counts(self) -> dict[str, int]:
        """How many entries are archived, put back and left; how many dates are closed, and moved back."""
        lists = {"archived": self.archived, "closed": self.closed, "put_back": self.changed, "moved_back": self.moved}
        return {name: len(found) for name, found in (lists | {"left": self.left}).items()}


def read_touched(act: Act, import_run_id: int) -> Sequence[Any]:
    """The entries, each with whether the import made it or brought it back, and the first event of it."""
    plan_simply(act)  # Right after an import nothing is known of its rows, and all would be joined one by one.
    rows: Sequence[Any] = act.run(TOUCHED, {"import_run": import_run_id}).all()
    return rows


def make_plan(act: Act, import_run_id: int, touched: Sequence[Any]) -> Plan:
    """What taking the import back does to these entries as they are now.

    1. Whatever somebody has worked on since is left.
    2. What the import made or brought back is archived, and the dates that it opened are closed.
    3. Of the others, dates and columns become what they were, where they still are what the import wrote.
    """
    subjects = [row.subject_id for row in touched]
    run = {"import_run": import_run_id}
    since = min((row.first_event for row in touched), default=0)
    left = [Left(row.subject_id, row.id) for row in act.run(WORKED, run | {"subjects": subjects, "since": since})]
    worked = {one.subject_id for one in left}
    free = [row for row in touched if row.subject_id not in worked]
    made = [row.subject_id for row in free if row.made]
    ours = run | {"subjects": [row.subject_id for row in free]}
    dates = {row.id: row for row in (*act.run(DATES, ours), *act.run(CAME, {"made": made, "since": since}))}
    dates |= {row.id: row for row in act.run(FOLLOWED, {"ids": list(dates)})}
    closed = [Closing(row.id, row.subject_id, row.due_on) for row in dates.values()]
    kept: dict[int, list[str]] = {}
    moved = read_moves(act, ours, kept)
    changed = {"subjects": [row.subject_id for row in free if not row.made]}
    put_back = read_columns(act, run | changed, known_kinds(act), kept)
    left += [Left(subject_id, None, names) for subject_id, names in kept.items()]
    return Plan(import_run_id, subjects, made, closed, moved, put_back, sorted(left, key=lambda one: one.subject_id))


def read_moves(act: Act, ours: Mapping[str, Any], kept: dict[int, list[str]]) -> list[Moving]:
    moved = []
    for row in act.run(MOVES, ours):
        if row.is_free:
            moved.append(Moving(row.id, row.subject_id, row.new, row.old))
        else:
            kept.setdefault(row.subject_id, []).append("due_on")
    return moved


def read_columns(
    act: Act, ours: Mapping[str, Any], kinds: Mapping[str, int], kept: dict[int, list[str]]
) -> list[Putting]:
    """The columns that still say what the import wrote. A kind is known by its name, which may be another one now."""
    put_back = []
    for row in act.run(COLUMNS, ours):
        same = [name for name, value in row.new.items() if says(row, name, value)]
        names = [name for name in same if name != "kind" or key_of(row.old["kind"]) in kinds]
        if names:
            new, old = ({name: said[name] for name in names} for said in (row.new, row.old))
            put_back.append(Putting(row.id, new, old))
        if len(names) < len(row.new):
            kept.setdefault(row.id, []).extend(name for name in row.new if name not in names)
    return put_back


def says(row: Any, name: str, value: Any) -> bool:
    """Whether the column says this now."""
    now = getattr(row, name)
    return key_of(now) == key_of(value) if name == "kind" else bool(now == value)
