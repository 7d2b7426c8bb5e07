"""One story from an empty database, in a real browser: by mouse, by keyboard only, and without script.

An administrator signs in, adds a site and an entry, writes a rule; the watch ticks; she is told in the app, answers,
and finds all of it in Evidence. P3's in-app half (told once) and P8 (nobody else sees it) are looked at through the
same browser.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from app.operations import people
from tests import factories
from tests.e2e.conftest import Site, Tab
from tests.factories import NOW, Acme
from tests.web.conftest import ADMIN, HASH, PASSWORD

OpenTab = Callable[..., Tab]
TODAY = NOW.date()
DUE = TODAY + dt.timedelta(days=20)


@pytest.fixture
def acme(site: Site) -> Acme:
    """An empty organisation with its first administrator, made as `onus org add` and `onus member add` do."""
    made = factories.acme()
    with made.acting() as act:
        people.add_member(act, ADMIN, "admin", "Adela", HASH)
    return made


class Mouse:
    """Fills fields by their labels and clicks what it sees."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def fill(self, label: str, value: str) -> None:
        self.page.get_by_label(label, exact=True).fill(value)

    def choose(self, label: str, value: str) -> None:
        self.page.get_by_label(label, exact=True).select_option(label=value)

    def tick(self, label: str) -> None:
        self.page.get_by_label(label, exact=True).check()

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def follow(self, name: str) -> None:
        self.page.get_by_role("link", name=name, exact=True).first.click()


class Keyboard(Mouse):
    """Never clicks: reaches everything by Tab and uses the keys that people use."""

    def reach(self, role: str, name: str) -> None:
        wanted = self.page.get_by_role(role, name=name, exact=True).first  # type: ignore[arg-type]
        expect(wanted).to_be_visible()
        for _ in range(150):
            if wanted.evaluate("element => element === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab never reaches the {role} {name!r}")

    def fill(self, label: str, value: str) -> None:
        field = self.page.get_by_label(label, exact=True)
        for _ in range(150):
            if field.evaluate("element => element === document.activeElement"):
                break
            self.page.keyboard.press("Tab")
        if field.get_attribute("type") == "date":
            year, month, day = value.split("-")
            self.page.keyboard.type(month + day + year)
        else:
            self.page.keyboard.type(value)
        expect(field).to_have_value(value)

    def choose(self, label: str, value: str) -> None:
        self.reach("combobox", label)
        self.page.keyboard.type(value)

    def tick(self, label: str) -> None:
        self.reach("checkbox", label)
        if not self.page.get_by_label(label, exact=True).is_checked():
            self.page.keyboard.press("Space")

    def press(self, name: str) -> None:
        self.reach("button", name)
        self.page.keyboard.press("Enter")

    def follow(self, name: str) -> None:
        self.reach("link", name)
        self.page.keyboard.press("Enter")


def sign_in(hand: Mouse, email: str) -> None:
    hand.fill("E-mail address", email)
    hand.fill("Password", PASSWORD)
    hand.press("Sign in")
    expect(hand.page.get_by_role("heading", name="Today", exact=True)).to_be_visible()


def live(tab: Tab, hand: Mouse, site: Site, acme: Acme, tick_all: Callable[[], None]) -> None:
    """The story, told once for every way of using the pages."""
    page = tab.go("/")
    sign_in(hand, ADMIN)

    hand.follow("Settings")
    hand.follow("Sites")
    hand.follow("Add a site")
    hand.fill("Name", "Vitoria")
    hand.fill("Time zone", "Europe/Madrid")
    hand.press("Add the site")
    expect(page.get_by_role("rowheader", name="Vitoria")).to_be_visible()

    hand.follow("Register")
    hand.follow("Add an entry")
    hand.fill("Reference", "VIT-7")
    hand.fill("Title (optional)", "Boiler permit")
    hand.fill("Name of a new kind (optional)", "Permit")
    hand.choose("Site", "Vitoria")
    hand.choose("Responsible (optional)", "Adela")
    hand.fill("Due date (optional)", DUE.isoformat())
    hand.press("Add the entry")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Boiler permit")

    hand.follow("Rules")
    hand.follow("Make a rule")
    hand.fill("Name", "Permits")
    hand.tick("Permit")
    hand.tick("30 days before")
    hand.tick("7 days before")
    hand.tick("The responsible")
    hand.press("Save the rule")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Rule: Permits")

    tick_all()
    hand.follow("Inbox")
    expect(page.get_by_role("link", name="Inbox 1 unread")).to_be_visible()
    expect(page.get_by_text("20 days left")).to_be_visible()
    hand.press("Got it")
    expect(page.get_by_text("You: Got it")).to_be_visible()
    tick_all()  # Told once: another tick brings nothing (P3).

    hand.follow("Evidence")
    hand.follow("Every alert")
    hand.follow("VIT-7")
    expect(page.get_by_role("main")).to_contain_text("Adela")
    expect(page.get_by_role("main")).to_contain_text("Got it")
    assert page.get_by_role("main").inner_text().count("Delivered") >= 1


