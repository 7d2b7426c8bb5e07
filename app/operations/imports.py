"""Applying an import: entries that arrive and entries that change, in a few statements for all of them at once.

What becomes of each record was decided before (`app/imports`). Each change leaves its trail, and the import itself is
kept as evidence: the file's hash, how it was read, and what became of each record.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from app.domain.acts import Contents, MoveReason, Status
from app.domain.errors import Refused
from app.ledger.coming import open_coming
from app.ledger.queue import changed
from app.ledger.start import hold_back, hold_back_raised
from app.operations import rhythms
from app.operations.batches import Trail, as_json, batches
from app.operations.comebacks import Comeback, bring_back, reopen_obligations
from app.operations.kinds import find_or_make, key_of
from app.operations.typed import iso
from app.trail.act import Act

NOW, NEXT, DRAFT = "now", "next", "draft"  # Where the alerts of what arrives begin; a draft waits to be released.
OTHER = "other"  # The kind of entries that name none.
QUEUED_SINGLY = 1000  # Above this many entries the next scan looks at everything, which is cheaper than a list.
SOURCE = "import"

# Two imports of one organisation take turns, so that the second is judged by what the first has made.
TAKE_TURNS = "select pg_advisory_xact_lock(hashtextextended('onus import', :org))"

KEEP = """
insert into import_run (org_id, at, actor, contents, file_name, file_sha256, mapping, counts, rows)
values (:org, :now, :actor, :contents, :file_name, :file_sha256, cast(:mapping as jsonb), cast(:counts as jsonb),
        cast(:rows as jsonb))
returning id"""

# Set-based by way of one JSON text: a statement with a parameter for each cell costs ten times as long to prepare. A
# record without a recurrence has that of its kind.
ADD_SUBJECTS = """
insert into subject (org_id, site_id, kind_id, reference, reference_key, title, status, owner_member_id, owner_post_id,
                     holder_id, recurrence, recurrence_basis, legal_basis, notes, extra)
select :org, g.site_id, g.kind_id, g.reference, g.reference_key, g.title, g.status, g.owner_member_id, g.owner_post_id,
       g.holder_id, case when g.due_from is null then coalesce(g.recurrence, k.recurrence) end,
       case when g.recurrence is not null then g.recurrence_basis when g.due_from is null then k.recurrence_basis end,
       coalesce(g.legal_basis, ''), coalesce(g.notes, ''), g.extra
from jsonb_to_recordset(cast(:rows as jsonb)) as g (
  line int, site_id bigint, kind_id bigint, reference text, reference_key text, title text, status text,
  owner_member_id bigint, owner_post_id bigint, holder_id bigint, recurrence text, recurrence_basis text,
  due_from text, legal_basis text, notes text, extra jsonb)
join kind k on k.org_id = :org and k.id = g.kind_id
order by g.line
on conflict (org_id, site_id, reference_key) do nothing
returning id, site_id, reference_key"""

# What a record does not say stays as it is. An owner by name takes the place of one by post, and so the other way.
AMEND_SUBJECTS = """
update subject s set
  title = coalesce(g.title, s.title), kind_id = coalesce(g.kind_id, s.kind_id),
  owner_member_id = case when g.owner_post_id is null then coalesce(g.owner_member_id, s.owner_member_id) end,
  owner_post_id = case when g.owner_member_id is null then coalesce(g.owner_post_id, s.owner_post_id) end,
  holder_id = coalesce(g.holder_id, s.holder_id), part_of_id = coalesce(g.part_of_id, s.part_of_id),
  due_from = coalesce(g.due_from, case when g.part_of_id is null then s.due_from end),
  recurrence = coalesce(g.recurrence, s.recurrence),
  recurrence_basis = coalesce(g.recurrence_basis, s.recurrence_basis),
  series_through = case when coalesce(g.recurrence, g.recurrence_basis) is null then s.series_through end,
  series_next = case when coalesce(g.recurrence, g.recurrence_basis) is null then s.series_next end,
  legal_basis = coalesce(g.legal_basis, s.legal_basis), notes = coalesce(g.notes, s.notes),
  extra = s.extra || coalesce(g.extra, '{}')
from jsonb_to_recordset(cast(:rows as jsonb)) as g (
  id bigint, title text, kind_id bigint, owner_member_id bigint, owner_post_id bigint, holder_id bigint,
  part_of_id bigint, due_from text, recurrence text, recurrence_basis text, legal_basis text, notes text, extra jsonb)
