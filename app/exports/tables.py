"""A table as a file: CSV for spreadsheets, and XLSX. Row by row: nothing of it is held but the row that is written.

No cell is ever a formula or a link, whoever wrote the text. Dates are ISO dates in CSV, and dates in XLSX.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import IO, Any

import xlsxwriter

from app.domain.guards import harmless

Cell = str | int | dt.date | None
Row = Sequence[Cell]

LONGEST_CELL = 32_767  # Characters, the most of a cell of a workbook: a longer text would be left out whole.
WIDTH = 18  # Characters of a column.
PLAIN = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}


class Format(StrEnum):
    """How a table is written."""

    csv = "csv"
    xlsx = "xlsx"


def write_csv(file: IO[bytes], header: Sequence[str], rows: Iterable[Row]) -> int:
    """UTF-8 with its mark and CRLF, which spreadsheets read right; how many rows there were."""
    count, text = 0, io.TextIOWrapper(file, encoding="utf-8-sig", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([harmless(cell) if isinstance(cell, str) else cell for cell in row])
        count += 1
    text.flush()
    text.detach()
    return count


def write_xlsx(file: IO[bytes], header: Sequence[str], rows: Iterable[Row]) -> int:
    """A workbook of one sheet, its header kept in sight; how many rows there were."""
    count = 0
    book: Any = xlsxwriter.Workbook(file, {"constant_memory": True, **PLAIN})
    sheet, bold = book.add_worksheet(), book.add_format({"bold": True})
    date = book.add_format({"num_format": "yyyy-mm-dd"})
    sheet.freeze_panes(1, 0)
    sheet.set_column(0, len(header) - 1, WIDTH)
    for column, name in enumerate(header):
        sheet.write_string(0, column, name, bold)
    for row in rows:
        count += 1
        for column, cell in enumerate(row):
            write_cell(sheet, count, column, cell, date)
    book.close()
    return count


def write_cell(sheet: Any, row: int, column: int, cell: Cell, date: Any) -> None:
    if isinstance(cell, dt.date):
        midnight = dt.datetime.combine(cell, dt.time())  # A day has no zone.
        sheet.write_datetime(row, column, midnight, date)
    elif isinstance(cell, int):
        sheet.write_number(row, column, cell)
    elif cell:
        sheet.write_string(row, column, cell[:LONGEST_CELL])


WRITERS: Mapping[Format, Callable[[IO[bytes], Sequence[str], Iterable[Row]], int]] = {
    Format.csv: write_csv,
    Format.xlsx: write_xlsx,
}
MEDIA_TYPES: Mapping[Format, str] = {
    Format.csv: "text/csv",
    Format.xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
