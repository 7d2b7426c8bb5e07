"""P4: what comes again by the calendar is there in time, each date alone, whether the last one was done or not."""

from __future__ import annotations

import datetime as dt
import threading

import pytest
from flask import Flask

from app.domain.acts import Basis
from app.models import Subject
from app.operations import obligations, people, register, reopenings, rules
from app.operations.rule_contents import RuleText
from app.queries.owed import Owed
from app.trail.act import Act
from tests import factories
from tests.ledger.conftest import Watch

DAY, WEEK = dt.timedelta(days=1), dt.timedelta(weeks=1)
MONDAY = dt.date(2027, 3, 1)  # Where the tests' clock stands.


def dates(text: str) -> list[dt.date]:
    """Years with their days: `2027 01-31 02-28 2028 01-31`."""
    found: list[dt.date] = []
    for word in text.split():
        if len(word) == 4:
            year = word
        else:
            found.append(dt.date.fromisoformat(f"{year}-{word}"))
    return found


# From the first date on, for three years; written out by hand (H11).
MONTHLY = """
    2027 03-31 04-30 05-31 06-30 07-31 08-31 09-30 10-31 11-30 12-31
    2028 01-31 02-29 03-31 04-30 05-31 06-30 07-31 08-31 09-30 10-31 11-30 12-31
    2029 01-31 02-28 03-31 04-30 05-31 06-30 07-31 08-31 09-30 10-31 11-30 12-31
    2030 01-31 02-28"""
QUARTERLY = "2027 11-30 2028 02-29 05-30 08-30 11-30 2029 02-28 05-30 08-30 11-30 2030 02-28"
SERIES = {
    "monthly on the 31st": ("1m", MONTHLY),
    "quarterly from 30 November": ("3m", QUARTERLY),
    "half-yearly from 31 August": ("6m", "2027 08-31 2028 02-29 08-31 2029 02-28 08-31 2030 02-28"),
    "yearly from 29 February": ("1y", "2028 02-29 2029 02-28 2030 02-28"),
    "fixed days": ("02-29,06-30", "2027 06-30 2028 02-29 06-30 2029 02-28 06-30 2030 02-28"),
}
LAST = dt.date(2030, 2, 28)


def furnish(watch: Watch, *thresholds: str) -> None:
    def deed(act: Act) -> None:
        people.add_member(act, "ana@acme.example", "officer")
        text = RuleText("All", thresholds=thresholds or ("30d", "0d"), channels=("in_app",), to=("role:officer",))
        rules.apply(act, [text])

    watch.do(deed)


def add(watch: Watch, reference: str, recurrence: str, first: dt.date | None, **given: str) -> int:
    def deed(act: Act) -> int:
        entry = register.Entry(
            site_id=factories.site(act), kind_id=factories.kind(act), reference=reference, due_on=first,
            recurrence=recurrence, recurrence_basis=Basis.calendar, **given,
        )  # fmt: skip
        return register.add_subject(act, entry)

    subject_id: int = watch.do(deed)
    return subject_id


def due_ons(watch: Watch, reference: str, which: str = "true") -> list[dt.date]:
    found = watch.rows(
        "select o.due_on from obligation o join subject s on s.org_id = o.org_id and s.id = o.subject_id "
        f"where s.reference = :reference and {which} order by 1",
        reference=reference,
    )
    return [due_on for (due_on,) in found]


def weeks(*numbers: int) -> list[dt.date]:
    return [MONDAY + n * WEEK for n in numbers]


def noon(watch: Watch, day: dt.date) -> Watch:
    return watch.at(f"{day}T12:00")


def test_p4_h11_three_years_of_series_by_the_calendar_have_their_exact_dates(watch: Watch) -> None:
    """Nobody closes anything: each date comes, is told 30 days before and on the day, and stays."""
    furnish(watch)
    expected = {name: dates(text) for name, (_, text) in SERIES.items()}
    for name, (recurrence, _) in SERIES.items():
        add(watch, name, recurrence, expected[name][0])
    all_days = {day for days in expected.values() for day in days}
    ticks = all_days | {day - 30 * DAY for day in all_days} | {MONDAY + n * 9 * WEEK for n in range(18)}
    for day in sorted(day for day in ticks if MONDAY <= day <= LAST):
        noon(watch, day).scan(full=False, trigger="schedule")
        watch.deliver()
    for name, days in expected.items():
        assert [day for day in due_ons(watch, name, "o.closed_at is null") if day <= LAST] == days, name
        assert due_ons(watch, name, f"o.due_on > '{LAST}'"), name  # The next one is ahead.
    told = watch.rows("select reference, due_on, crossed_on from notification_ledger where threshold = '0d'")
    assert sorted(told) == sorted((name, day, day) for name, days in expected.items() for day in days)
    ahead = watch.rows("select reference, due_on, crossed_on from notification_ledger where threshold = '30d'")
    early = {(name, day): max(day - 30 * DAY, MONDAY) for name, days in expected.items() for day in days}
    assert {(name, day): crossed for name, day, crossed in ahead if day <= LAST and day - 30 * DAY >= MONDAY} == {
        key: crossed for key, crossed in early.items() if key[1] - 30 * DAY >= MONDAY
    }
    assert watch.owed().count == 0


