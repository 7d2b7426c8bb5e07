"""The shapes of a column of due dates: how its cells are written, how many each way, with an example of each.

A person sees by them whether a column was understood; they decide nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from app.imports.dates import (
    DMY,
    INSTANT,
    MDY,
    NUMBER,
    SHORT_YEAR,
    YEAR_FIRST,
    YEAR_LAST,
    DateReader,
    by_pattern,
    with_month_name,
    without_time,
    year_last,
)
from app.imports.folding import folded
from app.imports.headers import DUE_ON, Columns
from app.imports.records import Record

DATE_CELL, EMPTY, NO_EXPIRY, INSTANTS = "date cell", "empty", "no expiry", "instant"
TWO_DIGITS, A_NUMBER, OTHER = "two-digit year", "number", "other"
LONGEST_EXAMPLE = 60  # Characters.


@dataclass
class Shape:
    """One way in which due dates are written: how often, and where first."""

    shape: str
    count: int
    example: str
    line: int


def shapes_of(records: Iterable[Record], columns: Columns, reader: DateReader) -> list[Shape]:
    """The shapes of the due column, the commonest first."""
    shapes: dict[str, Shape] = {}
    places = columns.fields[DUE_ON]
    for record in records:
        if record.is_blank:
            continue
        text = " ".join(columns.text(DUE_ON, record.cells).split())
        name = DATE_CELL if len(places) == 1 and places[0] in record.dated else shape_of(text, reader)
        known = shapes.setdefault(name, Shape(name, 0, text[:LONGEST_EXAMPLE], record.line))
        known.count += 1
    return sorted(shapes.values(), key=lambda shape: -shape.count)


def shape_of(text: str, reader: DateReader) -> str:
    """How this cell is written, such as `dd/mm/yyyy`; a time of day behind a date is told, too."""
    if not text:
        return EMPTY
    if "%" in reader.format and by_pattern(text, reader.format):
        return reader.format
    if INSTANT.fullmatch(text):
        return INSTANTS
    written = without_time(text)
    return written_shape(written, reader) + ("" if written == text else " hh:mm")


def written_shape(text: str, reader: DateReader) -> str:
    if (found := YEAR_LAST.fullmatch(text)) is not None:
        return found[2].join(("mm", "dd", "yyyy") if order_of(text, reader) == MDY else ("dd", "mm", "yyyy"))
    if (found := YEAR_FIRST.fullmatch(text)) is not None:
        return (found[2] or "").join(("yyyy", "mm", "dd"))
    if with_month_name(text) is not None:
        return "dd month yyyy" if text[0].isdecimal() else "month dd yyyy"
    for pattern, name in ((SHORT_YEAR, TWO_DIGITS), (NUMBER, A_NUMBER)):
        if pattern.fullmatch(text):
            return name
    return NO_EXPIRY if folded(text) in reader.words else OTHER


def order_of(text: str, reader: DateReader) -> str:
    """The order in which this cell is a date: the column's, unless it can only be the other."""
    wanted = MDY if reader.format == MDY else DMY
    other = DMY if wanted == MDY else MDY
    return other if year_last(text, wanted) is None and year_last(text, other) is not None else wanted


def as_json(shapes: Iterable[Shape]) -> list[dict[str, Any]]:
    return [dict(vars(shape)) for shape in shapes]
