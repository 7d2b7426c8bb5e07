"""What of a file was not accepted, with the reasons, as a file again: to be mended and brought once more.

A cell that a spreadsheet would take for a formula gets an apostrophe: whoever wrote the file may be a stranger.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.guards import harmless
from app.imports.outcomes import Outcome, Row
from app.imports.records import Table
from app.imports.register import Found

LEFT = (Outcome.rejected, Outcome.conflict, Outcome.confirm)  # What waits for a person.
MARK = "\ufeff"  # By which spreadsheets know UTF-8.
REASON, LINE = "Why it was not accepted", "Line of the file"


@dataclass(frozen=True)
class LeftOver:
    """The records that were not accepted: the line, the reason, and the cells as they stood in the file."""

    header: list[str]
    rows: list[tuple[int, str, list[str]]]

    def as_json(self) -> list[Any]:
        return [self.header, *([line, reason, cells] for line, reason, cells in self.rows)]

    @classmethod
    def of_json(cls, kept: Sequence[Any]) -> LeftOver:
        return cls(list(kept[0]), [(line, reason, cells) for line, reason, cells in kept[1:]])


def left_over_of(found: Found, rows: Iterable[Row]) -> LeftOver:
    reasons = {row.line: row.reason for row in rows if row.outcome in LEFT}
    return left_of(found.columns.names, found.table, reasons)


def left_of(names: Sequence[str], table: Table, reasons: Mapping[int, str]) -> LeftOver:
    """The records whose lines have a reason, as they stood in the file.

    A record whose columns are shifted keeps its width, so that it is not taken for a whole one when it comes again.
    """
    widths = table.widths
    left = [record for record in table.records if record.line in reasons]
    lacking = [0 if widths.fault(record) else len(names) - len(record.cells) for record in left]
    cells = [[*record.cells, *[""] * lacks] for record, lacks in zip(left, lacking, strict=True)]
    kept = [(record.line, reasons[record.line], one) for record, one in zip(left, cells, strict=True)]
    return LeftOver(list(names), kept)


def as_csv(left: LeftOver) -> bytes:
    """The file: the columns as they were, then the line and the reason, which an import keeps as they are."""
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(map(harmless, [*left.header, LINE, REASON]))
    for line, reason, cells in left.rows:
        writer.writerow(map(harmless, [*cells, str(line), reason]))
    return (MARK + written.getvalue()).encode()
