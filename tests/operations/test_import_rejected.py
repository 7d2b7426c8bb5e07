"""What is rejected for itself: why, how much of it is kept, and that it disturbs no other record."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from app.imports.outcomes import LONGEST_KEPT
from app.models import ImportRun
from app.trail.act import Act
from tests.operations.test_import import bring, by_line, counts, entries, only


def test_one_reference_in_many_records_names_a_few_of_them(act: Act) -> None:
    text = "reference,due_on,title\n" + "".join(f"P-1,2027-03-31,{number}\n" for number in range(3000))
    imported = bring(act, text)
    assert counts(imported) == {"conflict": 3000}
    assert imported.rows[2].reason.startswith("line 2, 3, 5, 6, 7 and 2994 more gives the same reference")
    assert max(len(row.reason) for row in imported.rows) < 120
    few = bring(act, "reference,due_on,title\nP-1,2027-03-31,a\nP-1,2027-03-31,b\n")
    assert few.rows[0].reason == "line 3 gives the same reference other values: none is applied"


def test_of_a_rejected_cell_only_its_beginning_is_kept(act: Act) -> None:
    imported = bring(act, f"reference,due_on,title\n{'r' * 90_000},2027-03-31,{'t' * 90_000}\n")
    assert (len(only(imported).reference), len(only(imported).title)) == (LONGEST_KEPT, LONGEST_KEPT)
    assert only(imported).title.endswith("t…")
    [kept] = act.session.scalars(select(ImportRun.rows))
    assert len(str(kept)) < 3 * LONGEST_KEPT


@pytest.mark.parametrize("cell", ["#N/A", "#REF!", "(blank)", "nan", "n/d", "s/d", "S/D"])
def test_a_placeholder_is_no_reference(act: Act, cell: str) -> None:
    assert only(bring(act, f"reference,due_on\n{cell},2027-03-31\n")).outcome == "rejected"


@pytest.mark.parametrize("sign", ["\u200b", "\ufeff", "\u2060", "\u200e"])
def test_a_character_that_nobody_sees_is_no_part_of_a_reference(act: Act, sign: str) -> None:
    row = only(bring(act, f"reference,due_on\nP{sign}-1,2027-03-31\n"))
    assert row.reason == f"the reference holds an invisible character (U+{ord(sign):04X}): remove it"


def test_an_error_of_a_spreadsheet_is_no_title_but_may_stand_elsewhere(act: Act) -> None:
    imported = bring(act, "reference,due_on,title,fee\nP-1,2027-03-31,#REF!,1\nP-2,2027-03-31,Boiler,#DIV/0!\n")
    assert by_line(imported) == {2: "rejected", 3: "new"}
    assert imported.rows[0].reason == "the title is #REF!, not a value"


def test_a_text_that_is_too_long_names_its_field(act: Act) -> None:
    for field, words in (("notes", "the text of the notes has 4001"), ("legal_basis", "the legal basis has 4001")):
        assert words in only(bring(act, f"reference,due_on,{field}\nP-1,2027-03-31,{'x' * 4001}\n")).reason


def test_a_part_of_nothing_takes_no_part_in_a_conflict(act: Act) -> None:
    text = "reference,due_on,title,part_of\nW-1,2027-03-31,a,Nope\nW-1,2027-03-31,b,\n"
    imported = bring(act, text)
    assert by_line(imported) == {2: "rejected", 3: "new"}
    assert imported.rows[0].reason == "part_of 'Nope' is neither in the register nor among the accepted records"
    assert entries(act)["W-1"].title == "b"


def test_a_part_of_what_is_rejected_takes_no_part_either(act: Act) -> None:
    text = (
        "reference,due_on,title,part_of\n"
        "A-1,2027-03-31,a,Nope\n"
        "B-1,2027-03-31,b,A-1\n"
        "B-1,2027-03-31,c,\n"
        "C-1,2027-03-31,d,b-1\n"
    )
    imported = bring(act, text)
    assert by_line(imported) == {2: "rejected", 3: "rejected", 4: "new", 5: "new"}
    assert imported.rows[1].reason == "part_of 'A-1' is rejected itself"
