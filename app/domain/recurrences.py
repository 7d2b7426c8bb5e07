"""Recurrences: what falls due again and again, every so often or on fixed days of the year, and the dates that follow.

Each date is computed from the anchor and never from the date before it, so that the 31st comes back after February.
"""

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from dateutil.relativedelta import relativedelta

from app.domain.calendars import DAY
from app.domain.errors import Refused, quoted

# The syntax of an interval; `parse` refuses, besides, more than ten years.
PATTERN = "^[1-9][0-9]{0,3}(d|w|m|y)$"
FIXED = "^[0-9]{2}-[0-9]{2}(,[0-9]{2}-[0-9]{2})*$"  # Days of the year, as ISO 8601 writes month and day.
MOST_DAYS = 24  # Days of the year in one recurrence: twice a month. More is no series but an interval.

# Ten years in each unit: beyond that an interval is a typing error.
LONGEST = {"d": 3650, "w": 520, "m": 120, "y": 10}

MONTHS_OF = {"m": 1, "y": 12}
DAYS_OF = {"d": 1, "w": 7}
A_LEAP_YEAR = 2028  # In which every day of the year is there.


@dataclass(frozen=True)
class Interval:
    """Every `count` days, weeks, months or years (d, w, m, y)."""

    count: int
    unit: str

    @property
    def text(self) -> str:
        """The canonical text, as it is stored."""
        return f"{self.count}{self.unit}"

    @property
    def is_by_months(self) -> bool:
        """Whether a shorter month clamps its dates."""
        return self.unit in MONTHS_OF

    def nth(self, anchor: date, n: int) -> date:
        """The anchor plus n intervals, clamped to the end of a shorter month (RFC 7529, SKIP=BACKWARD)."""
        if self.is_by_months:
            return anchor + relativedelta(months=n * self.count * MONTHS_OF[self.unit])
        return anchor + n * self.count * DAYS_OF[self.unit] * DAY

    def after(self, anchor: date, day: date) -> date:
        """The first of anchor, anchor plus one interval, and so on, that is strictly after the day."""
        if self.is_by_months:
            months = 12 * (day.year - anchor.year) + day.month - anchor.month
            whole = months // (self.count * MONTHS_OF[self.unit])
        else:
            whole = (day - anchor).days // (self.count * DAYS_OF[self.unit])
        # So many whole intervals end in the month of the day, or before it: the answer is that date or the next one.
        reached = max(whole, 0)
        due_on = self.nth(anchor, reached)
        return due_on if due_on > day else self.nth(anchor, reached + 1)


@dataclass(frozen=True)
class FixedDays:
    """The same days of every year, as (month, day); 29 February is the 28th where there is none."""

    days: tuple[tuple[int, int], ...]

    is_by_months = False  # No anchor is remembered: the days say what they want.

    @property
    def text(self) -> str:
        return ",".join(f"{month:02}-{day:02}" for month, day in self.days)

    def nth(self, anchor: date, n: int) -> date:
        """The anchor, and after it the n-th of the fixed days."""
        for _ in range(n):
            anchor = self.after(anchor, anchor)
        return anchor

    def after(self, anchor: date, day: date) -> date:
        """The first of the fixed days that is strictly after the day, and not before the anchor."""
        earliest = max(day + DAY, anchor)
        return next(due_on for due_on in self._from(earliest.year) if due_on >= earliest)

    def _from(self, year: int) -> Iterator[date]:
        for one in range(year, year + 2):
            for month, day in self.days:
                yield date(one, month, min(day, monthrange(one, month)[1]))


Recurrence = Interval | FixedDays


def parse(text: str) -> Recurrence:
    """Read the canonical text, and only that: `parse(text).text == text`. Raises Refused with the right form."""
    if re.fullmatch(FIXED, text) is not None and text.isascii():
        return _fixed(text)
    if re.fullmatch(PATTERN, text) is None:
        raise Refused(
            "%(text)s is not a recurrence: write an interval such as 7d, 2w, 3m or 1y, or days of the year, "
            "month first, such as 03-31,09-30.",
            text=quoted(text),
        )
    count, unit = int(text[:-1]), text[-1]
    if count > LONGEST[unit]:
        most = f"{LONGEST[unit]}{unit}"
        raise Refused(
            "The recurrence %(text)s is longer than ten years: write at most %(most)s.", text=quoted(text), most=most
        )
    return Interval(count, unit)


def _fixed(text: str) -> FixedDays:
    days = []
    for one in text.split(","):
        month, day = int(one[:2]), int(one[3:])
        if not (1 <= month <= 12 and 1 <= day <= monthrange(A_LEAP_YEAR, month)[1]):
            raise Refused(
                "%(text)s is no day of the year: write the month first, such as 03-31 for 31 March.", text=quoted(one)
            )
        days.append((month, day))
    if days != sorted(set(days)) or len(days) > MOST_DAYS:
        raise Refused(
            "Write the days of the year in their order, each once and at most %(most)s: %(text)s.",
            most=MOST_DAYS,
            text=quoted(text),
        )
    return FixedDays(tuple(days))


def occurrence(anchor: date, recurrence: str, n: int) -> date:
    """The anchor plus n intervals, or the n-th fixed day after it. Raises Refused."""
    return parse(recurrence).nth(anchor, n)


def next_due(anchor: date, recurrence: str, after: date) -> date:
    """The first date of the series that is strictly after `after`. Raises Refused."""
    return parse(recurrence).after(anchor, after)


def to_open(anchor: date, recurrence: str, opened: date, today: date, horizon: date) -> list[date]:
    """The dates of a calendar series, after `opened`, that must be there today: each one alone.

    These are all up to the horizon of the widest threshold, what was missed included, and always one that is ahead.
    Raises Refused.
    """
    series, dates = parse(recurrence), []
    last, coming = opened, series.after(anchor, opened)
    while last <= today or coming <= horizon:
        dates.append(coming)
        last, coming = coming, series.after(anchor, coming)
    return dates
