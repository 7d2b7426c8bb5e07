"""Records of another width than the others are rejected, never shifted, and stay so when they come again."""

from __future__ import annotations

from app.imports.left_over import as_csv, left_over_of
from app.imports.look import look_at
from app.imports.register import Options, import_register, read_register
from app.trail.act import Act
from tests.operations.test_import import bring, by_line, counts, entries


def test_a_short_record_of_a_text_file_is_rejected(act: Act) -> None:
    imported = bring(act, "reference,due_on,title,notes\nP-1,2027-03-31,Law 2\nP-2,2027-03-31,Boiler,n\nP-3,\n")
    assert by_line(imported) == {2: "rejected", 3: "new", 4: "rejected"}
    assert imported.rows[0].reason == "3 cells where the header has 4: columns are shifted"


def test_columns_without_a_header_may_be_left_out_at_the_end(act: Act) -> None:
    imported = bring(act, "reference,due_on,,\nP-1,2027-03-31\nP-2,2027-03-31,x\nP-3,2027-03-31,x,\n")
    assert counts(imported) == {"new": 3}


def test_without_a_header_the_commonest_width_is_right(act: Act) -> None:
    text = "P-1,2027-03-31,x\nP-2,2027-03-31,a, b\nP-3,2027-03-31,y\nP-4,2027-03-31\n\n"
    imported = bring(act, text, header_row=0, maps=("reference=1", "due_on=2"))
    assert by_line(imported) == {1: "new", 2: "rejected", 3: "new", 4: "rejected", 5: "skipped"}
    assert imported.rows[1].reason == "4 cells where most records have 3: columns are shifted"


def test_the_first_look_without_a_header_shows_the_columns_that_are_read() -> None:
    text = b"P-1,2027-03-31,x\nP-2,2027-03-31,a, b\nP-3,2027-03-31,y\n"
    look = look_at(text, header_row=0)
    maps = ("reference=1", "due_on=2")
    found = read_register(text, "register.csv", Options(maps=maps, header_row=0))
    assert [column.name for column in look.columns] == list(found.columns.names)


def test_what_is_left_over_is_not_taken_when_it_comes_again_unmended(act: Act) -> None:
    text = "reference,due_on,title,notes\nP-1,2027-03-31,Law 2\nP-2,2027-03-31,a,b,c\nP-3,,'=1+1,n\n"
    options = Options()
    found = read_register(text.encode(), "register.csv", options)
    left = as_csv(left_over_of(found, import_register(act, found, options).rows))
    again = bring(act, left.decode("utf-8"))
    assert counts(again) == {"rejected": 3}
    assert [row.title for row in again.rows][2] == "=1+1"
    assert entries(act) == {}
