"""The first look at a file: its sheets, where the header stands, and what its columns hold, for a person to say which.

Judges nothing, and does not know the register. What it reads of a workbook is what its program yields first.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from app.domain.errors import Refused
from app.imports import headers, limits
from app.imports.delimited import Text, layout
from app.imports.encodings import encoding_of
from app.imports.headers import REGISTER, Columns, Vocabulary
from app.imports.limits import MOST_BYTES_OF_A_BROWSER, check_bytes
from app.imports.records import Finder, Record, widths_of
from app.imports.workbooks import EVERY_ROW, Program, Sheet, chosen, is_workbook, spread

SAMPLES = 3  # Values of a column that are shown: enough to tell a date from a number.
LONGEST_SAMPLE = 200  # Characters of a value that are shown.
LATEST_HEADER = 50  # The last record in which a person may say that the header stands.


@dataclass(frozen=True)
class Column:
    """One column: its header, and the first different values in it."""

    name: str
    samples: list[str]


@dataclass(frozen=True)
class Look:
    """What was found. `header_row` counts records from 1; 0: there is none. A large file is for the scheduler."""

    sheets: list[str]
    sheet: str | None
    header_row: int
    header: list[str]
    columns: list[Column]
    is_large: bool = False

    @classmethod
    def of_json(cls, kept: Mapping[str, Any]) -> Look:
        return cls(**{**kept, "columns": [Column(**one) for one in kept["columns"]]})

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def header_key(self) -> str:
        """The same for every file with the same columns in the same order, however the header is written."""
        if self.header_row == 0:
            return f"{len(self.columns)} columns without a header"
        return "\n".join(headers.plain_header(name) for name in self.header).rstrip("\n")

    def understood(self) -> dict[int, str]:
        """The fields of the columns whose headers are understood, by position from 0; none where two could be it."""
        try:
            fields = headers.understood(self.header)
        except Refused:
            return {}
        return {place: field for field, places in fields.items() for place in places}


def look_at(
    source: bytes, sheet: str | None = None, header_row: int | None = None, vocabulary: Vocabulary = REGISTER
) -> Look:
    """What the file holds, at first sight. Raises Refused for one that cannot be read, or is over a limit."""
    if len(source) > MOST_BYTES_OF_A_BROWSER:
        raise Refused(
            f"The file has {len(source):,} bytes: the pages take at most {MOST_BYTES_OF_A_BROWSER:,}; split it."
        )
    if header_row is not None and not 0 <= header_row <= LATEST_HEADER:
        raise Refused(f"The header must stand in one of the first {LATEST_HEADER} rows.")
    finder = Finder(header_row, lambda cells: headers.is_header(cells, (), vocabulary))
    sheets, name, records = first_records(source, sheet, finder)
    finder.check(records)
    row = finder.row_of(records)
    header = [headers.spaced(cell) for cell in records[row - 1].cells] if row else []
    width = widths_of(header if row else None, records[row:], not is_workbook(source)).most
    return Look(sheets, name, row, header, columns_of(header, width, records[row:]), limits.is_large(source))


def first_records(source: bytes, sheet: str | None, finder: Finder) -> tuple[list[str], str | None, Sequence[Record]]:
    """The sheets that are shown, the one that is meant or may be, and its first records."""
    if not is_workbook(source):
        check_bytes(source)
        read = Text(source, encoding_of(source))
        return [], None, list(read.records(layout(read, finder)[0]))
    with tempfile.TemporaryFile() as file:
        file.write(source)
        file.flush()
        rows = finder.looked_at + LATEST_HEADER
        book, looks = Program(file, len(source), None, rows).read()
        shown = [book.names[place] for place in book.shown]
        if sheet is None or sheet in shown:
            found = meant(book, looks, sheet, finder)
        else:
            place = chosen(book, looks, sheet, finder)
            found = Program(file, len(source), place, min(rows, EVERY_ROW)).read()[1][0]
    return shown, book.names[found.place], spread(found.records, found.spans)


def meant(book: Any, looks: Sequence[Sheet], sheet: str | None, finder: Finder) -> Sheet:
    """The sheet that is named; else the one that is meant; else the first with text, since a person sees the others."""
    by_place = {one.place: one for one in looks}
    try:
        return by_place[chosen(book, list(looks), sheet, finder)]
    except Refused:
        filled = [one for one in looks if one.records]
        if sheet is not None or not filled:
            raise
        return filled[0]


def columns_of(header: Sequence[str], width: int, records: Sequence[Record]) -> list[Column]:
    samples: list[list[str]] = [[] for _ in range(width)]
    for record in records:
        for seen, cell in zip(samples, record.cells, strict=False):
            text = cell.strip()[:LONGEST_SAMPLE]
            if text and len(seen) < SAMPLES and text not in seen:
                seen.append(text)
    names = headers.unique_names(header, width)
    return [Column(name, seen) for name, seen in zip(names, samples, strict=True)]


def named(place: int, header: Sequence[str]) -> str:
    """How a column is named to the reader: by its header, or by its position where the header is not its own."""
    folded = [name.casefold() for name in header]
    name = header[place] if place < len(header) else ""
    return name if name and "+" not in name and folded.count(name.casefold()) == 1 else str(place + 1)


def check_columns(columns: Columns, look: Look, wanted: Mapping[int, str]) -> None:
    """Raise Refused unless the reader found the columns that were shown, and understood those that were chosen.

    Far down a sheet there may be cells in columns beside them, without a header, which are kept as they are.
    """
    read = {place: field for field, places in columns.fields.items() for place in places}
    shown = [column.name for column in look.columns]
    is_other = look.header_row and list(columns.names[: len(shown)]) != shown
    if is_other or read != dict(wanted):
        raise Refused("The headers of the file leave open which column is which: give each one a name of its own.")
