"""What can be done about a row of Today stands in the row, and leads back to the list; the strip counts by month."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable

import pytest
from sqlalchemy import update

from app.models import Obligation, Subject
from app.operations import people
from tests import factories
from tests.factories import NOW, Acme
from tests.people import OFFICER
from tests.web.conftest import Browser
from tests.web.test_today import days

SignIn = Callable[[str], Browser]


def acts(page: str) -> dict[str, str]:
    """Words and address of what can be done in the rows."""
    found = re.findall(r'<li><a href="([^"]+)">([^<]+)<span class="aside">: [^<]+</span></a></li>', page)
    return {words: address.replace("&amp;", "&") for address, words in found}


def test_what_is_overdue_is_done_from_its_row_and_the_list_comes_back(browser: SignIn, staffed: Acme) -> None:
    with staffed.acting() as act:
        factories.subject(act, "P-1", days(-3))
        act.session.execute(update(factories.Kind).values(wording="falls_due"))
    ana = browser(OFFICER)
    found = acts(ana.get("/o/acme/today/overdue").text)
    assert list(found) == ["Done", "Filed", "Hand over"]
    assert found["Done"].endswith("/close?back=overdue")
    form = ana.get(found["Done"]).text
    assert '<input type="hidden" name="back" value="overdue">' in form
    answer = ana.post(found["Done"].partition("?")[0], outcome="met", met_on=days(-1).isoformat(), back="overdue")
    assert (answer.status_code, answer.location) == (303, "/o/acme/today/overdue")
    with staffed.acting() as act:
        assert act.session.query(Obligation.outcome).one()[0] == "met"


def test_a_paper_is_renewed_where_a_task_is_done(browser: SignIn, staffed: Acme) -> None:
    with staffed.acting() as act:
        factories.subject(act, "P-1", days(5), kind="permit")
        act.session.execute(update(factories.Kind).values(wording="expires"))
    assert list(acts(browser(OFFICER).get("/o/acme/today/coming").text)) == ["Renewed", "Filed", "Hand over"]


@pytest.mark.parametrize(
    ("status", "due_in", "words", "deed"),
    [
        ("draft", 5, "Release", "release"),
        ("out_of_service", 5, "Back in service", "restore"),
        ("watched", None, "Add a deadline", "add-deadline"),
        ("watched", 5, "Make a rule", "rules/new"),
    ],
)
def test_each_reason_for_which_nothing_is_watched_has_its_act(
    browser: SignIn, staffed: Acme, status: str, due_in: int | None, words: str, deed: str
) -> None:
    with staffed.acting() as act:
        factories.subject(act, "P-1", None if due_in is None else days(due_in), status=status)
    ana = browser(OFFICER)
    found = acts(ana.get("/o/acme/today/unwatched").text)
    assert list(found) == [words]
    assert deed in found[words]
    assert ana.get(found[words]).status_code == 200


def test_a_draft_is_released_from_its_row(browser: SignIn, staffed: Acme) -> None:
    with staffed.acting() as act:
        factories.subject(act, "P-1", days(5), status="draft")
    ana = browser(OFFICER)
    where = acts(ana.get("/o/acme/today/unwatched").text)["Release"]
    answer = ana.post(where.partition("?")[0], start="now", back="unwatched")
    assert (answer.status_code, answer.location) == (303, "/o/acme/today/unwatched")
    with staffed.acting() as act:
        assert act.session.query(Subject.status).one()[0] == "watched"


def test_nobody_is_led_elsewhere(browser: SignIn, staffed: Acme) -> None:
    with staffed.acting() as act:
        entry = factories.subject(act, "P-1", days(5), status="draft").id
    page = browser(OFFICER).get(f"/o/acme/register/{entry}/release?back=https://example.org").text
    assert "example.org" not in page
    assert f'<a href="/o/acme/register/{entry}">Leave it as it is</a>' in page


def test_the_strip_counts_the_next_twelve_months(browser: SignIn, staffed: Acme) -> None:
    with staffed.acting() as act:
        ana = people.find_member(act, OFFICER).id
        for reference, due_on in (
            ("P-1", NOW.date()), ("P-2", dt.date(2027, 3, 31)), ("P-3", dt.date(2028, 2, 29)),
            ("past", days(-1)), ("beyond", dt.date(2028, 3, 1)),
        ):  # fmt: skip
            factories.subject(act, reference, due_on, owner_member_id=ana)
        factories.subject(act, "draft", days(2), status="draft")
    page = browser(OFFICER).get("/o/acme/").text
    assert "3 deadlines fall due, from today until 29 February 2028." in page
    twin = page.partition("The same as a table")[2]
    assert re.findall(r'<td class="number">(\d+)</td></tr>', twin) == ["2", *["0"] * 10, "1"]
    where = re.search(r'href="([^"]+)">March 2027', twin)
    assert where is not None
    listed = browser(OFFICER).get(where[1].replace("&amp;", "&")).text
    assert "P-1" in listed
    assert "P-2" in listed
    assert "P-3" not in listed
