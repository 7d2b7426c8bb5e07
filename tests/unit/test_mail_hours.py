"""When an e-mail goes: tables of local hours, nights, days off and clock changes, and what holds for all of them."""

import zoneinfo
from datetime import UTC, date, datetime, time, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.calendars import Calendar, not_before
from app.domain.delivery import TimedBy
from app.domain.errors import Refused
from app.domain.mail_hours import Due, Hours, Plan, Rest, after_rest, plan

zoneinfo.reset_tzpath(to=())  # The bundled zone database wins, as app/clock.py has it in production.

MADRID, LISBON, ADELAIDE = "Europe/Madrid", "Europe/Lisbon", "Australia/Adelaide"
NIGHT = Rest(time(20), time(6))
LUNCH = Rest(time(12), time(14))
NIGHT_AND_DAYS_OFF = Rest(time(20), time(6), days_off=True)
EIGHT = time(8)
NO_REST = Rest()
DAYS_OFF = Rest(days_off=True)
FAR = "2028-01-01"  # A due date that hurries nobody.


def local(text: str, zone: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zoneinfo.ZoneInfo(zone)).astimezone(UTC)


def hours(zone: str, daily_at: time | None = None, rest: Rest = NO_REST, country: str | None = None) -> Hours:
    return Hours(zone, Calendar(country), daily_at, rest)


NIGHTLY, OFF = hours(MADRID, rest=NIGHT), hours(MADRID, rest=NIGHT_AND_DAYS_OFF)


def planned(of: Hours, ready: str, due: str, site: str | None = None) -> tuple[str, str | None]:
    """The local minute and the reason; a due date may name another zone than the person's."""
    found = plan(local(ready, of.timezone), Due(date.fromisoformat(due), site or of.timezone), of)
    return f"{found.at.astimezone(zoneinfo.ZoneInfo(of.timezone)):%Y-%m-%d %H:%M}", found.timed_by


# 2027-03-05 is a Friday, 2027-03-28 the Sunday on which the clocks of Europe go forward.
@pytest.mark.parametrize(
    ("of", "ready", "due", "at", "by"),
    [
        pytest.param(hours(MADRID), "2027-03-05 23:30", FAR, "2027-03-05 23:30", None, id="at once"),
        # Once a day, on working days.
        pytest.param(hours(MADRID, EIGHT), "2027-03-04 07:59", FAR, "2027-03-04 08:00", "daily", id="today"),
        pytest.param(hours(MADRID, EIGHT), "2027-03-04 08:00", FAR, "2027-03-04 08:00", None, id="this minute"),
        pytest.param(hours(MADRID, EIGHT), "2027-03-04 08:01", FAR, "2027-03-05 08:00", "daily", id="tomorrow"),
        pytest.param(hours(MADRID, EIGHT), "2027-03-05 08:01", FAR, "2027-03-08 08:00", "daily", id="over the weekend"),
        pytest.param(
            hours(MADRID, EIGHT, country="ES"), "2027-10-11 09:00", FAR, "2027-10-13 08:00", "daily", id="a holiday"
        ),
        pytest.param(hours(MADRID, EIGHT), "2027-10-11 09:00", FAR, "2027-10-12 08:00", "daily", id="no country"),
        pytest.param(hours(MADRID, time(5), NIGHT), "2027-03-04 21:00", FAR, "2027-03-05 06:00", "daily", id="rested"),
        # Due within two working days, or overdue: at once.
        pytest.param(hours(MADRID, EIGHT), "2027-03-04 09:00", "2027-03-08", "2027-03-04 09:00", "due_soon", id="soon"),
        pytest.param(hours(MADRID, EIGHT), "2027-03-04 09:00", "2027-03-09", "2027-03-05 08:00", "daily", id="later"),
        pytest.param(hours(MADRID, EIGHT), "2027-03-04 09:00", "2027-03-01", "2027-03-04 09:00", "due_soon", id="late"),
        pytest.param(
            hours(MADRID, EIGHT, NIGHT), "2027-03-04 21:00", "2027-03-05", "2027-03-05 06:00", "rest", id="a night"
        ),
        # Rest: the hour at which it begins is rest, the hour at which it ends is not.
        pytest.param(NIGHTLY, "2027-03-04 19:59", FAR, "2027-03-04 19:59", None, id="before"),
        pytest.param(NIGHTLY, "2027-03-04 20:00", FAR, "2027-03-05 06:00", "rest", id="begins"),
        pytest.param(NIGHTLY, "2027-03-05 05:59", FAR, "2027-03-05 06:00", "rest", id="after midnight"),
        pytest.param(NIGHTLY, "2027-03-05 06:00", FAR, "2027-03-05 06:00", None, id="ends"),
        pytest.param(hours(MADRID, rest=LUNCH), "2027-03-05 13:00", FAR, "2027-03-05 14:00", "rest", id="within a day"),
        pytest.param(
            OFF, "2027-03-05 21:00", FAR, "2027-03-08 06:00", "day_off", id="weekend"
        ),
        pytest.param(
            hours(MADRID, rest=DAYS_OFF), "2027-03-06 10:00", FAR, "2027-03-08 00:00", "day_off", id="days"
        ),
        # It gives way when waiting would pass the due date, and no further than it must.
        pytest.param(
            NIGHTLY, "2027-03-04 21:00", "2027-03-04", "2027-03-04 21:00", "despite_rest", id="today"
        ),
        pytest.param(NIGHTLY, "2027-03-05 00:00", "2027-03-05", "2027-03-05 06:00", "rest", id="in time"),
        pytest.param(NIGHTLY, "2027-03-04 21:00", "2027-03-03", "2027-03-05 06:00", "rest", id="overdue"),
        pytest.param(
            OFF, "2027-03-06 00:00", "2027-03-06", "2027-03-06 06:00", "despite_rest",
            id="a day off gives way, the night does not",
        ),
        pytest.param(
            OFF, "2027-03-05 21:00", "2027-03-07", "2027-03-06 06:00", "despite_rest",
            id="a weekend gives way, its night does not",
        ),
        pytest.param(
            hours(MADRID, rest=Rest(time(20), time(0))), "2027-03-04 21:00", "2027-03-04", "2027-03-04 21:00",
            "despite_rest", id="the end of the day is too late",
        ),
        pytest.param(
            hours(MADRID, EIGHT, NIGHT), "2027-03-04 21:00", "2027-03-04", "2027-03-04 21:00", "despite_rest",
            id="due today, once a day, at night",
        ),
        # The hours that the clock skips, or shows twice.
        pytest.param(
            hours(MADRID, rest=Rest(time(20), time(2, 30))), "2027-03-27 23:00", FAR, "2027-03-28 03:00", "rest",
            id="skipped: the next that exists",
        ),
        pytest.param(
            hours(MADRID, rest=Rest(time(20), time(2, 30))), "2027-10-30 23:00", FAR, "2027-10-31 02:30", "rest",
            id="twice: the first",
        ),
        pytest.param(
            hours(LISBON, time(1, 30), country="IL"), "2027-03-27 12:00", FAR, "2027-03-28 02:00", "daily",
            id="a daily message in the skipped hour of a working Sunday",
        ),
    ],
)  # fmt: skip
def test_when_a_message_goes(of: Hours, ready: str, due: str, at: str, by: str | None) -> None:
    assert planned(of, ready, due) == (at, by)


