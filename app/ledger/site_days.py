"""The calendar of a scan: each usable site's own day, horizons and alert days, worked out in plain Python.

SQL knows no zone and no calendar; it gets these as arrays. A site with an unusable zone is left out and reported. A
site's day never runs back: it stands still until the calendar has caught up with what was scanned already.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.calendars import DAY, Calendar, not_before, today, working_day_ago
from app.domain.days_off import DayOff, calendar_of
from app.domain.errors import Refused
from app.domain.thresholds import alert_day, horizon
from app.models.wanted import FILING_PENDING, FOLLOW_UP
from app.trail.act import Act

Combination = tuple[int, str, dt.date]  # A site, a threshold and a due date: what an alert day depends on.

# The dates of two zones are at most two days apart (H08): a watermark further ahead comes from a wrong clock.
BACK_AT_MOST = 2 * DAY


@dataclass(frozen=True)
class Day:
    """A site's own day: the date it is judged by, its calendar, and the instant from which its alerts may go out."""

    timezone: str
    today: dt.date
    calendar: Calendar
    not_before: dt.datetime
    scanned_through: dt.date | None


@dataclass(frozen=True)
class SiteDays:
    """The days of an organisation's usable sites, and what is wrong with the others."""

    days: dict[int, Day]
    errors: list[dict[str, str | None]]

    @property
    def said_befores(self) -> dict[str, Any]:
        """For each site the instant before which "not mine" must have been said for a working day to be over."""
        ends = [working_day_ago(day.today, day.calendar, day.timezone) for day in self.days.values()]
        return {"sites": list(self.days), "said_befores": ends}

    @property
    def facts(self) -> dict[str, Any]:
        """The parameters of `site_day` in the predicate *wanted*."""
        return {
            "sites": list(self.days),
            "todays": [day.today for day in self.days.values()],
            "not_befores": [day.not_before for day in self.days.values()],
        }

    def horizons(self, thresholds: Iterable[str]) -> dict[str, Any]:
        """For each site and threshold, the latest due date that has crossed."""
        grid = [(site, t, horizon(t, day.today, day.calendar)) for site, day in self.days.items() for t in thresholds]
        return dict(zip(("h_sites", "h_thresholds", "h_due_through"), columns(grid), strict=True))

    def alert_days(self, combinations: Sequence[Combination]) -> dict[str, Any]:
        """For each combination of site, threshold and due date, its alert day."""
        rows = [(s, t, due, alert_day(t, due, self.days[s].calendar)) for s, t, due in combinations]
        return dict(zip(("a_sites", "a_thresholds", "a_due_ons", "a_alert_ons"), columns(rows, 4), strict=True))


def columns(rows: Sequence[tuple[Any, ...]], width: int = 3) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]


# The thresholds of the rules, and the follow-ups of the filings that are pending.
THRESHOLDS = f"""
select threshold from rule_threshold where org_id = :org
union
select {FOLLOW_UP} from obligation o
where o.org_id = :org and o.closed_at is null and {FILING_PENDING} and o.ask_again_on is not null"""


def read_thresholds(act: Act) -> list[str]:
    """Every threshold that something may have crossed."""
    return [row[0] for row in act.run(THRESHOLDS)]


SITES = """
select p.id, p.name, p.timezone, p.country, p.region, p.alert_from, w.scanned_through, o.slug
from site p
join organisation o on o.id = p.org_id
left join watermark w on w.org_id = :org and w.site_id = p.id
where p.org_id = :org
order by p.id"""

# Those without a site are of all of them.
DAYS_OFF = "select site_id, on_day, until_day, is_yearly from day_off where org_id = :org order by id"


def read_site_days(act: Act) -> SiteDays:
    """The day of each site at `act.now`, archived sites included: their claims must still be judged."""
    days, errors = {}, []
    days_off = [(row.site_id, DayOff(row.on_day, row.until_day, row.is_yearly)) for row in act.run(DAYS_OFF)]
    for site in act.run(SITES):
        try:
            day = today(act.now, site.timezone)
            begins = not_before(day, site.alert_from, site.timezone)
        except Refused as fault:
            errors.append({"org": site.slug, "site": site.name, "message": str(fault)})
            continue
        judged = never_back(day, site.scanned_through)
        calendar = calendar_of(site.country, site.region, (one for at, one in days_off if at in (None, site.id)))
        days[site.id] = Day(site.timezone, judged, calendar, begins, site.scanned_through)
    return SiteDays(days, errors)


def never_back(day: dt.date, scanned_through: dt.date | None) -> dt.date:
    """The date to judge by: a day lived through again, after a change of zone, is still the day that was scanned.

    So nothing that this day has opened is withdrawn, and nothing that falls on it is passed over. It also holds where
    an instant was taken just before midnight and had to wait for a scan that began just after it.
    """
    if scanned_through is not None and day < scanned_through <= day + BACK_AT_MOST:
        return scanned_through
    return day
