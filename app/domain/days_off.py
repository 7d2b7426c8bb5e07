"""An organisation's own days off, and the calendar that they make together with the public holidays."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from app.domain.caching import cached
from app.domain.calendars import DAY, Calendar

LONGEST = 92  # Days of one entry: a season. A longer one is a typing error, or a site that is closed.
CALENDARS_KEPT = 1024  # One for each site of some hundred organisations.
LEAP_DAY = (2, 29)


@dataclass(frozen=True, slots=True, order=True)
class DayOff:
    """From a first day until a last one (both included) nobody works; `is_yearly`: on these days of every year."""

    on_day: dt.date
    until_day: dt.date
    is_yearly: bool = False

    @property
    def days(self) -> list[dt.date]:
        """As they fall the first time."""
        return [self.on_day + number * DAY for number in range((self.until_day - self.on_day).days + 1)]

    def covers(self, day: dt.date) -> bool:
        if not self.is_yearly:
            return self.on_day <= day <= self.until_day
        return (day.month, day.day) in yearly(self)


def calendar_of(country: str | None, region: str | None, days_off: Iterable[DayOff]) -> Calendar:
    """The calendar of a site. For the same facts it is the same object, so that looking a day up stays cheap."""
    return _calendar_of(country, region, tuple(sorted(days_off)))


@cached(maxsize=CALENDARS_KEPT)
def _calendar_of(country: str | None, region: str | None, days_off: tuple[DayOff, ...]) -> Calendar:
    once = frozenset(day for one in days_off if not one.is_yearly for day in one.days)
    again = frozenset(pair for one in days_off if one.is_yearly for pair in yearly(one))
    return Calendar(country, region, once, again)


@cached(maxsize=CALENDARS_KEPT)
def yearly(day_off: DayOff) -> frozenset[tuple[int, int]]:
    """The months and days of one that comes again. The end of February includes its 29th, where there is one."""
    pairs = {(day.month, day.day) for day in day_off.days}
    return frozenset(pairs | {LEAP_DAY} if pairs >= {(2, 28), (3, 1)} else pairs)
