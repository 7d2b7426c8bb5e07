"""How much of a file is read: what is over a limit is refused whole, with the limit named.

The limits keep the memory and the time of the host bounded, whatever a file claims of itself.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.domain.errors import Refused
from app.domain.guards import unguarded

MOST_BYTES = 20_000_000  # 20 MB: a register of 200,000 records has less; more would fill the memory of the host.
MOST_BYTES_OF_A_BROWSER = 10_000_000  # 10 MB: what a form takes (OWASP ASVS 5.2.1); 100,000 records have less.
MOST_RECORDS = 200_000  # Twice the largest register that Onus is measured with.
MOST_ABOVE = 1_000  # Records above the first that counts: titles, notes, the header.
MOST_COLUMNS = 500  # Empty ones at the end not counted: the widest real register that was seen uses 24 of 1,025.
MOST_CHARACTERS = 100_000  # In one cell: a page has 3,000.
MOST_CELLS = 5_000_000  # With text: 200,000 records of 25 columns.
MOST_TEXT = 60_000_000  # Characters of all cells: three times the bytes, as a workbook keeps a text once.
MOST_SHARED = 5_000  # Different texts that are kept once.

# What is judged while its reader waits takes half a second of CPU time; what is longer is for the scheduler.
MOST_LINES_AT_ONCE = 2_000  # Of a text file.
MOST_BYTES_AT_ONCE = 1_000_000  # Of a text, or of a workbook as it expands: 2,000 rows of ten columns.

# Of a child process that works on one file, its reader of workbooks apart (`workbooks.py`).
CHILD_MEMORY = 1_500_000_000  # Address space in bytes: 100,000 records need 300 MB, and most are allowed 200,000.
CHILD_CPU_SECONDS = 300  # The largest file takes 50 s.
CHILD_WALL_SECONDS = 900.0  # On a busy host, and behind another import of the organisation, CPU seconds take longer.

Cells = tuple[str, ...]


class TooWide(Refused):
    """A record with too many columns."""

    def __init__(self, line: int, columns: int) -> None:
        most = f"at most {MOST_COLUMNS} are read; leave out those that are not needed"
        super().__init__(f"The record at line {line} has {columns:,} columns: {most}.")
        self.columns = columns


@dataclass
class Meter:
    """Counts what has been read. Must see every record, in order."""

    records: int = 0
    cells: int = 0
    text: int = 0
    seen: dict[str, str] = field(default_factory=dict)

    def admit(self, line: int, row: Sequence[str]) -> Cells:
        """The cells of a record within the limits, without guards. Raises Refused, which names the limit."""
        if len(row) > MOST_COLUMNS and not any(map(str.strip, row[MOST_COLUMNS:])):
            row = row[:MOST_COLUMNS]
        lengths = list(map(len, row))
        self.records += 1
        self.cells += len(row) - lengths.count(0)
        self.text += sum(lengths)
        check_records(self.records - MOST_ABOVE)
        if len(row) > MOST_COLUMNS:
            raise TooWide(line, len(row))
        if lengths and max(lengths) > MOST_CHARACTERS:
            raise Refused(
                f"A cell of the record at line {line} has more than {MOST_CHARACTERS:,} characters: shorten it."
            )
        if self.cells > MOST_CELLS:
            raise Refused(f"The file has more than {MOST_CELLS:,} cells with text: split it.")
        if self.text > MOST_TEXT:
            raise Refused(f"The file has more than {MOST_TEXT:,} characters in its cells: split it.")
        return tuple(self.shared(unguarded(cell)) for cell in row)

    def shared(self, cell: str) -> str:
        """The cell; sites, kinds and the like stand in memory once, however many records name them."""
        if len(self.seen) < MOST_SHARED:
            return self.seen.setdefault(cell, cell)
        return self.seen.get(cell, cell)


def check_records(count: int) -> None:
    """Raise Refused for more records than are read, what stands above the first one not counted."""
    if count > MOST_RECORDS:
        raise Refused(f"The file has more than {MOST_RECORDS:,} records: split it.")


def check_bytes(source: bytes) -> None:
    """Raise Refused for a file that is too long to be looked at."""
    if len(source) > MOST_BYTES:
        raise Refused(f"The file has {len(source):,} bytes: at most {MOST_BYTES:,} are read; split it.")


def is_large(source: bytes) -> bool:
    """Whether the file is too long to be judged while its reader waits: by its lines, or by what it expands to.

    A workbook may lie about that; then it only takes longer, within the limits of the program that reads it.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(source)) as archive:
            return sum(part.file_size for part in archive.infolist()) > MOST_BYTES_AT_ONCE
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OverflowError):
        lines = max(source.count(b"\n"), source.count(b"\r"))
        return len(source) > MOST_BYTES_AT_ONCE or lines > MOST_LINES_AT_ONCE
