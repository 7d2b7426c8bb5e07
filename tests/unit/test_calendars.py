"""Calendars: business days of countries and regions, the date at a site, and when a day begins there."""

import sys
import threading
import zoneinfo
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.calendars import Calendar, check_zone, known_country, known_region, not_before, today, working_day_ago
from app.domain.errors import Refused, UnusableZone

zoneinfo.reset_tzpath(to=())  # The bundled zone database wins, as app/clock.py has it in production.

DAY, SECOND = timedelta(days=1), timedelta(seconds=1)
MIDNIGHT = time(0)
ZONES = sorted(zoneinfo.available_timezones())
CALENDARS = [
    Calendar(),
    Calendar("ES", "CN"),
    Calendar("US"),
    Calendar("IL"),
    Calendar("AE"),
    Calendar("JP"),
    Calendar("CN"),
    Calendar("AU", "VIC"),
]

lawfully = settings(deadline=None, database=None, max_examples=400)


def at(text: str) -> datetime:
    """An instant, written as in the cases."""
    return datetime.fromisoformat(text)


def flips(zone: str, start: datetime, end: datetime) -> Iterator[tuple[datetime, date]]:
    """Each minute at which the date at the site changes, with the new date."""
    instant = start
    while instant < end:
        if today(instant, zone) != today(instant - SECOND, zone):
            yield instant, today(instant, zone)
        instant += timedelta(minutes=1)


@pytest.mark.parametrize(
    ("country", "region", "day", "open_"),
    [
        (None, None, "2027-03-12", True),  # A Friday, a Saturday, a Sunday.
        (None, None, "2027-03-13", False),
        (None, None, "2027-03-14", False),
        (None, None, "2028-12-25", True),  # Without a country no holiday is known.
        (None, "VIC", "2026-11-03", True),
        ("XX", None, "2028-12-25", True),
        ("XX", None, "2027-03-13", False),
        ("", None, "2028-12-25", True),
        ("ES", None, "2028-12-25", False),
        ("ES", None, "2028-12-31", False),  # The 366th day of its year, a Sunday.
        ("es", None, "2028-12-25", False),
        ("ESP", None, "2028-12-25", False),
        ("ES", None, "2027-03-26", False),  # Good Friday.
        ("US", None, "2027-03-26", True),
        ("US", None, "2021-12-31", False),  # New Year's Day of 2022, observed in the year before.
        ("ES", "CN", "2028-05-30", False),
        ("ES", "cn", "2028-05-30", False),
        ("ES", "ES-CN", "2028-05-30", False),
        ("ES", "Canarias", "2028-05-30", False),
        ("ES", "CT", "2028-05-30", True),
        ("ES", None, "2028-05-30", True),
        ("ES", "ZZ", "2028-05-30", True),  # An unknown region has the holidays of its country.
        ("ES", "ZZ", "2028-12-25", False),
        ("ES", "", "2028-12-25", False),
        ("AU", "VIC", "2026-11-03", False),
        ("AU", "NSW", "2026-11-03", True),
        ("IL", None, "2027-03-12", False),
        ("IL", None, "2027-03-13", False),
        ("IL", None, "2027-03-14", True),
        ("AE", None, "2021-03-19", False),  # Friday belonged to the weekend until 2021,
        ("AE", None, "2021-03-21", True),
        ("AE", None, "2022-03-18", True),  # and Sunday does since 2022.
        ("AE", None, "2022-03-20", False),
        ("CN", None, "2024-02-04", True),  # A Sunday on which people worked for the days off at New Year.
        ("CN", None, "2024-02-12", False),
        ("CN", None, "2024-02-25", False),  # An ordinary Sunday.
        ("ECB", None, "2027-03-26", True),  # A stock exchange of the library is no country.
        ("UnitedStates", None, "2028-12-25", True),
    ],
)
def test_business_days(country: str | None, region: str | None, day: str, open_: bool) -> None:
    assert Calendar(country, region).is_business_day(date.fromisoformat(day)) is open_


@pytest.mark.parametrize(
    ("code", "known"),
    [("ES", True), ("es", True), ("GBR", True), ("AE", True), ("XX", False), ("", False), ("ß", False), ("ECB", False)],
)
def test_which_countries_are_known(code: str, known: bool) -> None:
    assert known_country(code) is known


@pytest.mark.parametrize(
    ("country", "region", "known"),
    [("ES", "CT", True), ("ES", "es-ct", True), ("AU", "NSW", True), ("ES", "ZZ", False), ("XX", "CT", False)],
)
def test_which_regions_are_known(country: str, region: str, known: bool) -> None:
    assert known_region(country, region) is known


@pytest.mark.parametrize(
    ("day", "count", "expected"),
    [
        ("2027-03-12", 0, "2027-03-12"),
        ("2027-03-13", 0, "2027-03-13"),
        ("2027-03-12", 1, "2027-03-15"),
        ("2027-03-13", 1, "2027-03-15"),
        ("2027-03-15", -1, "2027-03-12"),
        ("2027-03-14", -1, "2027-03-12"),
        ("2027-03-12", 260, "2028-03-10"),
    ],
)
def test_counting_business_days(day: str, count: int, expected: str) -> None:
    assert Calendar().business_day_offset(date.fromisoformat(day), count).isoformat() == expected


