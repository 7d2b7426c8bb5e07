"""What the lists of the evidence are narrowed to, read from the address. What cannot be read is kept as typed."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

from flask import abort, request

from app.domain.calendars import DAY, today
from app.domain.errors import UnusableZone
from app.queries.alerts import AlertState, Wanted, start_of
from app.queries.sight import Sight
from app.web.access import Visit
from app.web.listing import asked_number, asked_site
from app.wording import gettext, later

PERIOD = 90 * DAY  # What an inspector asks for first: the last quarter.
NOT_A_DATE = later("Write a date of the years 1990 to 2079, such as 2027-04-03.")
FIRST_YEAR, LAST_YEAR = 1990, 2079  # The years of the register.
BACKWARDS = later("The last day is before the first one: change one of them.")


@dataclass(frozen=True)
class TypedDays:
    """Two dates as they were typed, and what is wrong with them, by field."""

    from_on: str
    until_on: str
    faults: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Period:
    """Days of the organisation's own calendar, both included, and the instants between which they lie."""

    first: dt.date
    last: dt.date
    instants: tuple[dt.datetime, dt.datetime]
    typed: TypedDays

    @property
    def faults(self) -> dict[str, str]:
        return self.typed.faults


def asked_days() -> tuple[dt.date | None, dt.date | None, TypedDays]:
    """From and until, each None where it is blank or cannot be read."""
    found: dict[str, dt.date | None] = {}
    typed = TypedDays(request.args.get("from", "").strip(), request.args.get("until", "").strip())
    for name, text in (("from", typed.from_on), ("until", typed.until_on)):
        try:
            found[name] = read_day(text) if text else None
        except ValueError:
            found[name], typed.faults[name] = None, gettext(NOT_A_DATE)
    first, last = found["from"], found["until"]
    if first and last and last < first:
        typed.faults["until"] = gettext(BACKWARDS)
        return None, None, typed
    return first, last, typed


def read_day(text: str) -> dt.date:
    """Raises ValueError for what is no date, or lies beyond what the register knows."""
    day = dt.date.fromisoformat(text)
    if not FIRST_YEAR <= day.year <= LAST_YEAR:
        raise ValueError(text)
    return day


def asked_alerts(sight: Sight, rules: list[tuple[int, str]]) -> tuple[Wanted, TypedDays]:
    """The filters of the list of every alert; a foreign or unknown site, rule or state answers 404."""
    site_id, rule_id, state = asked_site(sight), asked_number("rule"), request.args.get("state", "")
    if (rule_id is not None and rule_id not in dict(rules)) or (state and state not in set(AlertState)):
        abort(404)
    first, last, typed = asked_days()
    reference = request.args.get("reference", "").replace("\0", "").strip()
    return Wanted(site_id, rule_id, AlertState(state) if state else None, first, last, reference), typed


def asked_period(visit: Visit) -> Period:
    """The days that are asked for; the last 90 where nothing is."""
    first, last, typed = asked_days()
    end = last or own_day(visit)
    start = first or end - PERIOD
    return period_of(visit, start, max(start, end), typed)


def last_days(visit: Visit) -> Period:
    end = own_day(visit)
    return period_of(visit, end - PERIOD, end, TypedDays("", ""))


def period_of(visit: Visit, first: dt.date, last: dt.date, typed: TypedDays) -> Period:
    zone = zone_of(visit)
    return Period(first, last, (start_of(first, zone), start_of(last + DAY, zone)), typed)


def own_day(visit: Visit) -> dt.date:
    return today(visit.act.now, zone_of(visit))


def zone_of(visit: Visit) -> str:
    """The zone of the organisation. Its days only bound a list, so one that cannot be used does not hide it."""
    try:
        today(visit.act.now, visit.place.timezone)
    except UnusableZone:
        return "UTC"
    return visit.place.timezone
