"""Reading workbooks: cells as text, dates as dates, sheets, merged cells, the other date system (H32)."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable
from typing import Any

import pytest
import xlsxwriter
from xlsxwriter.workbook import Workbook

from app.domain.errors import Refused
from app.imports import headers
from app.imports.reading import read
from app.imports.records import Record, Table

Fill = Callable[[Workbook], Any]


def workbook(fill: Fill, **options: Any) -> bytes:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True, **options}) as book:
        fill(book)
    return file.getvalue()


def sheet(rows: list[list[Any]], name: str | None = None, hidden: bool = False) -> Fill:
    """A sheet of these rows, in which dates are date cells."""

    def fill(book: Workbook) -> None:
        page = book.add_worksheet(name)
        day = book.add_format({"num_format": "dd/mm/yyyy"})
        for number, row in enumerate(rows):
            for column, cell in enumerate(row):
                if isinstance(cell, dt.date):
                    page.write_datetime(number, column, cell, day)
                elif isinstance(cell, str):
                    page.write_string(number, column, cell)
                elif cell is not None:
                    page.write(number, column, cell)
        if hidden:
            page.hide()

    return fill


def table(fill: Fill, name: str | None = None, header_row: int | None = None, **options: Any) -> Table:
    return read(workbook(fill, **options), name, header_row, lambda cells: headers.is_header(cells, ()))


def rows(fill: Fill, **options: Any) -> list[tuple[int, tuple[str, ...]]]:
    return [(record.line, record.cells) for record in table(fill, **options).records]


HEADER = ["reference", "due_on"]
LAST_OF_MARCH = dt.date(2027, 3, 31)


def test_cells_are_text_as_a_person_would_type_it() -> None:
    cells = [
        "00042-7",
        LAST_OF_MARCH,
        42,
        42.5,
        0.1 + 0.2,
        1234567890123,
        True,
        " Ñuñoa\n",
        dt.datetime(2027, 3, 31, 23, 59),  # noqa: DTZ001  A spreadsheet knows no zone.
    ]
    found = table(sheet([HEADER, cells]))
    assert (found.format, found.sheet, found.header) == ("XLSX", "Sheet1", ("reference", "due_on"))
    assert found.records == [
        Record(
            2,
            ("00042-7", "2027-03-31", "42", "42.5", "0.3", "1234567890123", "TRUE", " Ñuñoa\n", "2027-03-31 23:59:00"),
            dated=(1, 8),
        )
    ]


def test_rows_are_counted_as_in_the_sheet() -> None:
    page = [["A register of 2027"], [], HEADER, ["A", LAST_OF_MARCH], [], ["B"], ["", ""]]
    assert rows(sheet(page)) == [(4, ("A", "2027-03-31")), (5, ()), (6, ("B",))]
    assert rows(sheet(page), header_row=4) == [(5, ()), (6, ("B",))]
    assert [line for line, _ in rows(sheet(page), header_row=0)] == [1, 2, 3, 4, 5, 6]
    with pytest.raises(Refused, match="--header-row"):
        table(sheet(page), header_row=9)
