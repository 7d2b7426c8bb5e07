"""Reading workbooks: cells as text, dates as dates, sheets, merged cells, the other date system (H32)."""

from __future__ import annotations

import datetime as dt
import io
import struct
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as st
from xlsxwriter.workbook import Workbook

from app.domain.errors import Refused
from app.imports import headers, limits, sheet_program, workbooks
from app.imports.reading import read
from app.imports.records import Record, Table
from tests.unit import old_files

Fill = Callable[[Workbook], Any]


def known(cells: Sequence[str]) -> bool:
    return headers.is_header(cells, ())


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
    return read(workbook(fill, **options), name, header_row, known)


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
    assert (found.format, found.sheet, found.header) == ("XLSX", "Sheet1", (*HEADER, *[""] * 7))
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


def test_h32_a_title_merged_cells_1904_dates_a_saved_formula_and_rows_of_styles() -> None:
    def fill(book: Workbook) -> None:
        page = book.add_worksheet("Register")
        day, moment = book.add_format({"num_format": "yyyy-mm-dd"}), book.add_format({"num_format": "yyyy-mm-dd hh:mm"})
        page.merge_range("A1:D1", "Registro de permisos 2027")
        page.write_row("A3", ["reference", "name", "subject", "due_on"])
        page.write_row("A4", ["00042-7", "Boiler permit", "permit"])
        page.write_number("D4", 45015, day)
        page.write_row("A5", ["00043-1", "Crane certificate", "certificate"])
        page.write_formula("D5", "=D4+91", day, 45106)
        page.write_row("A6", ["00044-0", "Fire drill training", "training"])
        page.write_number("D6", 45198.99998842592, moment)
        page.write_row("A7", ["00045-9", "Formula", "permit", "=NA()"])
        page.write_formula("D7", "=NA()", day, "#N/A")

    end = b'<row r="1048576"><c r="A1048576" s="1"/></row></sheetData>'
    found = read(replaced(workbook(fill, date_1904=True), b"</sheetData>", end), None, None, known)
    assert found.header == ("reference", "name", "subject", "due_on")
    assert found.day_zero == dt.date(1904, 1, 1)
    assert [(record.line, record.cells[0], record.cells[3]) for record in found.records] == [
        (4, "00042-7", "2027-03-31"),
        (5, "00043-1", "2027-06-30"),
        (6, "00044-0", "2027-09-30 23:59:59"),
        (7, "00045-9", "#N/A"),
    ]
    assert [record.dated for record in found.records] == [(3,), (3,), (3,), ()]
    assert found.records[3].faults == ((3, "#N/A"),)


def test_the_last_moment_of_a_day_stays_in_it() -> None:
    def fill(book: Workbook) -> None:
        page = book.add_worksheet()
        page.write_row("A1", HEADER)
        page.write_row("A2", ["A", 46477.999999994], book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}))

    assert rows(fill)[0][1][1].startswith("2027-03-31 23:59:59")


def test_numbers_keep_the_zeros_that_their_format_shows() -> None:
    def fill(book: Workbook) -> None:
        page = book.add_worksheet()
        page.write_row("A1", HEADER)
        page.write("A2", 42, book.add_format({"num_format": "00000"}))
        page.write("B2", 46477)
        page.write("A3", "042")
        page.write("A4", 42)

    assert rows(fill) == [(2, ("00042", "46477")), (3, ("042",)), (4, ("42",))]


def test_a_formula_without_a_saved_value_is_a_fault() -> None:
    def fill(book: Workbook) -> None:
        page = book.add_worksheet()
        page.write_row("A1", [*HEADER, "notes"])
        page.write_row("A2", ["A"])
        page.write_formula("B2", "=B3+1", None, "")
        page.write("C2", "x")

    [record] = read(replaced(workbook(fill), b"<v></v>", b""), None, None, known).records
    assert record.faults == ((1, "a formula without a saved value"),)


