"""Thresholds: what is accepted, when alerts fall, and that alert day and horizon never contradict each other."""

import re
import zoneinfo
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from itertools import permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.calendars import Calendar, today
from app.domain.errors import Refused
from app.domain.thresholds import (
    LONGEST,
    PATTERN,
    Threshold,
    alert_day,
    asked_on,
    follow_up,
    horizon,
    in_order,
    parse,
    sharpest_first,
)

zoneinfo.reset_tzpath(to=())  # The bundled zone database wins, as app/clock.py has it in production.

DAY = timedelta(days=1)
ANYWHERE = Calendar()
SPAIN, CANARIES = Calendar("ES"), Calendar("ES", "CN")
AMERICA, ISRAEL, EMIRATES, JAPAN = Calendar("US"), Calendar("IL"), Calendar("AE"), Calendar("JP")
VICTORIA, QUEENSLAND = Calendar("AU", "VIC"), Calendar("AU", "QLD")
CALENDARS = [ANYWHERE, SPAIN, CANARIES, AMERICA, ISRAEL, EMIRATES, JAPAN, VICTORIA, QUEENSLAND]

lawfully = settings(deadline=None, database=None, max_examples=400)
calendars = st.sampled_from(CALENDARS)
days = st.dates(date(1990, 1, 1), date(2079, 12, 31))


@st.composite
def thresholds(draw: st.DrawFn) -> str:
    """Any threshold that the grammar allows, short ones more often than ten years."""
    unit = draw(st.sampled_from(sorted(LONGEST)))
    count = draw(st.one_of(st.integers(1, 30), st.integers(1, LONGEST[unit])))
    return draw(st.sampled_from(["0d", f"{count}{unit}", f"+{count}{unit}"]))


def everything_short() -> Iterator[str]:
    """The thresholds that rules are made of, one by one."""
    yield "0d"
    for unit, longest in {"d": 3, "w": 2, "m": 13, "bd": 12}.items():
        for count in range(1, longest + 1):
            yield from (f"{count}{unit}", f"+{count}{unit}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90d", Threshold(90, "d", after=False)),
        ("6w", Threshold(6, "w", after=False)),
        ("3m", Threshold(3, "m", after=False)),
        ("10bd", Threshold(10, "bd", after=False)),
        ("0d", Threshold(0, "d", after=False)),
        ("+7d", Threshold(7, "d", after=True)),
        ("+2w", Threshold(2, "w", after=True)),
        ("+1m", Threshold(1, "m", after=True)),
        ("+5bd", Threshold(5, "bd", after=True)),
        ("3650d", Threshold(3650, "d", after=False)),
        ("+520w", Threshold(520, "w", after=True)),
        ("120m", Threshold(120, "m", after=False)),
        ("+2600bd", Threshold(2600, "bd", after=True)),
    ],
)
def test_canonical_texts_are_read(text: str, expected: Threshold) -> None:
    assert parse(text) == expected
    assert parse(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        *("0w", "0m", "0bd", "+0d", "+0w", "+0bd", "00d", "07d", "+07d", "-7d", "-0d", "++7d", "7d+"),
        *("", " ", " 7d", "7d ", "7 d", "7d\n", "\n7d", "7d\x00", "+ 7d", "7\u00a0d"),
        *(
            "7D",
            "7BD",
            "7Bd",
            "7",
            "d",
            "bd",
            "+",
            "+d",
            "7y",
            "7db",
            "7b",
            "7dd",
            "7dbd",
            "7.0d",
            "1e2d",
            "7d,1d",
            "P7D",
        ),
        *(
            "٧d",
            "1٧d",
            "７d",
            "7ｄ",
            "²d",
            "＋7d",
            "১bd",
            "12345678d",
            pytest.param("9" * 5000 + "d", id="five thousand digits"),
        ),
    ],
)
def test_anything_else_is_refused_with_the_right_form(text: str) -> None:
    assert re.match(PATTERN, text.replace("\n", "?")) is None
    with pytest.raises(Refused, match="90d, 6w, 3m, 10bd or 0d before the due date") as refusal:
        parse(text)
    assert len(str(refusal.value)) < 250