@lawfully
@given(st.dates(date(1990, 1, 1), date(2079, 12, 31)), st.integers(1, 60), st.sampled_from(CALENDARS), st.booleans())
def test_exactly_so_many_business_days_are_passed(day: date, count: int, calendar: Calendar, back: bool) -> None:
    there = calendar.business_day_offset(day, -count if back else count)
    assert calendar.is_business_day(there)
    first, last = (there, day - DAY) if back else (day + DAY, there)
    passed = [first + number * DAY for number in range((last - first).days + 1)]
    assert sum(calendar.is_business_day(each) for each in passed) == count


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        pytest.param("2027-05-06", "2027-05-05T22:00:00+00:00", id="a Thursday: whatever was said before it"),
        pytest.param("2027-05-10", "2027-05-09T22:00:00+00:00", id="a Monday: on Friday or at the weekend"),
        pytest.param("2027-05-09", "2027-05-06T22:00:00+00:00", id="a Sunday: before Friday"),
        pytest.param("2027-05-03", "2027-04-29T22:00:00+00:00", id="a holiday in Madrid, after a weekend"),
    ],
)
def test_a_working_day_ago(day: str, expected: str) -> None:
    there = Calendar("ES", "MD")
    assert working_day_ago(date.fromisoformat(day), there, "Europe/Madrid").isoformat() == expected


def test_threads_never_see_a_half_filled_year() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # Threads change places so often that a year filled in the open would be seen.
    try:
        for year in range(1942, 1975):  # Years of which no other test asks, so that nothing is remembered.
            assert _answers_of_eight_threads(_thanksgiving(year)) == [False] * 8
    finally:
        sys.setswitchinterval(interval)


def _thanksgiving(year: int) -> date:
    """The fourth Thursday of November, as the law has it since 1942."""
    latest = date(year, 11, 28)
    return latest - (latest.weekday() - 3) % 7 * DAY


def _answers_of_eight_threads(day: date) -> list[bool]:
    start = threading.Barrier(8)
    answers: list[bool] = []

    def ask() -> None:
        start.wait()
        answers.append(Calendar("US").is_business_day(day))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


@pytest.mark.parametrize(
    "zone",
    [
        *("Mars/Olympus", "/etc/passwd", "/usr/share/zoneinfo/UTC", "", " ", ".", "..", "../x", "./UTC", "America"),
        *("America/Argentina", "America/", "America/../UTC", "Europe//Madrid", " Europe/Madrid", "Europe/Madrid\n"),
        *(
            "Europe/Madrid\x00",
            "\ud800",
            "zone.tab",
            "tzdata.zi",
            "__init__.py",
            "UTC+1",
            pytest.param("x" * 5000, id="a name too long"),
        ),
        *(None, 5, b"UTC", ["UTC"]),
    ],
)
def test_a_zone_that_cannot_be_loaded_is_named_and_never_utc(zone: str) -> None:
    for ask in (
        lambda: today(at("2027-03-01T12:00:00Z"), zone),
        lambda: check_zone(zone),
        lambda: not_before(date(2027, 3, 1), MIDNIGHT, zone),
    ):
        with pytest.raises(UnusableZone) as refusal:
            ask()
        assert repr(zone)[:20] in str(refusal.value)
        assert isinstance(refusal.value, Refused)
        assert len(str(refusal.value)) < 250


@pytest.mark.parametrize("zone", ["UTC", "Europe/Madrid", "America/Argentina/Ushuaia", "Asia/Kathmandu"])
def test_a_usable_zone_passes(zone: str) -> None:
    check_zone(zone)


def test_an_instant_without_offset_has_no_date() -> None:
    with pytest.raises(ValueError, match="without an offset"):
        today(datetime(2027, 3, 1, 12), "Europe/Madrid")  # noqa: DTZ001 (the naive instant is what is tested)


def test_the_offset_of_the_instant_plays_no_part() -> None:
    late = at("2027-03-01T23:30:00Z")
    assert today(late, "Europe/Madrid") == date(2027, 3, 2)
    assert today(late.astimezone(timezone(timedelta(hours=-11))), "Europe/Madrid") == date(2027, 3, 2)


