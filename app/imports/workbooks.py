"""Spreadsheets: read by a program of its own (`sheet_program.py`) within limits of memory, time and expanded size.

Must not open the file in this process: what a hostile workbook brings down is the program, and that is a refusal.
"""

from __future__ import annotations

import datetime as dt
import json
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from typing import IO, Any

from app.domain.errors import Refused, quoted
from app.imports.limits import Cells, Meter
from app.imports.records import SPREADSHEET_ZERO, Finder, Record, Table

PROGRAM = Path(__file__).with_name("sheet_program.py")
SIGNATURES = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # Archives (XLSX, XLSM, ODS), and compound files (XLS).

MOST_EXPANDED = 100_000_000  # 100 MB of all parts together: 100,000 rows of 10 columns have half of it.
UNSUSPICIOUS = 10_000_000  # Bytes below which a high ratio harms nobody: small sheets are very repetitive.
HIGHEST_RATIO = 100  # Of expanded to compressed: real workbooks have 5 to 20.
MOST_MEMBERS = 1_000  # Parts of the archive.
MEMORY = 700_000_000  # Address space of the program, in bytes: its own 100 MB, and the cells of the largest workbook.
CPU_SECONDS = 30  # The largest workbook takes 5 s.
WALL_SECONDS = 120.0  # On a busy host the CPU seconds take longer.
EVERY_ROW = 10**9
LONGEST_LINE = 10_000_000  # Bytes of one row on its way here.

EPOCH_1904 = dt.date(1904, 1, 1)  # Day 0 of the other system of spreadsheets, which some workbooks are kept in.


@dataclass(frozen=True)
class Book:
    """What the program said of the workbook."""

    format: str
    is_1904: bool
    names: list[str]
    shown: list[int]


@dataclass
class Sheet:
    """One sheet: its place in the workbook, its merged cells that span rows (first, last, column), and its rows."""

    place: int
    spans: list[list[int]]
    records: list[Record] = field(default_factory=list)


def is_workbook(source: bytes) -> bool:
    return source.startswith(SIGNATURES)


def read_workbook(source: bytes, sheet: str | None, finder: Finder) -> Table:
    """The table of one sheet. Raises Refused at a limit, and unless it is clear which sheet is meant."""
    with tempfile.TemporaryFile() as file:
        file.write(source)
        file.flush()
        book, looks = Program(file, len(source), None, finder.looked_at).read()
        place = chosen(book, looks, sheet, finder)
        _, sheets = Program(file, len(source), place, EVERY_ROW).read()
    found = sheets[0]
    finder.check(found.records)
    first = spread(found.records[: finder.looked_at], found.spans)
    row = finder.row_of(first)
    # What is merged with a cell of the header belongs to the header, even if it reaches down.
    records = spread(found.records[row:], [span for span in found.spans if span[0] > row])
    header = widened(first[row - 1].cells, records) if row else None
    zero = EPOCH_1904 if book.is_1904 else SPREADSHEET_ZERO
    return Table(book.format, header, records, sheet=book.names[place], day_zero=zero)


def widened(header: Cells, records: list[Record]) -> Cells:
    """The header with a nameless column for each that has a cell below: in a sheet, nothing beside it is shifted."""
    return (*header, *[""] * (max((len(record.cells) for record in records), default=0) - len(header)))


def spread(records: list[Record], spans: list[list[int]]) -> list[Record]:
    """The records with the text of each merged cell in all rows that it spans; a row without text stays blank."""
    if not spans:
        return records
    starts: dict[int, list[list[int]]] = defaultdict(list)
    for span in spans:
        starts[span[0]].append(span)
    standing: dict[int, tuple[int, Record]] = {}  # By column: its last row, and the record that has the text.
    return [spread_over(record, starts[record.line], standing) for record in records]


def spread_over(record: Record, starts: list[list[int]], standing: dict[int, tuple[int, Record]]) -> Record:
    for column in [column for column, (last, _) in standing.items() if last < record.line]:
        del standing[column]
    if standing and not record.is_blank:
        cells = list(record.cells) + [""] * (max(standing) + 1 - len(record.cells))
        dated, faults = list(record.dated), list(record.faults)
        for column, (_, whole) in standing.items():
            if not cells[column]:
                cells[column] = whole.cells[column]
                dated += [place for place in whole.dated if place == column]
                faults += [(place, fault) for place, fault in whole.faults if place == column]
        record = Record(record.line, tuple(cells), tuple(dated), tuple(faults))
    for _, last, column in starts:
        if column < len(record.cells):
            standing[column] = (last, record)
    return record