@pytest.mark.parametrize(
    ("text", "longest"),
    [
        ("3651d", "3650d"),
        ("521w", "520w"),
        ("121m", "120m"),
        ("2601bd", "2600bd"),
        ("+3651d", "3650d"),
        ("9999m", "120m"),
    ],
)
def test_more_than_ten_years_is_refused(text: str, longest: str) -> None:
    with pytest.raises(Refused, match=f"longer than ten years: write at most {longest}"):
        parse(text)


@lawfully
@given(thresholds())
def test_every_threshold_reads_back_as_itself_and_fits_the_constraint(text: str) -> None:
    assert parse(text).text == text
    assert re.match(PATTERN, text)


@lawfully
@given(st.text(alphabet="0123456789+-dwmb \n", max_size=8))
def test_whatever_is_accepted_is_canonical(text: str) -> None:
    try:
        accepted = parse(text)
    except Refused:
        return
    assert accepted.text == text


@pytest.mark.parametrize(
    ("text", "before_due", "fifths"),
    [
        ("90d", True, 450),
        ("1d", True, 5),
        ("1w", True, 35),
        ("1m", True, 150),
        ("5bd", True, 35),
        ("1bd", True, 7),
        ("0d", False, 0),
        ("+1d", False, -5),
        ("+5bd", False, -35),
        ("+1m", False, -150),
    ],
)
def test_a_snooze_silences_only_what_warns_before_the_due_date(text: str, before_due: bool, fifths: int) -> None:
    assert parse(text).before_due is before_due
    assert parse(text).nominal_fifths == fifths


@pytest.mark.parametrize(
    ("threshold", "due_on", "calendar", "expected"),
    [
        ("0d", "2027-04-01", ANYWHERE, "2027-04-01"),
        ("30d", "2027-04-01", ANYWHERE, "2027-03-02"),
        ("90d", "2027-04-01", ANYWHERE, "2027-01-01"),
        ("6w", "2027-04-01", ANYWHERE, "2027-02-18"),
        ("+7d", "2027-02-25", ANYWHERE, "2027-03-04"),
        ("+2w", "2028-02-25", ANYWHERE, "2028-03-10"),
        ("1m", "2027-03-31", ANYWHERE, "2027-02-28"),
        ("1m", "2028-03-31", ANYWHERE, "2028-02-29"),
        ("1m", "2027-03-28", ANYWHERE, "2027-02-28"),
        ("3m", "2027-07-31", ANYWHERE, "2027-04-30"),
        ("12m", "2028-02-29", ANYWHERE, "2027-02-28"),
        ("120m", "2028-02-29", ANYWHERE, "2018-02-28"),
        ("+1m", "2027-01-31", ANYWHERE, "2027-02-28"),
        ("+1m", "2027-02-28", ANYWHERE, "2027-03-28"),
        ("1bd", "2027-03-15", ANYWHERE, "2027-03-12"),
        ("1bd", "2027-03-14", ANYWHERE, "2027-03-12"),
        ("10bd", "2027-04-01", ANYWHERE, "2027-03-18"),
        ("+1bd", "2027-03-12", ANYWHERE, "2027-03-15"),
        ("+5bd", "2027-03-12", ANYWHERE, "2027-03-19"),
        ("1bd", "2027-03-29", SPAIN, "2027-03-25"),  # Good Friday is a holiday in Spain,
        ("1bd", "2027-03-29", AMERICA, "2027-03-26"),  # and none in the United States.
        ("1bd", "2028-05-31", CANARIES, "2028-05-29"),  # The Day of the Canary Islands is of the islands only.
        ("1bd", "2028-05-31", SPAIN, "2028-05-30"),
        ("1bd", "2027-03-14", ISRAEL, "2027-03-11"),  # Friday and Saturday are the weekend.
        ("+1bd", "2027-03-11", ISRAEL, "2027-03-14"),
        ("+1bd", "2021-03-18", EMIRATES, "2021-03-21"),  # The weekend moved from Friday and Saturday
        ("+1bd", "2027-03-18", EMIRATES, "2027-03-19"),  # to Saturday and Sunday in 2022.
        ("+1bd", "2019-04-26", JAPAN, "2019-05-07"),  # Ten days off for the new emperor.
        ("1bd", "2026-11-04", VICTORIA, "2026-11-02"),  # Melbourne Cup.
        ("1bd", "2026-11-04", QUEENSLAND, "2026-11-03"),
    ],
)
def test_the_alert_day(threshold: str, due_on: str, calendar: Calendar, expected: str) -> None:
    assert alert_day(threshold, date.fromisoformat(due_on), calendar).isoformat() == expected


