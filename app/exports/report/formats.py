"""In which formats a report is written, and how each of them is called outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from app.domain.acts import ReportFormat
from app.exports.report.pdf import write_pdf
from app.exports.report.report import Report
from app.exports.report.spreadsheets import write_csv, write_xlsx
from app.exports.report.story_pdf import write_story

MEDIA_TYPES: Mapping[ReportFormat, str] = {
    ReportFormat.csv: "text/csv",
    ReportFormat.xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ReportFormat.pdf: "application/pdf",
    ReportFormat.bundle: "application/zip",
}
SUFFIXES: Mapping[ReportFormat, str] = {ReportFormat.bundle: "zip"}
WRITERS: Mapping[ReportFormat, Callable[[IO[bytes], Report], None]] = {
    ReportFormat.csv: write_csv,
    ReportFormat.xlsx: write_xlsx,
    ReportFormat.pdf: write_pdf,
}


def write(format: ReportFormat, path: Path, report: Report) -> None:
    """Write the report to this path. Raises Refused for what a format cannot hold.

    On paper, one entry is its story: two pages. The PDF of its bundle has every row.
    """
    with path.open("wb") as file:
        if format is ReportFormat.pdf and report.story is not None:
            write_story(file, report, report.story)
        else:
            WRITERS[format](file, report)


def suffix_of(format: ReportFormat) -> str:
    return SUFFIXES.get(format, format.value)