def told(acme: Acme) -> list[tuple[str, str]]:
    with acme.acting() as act:
        rows = act.run("select state, channel from delivery where org_id = :org order by channel")
        return [(row.state, row.channel) for row in rows]


@pytest.mark.parametrize("way", ["mouse", "keyboard", "without script"])
def test_from_an_empty_database_to_an_answered_alert(site: Site, tab: OpenTab, acme: Acme, way: str) -> None:
    one = tab(javascript=way != "without script")
    hand = Keyboard(one.page) if way == "keyboard" else Mouse(one.page)
    live(one, hand, site, acme, lambda: site.tick(acme))
    # Each once, though the watch ticked twice; where no mail server is set up the message waits.
    assert told(acme) == [("pending", "email"), ("delivered", "in_app")]


def test_p8_an_outsider_sees_the_same_as_for_nothing(site: Site, tab: OpenTab, acme: Acme) -> None:
    other = factories.acme("other")
    with other.acting() as act:
        people.add_member(act, "omar@other.example", "admin", "Omar", HASH)
    with acme.acting() as act:
        subject = factories.subject(act, "SECRET-1", DUE).id
    omar = tab()
    page = omar.go("/login")
    sign_in(Mouse(page), "omar@other.example")
    bodies = []
    for path in (f"/o/acme/register/{subject}", "/o/acme/", "/o/nowhere/", f"/o/other/register/{subject}"):
        answer = page.goto(site.url + path)
        assert answer is not None
        assert answer.status == 404
        bodies.append(page.inner_text("main"))
    assert len(set(bodies)) == 1
    assert "SECRET-1" not in page.goto(site.url + "/o/other/register").text()  # type: ignore[union-attr]
    omar.faults = [fault for fault in omar.faults if "404" not in fault]


def tell(site: Site, acme: Acme) -> None:
    """Adela is responsible for P-1, and is told in the app."""
    with acme.acting() as act:
        factories.subject(act, "P-1", DUE, owner_member_id=act.run("select id from member").scalar_one())
        factories.rule(act, thresholds=("30d",), to=("owner",))
    site.tick(acme)


def test_h27_back_shows_a_page_and_the_filter_agrees(site: Site, tab: OpenTab, acme: Acme) -> None:
    with acme.acting() as act:
        for number in range(3):
            factories.subject(act, f"P-{number}", DUE)
    one = tab()
    page = one.go("/login")
    hand = Mouse(page)
    sign_in(hand, ADMIN)
    hand.follow("Register")
    search = page.get_by_label("Reference, title or paper")
    search.fill("P-1")
    search.press("Enter")
    expect(page.get_by_role("link", name="P-2")).to_have_count(0)
    page.get_by_role("link", name="P-1", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("P-1")
    page.go_back()
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    expect(page.get_by_label("Reference, title or paper")).to_have_value("P-1")
    expect(page.get_by_role("link", name="P-2")).to_have_count(0)
    page.reload()
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()


def test_h29_a_stopped_server_is_one_line_in_the_toast(site: Site, tab: OpenTab, acme: Acme) -> None:
    tell(site, acme)
    one = tab()
    page = one.go("/login")
    hand = Mouse(page)
    sign_in(hand, ADMIN)
    page.goto(f"{site.url}/o/acme/inbox")
    page.context.set_offline(True)
    hand.press("Got it")
    expect(page.get_by_role("alert")).to_contain_text("Onus cannot be reached")
    expect(page.get_by_role("button", name="Got it")).to_be_visible()
    page.context.set_offline(False)
    hand.press("Got it")
    expect(page.get_by_text("You: Got it")).to_be_visible()
    one.faults = [fault for fault in one.faults if not fault.startswith("htmx:")]  # htmx says it there, too.
