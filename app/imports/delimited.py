"""Text files of records: CSV by comma, semicolon, tab or bar.

Shifts nothing and drops nothing: a quote that is never closed is a refusal, and so is what is over a limit.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from app.domain.errors import Refused, quoted
from app.domain.guards import unwrapped
from app.imports.encodings import Encoding, encoding_of
from app.imports.limits import MOST_CHARACTERS, Meter, TooWide
from app.imports.records import Finder, Record, Table

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}  # In the order in which a tie is decided.

# Appended as a record of its own. If it is not the last record, a quote swallowed it. NUL is refused in the file.
END = "\x00"

SEPARATOR = re.compile(r'"?sep=(.)"?', re.IGNORECASE)
MARK = "\ufeff"  # Some programs write a byte order mark before one that is there.

# What a spreadsheet writes where a formula has no value, as a program in English, Spanish, French or German does it.
ERRORS = frozenset({
    "#n/a", "#ref!", "#value!", "#name?", "#div/0!", "#null!", "#num!", "#spill!", "#calc!", "#getting_data",
    "#n/d", "#¡ref!", "#¡valor!", "#¿nombre?", "#¡div/0!", "#¡nulo!", "#¡num!", "#¡desbordamiento!",
    "#valeur!", "#nom?", "#nul!", "#nombre!", "#nv", "#bezug!", "#wert!", "#zahl!",
})  # fmt: skip


def read_text(source: bytes, finder: Finder) -> Table:
    """The table of a text file. Raises Refused for what cannot be read for certain: NUL, an open quote, a limit."""
    text = Text(source, encoding_of(source))
    delimiter, row = layout(text, finder)
    records = list(text.records(delimiter))
    finder.check(records)
    header = records[row - 1].cells if row else None
    warnings = [text.encoding.warning] if text.encoding.warning else []
    return Table("CSV", header, records[row:], text.encoding.name, DELIMITERS[delimiter], warnings=warnings)


@dataclass(frozen=True)
class Text:
    """The bytes of a file with their encoding: decoded each time they are read, so that the text is never held."""

    source: bytes
    encoding: Encoding

    def lines(self) -> io.TextIOWrapper:
        """The lines with their ends, as they are."""
        file = io.BytesIO(self.source)
        file.seek(self.encoding.mark)
        return io.TextIOWrapper(file, self.encoding.codec, newline="")

    def begun(self) -> tuple[str, re.Match[str] | None, io.TextIOWrapper]:
        """The first line, whether it only names the separator for Excel, such as `sep=;`, and the other lines."""
        lines = self.lines()
        first = lines.readline().lstrip(MARK)
        return first, SEPARATOR.fullmatch(first.rstrip("\r\n")), lines

    def named_delimiter(self) -> str | None:
        """The separator that the first line names. Raises Refused if it is none of ours."""
        _, found, _ = self.begun()
        if found and found[1] not in DELIMITERS:
            raise Refused(f"The separator {quoted(found[1])} is not understood: save it with commas or semicolons.")
        return found[1] if found else None

    def records(self, delimiter: str) -> Iterator[Record]:
        """All records, blank ones included. Raises Refused at a limit, and for a quote that is not closed as it must.

        A line that names the separator is a line, but no record.
        """
        first, named, lines = self.begun()
        return records_of(chain([] if named else [first], lines, [END]), delimiter, 2 if named else 1)


def records_of(lines: Iterable[str], delimiter: str, line: int) -> Iterator[Record]:
    """The records of lines of which the first has this number."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    meter, before = Meter(), line
    try:
        for row in reader:
            if row == [END]:
                return
            yield Record(line, meter.admit(line, list(map(unwrapped, row))), faults=faults_of(row))
            line = before + reader.line_num
    except csv.Error as fault:
        raise Refused(unreadable(str(fault), line, before + reader.line_num - 1)) from None


def unreadable(fault: str, line: int, last: int) -> str:
    """What is wrong with a record, in words of ours: those of the library say neither where, nor what to do."""
    if "limit" in fault:
        return f"A cell of the record at line {line} has more than {MOST_CHARACTERS:,} characters: shorten it."
    if "end of data" in fault:
        return f"A quote is opened in the record at line {line} and never closed: close it."
    return (
        f"Text stands behind a closing quote in line {last}, in the record that starts at line {line}: "
        "a quote is open there that should be closed, or one inside a cell is not doubled; mend it."
    )


def faults_of(row: Sequence[str]) -> tuple[tuple[int, str], ...]:
    """The cells that hold an error of a spreadsheet in place of a value, by position."""
    marked = ((place, cell.strip()) for place, cell in enumerate(row) if "#" in cell[:2])
    return tuple((place, cell) for place, cell in marked if cell.casefold() in ERRORS)


def layout(text: Text, finder: Finder) -> tuple[str, int]:
    """The delimiter, and the number of the header's record (0: none).

    Of all delimiters, the one that the file names, the one under which the header is known, then the one that gives
    it most columns.
    """
    named = text.named_delimiter()
    delimiters = [named] if named else list(DELIMITERS)
    headers = {delimiter: header_under(delimiter, text, finder) for delimiter in delimiters}
    best = max(headers, key=lambda delimiter: (headers[delimiter].is_known, headers[delimiter].columns))
    return best, headers[best].row


@dataclass(frozen=True)
class Header:
    """What a delimiter makes of the header: the number of its record, its columns with text, whether it is known."""

    row: int
    columns: int
    is_known: bool


def header_under(delimiter: str, text: Text, finder: Finder) -> Header:
    """The header as this delimiter gives it. What is refused in the first records is refused when all are read."""
    first: list[Record] = []
    columns = 0
    try:
        first.extend(islice(text.records(delimiter), finder.looked_at))
    except TooWide as refused:
        columns = refused.columns
    except Refused:
        pass
    row = finder.row_of(first)
    cells = next((record.cells for number, record in enumerate(first, 1) if number >= row and record.cells), ())
    columns = max(columns, sum(1 for cell in cells if cell.strip()))
    return Header(row, columns, finder.known_row(first) is not None)