def test_the_next_date_is_there_as_soon_as_the_entry_is(watch: Watch) -> None:
    """Also without a rule, and without a scan."""
    add(watch, "W-1", "1w", MONDAY)
    assert due_ons(watch, "W-1") == weeks(0, 1)


def test_dates_are_opened_up_to_the_widest_threshold_that_reaches_the_entry(watch: Watch) -> None:
    furnish(watch, "30d", "0d")
    add(watch, "W-1", "1w", MONDAY)
    assert due_ons(watch, "W-1") == weeks(0, 1, 2, 3, 4)

    def widen(act: Act) -> None:
        kind = factories.kind(act, "Permit")
        assert kind
        of_others = RuleText("Permits", kinds=("Permit",), thresholds=("90d",), channels=("in_app",), to=("owner",))
        rules.apply(act, [of_others])

    watch.do(widen)
    watch.scan()
    assert due_ons(watch, "W-1") == weeks(0, 1, 2, 3, 4)  # A rule of another kind does not reach it.
    watch.do(lambda act: rules.apply(act, [RuleText("All", thresholds=("6w",), channels=("in_app",), to=("owner",))]))
    watch.scan()
    assert due_ons(watch, "W-1") == weeks(*range(7))
    assert watch.owed().count == 0


def test_what_was_done_stays_done_and_what_was_missed_stays_open(watch: Watch) -> None:
    """H12: closed, reopened and closed again, nothing comes twice."""
    furnish(watch, "0d")
    subject_id = add(watch, "W-1", "1w", MONDAY)

    def of_monday(act: Act) -> int:
        return obligations.find_obligation(act, register.get_subject(act, subject_id), MONDAY).id

    for _ in range(2):
        assert watch.do(lambda act: obligations.close(act, of_monday(act), "met"))
        assert not watch.do(lambda act: obligations.close(act, of_monday(act), "met"))
        watch.scan()
        assert due_ons(watch, "W-1") == weeks(0, 1)
        assert due_ons(watch, "W-1", "o.closed_at is null") == weeks(1)
        assert watch.do(lambda act: reopenings.reopen(act, of_monday(act), "not_done"))
    for n in range(1, 4):
        noon(watch, MONDAY + n * WEEK).scan()
    assert due_ons(watch, "W-1", "o.closed_at is null") == weeks(0, 1, 2, 3, 4)


def test_after_a_time_without_watch_each_missed_date_is_there(watch: Watch) -> None:
    furnish(watch, "0d", "+7d")
    add(watch, "W-1", "1w", MONDAY)
    watch.scan()
    noon(watch, MONDAY + 37 * DAY).scan(full=False, trigger="schedule")
    assert due_ons(watch, "W-1") == weeks(*range(7))
    assert watch.owed().count == 0


@pytest.mark.parametrize(
    ("first", "opened"), [(MONDAY - 10 * WEEK, weeks(0, 1)), (MONDAY - 10 * WEEK - DAY, [MONDAY + 6 * DAY])]
)
def test_what_lay_before_the_entry_came_is_nobodys_to_watch(
    watch: Watch, first: dt.date, opened: list[dt.date]
) -> None:
    """The date that was given is there, and then the first of today or later."""
    add(watch, "W-1", "1w", first)
    assert due_ons(watch, "W-1") == [first, *opened]


def test_out_of_service_it_opens_nothing_and_then_goes_on_from_that_day(watch: Watch) -> None:
    furnish(watch, "0d")
    subject_id = add(watch, "W-1", "1w", MONDAY)

    def of(act: Act) -> Subject:
        return register.get_subject(act, subject_id)

    watch.do(lambda act: register.take_out_of_service(act, of(act)))
    noon(watch, MONDAY + 8 * WEEK + DAY).scan()
    assert due_ons(watch, "W-1") == weeks(0, 1)
    watch.do(lambda act: register.restore(act, of(act)))
    assert due_ons(watch, "W-1") == weeks(0, 1, 9)


def test_a_draft_and_an_archived_site_open_nothing(watch: Watch) -> None:
    subject_id = add(watch, "D-1", "1w", MONDAY, status="draft")
    watch.scan()
    assert due_ons(watch, "D-1") == weeks(0)
    watch.do(lambda act: register.release(act, register.get_subject(act, subject_id)))
    assert due_ons(watch, "D-1") == weeks(0, 1)
    watch.do(lambda act: people.archive_site(act, factories.site(act)))
    noon(watch, MONDAY + 4 * WEEK).scan()
    assert due_ons(watch, "D-1") == weeks(0, 1)


