"""Entered in error, on the pages: what would be taken back is shown, done once, and told on the result afterwards."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest

from app.imports.register import Options, import_register, read_register
from app.ledger.align import deliver
from app.ledger.scan import scan
from app.operations import people, register
from app.web import mistake_view
from tests import factories
from tests.factories import Acme
from tests.people import INSPECTOR, OFFICER, STAFF
from tests.web.conftest import Browser
from tests.web.test_import_pages import BRING, stored, words

SignIn = Callable[[str], Browser]
FILE = "reference,due_on,title\nA-1,2027-03-05,Boiler\nA-2,2027-03-05,Lift\nP-1,2027-06-30,Crane\n"


def bring(acme: Acme, content: str = FILE, start: str = "now") -> str:
    """The address of the result of an import by a command."""
    options = Options(start=start)
    with acme.acting() as act:
        found = read_register(content.encode(), "wrong <b>.csv", options)
        return f"/o/acme/register/imports/{import_register(act, found, options).import_run_id}"


@pytest.fixture
def result(staffed: Acme) -> str:
    """Two entries arrived, one was changed, one was worked on since; Ana was told of both in the app."""
    with staffed.acting() as act:
        factories.subject(act, "P-1", dt.date(2027, 5, 31), title="Old crane")
        factories.rule(act, "All", ("30d",), ("role:officer",), ("in_app",))
    where = bring(staffed)
    for deed in (scan, deliver):
        with staffed.watching() as act:
            deed(act)
    with staffed.acting() as act:
        register.retitle(act, register.find_subject(act, "A-2"), "Lift of hall 3")
    return where


def test_a_page_shows_what_would_be_taken_back_and_does_it_once(browser: SignIn, staffed: Acme, result: str) -> None:
    ana = browser(OFFICER)
    page = ana.get(result)
    assert f'href="{result}/in-error"' in page.text
    shown = words(ana.get(f"{result}/in-error").text)
    assert "1 entry that came with it" in shown
    assert "1 entry and 1 due date that it changed" in shown
    assert "Title: Crane → Old crane" in shown
    assert "Due date: 30 June 2027 → 31 May 2027" in shown
    assert "Changed the title: An operator, by a command, 1 March 2027" in shown
    assert "Told since the import: 2 messages" in shown
    assert stored(staffed, "select count(*) from import_run where in_error_at is not null") == [(0,)]

    assert ana.post(f"{result}/in-error", note="Last year's <i>list</i>.").location == result
    banner = ana.get(result).text
    assert "This import was entered in error</strong>" in banner
    assert "Last year&#39;s &lt;i&gt;list&lt;/i&gt;." in banner
    told = words(banner)
    assert "1 entry archived, 1 deadline closed, 1 entry put back, 1 due date put back, 1 entry left" in told
    assert "Told since the import: 2 messages" in told
    assert "30 days before 5 March 2027 Ana in the app: delivered" in told
    assert "/in-error" not in banner
    assert "Entered in error" in words(ana.get(BRING).text)
    assert stored(staffed, "select reference, status from subject order by 1") == [
        ("A-1", "archived"), ("A-2", "watched"), ("P-1", "watched"),
    ]  # fmt: skip

    assert ana.get(f"{result}/in-error").location == result
    again = ana.post(f"{result}/in-error")
    assert (again.status_code, "entered in error already" in words(again.text)) == (422, True)
    refused = ana.post(f"{result}/release", start="now")
    assert (refused.status_code, "released entry by entry" in words(refused.text)) == (422, True)
    for reference, sentence in (
        ("A-1", "Archived it (Entered in error), with a whole import that was entered in error"),
        ("A-2", "Left it as it is, with a whole import that was entered in error"),
    ):
        [(entry,)] = stored(staffed, f"select id from subject where reference = '{reference}'")
        assert sentence in words(ana.get(f"/o/acme/register/{entry}").text)


def test_a_note_that_is_too_long_is_kept_with_its_fault(browser: SignIn, staffed: Acme, result: str) -> None:
    ana = browser(OFFICER)
    ana.get(f"{result}/in-error")
    refused = ana.post(f"{result}/in-error", htmx=True, note="x" * 4001)
    assert refused.status_code == 422
    assert refused.text.lstrip().startswith('<section id="in-error"')
    assert 'aria-invalid="true"' in refused.text
    assert "x" * 4001 in refused.text
    assert stored(staffed, "select count(*) from import_run where in_error_at is not null") == [(0,)]


def test_what_is_more_than_a_page_holds_is_counted(
    browser: SignIn, staffed: Acme, result: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mistake_view, "SHOWN", 1)
    monkeypatch.setattr(mistake_view, "MOST_TOLD", 1)
    ana = browser(OFFICER)
    assert "And 1 more message." in words(ana.get(f"{result}/in-error").text)
    many = bring(staffed, "reference,due_on\nB-1,n/a\nB-2,n/a\nB-3,n/a\n")
    assert "And 2 more entries." in words(ana.get(f"{many}/in-error").text)


def test_an_import_that_changed_nothing_can_be_marked(browser: SignIn, staffed: Acme) -> None:
    bring(staffed)
    same, ana = bring(staffed), browser(OFFICER)
    assert "It is only marked." in words(ana.get(f"{same}/in-error").text)
    assert ana.post(f"{same}/in-error").location == same
    assert "No alert about an entry of this import has reached anybody." in words(ana.get(same).text)
    assert stored(staffed, "select distinct status from subject") == [("watched",)]


def test_drafts_that_are_left_are_not_released_all_at_once(browser: SignIn, staffed: Acme) -> None:
    where, ana = bring(staffed, start="draft"), browser(OFFICER)
    with staffed.acting() as act:
        register.retitle(act, register.find_subject(act, "A-2"), "Lift of hall 3")
    ana.get(f"{where}/in-error")
    assert ana.post(f"{where}/in-error").location == where
    assert "See whom a release tells" not in words(ana.get(where).text)
    assert ana.get(f"{where}/release").location == where


@pytest.mark.parametrize("email", [STAFF, INSPECTOR])
def test_only_managers_may(browser: SignIn, staffed: Acme, result: str, email: str) -> None:
    person = browser(email)
    assert person.get(f"{result}/in-error").status_code == 403
    assert person.post(f"{result}/in-error").status_code == 403


def test_whoever_sees_some_sites_only_finds_nothing(browser: SignIn, staffed: Acme, result: str) -> None:
    with staffed.acting() as act:
        people.limit_member(act, staffed.members["Ana"], [people.add_site(act, "Yard", "Europe/Madrid")])
    ana = browser(OFFICER)
    assert ana.get(f"{result}/in-error").status_code == 404
    assert ana.post(f"{result}/in-error").status_code == 404


def test_the_import_of_another_organisation_is_not_found(browser: SignIn, staffed: Acme) -> None:
    elsewhere = factories.acme("elsewhere", "Porto")
    where, ana = bring(elsewhere), browser(OFFICER)
    assert ana.get(f"{where}/in-error").status_code == 404
    assert ana.post(f"{where}/in-error").status_code == 404
    assert stored(elsewhere, "select in_error_at from import_run") == [(None,)]
