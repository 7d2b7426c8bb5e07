"""The clock guard: a jump stops the claims, a long gap does not, and a clock that was set right is believed again."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest

from app import clock
from app.clock import APART_AT_MOST, ClockFault, refuse_a_jump
from app.config import Settings, settings
from app.ledger.scan import record_failure, scan
from app.scheduler.rounds import HIGH_WATER
from tests.factories import Acme

DAY = dt.timedelta(days=1)


def running(chosen: Settings) -> Settings:
    return replace(chosen, clock=None)


def test_clocks_that_are_apart_stop_everything(acme: Acme) -> None:
    for apart in (-2 * APART_AT_MOST, 2 * APART_AT_MOST):
        with pytest.raises(ClockFault, match="apart"):
            refuse_a_jump(clock.host_now() + apart, None, running(settings()))


def test_a_clock_that_runs_back_behind_its_own_past_stops_everything_and_a_gap_does_not(acme: Acme) -> None:
    now = clock.host_now()
    refuse_a_jump(now, now - 100 * DAY, running(settings()))
    with pytest.raises(ClockFault, match="already scanned"):
        refuse_a_jump(now, now + 2 * APART_AT_MOST, running(settings()))


def test_what_failed_under_a_wrong_clock_does_not_lock_the_watch_out(acme: Acme) -> None:
    now = clock.host_now()
    with acme.watching(now) as act:
        scan(act)
    with acme.watching(now + 2 * DAY) as act:
        record_failure(act, "schedule", {"org": "acme", "site": None, "message": "ClockFault: apart"})
    with acme.watching(now) as act:
        high_water = act.run(HIGH_WATER).scalar_one()
    assert high_water == now
    refuse_a_jump(now, high_water, running(settings()))
