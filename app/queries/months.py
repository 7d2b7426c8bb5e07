"""How many deadlines fall due in each of the next twelve months, and how many of them are past."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from dateutil.relativedelta import relativedelta
from sqlalchemy import func, select

from app.domain.acts import Status
from app.domain.calendars import DAY
from app.models import Obligation, Site, Subject
from app.queries.sight import Sight
from app.queries.together import Asked, Found

MONTHS = 12


@dataclass(frozen=True)
class Month:
    """One month from `first` to `last`; the present one begins today, since what is past has a queue of its own."""

    first: dt.date
    last: dt.date
    count: int


def months_asked(sight: Sight, today: dt.date) -> Asked:
    """The select whose result `months_of` takes: the open deadlines of watched entries that are seen, by month."""
    start = today.replace(day=1)
    end = start + relativedelta(months=MONTHS)
    month = func.date_trunc("month", Obligation.due_on).cast(Obligation.due_on.type)
    return (
        select(month, func.count())
        .join(Subject, (Subject.org_id == Obligation.org_id) & (Subject.id == Obligation.subject_id))
        .join(Site, (Site.org_id == Subject.org_id) & (Site.id == Subject.site_id))
        .where(
            Obligation.org_id == sight.org,
            Obligation.closed_at.is_(None),
            Obligation.due_on >= today,
            Obligation.due_on < end,
            Subject.status == Status.watched,
            Site.archived_at.is_(None),
            sight.covers(Subject),
        )
        .group_by(month)
    )


def months_of(asked: Found, today: dt.date) -> Sequence[Month]:
    """The next twelve; `today` is the organisation's own date."""
    counts: dict[dt.date, int] = {row[0]: row[1] for row in asked}
    start = today.replace(day=1)
    firsts = [start + relativedelta(months=number) for number in range(MONTHS)]
    return [Month(max(first, today), first + relativedelta(months=1) - DAY, counts.get(first, 0)) for first in firsts]
