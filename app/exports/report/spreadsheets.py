"""The report as CSV, its sections one after another, and as a workbook, a sheet for each. Row by row."""

from __future__ import annotations

import csv
import io
from typing import IO, Any

import xlsxwriter

from app.domain.errors import Refused
from app.domain.guards import harmless
from app.exports.report.report import Report
from app.exports.report.section import NONE, Section, Sort
from app.exports.tables import PLAIN, WIDTH, write_cell
from app.wording import gettext as _
from app.wording import later

MOST_ROWS = 1_048_575  # Of a sheet, without its header.
LONGEST_NAME = 31  # Characters of the name of a sheet.
ISO = later("%(name)s (YYYY-MM-DD)")  # So that nobody has to guess how a text is meant.


def write_csv(file: IO[bytes], report: Report) -> None:
    """UTF-8 with its mark and CRLF. Each line begins with its section and row; no cell is ever a formula."""
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\r\n")
    for section in report.sections:
        writer.writerow([_("Section"), _("Row"), *headings(section)])
        for number, row in enumerate(section.rows(), 1):
            cells = [harmless(cell) if isinstance(cell, str) else cell for cell in row]
            writer.writerow([section.name, number, *cells])
        if not section.count:
            writer.writerow([section.name, "", _(NONE)])
    text.flush()
    text.detach()


def headings(section: Section) -> list[str]:
    return [_(ISO, name=column.name) if column.sort is Sort.date else column.name for column in section.columns]


def write_xlsx(file: IO[bytes], report: Report) -> None:
    """Raises Refused for a section that is longer than a sheet."""
    book: Any = xlsxwriter.Workbook(file, {"constant_memory": True, **PLAIN})
    bold, date = book.add_format({"bold": True}), book.add_format({"num_format": "yyyy-mm-dd"})
    for section in report.sections:
        if section.count > MOST_ROWS:
            raise Refused(
                "%(section)s has more rows than a sheet holds: narrow the period, or take CSV.", section=section.name
            )
        sheet = book.add_worksheet(section.name[:LONGEST_NAME])
        write_sheet(sheet, section, bold, date)
    book.close()


def write_sheet(sheet: Any, section: Section, bold: Any, date: Any) -> None:
    names = [_("Row"), *(column.name for column in section.columns)]
    sheet.freeze_panes(1, 0)
    sheet.set_column(0, 0, 6)
    sheet.set_column(1, len(names) - 1, WIDTH)
    for place, name in enumerate(names):
        sheet.write_string(0, place, name, bold)
    for number, row in enumerate(section.rows(), 1):
        for place, cell in enumerate((number, *row)):
            write_cell(sheet, number, place, cell, date)
    if not section.count:
        sheet.write_string(1, 1, _(NONE))
