"""Due dates in cells: what a column proves, what a cell means, and why it is refused (H31)."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import Refused
from app.imports.dates import Due, reader_of, warning
from app.imports.headers import columns_of
from app.imports.records import Record
from app.imports.shapes import shape_of, shapes_of

LAST_OF_MARCH = dt.date(2027, 3, 31)


def read(cell: str, format: str = "auto", *others: str) -> Due:
    return reader_of(format, [cell, *others]).read(cell)


@pytest.mark.parametrize(
    ("cells", "order"),
    [
        (["03/04/2027", "12/04/2027", "25/12/2027"], "dmy"),
        (["03/04/2027", "12/25/2027"], "mdy"),
        (["03-04-2027", "31.12.2027"], "dmy"),
        (["2027-03-31", "2027-04-03"], "ymd"),
        (["05/05/2027", "06/06/2027"], "dmy"),  # Both orders say the same.
        (["29/02/2027", "31/03/2027"], "dmy"),  # No date proves nothing; the other one does.
        (["25/12/2027 08:00", "03/04/2027"], "dmy"),
        (["", "n/a", "46477"], "ymd"),
        ([], "ymd"),
    ],
)
def test_a_column_proves_its_order(cells: list[str], order: str) -> None:
    assert reader_of("auto", cells).format == order


def test_h31_a_the_column_proves_day_first() -> None:
    cells = ["03/04/2027", "12/04/2027", "25/12/2027"]
    reader = reader_of("auto", cells)
    assert [str(reader.read(cell).on) for cell in cells] == ["2027-04-03", "2027-04-12", "2027-12-25"]


def test_h31_b_an_undecidable_column_stops_and_asks() -> None:
    cells = ["03/04/2027", "12/04/2027", "05/12/2027"]
    with pytest.raises(Refused, match="--date-format"):
        reader_of("auto", cells)
    for order, days in (
        ("dmy", ["2027-04-03", "2027-04-12", "2027-12-05"]),
        ("mdy", ["2027-03-04", "2027-12-04", "2027-05-12"]),
    ):
        reader = reader_of(order, cells)
        assert [str(reader.read(cell).on) for cell in cells] == days


def test_a_column_that_contradicts_itself_stops_and_asks() -> None:
    with pytest.raises(Refused, match=r"contradict.*--date-format"):
        reader_of("auto", ["25/12/2027", "12/25/2027"])


@pytest.mark.parametrize(
    ("cell", "format"),
    [
        ("2027-03-31", "auto"),
        ("2027/3/31", "auto"),
        ("2027.03.31", "ymd"),
        ("20270331", "auto"),
        (" 31.03.2027 ", "auto"),
        ("31 03 2027", "auto"),
        ("31/3/2027", "dmy"),
        ("3/31/2027", "mdy"),
        ("31 March 2027", "auto"),
        ("31-Mar-2027", "dmy"),
        ("Mar. 31, 2027", "auto"),
        ("31 de marzo de 2027", "auto"),
        ("2027-03-31T23:59:59", "auto"),
        ("2027-03-31 23:59", "ymd"),
        ("31/03/2027 11:59:59 PM", "auto"),
        ("31/03/2027 23:59:59.999", "dmy"),
        ("31-Mar-27", "%d-%b-%y"),
        ("27.31.3", "%y.%d.%m"),
        ("31/03/2027 23:59", "%d/%m/%Y"),
        ("2027\N{NO-BREAK SPACE}03 31", "auto"),
        ("31 mars 2027", "auto"),
        ("31. März 2027", "auto"),
        ("31 Maerz 2027", "auto"),
        ("31 de março de 2027", "auto"),
        ("31 de marzo del 2027", "auto"),
        ("March 31st, 2027", "auto"),
        ("31-mrz-2027", "dmy"),
        ("31/MAR/2027", "mdy"),
    ],
)
def test_a_date_is_read(cell: str, format: str) -> None:
    assert read(cell, format) == Due(LAST_OF_MARCH)


@pytest.mark.parametrize(
    ("cell", "format", "reason"),
    [
        ("", "auto", "missing"),
        ("   ", "dmy", "missing"),
        ("31/03/27", "auto", "two digits"),
        ("31/03/68", "auto", "two digits"),
        ("20-Jun-28", "auto", "two digits"),
        ("31/03/27", "%d/%m/%Y", "two digits"),
        ("29/02/2027", "auto", "not a date"),
        ("31/04/2027", "dmy", "not a date"),
        ("0027-03-31", "auto", "year 27"),
        ("1989-12-31", "auto", "year 1989"),
        ("2080-01-01", "auto", "year 2080"),
        ("0000-01-01", "auto", "not a date"),
        ("26/08/2502", "dmy", "year 2502"),
        ("2027-03-31T23:59:59Z", "auto", "instant"),
        ("2027-03-31 23:59:59 +02:00", "auto", "instant"),
        ("2027-03-31T23:59-0500", "auto", "instant"),
        ("31/03/2027 10:00 UTC", "dmy", "instant"),
        ("20270331T235959Z", "auto", "instant"),
        ("6/30/2017", "dmy", "month/day/year it would be one"),
        ("2027-03-31", "dmy", "year-month-day it would be one"),
        ("12/31/2027", "ymd", "month/day/year it would be one"),
        ("401928", "auto", "a number"),
        ("5201", "auto", "a number"),
        ("soon", "auto", "not a date"),
        ("-", "auto", "not a date"),
        ("31/03-2027", "auto", "not a date"),
        ("٣١/٠٣/٢٠٢٧", "auto", "not a date"),
        ("31 foo 2027", "auto", "not a date"),
        ("9" * 5000, "auto", "not a date"),
    ],
)
def test_a_cell_that_is_no_date_is_refused_with_its_reason(cell: str, format: str, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        read(cell, format)


MONTHS = {
    "en": "January February March April May June July August September October November December",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
}


@pytest.mark.parametrize("language", MONTHS)
def test_months_are_understood_by_their_names(language: str) -> None:
    for month, name in enumerate(MONTHS[language].split(), 1):
        for written in (f"1 {name} 2027", f"01-{name[:3]}-2027", f"1er {name.upper()} 2027"):
            if name[:3] not in ("jui", "fév", "aoû") or name in written:
                assert read(written).on == dt.date(2027, month, 1), written


@pytest.mark.parametrize("format", ["auto", "ymd", "dmy", "mdy", "%d/%m/%Y"])
@pytest.mark.parametrize("cell", ["46477", "46477.5", "46477,999988"])
def test_a_bare_number_is_proposed_and_never_taken(cell: str, format: str) -> None:
    due = read(cell, format)
    assert (due.on, due.must_confirm) == (LAST_OF_MARCH, True)
    assert cell in due.reason


@pytest.mark.parametrize(
    "cell",
    [
        "N/A",
        "n/a.",
        " Permanent ",
        "NONE",
        "unbegrenzt",
        "Indefinido",
        "no  caduca",
        "Ilimitado",
        "illimité",
        "ILLIMITE",
        "Sans objet",
        "unbefristet",
        "Entfällt",
        "não se aplica",
        "Indeterminado",
        "sans échéance",
    ],
)
def test_words_say_that_there_is_no_due_date(cell: str) -> None:
    assert read(cell).on is None


def test_a_word_of_ones_own() -> None:
    assert reader_of("dmy", [], ["Lebenslang"]).read("LEBENSLANG").on is None
    with pytest.raises(Refused, match="not a date"):
        read("Lebenslang")


def test_two_digit_years_of_a_pattern_are_of_this_century() -> None:
    for year in (0, 26, 68, 69, 79):
        assert read(f"31-Dec-{year:02}", "%d-%b-%y").on == dt.date(2000 + year, 12, 31)
    with pytest.raises(Refused, match="year 2099"):
        read("31-Dec-99", "%d-%b-%y")
    assert read("29-Feb-72", "%d-%b-%y").on == dt.date(2072, 2, 29)


@pytest.mark.parametrize(
    "format",
    ["", "dym", "iso", "%m/%Y", "%d/%m", "%d/%d/%m/%Y", "%d/%m/%Y %z", "%d/%m/%Y%", "%d/%m/%Y %Q", "%-d/%m/%Y"],
)
def test_a_format_that_fixes_no_date_is_refused(format: str) -> None:
    with pytest.raises(Refused, match="--date-format"):
        reader_of(format, [])


def test_a_bare_number_of_the_other_date_system_is_proposed_by_it() -> None:
    reader = reader_of("auto", [], zero=dt.date(1904, 1, 1))
    assert (reader.read("45015").on, reader.read("45015").must_confirm) == (LAST_OF_MARCH, True)


@pytest.mark.parametrize("format", ["auto", "dmy", "mdy", "%d.%m.%Y"])
def test_a_date_cell_is_a_date_in_any_format(format: str) -> None:
    reader = reader_of(format, [])
    assert reader.of_date_cell("2027-03-31 23:59:59.999000") == Due(LAST_OF_MARCH)
    with pytest.raises(Refused, match="year 1900"):
        reader.of_date_cell("1900-01-30")


CELLS = ["31/01/2027", "1/2/2027", "6/30/2027", "2027-01-31 10:00", "31.01.2027", "20270131", "46477", "31/01/27", "x",
         "", "n/a", "31 mars 2027", "March 31, 2027", "2027-03-31T10:00Z", "2027-03-31"]  # fmt: skip


def test_each_shape_of_a_column_is_counted_with_an_example() -> None:
    records = [Record(line, ("A", cell), dated=(1,) if line == 16 else ()) for line, cell in enumerate(CELLS, 2)]
    columns = columns_of(["reference", "due_on"], 2, ())
    shapes = shapes_of([*records, Record(17, ())], columns, reader_of("dmy", []))
    assert vars(shapes[0]) == {"shape": "dd/mm/yyyy", "count": 2, "example": "31/01/2027", "line": 2}
    assert {(shape.shape, shape.line) for shape in shapes[1:]} == {
        ("mm/dd/yyyy", 4), ("yyyy-mm-dd hh:mm", 5), ("dd.mm.yyyy", 6), ("yyyymmdd", 7), ("number", 8),
        ("two-digit year", 9), ("other", 10), ("empty", 11), ("no expiry", 12), ("dd month yyyy", 13),
        ("month dd yyyy", 14), ("instant", 15), ("date cell", 16),
    }  # fmt: skip
    assert sum(shape.count for shape in shapes) == len(CELLS)
    pattern = shapes_of([Record(2, ("A", "31-Jan-27"))], columns, reader_of("%d-%b-%y", []))
    assert [shape.shape for shape in pattern] == ["%d-%b-%y"]


@given(cell=st.text(max_size=30), format=st.sampled_from(["auto", "mdy", "%d-%b-%y"]))
def test_any_text_has_a_shape(cell: str, format: str) -> None:
    assert shape_of(" ".join(cell.split()), reader_of(format, []))


def test_a_mixed_column_is_warned_of() -> None:
    cells = ["25/12/2027", "6/30/2017", "03/04/2027", "x"]
    assert "6/30/2017" in warning(reader_of("dmy", cells), cells)
    assert warning(reader_of("dmy", cells[:1]), cells[:1]) == ""
    assert warning(reader_of("auto", cells[:1]), cells[:1]) == ""


@given(day=st.dates(dt.date(1990, 1, 1), dt.date(2079, 12, 31)))
def test_every_date_comes_back_from_every_way_to_write_it(day: dt.date) -> None:
    for format, pattern in (("auto", "%Y-%m-%d"), ("dmy", "%d/%m/%Y"), ("mdy", "%m/%d/%Y"), ("%Y%m%d", "%Y%m%d")):
        assert read(day.strftime(pattern), format) == Due(day)


@given(cell=st.text(max_size=40), format=st.sampled_from(["auto", "ymd", "dmy", "mdy", "%d-%b-%y"]))
def test_any_text_is_read_or_refused(cell: str, format: str) -> None:
    try:
        due = read(cell, format)
    except Refused:
        return
    assert due.on is None or 1990 <= due.on.year <= 2079


@given(
    format=st.text(max_size=12) | st.lists(st.sampled_from(["%d", "%m", "%Y", "%y", "%", "/", "%H", "Q"])).map("".join)
)
def test_any_format_is_known_or_refused(format: str) -> None:
    try:
        reader = reader_of(format, ["31/03/2027"])
    except Refused:
        return
    try:
        reader.read("31/03/2027")
    except Refused:
        return


@pytest.mark.parametrize("cell", ["2027-03-31 99:99", "2027-03-31T24:00", "31/03/2027 23:60", "31 March 2027 25:00:00"])
def test_a_time_that_no_day_has_is_refused(cell: str) -> None:
    for format in ("auto", "dmy", "ymd"):
        with pytest.raises(Refused, match="a time that no day has"):
            reader_of(format, [cell]).read(cell)


def test_a_time_of_the_day_is_dropped() -> None:
    for time in ("0:00", "00:00", "23:59:59", "9:05", "12:00 PM"):
        assert read(f"2027-03-31 {time}").on == LAST_OF_MARCH


@pytest.mark.parametrize("format", ["DMY", " dmy ", "Auto", "AUTO"])
def test_a_format_is_named_in_any_case(format: str) -> None:
    assert read("31/03/2027", format).on == LAST_OF_MARCH
