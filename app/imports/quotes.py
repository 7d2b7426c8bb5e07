"""Quotes that are opened by accident: up to the next one they swallow the records behind them.

A quoted cell may have many lines. One that would be a record of its own, with its telling cell inside the quotes, is no
text that somebody wrote there, and the file is refused: nobody would miss the records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from app.domain.errors import Refused
from app.imports.delimited import DELIMITERS
from app.imports.headers import Columns
from app.imports.records import Record, Table, Widths

LINE_END = re.compile(r"\r\n|\r|\n")
CHARACTERS = {name: character for character, name in DELIMITERS.items()}
SPACE = " "

Tells = Callable[[str], bool]  # Whether this text is what stands in the telling cell of a record.


def check_quotes(table: Table, columns: Columns, field: str, tells: Tells) -> None:
    """Raise Refused for a record in a quoted cell. It is known by its number of cells, and by the one of this field."""
    if table.delimiter is None or len(columns.fields.get(field, ())) != 1:
        return
    [telling], widths = columns.fields[field], table.widths
    for record in table.records:
        for line, cells, inner in lines_of(record, CHARACTERS[table.delimiter]):
            if telling in inner and is_whole(cells, widths) and says(cells, inner, telling, tells):
                raise Refused(
                    f"A quote that is opened in the record at line {record.line} swallows line {line}, which looks "
                    "like a record of its own: close the quote, or leave it out."
                )


def lines_of(record: Record, delimiter: str) -> Iterator[tuple[int, Sequence[str], range]]:
    """Each line of the cells with several lines: what it swallows, its cells, and which of them are inside the quotes.

    The first line goes with the cells before it and swallows the next, the last one goes with the cells behind.
    """
    line = record.line
    for place, cell in enumerate(record.cells):
        if "\n" not in cell and "\r" not in cell:
            continue
        texts = LINE_END.split(cell)
        for number, text in enumerate(texts):
            parts = text.split(delimiter)
            before = record.cells[:place] if number == 0 else ()
            behind = record.cells[place + 1 :] if number == len(texts) - 1 else ()
            if len(parts) > 1:
                yield line + (number or 1), (*before, *parts, *behind), range(len(before), len(before) + len(parts))
        line += len(texts) - 1


def is_whole(cells: Sequence[str], widths: Widths) -> bool:
    return widths.least <= len(cells) <= widths.most


def says(cells: Sequence[str], inner: range, telling: int, tells: Tells) -> bool:
    """Whether the telling cell is one, or is left empty. Who writes a text puts a space behind a comma."""
    if any(cells[place].startswith(SPACE) for place in inner[1:]):
        return False
    text = cells[telling].strip()
    return not text or tells(text)
