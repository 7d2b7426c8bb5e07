"""A report as LibreOffice opens it: its sheets, its row numbers, dates that are dates, and no formula (H34).

Run by `make libreoffice` alone: LibreOffice is half a gigabyte. What it found stands as tests that need none.
"""

from __future__ import annotations

import subprocess
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.exports.report.report import Report
from tests.operations.test_row_numbers import FORMULAS, report, written

__all__ = ["report"]

TABLE, OFFICE = (
    "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}",
    "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}",
)
UTF8_WITH_COMMAS = "CSV:44,34,76,1"
SECONDS = 180  # LibreOffice makes a profile first.


def opened(path: Path) -> ET.Element:
    """The file as LibreOffice has it in its own format."""
    profile, out = path.parent / "profile", path.parent / path.suffix[1:]
    command = ["soffice", f"-env:UserInstallation={profile.as_uri()}", "--headless", "--convert-to", "ods"]
    command += [f"--infilter={UTF8_WITH_COMMAS}"] if path.suffix == ".csv" else []
    subprocess.run([*command, "--outdir", str(out), str(path)], check=True, capture_output=True, timeout=SECONDS)
    with zipfile.ZipFile(out / f"{path.stem}.ods") as book:
        return ET.fromstring(book.read("content.xml"))


def cells_of(table: ET.Element) -> Iterator[list[tuple[str, str]]]:
    """Each row as the sort and the text of its cells."""
    for row in table.iter(f"{TABLE}table-row"):
        yield [
            (cell.get(f"{OFFICE}value-type", ""), "".join(cell.itertext())) for cell in row.iter(f"{TABLE}table-cell")
        ]


@pytest.mark.libreoffice
def test_libreoffice_opens_a_report_and_runs_nothing(report: Report, tmp_path: Path) -> None:
    of_csv, of_xlsx = map(opened, written(report, tmp_path))
    for book in (of_csv, of_xlsx):
        assert [cell for cell in book.iter(f"{TABLE}table-cell") if cell.get(f"{TABLE}formula")] == []
    tables = {table.get(f"{TABLE}name"): list(cells_of(table)) for table in of_xlsx.iter(f"{TABLE}table")}
    assert list(tables) == [section.name for section in report.sections]
    _, *rows = tables["Register"]
    assert [row[0] for row in rows[: len(FORMULAS)]] == [("float", str(n)) for n in range(1, len(FORMULAS) + 1)]
    assert [row[3][1].strip() for row in rows[: len(FORMULAS)]] == [title.strip() for title in FORMULAS]
    assert {cell for row in rows for cell in row if cell[0] == "date"} == {("date", "2027-03-20")}
    [sheet] = of_csv.iter(f"{TABLE}table")
    lines = [line for line in cells_of(sheet) if line and line[0][1] == "Register" and line[1][0] == "float"]
    assert [line[1][1] for line in lines] == [str(n) for n in range(1, len(FORMULAS) + 1)]
    assert [line[4][1].removeprefix("'").strip() for line in lines] == [title.strip() for title in FORMULAS]
    assert ("date", "2027-03-20") in lines[0]
