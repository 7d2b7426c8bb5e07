"""Days off: how they are counted beside public holidays, once and every year, and that the oracle reads them alike."""

from __future__ import annotations

import datetime as dt

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.calendars import DAY, Calendar, public_holidays
from app.domain.days_off import DayOff, calendar_of
from app.domain.thresholds import alert_day, horizon
from app.queries.days_off import DayOffLine, special_days
from app.queries.facts import DayOffRow, SiteRow
from app.queries.owed import calendar_at

FROM, UNTIL = dt.date(2026, 1, 1), dt.date(2029, 12, 31)
days = st.dates(FROM, UNTIL)
periods = st.builds(
    lambda day, length, again: DayOff(day, day + dt.timedelta(days=length), again),
    days,
    st.integers(0, 20),
    st.booleans(),
)


def off(first: str, last: str | None = None, is_yearly: bool = False) -> DayOff:
    return DayOff(dt.date.fromisoformat(first), dt.date.fromisoformat(last or first), is_yearly)


def test_business_days_are_counted_around_days_off() -> None:
    """The week before Friday, 26 March 2027, and the weekend in it."""
    due = dt.date(2027, 3, 26)
    assert alert_day("5bd", due, calendar_of("ES", None, [])) == dt.date(2027, 3, 19)
    shut = calendar_of("ES", None, [off("2027-03-22", "2027-03-24"), off("2001-03-19", is_yearly=True)])
    assert alert_day("5bd", due, shut) == dt.date(2027, 3, 15)
    assert alert_day("5d", due, shut) == dt.date(2027, 3, 21), "other thresholds know no calendar"


def test_a_period_of_each_year_over_new_year_and_over_the_end_of_february() -> None:
    calendar = calendar_of(None, None, [off("2020-12-30", "2021-01-04", True), off("2027-02-26", "2027-03-01", True)])
    closed = ["2026-12-30", "2026-12-31", "2027-01-01", "2027-01-04", "2028-02-28", "2028-02-29", "2028-03-01"]
    opened = ["2026-12-29", "2027-01-05", "2028-02-25", "2028-03-02"]
    assert [day for day in closed if calendar.is_business_day(dt.date.fromisoformat(day))] == []
    assert [day for day in opened if not calendar.is_business_day(dt.date.fromisoformat(day))] == []


@settings(deadline=None, database=None, max_examples=60)
@given(st.lists(st.tuples(st.sampled_from([None, 1, 2]), periods), max_size=6), days, st.sampled_from(["3bd", "+4bd"]))
def test_the_oracle_counts_the_same_days_and_crossing_is_still_one_question(
    rows: list[tuple[int | None, DayOff]], today: dt.date, threshold: str
) -> None:
    there = [DayOffRow(at, one.on_day, one.until_day, one.is_yearly) for at, one in rows]
    calendar = calendar_of("ES", "CT", [one for at, one in rows if at in (None, 1)])
    assert calendar_at(SiteRow(1, "Madrid", "Europe/Madrid", "ES", "CT"), there) == calendar
    reached = horizon(threshold, today, calendar)
    assert alert_day(threshold, reached, calendar) <= today < alert_day(threshold, reached + dt.timedelta(1), calendar)


def test_a_calendar_shows_the_days_that_are_not_like_others_of_their_name() -> None:
    lines = [
        DayOffLine(1, None, None, "Bridge", off("2027-10-11")),
        DayOffLine(2, 1, "Madrid", "A Sunday", off("2027-10-10")),
    ]
    spain = calendar_of("ES", "MD", [line.period for line in lines])
    found = {row.day: row for row in special_days(spain, lines, dt.date(2027, 10, 4))}
    assert [day.day for day in found if (day.year, day.month) == (2027, 10)] == [11, 12]
    assert (found[dt.date(2027, 10, 11)].own, found[dt.date(2027, 10, 11)].holiday) == (["Bridge"], None)
    feast = dt.date(2027, 10, 12)
    assert found[feast].holiday == public_holidays(spain, feast, feast, "en")[feast] == "National Day"
    assert public_holidays(spain, feast, feast, "es")[feast] == "Fiesta Nacional de España"
    assert set(public_holidays(Calendar("JP"), feast, feast + 90 * DAY, "es").values()) >= {"Culture Day"}
    china = special_days(Calendar("CN"), [], dt.date(2026, 1, 1))
    assert {row.is_open for row in china} == {True, False}, "weekends on which people work are shown, too"
    assert special_days(Calendar(), [], dt.date(2027, 1, 1)) == []
