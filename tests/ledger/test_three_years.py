"""P4, P6: three years of the world's oddest calendars. Each claim comes on the right local date, at its first instant.

The watch ticks as the scheduler does (by queue and window): once a week for 1,096 days, and at each midnight on which
something must happen at a site, and a second before it. What is expected is worked out here by plain date arithmetic,
without the domain's thresholds.
"""

from __future__ import annotations

import datetime as dt
import os
from zoneinfo import ZoneInfo

from flask import Flask

from app.ledger.align import deliver
from app.ledger.scan import scan
from app.operations import people, register, rules
from app.operations.rule_contents import RuleText
from app.queries.facts import read_facts
from app.queries.owed import owed
from app.trail.act import Act
from tests import factories
from tests.ledger.conftest import Watch

ZONES = (
    "Pacific/Kiritimati",  # +14:00, the first to see a day.
    "Pacific/Pago_Pago",  # -11:00, the last.
    "America/Santiago",  # Its clocks change at midnight: some days begin at 01:00.
    "Australia/Lord_Howe",  # Its clocks change by half an hour.
    "Asia/Kathmandu",  # +05:45.
    "America/Vancouver",  # Stays at -07:00 from November 2026: data older than 2026b is wrong.
)
APART = int(os.environ.get("ONUS_TEST_DAYS_APART", "263"))  # Days; `make long` has due dates that lie closer.
FIRST = dt.date(2026, 7, 1)
LAST = dt.date(2029, 6, 30)
DAY = dt.timedelta(days=1)
BEFORE = {"30d": 30, "2w": 14, "0d": 0, "+3d": -3}  # Days of each threshold.


def midnight(day: dt.date, zone: str) -> dt.datetime:
    """The first instant of the day in the zone, found by looking at every quarter of an hour around it."""
    instant = dt.datetime.combine(day, dt.time(), dt.UTC) - dt.timedelta(hours=15)
    while instant.astimezone(ZoneInfo(zone)).date() < day:
        instant += dt.timedelta(minutes=15)
    return instant


def due_dates(number: int) -> list[dt.date]:
    """Each day on which the clocks of the zone change, and days so far apart that all days of the week and all parts of
    the year have one, from a day of its own."""
    earliest, latest, zone = FIRST + 40 * DAY, LAST - 10 * DAY, ZoneInfo(ZONES[number])
    days = [earliest + n * DAY for n in range((latest - earliest).days)]
    changes = {day for day in days if offset(day, zone) != offset(day - DAY, zone)}
    return sorted(changes | set(days[number * 5 :: APART]))


def offset(day: dt.date, zone: ZoneInfo) -> dt.timedelta | None:
    return dt.datetime.combine(day, dt.time(12), zone).utcoffset()


def test_p4_p6_three_years_of_claims_on_the_right_local_dates(real_app: Flask) -> None:
    watch = Watch(factories.acme())
    start = dt.datetime.combine(FIRST, dt.time(), dt.UTC) - 2 * DAY
    watch.acme.now = start

    def furnish(act: Act) -> dict[int, str]:
        people.add_member(act, "ana@acme.example", "officer")
        sites = {people.add_site(act, zone, zone): zone for zone in ZONES}
        rules.apply(act, [RuleText("All", thresholds=tuple(BEFORE), channels=("in_app",), to=("role:officer",))])
        for number, site in enumerate(sites):
            for due in due_dates(number):
                entry = register.Entry(reference=f"{due}", site_id=site, kind_id=factories.kind(act), due_on=due)
                register.add_subject(act, entry)
        return sites

    sites = watch.do(furnish)
    expected = {
        (site, due, threshold, due - days * DAY, midnight(due - days * DAY, zone), "open")
        for number, (site, zone) in enumerate(sites.items())
        for due in due_dates(number)
        for threshold, days in BEFORE.items()
    }
    noons = {dt.datetime.combine(FIRST + n * DAY, dt.time(12), dt.UTC) for n in range(0, (LAST - FIRST).days, 7)}
    midnights = {instant for *_, instant, _ in expected}
    instants = sorted(noons | midnights | {instant - dt.timedelta(seconds=1) for instant in midnights})
    for now in instants:
        with watch.acme.watching(now) as act:
            if scan(act).claimed:
                deliver(act)

    rows = watch.rows("select site_id, due_on, threshold, crossed_on, claimed_at, standing from notification_ledger")
    assert len(rows) == len(expected) == 4 * sum(len(due_dates(number)) for number in range(len(ZONES)))
    assert set(rows) == expected
    assert watch.rows("select count(*), count(distinct claim_id) from delivery where state = 'delivered'") == [
        (len(expected), len(expected))
    ]
    watch.acme.now = instants[-1]
    with watch.acme.watching() as act:
        assert owed(read_facts(act.session, act.org), act.now).count == 0
