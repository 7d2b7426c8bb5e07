"""Recurrences: what is accepted, and that the day of the month is never lost."""

import re
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import Refused
from app.domain.recurrences import LONGEST, PATTERN, FixedDays, Interval, next_due, occurrence, parse, to_open

lawfully = settings(deadline=None, database=None, max_examples=400)
days = st.dates(date(1990, 1, 1), date(2079, 12, 31))


@st.composite
def recurrences(draw: st.DrawFn) -> str:
    """Any recurrence that the grammar allows."""
    unit = draw(st.sampled_from(sorted(LONGEST)))
    return f"{draw(st.integers(1, LONGEST[unit]))}{unit}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7d", Interval(7, "d")),
        ("2w", Interval(2, "w")),
        ("3m", Interval(3, "m")),
        ("1y", Interval(1, "y")),
        ("3650d", Interval(3650, "d")),
        ("520w", Interval(520, "w")),
        ("120m", Interval(120, "m")),
        ("10y", Interval(10, "y")),
    ],
)
def test_canonical_texts_are_read(text: str, expected: Interval) -> None:
    assert parse(text) == expected
    assert parse(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0d",
        "0y",
        "01y",
        "+1y",
        "-1y",
        " 1y",
        "1y ",
        "1 y",
        "1y\n",
        "1Y",
        "1",
        "y",
        "5bd",
        "1.5y",
        "١y",
        "1١d",
        "１y",
        "1yy",
    ],
)
def test_anything_else_is_refused_with_the_right_form(text: str) -> None:
    assert re.fullmatch(PATTERN, text) is None
    with pytest.raises(Refused, match="7d, 2w, 3m or 1y"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "longest"), [("3651d", "3650d"), ("521w", "520w"), ("121m", "120m"), ("11y", "10y"), ("9999y", "10y")]
)
def test_more_than_ten_years_is_refused(text: str, longest: str) -> None:
    with pytest.raises(Refused, match=f"longer than ten years: write at most {longest}"):
        parse(text)


@pytest.mark.parametrize(
    ("anchor", "recurrence", "n", "expected"),
    [
        ("2027-03-05", "1w", 1, "2027-03-12"),
        ("2027-03-05", "7d", 0, "2027-03-05"),
        ("2027-03-05", "7d", 3, "2027-03-26"),
        ("2027-03-05", "7d", -1, "2027-02-26"),
        ("2027-08-31", "6m", 1, "2028-02-29"),
        ("2027-08-31", "6m", 2, "2028-08-31"),
        ("2027-11-30", "3m", 1, "2028-02-29"),
        ("2028-02-29", "2y", 1, "2030-02-28"),
        ("2028-02-29", "2y", 2, "2032-02-29"),
    ],
)
def test_the_nth_occurrence(anchor: str, recurrence: str, n: int, expected: str) -> None:
    assert occurrence(date.fromisoformat(anchor), recurrence, n).isoformat() == expected


@pytest.mark.parametrize(
    ("anchor", "recurrence", "after", "expected"),
    [
        ("2027-01-31", "1m", "2027-01-30", "2027-01-31"),  # Before the anchor, the anchor is next.
        ("2027-01-31", "1m", "2020-06-01", "2027-01-31"),
        ("2027-01-31", "1m", "2027-01-31", "2027-02-28"),  # Strictly after.
        ("2027-01-31", "1m", "2027-02-27", "2027-02-28"),
        ("2027-01-31", "1m", "2027-02-28", "2027-03-31"),  # The 31st comes back.
        ("2027-01-31", "3m", "2027-04-29", "2027-04-30"),
        ("2027-01-31", "3m", "2027-05-31", "2027-07-31"),
        ("2028-02-29", "1y", "2031-02-28", "2032-02-29"),
        ("2027-03-05", "1w", "2027-03-11", "2027-03-12"),
        ("2027-03-05", "1w", "2027-03-12", "2027-03-19"),
        ("2027-03-05", "1w", "2027-03-04", "2027-03-05"),
        ("2027-03-05", "10d", "2026-01-01", "2027-03-05"),
    ],
)
def test_the_next_due_date(anchor: str, recurrence: str, after: str, expected: str) -> None:
    assert next_due(date.fromisoformat(anchor), recurrence, date.fromisoformat(after)).isoformat() == expected


