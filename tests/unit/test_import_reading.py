"""Reading a CSV file: encodings, delimiters, headers, lines, limits; and nothing but Refused, whatever the bytes."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import Refused
from app.domain.guards import harmless, unguarded, unwrapped
from app.imports import headers, limits
from app.imports.delimited import DELIMITERS
from app.imports.reading import read
from app.imports.records import Table


def known(cells: object) -> bool:
    return headers.is_header(cells, ())  # type: ignore[arg-type]


def table(text: str, header_row: int | None = None) -> Table:
    return read(text.encode(), None, header_row, known)


def cells(text: str, header_row: int | None = None) -> list[tuple[int, tuple[str, ...]]]:
    return [(record.line, record.cells) for record in table(text, header_row).records]


def test_a_byte_order_mark_is_no_part_of_the_first_header() -> None:
    assert read("reference,due_on\nP-1,x\n".encode("utf-8-sig"), None, None, known).header == ("reference", "due_on")


@pytest.mark.parametrize(
    ("start", "word"),
    [
        (b"PK\x03\x04", "damaged"),
        (b"\xd0\xcf\x11\xe0", "damaged"),
        (b"%PDF-1.7", "PDF"),
        (b"a,b\n\x00,c", "NUL"),
        (b"\x89PNG\r\n", "PNG"),
        (b"\xff\xd8\xff\xe0", "JPEG"),
        (b"PK\x05\x06" + bytes(18), "empty archive"),
        ("reference,due_on\n".encode("utf-32"), "UTF-32"),
        (b"\r\n<html xmlns:x='urn'><table>", "HTML"),
        (b"\xef\xbb\xbf<!DOCTYPE html>", "HTML"),
        ("<TABLE border=1>".encode("utf-16"), "HTML"),
        (b"<?xml version='1.0'?><Workbook>", "XML"),
        (b"", "empty"),
        (b"\n \n\n", "empty"),
    ],
)
def test_what_is_no_csv_file_is_refused(start: bytes, word: str) -> None:
    with pytest.raises(Refused, match=word):
        read(start, None, None, known)


SPANISH = "reference;name;due_on\n1;Inspección caldera Ñuñoa – 30 m³ “año” Nº 5;x\n"
FRENCH = "référence;nom;due_on\n1;Contrôle périodique à l'étage, cœur où, Noël;reference\n"
POLISH = "reference;name;due_on\n1;Świadectwo gaśnic Łódź, źródło, ważność;x\n"
CZECH = "reference;name;due_on\n1;Školení řidičů, revize hasicích přístrojů;x\n"
HUNGARIAN = "reference;name;due_on\n1;Tűzoltó készülék, őrség, gyűjtő, útvonal;x\n"
GERMAN = "reference;name;due_on\n1;Prüfung der Anlage, Straße, Öl;x\n"
EURO = "reference;name;due_on\n1;90 € al año;x\n"


@pytest.mark.parametrize(
    ("text", "codec", "name", "is_assumed"),
    [
        (SPANISH, "utf-8", "UTF-8", False),
        (SPANISH, "utf-8-sig", "UTF-8", False),
        (SPANISH, "utf-16", "UTF-16", False),
        (SPANISH, "utf-16-le", "UTF-16", False),
        (SPANISH, "utf-16-be", "UTF-16", False),
        (SPANISH, "cp1252", "Windows-1252", True),
        (FRENCH, "cp1252", "Windows-1252", True),
        (FRENCH, "iso8859-15", "ISO-8859-15", True),
        (GERMAN, "cp1252", "Windows-1252", True),
        (GERMAN, "iso8859-1", "Windows-1252", True),  # The same letters, as far as ISO 8859-1 has them.
        (EURO, "iso8859-15", "ISO-8859-15", True),
        (EURO, "cp1252", "Windows-1252", True),
        (POLISH, "cp1250", "Windows-1250", True),
        (CZECH, "cp1250", "Windows-1250", True),
        (HUNGARIAN, "cp1250", "Windows-1250", True),
        ("reference;due_on\n1;x\n", "cp1252", "UTF-8", False),
    ],
)
def test_h30_an_encoding_is_found_or_told_as_assumed(text: str, codec: str, name: str, is_assumed: bool) -> None:
    found = read(text.encode(codec), None, None, known)
    wanted = text.splitlines()[1].split(";")
    assert (found.encoding, found.records[0].cells) == (name, tuple(wanted))
    assert [f"assumed to be {name}" in warning for warning in found.warnings] == [True] * is_assumed


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("reference;due_on\nñandú;ñ\n".encode() + b"\xff;x\n", "byte 29"),
        ("reference;due_on\nÑu;".encode() + b"\xf3;x\n", "byte 22"),
        (b"\xff\xfer\x00e\x00f\x00\x00\xd8", "not UTF-16 throughout"),
        (b"\xff\xfer\x00e\x00\x00\x00", "NUL"),
        ("reference,due_on".encode("utf-16-le") + b"\x00\xd8", "not UTF-16 throughout"),
        (b"reference,due_on\n\xed\xa0\x80\xff\x81\x81\x8d\x8f\x90,x\n", "unknown"),
        (b"reference,due_on\n\xf1\x00,x\n", "unknown"),
    ],
)
def test_bytes_that_are_no_text_are_refused(source: bytes, words: str) -> None:
    with pytest.raises(Refused, match=words):
        read(source, None, None, known)


@pytest.mark.parametrize(
    ("first", "delimiter"), [("sep=;\r\n", "semicolon"), ('"sep=|"\n', "bar"), ("SEP=\t\n", "tab"), ("", "comma")]
)
def test_the_separator_that_excel_is_told_wins_and_its_line_is_no_record(first: str, delimiter: str) -> None:
    mark = {name: char for char, name in DELIMITERS.items()}[delimiter]
    text = f"{first}a,b;c|d\tx{mark}reference{mark}due_on\n1{mark}2{mark}3\n"
    found = table(text)
    assert (found.delimiter, found.records[0].line) == (delimiter, 3 if first else 2)
    assert table(text, 1).header == found.header
    with pytest.raises(Refused, match="separator"):
        table("sep=x\nreference,due_on\n")


def test_what_only_looks_like_a_separator_is_a_header() -> None:
    assert table("reference,due_on,sep=x\nA,x,y\n").header == ("reference", "due_on", "sep=x")
    assert table("sep=xy,reference,due_on\nA,x,y\n").header == ("sep=xy", "reference", "due_on")


def test_a_mark_that_stands_twice_is_no_part_of_the_first_header() -> None:
    assert table("\N{BOM}\N{BOM}reference,due_on\nA,x\n").header == ("reference", "due_on")
    assert table("\N{BOM}\N{BOM}sep=;\nreference;due_on\nA;x\n").delimiter == "semicolon"


def test_empty_columns_at_the_end_do_not_count() -> None:
    blank = "," * 1023
    found = table(f"reference,due_on{blank}\nA,x{blank}\n")
    assert (found.header or ())[:3] == ("reference", "due_on", "")
    assert not found.widths.fault(found.records[0])


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_a_header_that_is_too_wide_is_refused_as_such(delimiter: str) -> None:
    names = delimiter.join(["reference", "due_on", *map(str, range(499))])
    with pytest.raises(Refused, match=r"line 1 has 501 columns: at most 500"):
        table(f"{names}\nA{delimiter}x\n")


def test_what_stands_above_the_records_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_RECORDS", 2)
    assert len(table("A title\n\nreference,due_on\nA,x\nB,y\n").records) == 2
    with pytest.raises(Refused, match="more than 2 records"):
        table("reference,due_on\nA,x\nB,y\nC,z\n")


def test_a_formula_for_a_text_is_the_text() -> None:
    text = 'reference,due_on\n"=""00042""",x\n="00043",x\n"=""a ""quoted"" b""",x\n=A1,x\n'
    wanted = ["00042", "00043", "=A1"]
    assert [one[0] for _, one in cells(text.replace('"=""a ""quoted"" b""",x\n', ""))] == wanted
    assert unwrapped('="a ""quoted"" b"') == 'a "quoted" b'


