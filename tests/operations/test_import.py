"""Import of a register: one outcome for each record, again changes nothing, evidence is kept (H30, H31, H33)."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from app.cli.imports import json_of, lines, lines_of, name_of, shown
from app.domain.errors import Refused
from app.imports import register as register_of_imports
from app.imports.outcomes import Row
from app.imports.register import Imported, Options, import_register, read_register
from app.models import AuditEvent, ImportRun, Kind, Member, NotificationLedger, Obligation, ScanQueue, Subject
from app.operations import batches, imports, obligations, people, register, rules
from app.operations.rules import RuleText
from app.trail.act import Act
from tests import factories
from tests.factories import Acme
from tests.operations.story import Since
from tests.people import OFFICER, STAFF

LAST_OF_MARCH = dt.date(2027, 3, 31)
H33 = (
    "reference,name,due_on,note\r\n"
    "D-1,Permit one,2027-03-31,ok\r\n"
    'D-2,Permit two,2027-04-30,"line one\r\nline two; with, comma"\r\n'
    "D-3,Permit three,2027-05-31,ok\r\n"
    "D-1,Permit one,2027-03-31,ok\r\n"
    ",,,\r\n"
    "\r\n"
    "D-3,Permit three,2027-06-30,ok\r\n"
    ' d-2 ,Permit two,2027-04-30,"line one\r\nline two; with, comma"\r\n'
)
PIECES = [
    b"A",
    b"B-1",
    b",",
    b'"',
    b"\n",
    b"2027-03-31",
    b"46477",
    b"n/a",
    b"\xf1",
    b"\x1b[31m",
    b"\x00",
    b"\xe2\x80\xa8",
    b" ",
    b";",
]


def bring(act: Act, text: str, **options: Any) -> Imported:
    return bring_bytes(act, text.encode(), **options)


def bring_bytes(act: Act, source: bytes, **options: Any) -> Imported:
    asked = Options(**options)
    return import_register(act, read_register(source, "register.csv", asked), asked)


def counts(imported: Imported) -> dict[str, int]:
    """The outcomes that came up."""
    return {outcome: count for outcome, count in imported.counts.items() if count}


def by_line(imported: Imported) -> dict[int, str]:
    return {row.line: row.outcome.value for row in imported.rows}


def only(imported: Imported) -> Row:
    [row] = imported.rows
    return row


def entries(act: Act) -> dict[str, Subject]:
    return {
        one.reference: one for one in act.session.scalars(select(Subject).execution_options(populate_existing=True))
    }


def due_dates(act: Act, reference: str) -> list[str]:
    """The open due dates of an entry."""
    of = select(Obligation.due_on).join(Subject, Subject.id == Obligation.subject_id)
    rows = of.where(Subject.reference == reference, Obligation.closed_at.is_(None)).order_by(Obligation.due_on)
    return [str(day) for day in act.session.scalars(rows)]


def rows_in(act: Act) -> tuple[int, ...]:
    """How much there is that an import could write, its own evidence apart."""
    tables = (Subject, Obligation, Kind, ScanQueue)
    return tuple(act.session.scalar(select(func.count()).select_from(table)) or 0 for table in tables)


def test_h30_a_references_and_text_stay_as_they_are(act: Act) -> None:
    people.add_site(act, "Planta 1", "Europe/Madrid")
    people.add_site(act, "Planta 2", "Europe/Madrid")
    text = (
        "\N{BOM}reference,name,subject,site,due_on,fee\n"
        "00042-7,Inspección caldera Ñuñoa,inspection,Planta 1,2027-03-31,€ 1.250\n"
        "0012345678,Licencia de vertido – nave 3,licence,Planta 1,2027-06-30,€ 90\n"
        "7E10,Formación PRL “básica”,training,Planta 2,2027-09-30,€ 0\n"
    )
    imported = bring(act, text)
    assert counts(imported) == {"new": 3}
    assert (imported.reading.encoding, imported.reading.delimiter) == ("UTF-8", "comma")
    found = entries(act)
    assert {reference: one.title for reference, one in found.items()} == {
        "00042-7": "Inspección caldera Ñuñoa",
        "0012345678": "Licencia de vertido – nave 3",
        "7E10": "Formación PRL “básica”",
    }
    assert [one.extra["fee"] for one in found.values()] == ["€ 1.250", "€ 90", "€ 0"]
    assert [due_dates(act, reference) for reference in found] == [["2027-03-31"], ["2027-06-30"], ["2027-09-30"]]


def test_h30_b_the_same_register_in_a_code_page_is_the_same(act: Act) -> None:
    text = (
        "reference;name;subject;due_on;fee\r\n"
        "00042-7;Inspección caldera Ñuñoa;inspection;2027-03-31;€ 1.250\r\n"
        "0012345678;Licencia de vertido – nave 3;licence;2027-06-30;€ 90\r\n"
        "7E10;Formación PRL “básica”;training;2027-09-30;€ 0\r\n"
    )
    first, second = (bring_bytes(act, text.encode(codec)) for codec in ("cp1252", "utf-8-sig"))
    assert (counts(first), counts(second)) == ({"new": 3}, {"unchanged": 3})
    assert (first.reading.encoding, first.reading.delimiter) == ("Windows-1252", "semicolon")
    assert "assumed" in first.reading.warnings[0]
    assert [(row.reference, row.title) for row in first.rows] == [(row.reference, row.title) for row in second.rows]
    assert [one.extra["fee"] for one in entries(act).values()] == ["€ 1.250", "€ 90", "€ 0"]


def test_h32_a_workbook_is_imported_with_the_rows_of_its_sheet(act: Act) -> None:
    book = io.BytesIO()
    with xlsxwriter.Workbook(book, {"in_memory": True, "date_1904": True}) as made:
        page = made.add_worksheet("Register")
        day = made.add_format({"num_format": "dd/mm/yyyy"})
        page.merge_range("A1:C1", "Registro de permisos 2027")
        page.write_row("A3", ["reference", "name", "due_on"])
        for row, (reference, cell) in enumerate([("00042-7", 45015), ("0007", 45106)], 3):
            page.write_row(row, 0, [reference, "Boiler"])
            page.write_number(row, 2, cell, day)
        page.write_row("A6", ["N", "bare number", 45015])
        page.write_row("A7", ["F", "fault"])
        page.write_formula("C7", "=NA()", day, "#N/A")
        page.write_row("A9", ["M", "missing"])
    imported = bring_bytes(act, book.getvalue(), date_format="mdy")
    assert by_line(imported) == {4: "new", 5: "new", 6: "confirm", 7: "rejected", 8: "skipped", 9: "rejected"}
    assert [str(row.due_on) for row in imported.rows[:3]] == ["2027-03-31", "2027-06-30", "2027-03-31"]
    assert [row.reason for row in imported.rows[3:]] == ["the due_on is #N/A, not a value", "blank", "due date missing"]
    assert (imported.reading.format, imported.reading.sheet) == ("XLSX", "Register")
    assert imported.reading.shapes[0] == {"shape": "date cell", "count": 2, "example": "2027-03-31", "line": 4}
    assert set(entries(act)) == {"00042-7", "0007"}


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(source=st.binary(max_size=120) | st.lists(st.sampled_from(PIECES)).map(b"".join))
def test_any_bytes_are_outcomes_or_a_refusal_and_a_dry_run_writes_nothing(act: Act, source: bytes) -> None:
    before = rows_in(act)
    with contextlib.suppress(Refused):
        imported = bring_bytes(act, b"reference,due_on,site,notes\n" + source, dry_run=True)
        assert sum(imported.counts.values()) == len(imported.rows)
        assert json.loads("".join(json_of(imported)))["rows"] is not None
        assert all(line.isprintable() for line in map(shown, lines(imported)))
    assert rows_in(act) == before


def test_the_name_of_a_file_that_is_no_text_is_kept_as_far_as_it_is(act: Act, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.csv")
    path.write_bytes(b"reference,due_on\nP-1,2027-03-31\n")
    with path.open("rb") as file:
        name = name_of(file)
        import_register(act, read_register(file.read(), name, Options()), Options())
    assert act.session.scalars(select(ImportRun.file_name)).all() == ["caf\N{REPLACEMENT CHARACTER}.csv"]


def test_a_refusal_leaves_no_half_of_an_import(act: Act, monkeypatch: pytest.MonkeyPatch) -> None:
    before = rows_in(act)
    monkeypatch.setattr(batches, "AT_ONCE", 2)
    monkeypatch.setattr(imports, "open_obligations", lambda *_: refuse_late())
    with pytest.raises(Refused), act.session.begin_nested():
        bring(act, "reference,due_on\n" + "".join(f"P-{number},2027-03-31\n" for number in range(7)))
    assert rows_in(act) == before


def refuse_late() -> None:
    raise Refused("late")


def test_what_is_done_in_pieces_is_the_same(act: Act, since: Since, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "AT_ONCE", 2)
    monkeypatch.setattr(register_of_imports, "AT_ONCE", 2)
    text = "reference,due_on,title\n" + "".join(f"P-{number},2027-03-{number + 1:02},A\n" for number in range(7))
    assert counts(bring(act, text)) == {"new": 7}
    types = [event.type for event in since.read()[0]]
    assert types == ["register_imported", *["subject_created"] * 7, *["obligation_opened"] * 7]
    assert counts(bring(act, text)) == {"unchanged": 7}
    later = bring(act, text.replace("2027-03", "2027-04").replace(",A", ",B"))
    assert counts(later) == {"changed": 7}
    types = [event.type for event in since.read()[0]]
    assert types == [*["register_imported"] * 2, *["subject_changed"] * 7, *["date_moved"] * 7]
    run = act.session.scalars(select(ImportRun).order_by(ImportRun.id.desc())).first()
    assert run is not None
    assert [row["line"] for row in run.rows] == [2, 3, 4, 5, 6, 7, 8]
    assert {due_dates(act, f"P-{number}")[0][:7] for number in range(7)} == {"2027-04"}


def test_h31_a_and_b_dates_of_a_whole_file(act: Act) -> None:
    imported = bring(act, "reference,due_on\nP-1,03/04/2027\nP-2,12/04/2027\nP-3,25/12/2027\n")
    assert [str(row.due_on) for row in imported.rows] == ["2027-04-03", "2027-04-12", "2027-12-25"]
    assert (imported.reading.date_format, entries(act)["P-1"].title) == ("dmy", "P-1")
    with pytest.raises(Refused, match="--date-format"):
        bring(act, "reference,due_on\nP-1,03/04/2027\nP-2,12/04/2027\nP-3,05/12/2027\n")


def test_h31_c_a_column_of_bad_dates(act: Act) -> None:
    cells = ["2027-03-31", "31/03/27", "31/03/68", "29/02/2027", "46477", "31.03.2027", "N/A", "", "0027-03-31"]
    cells.append("2027-03-31T23:59:59Z")
    text = "reference,due_on\n" + "".join(f"B-{number},{cell}\n" for number, cell in enumerate(cells, 1))
    imported = bring(act, text)
    assert counts(imported) == {"new": 2, "confirm": 1, "no_expiry": 1, "rejected": 6}
    found = {row.reference: row for row in imported.rows}
    assert {found["B-1"].due_on, found["B-6"].due_on, found["B-5"].due_on} == {LAST_OF_MARCH}
    assert (found["B-5"].outcome, found["B-7"].outcome, found["B-7"].due_on) == ("confirm", "no_expiry", None)
    assert all(found[f"B-{number}"].reason for number in (2, 3, 4, 8, 9, 10))
    assert set(entries(act)) == {"B-1", "B-6", "B-7"}
    assert due_dates(act, "B-7") == []


def test_h33_duplicates_conflicts_and_line_breaks(act: Act) -> None:
    want = {
        2: "new",
        3: "new",
        5: "conflict",
        6: "duplicate",
        7: "skipped",
        8: "skipped",
        9: "conflict",
        10: "duplicate",
    }
    before = rows_in(act)
    assert by_line(bring(act, H33, dry_run=True)) == want
    assert rows_in(act) == before
    imported = bring(act, H33)
    assert by_line(imported) == want
    repeats = {row.line: row.reason for row in imported.rows}
    assert ("line 2" in repeats[6], "line 3" in repeats[10]) == (True, True)
    assert set(entries(act)) == {"D-1", "D-2"}
    assert entries(act)["D-2"].notes == "line one\nline two; with, comma"


def test_h33_the_same_file_again_changes_nothing(act: Act) -> None:
    bring(act, H33)
    before = rows_in(act)
    again = bring(act, H33)
    assert counts(again) == {"unchanged": 2, "duplicate": 2, "conflict": 2, "skipped": 2}
    assert rows_in(act) == before
    assert act.session.scalar(select(func.count()).select_from(ImportRun)) == 2


def test_an_import_leaves_its_trail_its_queue_and_its_evidence(act: Act, since: Since) -> None:
    text = "reference,title,kind,due_on,fee\nP-1,Vertido,permit,2027-03-31,90\n"
    imported = bring(act, text)
    assert imported.kinds_made == ["permit"]
    events, rows = since.read()
    types = ["register_imported", "kind_created", "subject_created", "obligation_opened"]
    assert [event.type for event in events] == types
    assert events[-1].detail["due_on"] == "2027-03-31"
    assert (events[-1].detail["source"], events[-1].detail["line"]) == ("import", 2)
    assert [row.subject_id for row in rows] == [entries(act)["P-1"].id]
    run = act.session.scalars(select(ImportRun)).one()
    assert (run.id, run.file_name) == (imported.import_run_id, "register.csv")
    assert run.file_sha256 == hashlib.sha256(text.encode()).hexdigest()
    assert (run.counts["new"], run.rows[0]["line"], run.mapping["mapping"]["due_on"]) == (1, 2, ["due_on"])


def test_a_dry_run_says_the_same_and_writes_nothing(act: Act, since: Since) -> None:
    text = "reference,title,kind,due_on\nP-1,Vertido,permit,2027-03-31\n"
    before = rows_in(act)
    preview = bring(act, text, dry_run=True)
    assert (preview.kinds_made, preview.dry_run, preview.import_run_id) == (["permit"], True, None)
    assert (rows_in(act), since.both()) == (before, ([], []))
    assert bring(act, text).rows == preview.rows


def test_the_contract_of_the_json(act: Act) -> None:
    told = json.loads("".join(json_of(bring(act, "reference,due_on\nP-1,2027-03-31\n"))))
    outcomes = ("new", "changed", "unchanged", "confirm", "no_expiry", "duplicate", "conflict", "skipped", "rejected")
    assert [told[outcome] for outcome in outcomes] == [1, 0, 0, 0, 0, 0, 0, 0, 0]
    assert (told["dry_run"], told["kinds_made"], told["date_format"]) == (False, [], "ymd")
    assert told["rows"] == [
        {
            "line": 2,
            "outcome": "new",
            "reason": "",
            "reference": "P-1",
            "title": "P-1",
            "site": "Madrid",
            "due_on": "2027-03-31",
        }
    ]


def test_a_changed_record_moves_the_one_open_obligation(act: Act, since: Since) -> None:
    bring(act, "reference,title,due_on\nP-1,Vertido,2027-03-31\n")
    subject = entries(act)["P-1"]
    since.read()
    moved = bring(act, "reference,title,due_on\np-1,Vertido II,2027-06-30\n")
    assert (counts(moved), due_dates(act, "P-1")) == ({"changed": 1}, ["2027-06-30"])
    assert "2027-03-31" in only(moved).reason
    events, rows = since.read()
    assert [event.type for event in events] == ["register_imported", "subject_changed", "date_moved"]
    assert (events[1].detail["old"], events[1].detail["new"]) == ({"title": "Vertido"}, {"title": "Vertido II"})
    shift = events[2].detail
    assert (shift["old"], shift["new"], shift["reason"], shift["source"]) == (
        "2027-03-31",
        "2027-06-30",
        "other",
        "import",
    )
    assert [row.subject_id for row in rows] == [subject.id]
    first = act.session.scalars(select(Obligation.first_due_on)).one()
    assert first == LAST_OF_MARCH


def test_only_what_the_file_says_is_changed(act: Act) -> None:
    ana = people.add_member(act, OFFICER, "officer")
    bring(act, f"reference,title,kind,owner,notes,due_on,fee\nP-1,Vertido,permit,{OFFICER},a note,2027-03-31,90\n")
    assert counts(bring(act, "reference,due_on\nP-1,2027-03-31\n")) == {"unchanged": 1}
    blank = "reference,title,kind,owner,notes,due_on\nP-1,,,,,2027-03-31\n"
    assert counts(bring(act, blank)) == {"unchanged": 1}
    assert counts(bring(act, "reference,notes,due_on,area\nP-1,another,2027-03-31,7\n")) == {"changed": 1}
    one = entries(act)["P-1"]
    assert (one.title, one.owner_member_id, one.notes) == ("Vertido", ana, "another")
    assert one.extra == {"fee": "90", "area": "7"}


def test_a_date_that_the_entry_has_is_unchanged_and_is_not_opened_again(act: Act) -> None:
    text = "reference,due_on\nP-1,2027-03-31\n"
    bring(act, text)
    one = act.session.scalars(select(Obligation)).one()
    obligations.close(act, one.id, "met", met_on=dt.date(2027, 2, 28))
    assert (counts(bring(act, text)), due_dates(act, "P-1")) == ({"unchanged": 1}, [])
    assert counts(bring(act, "reference,due_on\nP-1,2028-03-31\n")) == {"changed": 1}
    assert due_dates(act, "P-1") == ["2028-03-31"]
    assert counts(bring(act, text)) == {"conflict": 1}
    assert due_dates(act, "P-1") == ["2028-03-31"]


def test_several_open_dates_are_a_conflict_unless_the_date_is_one_of_them(act: Act) -> None:
    subject = factories.subject(act, "P-1", LAST_OF_MARCH)
    factories.obligation(act, subject, dt.date(2027, 6, 30))
    assert counts(bring(act, "reference,due_on\nP-1,2027-06-30\n")) == {"unchanged": 1}
    assert counts(bring(act, "reference,title,due_on\nP-1,X,2027-09-30\n")) == {"conflict": 1}
    assert entries(act)["P-1"].title == "Permit P-1"


def test_no_expiry_never_closes_what_is_open(act: Act) -> None:
    text = "reference,due_on\nP-1,permanent\n"
    assert counts(bring(act, text)) == {"no_expiry": 1}
    before = rows_in(act)
    assert (counts(bring(act, text)), rows_in(act)) == ({"no_expiry": 1}, before)
    assert counts(bring(act, "reference,due_on\nP-1,2027-03-31\n")) == {"changed": 1}
    assert (counts(bring(act, text)), due_dates(act, "P-1")) == ({"conflict": 1}, ["2027-03-31"])
    assert counts(bring(act, "reference,due_on\nP-2,lebenslang\n", no_expiry=("Lebenslang",))) == {"no_expiry": 1}


def test_on_conflict_latest_takes_the_latest_due_date_if_one_alone_has_it(act: Act) -> None:
    text = "reference,title,due_on\nP-1,A,2027-03-31\nP-1,B,2027-06-30\nP-2,A,2027-03-31\nP-2,B,2027-03-31\n"
    imported = bring(act, text, on_conflict="latest")
    assert by_line(imported) == {2: "conflict", 3: "new", 4: "conflict", 5: "conflict"}
    assert (due_dates(act, "P-1"), set(entries(act))) == (["2027-06-30"], {"P-1"})


def test_rejected_records_take_no_part_in_duplicates_and_conflicts(act: Act) -> None:
    text = "reference,title,due_on\nP-1,A,soon\nP-1,A,2027-03-31\nP-1,A,soon\n"
    assert by_line(bring(act, text)) == {2: "rejected", 3: "new", 4: "rejected"}


@pytest.mark.parametrize(
    "reference",
    [
        "",
        " - ",
        "N/A",
        "not assigned yet",
        "TBD",
        "tbd.",
        "—",
        "pendiente",
        "???",
        "S/N",
        "Sin número",
        "En trámite",
        "non attribué",
        "noch nicht vergeben",
        "Não atribuído",
        "to follow",
    ],
)
def test_a_placeholder_is_no_reference(act: Act, reference: str) -> None:
    row = only(bring(act, f"reference,due_on,x\n{reference},2027-03-31,y\n"))
    assert (row.outcome, "reference" in row.reason) == ("rejected", True)


def test_ragged_records_are_rejected_and_never_shifted(act: Act) -> None:
    text = "reference,title,due_on\nP-1,A, B,2027-03-31\nP-2,A,2027-03-31,,\nP-3\n"
    imported = bring(act, text)
    assert by_line(imported) == {2: "rejected", 3: "new", 4: "rejected"}
    assert "columns are shifted" in imported.rows[0].reason
    assert imported.rows[2].reason == "1 cell where the header has 3: columns are shifted"


def test_shifted_records_prove_no_date_order(act: Act) -> None:
    text = "reference,due_on\nP-1,31/03/2027\nP-2,12/31/2027,x\n"
    assert bring(act, text).reading.date_format == "dmy"


def test_sites_a_column_wins_and_an_option_fills_its_blanks(act: Act) -> None:
    people.add_site(act, "Lisboa", "Europe/Lisbon")
    text = "reference,site,due_on\nP-1,lisboa,2027-03-31\nP-2,,2027-03-31\nP-3,Atlantis,2027-03-31\n"
    bare = bring(act, text)
    assert by_line(bare) == {2: "new", 3: "rejected", 4: "rejected"}
    assert ["no such site" in row.reason for row in bare.rows] == [False, True, True]
    filled = bring(act, text, site="madrid")
    assert [row.site for row in filled.rows] == ["Lisboa", "Madrid", "Atlantis"]
    assert by_line(filled) == {2: "unchanged", 3: "new", 4: "rejected"}
    with pytest.raises(Refused, match="no such site"):
        bring(act, text, site="Nowhere")


def test_owner_and_holder_must_exist_and_see_the_site(act: Act) -> None:
    people.add_site(act, "Lisboa", "Europe/Lisbon")
    ana = people.add_member(act, OFFICER, "officer")
    bruno = people.add_member(act, STAFF, "staff")
    people.limit_member(act, bruno, [factories.site(act, "Lisboa")])
    act.session.get_one(Member, (act.org, ana)).number = "0042"
    act.session.flush()
    text = (
        "reference,site,owner,holder,due_on\n"
        f"P-1,Madrid,{OFFICER.upper()},0042,2027-03-31\n"
        f"P-2,Lisboa,,{STAFF},2027-03-31\n"
        f"P-3,Madrid,{STAFF},,2027-03-31\n"
        "P-4,Madrid,omar@other.example,,2027-03-31\n"
        "P-5,Madrid,,42,2027-03-31\n"
    )
    imported = bring(act, text)
    assert by_line(imported) == {2: "new", 3: "new", 4: "rejected", 5: "rejected", 6: "rejected"}
    assert [row.reason.split(":")[0] for row in imported.rows[3:]] == ["no such owner", "no such holder"]
    found = entries(act)
    assert (found["P-1"].owner_member_id, found["P-1"].holder_id, found["P-2"].holder_id) == (ana, ana, bruno)


def test_an_owner_by_name_takes_the_place_of_an_owner_by_post(act: Act) -> None:
    post, ana = people.add_post(act, "Plant manager"), people.add_member(act, OFFICER, "officer")
    subject = factories.subject(act, "P-1", LAST_OF_MARCH, owner_post_id=post)
    bring(act, f"reference,owner,due_on\nP-1,{OFFICER},2027-03-31\n")
    assert (entries(act)["P-1"].owner_member_id, entries(act)["P-1"].owner_post_id) == (ana, None)
    assert subject.id == entries(act)["P-1"].id


def test_kinds_are_made_for_accepted_records_only(act: Act) -> None:
    text = "reference,type,due_on\nP-1,Permit,2027-03-31\nP-2, permit ,2027-03-31\nP-3,Boiler,soon\nP-4,,2027-03-31\n"
    imported = bring(act, text)
    assert imported.kinds_made == ["Permit"]
    names = dict(iter(act.session.execute(select(Subject.reference, Kind.name).join(Kind, Kind.id == Subject.kind_id))))
    assert names == {"P-1": "Permit", "P-2": "Permit", "P-4": "other"}
    assert bring(act, text).kinds_made == []


def test_parts_name_their_whole_in_the_file_or_in_the_register(act: Act) -> None:
    there = factories.subject(act, "OLD-1")
    text = (
        "reference,part_of,due_on\n"
        "C-1,P-1,2027-03-31\nP-1,old-1,2027-03-31\nC-2,P-404,2027-03-31\nC-3,C-2,2027-03-31\nC-4,P-9,2027-03-31\nP-9,,soon\n"
    )
    imported = bring(act, text)
    assert by_line(imported) == {2: "new", 3: "new", 4: "rejected", 5: "rejected", 6: "rejected", 7: "rejected"}
    found = entries(act)
    assert (found["C-1"].part_of_id, found["P-1"].part_of_id) == (found["P-1"].id, there.id)
    assert counts(bring(act, text)) == {"unchanged": 2, "rejected": 4}
    other = bring(act, "reference,part_of,due_on\nC-1,OLD-1,2027-03-31\n")
    assert (counts(other), entries(act)["C-1"].part_of_id) == ({"changed": 1}, there.id)


def test_nothing_is_a_part_of_itself(act: Act) -> None:
    text = (
        "reference,part_of,due_on\nA,B,2027-03-31\nB,C,2027-03-31\nC,A,2027-03-31\nD,A,2027-03-31\n"
        "E,E,2027-03-31\nF,,2027-03-31\nG,F,2027-03-31\n"
    )
    assert by_line(bring(act, text)) == {
        2: "rejected", 3: "rejected", 4: "rejected", 5: "rejected", 6: "rejected", 7: "new", 8: "new",
    }  # fmt: skip
    assert counts(bring(act, "reference,part_of,due_on\nF,G,2027-03-31\n")) == {"rejected": 1}


def test_a_recurrence_is_read_or_rejected(act: Act) -> None:
    text = "reference,recurrence,due_on\nP-1,1y,2027-03-31\nP-2,sometimes,2027-03-31\n"
    imported = bring(act, text)
    assert by_line(imported) == {2: "new", 3: "rejected"}
    assert entries(act)["P-1"].recurrence == "1y"


@pytest.mark.parametrize(
    ("maps", "reference", "title"),
    [
        (("reference=Ref", "due_on=Until"), "A", "A"),
        (("reference=Ref+No", "due_on=Until", "title=Name+Place"), "A/7", "Boiler Hall"),
        (("reference=1+2", "due_on=5"), "A/7", "A/7"),
        (("reference=2", "due_on=until", "title=Full name"), "7", "7"),
    ],
)
def test_columns_are_mapped_by_whole_headers_joins_and_positions(
    act: Act, maps: tuple[str, ...], reference: str, title: str
) -> None:
    text = 'Ref, No ,Name,Place,Until,"Full\nname",title\nA,7,Boiler,Hall,2027-03-31,,ignored\n'
    row = only(bring(act, text, maps=maps))
    assert (row.outcome, row.reference, row.title) == ("new", reference, title)
    assert entries(act)[reference].extra["title"] == "ignored"


def test_a_header_with_a_plus_or_a_number_is_matched_whole_first(act: Act) -> None:
    text = "A+B,3,C,A,B\nwhole,2027-03-31,x,a,b\n"
    assert only(bring(act, text, maps=("reference=A+B", "due_on=3"))).reference == "whole"


def test_a_joined_reference_with_an_empty_part_is_rejected(act: Act) -> None:
    text = "a,b,due_on\nA,,2027-03-31\n"
    row = only(bring(act, text, maps=("reference=a+b", "due_on=due_on")))
    assert (row.outcome, "'b'" in row.reason) == ("rejected", True)


def test_a_file_without_a_header(act: Act) -> None:
    imported = bring(act, "P-1,2027-03-31,x\nP-2,2027-03-31,\n", header_row=0, maps=("reference=1", "due_on=2"))
    assert by_line(imported) == {1: "new", 2: "new"}
    assert entries(act)["P-1"].extra == {"column 3": "x"}


@pytest.mark.parametrize(
    ("text", "options", "word"),
    [
        ("number,until\nP-1,2027-03-31\n", {}, "reference"),
        ("reference,until\nP-1,2027-03-31\n", {}, "due_on"),
        ("reference,due_on\nP-1,2027-03-31\n", {"maps": ("title=reference",)}, "reference"),
        ("reference,due_on\nP-1,2027-03-31\n", {"maps": ("reference=Ref", "due_on=due_on")}, "Ref"),
        ("reference,due_on\nP-1,2027-03-31\n", {"maps": ("reference=9", "due_on=2")}, "'9'"),
        ("reference,due_on\nP-1,2027-03-31\n", {"maps": ("nonsense=1",)}, "nonsense"),
        ("reference,due_on\nP-1,2027-03-31\n", {"maps": ("reference",)}, "FIELD=COLUMN"),
        ("a,a,due_on\nP-1,x,2027-03-31\n", {"maps": ("reference=a", "due_on=due_on")}, "several"),
        ("reference,expiry date,due date\nP-1,2027-03-31,2027-04-01\n", {}, "due_on"),
        ("reference,due_on\nP-1,2027-03-31\n", {"on_conflict": "newest"}, "newest"),
        ("reference,due_on\nP-1,2027-03-31\n", {"start": "later"}, "later"),
        ("reference,due_on\nP-1,2027-03-31\n", {"sheet": "One"}, "--sheet"),
        ("reference,due_on\nP-1,2027-03-31\n", {"date_format": "dd/mm"}, "dd/mm"),
        ("", {}, "empty"),
    ],
)
def test_a_file_that_cannot_be_read_for_certain_is_refused_whole(
    act: Act, text: str, options: dict[str, Any], word: str
) -> None:
    with pytest.raises(Refused, match=word):
        bring(act, text, **options)


def test_headers_are_understood_in_spanish(act: Act) -> None:
    text = "Nº de expediente;Descripción;Observaciones;Fecha de vencimiento;Zona\nE-1;Vertido;nota;31/03/2027;norte\n"
    imported = bring(act, text)
    assert (counts(imported), imported.reading.delimiter) == ({"new": 1}, "semicolon")
    one = entries(act)["E-1"]
    assert (one.title, one.notes, one.extra) == ("Vertido", "nota", {"Zona": "norte"})


def test_a_mixed_column_is_warned_of(act: Act) -> None:
    imported = bring(act, "reference,due_on\nP-1,25/12/2027\nP-2,6/30/2027\n", date_format="dmy")
    assert ("6/30/2027" in imported.reading.warnings[0], counts(imported)) == (True, {"new": 1, "rejected": 1})


def test_drafts_wait_to_be_released(act: Act) -> None:
    bring(act, "reference,due_on\nP-1,2027-03-31\n", start="draft")
    assert entries(act)["P-1"].status == "draft"


def test_start_next_holds_back_what_new_and_moved_dates_have_crossed(act: Act) -> None:
    rules.apply(act, [RuleText("Permits", thresholds=("30d", "7d"), channels=("in_app",), to=("role:officer",))])
    factories.subject(act, "P-0", LAST_OF_MARCH)
    factories.subject(act, "P-2", dt.date(2028, 3, 31))
    bring(act, "reference,due_on\nP-1,2027-03-31\nP-2,2027-03-05\n", start="next")
    told = select(NotificationLedger.reference, NotificationLedger.threshold, NotificationLedger.reason)
    rows = sorted(tuple(row) for row in act.session.execute(told))
    assert rows == [("P-1", "30d", "start"), ("P-2", "30d", "start"), ("P-2", "7d", "start")]


def test_an_entry_that_is_not_watched_is_updated_and_named(act: Act) -> None:
    subject = factories.subject(act, "P-1", LAST_OF_MARCH)
    register.archive(act, subject, "gone")
    row = only(bring(act, "reference,due_on\nP-1,2027-06-30\n"))
    assert (row.outcome, "archived" in row.reason) == ("changed", True)
    assert entries(act)["P-1"].status == "archived"


def test_many_entries_leave_one_queue_row_for_everything(act: Act, since: Since) -> None:
    rows = "".join(f"P-{number},2027-03-31\n" for number in range(imports.QUEUED_SINGLY + 1))
    assert counts(bring(act, f"reference,due_on\n{rows}")) == {"new": imports.QUEUED_SINGLY + 1}
    events, queued = since.read()
    assert len(events) == 2 * (imports.QUEUED_SINGLY + 1) + 1
    assert [(row.subject_id, row.rule_id) for row in queued] == [(None, None)]


def test_two_organisations_have_the_same_reference_and_see_nothing_of_each_other(acme: Acme) -> None:
    text = f"reference,owner,due_on\nP-1,,2027-03-31\nP-2,{OFFICER},2027-03-31\n"
    with acme.acting() as ours:
        people.add_member(ours, OFFICER, "officer")
        assert counts(bring(ours, text)) == {"new": 2}
    with factories.acme("other", "Porto", "Europe/Lisbon").acting() as theirs:
        assert by_line(bring(theirs, text)) == {2: "new", 3: "rejected"}
        assert theirs.session.scalars(select(Subject.org_id)).all() == [theirs.org]
        assert {event.org_id for event in theirs.session.scalars(select(AuditEvent))} == {theirs.org}


NUMBERS = "reference,due_on\nA-1,46023\nA-2,2027-03-31\nA-3,46054\n"


def test_a_number_that_a_person_has_confirmed_is_a_date(act: Act) -> None:
    brought = bring(act, NUMBERS, confirmed=(2,))
    assert by_line(brought) == {2: "new", 3: "new", 4: "confirm"}
    assert brought.rows[0].reason == "the number 46023 was confirmed to be 2026-01-01"
    assert [row.line for row in brought.proposed] == [2, 4]
    again = bring(act, NUMBERS, confirm_all=True)
    assert by_line(again) == {2: "unchanged", 3: "unchanged", 4: "new"}
    kept = list(act.session.scalars(select(ImportRun.mapping).order_by(ImportRun.id)))
    assert [one["options"] for one in kept] == [{"date_format": "auto", "on_conflict": "refuse", "start": "now"} | said
                                                for said in ({"confirmed": [2]}, {"confirm_all": True})]  # fmt: skip


def test_a_line_that_waits_for_nothing_cannot_be_confirmed(act: Act) -> None:
    for line in (1, 3, 9):
        with pytest.raises(Refused, match=f"--confirm {line}: no date is to be confirmed there"):
            bring(act, NUMBERS, confirmed=(line,))
    assert bring(act, NUMBERS, confirmed=(2, 3), loosely=True).counts["new"] == 2


def test_the_command_names_lines_or_all() -> None:
    assert lines_of(["7", "all", "3", "7"]) == (3, 7)
    for wrong in ("x", "-1", "ALL", "²"):
        with pytest.raises(Refused, match="write the number of a line, or all"):
            lines_of([wrong])
