"""A phone that stays signed in: 90 days, to answer and for nothing else, until it is forgotten."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable

import pytest
from flask import Flask
from sqlalchemy import select, text, update

from app.database import transaction
from app.ledger.scan import scan
from app.models import RememberedPhone
from app.operations import absences, phones
from tests import factories
from tests.factories import Acme
from tests.people import ADMIN, PASSWORD, STAFF
from tests.web.conftest import Browser

SignIn = Callable[[str], Browser]

NAME = "Bruno's Moto"


@pytest.fixture
def phone(app: Flask, browser: SignIn, staffed: Acme) -> Browser:
    """Bruno's phone, remembered, on the next morning: the session of the browser is over."""
    with staffed.acting() as act:
        factories.subject(act, "P-1", dt.date(2027, 3, 5))
        factories.rule(act, thresholds=["7d"], to=["role:staff"])
    with staffed.watching() as act:
        scan(act)
        act.run("update delivery set state = 'delivered', delivered_at = :now")
    bruno = Browser(app.test_client())
    bruno.get("/login")
    answer = bruno.post("/login", email=STAFF, password=PASSWORD, remember="yes", phone=NAME)
    assert answer.status_code == 303
    kept = next(one for one in answer.headers.getlist("Set-Cookie") if one.startswith("onus_phone="))
    assert "HttpOnly" in kept
    assert "SameSite=Lax" in kept
    assert "Max-Age=7776000" in kept
    bruno.client.delete_cookie("onus")
    return bruno


def test_it_reads_and_answers_and_does_nothing_else(phone: Browser) -> None:
    assert phone.get("/").location == "/o/acme/inbox"
    inbox = phone.get("/o/acme/inbox")
    assert "P-1" in inbox.text
    assert 'href="/o/acme/my-alerts"' not in inbox.text
    claim = re.findall(r"/o/acme/inbox/(\d+)", inbox.text)[0]
    assert phone.post(f"/o/acme/inbox/{claim}/answer", answer="seen").status_code == 303
    for closed in ("/o/acme/calendar", "/o/acme/my-alerts", "/o/acme/away", "/o/acme/register", "/phones"):
        assert phone.get(closed).location.startswith("/login?next=" + closed)
    assert phone.post("/o/acme/inbox/summary/read", absence="1").status_code == 404, "it would put a summary away"
    assert "Sign in to Onus" in phone.get("/login").text, "it may sign in for everything else"


def test_it_is_signed_out_by_its_owner_by_an_administrator_and_by_itself(
    phone: Browser, browser: SignIn, staffed: Acme
) -> None:
    def forget_by_owner() -> None:
        bruno = browser(STAFF)
        page = bruno.get("/phones").text
        assert "Bruno&#39;s Moto" in page
        bruno.post("/phones/forget", phone=page.split('name="phone" value="')[1].split('"')[0])

    def forget_by_administrator() -> None:
        address = f"/o/acme/settings/people/{staffed.members['Bruno']}"
        adela = browser(ADMIN)
        assert "1 phone of this person stays signed in" in adela.get(address).text
        adela.post(f"{address}/phones/forget")

    def sign_out() -> None:
        phone.post("/logout")

    for ending in (forget_by_owner, forget_by_administrator, sign_out):
        assert phone.get("/o/acme/inbox").status_code == 200, ending.__name__
        ending()
        assert phone.get("/o/acme/inbox").status_code == 302, ending.__name__
        with transaction() as session:  # As it was, for the next one.
            session.execute(update(RememberedPhone).values(forgotten_at=None))
    with staffed.acting() as act:
        noted = act.run("select type, actor from audit_event where type like 'phone%' order by id").all()
    bruno, adela = (f"member:{staffed.members[name]}" for name in ("Bruno", "Adela"))
    assert noted == [("phone_remembered", bruno), ("phones_forgotten", bruno), ("phones_forgotten", adela)]


def test_it_puts_the_summary_of_an_absence_away(phone: Browser, staffed: Acme) -> None:
    day, bruno = factories.NOW.date(), staffed.members["Bruno"]
    with staffed.acting() as act:
        absence = absences.enter_absence(act, bruno, day, day, staffed.members["Ana"])
    with staffed.watching() as act:
        scan(act)
        act.run("update delivery set state = 'delivered', handed_over_at = :now where state = 'pending'")
    with staffed.acting() as act:
        absences.come_back(act, bruno)
    page = phone.get("/o/acme/inbox").text
    assert "While you were away" in page
    assert f'name="absence" value="{absence}"' in page, "a button, as on any screen"
    assert phone.post("/o/acme/inbox/summary/read", absence=str(absence)).location == "/o/acme/inbox"
    assert "While you were away" not in phone.get("/o/acme/inbox").text


def test_after_its_time_it_signs_in_again(app: Flask, staffed: Acme, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phones, "REMEMBERED_FOR", dt.timedelta(0))
    bruno = Browser(app.test_client())
    bruno.get("/login")
    assert bruno.post("/login", email=STAFF, password=PASSWORD, remember="yes", phone=NAME).status_code == 303
    assert bruno.get("/o/acme/inbox").status_code == 200
    bruno.client.delete_cookie("onus")
    assert bruno.get("/o/acme/inbox").status_code == 302


def test_a_phone_that_is_remembered_again_is_one_phone(phone: Browser) -> None:
    phone.get("/login")
    assert phone.post("/login", email=STAFF, password=PASSWORD, remember="yes", phone="Moto").status_code == 303
    with transaction() as session:
        known = session.execute(select(RememberedPhone.name).where(RememberedPhone.forgotten_at.is_(None)))
        assert known.scalars().all() == ["Moto"]


def test_whoever_is_disabled_is_out_on_the_phone_too(phone: Browser, staffed: Acme) -> None:
    with transaction() as session:
        session.execute(text("update account set is_active = false where email = :email"), {"email": STAFF})
    assert phone.get("/o/acme/inbox").status_code == 302


def test_a_phone_without_a_name_and_an_eleventh_one_are_refused_and_nobody_is_signed_in(
    app: Flask, staffed: Acme
) -> None:
    bruno = Browser(app.test_client())
    bruno.get("/login")
    refused = bruno.post("/login", email=STAFF, password=PASSWORD, remember="yes", phone=" ")
    assert refused.status_code == 422
    assert 'id="phone-fault"' in refused.text
    for number in range(10):
        assert (
            bruno.post("/login", email=STAFF, password=PASSWORD, remember="yes", phone=f"{number}").status_code == 303
        )
        bruno.get("/phones")
        bruno.client.delete_cookie("onus_phone")
    bruno.client.delete_cookie("onus")
    bruno.client.delete_cookie("onus_phone")
    bruno.get("/login")
    refused = bruno.post("/login", email=STAFF, password=PASSWORD, remember="yes", phone="one more")
    assert refused.status_code == 422
    assert "10 phones stay signed in already" in refused.text
    assert bruno.get("/o/acme/inbox").status_code == 302