def test_a_guard_against_formulas_is_taken_off_once() -> None:
    guarded = ["'=1+2", "'+34 600", "'-5", "'@x", "'quoted'", "''=1", "it's"]
    text = "reference,due_on\n" + "".join(f"{cell},x\n" for cell in guarded)
    assert [one[0] for _, one in cells(text)] == ["=1+2", "+34 600", "-5", "@x", "'quoted'", "''=1", "it's"]


@given(cell=st.text(max_size=6))
def test_what_was_guarded_is_read_as_it_was(cell: str) -> None:
    assert unguarded(harmless(cell)) == cell or cell.startswith("'")


def test_errors_of_a_spreadsheet_are_no_values() -> None:
    found = table("reference,due_on\n#N/A,x\nA,#¡REF!\n#1,x\n").records
    assert [record.faults for record in found] == [((0, "#N/A"),), ((1, "#¡REF!"),), ()]


def test_a_text_file_has_no_sheets() -> None:
    with pytest.raises(Refused, match="--sheet"):
        read(b"reference,due_on\n", "One", None, known)


def test_a_separator_stands_in_the_records_whatever_the_title_holds() -> None:
    for mark, name in DELIMITERS.items():
        text = f"Register, 2027; all | sites\n\n{mark.join(['Nº', 'reference', 'due_on'])}\n{mark.join('1AB')}\n"
        found = table(text)
        assert (found.delimiter, found.records[0].line, found.records[0].cells) == (name, 4, ("1", "A", "B"))