def test_h11_monthly_on_the_31st_clamps_and_comes_back() -> None:
    ends = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    expected = [date(2027, month, day) for month, day in enumerate(ends, start=1)]
    expected += [date(2028, 1, 31), date(2028, 2, 29)]
    anchor = date(2027, 1, 31)
    assert [occurrence(anchor, "1m", n) for n in range(14)] == expected
    # Completed each on its due date, the next one is the same series.
    walked = [anchor]
    while len(walked) < 14:
        walked.append(next_due(anchor, "1m", walked[-1]))
    assert walked == expected


@pytest.mark.parametrize("recurrence", ["1y", "12m"])
def test_h11_yearly_on_29_february_returns_to_the_29th(recurrence: str) -> None:
    expected = ["2028-02-29", "2029-02-28", "2030-02-28", "2031-02-28", "2032-02-29"]
    anchor = date(2028, 2, 29)
    assert [occurrence(anchor, recurrence, n).isoformat() for n in range(5)] == expected
    walked = [anchor]
    while len(walked) < 5:
        walked.append(next_due(anchor, recurrence, walked[-1]))
    assert [day.isoformat() for day in walked] == expected


@lawfully
@given(recurrences())
def test_every_recurrence_reads_back_as_itself(text: str) -> None:
    assert parse(text).text == text
    assert re.match(PATTERN, text)


@lawfully
@given(days, recurrences(), st.integers(0, 40))
def test_h11_the_day_of_the_month_is_kept_wherever_the_month_has_it(anchor: date, recurrence: str, n: int) -> None:
    due_on = occurrence(anchor, recurrence, n)
    assert due_on < occurrence(anchor, recurrence, n + 1)
    if parse(recurrence).unit in {"m", "y"}:
        last_of_month = (due_on.replace(day=1) + timedelta(days=31)).replace(day=1) - timedelta(days=1)
        assert due_on.day == min(anchor.day, last_of_month.day)


@lawfully
@given(days, recurrences(), st.one_of(days, st.integers(-400, 400)))
def test_the_next_due_date_is_the_first_after(anchor: date, recurrence: str, after: date | int) -> None:
    limit = anchor + timedelta(days=after) if isinstance(after, int) else after
    found = next_due(anchor, recurrence, limit)
    assert found > limit
    n = 0
    while occurrence(anchor, recurrence, n) <= limit:
        n += max(1, (limit - occurrence(anchor, recurrence, n)).days // (40 * 366))
    assert occurrence(anchor, recurrence, n) == found


@pytest.mark.parametrize(
    ("text", "days"),
    [("03-31", ((3, 31),)), ("03-31,06-30,09-30,12-31", ((3, 31), (6, 30), (9, 30), (12, 31))), ("02-29", ((2, 29),))],
)
def test_fixed_days_of_the_year_are_read(text: str, days: tuple[tuple[int, int], ...]) -> None:
    assert parse(text) == FixedDays(days)
    assert parse(text).text == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("13-01", "no day of the year"),
        ("00-10", "no day of the year"),
        ("02-30", "no day of the year"),
        ("04-31", "no day of the year"),
        ("31-03", "no day of the year"),
        ("09-30,03-31", "in their order"),
        ("03-31,03-31", "in their order"),
        (",".join(f"01-{day:02}" for day in range(1, 26)), "at most 24"),
        ("03-31,", "not a recurrence"),
        ("3-31", "not a recurrence"),
        ("03-31, 09-30", "not a recurrence"),
        ("٠٣-٣١", "not a recurrence"),
    ],
)
def test_other_days_are_refused(text: str, said: str) -> None:
    with pytest.raises(Refused, match=said):
        parse(text)


