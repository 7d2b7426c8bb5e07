"""Many dates moved in a real browser, with script and without: no fault is heard, and the result says what was done."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest

from app.operations import people
from tests import factories
from tests.e2e.conftest import Site, Tab
from tests.people import HASH, OFFICER, PASSWORD

pytestmark = pytest.mark.real_commits


@pytest.mark.parametrize("javascript", [True, False])
def test_dates_of_all_that_match_are_moved(site: Site, tab: Callable[..., Tab], javascript: bool) -> None:
    acme = factories.acme()
    with acme.acting() as act:
        people.add_member(act, OFFICER, "officer", name="Ana", password_hash=HASH)
        for number in range(60):
            one = factories.subject(act, f"P-{number:02}", dt.date(2031, 3, 1) + dt.timedelta(days=number))
            if number == 7:
                factories.obligation(act, one, dt.date(2032, 1, 1))
    page = tab(javascript=javascript).page
    page.goto(f"{site.url}/login")
    page.fill("#email", OFFICER)
    page.fill("#password", PASSWORD)
    page.click("main button")
    page.goto(f"{site.url}/o/acme/register?q=P-")
    page.click("text=All that match")
    page.click("button:has-text('Move the dates')")
    page.check("input[value=to]")
    page.fill("#due_on", "2032-01-01")
    page.check("input[value=next]")
    page.check("input[value=law_change]")
    page.click("text=See what it would do")
    page.wait_for_selector("text=59 entries would change, and 1 entry would stay as it is.")
    page.click("button:has-text('Move the dates')")
    page.wait_for_selector("text=Done: 59 entries.")
    page.click("text=Back to the register")
    assert page.url.endswith("?q=P-")