where s.org_id = :org and s.id = g.id"""

# What was put into another whole by the file keeps its date as one of its own.
LET_GO = """
update obligation o set follows_id = null from subject s
where s.org_id = :org and s.id = any (cast(:ids as bigint[])) and s.due_from is null
  and o.org_id = :org and o.subject_id = s.id and o.follows_id is not null and o.closed_at is null"""

OPEN_OBLIGATIONS = """
insert into obligation (org_id, subject_id, due_on, first_due_on, opened_at)
select :org, g.subject_id, g.due_on, g.due_on, :now
from unnest(cast(:subjects as bigint[]), cast(:due_ons as date[])) with ordinality as g (subject_id, due_on, n)
order by g.n
returning id, subject_id"""

MOVE_OBLIGATIONS = """
update obligation o set due_on = g.due_on
from unnest(cast(:ids as bigint[]), cast(:due_ons as date[])) as g (id, due_on)
where o.org_id = :org and o.id = g.id and o.closed_at is null"""

# Of a new entry.
TOLD = ("site_id", "kind_id", "reference", "title", "status", "owner_member_id", "owner_post_id", "holder_id")

RHYTHM = {"recurrence", "recurrence_basis"}

Key = tuple[int, str]  # A site and a folded reference: the identity of an entry.
Parent = int | Key | None  # An entry of the register, or one that arrives with the same file.


@dataclass(frozen=True, slots=True)
class Arrival:
    """An entry that an import makes, with its first due date, unless it does not expire."""

    line: int
    key: Key
    reference: str
    title: str
    kind: str | None
    due_on: dt.date | None
    parent: Parent
    columns: Mapping[str, Any]
    extra: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Amendment:
    """What an import changes of an entry: columns that differ, and a due date that is opened, or moved.

    Of one that comes back, `new` holds what differs as well, and `comeback` all that the entry becomes.
    """

    line: int
    subject_id: int
    old: Mapping[str, Any]
    new: Mapping[str, Any]
    due_on: dt.date | None
    moved_from: tuple[int, dt.date] | None
    parent: Parent
    extra: Mapping[str, str]
    comeback: Comeback | None = None


@dataclass(frozen=True)
class Evidence:
    """How the file was read, and what became of each record."""

    file_name: str
    file_sha256: str
    mapping: Mapping[str, Any]
    counts: Mapping[str, int]
    rows: Iterable[Mapping[str, Any]]
    contents: Contents = Contents.register


@dataclass(frozen=True)
class Applied:
    import_run_id: int
    kinds_made: list[str]


def take_turns(act: Act) -> None:
    act.run(TAKE_TURNS)


def apply(
    act: Act, evidence: Evidence, arrivals: Sequence[Arrival], amendments: Sequence[Amendment], start: str = NOW
) -> Applied:
    """Make and change all entries of an import, in the caller's transaction.

    1. The import itself is kept, so that each event can name it.
    2. Kinds are made, then entries, then what they are part of: a part may stand above its whole in the file.
    3. Due dates are opened, opened again and moved.
    4. With start `next`, what these due dates have crossed already is held back.
    """
    run_id = keep(act, evidence)
    trail = Trail(act, {"source": SOURCE, "import_run_id": run_id})
    kinds = find_or_make(act, [OTHER, *kind_names(arrivals, amendments)])
    status = DRAFT if start == DRAFT else Status.watched
    ids = add_subjects(act, arrivals, kinds.ids, status, trail)
    comebacks = [one.comeback for one in amendments if one.comeback]
    bring_back(act, comebacks, status, lambda one: with_ids(one.columns, kinds.ids, ids), trail)
    amend_subjects(act, arrivals, amendments, kinds.ids, ids, trail)
    touched = open_obligations(act, chain(dates_of(arrivals, ids), opened_by(amendments)), trail)
    touched += move_obligations(act, amendments, trail)
    reopened = reopen_obligations(act, comebacks, trail)
    trail.write()
    amended = [one.subject_id for one in amendments]
    rhythms.let_go(act, [one.subject_id for one in amendments if one.new.keys() & RHYTHM and one.comeback is None])
    act.run(LET_GO, {"ids": amended})
    queue(act, [*ids.values(), *amended])
    if start != DRAFT:
        touched += open_coming(act, [*ids.values(), *amended]).dates  # They are there through this, too.
    if start == NEXT and (touched or reopened):
        hold_back(act, obligation_ids=touched + reopened)
        hold_back_raised(act, reopened)
    return Applied(run_id, kinds.made)


def keep(act: Act, evidence: Evidence) -> int:
    """Keep the import itself. Its rows are made into JSON piece by piece: as objects they would fill the memory."""
    pieces = [as_json(batch)[1:-1] for batch in batches(evidence.rows)]
    facts = {
        "contents": evidence.contents.value,
        "file_name": evidence.file_name,
        "file_sha256": evidence.file_sha256,
        "mapping": json.dumps(evidence.mapping),
        "counts": json.dumps(evidence.counts),
        "rows": f"[{','.join(pieces)}]",
    }
    run_id: int = act.run(KEEP, facts).scalar_one()
    file = {"name": evidence.file_name, "sha256": evidence.file_sha256}
    act.record(f"{evidence.contents}_imported", import_run_id=run_id, file=file, counts=dict(evidence.counts))
    return run_id


def kind_names(arrivals: Iterable[Arrival], amendments: Iterable[Amendment]) -> list[str]:
    arriving = [one.kind for one in arrivals if one.kind]
    return list(dict.fromkeys([*arriving, *(one.new["kind"] for one in amendments if "kind" in one.new)]))


def add_subjects(
    act: Act, arrivals: Sequence[Arrival], kinds: Mapping[str, int], status: str, trail: Trail
) -> dict[Key, int]:
    """The ids of the new entries. Raises Refused if somebody else has made one of them meanwhile."""
    ids: dict[Key, int] = {}
    for batch in batches(arrivals):
        rows = [subject_row(one, kinds, status) for one in batch]
        made = {(row.site_id, row.reference_key): row.id for row in act.run(ADD_SUBJECTS, {"rows": as_json(rows)})}
        if len(made) < len(batch):
            raise Refused("Somebody has added entries of this file meanwhile: import it again.")
        for one, row in zip(batch, rows, strict=True):
            ids[one.key] = made[one.key]
            told = {name: row.get(name) for name in TOLD}
            trail.add("subject_created", made[one.key], line=one.line, **told)
    return ids


def subject_row(one: Arrival, kinds: Mapping[str, int], status: str) -> dict[str, Any]:
    return {
        "line": one.line,
        "site_id": one.key[0],
        "kind_id": kinds[key_of(one.kind or OTHER)],
        "reference": one.reference,
        "reference_key": one.key[1],
        "title": one.title,
        "status": status,
        "extra": one.extra,
        **one.columns,
    }


def amend_subjects(
    act: Act,
    arrivals: Iterable[Arrival],
    amendments: Iterable[Amendment],
    kinds: Mapping[str, int],
    ids: Mapping[Key, int],
    trail: Trail,
) -> None:
    """Write the columns that differ, and what everything is part of, now that all entries have their ids."""
    parts = (
        {"id": ids[one.key], "part_of_id": found(one.parent, ids), "due_from": one.columns.get("due_from")}
        for one in arrivals
        if one.parent is not None
    )
    for batch in batches(chain(parts, amended_rows(amendments, kinds, ids, trail))):
        act.run(AMEND_SUBJECTS, {"rows": as_json(batch)})


def amended_rows(
    amendments: Iterable[Amendment], kinds: Mapping[str, int], ids: Mapping[Key, int], trail: Trail
) -> Iterator[dict[str, Any]]:
    for one in amendments:
        new = dict(one.new)
        if one.parent is not None:
            new["part_of_id"] = found(one.parent, ids)
        if new:
            trail.add("subject_changed", one.subject_id, line=one.line, old=dict(one.old), new=new)
        if new and one.comeback is None:
            yield {"id": one.subject_id, "extra": one.extra, **with_ids(new, kinds, ids)}


def with_ids(columns: Mapping[str, Any], kinds: Mapping[str, int], ids: Mapping[Key, int]) -> dict[str, Any]:
    """The columns of an entry with the ids of the kind and of what it is part of."""
    named = dict(columns)
    if "kind" in named:
        named["kind_id"] = kinds[key_of(named.pop("kind"))]
    if named.get("part_of_id") is not None:
        named["part_of_id"] = found(named["part_of_id"], ids)
    return named


def found(parent: int | Key, ids: Mapping[Key, int]) -> int:
    return parent if isinstance(parent, int) else ids[parent]


Opening = tuple[int, int, dt.date]  # The line of a record, its entry, and the due date that it opens.


def dates_of(arrivals: Iterable[Arrival], ids: Mapping[Key, int]) -> Iterator[Opening]:
    return ((one.line, ids[one.key], one.due_on) for one in arrivals if one.due_on is not None)


def opened_by(amendments: Iterable[Amendment]) -> Iterator[Opening]:
    fresh = (one for one in amendments if one.moved_from is None)
    return ((one.line, one.subject_id, one.due_on) for one in fresh if one.due_on is not None)


def open_obligations(act: Act, openings: Iterable[Opening], trail: Trail) -> list[int]:
    """The ids of the new obligations."""
    opened: list[int] = []
    for batch in batches(openings):
        facts = {"subjects": [subject for _, subject, _ in batch], "due_ons": [due_on for _, _, due_on in batch]}
        ids = {row.subject_id: row.id for row in act.run(OPEN_OBLIGATIONS, facts)}
        for line, subject, due_on in batch:
            trail.add("obligation_opened", subject, line=line, obligation_id=ids[subject], due_on=iso(due_on))
        opened += ids.values()
    return opened


def move_obligations(act: Act, amendments: Iterable[Amendment], trail: Trail) -> list[int]:
    """The ids of the obligations that were moved to another day."""
    moved: list[int] = []
    moves = ((one, *one.moved_from, one.due_on) for one in amendments if one.moved_from and one.due_on)
    for batch in batches(moves):
        ids = [obligation_id for _, obligation_id, _, _ in batch]
        act.run(MOVE_OBLIGATIONS, {"ids": ids, "due_ons": [due_on for _, _, _, due_on in batch]})
        for one, obligation_id, old, new in batch:
            days = {"old": iso(old), "new": iso(new), "reason": MoveReason.other, "note": ""}
            trail.add("date_moved", one.subject_id, line=one.line, obligation_id=obligation_id, **days)
        moved += ids
    return moved


def queue(act: Act, subject_ids: Sequence[int]) -> None:
    """Leave word for the next scan: for each entry, or, for very many, for everything."""
    if len(subject_ids) > QUEUED_SINGLY:
        changed(act)
        return
    for subject_id in subject_ids:
        changed(act, subject_id=subject_id)
