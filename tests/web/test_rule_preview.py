"""Before a rule is saved its page says whom it would tell, and whom not; nothing of the look stays."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import func, select

from app.ledger.scan import scan
from app.models import AlertRule, AuditEvent, Kind, NotificationLedger, ScanQueue
from app.operations import people, rules
from app.operations.rules import RuleText
from app.queries.rule_foresight import read_outlook
from tests import factories
from tests.factories import NOW, Acme
from tests.people import INSPECTOR, OFFICER, STAFF
from tests.web.conftest import HTMX, Browser
from tests.web.test_entry import words as bare_words

SignIn = Callable[[str], Browser]
FORM: dict[str, Any] = {
    "name": "Permits", "notices": "", "usual": ["30d", "7d", "0d"], "channels": ["in_app"], "to": ["owner"],
    "only_if": "always", "start": "now",
}  # fmt: skip
TABLES = (AlertRule, AuditEvent, Kind, NotificationLedger, ScanQueue)


def words(page: str) -> str:
    return bare_words(page).replace(" ,", ",")


def day(number: int) -> dt.date:
    return NOW.date() + dt.timedelta(days=number)


@pytest.fixture
def entries(staffed: Acme) -> Acme:
    """Three permits: Ana's in five and in fifty days, and one that is nobody's."""
    with staffed.acting() as act:
        ana = people.find_member(act, OFFICER).id
        factories.subject(act, "P-1", day(5), kind="permit", owner_member_id=ana)
        factories.subject(act, "P-2", day(50), kind="permit", owner_member_id=ana, recurrence="1m")
        factories.subject(act, "P-3", day(5), kind="permit")
    return staffed


def rows(acme: Acme) -> list[int]:
    with acme.acting() as act:
        return [act.session.execute(select(func.count()).select_from(table)).scalar_one() for table in TABLES]


def test_a_new_rule_is_looked_at_before_it_is_saved(browser: SignIn, entries: Acme) -> None:
    ana, before = browser(OFFICER), rows(entries)
    page = ana.post("/o/acme/rules/preview", **FORM)
    said = words(page.text)
    assert page.status_code == 200
    assert "It reaches 3 watched entries." in said
    assert "Now: 1 alert, to 1 person" in said
    assert "Within 30 days: 2 more, to 1 person" in said
    assert "Within 90 days: 2 more, to 1 person" in said
    assert "2 alerts would find nobody to tell" in said
    assert "P-3 Permit P-3" in said
    assert "Not sent: a later alert covers it (2)" in said
    assert "30 days before is as long as 1 of these deadlines lives, or longer" in said
    assert 'value="Permits"' in page.text
    assert rows(entries) == before
    assert 'id="foretold" tabindex="-1" autofocus' in ana.post("/o/acme/rules/preview", headers=HTMX, **FORM).text


def test_what_the_preview_says_is_what_the_next_check_does(browser: SignIn, entries: Acme) -> None:
    ana = browser(OFFICER)
    assert "Now: 1 alert, to 1 person" in words(ana.post("/o/acme/rules/preview", **FORM).text)
    ana.post("/o/acme/rules", **FORM)
    with entries.watching() as act:
        done = scan(act)
    assert (done.claimed, done.deliveries, done.superseded) == (2, 1, 2)


def test_a_start_with_the_next_notice_says_what_it_leaves_out(browser: SignIn, entries: Acme) -> None:
    said = words(browser(OFFICER).post("/o/acme/rules/preview", **FORM | {"start": "next"}).text)
    assert "Now: 0 alerts" in said
    assert "Not sent: already past when entered (4)" in said


def test_a_change_says_what_it_adds_and_drops_and_moves(browser: SignIn, entries: Acme) -> None:
    with entries.acting() as act:
        rule_id = rules.save(act, RuleText("Permits", thresholds=("30d", "0d"), channels=("in_app",), to=("owner",)))
    ana, before = browser(OFFICER), rows(entries)
    where, same = f"/o/acme/rules/{rule_id}/preview", FORM | {"usual": ["30d", "0d"], "version": "1"}
    assert "Nothing: the same people are told on the same days." in words(ana.post(where, **same).text)
    said = words(ana.post(where, **same | {"usual": ["7d", "0d"]}).text)
    assert "Told besides (2)" in said
    assert "Told no longer (2)" in said
    moved = words(ana.post(where, **same | {"to": ["owner", "role:officer"]}).text)
    assert "Told besides (2)" in moved  # P-3 has found somebody.
    assert "Told on another day" not in moved  # Ana is the only officer, and was told before.
    assert rows(entries) == before


def test_a_rule_that_is_kept_is_looked_at_as_it_stands(browser: SignIn, entries: Acme) -> None:
    with entries.acting() as act:
        rule_id = rules.save(act, RuleText("Permits", thresholds=("7d",), channels=("in_app",), to=("owner",)))
        rules.switch(act, "Permits", False)
    said = words(browser(OFFICER).get(f"/o/acme/rules/{rule_id}/preview").text)
    assert "The rule is off: it tells nobody." in said
    assert "Now: 0 alerts" in said


def test_what_is_due_now_goes_by_the_date_of_its_site(browser: SignIn, staffed: Acme) -> None:
    """In Phoenix it is still the day before: an alert of tomorrow there is none of now, whatever day it is here."""
    late = dt.datetime(2027, 3, 1, 23, 30, tzinfo=dt.UTC)  # The second of March in Madrid.
    with staffed.acting(late) as act:
        people.add_site(act, "Phoenix", "America/Phoenix")
        ana = people.find_member(act, OFFICER).id
        factories.subject(act, "PHX-1", dt.date(2027, 3, 2), at="Phoenix", owner_member_id=ana)
        rule_id = rules.save(act, RuleText("On the day", thresholds=("0d",), channels=("in_app",), to=("owner",)))
        found = read_outlook(act.session, act.org, rule_id, late, dt.date(2027, 3, 2), 0)
        assert [(one.on, one.days) for one in found.told] == [(dt.date(2027, 3, 2), 1)]
        assert (found.now, len(found.soon)) == ([], 1)


def test_a_wrong_form_is_wrong_here_too(browser: SignIn, entries: Acme) -> None:
    page = browser(OFFICER).post("/o/acme/rules/preview", **FORM | {"name": ""})
    assert page.status_code == 422
    assert "Give the rule a name." in page.text
    assert 'id="foretold"' not in page.text


@pytest.mark.parametrize("who", [STAFF, INSPECTOR])
def test_only_managers_look_ahead(browser: SignIn, entries: Acme, who: str) -> None:
    assert browser(who).post("/o/acme/rules/preview", **FORM).status_code == 403
