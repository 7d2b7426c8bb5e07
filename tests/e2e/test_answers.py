"""The supervisor's five moments on a phone of 320 px, with script and without; the officer accepts what he did."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from app.operations import people
from tests import factories
from tests.e2e.conftest import Site, Tab
from tests.factories import NOW, Acme
from tests.people import OFFICER, STAFF
from tests.web.conftest import HASH, PASSWORD
from tests.web.test_answer_checks import JPEG

OpenTab = Callable[..., Tab]
TODAY = NOW.date()
SMALLEST = 44  # px: what a thumb in a glove hits.


@pytest.fixture
def acme(site: Site) -> Acme:
    made = factories.acme()
    with made.acting() as act:
        bruno = people.add_member(act, STAFF, "staff", "Bruno", HASH)
        people.add_member(act, OFFICER, "officer", "Ana", HASH)
        due = TODAY + dt.timedelta(days=6)
        factories.subject(act, "4.2", due, title="Quarterly sample of the discharge", owner_member_id=bruno)
        factories.rule(act, thresholds=("30d", "7d"), to=("owner",))
    site.tick(made)
    return made


def sign_in(one: Tab, email: str) -> Page:
    page = one.go("/login")
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    return page


def press(page: Page, opens: str, button: str, **typed: str) -> None:
    """Open the form of an answer, fill it in, and give the answer."""
    page.locator("summary", has_text=re.compile(f"^{opens}")).click()
    form = page.locator("details[open]")
    for label, words in typed.items():
        form.get_by_label(label).fill(words)
    form.get_by_role("button", name=button, exact=True).click()


def take_back(page: Page, words: str) -> None:
    expect(page.get_by_text(words).first).to_be_visible()
    page.get_by_role("button", name="Take it back").click()
    expect(page.locator("summary", has_text="Not mine")).to_be_visible()


def fits(page: Page) -> None:
    """Nothing is scrolled sideways, and every answer is large enough for a thumb."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for answer in page.locator(".answers summary, .answers > form button").all():
        box = answer.bounding_box()
        assert box is not None
        assert min(box["height"], box["width"]) >= SMALLEST
    result = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]})
    assert [violation["id"] for violation in result.response["violations"]] == []


@pytest.mark.parametrize("javascript", [True, False])
def test_the_five_moments_of_a_supervisor(tab: OpenTab, acme: Acme, javascript: bool) -> None:
    phone = tab(javascript, 320)
    page = sign_in(phone, STAFF)
    phone.go("/o/acme/inbox")
    expect(page.get_by_role("link", name="Quarterly sample of the discharge")).to_be_visible()
    if javascript:
        fits(page)
    press(page, "Help", "Ask for help", **{"What do you need?": "Which bottle?"})
    take_back(page, "Which bottle?")
    press(page, "Not mine", "It is not mine", **{"Whose is it?": "Ana"})
    take_back(page, "it belongs to Ana")  # The wrong tap.
    page.locator("summary", has_text="Done").click()
    page.get_by_label("Take a photo").set_input_files({"name": "a.jpg", "mimeType": "image/jpeg", "buffer": JPEG})
    page.get_by_label("Done on").fill(str(TODAY - dt.timedelta(days=1)))
    if javascript:
        fits(page)
    page.get_by_role("button", name="It is done").click()
    expect(page.get_by_text("with a.jpg")).to_be_visible()
    desk = tab(javascript)
    sign_in(desk, OFFICER)
    officer = desk.go("/o/acme/today/check")
    expect(officer.get_by_role("img", name="What Bruno sent: a.jpg")).to_be_visible()
    officer.get_by_role("button", name="Accept").click()
    expect(officer.get_by_text("No answer waits to be checked.")).to_be_visible()
    phone.go("/o/acme/inbox")
    expect(page.get_by_text("Nothing waits for you.")).to_be_visible()