@pytest.mark.parametrize(
    ("anchor", "text", "after", "due_on"),
    [
        (date(2027, 1, 1), "03-31,09-30", date(2027, 3, 30), date(2027, 3, 31)),
        (date(2027, 1, 1), "03-31,09-30", date(2027, 3, 31), date(2027, 9, 30)),
        (date(2027, 1, 1), "03-31,09-30", date(2027, 9, 30), date(2028, 3, 31)),
        (date(2029, 1, 1), "03-31", date(2027, 3, 1), date(2029, 3, 31)),  # Not before it began.
        (date(2027, 1, 1), "02-29", date(2027, 1, 1), date(2027, 2, 28)),
        (date(2027, 1, 1), "02-29", date(2027, 2, 28), date(2028, 2, 29)),
        (date(2027, 1, 1), "02-28,02-29", date(2027, 1, 1), date(2027, 2, 28)),  # One day, where both are the same.
        (date(2027, 1, 1), "02-28,02-29", date(2027, 2, 28), date(2028, 2, 28)),
        (date(2027, 1, 1), "02-28,02-29", date(2028, 2, 28), date(2028, 2, 29)),
    ],
)
def test_fixed_days_follow_each_other(anchor: date, text: str, after: date, due_on: date) -> None:
    assert next_due(anchor, text, after) == due_on


MONDAY = date(2027, 1, 4)
WEEK = timedelta(weeks=1)


@pytest.mark.parametrize(
    ("opened", "today", "horizon", "opens"),
    [
        (MONDAY, MONDAY, MONDAY, [1]),  # The one of today is here, so the next one is shown ahead.
        (MONDAY, MONDAY - WEEK, MONDAY - WEEK, []),  # The one ahead is there.
        (MONDAY, MONDAY, MONDAY + 16 * timedelta(days=1), [1, 2]),  # Up to the horizon of 16 days.
        (MONDAY + 2 * WEEK, MONDAY, MONDAY + 16 * timedelta(days=1), []),
        (MONDAY, MONDAY + 4 * WEEK, MONDAY - WEEK, [1, 2, 3, 4, 5]),  # What was missed is there, and stays.
        (MONDAY, MONDAY + 31 * timedelta(days=1), MONDAY, [1, 2, 3, 4, 5]),
    ],
)
def test_a_calendar_series_is_opened_ahead(opened: date, today: date, horizon: date, opens: list[int]) -> None:
    assert to_open(MONDAY, "1w", opened, today, horizon) == [MONDAY + n * WEEK for n in opens]


@lawfully
@given(days, recurrences(), st.integers(0, 900), st.integers(-100, 400))
def test_opening_day_by_day_or_at_once_is_the_same(anchor: date, text: str, later: int, ahead: int) -> None:
    """However often the watch looks, no date is left out and none comes twice."""
    if anchor.year > 2070:
        anchor = anchor.replace(year=2070, day=min(anchor.day, 28))
    day = timedelta(days=1)
    horizon = (anchor + later * day) + ahead * day
    at_once = to_open(anchor, text, anchor, anchor + later * day, horizon)
    by_steps, opened = [], anchor
    for step in range(0, later + 1, 7):
        by_steps += (new := to_open(anchor, text, opened, anchor + step * day, anchor + (step + ahead) * day))
        opened = new[-1] if new else opened
    by_steps += to_open(anchor, text, opened, anchor + later * day, horizon)
    assert by_steps == at_once
    assert at_once == sorted(set(at_once))


def test_h11_a_weekly_series_never_leaves_its_day_of_the_week_in_three_years() -> None:
    assert to_open(MONDAY, "1w", MONDAY, date(2030, 1, 7), MONDAY) == [MONDAY + n * WEEK for n in range(1, 159)]
