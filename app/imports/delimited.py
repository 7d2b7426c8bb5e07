"""Text files of records: CSV by comma, semicolon, tab or bar.

Shifts nothing and drops nothing: a quote that is never closed is a refusal, and so is what is over a limit.
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

from app.domain.errors import Refused, quoted
from app.imports.encodings import Encoding, encoding_of
from app.imports.limits import MOST_CHARACTERS, Meter
from app.imports.records import Finder, Record, Table

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}  # In the order in which a tie is decided.

# Appended as a record of its own. If it is not the last record, a quote swallowed it. NUL is refused in the file.
END = "\x00"

SEPARATOR = re.compile(r'"?sep=(.)"?(?=[\r\n]|$)', re.IGNORECASE)
LONGEST_SEPARATOR = 12  # Characters of the line that names one.


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

    def named_delimiter(self) -> str | None:
        """The separator that the first line names for Excel, such as `sep=;`. Raises Refused if it is none of ours."""
        found = SEPARATOR.match(self.lines().readline(LONGEST_SEPARATOR))
        if found and found[1] not in DELIMITERS:
            raise Refused(f"The separator {quoted(found[1])} is not understood: save it with commas or semicolons.")
        return found[1] if found else None

    def records(self, delimiter: str) -> Iterator[Record]:
        """All records, blank ones included. Raises Refused at a limit, and if a quote is opened and never closed."""
        lines = self.lines()
        first = SEPARATOR.sub("", lines.readline())  # What names the separator is no record, but it counts as a line.
        return records_of(chain([first], lines, [END]), delimiter)


def records_of(lines: Iterable[str], delimiter: str) -> Iterator[Record]:
    reader = csv.reader(lines, delimiter=delimiter)
    meter = Meter()
    line = 1
    try:
        for row in reader:
            if row == [END]:
                return
            if row and row[-1].endswith(END):
                raise Refused(f"A quote is opened in the record at line {line} and never closed: close it.")
            yield Record(line, meter.admit(line, row))
            line = reader.line_num + 1
    except csv.Error as fault:
        raise Refused(
            f"The record at line {line} cannot be read ({fault}): a cell has at most {MOST_CHARACTERS:,} characters."
        ) from None


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
    """The header as this delimiter gives it."""
    first: list[Record] = []
    with contextlib.suppress(Refused):  # What stands behind the header is refused, if at all, when all is read.
        first.extend(islice(text.records(delimiter), finder.looked_at))
    row = finder.row_of(first)
    cells = next((record.cells for number, record in enumerate(first, 1) if number >= row and record.cells), ())
    columns = sum(1 for cell in cells if cell.strip())
    return Header(row, columns, finder.known_row(first) is not None)
