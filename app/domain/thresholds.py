"""Thresholds: their text, their alert days and horizons, and which of two is sharper.

Keeps the law of the scan: a due date is within the horizon exactly if its alert day has come. Knows no zone and no
clock: today is an argument. Beside the distances that a rule has stands the follow-up of a filing, which names its day.
"""

import re
from calendar import monthrange
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from dateutil.relativedelta import relativedelta

from app.domain.caching import cached
from app.domain.calendars import DAY, Calendar
from app.domain.errors import Refused, quoted

# The syntax, for Python and for a CHECK constraint of PostgreSQL; `parse` refuses, besides, more than ten years.
PATTERN = "^(0d|[+]?[1-9][0-9]{0,3}(d|w|m|bd))$"

# Ten years in each unit: beyond that a threshold is a typing error, and dates would leave the calendar.
LONGEST = {"d": 3650, "w": 520, "m": 120, "bd": 2600}

# Nominal days times five, so that a business day (7/5 of a day) is an integer, too.
FIFTHS = {"d": 5, "w": 35, "m": 150, "bd": 7}

# What stands before the day of a follow-up, in the place of a threshold: `@2027-03-18`. No rule has one.
FOLLOW_UP = "@"

RESULTS_KEPT = 200_000  # Alert days and horizons in memory, about 300 bytes each.


@dataclass(frozen=True)
class Threshold:
    """A distance from a due date: `count` units (d, w, m, bd) before it, or after it."""

    count: int
    unit: str
    after: bool

    @property
    def text(self) -> str:
        """The canonical text, which stands in the key of the ledger."""
        return f"{'+' if self.after else ''}{self.count}{self.unit}"

    @property
    def before_due(self) -> bool:
        """Whether it warns before the due date; these are the thresholds that a snooze silences."""
        return not self.after and self.count > 0

    @property
    def nominal_fifths(self) -> int:
        """The nominal length in fifths of a day, negative after the due date. It orders; it never dates."""
        length = self.count * FIFTHS[self.unit]
        return -length if self.after else length


def parse(text: str) -> Threshold:
    """Read the canonical text, and only that: `parse(text).text == text`. Raises Refused with the right form."""
    if re.fullmatch(PATTERN, text) is None:
        raise Refused(
            "%(text)s is not a threshold: write 90d, 6w, 3m, 10bd or 0d before the due date, +7d, +2w, +1m or +5bd "
            "after it.",
            text=quoted(text),
        )
    digits = text.removeprefix("+").rstrip("dwmb")
    unit = text.removeprefix("+").removeprefix(digits)
    if int(digits) > LONGEST[unit]:
        most = f"{LONGEST[unit]}{unit}"
        raise Refused(
            "The threshold %(text)s is longer than ten years: write at most %(most)s.", text=quoted(text), most=most
        )
    return Threshold(int(digits), unit, text.startswith("+"))


def follow_up(ask_again_on: date) -> str:
    """The text of the follow-up of a filing: it is due on a day of its own, whatever the due date."""
    return f"{FOLLOW_UP}{ask_again_on.isoformat()}"


def asked_on(threshold: str) -> date | None:
    """The day of a follow-up; None for a distance from the due date."""
    return date.fromisoformat(threshold.removeprefix(FOLLOW_UP)) if threshold.startswith(FOLLOW_UP) else None


@cached(maxsize=RESULTS_KEPT)
def alert_day(threshold: str, due_on: date, calendar: Calendar) -> date:
    """The due date less the threshold (or on, after it). Never runs backwards as due dates grow.

    Months clamp to the last day of a shorter month; business days are counted in the calendar. Raises Refused.
    """
    if (day := asked_on(threshold)) is not None:
        return day
    parsed = parse(threshold)
    count = parsed.count if parsed.after else -parsed.count
    if parsed.unit == "bd":
        return calendar.business_day_offset(due_on, count)
    if parsed.unit == "m":
        return due_on + relativedelta(months=count)
    return due_on + count * _days_of(parsed.unit)


@cached(maxsize=RESULTS_KEPT)
def horizon(threshold: str, today: date, calendar: Calendar) -> date:
    """The latest due date whose alert day is not after today: `due_on <= horizon` says that the threshold is crossed.

    Raises Refused for a text that is no threshold.
    """
    if (day := asked_on(threshold)) is not None:
        return date.max if day <= today else date.min
    parsed = parse(threshold)
    count = -parsed.count if parsed.after else parsed.count
    if parsed.unit == "bd":
        return _horizon_of_business_days(count, today, calendar)
    if parsed.unit == "m":
        return _horizon_of_months(count, today)
    return today + count * _days_of(parsed.unit)


def sharpest_first(threshold: str, alert_on: date) -> tuple[int, int, str]:
    """A sort key; the smallest is the sharpest: later alert day, then fewer nominal days, then the smaller text."""
    nominal = 0 if threshold.startswith(FOLLOW_UP) else parse(threshold).nominal_fifths
    return (-alert_on.toordinal(), nominal, threshold)


def in_order(thresholds: Iterable[str]) -> list[str]:
    """Earliest warning first, by nominal days; of two equal ones the sharper last. Raises Refused."""
    return sorted(thresholds, key=lambda text: (parse(text).nominal_fifths, text), reverse=True)


def _horizon_of_business_days(count: int, today: date, calendar: Calendar) -> date:
    # Before: the alert day has come while fewer than count business days lie between today and the due date.
    if count > 0:
        return calendar.business_day_offset(today, count)
    # After: count business days must lie between the due date and today, today included.
    return calendar.business_day_offset(today + DAY, count) - DAY


def _horizon_of_months(count: int, today: date) -> date:
    latest = today + relativedelta(months=count)
    # On the last day of a month all alert days that clamp have come: the whole month of the due date is crossed.
    if today.day == monthrange(today.year, today.month)[1]:
        return latest + relativedelta(day=31)
    return latest


def _days_of(unit: str) -> timedelta:
    return 7 * DAY if unit == "w" else DAY
