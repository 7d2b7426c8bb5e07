"""A calendar address in a real browser: made by a click, shown once, read by a program without a cookie, revoked."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from icalendar import Calendar
from playwright.sync_api import expect

from app.operations import people
from tests import factories
from tests.e2e.conftest import Site, Tab
from tests.e2e.test_story import DUE, Mouse, sign_in
from tests.factories import Acme
from tests.web.conftest import ADMIN, HASH

pytestmark = pytest.mark.real_commits


@pytest.fixture
def acme(site: Site) -> Acme:
    made = factories.acme()
    with made.acting() as act:
        people.add_member(act, ADMIN, "admin", "Adela", HASH)
        factories.subject(act, "P-1", DUE)
    return made


def read(url: str) -> tuple[int, bytes, str | None]:
    """As a calendar program reads it: status, content, and the cookie that it was given."""
    try:
        with urllib.request.urlopen(url) as answer:
            return answer.status, answer.read(), answer.headers["Set-Cookie"]
    except urllib.error.HTTPError as fault:
        return fault.code, fault.read(), fault.headers["Set-Cookie"]


@pytest.mark.parametrize("script", [True, False])
def test_an_address_is_made_read_and_revoked(acme: Acme, site: Site, tab: Callable[..., Tab], script: bool) -> None:
    one = tab(javascript=script, width=360)
    hand, page = Mouse(one.page), one.go("/")
    sign_in(hand, ADMIN)
    hand.follow("My alerts")
    hand.follow("Calendar")
    hand.follow("For your calendar program")
    hand.choose("Which dates", "All dates at Madrid")
    hand.press("Make an address")
    expect(page.get_by_text("Copy it now: it is shown this once.")).to_be_visible()
    address = page.get_by_label("Address", exact=True).input_value()
    if script:
        results = Axe().run(page)
        assert results.violations_count == 0, results.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    url = site.url + urlsplit(address).path
    status, content, cookie = read(url)
    assert (status, cookie) == (200, None)
    assert [event["dtstart"].dt for event in Calendar.from_ical(content).walk("VEVENT")] == [DUE]
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("There are none.")).to_be_visible()
    assert page.get_by_label("Address", exact=True).count() == 0
    assert read(url)[::2] == (404, None)
