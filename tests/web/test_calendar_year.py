"""The year by week and site, its list, the agenda, and the entries of the register that their numbers lead to."""

from __future__ import annotations

import datetime as dt
import re
from html import unescape

import pytest

from app.operations import filings, obligations, people, register
from tests import factories
from tests.factories import NOW, Acme
from tests.people import INSPECTOR, OFFICER, STAFF
from tests.web.conftest import Browser
from tests.web.furnished import SignIn
from tests.web.markup import Element, read

YEAR, AGENDA = "/o/acme/calendar/year", "/o/acme/calendar/agenda"
TODAY = NOW.date()  # Monday, 1 March 2027, week 9.


def day(number: int) -> dt.date:
    return TODAY + dt.timedelta(days=number)


@pytest.fixture
def dated(staffed: Acme) -> Acme:
    """Madrid: two overdue, three next week of one entry and another, one in a year; the Yard: one of Bruno's."""
    with staffed.acting() as act:
        people.add_site(act, "Yard", "Europe/Madrid")
        bruno = staffed.members["Bruno"]
        for reference, days in (("OLD-1", -3), ("OLD-2", -400), ("NEXT-1", 7), ("LAST", 53 * 7 - 1), ("NEVER", 53 * 7)):
            factories.subject(act, reference, day(days))
        factories.obligation(act, register.find_subject(act, "NEXT-1"), day(12))
        factories.subject(act, "MINE", day(13), at="Yard", owner_member_id=bruno, kind="permit")
        filed = factories.subject(act, "FILED", day(-2), at="Yard")
        due = obligations.find_obligation(act, filed).id
        filings.file(act, due, TODAY, "R-1", "yes")
        factories.subject(act, "DRAFT", day(40), at="Yard", status="draft")
        factories.subject(act, "GONE", day(8), status="archived")
    return staffed


def strip(person: Browser) -> dict[str, list[tuple[int, str, str]]]:
    """By site, each number of the strip: its column (0 is before this week), what it says, where it leads."""
    page = read(person.get(YEAR).text)
    (table,) = [one for one in page.all("table") if one.get("class") == "weeks"]
    found = {}
    for row in table.all("tbody")[0].all("tr"):
        cells = enumerate(row.all("td"))
        found[row.all("th")[0].text] = [
            (at, cell.all("a")[0].text, unescape(cell.all("a")[0].get("href"))) for at, cell in cells if cell.all("a")
        ]
    return found


def references(person: Browser, where: str) -> list[str]:
    """The entries that a list of the register names."""
    (body,) = [one for one in read(person.get(where).text).all("tbody") if one.get("id") == "entries"]
    return [row.all("th")[0].all("a")[0].text for row in body.all("tr")]


def test_each_cell_counts_what_is_due_with_its_worst_state_and_leads_to_it(dated: Acme, browser: SignIn) -> None:
    ana = browser(OFFICER)
    found = strip(ana)
    assert [(at, re.sub(r"\s", "", says)) for at, says, _ in found["Madrid"]] == [
        (0, "2!:Overdueorexpired"), (2, "2•:Within30days"), (53, "1:Later"),
    ]  # fmt: skip
    assert [(at, re.sub(r"\s", "", says)) for at, says, _ in found["Yard"]] == [
        (0, "1=:Inforcemeanwhile"), (2, "1•:Within30days"), (6, "1?:Draftoroutofservice:notwatched"),
    ]  # fmt: skip
    leads = {(site, at): references(ana, where) for site, cells in found.items() for at, _, where in cells}
    assert leads == {
        ("Madrid", 0): ["OLD-2", "OLD-1"], ("Madrid", 2): ["NEXT-1"], ("Madrid", 53): ["LAST"],
        ("Yard", 0): ["FILED"], ("Yard", 2): ["MINE"], ("Yard", 6): ["DRAFT"],
    }  # fmt: skip


