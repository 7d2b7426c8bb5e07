"""Very many rows in a few statements: a few thousand at a time, as one JSON text; and the trail of them (law 7)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from app.trail.act import Act

AT_ONCE = 5_000  # Rows of one statement, so that what is made for it is small beside the register itself.

WRITE_TRAIL = """
with event as (
  insert into audit_event (org_id, at, actor, type, subject_id, detail)
  select :org, :now, :actor, g.type, g.subject_id, g.detail
  from jsonb_to_recordset(cast(:rows as jsonb)) as g (n int, type text, subject_id bigint, detail jsonb)
  order by g.n
  returning id)
insert into audit_unsealed (org_id, event_id) select :org, id from event"""

Row = TypeVar("Row")


def batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """The rows in lists of a size that one statement can take, made as they are needed."""
    left = iter(rows)
    while batch := list(islice(left, AT_ONCE)):
        yield batch


def as_json(rows: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps(rows, separators=(",", ":"))


@dataclass
class Trail:
    """The events of one act upon many entries, written a few thousand at a time, in order. All bear its origin."""

    act: Act
    origin: Mapping[str, Any]
    events: list[dict[str, Any]] = field(default_factory=list)

    def add(self, type: str, subject_id: int | None, **detail: Any) -> None:
        event = {"n": len(self.events), "type": type, "subject_id": subject_id}
        self.events.append({**event, "detail": {**detail, **self.origin}})
        if len(self.events) >= AT_ONCE:
            self.write()

    def write(self) -> None:
        if self.events:
            self.act.run(WRITE_TRAIL, {"rows": as_json(self.events)})
            self.events.clear()
