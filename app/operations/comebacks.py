"""Entries that come back by an import: they were archived as entered in error, and a file names them again.

Such an entry becomes what the file says, as if it were new; what the file does not say is empty, and not what the wrong
file said. Its due date is opened again in the same row, so that what was told of it once is not told again (P1).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from app.domain.acts import ReopenReason, Status
from app.operations.batches import Trail, as_json, batches
from app.operations.typed import iso
from app.trail.act import Act

BRING_BACK = """
update subject s set
  title = g.title, kind_id = g.kind_id, owner_member_id = g.owner_member_id,
  owner_post_id = g.owner_post_id,
  holder_id = g.holder_id, part_of_id = g.part_of_id, due_from = g.due_from,
  recurrence = case when g.due_from is null then coalesce(g.recurrence, k.recurrence) end,
  recurrence_basis = case when g.recurrence is not null then g.recurrence_basis
                          when g.due_from is null then k.recurrence_basis end,
  series_from = null, series_through = null, series_next = null, snoozed_until = null,
  legal_basis = coalesce(g.legal_basis, ''),
  notes = coalesce(g.notes, ''), extra = g.extra, status = cast(:status as text)
from jsonb_to_recordset(cast(:rows as jsonb)) as g (
  id bigint, title text, kind_id bigint, owner_member_id bigint, owner_post_id bigint, holder_id bigint,
  part_of_id bigint, due_from text, recurrence text, recurrence_basis text, legal_basis text, notes text, extra jsonb)
join kind k on k.org_id = :org and k.id = g.kind_id
where s.org_id = :org and s.id = g.id and s.status = 'archived'"""

REOPEN = """
update obligation o
set closed_at = null, closed_by = null, met_on = null, outcome = null, reason = null, note = ''
where o.org_id = :org and o.id = any (cast(:ids as bigint[])) and o.outcome = 'entered_in_error'"""


@dataclass(frozen=True, slots=True)
class Comeback:
    """One entry that comes back: all its columns as the file has them, and the due date that is opened again."""

    line: int
    subject_id: int
    columns: Mapping[str, Any]
    extra: Mapping[str, str]
    reopened: tuple[int, dt.date] | None  # The obligation and its day.


Resolved = Callable[[Comeback], Mapping[str, Any]]  # The columns, with the ids of kind and whole.


def bring_back(act: Act, comebacks: Iterable[Comeback], status: str, resolved: Resolved, trail: Trail) -> None:
    """Make the entries what the file says, with this status."""
    for batch in batches(comebacks):
        rows = [{"id": one.subject_id, "extra": one.extra, **resolved(one)} for one in batch]
        act.run(BRING_BACK, {"rows": as_json(rows), "status": status})
        for one in batch:
            trail.add("subject_restored", one.subject_id, line=one.line, old=Status.archived, new=status)


def reopen_obligations(act: Act, comebacks: Iterable[Comeback], trail: Trail) -> list[int]:
    """The ids of the obligations that were closed as entered in error and are open again."""
    reopened: list[int] = []
    for batch in batches((one, *one.reopened) for one in comebacks if one.reopened):
        ids = [obligation_id for _, obligation_id, _ in batch]
        act.run(REOPEN, {"ids": ids})
        for one, obligation_id, due_on in batch:
            detail = {"obligation_id": obligation_id, "due_on": iso(due_on), "reason": ReopenReason.other, "note": ""}
            old = {"outcome": "entered_in_error", "met_on": None, "reason": "entered_in_error"}
            trail.add("obligation_reopened", one.subject_id, line=one.line, **detail, old=old)
        reopened += ids
    return reopened
