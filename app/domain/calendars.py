"""Calendars: which days are business days, which date it is at a site, and when a local day begins.

Keeps P6: due dates are dates, and "today" is worked out for each site. Reads no clock (now is an argument) and never
divides seconds by 86 400. `app/clock.py` makes the bundled zone database win before a zone is loaded.
"""

from calendar import isleap
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import holidays

from app.domain.caching import cached
from app.domain.errors import UnusableZone, quoted

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
SATURDAY = 5  # As date.weekday() counts; the first day of the weekend where no country is known.
YEARS_KEPT = 4096  # Years of closed days in memory, about 8 kB each: forty years for a hundred regions.
LIBRARY_CALLS = {"en": "en_US"}  # A language by the name that the library of the holidays has for it.
ZONES_KEPT = 1024  # More than the zone database has names.

# The years of the register: due dates outside are typing errors (DESIGN section 11), and no series goes on after them.
FIRST_DAY = date(1990, 1, 1)
LAST_DAY = date(2079, 12, 31)


@dataclass(frozen=True)
class Calendar:
    """The business days of a country, with its region's holidays; Monday to Friday where the country is not known.

    Beside them an organisation's own days off: single dates, and months and days that are off in every year.
    """

    country: str | None = None
    region: str | None = None
    days_off: frozenset[date] = frozenset()
    yearly_off: frozenset[tuple[int, int]] = frozenset()

    def is_business_day(self, day: date) -> bool:
        """Whether people work on this day: country weekends, public holidays and working weekends are respected."""
        return self.is_open_to_the_public(day) and day not in self.days_off and not self._is_off_yearly(day)

    def is_open_to_the_public(self, day: date) -> bool:
        """Whether it is a business day of the country and region, the organisation's own days off apart."""
        country = _country_code(self.country)
        if country is None:
            return day.weekday() < SATURDAY
        return day not in _closed_days(country, _region_code(country, self.region), day.year)

    def _is_off_yearly(self, day: date) -> bool:
        return bool(self.yearly_off) and (day.month, day.day) in self.yearly_off

    def business_day_offset(self, day: date, count: int) -> date:
        """The count-th business day strictly after the day; strictly before it if negative; the day itself for 0."""
        step = DAY if count > 0 else -DAY
        missing = abs(count)
        while missing:
            day += step
            if self.is_business_day(day):
                missing -= 1
        return day


def public_holidays(calendar: Calendar, first: date, last: date, language: str) -> dict[date, str]:
    """The public holidays from the first day to the last, by name, whatever day of the week they fall on.

    In this language where the library has their names in it, else in English.
    """
    country = _country_code(calendar.country)
    if country is None:
        return {}
    years = range(first.year, last.year + 1)
    region, known = _region_code(country, calendar.region), LIBRARY_CALLS.get(language, language)
    official = holidays.country_holidays(country, subdiv=region, years=years, language=known)
    return {day: name for day, name in sorted(official.items()) if first <= day <= last}


def known_country(country: str) -> bool:
    """Whether the public holidays of this country (ISO 3166 code, in any case) are known."""
    return _country_code(country) is not None


def known_region(country: str, region: str) -> bool:
    """Whether holidays of this region of the country are known: `CT`, `ct` and `ES-CT` are one region of Spain."""
    code = _country_code(country)
    return code is not None and _region_code(code, region) is not None


def today(now: datetime, timezone: str) -> date:
    """The date on the calendar of the zone at an aware instant.

    Raises ValueError for an instant without offset, UnusableZone for a zone that cannot be loaded.
    """
    if now.utcoffset() is None:
        raise ValueError("An instant without an offset has no local date.")
    return now.astimezone(_zone(timezone)).date()


def check_zone(timezone: str) -> None:
    """Raise UnusableZone, which names the zone, unless it can be loaded."""
    _zone(timezone)


def not_before(day: date, alert_from: time, timezone: str) -> datetime:
    """The UTC instant at which the local time `alert_from` of the day begins.

    A local time that the clock change skips means the next one that exists; one that comes twice means the first.
    """
    zone = _zone(timezone)
    wall = datetime.combine(day, alert_from.replace(tzinfo=None, fold=0))
    begins = wall.replace(tzinfo=zone).astimezone(UTC)
    if begins.astimezone(zone).replace(tzinfo=None) == wall:
        return begins
    return _first_instant_after_gap(wall, zone)


def working_day_ago(day: date, calendar: Calendar, timezone: str) -> datetime:
    """The UTC instant before which a thing must have been said for its next business day to have come on this day.

    What was said on a Friday has its next business day on Monday, and so has what was said on the Sunday after it.
    """
    latest = day if calendar.is_business_day(day) else calendar.business_day_offset(day, -1)
    return not_before(latest, time.min, timezone)


def _first_instant_after_gap(wall: datetime, zone: ZoneInfo) -> datetime:
    """The instant at which the clock jumps over this skipped wall time. Changes fall on whole seconds."""
    # PEP 495: in a gap, fold=1 reads the time with the offset after the change and so lands before it, fold=0 after it.
    before = wall.replace(tzinfo=zone, fold=1, microsecond=0).astimezone(UTC)
    after = wall.replace(tzinfo=zone, fold=0, microsecond=0).astimezone(UTC)
    while after - before > SECOND:
        middle = before + (after - before) // SECOND // 2 * SECOND
        if middle.astimezone(zone).replace(tzinfo=None) < wall:
            before = middle
        else:
            after = middle
    return after


def _zone(timezone: str) -> ZoneInfo:
    # ZoneInfo answers an unusable key with KeyError, ValueError, OSError (a directory, a name too long) or TypeError.
    try:
        return _loaded_zone(timezone)
    except (LookupError, ValueError, OSError, TypeError) as fault:
        raise UnusableZone(
            "The time zone %(zone)s cannot be used: name a zone of the IANA database, such as Europe/Madrid.",
            zone=quoted(timezone),
        ) from fault


@cached(maxsize=ZONES_KEPT)
def _loaded_zone(timezone: str) -> ZoneInfo:
    # ZoneInfo itself keeps eight zones only; a scan of many sites would read the same files again and again.
    return ZoneInfo(timezone)


@cached(maxsize=YEARS_KEPT)
def _country_code(country: str | None) -> str | None:
    """The code by which the library knows the country, or None."""
    # Asked by the list: country_holidays() itself would also take stock exchanges (ECB) and class names.
    code = country.upper() if country and country.isascii() else None
    return code if code in holidays.list_supported_countries() else None


@cached(maxsize=YEARS_KEPT)
def _region_code(country: str, region: str | None) -> str | None:
    """The name by which the library knows the region of a known country, or None: then the country's holidays hold."""
    entity = holidays.country_holidays(country)
    names = (*entity.subdivisions, *entity.subdivisions_aliases)
    if region is None or region in names:
        return region
    by_folded_name = {name.casefold(): name for name in reversed(names)}
    return by_folded_name.get(region.casefold().removeprefix(f"{country.casefold()}-"))


@cached(maxsize=YEARS_KEPT)
def _closed_days(country: str, region: str | None, year: int) -> frozenset[date]:
    """The days of one year on which the country or region does not work."""
    # A fresh object each time: the library fills a shared one lazily, and a second thread can see a half-filled year.
    official = holidays.country_holidays(country, subdiv=region, years=year, expand=False)
    new_year = date(year, 1, 1)
    days = (new_year + number * DAY for number in range(366 if isleap(year) else 365))
    return frozenset(day for day in days if not official.is_working_day(day))