@pytest.mark.parametrize(("delimiter", "name"), [(",", "comma"), (";", "semicolon"), ("\t", "tab"), ("|", "bar")])
def test_the_delimiter_is_found_by_the_header(delimiter: str, name: str) -> None:
    text = f"reference{delimiter}name{delimiter}due_on\nP-1{delimiter}a, b; c, d, e{delimiter}x\n"
    if delimiter in ",;":
        text = text.replace("a, b; c, d, e", '"a, b; c, d, e"')
    found = table(text)
    assert (found.delimiter, found.header) == (name, ("reference", "name", "due_on"))
    assert found.records[0].cells == ("P-1", "a, b; c, d, e", "x")


def test_a_header_that_is_known_decides_before_one_that_is_wide() -> None:
    text = "Register of permits, of licences, and of trainings\nreference;due_on\nP-1;2027-03-31\n"
    found = table(text)
    assert (found.delimiter, found.header) == ("semicolon", ("reference", "due_on"))
    assert [(record.line, record.cells) for record in found.records] == [(3, ("P-1", "2027-03-31"))]


def test_a_record_has_the_line_on_which_it_starts() -> None:
    text = 'reference,due_on,note\r\nA,x,"one\r\ntwo\r\nthree"\r\n\r\n,,\r\nB,y,z'
    assert cells(text) == [
        (2, ("A", "x", "one\r\ntwo\r\nthree")),
        (5, ()),
        (6, ("", "", "")),
        (7, ("B", "y", "z")),
    ]


def test_line_ends_of_every_system() -> None:
    for end in ("\n", "\r\n", "\r"):
        assert cells(end.join(["reference,due_on", "A,x", "B,y", ""])) == [(2, ("A", "x")), (3, ("B", "y"))]


def test_the_header_row_counts_records_and_blank_ones() -> None:
    text = '"a title\nof two lines"\n\nref,until\nA,x\n'
    assert table(text, 3).header == ("ref", "until")
    assert cells(text, 3) == [(5, ("A", "x"))]
    assert table(text, 0).header is None
    assert [line for line, _ in cells(text, 0)] == [1, 3, 4, 5]
    with pytest.raises(Refused, match="--header-row"):
        table(text, 6)


def test_without_a_known_header_the_first_record_with_text_is_it() -> None:
    found = table("\n\nid no,until when\nA,x\n")
    assert (found.header, found.records[0].line) == (("id no", "until when"), 4)


def test_an_open_quote_swallows_nothing() -> None:
    with pytest.raises(Refused, match=r"line 3.*never closed"):
        table('reference,due_on\nA,x\nB,"y\nC,z\n')


def test_text_behind_a_closing_quote_is_refused_where_it_stands() -> None:
    with pytest.raises(Refused, match=r"closing quote in line 4.*starts at line 2"):
        table('reference,notes,due_on\nR1,"5 inch pipe,x\nR2,b,x\nR3,"q",x\nR4,y,x\n')


def test_a_quote_inside_a_cell_is_text() -> None:
    assert cells('reference,due_on\n5" pipe,x\n"the ""old"" one",y\n') == [
        (2, ('5" pipe', "x")),
        (3, ('the "old" one', "y")),
    ]


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("reference,due_on\n" + "A,x\n" * (limits.MOST_RECORDS + 1), "200,000"),
        ("reference,due_on\nA" + "," * 500 + "x\n", "500"),
        ("reference,due_on\nA," + "x" * 100_001 + "\n", "100,000"),
        ("reference,due_on\nA," + "x" * 200_000 + "\n", r"^A cell of the record at line 2 has .*100,000[^(]*$"),
        ("reference,due_on\nA," + "x" * 20_000_000, "20,000,000"),
    ],
)
def test_a_limit_is_named(text: str, limit: str) -> None:
    with pytest.raises(Refused, match=limit):
        table(text)


@given(source=st.binary(max_size=200), header_row=st.none() | st.integers(0, 4))
def test_random_bytes_are_read_or_refused(source: bytes, header_row: int | None) -> None:
    try:
        read(source, None, header_row, known)
    except Refused:
        return


@given(
    text=st.text(alphabet=st.sampled_from(list('ab,;\t|"\r\n \u2028é\x01')), max_size=60),
    header_row=st.none() | st.integers(0, 4),
)
def test_random_csv_is_read_or_refused(text: str, header_row: int | None) -> None:
    try:
        found = table(text, header_row)
    except Refused:
        return
    lines = [record.line for record in found.records]
    assert lines == sorted(set(lines))


@given(
    rows=st.lists(
        st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8), min_size=2, max_size=4),
        min_size=1,
        max_size=6,
    )
)
def test_what_was_written_is_read_back(rows: list[list[str]]) -> None:
    written = io.StringIO()
    csv.writer(written, quoting=csv.QUOTE_ALL).writerows([["reference", "due_on"], *rows])
    read_back = [[unguarded(unwrapped(cell)) for cell in row] for row in rows]
    assert [list(record.cells) for record in table(written.getvalue()).records] == read_back