@pytest.mark.parametrize(
    ("ready", "due", "at", "by"),
    [
        # 20:30 in Lisbon is 07:00 of the next day in Adelaide: what was due there yesterday is over already.
        pytest.param("2027-03-04 20:30", "2027-03-05", "2027-03-04 20:30", "despite_rest", id="its day ends first"),
        pytest.param("2027-03-04 20:30", "2027-03-06", "2027-03-05 06:00", "rest", id="a day more"),
        pytest.param("2027-03-04 20:30", "2027-03-04", "2027-03-05 06:00", "rest", id="over"),
    ],
)
def test_the_due_day_is_that_of_the_site_and_the_rest_that_of_the_person(
    ready: str, due: str, at: str, by: str
) -> None:
    late = Rest(time(20), time(14))  # 14:00 in Lisbon is half past midnight in Adelaide.
    assert planned(hours(LISBON, rest=late if due == "2027-03-05" else NIGHT), ready, due, ADELAIDE) == (at, by)


def test_a_rest_time_of_nearly_all_day_does_not_carry_the_daily_message_past_the_due_date() -> None:
    rest = Rest(time(10), time(8, 30), days_off=True)
    person = hours("Pacific/Kiritimati", time(11), rest, country="CN")
    site = "Pacific/Pago_Pago"
    assert planned(person, "2027-06-24 13:00", "2027-06-28", site) == ("2027-06-28 08:30", "daily")
    assert planned(person, "2027-06-24 13:00", "2027-06-26", site) == ("2027-06-25 08:30", "rest")


@pytest.mark.parametrize("wrong", [(time(8), None), (None, time(8)), (time(8), time(8))])
def test_a_rest_time_has_two_different_hours(wrong: tuple[time | None, time | None]) -> None:
    with pytest.raises(Refused, match="hours"):
        Rest(*wrong)


minutes = st.times().map(lambda value: value.replace(second=0, microsecond=0))
rests = st.one_of(
    st.builds(Rest, days_off=st.booleans()),
    st.tuples(minutes, minutes).filter(lambda pair: pair[0] != pair[1]).flatmap(
        lambda pair: st.builds(Rest, st.just(pair[0]), st.just(pair[1]), st.booleans())
    ),
)  # fmt: skip
people = st.builds(
    Hours,
    st.sampled_from([MADRID, "America/Santiago", "Australia/Lord_Howe", "Pacific/Kiritimati", "UTC"]),
    st.sampled_from([Calendar(), Calendar("ES"), Calendar("AE"), Calendar("CN")]),
    st.none() | minutes,
    rests,
)
instants = st.datetimes(datetime(2026, 1, 1), datetime(2029, 1, 1)).map(  # noqa: DTZ001
    lambda value: value.replace(second=0, microsecond=0, tzinfo=UTC)
)


@settings(deadline=None, database=None, max_examples=400)
@given(people, instants, st.integers(-20, 40), st.sampled_from([MADRID, ADELAIDE, "Pacific/Pago_Pago"]))
def test_what_holds_for_every_plan(of: Hours, ready: datetime, days: int, site: str) -> None:
    due = Due(ready.date() + timedelta(days=days), site)
    found = plan(ready, due, of)
    assert found.at >= ready
    over = not_before(due.on + timedelta(days=1), time(), site)
    assert over <= ready or found.at < over, "waiting passed the due date"
    if found.timed_by is not TimedBy.despite_rest:
        assert after_rest(found.at, due, of) == Plan(found.at, None), "it goes in rest time, and does not say so"
    if found.timed_by is TimedBy.daily and of.rest.is_none:
        wall = found.at.astimezone(zoneinfo.ZoneInfo(of.timezone))
        assert of.calendar.is_business_day(wall.date())
    if of.is_always:
        assert found == Plan(ready, None)
    assert found.at - ready < timedelta(days=35)
