"""Days off in the settings, the calendar of a site, and that what a change would move is shown before it is saved."""

from __future__ import annotations

import datetime as dt

import pytest

from app.domain.days_off import DayOff
from app.ledger.scan import scan
from app.operations import days_off
from tests import factories
from tests.factories import Acme
from tests.operations.story import march
from tests.people import OFFICER
from tests.web.conftest import ADMIN, Browser
from tests.web.furnished import SignIn
from tests.web.test_settings import fault

HOME = "/o/acme/settings/days-off"
FAIR = {"name": "Fair", "on_day": "2027-03-08", "until_day": "2027-03-09", "site": "all"}


@pytest.fixture
def admin(browser: SignIn) -> Browser:
    person = browser(ADMIN)
    person.get(HOME)
    return person


@pytest.fixture
def told(staffed: Acme) -> int:
    """Ana is told ten business days before; P-1 on 2 March. The site."""
    with staffed.acting() as act:
        factories.subject(act, "P-1", march(16), title="Boiler")
        factories.rule(act, thresholds=("10bd",))
        return factories.site(act)


def rows(acme: Acme) -> int:
    with acme.acting() as act:
        return int(act.run("select count(*) from day_off where org_id = :org").scalar_one())


@pytest.mark.parametrize("htmx", [False, True])
def test_what_days_off_would_move_is_shown_and_then_saved(admin: Browser, staffed: Acme, told: int, htmx: bool) -> None:
    shown = admin.post(HOME, htmx, **FAIR)
    assert (shown.status_code, rows(staffed)) == (200, 0)
    assert shown.text.lstrip().startswith("<form" if htmx else "<!doctype")
    for words in ("1 alert of 1 entry would get another day", "1 alert would be raised at once", "Ana", "Boiler",
                  "2 March 2027", "26 February 2027", "At once"):  # fmt: skip
        assert words in shown.text, words
    seen = shown.text.split('name="seen" value="')[1].partition('"')[0]
    other = admin.post(HOME, htmx, **FAIR | {"until_day": "2027-03-10", "seen": seen})
    assert (other.status_code, rows(staffed)) == (200, 0), "another change is shown again"
    done = admin.post(HOME, htmx, **FAIR, seen=seen)
    assert (done.status_code, rows(staffed)) == (204 if htmx else 303, 1)
    assert "8 March 2027 to 9 March 2027" in admin.get(HOME).text


def test_what_removing_would_move_is_shown_first(admin: Browser, staffed: Acme, told: int) -> None:
    with staffed.acting() as act:
        made = days_off.add_day_off(act, "Bridge", DayOff(march(3), march(3)), told)
    where = f"{HOME}/{made}/remove"
    shown = admin.post(where)
    assert (shown.status_code, rows(staffed)) == (200, 1)
    assert "Nobody would be told at once." in shown.text
    assert "1 March 2027" in shown.text
    assert admin.post(where, seen=str(made)).status_code == 303
    assert rows(staffed) == 0
    assert admin.post(where, seen=str(made)).status_code == 404


def test_what_moves_nothing_is_saved_at_once(admin: Browser, staffed: Acme) -> None:
    assert admin.post(HOME, **FAIR, yearly="yes").status_code == 303
    page = admin.get(HOME).text
    assert "8 March 2027 to 9 March 2027, and in every other year" in page
    again = admin.post(HOME, **FAIR, yearly="yes")
    assert (again.status_code, rows(staffed)) == (422, 1)
    assert "off already" in fault(again.text, "on_day")


@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        ({"name": " "}, "name", "is empty"),
        ({"on_day": ""}, "on_day", "Choose the first day"),
        ({"on_day": "31 March"}, "on_day", "is no date"),
        ({"until_day": "2027-03-01"}, "until_day", "before the first day"),
        ({"until_day": "2028-03-01"}, "until_day", "at most"),
        ({"on_day": "1980-03-08", "until_day": ""}, "on_day", "outside the years"),
        ({"site": ""}, "site", "Choose a site"),
    ],
)
def test_what_cannot_be_is_said_beside_its_field_and_all_is_kept(
    admin: Browser, staffed: Acme, given: dict[str, str], field: str, words: str
) -> None:
    refused = admin.post(HOME, **FAIR | given)
    assert (refused.status_code, rows(staffed)) == (422, 0)
    assert words in fault(refused.text, field)
    assert all(f'value="{value}"' in refused.text for value in (FAIR | given).values() if value)


def test_another_country_of_a_site_is_shown_before_it_is_saved(admin: Browser, staffed: Acme, told: int) -> None:
    where = f"/o/acme/settings/sites/{told}"
    cyprus = {"name": "Madrid", "timezone": "Europe/Madrid", "country": "CY", "region": "", "alert_from": "00:00"}
    shown = admin.post(where, **cyprus)
    assert shown.status_code == 200
    assert "1 alert would be raised at once" in shown.text, "15 March is a holiday there"
    assert 'value="CY"' in shown.text
    assert 'value="CY"' not in admin.get(where).text
    seen = shown.text.split('name="seen" value="')[1].partition('"')[0]
    assert admin.post(where, **cyprus, seen=seen).status_code == 303
    assert 'value="CY"' in admin.get(where).text
    with staffed.watching() as act:
        assert scan(act).claimed == 1


def test_the_calendar_of_a_site_names_what_counts(browser: SignIn, staffed: Acme, told: int) -> None:
    ana, where = browser(OFFICER), f"/o/acme/settings/sites/{told}/calendar"
    assert "The site has no country" in ana.get(where).text
    with staffed.acting() as act:
        act.run("update site set country = 'ES', region = 'MD'")
        days_off.add_day_off(act, "Bridge <day>", DayOff(dt.date(2027, 10, 11), dt.date(2027, 10, 11)))
    page = ana.get(where).text
    assert "Monday, 11 October 2027" in page
    assert "Bridge &lt;day&gt;" in page
    assert "Tuesday, 12 October 2027" in page
    assert "Remove" not in ana.get(HOME).text
