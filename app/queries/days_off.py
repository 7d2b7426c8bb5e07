"""The organisation's own days off, the calendars that they make, and the days on which a site does not work."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import and_, select
from sqlalchemy.orm import Session

from app.domain.calendars import DAY, Calendar, public_holidays
from app.domain.days_off import DayOff, calendar_of
from app.models import DayOff as DayOffRow
from app.models import Site
from app.wording import current

AHEAD = 366  # Days of a site's calendar that are shown: a year, whichever.


@dataclass(frozen=True)
class DayOffLine:
    """One of them. Without a site it is of all sites."""

    id: int
    site_id: int | None
    site: str | None
    name: str
    period: DayOff


@dataclass(frozen=True)
class CalendarDay:
    """A day that is not like others of its name: closed though a weekday, or open though the weekend is closed.

    `holiday` is the public one, `own` are the names of the organisation's days off.
    """

    day: dt.date
    is_open: bool
    holiday: str | None
    own: Sequence[str]

    @property
    def names(self) -> list[str]:
        return [*filter(None, [self.holiday]), *self.own]


def days_off(session: Session, org: int) -> list[DayOffLine]:
    """All of them, by their first day."""
    query = (
        select(DayOffRow, Site.name)
        .outerjoin(Site, and_(Site.org_id == org, Site.id == DayOffRow.site_id))
        .where(DayOffRow.org_id == org)
        .order_by(DayOffRow.on_day, DayOffRow.id)
    )
    return [
        DayOffLine(row.id, row.site_id, site, row.name, DayOff(row.on_day, row.until_day, row.is_yearly))
        for row, site in session.execute(query)
    ]


def day_off(session: Session, org: int, day_off_id: int) -> DayOffLine | None:
    return next((line for line in days_off(session, org) if line.id == day_off_id), None)


def at_site(lines: Iterable[DayOffLine], site_id: int) -> list[DayOffLine]:
    return [line for line in lines if line.site_id in (None, site_id)]


def calendar_at(lines: Iterable[DayOffLine], site_id: int, country: str | None, region: str | None) -> Calendar:
    """The calendar that counts at the site."""
    return calendar_of(country, region, (line.period for line in at_site(lines, site_id)))


def special_days(calendar: Calendar, lines: Sequence[DayOffLine], first: dt.date) -> list[CalendarDay]:
    """The days of the next year that are closed though most days of their name are open, and the other way round.

    `lines` are those of the site, for their names.
    """
    holidays = public_holidays(calendar, first, first + AHEAD * DAY, current().language)
    days = [first + number * DAY for number in range(AHEAD)]
    open_days = {day: calendar.is_business_day(day) for day in days}
    usual = {number: 2 * sum(open_days[day] for day in days[number::7]) > len(days[number::7]) for number in range(7)}
    return [
        CalendarDay(day, open_days[day], holidays.get(day), [line.name for line in lines if line.period.covers(day)])
        for number, day in enumerate(days)
        if open_days[day] != usual[number % 7]
    ]
