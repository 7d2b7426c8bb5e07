"""When an e-mail goes: at once or once a day, never in rest time, unless waiting would pass the due date.

Pure: an instant goes in, an instant comes out, and the reason. Local hours are read as those of `calendars.not_before`:
an hour that the clock change skips is the next one that exists, one that comes twice is the first.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import NamedTuple

from app.domain.caching import cached
from app.domain.calendars import DAY, Calendar, not_before, today
from app.domain.delivery import TimedBy
from app.domain.errors import Refused

MIDNIGHT = dt.time()
SOON = 2  # Working days of the person: what is due by then does not wait for the daily message.
HOPS_AT_MOST = 100  # Nights and days off in a row: more than any calendar has; then it goes all the same.
PLANS_KEPT = 65_536  # Plans in memory: what one look at a large organisation asks for, again and again.


@dataclass(frozen=True)
class Rest:
    """From when until when, in local hours, no e-mail goes; `days_off` adds whole days on which nobody works."""

    begins: dt.time | None = None
    ends: dt.time | None = None
    days_off: bool = False

    def __post_init__(self) -> None:
        if (self.begins is None) != (self.ends is None):
            raise Refused("The rest time needs both hours: from when, and until when.")
        if self.begins is not None and self.begins == self.ends:
            raise Refused("The rest time would never end: choose two different hours.")

    @property
    def is_none(self) -> bool:
        return self.begins is None and not self.days_off


@dataclass(frozen=True)
class Hours:
    """The hours of one person: zone, working days, the hour of the daily message (None: at once), and rest."""

    timezone: str
    calendar: Calendar
    daily_at: dt.time | None = None
    rest: Rest = Rest()

    @property
    def is_always(self) -> bool:
        """Whether mail goes whenever it is ready."""
        return self.daily_at is None and self.rest.is_none


class Plan(NamedTuple):
    """From when on a message goes, and what set that; None where nothing did."""

    at: dt.datetime
    timed_by: TimedBy | None


class Due(NamedTuple):
    """The due date of what a message is about, and the zone of its site."""

    on: dt.date
    timezone: str

    def is_over_between(self, start: dt.datetime, end: dt.datetime) -> bool:
        """Whether the due day at the site ends after `start` and not after `end`."""
        return start < not_before(self.on + DAY, MIDNIGHT, self.timezone) <= end


@cached(maxsize=PLANS_KEPT)
def plan(ready: dt.datetime, due: Due, hours: Hours) -> Plan:
    """When what is ready at this instant goes. Raises UnusableZone.

    What is due within two working days, or overdue, does not wait for the daily message; nor does what would be due
    before it.
    """
    if hours.daily_at is None:
        return after_rest(ready, due, hours)
    daily = rested(next_daily(ready, hours), hours).at
    if not is_soon(ready, due, hours) and not due.is_over_between(ready, daily):
        return Plan(daily, TimedBy.daily if daily > ready else None)
    found = after_rest(ready, due, hours)
    return found if found.timed_by else Plan(found.at, TimedBy.due_soon)


@cached(maxsize=PLANS_KEPT)
def after_rest(ready: dt.datetime, due: Due, hours: Hours) -> Plan:
    """When it goes if nothing but rest time is in its way: what leaves late, by a fault, is asked this once more.

    Rest gives way no further than it must: a day off before a night.
    """
    waiting = rested(ready, hours)
    if not due.is_over_between(ready, waiting.at):
        return waiting
    nights = Hours(hours.timezone, hours.calendar, rest=Rest(hours.rest.begins, hours.rest.ends))
    sooner = rested(ready, nights).at
    return Plan(ready if due.is_over_between(ready, sooner) else sooner, TimedBy.despite_rest)


def is_soon(ready: dt.datetime, due: Due, hours: Hours) -> bool:
    """Whether it is due within two working days of the person, counted from the day at the site; or overdue."""
    return due.on <= hours.calendar.business_day_offset(today(ready, due.timezone), SOON)


def next_daily(ready: dt.datetime, hours: Hours) -> dt.datetime:
    """The first daily message of a working day that is not before this instant."""
    day = today(ready, hours.timezone)
    for _ in range(HOPS_AT_MOST):
        if hours.calendar.is_business_day(day):
            at = not_before(day, hours.daily_at or MIDNIGHT, hours.timezone)
            if at >= ready:
                return at
        day += DAY
    return ready


def rested(ready: dt.datetime, hours: Hours) -> Plan:
    """The first instant from `ready` on that lies in no rest time."""
    at, by = ready, None
    for _ in range(HOPS_AT_MOST):
        day = today(at, hours.timezone)
        if hours.rest.days_off and not hours.calendar.is_business_day(day):
            at, by = not_before(day + DAY, MIDNIGHT, hours.timezone), TimedBy.day_off
        elif (end := end_of_night(at, day, hours)) is not None:
            at, by = end, by or TimedBy.rest
        else:
            break
    return Plan(at, by)


def end_of_night(at: dt.datetime, day: dt.date, hours: Hours) -> dt.datetime | None:
    """The end of the rest time in which the instant lies: it began on this local day, or on the one before."""
    begins, ends = hours.rest.begins, hours.rest.ends
    if begins is None or ends is None:
        return None
    for first in (day - DAY, day):
        last = first if begins < ends else first + DAY
        end = not_before(last, ends, hours.timezone)
        if not_before(first, begins, hours.timezone) <= at < end:
            return end
    return None
