"""P4: a hold that is released while something more is held leaves nothing behind that nobody can release."""

from __future__ import annotations

import datetime as dt
import threading

import pytest
from flask import Flask

from app.ledger import holds
from app.ledger.scan import scan
from app.operations import doubts, people
from tests import factories
from tests.factories import NOW, Acme
from tests.scheduler.conftest import Database, until

pytestmark = pytest.mark.real_commits

STATES = "select distinct state from delivery"
OPEN_HOLDS = "select count(*) from delivery_hold where released_at is null"


@pytest.fixture
def held(real_app: Flask) -> Acme:
    """An organisation that is held, with an e-mail that has become due since."""
    acme = factories.acme()
    with acme.acting() as act:
        people.add_member(act, "ana@acme.example", "officer")
        factories.rule(act, channels=("email",))
        factories.subject(act, due_on=NOW.date() + dt.timedelta(days=3))
    with acme.watching() as act:
        holds.hold(act, "restored")
        scan(act)
    return acme


def test_p4_what_is_held_while_an_officer_releases_is_released(real_app: Flask, held: Acme, database: Database) -> None:
    released: list[int] = []

    def release() -> None:
        with real_app.app_context(), held.acting() as act:
            released.append(doubts.release(act))

    officer = threading.Thread(target=release)
    with held.watching() as act:
        assert holds.hold_open(act) == 1
        officer.start()
        until(lambda: database.waiting("advisory") or not officer.is_alive(), "the officer, who waits or is through")
    officer.join()
    assert released == [1]
    assert database.rows(STATES) == [("pending",)]
    assert database.value(OPEN_HOLDS) == 0


def test_p4_nothing_is_held_after_an_officer_has_released(real_app: Flask, held: Acme, database: Database) -> None:
    seen_held = threading.Event()

    def deliver() -> None:
        with real_app.app_context(), held.watching() as act:
            assert holds.is_held(act)
            seen_held.set()
            holds.hold_open(act)

    tick = threading.Thread(target=deliver)
    with held.acting() as act:
        assert doubts.release(act) == 0
        tick.start()
        assert seen_held.wait(30)
        until(lambda: database.waiting("advisory") or not tick.is_alive(), "the tick, which waits or is through")
    tick.join()
    assert database.rows(STATES) == [("pending",)]