def test_fixed_days_need_no_first_date_and_an_interval_does(watch: Watch) -> None:
    add(watch, "F-1", "03-31,09-30", None)
    add(watch, "I-1", "1m", None)
    watch.scan()
    assert due_ons(watch, "F-1") == [dt.date(2027, 3, 31)]
    assert due_ons(watch, "I-1") == []


def test_a_changed_recurrence_is_counted_by_the_day_it_was_counted_from(watch: Watch) -> None:
    subject_id = add(watch, "W-1", "1w", MONDAY)

    def change(act: Act) -> None:
        subject = register.get_subject(act, subject_id)
        said = {"kind_id": subject.kind_id, "legal_basis": "", "notes": ""}
        register.amend(act, subject, recurrence="1m", recurrence_basis="calendar", **said)

    watch.do(change)
    noon(watch, MONDAY + 2 * WEEK).scan()
    assert due_ons(watch, "W-1") == [*weeks(0, 1), dt.date(2027, 4, 1)]


def test_a_moved_date_shifts_none_of_the_others(watch: Watch) -> None:
    furnish(watch, "0d")
    subject_id = add(watch, "W-1", "1w", MONDAY)

    def move(act: Act) -> None:
        there = obligations.find_obligation(act, register.get_subject(act, subject_id), MONDAY + WEEK)
        obligations.move(act, there.id, MONDAY + 2 * WEEK, "agreed")

    watch.do(move)
    for n in range(4):
        noon(watch, MONDAY + n * WEEK).scan()
    assert due_ons(watch, "W-1") == weeks(0, 2, 3, 4)  # On its new day it stands for the one of that day.


def test_p1_two_scans_and_an_officer_at_once_open_each_date_once(real_app: Flask) -> None:
    watch = Watch(factories.acme())
    furnish(watch, "30d")
    subject_id = add(watch, "W-1", "1w", MONDAY)
    noon(watch, MONDAY + 5 * WEEK)
    barrier, faults = threading.Barrier(3), list[Exception]()

    def at_once(deed: object) -> None:
        with real_app.app_context():
            barrier.wait()
            try:
                deed()  # type: ignore[operator]
            except Exception as fault:
                faults.append(fault)

    def close(act: Act) -> None:
        there = obligations.find_obligation(act, register.get_subject(act, subject_id), MONDAY)
        obligations.close(act, there.id, "met")

    deeds = (watch.scan, watch.scan, lambda: watch.do(close))
    threads = [threading.Thread(target=at_once, args=(deed,)) for deed in deeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert due_ons(watch, "W-1") == weeks(*range(10))
    events = watch.rows("select count(*) from audit_event where type = 'obligation_opened'")
    assert events == [(10,)]


def test_dates_ahead_go_with_a_rhythm_that_is_changed_and_come_back_with_it(watch: Watch) -> None:
    """Weekly becomes monthly: what nobody has acted on, and is not in the new rhythm, is closed and named; not more."""
    furnish(watch, "30d", "0d")
    subject_id = add(watch, "W", "1w", MONDAY)
    watch.do(lambda act: obligations.move(act, on_day(act, subject_id, MONDAY + WEEK), MONDAY + 8 * DAY, "agreed"))

    def change(recurrence: str | None, basis: str | None = Basis.calendar) -> list[dt.date]:
        def deed(act: Act) -> list[dt.date]:
            entry = register.get_subject(act, subject_id)
            said = {"kind_id": entry.kind_id, "legal_basis": "", "notes": ""}
            register.amend(act, entry, recurrence=recurrence, recurrence_basis=basis, **said)
            return obligations.open_dates(act, subject_id)

        return watch.do(deed)

    weekly = [MONDAY, MONDAY + 8 * DAY, *(MONDAY + n * WEEK for n in range(2, 5))]
    watch.scan()
    assert change("1w") == weekly
    assert change("1m") == [MONDAY, MONDAY + 8 * DAY, dt.date(2027, 4, 1)]
    closed = watch.rows("select detail ->> 'due_on', detail ->> 'source', detail ->> 'reason' from audit_event "
                        "where type = 'obligation_closed' order by id")  # fmt: skip
    assert closed == [((MONDAY + n * WEEK).isoformat(), "rhythm", "replaced") for n in range(2, 5)]
    watch.scan(full=False, trigger="schedule")
    assert watch.owed() == Owed(missing=[], stalled=[], unaddressed=[])
    assert change("1w") == weekly
    assert change("1w", Basis.due) == [MONDAY, MONDAY + 8 * DAY]


def on_day(act: Act, subject_id: int, day: dt.date) -> int:
    return obligations.find_obligation(act, register.get_subject(act, subject_id), day).id
