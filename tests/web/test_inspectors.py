"""Inspectors: limited to sites and kinds until a date, and what they looked at is in the trail."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from app.domain.acts import Role
from app.ledger.scan import scan
from app.operations import members, people
from app.operations.inspectors import limit_to_kinds
from app.queries import inspectors
from tests import factories
from tests.factories import NOW, Acme
from tests.people import ADMIN, INSPECTOR, OFFICER
from tests.web.conftest import Browser

SignIn = Callable[[str], Browser]

DUE = dt.date(2027, 3, 5)  # Crossed by 7d on the day of the tests.


def two_entries(acme: Acme) -> dict[str, int]:
    """A permit and a training with alerts, and Dana the inspector limited to permits; ids by reference."""
    with acme.acting() as act:
        permit, training = (
            factories.subject(act, reference, DUE, kind=kind)
            for reference, kind in (("P-1", "permit"), ("T-1", "training"))
        )
        factories.rule(act, "All", thresholds=["7d"], to=["role:officer", "role:inspector"])
        limit_to_kinds(act, acme.members["Dana"], [permit.kind_id])
        found = {"P-1": permit.id, "T-1": training.id, "permit": permit.kind_id, "training": training.kind_id}
    with acme.watching() as act:
        scan(act)
        for reference in ("P-1", "T-1"):
            facts = {"reference": reference}
            claims = act.run("select id from notification_ledger where reference = :reference", facts)
            found[f"alert of {reference}"] = claims.scalar_one()
    return found


def test_an_inspector_of_permits_sees_nothing_of_trainings(browser: SignIn, staffed: Acme) -> None:
    ids, dana = two_entries(staffed), browser(INSPECTOR)
    for page in ("register", "calendar/agenda", "evidence/alerts", "evidence/silent", "evidence/undelivered"):
        shown = dana.get(f"/o/acme/{page}").text
        assert "T-1" not in shown, page
    assert "P-1" in dana.get("/o/acme/register").text
    assert "P-1" in dana.get("/o/acme/calendar/agenda").text
    exported = dana.post("/o/acme/register/export", export="all.csv").text
    assert "P-1" in exported
    assert "T-1" not in exported
    assert "P-1" in dana.get("/o/acme/evidence/alerts").text
    assert dana.get(f"/o/acme/register/{ids['P-1']}").status_code == 200
    assert dana.get(f"/o/acme/register/{ids['T-1']}").status_code == 404
    assert dana.get(f"/o/acme/evidence/alerts/{ids['alert of P-1']}").status_code == 200
    assert dana.get(f"/o/acme/evidence/alerts/{ids['alert of T-1']}").status_code == 404
    assert "T-1" in browser(OFFICER).get("/o/acme/register").text


def test_what_an_inspector_was_shown_is_in_the_trail_and_nothing_else(browser: SignIn, staffed: Acme) -> None:
    ids, dana = two_entries(staffed), browser(INSPECTOR)
    dana.get("/o/acme/register?q=P-1")
    dana.get(f"/o/acme/register/{ids['T-1']}")
    dana.get("/o/acme/settings")
    browser(OFFICER).get("/o/acme/register?q=P-1")
    with staffed.acting() as act:
        looked = act.run("select actor, detail from audit_event where type = 'looked'").all()
    assert looked == [(f"member:{staffed.members['Dana']}", {"address": "register?q=P-1"})]
    page = browser(ADMIN).get(f"/o/acme/settings/people/{staffed.members['Dana']}").text
    assert '<a href="/o/acme/register?q=P-1">register?q=P-1</a>' in page


def test_the_form_of_a_person_limits_an_inspector_and_nobody_else(browser: SignIn, staffed: Acme) -> None:
    ids, adela, dana = two_entries(staffed), browser(ADMIN), staffed.members["Dana"]
    address = f"/o/acme/settings/people/{dana}"
    assert f'value="{ids["permit"]}" checked' in adela.get(address).text
    form: dict[str, Any] = {"name": "Dana", "email": INSPECTOR, "role": "inspector"}
    assert adela.post(address, **form, kinds=str(ids["training"])).status_code == 303
    assert limits(staffed, dana) == [ids["training"]]
    adela.get(address)
    assert adela.post(address, **form, kinds="99999").status_code == 404
    adela.get(address)
    assert adela.post(address, **form | {"role": "officer"}, kinds=str(ids["training"])).status_code == 303
    assert limits(staffed, dana) == []


def limits(acme: Acme, member_id: int) -> list[int]:
    with acme.acting() as act:
        return list(inspectors.kind_ids(act.session, act.org, member_id))


def test_an_inspector_who_becomes_something_else_sees_all_kinds_again(staffed: Acme) -> None:
    two_entries(staffed)
    dana = staffed.members["Dana"]
    with staffed.acting() as act:
        members.change_member(act, dana, "Dana", Role.officer, None)
    assert limits(staffed, dana) == []


def test_an_inspector_is_told_of_the_kinds_that_they_see(staffed: Acme) -> None:
    two_entries(staffed)
    told = """
        select m.name, l.reference from delivery x join notification_ledger l on l.id = x.claim_id
        join member m on m.id = x.recipient_id"""
    with staffed.acting() as act:
        assert set(act.run(told).all()) == {("Ana", "P-1"), ("Ana", "T-1"), ("Dana", "P-1")}


def test_until_the_last_day_of_access_and_no_longer(browser: SignIn, staffed: Acme) -> None:
    dana = browser(INSPECTOR)
    with staffed.acting() as act:
        members.change_member(act, staffed.members["Dana"], "Dana", Role.inspector, NOW.date())
    assert dana.get("/o/acme/register").status_code == 200
    with staffed.acting() as act:
        members.change_member(act, staffed.members["Dana"], "Dana", Role.inspector, NOW.date() - dt.timedelta(days=1))
    assert dana.get("/o/acme/register").status_code == 404
    with staffed.acting() as act:
        assert people.find_member(act, INSPECTOR).id == staffed.members["Dana"]
