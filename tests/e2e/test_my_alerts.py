"""My alerts in a real browser, on a small phone: hours are chosen, and what e-mail leaves untold is shown first."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from app.operations import people
from tests import factories
from tests.e2e.conftest import Site, Tab
from tests.e2e.test_story import Mouse
from tests.factories import NOW, Acme
from tests.people import PASSWORD, STAFF
from tests.web.conftest import HASH

pytestmark = pytest.mark.real_commits


@pytest.fixture
def acme(site: Site) -> Acme:
    made = factories.acme()
    with made.acting() as act:
        bruno = people.add_member(act, STAFF, "staff", "Bruno", HASH)
        factories.subject(act, "P-1", NOW.date() + dt.timedelta(days=9), owner_member_id=bruno)
        factories.rule(act, "Permits", ("7d",), ("owner",), ("email",))
    return made


def check(page: Page) -> None:
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_a_person_on_a_small_phone_says_when_e_mail_goes(acme: Acme, site: Site, tab: Callable[..., Tab]) -> None:
    one = tab(javascript=True, width=320)
    hand, page = Mouse(one.page), one.go("/")
    hand.fill("E-mail address", STAFF)
    hand.fill("Password", PASSWORD)
    hand.press("Sign in")
    hand.follow("My alerts")
    page.get_by_label("Once a day, on working days").check()
    page.get_by_label("The hour of the daily e-mail").fill("08:00")
    page.get_by_label("Off: only here in the app").check()
    hand.press("Save my alerts")
    expect(page.get_by_text("Nothing is saved yet.")).to_be_visible()
    check(page)
    page.get_by_label("Yes, I know what I will not be told by e-mail").check()
    hand.press("Save my alerts")
    expect(page.get_by_text("Saved. What waits for you already follows it")).to_be_visible()
    assert page.get_by_label("Off: only here in the app").is_checked()
    check(page)
