"""The register as a file: formula-safe, in the words of the screens, and understood again by an import."""

from __future__ import annotations

import csv
import datetime as dt
import io
from pathlib import Path
from typing import Any

import pytest
from python_calamine import CalamineWorkbook

from app.domain.acts import Status
from app.exports.tables import Format, write_csv, write_xlsx
from tests import factories
from tests.factories import Acme
from tests.operations.story import march
from tests.operations.test_commands import Onus, onus

__all__ = ["onus"]

EVIL = ('=HYPERLINK("http://evil.example/","open")', "@SUM(1+1)", "-12 °C store", "+34 600", "\tA", "\rB")


def test_csv_is_for_spreadsheets_and_never_a_formula() -> None:
    """H34: the guard is on texts alone; numbers and dates stay what they are."""
    file = io.BytesIO()
    rows = [("E-1", EVIL[0], -5, dt.date(2027, 3, 26)), ("E-4", 'Plain, with "quotes"\nand a second line', 1, None)]
    assert write_csv(file, ["reference", "name", "days_left", "due_on"], rows) == 2
    assert (
        file.getvalue()
        == (
            "\ufeffreference,name,days_left,due_on\r\n"
            'E-1,"\'=HYPERLINK(""http://evil.example/"",""open"")",-5,2027-03-26\r\n'
            'E-4,"Plain, with ""quotes""\nand a second line",1,\r\n'
        ).encode()
    )


def test_a_workbook_holds_texts_as_texts_and_dates_as_dates() -> None:
    file = io.BytesIO()
    rows = [(*EVIL[:4], "https://evil.example/", 3, dt.date(2027, 3, 26), None, "x" * 40_000)]
    assert write_xlsx(file, list("abcdefghi"), rows) == 1
    [[*_], [*cells]] = CalamineWorkbook.from_filelike(io.BytesIO(file.getvalue())).get_sheet_by_index(0).to_python()
    assert cells[:7] == [*EVIL[:4], "https://evil.example/", 3, dt.date(2027, 3, 26)]
    assert len(cells[8]) == 32_767


@pytest.fixture
def stocked(acme: Acme) -> Acme:
    with acme.acting() as act:
        ana = factories.member(act, name="Ana")
        whole = factories.subject(act, "0042", march(20), title=EVIL[0], owner_member_id=ana, recurrence="1y",
                                  recurrence_basis="due", notes="Two\nlines")  # fmt: skip
        part = factories.subject(act, "=1+1", march(25), part_of_id=whole.id, kind="permit")
        factories.obligation(act, part, march(31))
        factories.subject(act, "10-12", march(2), status=Status.draft)
        factories.subject(act, "GONE", status=Status.archived)
    return acme


def read(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


@pytest.mark.parametrize("format", Format)
def test_what_is_exported_comes_in_again_with_its_references_and_dates(
    stocked: Acme, onus: Onus, tmp_path: Path, format: Format
) -> None:
    path = tmp_path / f"register.{format}"
    assert onus.json("export", "register", "--format", format, "-o", str(path))["entries"] == 4
    assert list(tmp_path.iterdir()) == [path]
    again = onus.json("import", "register", str(path), "--dry-run")
    outcomes = {row["reference"]: (row["outcome"], row["due_on"]) for row in again["rows"]}
    assert outcomes["0042"] == ("unchanged", "2027-03-20")
    assert outcomes["10-12"] == ("unchanged", "2027-03-02")
    assert again["changed"] == again["conflict"] == again["rejected"] == 0
    fresh = factories.acme("fresh")
    with fresh.acting() as act:
        factories.member(act, email="ana@acme.example", name="Ana")
    made = onus.json("import", "register", str(path), "--org", "fresh")
    assert (made["new"], made["no_expiry"], made["rejected"]) == (3, 1, 0)  # GONE has no date.
    with fresh.acting() as act:
        stored = {row.reference: row for row in act.run(
            "select s.reference, s.title, s.recurrence, s.part_of_id is not null as is_part, s.owner_member_id is not "
            "null as is_owned, s.notes, o.due_on from subject s join obligation o on o.subject_id = s.id "
            "where s.org_id = :org")}  # fmt: skip
    assert {name: row.due_on for name, row in stored.items()} == {
        "0042": march(20), "=1+1": march(25), "10-12": march(2),
    }  # fmt: skip
    whole = stored["0042"]
    assert (whole.title, whole.recurrence, whole.is_owned, whole.notes) == (EVIL[0], "1y", True, "Two\nlines")
    assert stored["=1+1"].is_part


def test_the_filters_narrow_it_and_the_trail_says_who_took_what(stocked: Acme, onus: Onus, tmp_path: Path) -> None:
    path = tmp_path / "drafts.csv"
    onus.json("export", "register", "--state", "draft", "--text", "10", "-o", str(path))
    [row] = read(path)
    assert (row["Reference"], row["Due date (YYYY-MM-DD)"], row["Days left"], row["State"]) == (
        "10-12", "2027-03-02", "1", "Draft",
    )  # fmt: skip
    with stocked.acting() as act:
        event: Any = act.run("select actor, detail from audit_event where type = 'register_exported'").one()
    assert event.actor == "system:operator"
    assert event.detail == {
        "format": "csv", "scope": "all", "entries": 1, "filters": {"q": "10", "state": "draft"},
    }  # fmt: skip
    assert "no such site" in onus.refusal("export", "register", "--site", "Nowhere", "-o", str(path))
    assert "no kind" in onus.refusal("export", "register", "--kind", "Nothing", "-o", str(path))
    assert "cannot be written" in onus.refusal("export", "register", "-o", str(tmp_path / "no" / "x.csv"))