def replaced(source: bytes, old: bytes, new: bytes) -> bytes:
    """The workbook with another text in its parts."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(source)) as there, zipfile.ZipFile(file, "w") as made:
        for member in there.namelist():
            made.writestr(member, there.read(member).replace(old, new))
    return file.getvalue()


def test_merged_cells_stand_for_all_their_rows_but_not_below_the_header() -> None:
    def fill(book: Workbook) -> None:
        page = book.add_worksheet()
        page.merge_range("A1:A2", "reference")
        page.merge_range("B1:C1", "dates")
        page.write_row("B2", ["from", "due_on"])
        page.merge_range("A3:A5", "A")
        page.merge_range("C3:C4", dt.date(2027, 3, 31), book.add_format({"num_format": "dd/mm/yyyy"}))
        page.write("B3", "x")
        page.write("B4", "y")
        page.write("A6", "B")

    found = table(fill)
    assert found.header == ("reference", "from", "due_on")
    assert [(record.line, record.cells, record.dated) for record in found.records] == [
        (3, ("A", "x", "2027-03-31"), (2,)),
        (4, ("A", "y", "2027-03-31"), (2,)),
        (5, (), ()),
        (6, ("B",), ()),
    ]


def sheets(*fills: Fill) -> Fill:
    def fill(book: Workbook) -> None:
        for one in fills:
            one(book)

    return fill


GOOD, NOTES = [HEADER, ["A", LAST_OF_MARCH]], [["what", "who"], ["x", "y"]]


@pytest.mark.parametrize(
    ("fill", "name", "taken"),
    [
        (sheets(sheet(NOTES, "Notes"), sheet(GOOD, "Permits")), None, "Permits"),
        (sheets(sheet([], "Empty"), sheet([["x"], ["y"]], "Only")), None, "Only"),
        (sheets(sheet([], "Empty"), sheet(GOOD, "Hidden", hidden=True), sheet(GOOD, "Shown")), None, "Shown"),
        (sheets(sheet(GOOD, "A"), sheet(GOOD, "B")), "B", "B"),
        (sheets(sheet(GOOD, "A"), sheet(GOOD, "B")), "2", "B"),
        (sheets(sheet(GOOD, "2"), sheet(GOOD, "B")), "2", "2"),
        (sheets(sheet(GOOD, "A"), sheet(GOOD, "Bé")), " BÉ ", "Bé"),
    ],
)  # fmt: skip
def test_the_sheet_that_is_meant_is_taken(fill: Fill, name: str | None, taken: str) -> None:
    assert table(fill, name).sheet == taken


@pytest.mark.parametrize(
    ("fill", "name", "words"),
    [
        (sheets(sheet(GOOD, "A"), sheet(GOOD, "B")), None, "'A', 'B'"),
        (sheets(sheet(NOTES, "A"), sheet(NOTES, "B")), None, "--sheet"),
        (sheets(sheet(GOOD, "A")), "C", "the sheets are 'A'"),
        (sheets(sheet(GOOD, "A")), "2", "no sheet '2'"),
        (sheets(sheet([], "A"), sheet([], "B")), None, "empty"),
    ],
)
def test_a_sheet_that_is_not_certain_is_asked_for(fill: Fill, name: str | None, words: str) -> None:
    with pytest.raises(Refused, match=words):
        table(fill, name)


def test_an_ods_workbook() -> None:
    def cell(text: str, given: str = 'office:value-type="string"') -> str:
        return f"<table:table-cell {given}><text:p>{text}</text:p></table:table-cell>"

    def row(*cells: str, times: int = 1) -> str:
        return f'<table:table-row table:number-rows-repeated="{times}">{"".join(cells)}</table:table-row>'

    day = 'office:value-type="date" office:date-value="2027-03-31"'
    fault = 'office:value-type="string" office:string-value="" calcext:value-type="error"'
    number = 'office:value-type="float" office:value="42"'
    source = old_files.ods(
        row(cell("reference"), cell("due_on"))
        + row("<table:table-cell/>", times=2)
        + row(cell("007"), cell("31/03/27", day))
        + row(cell("42", number), cell("#DIV/0!", fault))
        + row(cell("00042", number), cell("31/03/27", day), times=2)
        + row('<table:table-cell table:number-columns-repeated="1024"/>', times=1_048_570)
    )
    found = read(source, None, None, known)
    assert (found.format, found.sheet) == ("ODS", "Register")
    assert [record for record in found.records if not record.is_blank] == [
        Record(4, ("007", "2027-03-31"), dated=(1,)),
        Record(5, ("42", "#DIV/0!"), faults=((1, "#DIV/0!"),)),
        *(Record(line, ("00042", "2027-03-31"), dated=(1,)) for line in (6, 7)),
    ]


def test_an_xls_workbook() -> None:
    source = old_files.xls([HEADER, ["00042-7 ñ", old_files.Day(46477)], ["B", 46477.0], ["C", old_files.Fault(42)]])
    found = read(source, None, None, known)
    assert (found.format, found.sheet) == ("XLS", "Register")
    assert found.records == [
        Record(2, ("00042-7 ñ", "2027-03-31"), dated=(1,)),
        Record(3, ("B", "46477")),
        Record(4, ("C", "#N/A"), faults=((1, "#N/A"),)),
    ]


def test_an_xls_workbook_of_the_other_date_system() -> None:
    cells = [["A", old_files.Day(45015)], ["B", 45015.0]]
    found = read(old_files.xls([HEADER, *cells], is_1904=True), None, None, known)
    assert found.day_zero == dt.date(1904, 1, 1)
    assert found.records == [Record(2, ("A", "2027-03-31"), dated=(1,)), Record(3, ("B", "45015"))]


@pytest.mark.parametrize(
    ("format", "text"),
    [("00000", "00042"), ('"PL-"0000', "PL-0042"), ("0000-000", "0000-042"), ("00\\/0", "04/2"), ("0", "42"),
     ("#,##0", "42"), ("0.00", "42"), ("General", "42"), ('00 "m"', "42 m")],
)  # fmt: skip
def test_a_number_is_read_as_its_format_shows_it(format: str, text: str) -> None:
    """In XLSX and in XLS alike; whatever else a format does, the number stays a number."""

    def fill(book: Workbook) -> None:
        page = book.add_worksheet()
        page.write_row("A1", HEADER)
        page.write("A2", 42, book.add_format({"num_format": format}))

    old = read(old_files.xls([HEADER, [old_files.Shown(42)]], format), None, None, known)
    assert [record.cells for record in old.records] == [(text,)]
    assert rows(fill) == [(2, (text,))]


def test_digits_that_a_spreadsheet_does_not_keep_are_a_fault() -> None:
    lost = ((0, "a number of more than 15 digits, of which a spreadsheet keeps 15"),)
    found = table(sheet([HEADER, [1234567890123456, 1], [999999999999999, 1]]))
    assert [record.faults for record in found.records] == [lost, ()]
    assert found.records[1].cells == ("999999999999999", "1")


def test_a_note_beside_the_table_shifts_nothing() -> None:
    found = table(sheet([HEADER, ["A", "2027-03-31"], ["B", "2027-03-31", None, "ask Ana"]]))
    assert found.header == (*HEADER, "", "")
    assert found.records[1].cells == ("B", "2027-03-31", "", "ask Ana")


def test_a_workbook_behind_a_password_is_refused_in_these_words() -> None:
    """Whatever its format, it is a compound file then."""
    source = old_files.compound("EncryptedPackage".encode("utf-16-le") + bytes(5000))
    with pytest.raises(Refused, match="protected by a password: save it without one"):
        read(source, None, None, known)


def archive(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return file.getvalue()


PLAIN = workbook(sheet(GOOD))
WIDE = workbook(sheet([[*HEADER, *"x" * 600]]))
FAR = replaced(PLAIN, b"</sheetData>", b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>')
LYING = archive(a=b"x" * 5000).replace(struct.pack("<I", 5000), struct.pack("<I", 10))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (PLAIN[:100], "damaged"),
        (PLAIN[: len(PLAIN) // 2], "damaged"),
        (PLAIN[:-30], "damaged"),
        (archive(readme=b"no workbook"), "no XLSX or ODS"),
        (archive(**{"nested.xlsx": PLAIN}), "no XLSX or ODS"),
        (archive(**{"xl/workbook.xml": b"<workbook"}), "damaged"),
        (archive(**{"xl/workbook.xml": PLAIN}), "damaged"),
        (archive(**{"xl/workbook.xml": b"", "x": bytes(20_000_000)}), "100 times its size"),
        (LYING, "damaged"),
        (WIDE, "at most 500"),
        (FAR, "bytes of memory"),
        (b"\xd0\xcf\x11\xe0" + bytes(5000), "damaged"),
    ],
)
def test_a_workbook_that_is_none_is_refused_in_words(source: bytes, words: str) -> None:
    with pytest.raises(Refused, match=words):
        read(source, None, None, known)


@pytest.mark.parametrize(
    ("module", "limit", "value", "words"),
    [
        (workbooks, "MOST_EXPANDED", 1000, "expands to more than 1,000 bytes"),
        (workbooks, "MOST_MEMBERS", 3, "at most 3"),
        (workbooks, "WALL_SECONDS", 0.001, "seconds"),
        (workbooks, "LONGEST_LINE", 20, "more than 20 bytes"),
        (limits, "MOST_RECORDS", 0, "more than 0 records"),
        (limits, "MOST_CELLS", 3, "more than 3 cells"),
        (limits, "MOST_TEXT", 20, "more than 20 characters"),
        (limits, "MOST_CHARACTERS", 5, "more than 5 characters"),
        (limits, "MOST_BYTES", 100, "at most 100"),
    ],
)
def test_a_limit_is_named(monkeypatch: pytest.MonkeyPatch, module: Any, limit: str, value: float, words: str) -> None:
    monkeypatch.setattr(module, limit, value)
    with pytest.raises(Refused, match=words):
        read(PLAIN, None, None, known)


def test_a_program_that_works_for_ever_is_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    endless = tmp_path / "endless.py"
    endless.write_text("import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 2))\nwhile True: pass\n")
    monkeypatch.setattr(workbooks, "PROGRAM", endless)
    with pytest.raises(Refused, match="30 seconds"):
        read(PLAIN, None, None, known)


def asked(length: int) -> dict[str, Any]:
    return {"sheet": None, "rows": 50, "bytes": length, "members": 100, "expanded": 10**7, "unsuspicious": 10**6,
            "ratio": 100}  # fmt: skip


OLD = old_files.xls(GOOD[:1])


@settings(deadline=None, max_examples=150)
@given(draws=st.data())
def test_a_damaged_workbook_is_rows_or_a_refusal(draws: st.DataObject) -> None:
    """In this process, where it is cheap; what the program makes of a refusal is tried above."""
    source = bytearray(draws.draw(st.sampled_from([PLAIN, OLD])))
    for _ in range(draws.draw(st.integers(0, 6))):
        place = draws.draw(st.integers(0, len(source) - 1))
        source[place] = draws.draw(st.integers(0, 255))
    source = source[: draws.draw(st.integers(4, len(source)))]
    try:
        found = list(sheet_program.found_in(io.BytesIO(bytes(source)), asked(len(source))))
    except BaseException as fault:  # The program words any fault of the reader as a refusal, its panics, too.
        if not isinstance(fault, Exception) and type(fault).__name__ != "PanicException":
            raise
        return
    assert found[0][0] == "book"


@settings(deadline=None, max_examples=8)
@given(rest=st.binary(max_size=300), start=st.sampled_from([b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"]))
def test_random_bytes_that_begin_as_a_workbook_are_refused(rest: bytes, start: bytes) -> None:
    with pytest.raises(Refused):
        read(start + rest, None, None, known)
