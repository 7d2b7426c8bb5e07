"""What a check has found: what would become of a file, in the size of a page, whatever the size of the file.

Made of an outcome; and JSON, so that what a large file was found to be waits for its reader.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from app.imports.outcomes import Outcome, Row
from app.imports.register import Imported, Reading

SHOWN = 50  # Lines of each outcome that a page shows; all of those that need a person are in the file of them.
NEEDS_A_PERSON = (Outcome.rejected, Outcome.conflict, Outcome.confirm)
LINES_SHOWN = (*NEEDS_A_PERSON, Outcome.new, Outcome.changed, Outcome.no_expiry, Outcome.duplicate, Outcome.unchanged)


@dataclass(frozen=True)
class Group:
    """The records with one outcome: how many, and the first of them."""

    outcome: str
    count: int
    rows: Sequence[Row]

    @property
    def needs_a_person(self) -> bool:
        return self.outcome in set(NEEDS_A_PERSON)

    @classmethod
    def of_json(cls, kept: Mapping[str, Any]) -> Group:
        return cls(kept["outcome"], kept["count"], [row_of_json(row) for row in kept["rows"]])

    def as_json(self) -> dict[str, Any]:
        return {"outcome": self.outcome, "count": self.count, "rows": [row.as_json() for row in self.rows]}


@dataclass(frozen=True)
class Findings:
    """`digest` is of the choices that were checked; `proposed` are the lines whose bare number would be a date."""

    digest: str
    counts: Mapping[str, int]
    kinds_made: list[str]
    how: Reading
    groups: list[Group]
    proposed: Group = field(default_factory=lambda: Group(Outcome.confirm.value, 0, ()))

    @classmethod
    def of(cls, imported: Imported, digest: str) -> Findings:
        proposed = Group(Outcome.confirm.value, len(imported.proposed), imported.proposed[:SHOWN])
        kinds, how = imported.kinds_made, imported.reading
        return cls(digest, imported.counts, kinds, how, groups_of(imported.rows), proposed)

    @classmethod
    def of_json(cls, kept: Mapping[str, Any]) -> Findings:
        groups = [Group.of_json(group) for group in kept["groups"]]
        parts = {"how": Reading(**kept["how"]), "groups": groups, "proposed": Group.of_json(kept["proposed"])}
        return cls(**{**kept, **parts})

    def as_json(self) -> dict[str, Any]:
        plain = {"digest": self.digest, "counts": dict(self.counts), "kinds_made": self.kinds_made}
        groups = [group.as_json() for group in self.groups]
        return {**plain, "how": asdict(self.how), "groups": groups, "proposed": self.proposed.as_json()}


def groups_of(rows: Sequence[Row]) -> list[Group]:
    """The records by their outcome; those that need a person come first."""
    found = []
    for outcome in (*LINES_SHOWN, Outcome.skipped):
        alike = [row for row in rows if row.outcome == outcome]
        if alike:
            found.append(Group(outcome.value, len(alike), alike[:SHOWN] if outcome in LINES_SHOWN else ()))
    return found


def row_of_json(kept: Mapping[str, Any]) -> Row:
    due_on = dt.date.fromisoformat(kept["due_on"]) if kept["due_on"] else None
    return Row(**{**kept, "outcome": Outcome(kept["outcome"]), "due_on": due_on})
