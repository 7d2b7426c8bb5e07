"""Reading a register file: bytes become a header and records of text cells, each with the line where it starts.

The only module that knows the format (CSV in UTF-8). It shifts nothing, drops nothing, and gives cells no meaning.
"""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from app.domain.errors import Refused

MOST_BYTES = 20_000_000  # 20 MB: a register of 200,000 records has less; more would fill the memory of the host.
MOST_RECORDS = 200_000  # Twice the largest register that Onus is measured with.
MOST_COLUMNS = 500  # The widest real register that was seen uses 24 of 1,025.
MOST_CHARACTERS = 100_000  # In one cell: a page has 3,000.
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}  # In the order in which a tie is decided.
LOOKED_AT = 20  # Records among which a header is looked for: what stands above a table is a title and a few notes.

# What other formats begin with (file signatures), so that a refusal can say what the file is.
SIGNATURES = {
    b"PK\x03\x04": "a workbook (XLSX or ODS), which is not understood yet",
    b"\xd0\xcf\x11\xe0": "an old workbook (XLS), which is not understood yet",
    b"%PDF": "a PDF",
    b"\xff\xfe": "UTF-16, an encoding that is not understood yet",
    b"\xfe\xff": "UTF-16, an encoding that is not understood yet",
}

# Appended as a record of its own. If it is not the last record, a quote swallowed it. NUL is refused in the file.
END = "\x00"

Cells = tuple[str, ...]
IsHeader = Callable[[Sequence[str]], bool]


@dataclass(frozen=True)
class Record:
    """One record. `line` is the line of the file on which it starts, counted from 1."""

    line: int
    cells: Cells

    @property
    def is_blank(self) -> bool:
        return not any(cell.strip() for cell in self.cells)


@dataclass(frozen=True)
class Table:
    """A file that was read: how, the header's cells (None if there is none), and the records below it."""

    encoding: str
    delimiter: str
    header: Cells | None
    records: list[Record]

    @property
    def width(self) -> int:
        """The number of columns: the header's, or, without one, the widest record's."""
        if self.header is not None:
            return len(self.header)
        return max((len(record.cells) for record in self.records), default=0)


def read_csv(source: bytes, header_row: int | None, is_header: IsHeader) -> Table:
    """Read a CSV file. `header_row` counts records from 1; 0: there is no header; None: it is looked for.

    Raises Refused for everything that cannot be read for certain: encoding, NUL, an open quote, a limit.
    """
    text = decoded(source)
    delimiter, row = layout(text, header_row, is_header)
    records = list(records_of(text, delimiter))
    if not records or all(record.is_blank for record in records):
        raise Refused("The file is empty: it has no records.")
    if row > len(records):
        raise Refused(f"The file has {len(records)} records, so there is no header in row {row}: correct --header-row.")
    header = records[row - 1].cells if row else None
    return Table("UTF-8", DELIMITERS[delimiter], header, records[row:])


def decoded(source: bytes) -> str:
    """The text of the file. Raises Refused unless it is UTF-8, with or without a byte order mark."""
    if len(source) > MOST_BYTES:
        raise Refused(f"The file has {len(source):,} bytes: at most {MOST_BYTES:,} are read; split it.")
    for signature, words in SIGNATURES.items():
        if source.startswith(signature):
            raise Refused(f"The file is {words}: save it as CSV in UTF-8.")
    try:
        text = source.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        where = f"byte {fault.start + 1} is not UTF-8"
        raise Refused(f"The encoding of the file is not understood yet ({where}): save it as CSV in UTF-8.") from None
    if "\x00" in text:
        raise Refused("The file holds NUL characters, so it is not a text file: save it as CSV in UTF-8.")
    return text


def records_of(text: str, delimiter: str) -> Iterator[Record]:
    """All records, blank ones included. Raises Refused at a limit, and if a quote is opened and never closed."""
    lines = io.StringIO(text + ("" if text.endswith(("\n", "\r")) else "\n") + END, newline="")
    reader = csv.reader(lines, delimiter=delimiter)
    number, line = 0, 1
    try:
        for row in reader:
            if row == [END]:
                return
            number += 1
            yield Record(line, checked(row, number, line))
            line = reader.line_num + 1
    except csv.Error as fault:
        raise Refused(
            f"The record at line {line} cannot be read ({fault}): a cell has at most {MOST_CHARACTERS:,} characters."
        ) from None


def checked(row: list[str], number: int, line: int) -> Cells:
    """The cells of a record within the limits."""
    if number > MOST_RECORDS:
        raise Refused(f"The file has more than {MOST_RECORDS:,} records: split it.")
    if len(row) > MOST_COLUMNS:
        raise Refused(f"The record at line {line} has {len(row):,} columns: at most {MOST_COLUMNS} are read.")
    for cell in row:
        if len(cell) > MOST_CHARACTERS:
            raise Refused(
                f"A cell of the record at line {line} has more than {MOST_CHARACTERS:,} characters: shorten it."
            )
        if cell.endswith(END):
            raise Refused(f"A quote is opened in the record at line {line} and never closed: close it.")
    return tuple(row)


def layout(text: str, header_row: int | None, is_header: IsHeader) -> tuple[str, int]:
    """The delimiter, and the number of the header's record (0: none).

    Of all delimiters, the one under which the header is known, then the one that gives it most columns.
    """
    headers = {delimiter: header_under(delimiter, text, header_row, is_header) for delimiter in DELIMITERS}
    best = max(headers, key=lambda delimiter: (headers[delimiter].is_known, headers[delimiter].columns))
    return best, headers[best].row


@dataclass(frozen=True)
class Header:
    """What a delimiter makes of the header: the number of its record, its columns with text, whether it is known."""

    row: int
    columns: int
    is_known: bool


def header_under(delimiter: str, text: str, header_row: int | None, is_header: IsHeader) -> Header:
    """The header as this delimiter gives it: the record that was named, else the first known one, else the first."""
    first: list[Record] = []
    with contextlib.suppress(Refused):  # What stands behind the header is refused, if at all, when all is read.
        first.extend(islice(records_of(text, delimiter), max(LOOKED_AT, header_row or 0)))
    rows = {row: record.cells for row, record in enumerate(first, 1) if not record.is_blank}
    known = [row for row, cells in rows.items() if is_header(cells)]
    top = next(iter(rows), 1)
    row = (known or [top])[0] if header_row is None else header_row
    columns = sum(1 for cell in rows.get(row or top, ()) if cell.strip())
    return Header(row, columns, row in known)
