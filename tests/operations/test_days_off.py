"""P1, P4: an organisation's own days off: what they move, that nothing is told twice, and what is said before."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from app.domain.days_off import DayOff
from app.domain.errors import Refused
from app.ledger.align import deliver
from app.ledger.scan import Scanned, scan
from app.operations import calendar_changes, days_off, parts, people, places
from app.queries.facts import read_facts
from app.queries.owed import owed
from app.queries.rule_reach import raised_at_once
from app.queries.rules import rules
from app.trail.act import Act
from tests import factories
from tests.factories import NOW, Acme
from tests.operations.story import Since, march

LEAVE = DayOff(march(8), march(9))  # A Monday and a Tuesday.


def off(day: dt.date, until: dt.date | None = None, is_yearly: bool = False) -> DayOff:
    return DayOff(day, until or day, is_yearly)


def look(acme: Acme, now: dt.datetime = NOW) -> Scanned:
    """A scan by queue and window, as every five minutes; nothing is owed after it, and a full one finds nothing."""
    with acme.watching(now) as act:
        found = scan(act)
    with acme.watching(now) as act:
        assert owed(read_facts(act.session, act.org), now).count == 0
        assert scan(act, trigger="command", full=True) == Scanned()
    return found


@pytest.fixture
def told(acme: Acme) -> Acme:
    """Ana is told of permits ten business days before; P-1 at Madrid on 2 March, P-2 at the Yard on 3 March."""
    with acme.acting() as act:
        factories.member(act, "ana@acme.example", name="Ana")
        people.add_site(act, "Yard", "Europe/Madrid")
        factories.subject(act, "P-1", march(16))
        factories.subject(act, "P-2", march(17), at="Yard")
        factories.rule(act, thresholds=("10bd", "2bd"))
    look(acme)
    return acme


def claims(acme: Acme) -> list[tuple[Any, ...]]:
    with acme.watching() as act:
        rows = act.run("select reference, threshold, crossed_on, standing from notification_ledger order by id")
        return [tuple(row) for row in rows]


def test_p1_p4_a_day_off_that_makes_an_alert_earlier_is_told_late_and_once(told: Acme) -> None:
    assert claims(told) == []
    with told.acting() as act:
        madrid = factories.site(act)
        seen = calendar_changes.foresee(act, lambda: days_off.add_day_off(act, "Fair", LEAVE, madrid))
        assert (seen.shifts.alerts, seen.shifts.entries, seen.shifts.earlier) == (1, 1, 1)
        (line,) = seen.shifts.lines
        assert (line.reference, line.threshold, line.due_on) == ("P-1", "10bd", march(16))
        assert (line.old, line.new, line.comes) == (march(2), dt.date(2027, 2, 26), True)
        assert [(alert.reference, alert.people) for alert in seen.alerts] == [("P-1", ["Ana"])]
        assert act.run("select count(*) from day_off").scalar_one() == 0, "it was only looked at"
    assert look(told).claimed == 0
    with told.acting() as act:
        made = days_off.add_day_off(act, "Fair", LEAVE, madrid)
    assert look(told).claimed == 1
    assert claims(told) == [("P-1", "10bd", dt.date(2027, 2, 26), "open")]
    with told.watching() as act:
        assert deliver(act).delivered == 1
    for gone in (True, False):  # Away and back: what was told stays, and is not told again.
        with told.acting() as act:
            if gone:
                days_off.remove_day_off(act, made)
            else:
                days_off.add_day_off(act, "Fair", LEAVE, madrid)
        assert look(told) == Scanned()
    with told.watching() as act:
        assert deliver(act).delivered == 0
    assert claims(told) == [("P-1", "10bd", dt.date(2027, 2, 26), "open")]


def test_a_day_off_of_all_sites_moves_all_and_one_that_makes_later_tells_nobody(told: Acme) -> None:
    with told.acting() as act:
        everywhere = days_off.add_day_off(act, "Bridge", off(march(3)))
        seen = calendar_changes.foresee(act, lambda: days_off.remove_day_off(act, everywhere))
    assert [(one.reference, one.old, one.new, one.comes) for one in seen.shifts.lines] == [
        ("P-1", march(1), march(2), False),
        ("P-2", march(2), march(3), False),
    ]
    assert (seen.shifts.earlier, seen.alerts) == (0, ())
    assert look(told).claimed == 1, "P-1 comes on 1 March with the day off"


def test_what_a_rule_would_raise_counts_days_off_too(told: Acme) -> None:
    with told.acting() as act:
        (rule,) = rules(act.session, act.org).lines
        assert raised_at_once(act.session, act.org, NOW, rule) == 0
        days_off.add_day_off(act, "Fair", LEAVE, factories.site(act))
        assert raised_at_once(act.session, act.org, NOW, rule) == 1


def test_a_change_of_country_and_of_zone_is_foreseen(told: Acme) -> None:
    """15 March 2027 is Green Monday in Cyprus; in Kiritimati it is 2 March already."""
    with told.acting() as act:
        madrid = factories.site(act)
        place = {"name": "Madrid", "timezone": "Europe/Madrid", "alert_from": dt.time()}

        def become(**given: Any) -> calendar_changes.Foresight:
            said = {"country": None, "region": None} | place | given
            return calendar_changes.foresee(act, lambda: places.change_site(act, madrid, **said))

        assert become(country="ES").is_nothing
        cyprus = become(country="CY")
        assert [(one.old, one.new) for one in cyprus.shifts.lines] == [(march(2), march(1)), (march(12), march(11))]
        assert [alert.threshold for alert in cyprus.alerts] == ["10bd"]
        east = become(timezone="Pacific/Kiritimati")
        assert (east.shifts.alerts, east.shifts.lines) == (0, [])
        assert [(alert.reference, alert.threshold) for alert in east.alerts] == [("P-1", "10bd")]
        assert become(name="Toledo").is_nothing


def test_what_was_to_be_told_anyway_is_not_the_change_s(told: Acme) -> None:
    with told.acting() as act:
        factories.subject(act, "P-3", march(2))
        factories.obligation(act, factories.subject(act, "P-4", march(16)), march(3))
        seen = calendar_changes.foresee(act, lambda: days_off.add_day_off(act, "Fair", LEAVE, factories.site(act)))
    assert [(alert.reference, alert.due_on) for alert in seen.alerts] == [("P-1", march(16)), ("P-4", march(16))]


def test_a_part_that_follows_its_whole_by_business_days_moves_with_the_calendar(told: Acme) -> None:
    with told.acting() as act:
        whole = factories.subject(act, "W", dt.date(2027, 6, 30))
        part = factories.subject(act, "W-1")
        parts.put_into(act, part, whole.id, "5bd")
        day = off(dt.date(2027, 6, 28))
        seen = calendar_changes.foresee(act, lambda: days_off.add_day_off(act, "Bridge", day))
        assert [(one.reference, one.old, one.new) for one in seen.parts] == [
            ("W-1", dt.date(2027, 6, 23), dt.date(2027, 6, 22))
        ]
        rows = act.run("select due_on from obligation where subject_id = :part", {"part": part.id})
        assert rows.scalars().all() == [dt.date(2027, 6, 23)]


def test_each_change_leaves_its_event_and_word_for_the_scan(act: Act, since: Since) -> None:
    madrid = factories.site(act)
    made = days_off.add_day_off(act, " Patron  saint ", off(march(8), is_yearly=True), madrid)
    days = {"site_id": madrid, "on_day": "2027-03-08", "until_day": "2027-03-08", "is_yearly": True}
    [event], rows = since.read()
    assert (event.type, event.detail) == ("day_off_added", {"day_off_id": made, "name": "Patron saint", **days})
    assert [(row.subject_id, row.rule_id, row.wake_on) for row in rows] == [(None, None, None)]
    assert days_off.remove_day_off(act, made)
    [event], rows = since.read()
    assert (event.type, event.detail) == ("day_off_removed", {"day_off_id": made, "name": "Patron saint", **days})
    assert len(rows) == 1
    assert not days_off.remove_day_off(act, made)
    assert since.both() == ([], [])


@pytest.mark.parametrize(
    ("period", "name", "words"),
    [
        (off(march(9), march(8)), "Fair", "before the first day"),
        (off(march(1), march(1) + dt.timedelta(days=92)), "Fair", "93 days"),
        (off(dt.date(1989, 12, 31)), "Fair", "outside the years"),
        (off(dt.date(2028, 2, 29), is_yearly=True), "Fair", "29 February is not in every year"),
        (off(march(9)), " ", "is empty"),
        (off(march(5)), "Twice", "off already"),
    ],
)
def test_what_cannot_be_is_refused_with_words(act: Act, since: Since, period: DayOff, name: str, words: str) -> None:
    days_off.add_day_off(act, "There", off(march(5)))
    since.read()
    with pytest.raises(Refused, match=words):
        days_off.add_day_off(act, name, period)
    assert since.both() == ([], [])


def test_some_days_are_left_on_which_people_work(act: Act) -> None:
    madrid, yard = factories.site(act), people.add_site(act, "Yard", "Europe/Madrid")
    days_off.add_day_off(act, "Winter", off(dt.date(2027, 1, 1), dt.date(2027, 3, 31), is_yearly=True))
    days_off.add_day_off(act, "April", off(dt.date(2027, 4, 1), dt.date(2027, 4, 29), is_yearly=True), yard)
    with pytest.raises(Refused, match="and 120 at most"):
        days_off.add_day_off(act, "May", off(dt.date(2027, 5, 1), is_yearly=True), yard)
    with pytest.raises(Refused, match="and 120 at most"):
        days_off.add_day_off(act, "May", off(dt.date(2027, 5, 1), is_yearly=True))
    days_off.add_day_off(act, "May", off(dt.date(2027, 5, 1), is_yearly=True), madrid)
    days_off.add_day_off(act, "Once", off(dt.date(2028, 5, 1)), yard)
    people.archive_site(act, yard)
    with pytest.raises(Refused, match="archived"):
        days_off.add_day_off(act, "Fair", off(march(5)), yard)
