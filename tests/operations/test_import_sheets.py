"""What only a sheet can hold: date cells where none should be, dates turned around, notes beside the table."""

from __future__ import annotations

import datetime as dt
import io
from typing import Any

import xlsxwriter

from app.imports.choices import Choices, bring
from app.imports.look import look_at
from app.imports.register import Imported, Options, import_register, read_register
from app.trail.act import Act

FAR = 200  # Rows below which the first look does not see.


def workbook(*rows: list[Any]) -> bytes:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True}) as book:
        page, day = book.add_worksheet(), book.add_format({"num_format": "dd/mm/yyyy"})
        for number, row in enumerate([["Reference", "Due date", "Title"], *rows]):
            for place, cell in enumerate(row):
                if isinstance(cell, dt.date):
                    page.write_datetime(number, place, cell, day)
                elif cell is not None:
                    page.write(number, place, cell)
    return file.getvalue()


def imported(act: Act, *rows: list[Any]) -> Imported:
    options = Options(dry_run=True)
    return import_register(act, read_register(workbook(*rows), "r.xlsx", options), options)


def test_a_date_cell_is_no_reference(act: Act) -> None:
    """A spreadsheet makes a date of 5/2015, and nobody can say what it was."""
    found = imported(act, [dt.date(2015, 5, 1), dt.date(2027, 5, 1)], ["5/2015 ", dt.date(2027, 5, 1)])
    assert found.counts["new"] == found.counts["rejected"] == 1
    assert found.rows[0].reason == "'2015-05-01' is a date cell, not a reference: a spreadsheet may have made it one"


def test_dates_that_a_spreadsheet_has_turned_around_are_told_with_the_file(act: Act) -> None:
    turned = [["A", dt.date(2027, 2, 1)], ["B", dt.date(2027, 11, 12)], ["C", "31/12/2027"], ["D", "25/12/2027"]]
    found = imported(act, *turned)
    assert found.counts["new"] == 4
    assert [one for one in found.reading.warnings if "exchanged day and month" in one]
    assert imported(act, *turned[:2]).reading.warnings == []


def test_a_note_far_down_beside_the_table_is_kept_and_shifts_nothing(act: Act) -> None:
    rows: list[list[Any]] = [[f"A-{n}", dt.date(2027, 5, 1), "Boiler"] for n in range(FAR)]
    rows[-1] = ["A-199", dt.date(2027, 5, 1), "Boiler", None, "ask Ana"]
    source = workbook(*rows)
    look = look_at(source)
    assert [column.name for column in look.columns] == ["Reference", "Due date", "Title"]
    outcome = bring(act, source, "r.xlsx", look, Choices(look.understood()), dry_run=False)
    assert outcome.imported.counts["new"] == FAR
    kept = act.run("select extra from subject where org_id = :org and reference = 'A-199'").scalar_one()
    assert list(kept.values()) == ["ask Ana"]