def test_the_list_says_the_same_in_words(dated: Acme, browser: SignIn) -> None:
    page = read(browser(INSPECTOR).get(YEAR).text)
    (table,) = [one for one in page.all("table") if "stack" in one.get("class")]
    rows = [re.sub(r"\s+", " ", row.text).strip() for row in table.all("tbody")[0].all("tr")]
    assert [row.split(" ")[0:2] for row in rows] == [
        ["Before", "before"], ["Before", "before"], ["Week", "10"], ["Week", "10"], ["Week", "14"], ["Week", "9"],
    ]  # fmt: skip
    assert "8 March 2027 to 14 March 2027 Madrid 2" in rows[2]
    assert "2: Within 30 days" in rows[2]


def test_team_members_see_what_concerns_them_and_stay_out_of_the_register(dated: Acme, browser: SignIn) -> None:
    bruno = browser(STAFF)
    ((at, _, where),) = [cell for cells in strip(bruno).values() for cell in cells]
    assert at == 2
    assert where.startswith(AGENDA)
    page = bruno.get(where).text
    assert "MINE" in page
    assert "NEXT-1" not in page
    assert "/register/" not in page.partition("<main")[2]
    with dated.acting() as act:
        people.limit_member(act, dated.members["Bruno"], [factories.site(act)])
    assert list(strip(bruno)) == ["Madrid"]


def listed(page: str) -> list[str]:
    (main,) = read(page).all("main")
    items: list[Element] = [one for one in main.all("ul") if "agenda" in one.get("class")]
    return [line.text.split()[0] for one in items for line in one.all("li")]


def test_the_agenda_lists_ninety_days_by_day_and_is_narrowed(dated: Acme, browser: SignIn) -> None:
    ana = browser(OFFICER)
    page = ana.get(AGENDA).text
    assert listed(page) == ["NEXT-1", "NEXT-1", "MINE", "DRAFT"]
    assert "Monday, 8 March 2027" in page
    assert "nobody responsible" in page
    with dated.acting() as act:
        yard, permit = factories.site(act, "Yard"), factories.kind(act, "permit")
    assert listed(ana.get(f"{AGENDA}?site={yard}").text) == ["MINE", "DRAFT"]
    assert listed(ana.get(f"{AGENDA}?site={yard}&kind={permit}").text) == ["MINE"]
    assert listed(ana.get(f"{AGENDA}?from=2026-01-01&until=2027-02-28").text) == ["OLD-2", "OLD-1", "FILED"]
    assert listed(ana.get(f"{AGENDA}?from=soon&until=2027-03-08").text) == ["NEXT-1"]
    assert "Nothing is due in this time." in ana.get(f"{AGENDA}?from=2027-06-01&until=2027-05-01").text


def test_the_agenda_goes_on_page_by_page(staffed: Acme, browser: SignIn) -> None:
    with staffed.acting() as act:
        for number in range(60):
            factories.subject(act, f"P-{number:02}", day(5 + number // 20))
    ana, seen, where = browser(OFFICER), list[str](), AGENDA
    while where:
        page = ana.get(where).text
        seen += listed(page)
        found = re.search(r'href="([^"]+)">The next deadlines', page)
        where = unescape(found[1]) if found else ""
    assert seen == [f"P-{number:02}" for number in range(60)]


def test_the_register_shows_the_deadline_of_the_days_that_are_asked_for(dated: Acme, browser: SignIn) -> None:
    ana = browser(OFFICER)
    assert references(ana, "/o/acme/register?from=2027-03-10&until=2027-03-14") == ["NEXT-1", "MINE"]
    assert "13 March 2027" in ana.get("/o/acme/register?from=2027-03-10&until=2027-03-13").text
    assert references(ana, "/o/acme/register?until=2027-02-27&sort=reference") == ["FILED", "OLD-1", "OLD-2"]
    assert references(ana, "/o/acme/register?state=archived&from=2027-03-01") == ["GONE"]
    assert len(references(ana, "/o/acme/register?from=yesterday")) == 9