@pytest.mark.parametrize(
    ("threshold", "now", "calendar", "expected"),
    [
        ("30d", "2027-03-02", ANYWHERE, "2027-04-01"),
        ("0d", "2027-03-02", ANYWHERE, "2027-03-02"),
        ("+7d", "2027-03-08", ANYWHERE, "2027-03-01"),
        ("1m", "2027-02-27", ANYWHERE, "2027-03-27"),
        ("1m", "2027-02-28", ANYWHERE, "2027-03-31"),  # All of 28 to 31 March clamp to 28 February.
        ("1m", "2027-01-30", ANYWHERE, "2027-02-28"),
        ("+1m", "2027-02-28", ANYWHERE, "2027-01-31"),
        ("+1m", "2027-03-30", ANYWHERE, "2027-02-28"),
        ("1bd", "2027-03-12", ANYWHERE, "2027-03-15"),  # On Friday what is due on Saturday, Sunday and Monday.
        ("1bd", "2027-03-13", ANYWHERE, "2027-03-15"),
        ("+1bd", "2027-03-12", ANYWHERE, "2027-03-11"),
        ("+1bd", "2027-03-14", ANYWHERE, "2027-03-11"),
        ("+1bd", "2027-03-15", ANYWHERE, "2027-03-14"),
        ("1bd", "2027-03-25", SPAIN, "2027-03-29"),
    ],
)
def test_the_horizon(threshold: str, now: str, calendar: Calendar, expected: str) -> None:
    assert horizon(threshold, date.fromisoformat(now), calendar).isoformat() == expected


@pytest.mark.parametrize("bad", ["0w", "7D", "3651d"])
def test_alert_day_and_horizon_refuse_what_is_no_threshold(bad: str) -> None:
    with pytest.raises(Refused):
        alert_day(bad, date(2027, 4, 1), ANYWHERE)
    with pytest.raises(Refused):
        horizon(bad, date(2027, 4, 1), ANYWHERE)


@lawfully
@given(thresholds(), days, st.one_of(st.just(1), st.integers(0, 800)), calendars)
def test_alert_days_never_run_backwards(threshold: str, due_on: date, later: int, calendar: Calendar) -> None:
    assert alert_day(threshold, due_on, calendar) <= alert_day(threshold, due_on + later * DAY, calendar)


@lawfully
@given(thresholds(), days, calendars)
def test_the_horizon_is_the_last_due_date_that_has_crossed(threshold: str, now: date, calendar: Calendar) -> None:
    latest = horizon(threshold, now, calendar)
    assert alert_day(threshold, latest, calendar) <= now
    assert alert_day(threshold, latest + DAY, calendar) > now


@lawfully
@given(thresholds(), days, st.data(), calendars)
def test_within_the_horizon_says_the_same_as_alert_day_has_come(
    threshold: str, now: date, data: st.DataObject, calendar: Calendar
) -> None:
    near = data.draw(st.integers(-40, 40))
    due_on = data.draw(st.one_of(days, st.just(horizon(threshold, now, calendar) + near * DAY)))
    assert (due_on <= horizon(threshold, now, calendar)) == (alert_day(threshold, due_on, calendar) <= now)


@pytest.mark.parametrize("calendar", CALENDARS, ids=lambda calendar: f"{calendar.country}-{calendar.region}")
def test_horizon_and_alert_day_agree_on_each_day_of_a_leap_winter(calendar: Calendar) -> None:
    for threshold in everything_short():
        for number in range(140):  # From before the Christmas holidays until after Easter.
            now = date(2027, 12, 1) + number * DAY
            latest = horizon(threshold, now, calendar)
            assert alert_day(threshold, latest, calendar) <= now < alert_day(threshold, latest + DAY, calendar)


@lawfully
@given(thresholds(), days, st.one_of(st.just(1), st.integers(0, 800)), calendars)
def test_what_has_crossed_stays_crossed(threshold: str, now: date, later: int, calendar: Calendar) -> None:
    assert horizon(threshold, now, calendar) <= horizon(threshold, now + later * DAY, calendar)


