"""Records and tables: what a reader yields, whatever the format, and where among its records the header stands.

Must not know a format, and gives cells no meaning.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from app.domain.errors import Refused
from app.imports.limits import Cells

LOOKED_AT = 20  # Records among which a header is looked for: what stands above a table is a title and a few notes.
SPREADSHEET_ZERO = dt.date(1899, 12, 30)  # Day 1 is 1900-01-01, and there is a 29 February 1900 that never was.

IsHeader = Callable[[Sequence[str]], bool]


@dataclass(frozen=True, slots=True)
class Record:
    """One record. `line` is the line of the file, or the row of the sheet, on which it starts, counted from 1.

    `dated` are the positions of the cells that are dates in the file itself; their text begins with the ISO date.
    `faults` are the positions of cells that hold no value, such as #N/A, with what they hold.
    """

    line: int
    cells: Cells
    dated: tuple[int, ...] = ()
    faults: tuple[tuple[int, str], ...] = ()

    @property
    def is_blank(self) -> bool:
        return not any(cell and not cell.isspace() for cell in self.cells)


@dataclass(frozen=True)
class Widths:
    """How many cells a record may have, blank ones at its end not counted, and how many it must have."""

    most: int
    least: int = 0
    has_header: bool = True

    def fault(self, record: Record) -> str:
        """Why the cells of this record do not stand in their columns, or nothing."""
        if self.least <= len(record.cells) and not any(cell.strip() for cell in record.cells[self.most :]):
            return ""
        cells = f"{len(record.cells)} {'cell' if len(record.cells) == 1 else 'cells'}"
        wanted = f"where {'the header has' if self.has_header else 'most records have'} {self.most}"
        return f"{cells} {wanted}: columns are shifted"


@dataclass(frozen=True)
class Table:
    """A file that was read: how, the header's cells (None if there is none), and the records below it."""

    format: str
    header: Cells | None
    records: Sequence[Record]
    encoding: str | None = None
    delimiter: str | None = None
    sheet: str | None = None
    day_zero: dt.date = SPREADSHEET_ZERO
    warnings: list[str] = field(default_factory=list)

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.widths.most

    @property
    def widths(self) -> Widths:
        """How wide the records are."""
        return widths_of(self.header, self.records, self.encoding is not None)


def widths_of(header: Sequence[str] | None, records: Sequence[Record], is_text: bool) -> Widths:
    """How wide records are by their header; without one, as most of them are, or the widest of a sheet.

    A sheet has no cells behind the last one with text. In a text file only columns without a header may be left out
    at the end.
    """
    if header is not None:
        named = (place for place, cell in enumerate(header, 1) if cell.strip())
        return Widths(len(header), max(named, default=0) if is_text else 0)
    counted = Counter(len(record.cells) for record in records if not record.is_blank)
    if not is_text:
        return Widths(max(counted, default=0), has_header=False)
    commonest = max(counted, key=lambda width: (counted[width], width), default=0)
    return Widths(commonest, commonest, has_header=False)


@dataclass(frozen=True)
class Finder:
    """Finds the header among the first records. `wanted` counts records from 1; 0: there is none; None: look for it."""

    wanted: int | None
    is_header: IsHeader

    @property
    def looked_at(self) -> int:
        """How many records have to be seen."""
        return max(LOOKED_AT, self.wanted or 0)

    def known_row(self, first: Sequence[Record]) -> int | None:
        """The record whose cells are understood as a header: the one that was named, or else the first."""
        rows = enumerate(first[: self.looked_at], 1)
        known = (row for row, record in rows if self.wanted in (None, row) and self.is_header(record.cells))
        return next(known, None)

    def row_of(self, first: Sequence[Record]) -> int:
        """The number of the header's record; 0: none. Without a known one, the first record with text is it."""
        if self.wanted is not None:
            return self.wanted
        texts = (row for row, record in enumerate(first[: self.looked_at], 1) if not record.is_blank)
        return self.known_row(first) or next(texts, 1)

    def check(self, records: Sequence[Record]) -> None:
        """Raise Refused for a file without records, and for a header row behind the last one."""
        if all(record.is_blank for record in records):
            raise Refused("The file is empty: it has no records.")
        if self.wanted and self.wanted > len(records):
            raise Refused(
                f"The file has {len(records)} records, so there is no header in row {self.wanted}: "
                "correct --header-row."
            )
