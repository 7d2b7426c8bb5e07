"""Bring people from a file: an administrator says what its columns are, sees what becomes of each line, applies it."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

import pytest
import xlsxwriter
from werkzeug.test import TestResponse

from app.imports.people import Options, import_people, read_people
from app.operations import people
from tests.factories import Acme
from tests.people import ADMIN, OFFICER, STAFF
from tests.web.conftest import Browser, forget_request
from tests.web.test_import_pages import columns, stored, words

SignIn = Callable[[str], Browser]
BRING = "/o/acme/settings/people/import"
PLAIN = (
    "Nombre y apellidos;Nº de empleado;Correo electrónico;Centro;Puesto;Rol\n"
    "Ida Núñez;007;ida@acme.example;Madrid;Jefa de planta;\n"
    "Ivo;008;;Madrid;Vigilante;inspector\n"
    "Eva;009;eva@;Madrid;;\n"
    "Leo;010;;Atlantis;;\n"
)


@pytest.fixture
def adela(browser: SignIn, staffed: Acme) -> Browser:
    """Adela, on the page of the upload."""
    signed_in = browser(ADMIN)
    signed_in.get(BRING)
    return signed_in


def upload(person: Browser, content: str | bytes, name: str = "people.csv") -> TestResponse:
    raw = content.encode() if isinstance(content, str) else content
    forget_request()
    form = {"csrf_token": person.token, "file": (io.BytesIO(raw), name)}
    return person._seen(person.client.post(BRING, data=form))


def brought(person: Browser, content: str | bytes, name: str = "people.csv") -> str:
    """The address of the columns of this file."""
    response = upload(person, content, name)
    assert response.status_code == 303, words(response.text)
    person.get(response.location)
    return response.location


def apply(person: Browser, where: str, **more: str) -> str:
    """Apply the file as its page proposes; the address of the result."""
    form = columns(person, where) | more
    person.post(where, **form)
    response = person.post(f"{where}/apply", **form)
    assert response.status_code == 303, words(response.text)
    return response.location


def left(person: Browser, result: str) -> list[list[str]]:
    response = person.get(f"{result}/left-over.csv")
    assert response.headers["Content-Disposition"].startswith("attachment")
    return list(csv.reader(io.StringIO(response.data.decode("utf-8-sig"))))


def test_a_file_of_people_is_looked_at_brought_in_and_mended(adela: Browser, staffed: Acme) -> None:
    assert "Bring people from a file" in words(adela.get("/o/acme/settings/people").text)
    where = brought(adela, PLAIN)
    assert list(columns(adela, where).values()) == ["name", "number", "email", "site", "post", "role"]
    preview = words(adela.post(where, **columns(adela, where)).text)
    assert "2 people are added, and 0 people are changed." in preview
    assert "2 new people see only the sites that are named for them." in preview
    assert "New posts are made: Jefa de planta, Vigilante." in preview
    assert "New 2 lines" in preview
    assert "Rejected 2 lines" in preview
    assert "No such site: 'Atlantis'." in preview
    assert stored(staffed, "select count(*) from member where number is not null") == [(0,)]

    result = apply(adela, where)
    page = words(adela.get(result).text)
    assert "2 people were added, and 0 people were changed." in page
    assert "Eva · 009 · eva@ · Madrid" in page
    assert "The e-mail is not one address, such as ana@example.com." in page
    made = "select name, number, email, role, account_id from member where number is not null order by number"
    assert stored(staffed, made) == [
        ("Ida Núñez", "007", "ida@acme.example", "staff", None), ("Ivo", "008", None, "inspector", None),
    ]  # fmt: skip
    assert stored(staffed, "select content, import_run_id is not null from import_upload") == [(None, True)]
    assert adela.get(where).location == result

    header, *rows = left(adela, result)
    assert header[-2:] == ["Line of the file", "Why it was not accepted"]
    assert [row[:1] + row[-2:] for row in rows] == [
        ["Eva", "4", "the e-mail is not one address, such as ana@example.com"],
        ["Leo", "5", "no such site: 'Atlantis'"],
    ]
    mended = io.StringIO()
    csv.writer(mended).writerows([header, [*rows[1][:3], "Madrid", *rows[1][4:]]])
    apply(adela, brought(adela, mended.getvalue()))
    assert stored(staffed, "select name from member where number = '010'") == [("Leo",)]


def test_the_same_file_again_changes_nobody_and_says_so(adela: Browser, staffed: Acme) -> None:
    same = "Name,Number\nIda,7\n"
    apply(adela, brought(adela, same))
    before = stored(staffed, "select * from member order by id")
    where = brought(adela, same)
    assert "This very file was brought in already" in words(adela.get(where).text)
    preview = words(adela.post(where, **columns(adela, where)).text)
    assert "Unchanged 1 line" in preview
    assert "Nothing of this file would change anybody." in preview
    page = words(adela.get(apply(adela, where)).text)
    assert "Nothing was changed: everybody in this file is here already." in page
    assert stored(staffed, "select * from member order by id") == before


def test_whoever_sees_all_sites_is_said(adela: Browser) -> None:
    where = brought(adela, "Name,Number\nIda,7\n")
    form = columns(adela, where)
    assert "1 new person sees all sites , since none is named for them." in words(adela.post(where, **form).text)
    limited = words(adela.post(where, **form, site="Madrid").text)
    assert "1 new person sees only the sites that are named for them." in limited
    assert "all sites , since" not in limited


def test_a_name_in_two_columns_is_first_name_then_last_wherever_they_stand(adela: Browser, staffed: Acme) -> None:
    where = brought(adela, "Apellidos,Nombre,Legajo\nGarcía,Ana,1\n")
    assert list(columns(adela, where).values()) == ["last_name", "first_name", "number"]
    apply(adela, where)
    where = brought(adela, "B,A,Nr\nPérez,Eva,2\n")
    assert set(columns(adela, where).values()) == {""}
    refused = adela.post(where)
    assert refused.status_code == 422
    assert "Choose which column is the name and which is the number (of the employee) or the e-mail." in words(
        refused.text
    )
    apply(adela, where, **{"column-0": "last_name", "column-1": "first_name", "column-2": "number"})
    found = stored(staffed, "select name from member where number is not null order by number")
    assert found == [("Ana García",), ("Eva Pérez",)]


def test_only_what_was_checked_is_applied_and_only_once(adela: Browser, staffed: Acme) -> None:
    where = brought(adela, "Name,Number,Post\nIda,7,Cook\n")
    form = columns(adela, where)
    unseen = adela.post(f"{where}/apply", **form)
    assert (unseen.status_code, "The columns were changed" in words(unseen.text)) == (422, True)
    adela.post(where, **form)
    changed = {**form, "column-2": ""}
    assert adela.post(f"{where}/apply", **changed).status_code == 422
    assert stored(staffed, "select count(*) from import_run") == [(0,)]
    adela.post(where, **form)
    first, second = (adela.post(f"{where}/apply", **form).location for _ in range(2))
    assert first == second
    assert stored(staffed, "select count(*) from import_run") == [(1,)]
    assert adela.post(f"{where}/table").status_code == 404


def test_what_was_said_of_a_header_is_offered_again_and_not_for_a_register(
    adela: Browser, browser: SignIn, staffed: Acme
) -> None:
    apply(adela, brought(adela, "A,B\nIda,7\n"), **{"column-0": "name", "column-1": "number"})
    again = brought(adela, "a;b\nEva;8\n")
    assert list(columns(adela, again).values()) == ["name", "number"]
    ana = browser(OFFICER)
    ana.get("/o/acme/register/import")
    forget_request()
    form = {"csrf_token": ana.token, "file": (io.BytesIO(b"A,B\nIda,7\n"), "register.csv")}
    other = ana.client.post("/o/acme/register/import", data=form).location
    assert set(columns(ana, other).values()) == {""}


def test_each_list_of_imports_shows_its_own_contents_only(adela: Browser, staffed: Acme) -> None:
    result = apply(adela, brought(adela, "Name,Number\nIda,7\n", "staff list.csv"))
    waiting = brought(adela, "Name,Number\nEva,8\n", "waiting.csv")
    register = adela.get("/o/acme/register/import").text
    assert "staff list.csv" not in register
    assert "waiting.csv" not in register
    assert adela.get(f"/o/acme/register/imports/{result.rpartition('/')[2]}").status_code == 404
    assert adela.get(f"/o/acme/register/import/{waiting.rpartition('/')[2]}").status_code == 404
    mine = adela.get(BRING).text
    assert "staff list.csv" in mine
    assert "waiting.csv" in mine


def test_a_workbook_with_another_sheet(adela: Browser, staffed: Acme) -> None:
    book = io.BytesIO()
    with xlsxwriter.Workbook(book, {"in_memory": True}) as made:
        for name, number in (("Office", 1), ("Yard", 2)):
            page = made.add_worksheet(name)
            page.write_row("A2", ["Name", "Number"])
            page.write_row("A3", [name, number])
    where = brought(adela, book.getvalue(), "people.xlsx")
    assert adela.post(f"{where}/table", sheet="Yard", header_row="2").status_code == 303
    apply(adela, where)
    assert stored(staffed, "select name, number from member where number is not null") == [("Yard", "2")]


def test_cells_come_back_as_text_and_never_as_formulas(adela: Browser) -> None:
    result = apply(adela, brought(adela, "Name,Number,Site\n\"=cmd|' /C calc'!A0\",+7,@here\n"))
    assert left(adela, result)[1][:3] == ["'=cmd|' /C calc'!A0", "'+7", "'@here"]


def test_the_lines_of_an_import_by_a_command_have_their_reasons(adela: Browser, staffed: Acme) -> None:
    with staffed.acting() as act:
        import_people(act, read_people(b"name,number\nIda,\n", "people.csv", Options()), Options())
    [(run,)] = stored(staffed, "select id from import_run")
    result = f"/o/acme/settings/people/imports/{run}"
    assert "an operator, by a command" in words(adela.get(result).text)
    assert left(adela, result)[1] == ["2", "neither a number nor an e-mail: nothing says who this is"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "The file is empty"),
        (b"Name,Number\n" + b"Ida,1\n" * 10_001, "The file has more than 10,000 lines"),
    ],
)
def test_a_file_that_is_refused_whole_says_why(adela: Browser, content: bytes, said: str) -> None:
    response = upload(adela, content)
    if response.status_code == 303:
        adela.get(response.location)
        response = adela.post(response.location, **columns(adela, response.location))
    assert response.status_code == 422
    assert said in words(response.text)


def test_whoever_sees_some_sites_only_brings_no_file(adela: Browser, staffed: Acme) -> None:
    where = brought(adela, "Name,Number\nIda,7\n")
    with staffed.acting() as act:
        yard = people.add_site(act, "Yard", "Atlantic/Canary")
        people.limit_member(act, staffed.members["Adela"], [yard])
    assert "You see some sites only" in words(adela.get(BRING).text)
    assert upload(adela, "Name,Number\nEva,8\n").status_code == 422
    assert adela.get(where).status_code == 404


def test_a_dropped_file_is_gone(adela: Browser, staffed: Acme) -> None:
    where = brought(adela, "Name,Number\nIda,7\n")
    assert adela.post(f"{where}/drop").location == BRING
    assert stored(staffed, "select count(*) from import_upload") == [(0,)]


def test_officers_and_staff_bring_nobody(browser: SignIn, staffed: Acme) -> None:
    for email in (OFFICER, STAFF):
        assert browser(email).get(BRING).status_code == 403
    assert BRING not in browser(OFFICER).get("/o/acme/settings/people").text


def test_somebody_from_a_file_is_let_in_on_their_page(adela: Browser, browser: SignIn, staffed: Acme) -> None:
    apply(adela, brought(adela, "Name,Number,E-mail\nIda,7,ida@acme.example\nIvo,8,\n"))
    ids = dict(stored(staffed, "select name, id from member where number is not null"))
    where = f"/o/acme/settings/people/{ids['Ida']}"
    assert "Number of the employee: 7" in words(adela.get(where).text)
    form = {"name": "Ida", "email": "ida@acme.example", "role": "staff", "valid_until": ""}
    assert adela.post(where, **form).status_code == 303
    account = "select account_id is not null from member where number = '7'"
    assert stored(staffed, account) == [(False,)]
    assert adela.post(where, **form, password="short").status_code == 422
    assert adela.post(where, **form, sign_in="yes", password="a long pass phrase").status_code == 303
    assert stored(staffed, account) == [(True,)]
    assert "Nobody has let this person in yet" not in adela.get(where).text
    assert Browser(adela.client.application.test_client()).sign_in("ida@acme.example", "a long pass phrase")
    again = adela.post(where, **form, sign_in="yes")
    assert "signs in already" in words(again.text)
    nowhere = adela.post(f"/o/acme/settings/people/{ids['Ivo']}", **{**form, "name": "Ivo", "email": ""}, sign_in="yes")
    assert "has no e-mail address: write one first" in words(nowhere.text)


def test_once_it_is_applied_nothing_of_the_accepted_lines_is_kept(adela: Browser, staffed: Acme) -> None:
    apply(adela, brought(adela, PLAIN))
    for table in ("import_upload", "import_run", "audit_event", "scan_queue"):
        kept = "".join(str(row) for row in stored(staffed, f"select t::text from {table} t"))
        assert "Ida" not in kept, table
        assert "ida@" not in kept, table
