"""What a person says on the pages of a file of people: which column is which field, and the site of the others.

Kept with the file while it is a draft, and offered again for the next file with the same header.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from app.domain.errors import Refused
from app.imports.left_over import LEFT, LeftOver, left_of
from app.imports.look import Look, check_columns, named
from app.imports.outcomes import Outcome
from app.imports.people import Imported, Options, import_people, read_people
from app.imports.people_headers import FIRST_NAME, LAST_NAME, NAME, OFFERED, PEOPLE, UNDERSTOOD, proposed
from app.imports.people_outcomes import Row
from app.trail.act import Act

MOST_LINES = 10_000  # Lines of a file that is judged and applied while its reader waits: 2 s and 10 s.
SHOWN = 50  # Lines of each outcome that a page shows; all that were not accepted are in the file of them.
ORDER = (*LEFT, Outcome.new, Outcome.changed, Outcome.duplicate, Outcome.unchanged, Outcome.skipped)
PARTS = {FIRST_NAME: NAME, LAST_NAME: NAME}  # Fields of the page that are one field of the reader.


@dataclass(frozen=True)
class Choices:
    """`fields` by the position of their column, from 0; several columns of one field are joined by a space."""

    fields: dict[int, str] = field(default_factory=dict)
    site: str = ""

    @classmethod
    def of_json(cls, kept: Mapping[str, Any]) -> Choices:
        return cls({int(place): name for place, name in kept.get("fields", {}).items()}, kept.get("site", ""))

    @classmethod
    def first(cls, look: Look, kept: Mapping[str, Any]) -> Choices:
        """What was said of the file, or of its header before; else what is understood of the header."""
        return cls.of_json(kept) if kept else cls(proposed(look.header))

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def missing(self) -> list[tuple[str, ...]]:
        """The groups of required fields of which no column is one."""
        return PEOPLE.missing(self.wanted.values())

    @property
    def wanted(self) -> dict[int, str]:
        """The fields as the reader calls them."""
        return {place: PARTS.get(name, name) for place, name in self.fields.items()}

    def options(self, look: Look, dry_run: bool) -> Options:
        """How the file is to be read: first names come before last names, wherever their columns stand."""
        columns: dict[str, list[str]] = {name: [] for name in UNDERSTOOD}
        for name in OFFERED:
            places = sorted(place for place, said in self.fields.items() if said == name)
            columns[PARTS.get(name, name)] += [named(place, look.header) for place in places]
        maps = tuple(f"{name}={'+'.join(parts)}" for name, parts in columns.items() if parts)
        return Options(maps, look.sheet, look.header_row, self.site or None, dry_run)


@dataclass(frozen=True)
class Group:
    """The lines with one outcome: how many, and the first of them."""

    outcome: Outcome
    count: int
    rows: Sequence[Row]

    @property
    def needs_a_person(self) -> bool:
        return self.outcome in LEFT


@dataclass(frozen=True)
class Brought:
    """What became, or would become, of the file, and what of it is left to mend."""

    imported: Imported
    left_over: LeftOver

    @property
    def groups(self) -> list[Group]:
        """The lines by outcome; those that need a person come first."""
        found = [(one, [row for row in self.imported.rows if row.outcome == one]) for one in ORDER]
        return [Group(one, len(rows), () if one == Outcome.skipped else rows[:SHOWN]) for one, rows in found if rows]


def bring(act: Act, source: bytes, file_name: str, look: Look, choices: Choices, *, dry_run: bool) -> Brought:
    """Bring the file in, in the caller's transaction, or say what would become of it.

    Raises Refused for a file or a choice that is refused whole.
    """
    options = choices.options(look, dry_run)
    found = read_people(source, file_name, options)
    if len(found.table.records) > MOST_LINES:
        raise Refused(f"The file has more than {MOST_LINES:,} lines, and that is the most on these pages: split it.")
    check_columns(found.columns, look, choices.wanted)
    imported = import_people(act, found, options)
    reasons = {row.line: row.reason for row in imported.rows if row.outcome in LEFT}
    return Brought(imported, left_of(found.columns.names, found.table, reasons))
