"""Bring a register: a file is uploaded, its columns are said, it is applied as drafts, and the drafts are released."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
import xlsxwriter
from sqlalchemy import text
from werkzeug.test import TestResponse

from app.imports import left_over
from app.imports.choices import Choices
from app.imports.limits import MOST_BYTES_OF_A_BROWSER
from app.imports.look import look_at
from app.imports.register import Options, import_register, read_register
from app.ledger.scan import scan
from app.operations import people, releases, uploads
from app.web.import_form import said, sentence
from tests import factories
from tests.factories import Acme
from tests.people import OFFICER
from tests.web.conftest import Browser, forget_request

SignIn = Callable[[str], Browser]
BRING = "/o/acme/register/import"
PLAIN = "Reference,Due date,Title,Responsible\nA-1,5 March 2027,Boiler,ana@acme.example\nA-2,9 April 2028,Lift,\n"


@pytest.fixture
def ana(browser: SignIn, staffed: Acme) -> Browser:
    """Ana, on the page of the upload."""
    signed_in = browser(OFFICER)
    signed_in.get(BRING)
    return signed_in


def upload(person: Browser, content: str | bytes, name: str = "register.csv") -> TestResponse:
    raw = content.encode() if isinstance(content, str) else content
    forget_request()
    form = {"csrf_token": person.token, "file": (io.BytesIO(raw), name)}
    return person._seen(person.client.post(BRING, data=form))


def brought(person: Browser, content: str | bytes, name: str = "register.csv") -> str:
    """The address of the columns of this file."""
    response = upload(person, content, name)
    assert response.status_code == 303, response.text
    person.get(response.location)
    return response.location


def words(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def stored(acme: Acme, sql: str) -> list[tuple[Any, ...]]:
    with acme.acting() as act:
        return [tuple(row) for row in act.session.execute(text(sql))]


def columns(person: Browser, where: str) -> dict[str, str]:
    """What each column is taken for on its page, as a browser would send it."""
    found = re.findall(r'<select name="(column-\d+)".*?>(.*?)</select>', person.get(where).text, re.DOTALL)
    chosen = {name: re.search(r'<option value="([^"]*)" selected', options) for name, options in found}
    return {name: found[1] if found else "" for name, found in chosen.items()}


def apply(person: Browser, where: str, **more: str) -> str:
    """Apply the file as its page proposes; the address of the result."""
    form = columns(person, where) | more
    seen = shown(person.post(where, **form))
    response = person.post(f"{where}/apply", **form, **seen)
    assert response.status_code == 303, words(response.text)
    return response.location


def shown(checked: TestResponse) -> dict[str, str]:
    """What the page of a check sends along when the file is applied: what was checked."""
    found = re.search(r'name="checked" value="(\w+)"', checked.text)
    return {"checked": found[1]} if found else {}


def left(person: Browser, result: str) -> list[list[str]]:
    response = person.get(f"{result}/left-over.csv")
    assert response.data.startswith(b"\xef\xbb\xbf")
    assert response.headers["Content-Disposition"].startswith("attachment")
    return list(csv.reader(io.StringIO(response.data.decode("utf-8-sig"))))


def test_a_file_is_brought_in_as_drafts_that_are_released(ana: Browser, staffed: Acme) -> None:
    with staffed.acting() as act:
        factories.rule(act, "All", ("30d",), ("owner",), ("in_app",))
    where = brought(ana, PLAIN)
    assert columns(ana, where) == {
        "column-0": "reference", "column-1": "due_on", "column-2": "title", "column-3": "owner",
    }  # fmt: skip
    preview = ana.post(where, **columns(ana, where))
    assert preview.status_code == 200
    assert "New 2 lines" in words(preview.text)
    assert "dd month yyyy 2 5 March 2027 2" in words(preview.text)
    assert stored(staffed, "select count(*) from subject") == [(0,)]

    result = apply(ana, where)
    assert "2 entries of it are drafts and tell nobody yet" in words(ana.get(result).text)
    assert stored(staffed, "select reference, status from subject order by 1") == [("A-1", "draft"), ("A-2", "draft")]
    assert stored(staffed, "select content, import_run_id is not null from import_upload") == [(None, True)]
    assert ana.get(where).location == result

    ledger = "select count(*) from notification_ledger"
    page = words(ana.get(f"{result}/release").text)
    assert "2 drafts wait. Released now, they raise 1 alert at once, by 1 message to 1 person: Ana." in page
    assert "1 entry tells nobody now" in page
    assert stored(staffed, ledger) == [(0,)]
    assert stored(staffed, "select distinct status from subject") == [("draft",)]

    assert ana.post(f"{result}/release", start="now").location == result
    assert "No draft of this import waits" in words(ana.get(result).text)
    with staffed.watching() as act:
        assert scan(act).claimed == 1
    assert ana.post(f"{result}/release", start="now").status_code == 422
    trail = "select type, count(*) from audit_event where type ~ 'import|released' group by 1 order by 1"
    assert stored(staffed, trail) == [
        ("import_released", 1), ("import_uploaded", 1), ("register_imported", 1), ("subject_released", 2),
    ]  # fmt: skip


def test_released_with_the_next_alert_it_tells_nothing_of_what_has_come(ana: Browser, staffed: Acme) -> None:
    with staffed.acting() as act:
        factories.rule(act, "All", ("30d",), ("owner",), ("in_app",))
    result = apply(ana, brought(ana, PLAIN))
    assert ana.post(f"{result}/release", start="later").status_code == 422
    assert ana.post(f"{result}/release", start="next").status_code == 303
    with staffed.watching() as act:
        assert scan(act).claimed == 0
    assert stored(staffed, "select standing, reason from notification_ledger") == [("superseded", "start")]


def test_the_same_file_again_changes_nothing_and_says_so(ana: Browser, staffed: Acme) -> None:
    same = PLAIN + "A-3,permanent,Founding deed,\n"
    assert "Added or changed 3 entries" in words(ana.get(apply(ana, brought(ana, same))).text)
    subjects, dates = stored(staffed, "select * from subject"), stored(staffed, "select * from obligation")
    where = brought(ana, same)
    assert "This very file was brought in already" in words(ana.get(where).text)
    assert "Unchanged 2 lines" in words(ana.post(where, **columns(ana, where)).text)
    result = apply(ana, where)
    assert "Nothing was changed: the register has all of this file already." in words(ana.get(result).text)
    assert (stored(staffed, "select * from subject"), stored(staffed, "select * from obligation")) == (subjects, dates)


def test_applied_twice_it_is_applied_once(ana: Browser, staffed: Acme) -> None:
    where = brought(ana, PLAIN)
    form = columns(ana, where)
    form |= shown(ana.post(where, **form))
    first, second = (ana.post(f"{where}/apply", **form).location for _ in range(2))
    assert first == second
    assert stored(staffed, "select count(*) from import_run") == [(1,)]
    assert ana.post(f"{where}/table").status_code == 404


def test_only_what_was_checked_is_applied(ana: Browser, staffed: Acme) -> None:
    """So that nobody brings in what they have not seen, by a click right after a change."""
    where = brought(ana, PLAIN)
    form = columns(ana, where)
    assert ana.post(f"{where}/apply", **form).status_code == 422
    form |= shown(ana.post(where, **form))
    changed = {**form, "column-2": "notes"}
    for _ in range(2):  # A refusal is no check: what it kept may not be applied by the next click.
        refused = ana.post(f"{where}/apply", **changed)
        assert (refused.status_code, stored(staffed, "select count(*) from import_run")) == (422, [(0,)])
        assert "The columns were changed since the last check" in words(refused.text)
    assert ana.post(f"{where}/apply", **form).status_code == 422
    checked = ana.post(where, **changed)
    assert ana.post(f"{where}/apply", **changed).status_code == 422
    assert ana.post(f"{where}/apply", **changed | shown(checked)).status_code == 303


def test_what_was_said_of_a_header_is_offered_for_the_next_file_with_it(ana: Browser) -> None:
    where = brought(ana, "Code of it,When,What\nA-1,2027-04-05,Boiler\n")
    assert set(columns(ana, where).values()) == {""}
    assert ana.post(where).status_code == 422
    mapped = {"column-0": "reference", "column-1": "due_on", "column-2": "title"}
    apply(ana, where, **mapped, no_expiry="keines", on_conflict="latest")
    again = brought(ana, "CODE OF IT;when;What\nA-2;2027-04-06;Lift\n", "other.csv")
    assert columns(ana, again) == mapped
    assert 'value="keines"' in ana.get(again).text
    other = brought(ana, "Code of it,What,When\nA-3,Lift,2027-04-06\n")
    assert set(columns(ana, other).values()) == {""}


def test_what_is_not_accepted_comes_back_and_can_be_brought_again(ana: Browser, staffed: Acme) -> None:
    nasty = (
        "Reference,Due date,Title,Site,Paid\nA-1,soon,\"=cmd|' /C calc'!A0\",Madrid,-5\nA-2,2027-05-01,@x,Atlantis,\n"
        "N/A,2027-05-02,+1,Madrid,\nA-3,2027-05-03,Lift,Madrid,7\nA-4,46150,Crane,Madrid,\n"
    )
    result = apply(ana, brought(ana, nasty))
    page = words(ana.get(result).text)
    assert "Not accepted: 4 lines" in page
    assert "no such site: 'Atlantis'" in page
    assert "confirm the date" in page
    header, *rows = left(ana, result)
    assert header[:5] == ["Reference", "Due date", "Title", "Site", "Paid"]
    assert header[5:] == [left_over.LINE, left_over.REASON]
    assert [row[0] for row in rows] == ["A-1", "A-2", "N/A", "A-4"]
    assert [row[2] for row in rows[:3]] == ["'=cmd|' /C calc'!A0", "'@x", "'+1"]
    assert rows[0][4] == "'-5"
    mended = io.StringIO()
    csv.writer(mended).writerows([header, [*rows[1][:3], "Madrid", *rows[1][4:]]])
    apply(ana, brought(ana, mended.getvalue()))
    assert stored(staffed, "select reference, extra from subject order by 1") == [("A-2", {}), ("A-3", {"Paid": "7"})]


@pytest.mark.parametrize("cell", ["=1", "+1", "-1", "@a", "\ta", "\ra"])
def test_no_cell_of_the_file_is_a_formula(cell: str) -> None:
    made = left_over.as_csv(left_over.LeftOver([cell], [(2, cell, [cell])])).decode("utf-8-sig")
    assert [row[0][0] for row in csv.reader(io.StringIO(made, newline=""))] == ["'", "'"]
    assert left_over.harmless("A=1") == "A=1"


def test_a_column_can_be_left_out_and_columns_are_joined(ana: Browser, staffed: Acme) -> None:
    where = brought(ana, "1,2,Born,Due date\nA,7,1980,2027-05-01\nB,8,1981,2027-05-02\n")
    apply(ana, where, **{"column-0": "reference", "column-1": "reference", "column-2": "left_out"})
    assert stored(staffed, "select reference, extra from subject order by 1") == [("A/7", {}), ("B/8", {})]


def test_a_header_that_is_a_number_is_never_taken_for_a_position(ana: Browser, staffed: Acme) -> None:
    where = brought(ana, "2,1,Due date\nA,B,2027-05-01\n")
    apply(ana, where, **{"column-0": "reference", "column-1": "title"})
    assert stored(staffed, "select reference, title from subject") == [("A", "B")]


def test_a_preamble_two_orders_of_dates_and_a_code_page(ana: Browser, staffed: Acme) -> None:
    spanish = "Control de vencimientos;;\n;;\nReferencia;Vencimiento;Título\n007;05/04/2027;Inspección\n"
    where = brought(ana, spanish.encode("cp1252"))
    form = columns(ana, where)
    assert form == {"column-0": "reference", "column-1": "due_on", "column-2": "title"}
    undecided = ana.post(where, **form)
    assert undecided.status_code == 422
    assert "choose it under “How dates are written”" in words(undecided.text)
    assert "--" not in words(undecided.text)
    assert "05/04/2027" in words(undecided.text)
    apply(ana, where, date_format="dmy")
    found = "select reference, s.title, due_on::text from subject s join obligation on subject_id = s.id"
    assert stored(staffed, found) == [("007", "Inspección", "2027-04-05")]


def test_a_table_without_header_and_another_row_of_it(ana: Browser) -> None:
    where = brought(ana, "A-1,2027-04-05\nA-2,2027-04-06\n")
    assert ana.post(f"{where}/table", header_row="0").status_code == 303
    assert "No header." in ana.get(where).text
    mapped = {"column-0": "reference", "column-1": "due_on"}
    assert "New 2 lines" in words(ana.post(where, **mapped).text)
    for row in ("x", "51", "-1", "3"):
        refused = ana.post(f"{where}/table", header_row=row)
        assert refused.status_code == 422, row
        assert 'role="alert"' in refused.text


def test_a_workbook_of_several_sheets(ana: Browser, staffed: Acme) -> None:
    made = io.BytesIO()
    with xlsxwriter.Workbook(made) as book:
        for name, rows in (("Notes", [["Hello"]]), ("<img src=x>", [["Reference", "Due"], ["A-1", "2027-04-05"]])):
            sheet = book.add_worksheet(name.replace("/", ""))
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    where = brought(ana, made.getvalue(), "b.xlsx")
    assert columns(ana, where) == {"column-0": "reference", "column-1": "due_on"}
    page = ana.post(f"{where}/table", sheet="Notes", header_row="1")
    assert page.status_code == 303
    assert columns(ana, where) == {"column-0": ""}
    assert ana.post(f"{where}/table", sheet="Other").status_code == 422
    ana.post(f"{where}/table", sheet="<img src=x>", header_row="1")
    assert "<img" not in ana.get(where).text
    apply(ana, where)
    assert stored(staffed, "select reference from subject") == [("A-1",)]


def test_cells_are_only_text(ana: Browser) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    where = brought(ana, f"Reference,Due date,{hostile}\n{hostile},soon,{hostile}\n", f"{hostile}.csv")
    pages = [ana.get(where).text, ana.post(where, **columns(ana, where)).text]
    result = apply(ana, where)
    pages += [ana.get(result).text, ana.get(f"{result}/release").text, ana.get(BRING).text]
    assert not [page for page in pages if "<img" in page]
    assert ["&lt;img" in page for page in pages] == [True] * 5


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "The file is empty"),
        (b"PK\x03\x04 and nothing behind it", "damaged"),
        (b"Reference,Due\nA\x00,1\n", "NUL"),
        (b"x" * (MOST_BYTES_OF_A_BROWSER + 1), "10,000,000 bytes"),
    ],
)
def test_what_cannot_be_read_is_refused_and_not_kept(ana: Browser, staffed: Acme, content: bytes, why: str) -> None:
    refused = upload(ana, content)
    assert refused.status_code == 422
    assert why in words(refused.text)
    assert 'role="alert"' in refused.text
    assert stored(staffed, "select count(*) from import_upload") == [(0,)]


def test_a_preview_is_a_fragment_for_htmx_and_changes_nothing_else(ana: Browser, staffed: Acme) -> None:
    where = brought(ana, PLAIN)
    fragment = ana.post(where, htmx=True, **columns(ana, where))
    assert fragment.text.lstrip().startswith('<section id="found"')
    done = ana.post(f"{where}/apply", htmx=True, **columns(ana, where), **shown(fragment))
    assert (done.status_code, done.text) == (204, "")
    assert ana.get(done.headers["HX-Redirect"]).status_code == 200
    assert stored(staffed, "select count(*) from subject") == [(2,)]


def test_too_many_drafts_are_not_worked_out_on_a_page(
    ana: Browser, staffed: Acme, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = apply(ana, brought(ana, PLAIN))
    monkeypatch.setattr(releases, "MOST_PREVIEWED", 1)
    assert "more than Onus works out on a page" in words(ana.get(f"{result}/release").text)


def test_files_that_wait_are_bounded_dropped_and_forgotten(
    ana: Browser, staffed: Acme, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = brought(ana, PLAIN)
    monkeypatch.setattr(uploads, "MOST_DRAFTS", 1)
    assert "1 files wait" in words(upload(ana, PLAIN).text)
    assert ana.post(f"{where}/drop").status_code == 303
    assert ana.get(where).status_code == 404
    brought(ana, PLAIN)
    stored(staffed, "update import_upload set at = at - interval '8 days' returning 1")
    brought(ana, PLAIN)
    assert stored(staffed, "select count(*) from import_upload") == [(1,)]
    dropped = "select detail ->> 'why' from audit_event where type = 'import_dropped' order by id"
    assert stored(staffed, dropped) == [("by a person",), ("old",)]


def test_whoever_sees_some_sites_only_brings_none(ana: Browser, staffed: Acme) -> None:
    where = brought(ana, PLAIN)
    with staffed.acting() as act:
        people.limit_member(act, staffed.members["Ana"], [people.add_site(act, "Yard", "Europe/Madrid")])
    page = ana.get(BRING)
    assert "ask somebody who sees them all" in words(page.text)
    assert 'type="file"' not in page.text
    assert upload(ana, PLAIN).status_code == 422
    assert ana.get(where).status_code == ana.post(f"{where}/apply").status_code == 404


def test_an_import_by_a_command_has_a_page_and_a_file_too(ana: Browser, staffed: Acme) -> None:
    options = Options(date_format="ymd")
    found = read_register(b"Reference,Due date\nA-1,2027-04-05\nA-2,soon\n", "a.csv", options)
    with staffed.acting() as act:
        run = import_register(act, found, options).import_run_id
    result = f"/o/acme/register/imports/{run}"
    assert "No draft of this import waits" in words(ana.get(result).text)
    assert [row[0] for row in left(ana, result)] == ["Reference", "A-2"]


def test_the_words_of_the_reader_name_the_fields_of_the_page() -> None:
    assert said("say it with --date-format dmy or mdy.") == "choose it under “How dates are written”."
    assert "--" not in said(
        "No column is the due_on: name it with --map due_on=COLUMN; choose with --sheet one of 'a'."
    )
    assert said("the due_on is #N/A") == "the due date is #N/A"
    assert said("no such owner: 'x'") == "nobody here is known as the responsible: 'x'"
    assert sentence("the due_on is mixed") == "The due date is mixed."
    assert said("due date 2027-04-05") == "due date 5 April 2027"


def test_what_is_kept_of_a_look_and_of_choices_comes_back_the_same() -> None:
    look = look_at(PLAIN.encode())
    assert type(look).of_json(look.as_json()) == look
    choices = Choices({0: "reference", 1: "due_on"}, site="Madrid")
    assert Choices.of_json({**choices.as_json(), "fields": {"0": "reference", "1": "due_on"}}) == choices
