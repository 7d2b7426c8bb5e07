"""The report as a PDF, read back as text: every script, long rows, every row once, pages numbered."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from pypdf import PdfReader

from app.exports.report import pdf
from app.exports.report.cover import Origin
from app.exports.report.pdf import text_of, write_pdf
from app.exports.report.report import read_report
from app.ledger.align import deliver
from app.ledger.scan import scan
from app.queries.report.scope import Asked, Scope
from app.queries.sight import read_sight
from tests import factories
from tests.factories import Acme
from tests.operations.story import march

ODD = "Разрешение № 7 — 東京工場 — Ñuñoa — İzmir — ≥ 30 °C"
SHOWN = "Разрешение № 7 — [U+6771][U+4EAC][U+5DE5][U+5834] — Ñuñoa — İzmir — ≥ 30 °C"
MOST = 500


def written(acme: Acme, tmp_path: Path, asked: Asked | None = None) -> PdfReader:
    with acme.acting() as act:
        scope = Scope(read_sight(act.session, act.org, 0, act.now), "Europe/Madrid", asked or Asked())
        report = read_report(act.session, scope, Origin(1, "Acme", "Ana", [], [], None), tmp_path)
    path = tmp_path / "report.pdf"
    with path.open("wb") as file:
        write_pdf(file, report)
    return PdfReader(path)


def test_h36_any_script_and_a_row_longer_than_a_page(acme: Acme, tmp_path: Path) -> None:
    note = " ".join(f"word{number}" for number in range(6_000))
    with acme.acting() as act:
        factories.subject(act, "ODD-1", march(20), title=ODD, notes=f"{note} finis")
        for number in range(MOST - 1):
            factories.subject(act, f"R-{number:04}-X", march(20), title="*not bold* $x$ #let")
    read = written(acme, tmp_path)
    pages = [page.extract_text() for page in read.pages]
    text = "\n".join(pages)
    flat = " ".join(text.split())
    assert "".join(text.split()).count("".join(SHOWN.split())) == 1  # Wherever its lines break.
    assert "finis" in flat
    assert "�" not in text
    assert "■" not in text
    assert all(flat.count(f"R-{number:04}-X") == 1 for number in range(MOST - 1))
    assert flat.count("*not bold* $x$ #let") == MOST - 1
    assert all(f"Page {number} of {len(pages)}" in page for number, page in enumerate(pages, 1))
    register = [page for page in pages if "R-0" in page]
    assert all("Row Entry Site Responsible Due date" in page for page in register)
    assert "Some signs cannot be printed here" in pages[0]
    assert read.trailer["/Root"]["/MarkInfo"]["/Marked"]  # type: ignore[index]
    assert b"pdfaid:part>3<" in read.trailer["/Root"]["/Metadata"].get_data()  # type: ignore[index, union-attr]


def test_a_reader_of_paper_learns_how_it_was_known(acme: Acme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with acme.acting() as act:
        ana = factories.member(act, name="Ana")
        for number in range(3):
            factories.subject(act, f"P-{number}", march(20), owner_member_id=ana)
        factories.rule(act, thresholds=("30d",), to=("owner",))
    with acme.watching() as act:
        scan(act, trigger="command", full=True)
        deliver(act)
    monkeypatch.setattr(pdf, "MOST_ROWS", 2)
    flat = " ".join(" ".join(page.extract_text().split()) for page in written(acme, tmp_path).pages)
    told = "Told Ana in the app on 1 March 2027, 12:00:00 +01:00. Nobody has answered. The deadline is open."
    assert flat.count(told) == 2
    assert "The first 2 of 3 rows. The data files (XLSX, CSV) of the same report have all of them." in flat
    assert "2027-03-01T12:00:00+01:00 = 2027-03-01T11:00:00Z" in flat
    assert "Tries Each try to hand a mail to the mail server, and what the server answered. none" in flat


def test_a_long_word_may_break_and_an_instant_does_not() -> None:
    assert text_of("2027-03-02T06:00:00-05:00") == "2027-03-02T06:00:00-05:00"
    assert text_of("a" * 64).replace("\u200b", "") == "a" * 64
    assert max(map(len, text_of("a" * 64).split("\u200b"))) <= pdf.PIECE
    assert (text_of(None), text_of(dt.date(2027, 3, 2)), text_of(7)) == ("", "2027-03-02", "7")
