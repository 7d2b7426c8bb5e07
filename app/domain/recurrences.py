"""Recurrences: the intervals of what falls due again and again, and the dates that follow from an anchor.

Each date is computed from the anchor and never from the date before it, so that the 31st comes back after February.
"""

import re
from dataclasses import dataclass
from datetime import date

from dateutil.relativedelta import relativedelta

from app.domain.calendars import DAY
from app.domain.errors import Refused, quoted

# The syntax, for Python and for a CHECK constraint of PostgreSQL; `parse` refuses, besides, more than ten years.
PATTERN = "^[1-9][0-9]{0,3}(d|w|m|y)$"

# Ten years in each unit: beyond that an interval is a typing error.
LONGEST = {"d": 3650, "w": 520, "m": 120, "y": 10}

MONTHS_OF = {"m": 1, "y": 12}
DAYS_OF = {"d": 1, "w": 7}


@dataclass(frozen=True)
class Recurrence:
    """An interval of `count` days, weeks, months or years (d, w, m, y)."""

    count: int
    unit: str

    @property
    def text(self) -> str:
        """The canonical text, as it is stored."""
        return f"{self.count}{self.unit}"


def parse(text: str) -> Recurrence:
    """Read the canonical text, and only that: `parse(text).text == text`. Raises Refused with the right form."""
    if re.fullmatch(PATTERN, text) is None:
        raise Refused(f"{quoted(text)} is not a recurrence: write an interval such as 7d, 2w, 3m or 1y.")
    count, unit = int(text[:-1]), text[-1]
    if count > LONGEST[unit]:
        raise Refused(f"The recurrence {quoted(text)} is longer than ten years: write at most {LONGEST[unit]}{unit}.")
    return Recurrence(count, unit)


def occurrence(anchor: date, recurrence: str, n: int) -> date:
    """The anchor plus n intervals, clamped to the end of a shorter month (RFC 7529, SKIP=BACKWARD). Raises Refused."""
    interval = parse(recurrence)
    if interval.unit in MONTHS_OF:
        return anchor + relativedelta(months=n * interval.count * MONTHS_OF[interval.unit])
    return anchor + n * interval.count * DAYS_OF[interval.unit] * DAY


def next_due(anchor: date, recurrence: str, after: date) -> date:
    """The first of anchor, anchor plus one interval, and so on, that is strictly after `after`. Raises Refused."""
    interval = parse(recurrence)
    if interval.unit in MONTHS_OF:
        months = 12 * (after.year - anchor.year) + after.month - anchor.month
        whole = months // (interval.count * MONTHS_OF[interval.unit])
    else:
        whole = (after - anchor).days // (interval.count * DAYS_OF[interval.unit])
    # So many whole intervals end in the month of `after`, or before it: the answer is that date or the next one.
    reached = max(whole, 0)
    due_on = occurrence(anchor, recurrence, reached)
    return due_on if due_on > after else occurrence(anchor, recurrence, reached + 1)
