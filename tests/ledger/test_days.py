"""P4, P6: what the days of the sites do to the fast path: a day lived through again, a site that was away, wake rows.

All scans here are the scheduler's, by queue and window; the daily full scan must not be needed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text

from app.domain.acts import SnoozeReason
from app.ledger import scan as module
from app.ledger.align import align
from app.ledger.scan import Scanned
from app.operations import people, register, rules
from app.operations.rule_contents import RuleText
from app.trail.act import Act
from tests import factories
from tests.ledger.conftest import Watch

DUE = dt.date(2027, 4, 1)  # Less 30 days: 2 March.
HOUR = dt.timedelta(hours=1)
EAST, WEST = "Pacific/Kiritimati", "Pacific/Pago_Pago"  # The first and the last to see a day.


@pytest.fixture(autouse=True)
def furnished(watch: Watch) -> None:
    def deed(act: Act) -> None:
        people.add_member(act, "ana@acme.example", "officer", name="Ana")
        enter(act, "P-1", DUE)
        rule = RuleText("Permits", thresholds=("30d",), channels=("in_app",), to=("role:officer",))
        rules.apply(act, [rule])

    watch.at("2027-02-01T12:00").do(deed)
    fast(watch)


def enter(act: Act, reference: str, due_on: dt.date, site: str = "Madrid") -> None:
    place, kind = factories.site(act, site), factories.kind(act)
    register.add_subject(act, register.Entry(reference=reference, site_id=place, kind_id=kind, due_on=due_on))


def fast(watch: Watch) -> Scanned:
    return watch.scan(full=False, trigger="schedule")


def zone(name: str, site: str = "Madrid") -> Callable[[Act], Any]:
    return lambda act: people.set_site_zone(act, factories.site(act, site), name)


def broken(name: str) -> Callable[[Act], Any]:
    """The zone written by no act, as a new zone database would change what it means."""
    return lambda act: act.session.execute(text("update site set timezone = :name where name = 'Bad'"), {"name": name})


def snooze(reference: str, until: dt.date) -> Callable[[Act], Any]:
    return lambda act: register.snooze(act, register.find_subject(act, reference), until, SnoozeReason.planned)


def test_what_the_day_opened_stays_open_when_it_is_lived_through_again(watch: Watch) -> None:
    watch.do(zone(EAST))
    watch.do(snooze("P-1", dt.date(2027, 3, 10)))
    watch.at("2027-03-09T10:00")  # 10 March has begun there: the snooze is over.
    fast(watch)
    assert watch.ledger() == {"30d": "open"}
    watch.do(zone(WEST))  # There it is 8 March, and the snooze lasts.
    fast(watch)
    assert watch.ledger() == {"30d": "open"}
    assert watch.deliver().cancelled == 0


def test_what_is_entered_on_a_day_lived_through_again_is_not_passed_over(watch: Watch) -> None:
    watch.do(zone(EAST))
    watch.at("2027-03-01T10:30")  # 2 March there.
    fast(watch)
    watch.do(zone(WEST))  # 28 February there.
    fast(watch)
    watch.do(lambda act: enter(act, "P-2", DUE - dt.timedelta(days=1)))  # Its alert day is 1 March.
    for instant in ("2027-03-01T10:35", "2027-03-01T11:05", "2027-03-02T10:00"):
        watch.at(instant)
        fast(watch)
    assert watch.owed().count == 0


def test_an_instant_just_before_midnight_that_waited_for_the_scan_after_it(watch: Watch) -> None:
    """A delivery tick takes its now, then waits for the judge: the scan that opened the day's alerts was first."""
    watch.do(snooze("P-1", dt.date(2027, 3, 10)))
    watch.at("2027-03-09T23:00:01")  # Midnight in Madrid has just passed.
    fast(watch)
    assert watch.ledger() == {"30d": "open"}
    watch.at("2027-03-09T22:59:59").deliver()
    assert watch.ledger() == {"30d": "open"}


def test_a_site_that_can_be_used_again_has_missed_nothing(watch: Watch) -> None:
    """Its wake row went by with the days of the other sites."""
    watch.do(lambda act: people.add_site(act, "Bad", "Asia/Tokyo"))
    watch.do(lambda act: enter(act, "B-1", DUE, "Bad"))
    watch.at("2027-03-03T09:00").do(snooze("B-1", dt.date(2027, 3, 10)))
    fast(watch)
    watch.do(broken("Mars/Olympus"))
    for day in range(4, 15):
        watch.at(f"2027-03-{day:02}T09:00")
        assert len(fast(watch).errors) == 1
    watch.do(broken("Asia/Tokyo"))
    watch.at("2027-03-14T09:05")
    assert fast(watch).claimed == 1
    assert watch.owed().count == 0


def test_a_wake_row_is_looked_at_once_for_each_midnight(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    def furnish(act: Act) -> None:
        for name, zone in (("East", EAST), ("West", WEST)):
            people.add_site(act, name, zone)
        ana = people.find_member(act, "ana@acme.example").id
        people.assign_post(act, people.add_post(act, "chief"), ana, factories.site(act), dt.date(2027, 3, 10))

    watch.do(furnish)
    watch.at("2027-03-09T09:00")
    fast(watch)
    looked: list[list[int] | None] = []
    look = module.look
    monkeypatch.setattr(module, "look", lambda act, days, subjects, run: looked.append(subjects) or look(
        act, days, subjects, run
    ))  # fmt: skip
    for _ in range(30):
        watch.acme.now += HOUR
        fast(watch)
        with watch.acme.watching() as act:
            align(act)
    assert sum(subjects is None for subjects in looked) == 3 + 1  # Three midnights, and the daily full scan.
    assert watch.rows("select count(*) from scan_queue") == [(0,)]


def test_a_quiet_scan_is_counted_in_a_scan_and_not_in_what_an_act_wrote(watch: Watch) -> None:
    later = RuleText("Later", thresholds=("90d",), channels=("in_app",), to=("role:officer",), start="next")
    watch.at("2027-02-01T17:50").do(lambda act: rules.apply(act, [later]))
    watch.at("2027-02-01T18:00")
    fast(watch)
    rows = watch.rows("select trigger, quiet_scans from scan_run order by id")
    assert rows == [("schedule", 0), ("start", 0), ("schedule", 0)]  # The gap before it has a row at its end.