def chosen(book: Book, looks: list[Sheet], name: str | None, finder: Finder) -> int:
    """The place of the sheet that is named, or of the only one that has text, or a header that is known."""
    if name is not None:
        return named(book, name)
    filled = [sheet for sheet in looks if sheet.records]
    if len(filled) == 1:
        return filled[0].place
    usable = [sheet for sheet in filled if finder.known_row(spread(sheet.records, sheet.spans))]
    if len(usable) == 1:
        return usable[0].place
    if not filled:
        raise Refused("The file is empty: no sheet that is shown has a record.")
    there = ", ".join(quoted(book.names[sheet.place]) for sheet in usable or filled)
    raise Refused(f"Several sheets may be meant: choose with --sheet one of {there}.")


def named(book: Book, name: str) -> int:
    """The place of a sheet by its name, or by its number, counted from 1. Raises Refused."""
    for matches in (name.__eq__, lambda other: other.strip().casefold() == name.strip().casefold()):
        found = [place for place, other in enumerate(book.names) if matches(other)]
        if found:
            return found[0]
    if name.strip().isdecimal() and 1 <= int(name) <= len(book.names):
        return int(name) - 1
    there = ", ".join(map(quoted, book.names))
    raise Refused(f"There is no sheet {quoted(name)}: the sheets are {there}.")


class Program:
    """One run of the program that reads: all sheets or one, as many rows as wanted."""

    def __init__(self, file: IO[bytes], length: int, sheet: int | None, rows: int) -> None:
        file.seek(0)
        self.file = file
        self.asked = json.dumps({
            "sheet": sheet, "rows": rows, "bytes": length, "memory": MEMORY, "seconds": CPU_SECONDS,
            "members": MOST_MEMBERS, "expanded": MOST_EXPANDED, "unsuspicious": UNSUSPICIOUS, "ratio": HIGHEST_RATIO,
        })  # fmt: skip
        self.meter = Meter()
        self.is_late = False

    def read(self) -> tuple[Book, list[Sheet]]:
        """The workbook and its sheets with their rows. Raises Refused, also if the program dies."""
        command = [sys.executable, "-I", str(PROGRAM), self.asked]
        with subprocess.Popen(  # noqa: S603  Our own program, and no shell.
            command, stdin=self.file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as running:
            timer = Timer(WALL_SECONDS, self.stop, (running,))
            timer.start()
            try:
                found = self.collect(lines_of(running.stdout))
                if found is None:
                    running.wait()
            finally:
                timer.cancel()
                running.kill()
        if found is None:
            raise Refused(self.fate(running.returncode))
        return found

    def stop(self, running: subprocess.Popen[bytes]) -> None:
        self.is_late = True
        running.kill()

    def collect(self, lines: Iterator[list[Any]]) -> tuple[Book, list[Sheet]] | None:
        """What came, or None if the program did not come to its end."""
        book = None
        sheets: list[Sheet] = []
        for word, *rest in lines:
            if word == "row":
                sheets[-1].records.append(self.record(*rest))
            elif word == "sheet":
                sheets.append(Sheet(*rest))
            elif word == "book":
                names = [sheet["name"] for sheet in rest[0]["sheets"]]
                shown = [place for place, sheet in enumerate(rest[0]["sheets"]) if sheet["is_shown"]]
                book = Book(rest[0]["format"], rest[0]["is_1904"], names, shown)
            elif word == "refused":
                raise Refused(rest[0])
            else:
                return (book, sheets) if book else None
        return None

    def record(self, line: int, cells: list[str], dated: list[int], faults: list[tuple[int, str]]) -> Record:
        return Record(
            line, self.meter.admit(line, cells), tuple(dated), tuple((place, fault) for place, fault in faults)
        )

    def fate(self, code: int) -> str:
        """Why the program came to no end, in words."""
        if self.is_late:
            return f"The workbook takes more than {WALL_SECONDS:.0f} seconds to be read: split it."
        if code == -signal.SIGXCPU:
            return f"The workbook takes more than {CPU_SECONDS} seconds to be read: split it."
        return f"The workbook is damaged, or needs more than {MEMORY:,} bytes of memory to be read: save it again."


def lines_of(pipe: IO[bytes] | None) -> Iterator[list[Any]]:
    """The lines of the program; one without an end is none: the program died. Raises Refused for an endless one."""
    while pipe and (line := pipe.readline(LONGEST_LINE)):
        if line.endswith(b"\n"):
            yield json.loads(line)
        elif len(line) == LONGEST_LINE:
            raise Refused(f"A row of the workbook has more than {LONGEST_LINE:,} bytes: shorten it.")
