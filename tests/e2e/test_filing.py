"""The story of a permit in a real browser: five conditions, filed late, in force meanwhile, and granted."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from app.operations import documents, obligations, parts, people, rules
from app.operations.rule_contents import RuleText
from tests import factories
from tests.e2e.conftest import Site, Tab
from tests.e2e.test_papers import sign_in, violations
from tests.factories import NOW, Acme
from tests.web.conftest import ADMIN, HASH

TODAY = NOW.date()
UNTIL = TODAY + dt.timedelta(days=700)
CONDITIONS = (
    ("4.2", "Quarterly sample", 9, None), ("6.1", "Annual report", 31, None), ("6.2", "Waste declaration", 31, None),
    ("7.3", "Calibration", 200, None), ("9.1", "Ask for the renewal", None, "180d"),
)  # fmt: skip

PERMIT = re.compile(r"^\s*Discharge permit")  # The whole; its parts bear its title behind its reference.


def away(days: int) -> dt.date:
    return TODAY + dt.timedelta(days=days)


@pytest.fixture
def acme(site: Site) -> Acme:
    """A permit that expired twelve days ago, with its conditions; its alerts were sent in time."""
    made = factories.acme(now=NOW - dt.timedelta(days=60))
    with made.acting() as act:
        adela = people.add_member(act, ADMIN, "admin", "Adela", HASH)
        permit = factories.subject(
            act, "AV-0417", away(-12), title="Discharge permit", kind="Permit", owner_member_id=adela
        )
        documents.add_paper(act, permit, documents.Paper("C-1188", "Water authority", valid_until=away(-12)))
        for reference, title, due_in, due_from in CONDITIONS:
            due_on = None if due_in is None else away(due_in)
            condition = factories.subject(
                act, f"AV-0417/{reference}", due_on, title=title, kind="Condition", owner_member_id=adela
            )
            parts.put_into(act, condition, permit.id, due_from)
        asked = obligations.find_obligation(act, condition)  # The last one, which follows the date of the permit.
        obligations.close(act, asked.id, "met", asked.due_on)
        told = {"channels": ("in_app",), "to": ("owner",)}
        rules.apply(act, [
            RuleText("Permits", thresholds=("30d", "7d", "0d", "+7d"), kinds=("Permit",), **told),
            RuleText("Conditions", thresholds=("35d",), kinds=("Condition",), **told),
        ])  # fmt: skip
    for days in (-42, -5):
        made.now = NOW + dt.timedelta(days=days)
        site.tick(made)
    return made


def inbox(one: Tab) -> Locator:
    return one.go("/o/acme/inbox").locator(".alert")


def entry(one: Tab, sought: str, reference: str) -> Page:
    """The page of an entry, by way of the search."""
    page = one.go(f"/o/acme/register?q={sought}")
    page.get_by_role("link", name=reference, exact=True).click()
    return page


def test_a_permit_is_filed_late_stays_in_force_and_is_granted(site: Site, acme: Acme, tab: Callable[..., Tab]) -> None:
    one = tab()
    sign_in(one.go("/login"))
    permit = inbox(one).filter(has_text=PERMIT)
    expect(permit).to_contain_text("Expired 12 days ago")

    page = entry(one, "C-1188", "AV-0417")  # 1. It is filed, three days late, and the receipt is entered today.
    page.get_by_role("link", name="Filed with the authority").click()
    page.get_by_label("Filed on").fill(str(away(-9)))
    page.get_by_label("Receipt").fill("ENT-30571")
    page.get_by_label("Yes").check()
    page.get_by_label("Ask again on").fill(str(away(18)))
    page.get_by_role("button", name="Save the filing").click()
    expect(page.locator(".tags")).to_contain_text("In force, renewal pending")
    expect(page.get_by_text("Filed 3 days late")).to_be_visible()
    expect(page.get_by_text("receipt ENT-30571")).to_be_visible()

    acme.now = NOW  # 2. Its alerts stop; two conditions that are due on one day are two alerts.
    site.tick(acme)
    alerts = inbox(one)
    expect(alerts.filter(has_text="Annual report")).to_have_count(1)
    expect(alerts.filter(has_text="Waste declaration")).to_have_count(1)
    expect(alerts.filter(has_text=PERMIT)).to_have_count(0)

    for _ in range(2):  # 3. On the day to ask again, one follow-up.
        acme.now = NOW + dt.timedelta(days=18, hours=12)
        site.tick(acme)
    asked = inbox(one).filter(has_text="Ask the authority again")
    expect(asked).to_have_count(1)
    expect(asked).to_contain_text("receipt ENT-30571")
    expect(asked).not_to_contain_text("Expired")

    page = entry(one, "0417", "AV-0417")  # 4. It is granted, with a new paper.
    page.get_by_role("link", name="The authority has answered").click()
    page.get_by_label("Granted").check()
    page.get_by_role("button", name="Save the answer").click()
    expect(page.get_by_text("Write the number of the paper.")).to_be_visible()
    assert violations(page) == []
    page.get_by_label("Number of the new paper").fill("C-2040")
    page.get_by_label("Valid until").fill(str(UNTIL))
    page.get_by_role("button", name="Save the answer").click()
    expect(page.get_by_text("Answer: granted on")).to_be_visible()

    page = entry(one, "C-2040", "AV-0417")  # 5. Found by its number; the next date is there, and a condition follows.
    expect(page.get_by_role("heading", name=re.compile(f"{UNTIL.year}, "))).to_be_visible()
    expect(page.get_by_text("Replaced by C-2040")).to_be_visible()
    renewal = UNTIL - dt.timedelta(days=180)
    page.get_by_role("link", name="AV-0417/9.1").click()
    expect(page.locator(".tags")).to_contain_text(f"{renewal.day} {renewal:%B} {renewal.year}")
    expect(inbox(one).filter(has_text=PERMIT)).to_have_count(0)
    assert one.faults == []