@pytest.mark.parametrize(
    ("day", "alert_from", "zone", "expected"),
    [
        ("2027-03-01", "00:00", "UTC", "2027-03-01T00:00:00Z"),
        ("2027-03-01", "08:00", "Europe/Madrid", "2027-03-01T07:00:00Z"),
        ("2027-07-01", "08:00", "Europe/Madrid", "2027-07-01T06:00:00Z"),
        ("2027-03-01", "00:00", "Pacific/Kiritimati", "2027-02-28T10:00:00Z"),
        # What the clock skips begins when it has jumped: at midnight, at two, by thirty minutes, by a whole day.
        ("2027-09-05", "00:00", "America/Santiago", "2027-09-05T04:00:00Z"),
        ("2027-09-05", "00:59", "America/Santiago", "2027-09-05T04:00:00Z"),
        ("2027-09-05", "01:00", "America/Santiago", "2027-09-05T04:00:00Z"),
        ("2027-03-28", "02:30", "Europe/Madrid", "2027-03-28T01:00:00Z"),
        ("2027-10-03", "02:10", "Australia/Lord_Howe", "2027-10-02T15:30:00Z"),
        ("2011-12-30", "08:30", "Pacific/Apia", "2011-12-30T10:00:00Z"),
        # What comes twice begins the first time.
        ("2027-11-07", "01:30", "America/New_York", "2027-11-07T05:30:00Z"),
        ("2027-04-03", "23:30", "America/Santiago", "2027-04-04T02:30:00Z"),
        ("2027-04-04", "00:00", "America/Santiago", "2027-04-04T04:00:00Z"),
        ("2027-04-04", "01:45", "Australia/Lord_Howe", "2027-04-03T14:45:00Z"),
    ],
)
def test_the_instant_from_which_alerts_go_out(day: str, alert_from: str, zone: str, expected: str) -> None:
    begins = not_before(date.fromisoformat(day), time.fromisoformat(alert_from), zone)
    assert begins == at(expected)
    assert begins.tzinfo is UTC


@lawfully
@given(
    st.dates(date(1990, 1, 1), date(2079, 12, 31)),
    st.times().map(lambda value: value.replace(second=0, microsecond=0)),
    st.sampled_from(ZONES),
)
def test_that_instant_is_the_first_at_which_the_local_clock_is_there(day: date, alert_from: time, zone: str) -> None:
    begins = not_before(day, alert_from, zone)
    wall = datetime.combine(day, alert_from)
    local = zoneinfo.ZoneInfo(zone)
    assert begins.astimezone(local).replace(tzinfo=None) >= wall
    assert (begins - SECOND).astimezone(local).replace(tzinfo=None) < wall


@pytest.mark.parametrize(
    ("zone", "days_left", "first_overdue"),
    [
        ("Pacific/Kiritimati", -1, "2026-11-30T10:00:00Z"),
        ("Pacific/Apia", 0, "2026-11-30T11:00:00Z"),
        ("Pacific/Pago_Pago", 1, "2026-12-01T11:00:00Z"),
    ],
)
def test_h08_one_instant_has_three_dates(zone: str, days_left: int, first_overdue: str) -> None:
    due_on = date(2026, 11, 30)
    assert (due_on - today(at("2026-11-30T10:30:00Z"), zone)).days == days_left
    assert today(at(first_overdue), zone) > due_on
    assert today(at(first_overdue) - SECOND, zone) == due_on


@pytest.mark.parametrize(
    ("zone", "day", "begins", "ends", "hours"),
    [
        ("America/Santiago", "2027-09-05", "2027-09-05T04:00:00Z", "2027-09-06T03:00:00Z", 23),
        ("Australia/Lord_Howe", "2027-10-03", "2027-10-02T13:30:00Z", "2027-10-03T13:00:00Z", 23.5),
        ("Australia/Lord_Howe", "2027-04-04", "2027-04-03T13:00:00Z", "2027-04-04T13:30:00Z", 24.5),
        ("Asia/Kathmandu", "2027-03-31", "2027-03-30T18:15:00Z", "2027-03-31T18:15:00Z", 24),
        ("Europe/Madrid", "2027-03-28", "2027-03-27T23:00:00Z", "2027-03-28T22:00:00Z", 23),
    ],
)
def test_h09_the_date_flips_exactly_where_the_day_begins_and_nowhere_else(
    zone: str, day: str, begins: str, ends: str, hours: float
) -> None:
    this = date.fromisoformat(day)
    start, end = at(begins), at(ends)
    around = list(flips(zone, start - timedelta(hours=20), end + timedelta(hours=20)))
    assert around == [(start, this), (end, this + DAY)]
    assert end - start == timedelta(hours=hours)
    assert (not_before(this, MIDNIGHT, zone), not_before(this + DAY, MIDNIGHT, zone)) == (start, end)


def test_h09_in_santiago_what_is_due_on_the_short_day_is_overdue_after_23_hours() -> None:
    due_on = date(2027, 9, 5)
    assert today(at("2027-09-06T02:59:59Z"), "America/Santiago") == due_on
    assert today(at("2027-09-06T03:00:00Z"), "America/Santiago") > due_on


def test_h09_in_madrid_47_hours_are_two_days() -> None:
    first, second = date(2027, 3, 27), date(2027, 3, 29)
    span = [not_before(day, MIDNIGHT, "Europe/Madrid") for day in (first, second)]
    assert span[1] - span[0] == timedelta(hours=47)
    assert (today(span[1], "Europe/Madrid") - today(span[0], "Europe/Madrid")).days == 2


def test_h10_vancouver_keeps_its_summer_time_by_the_bundled_zone_database() -> None:
    now = at("2027-01-15T07:30:00Z")
    assert today(now, "America/Vancouver") == date(2027, 1, 15)
    assert today(at("2027-01-15T06:59:59Z"), "America/Vancouver") == date(2027, 1, 14)