@pytest.mark.parametrize(
    ("sharper", "milder", "due_on", "why"),
    [
        ("7d", "30d", "2027-04-01", "the alert day is later"),
        ("0d", "1d", "2027-04-01", "the alert day is later"),
        ("+7d", "0d", "2027-04-01", "the alert day is later"),
        ("+30d", "+7d", "2027-04-01", "the alert day is later"),
        ("30d", "1m", "2027-03-31", "1 March is later than 28 February"),
        ("1m", "31d", "2027-04-30", "30 March is the same day as in 31 days, less one"),
        ("4w", "1m", "2027-03-28", "one alert day, and 28 nominal days are fewer than 30"),
        ("1bd", "3d", "2027-03-15", "one alert day, and 7/5 of a day is fewer than 3"),
        ("+3d", "+1bd", "2027-03-12", "one alert day, and 3 days after are further on than 7/5"),
        ("1w", "7d", "2027-04-01", "one alert day, one length, and the text is smaller"),
        ("5bd", "7d", "2027-04-01", "one alert day, one length, and the text is smaller"),
        ("+1w", "+7d", "2027-04-01", "one alert day, one length, and the text is smaller"),
    ],
)
def test_which_of_two_is_sharper(sharper: str, milder: str, due_on: str, why: str) -> None:
    due = date.fromisoformat(due_on)
    keys = {text: sharpest_first(text, alert_day(text, due, ANYWHERE)) for text in (sharper, milder)}
    assert keys[sharper] < keys[milder], why


@lawfully
@given(st.lists(thresholds(), min_size=2, max_size=4, unique=True), days, calendars)
def test_sharpness_is_a_total_order(texts: list[str], due_on: date, calendar: Calendar) -> None:
    keys = {text: sharpest_first(text, alert_day(text, due_on, calendar)) for text in texts}
    assert len(set(keys.values())) == len(texts)
    orders = {tuple(sorted(order, key=keys.__getitem__)) for order in permutations(texts)}
    assert len(orders) == 1


def test_thresholds_are_listed_with_the_earliest_warning_first() -> None:
    mixed = ["+7d", "0d", "1w", "30d", "+1bd", "7d", "3m", "10bd", "1bd", "+1m", "90d"]
    assert in_order(mixed) == ["90d", "3m", "30d", "10bd", "7d", "1w", "1bd", "0d", "+1bd", "+7d", "+1m"]


@lawfully
@given(st.lists(thresholds(), max_size=8), st.randoms())
def test_the_listing_does_not_depend_on_the_order_of_entry(texts: list[str], chance: Random) -> None:
    shuffled = list(texts)
    chance.shuffle(shuffled)
    listed = in_order(texts)
    assert in_order(shuffled) == listed
    lengths = [parse(text).nominal_fifths for text in listed]
    assert lengths == sorted(lengths, reverse=True)
    assert sorted(listed) == sorted(texts)


@pytest.mark.parametrize(("today", "crossed"), [("2027-03-17", False), ("2027-03-18", True), ("2029-01-01", True)])
@pytest.mark.parametrize("due_on", ["1990-01-01", "2027-03-01", "2079-12-31"])
def test_a_follow_up_names_its_day_whatever_the_due_date(today: str, crossed: bool, due_on: str) -> None:
    asked, calendar = follow_up(date(2027, 3, 18)), Calendar("ES")
    assert (asked, asked_on(asked), asked_on("7d")) == ("@2027-03-18", date(2027, 3, 18), None)
    due, now = date.fromisoformat(due_on), date.fromisoformat(today)
    assert alert_day(asked, due, calendar) == date(2027, 3, 18)
    assert (due <= horizon(asked, now, calendar)) is crossed
    with pytest.raises(Refused):
        parse(asked)  # No rule has one.


def test_h02_the_repeated_hour_is_one_day_and_crosses_once() -> None:
    ticks = [datetime.fromisoformat(text) for text in ("2027-11-07T05:30:00Z", "2027-11-07T06:30:00Z")]
    dates = [today(tick, "America/New_York") for tick in ticks]
    assert dates == [date(2027, 11, 7), date(2027, 11, 7)]
    assert alert_day("30d", date(2027, 12, 7), AMERICA) == date(2027, 11, 7)
    assert {horizon("30d", day, AMERICA) for day in dates} == {date(2027, 12, 7)}
    # The evening before, New York time, it had not crossed.
    assert horizon("30d", today(datetime.fromisoformat("2027-11-07T03:59:59Z"), "America/New_York"), AMERICA) == date(
        2027, 12, 6
    )
