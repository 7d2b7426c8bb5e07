"""Row 7 of a section is the same in every format, and no cell is a formula, whatever is written in it (H34)."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from pathlib import Path

import pytest
from pypdf import PdfReader
from python_calamine import CalamineWorkbook

from app.exports.report.bundle import lines_of
from app.exports.report.cover import Origin
from app.exports.report.pdf import write_pdf
from app.exports.report.report import Report, read_report
from app.exports.report.spreadsheets import write_csv, write_xlsx
from app.ledger.align import deliver
from app.ledger.scan import scan
from app.queries.report.scope import Scope
from app.queries.sight import read_sight
from tests import factories
from tests.factories import Acme
from tests.operations.story import march

FORMULAS = ("=1+1", "+1+1", "-1+1", "@SUM(1;1)", "\t=1+1", '=HYPERLINK("http://example.org")', "{=1+1}", "1+1")
REFERENCES = [f"R-{number}" for number in range(1, len(FORMULAS) + 1)]


@pytest.fixture
def report(acme: Acme, tmp_path: Path) -> Report:
    """Entries whose titles are formulas, told; in the sections they do not stand in the order of their numbers."""
    with acme.acting() as act:
        ana = factories.member(act, name="Ana")
        for reference, title in reversed(list(zip(REFERENCES, FORMULAS, strict=True))):
            factories.subject(act, reference, march(20), title=title, owner_member_id=ana)
        factories.rule(act, thresholds=("30d",), to=("owner",))
    with acme.watching() as act:
        scan(act, trigger="command", full=True)
        deliver(act)
    with acme.acting() as act:
        scope = Scope(read_sight(act.session, act.org, 0, act.now), "Europe/Madrid")
        return read_report(act.session, scope, Origin(1, "Acme", "Ana", [], [], None), tmp_path)


def written(report: Report, folder: Path) -> tuple[Path, Path]:
    """As CSV and as a workbook."""
    paths = folder / "report.csv", folder / "report.xlsx"
    for path, write in zip(paths, (write_csv, write_xlsx), strict=True):
        with path.open("wb") as file:
            write(file, report)
    return paths


def test_every_format_numbers_the_same_rows_alike(report: Report, tmp_path: Path) -> None:
    of_csv, of_xlsx = written(report, tmp_path)
    lines = list(csv.reader(io.StringIO(of_csv.read_bytes().decode("utf-8-sig"), newline="")))
    book = CalamineWorkbook.from_path(str(of_xlsx))
    paper = io.BytesIO()
    write_pdf(paper, report)
    pages = "\n".join(page.extract_text() for page in PdfReader(paper).pages)
    assert book.sheet_names == [section.name for section in report.sections]
    for section in report.sections:
        text = next(key for key in ("reference", "name", "what") if key in [one.key for one in section.columns])
        place = [one.key for one in section.columns].index(text)
        rows = [(one["row"], one["cells"][text] or "") for one in map(json.loads, lines_of(section))]
        of_section = [one for one in lines if one[0] == section.name and one[1].isdecimal()]
        assert [(int(one[1]), one[place + 2]) for one in of_section] == rows
        sheet = book.get_sheet_by_name(section.name).to_python()[1:]
        assert [(one[0], one[place + 1]) for one in sheet if isinstance(one[0], float)] == rows
        if section.key in ("register", "alerts"):
            of_paper = pages[pages.index(f"\n{section.name}\n") :]
            assert [(int(row), name) for row, name in re.findall(r"^(\d+) (R-\d)$", of_paper, re.M)][
                : len(rows)
            ] == rows


def test_no_cell_is_a_formula(report: Report, tmp_path: Path) -> None:
    of_csv, of_xlsx = written(report, tmp_path)
    with zipfile.ZipFile(of_xlsx) as book:
        sheets = [book.read(name) for name in book.namelist() if name.startswith("xl/worksheets/sheet")]
    assert len(sheets) == len(report.sections)
    assert not any(b"<f>" in sheet or b"<f " in sheet or b"<hyperlink" in sheet for sheet in sheets)
    cells = [cell for line in csv.reader(io.StringIO(of_csv.read_text("utf-8-sig"), newline="")) for cell in line]
    assert [cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t", "\r")] == []
