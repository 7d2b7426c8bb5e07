"""Who leaves, who is away, and who is told only because nobody acted: each on a phone of 320 by 640 px."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from app.operations import people
from tests import factories
from tests.e2e.conftest import Site, Tab, serving
from tests.e2e.test_answers import fits, press, sign_in
from tests.factories import NOW, Acme
from tests.people import ADMIN, STAFF
from tests.web.conftest import HASH

TODAY = NOW.date()
DAY = dt.timedelta(days=1)
MANY = 60
CARLA, MARTA = "carla@acme.example", "marta@acme.example"


@pytest.fixture
def acme(site: Site) -> Acme:
    """Gil is responsible for sixty entries, of which one is due soon; Bruno for one, and Marta is above him."""
    made = factories.acme()
    with made.acting() as act:
        people.add_member(act, ADMIN, "admin", "Adela", HASH)
        bruno, carla, marta = (
            people.add_member(act, email, "staff", name, HASH)
            for email, name in ((STAFF, "Bruno"), (CARLA, "Carla"), (MARTA, "Marta"))
        )
        gil = people.add_member(act, "gil@acme.example", "staff", "Gil")
        for name, holder in (("Shift lead", carla), ("Plant manager", marta)):
            people.assign_post(act, people.add_post(act, name), holder, factories.site(act))
        for number in range(1, MANY + 1):
            due = TODAY + (6 if number == 1 else 300) * DAY
            factories.subject(act, f"G-{number}", due, title=f"Valve {number}", owner_member_id=gil)
        factories.subject(act, "4.2", TODAY + 6 * DAY, title="Sample", kind="sample", owner_member_id=bruno)
        factories.rule(act, "All", ("7d",), ("owner",))
        factories.rule(act, "Above", ("5d",), ("post:Plant manager",), kinds=("sample",), only_if="nobody_on_it")
    site.tick(made)
    return made


def phone(tab: Callable[..., Tab], email: str) -> Tab:
    one = tab(True, 320, 640)
    sign_in(one, email)
    return one


def inbox(one: Tab) -> Locator:
    return one.go("/o/acme/inbox").locator(".alert")


def hand_over(site: Site, acme: Acme, adela: Tab, carla: Tab) -> None:
    """A leaver with sixty entries: seen before it is done, then one batch, and the open alert is Carla's."""
    page = adela.go("/o/acme/settings/people")
    page.get_by_role("link", name="Gil").first.click()
    page.get_by_role("link", name="Leaving").click()
    page.get_by_label("Who takes over").select_option("Shift lead (post: whoever holds it)")
    page.get_by_role("button", name="See what would happen").click()
    told = "60 entries go to Shift lead (post: whoever holds it). 1 alert that is not answered goes, too."
    expect(page.get_by_text(told)).to_be_visible()
    fits(page)
    page.get_by_role("button", name="Hand it over").click()
    expect(page.get_by_text("Gone since")).to_be_visible()
    site.tick(acme)
    expect(inbox(carla)).to_have_count(1)
    expect(inbox(carla)).to_contain_text("Valve 1")
    expect(entry(adela, "G-7")).to_contain_text("with 59 others, in one batch")


def entry(one: Tab, reference: str) -> Locator:
    page = one.go(f"/o/acme/register?q={reference}")
    page.get_by_role("link", name=reference, exact=True).click()
    return page.get_by_role("main")


def holiday(site: Site, acme: Acme, bruno: Tab, carla: Tab) -> None:
    """Bruno enters it himself; Carla is told for whom; and when he is back he reads what she was told."""
    expect(inbox(bruno)).to_contain_text("Sample")
    page = bruno.page
    for name in ("My alerts", "Away"):
        page.get_by_role("link", name=name, exact=True).first.click()
    page.get_by_label("First day away").fill(str(TODAY))
    page.get_by_label("Last day away").fill(str(TODAY + 9 * DAY))
    page.get_by_label("Who stands in").select_option("Carla")
    page.get_by_role("button", name="Add the absence").click()
    expect(page.get_by_role("button", name="Back already")).to_be_visible()
    fits(page)
    site.tick(acme)
    covered = inbox(carla).filter(has_text="Sample")
    covered.get_by_text("Why you, and earlier alerts").click()
    expect(covered).to_contain_text("stands in for Bruno")
    bruno.go("/o/acme/away").get_by_role("button", name="Back already").click()
    expect(page.get_by_role("button", name="Back already")).to_have_count(0)
    summary = bruno.go("/o/acme/inbox").get_by_role("region", name="While you were away")
    expect(summary).to_contain_text("told to Carla")
    fits(page)
    summary.get_by_role("button", name="I have read it").click()
    expect(summary).to_have_count(0)


def promise(site: Site, acme: Acme, bruno: Tab, adela: Tab) -> None:
    """Bruno is on it until tomorrow: on that day Marta is not told, and who is on it can be read."""
    inbox(bruno)
    press(bruno.page, "I am on it", "I am on it", Until=str(TODAY + DAY))
    expect(bruno.page.locator(".alert")).to_contain_text("You: On it until")
    acme.now = NOW + DAY
    site.tick(acme)
    expect(entry(adela, "4.2")).to_contain_text("Bruno: On it until")
    with acme.watching() as act:
        assert act.run("select count(*) from notification_ledger where threshold = '5d'").scalar_one() == 0


def test_a_leaver_a_holiday_and_a_manager_told_because_nobody_acted(
    site: Site, acme: Acme, tab: Callable[..., Tab], worker: str, tmp_path: Path
) -> None:
    adela, bruno, carla = (phone(tab, email) for email in (ADMIN, STAFF, CARLA))
    hand_over(site, acme, adela, carla)
    holiday(site, acme, bruno, carla)
    promise(site, acme, bruno, adela)
    acme.now = NOW + 2 * DAY
    site.tick(acme)
    with serving(worker, tmp_path, ONUS_CLOCK=acme.now.isoformat()) as later:
        marta = tab(True, 320, 640)
        marta.url = later
        sign_in(marta, MARTA)
        expect(inbox(marta)).to_contain_text("Sample")
        expect(inbox(marta)).to_contain_text("Bruno: On it until")
