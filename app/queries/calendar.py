"""The calendar: open deadlines by week and site over a year, and listed day by day.

Each is one statement over the deadlines that the person may see: team members see what concerns them. What is compared
with today is compared with the site's own date (P6). Entries off the watch are shown as such, archived ones are not.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.domain.calendars import DAY, FIRST_DAY
from app.models.wanted import FILING_PENDING
from app.queries.concern import CONCERNED
from app.queries.keyset import PAGE, Cursor, Page, page_of
from app.queries.planning import plan_simply
from app.queries.sight import Sight, SiteDay

WEEKS = 53  # A year and the rest of its last week.
BEFORE = -1  # The column of what was due before this week.
AGENDA = dt.timedelta(days=90)


class Urgency(StrEnum):
    """How a deadline stands, the most urgent first."""

    overdue = "overdue"
    soon = "soon"
    later = "later"
    in_force = "in_force"
    off_watch = "off_watch"


RANKS = {urgency: rank for rank, urgency in enumerate(Urgency)}

DEADLINES = f"""
select o.id, o.due_on, o.subject_id, s.site_id, s.kind_id, d.today,
       case when s.status <> 'watched' then 'off_watch'
            when {FILING_PENDING} and o.in_force_meanwhile is not distinct from 'yes' then 'in_force'
            when o.due_on < d.today then 'overdue'
            when o.due_on <= d.today + 30 then 'soon'
            else 'later' end as urgency
from obligation o
join subject s on s.org_id = :org and s.id = o.subject_id and s.status <> 'archived'
join unnest(cast(:seen as bigint[]), cast(:seen_todays as date[])) as d (site_id, today) on d.site_id = s.site_id
where o.org_id = :org and o.closed_at is null and o.due_on between :first and :last
  and (cast(:kinds as bigint[]) is null or s.kind_id = any (cast(:kinds as bigint[])))
  and (not :concerned or s.status = 'watched' and {CONCERNED})"""

WEEK_COUNTS = f"""
select site_id, case when due_on < :monday then {BEFORE} else (due_on - cast(:monday as date)) / 7 end as week,
       urgency, count(*) as deadlines
from ({DEADLINES}) x
group by 1, 2, 3"""

LISTED = f"""
select x.id, x.due_on, x.subject_id, x.today, x.urgency, s.reference, s.title, p.name as site, k.name as kind,
       k.wording, coalesce(m.name, t.name) as responsible
from (
  select * from ({DEADLINES}) y
  where (cast(:site as bigint) is null or site_id = :site) and (cast(:kind as bigint) is null or kind_id = :kind)
    and (due_on, id) > (cast(:after_due as date), cast(:after_id as bigint))
  order by due_on, id limit :most) x
join subject s on s.org_id = :org and s.id = x.subject_id
join site p on p.org_id = :org and p.id = s.site_id
join kind k on k.org_id = :org and k.id = s.kind_id
left join member m on m.org_id = :org and m.id = s.owner_member_id
left join post t on t.org_id = :org and t.id = s.owner_post_id
order by x.due_on, x.id"""


@dataclass(frozen=True)
class Viewer:
    """Who looks: a member with what they see, everything there or what concerns them."""

    member_id: int
    sight: Sight
    concerned: bool

    @property
    def today(self) -> dt.date:
        """The date at the site where it is earliest, so that nothing of today is left out."""
        return min((site.today for site in self.sight.in_use if site.today), default=self.sight.now.date())

    @property
    def facts(self) -> dict[str, Any]:
        seen = self.sight.in_use
        known = [(site.id, site.today) for site in seen if site.today is not None]
        return {
            "org": self.sight.org,
            "member": self.member_id,
            "concerned": self.concerned,
            "kinds": None if self.sight.kinds is None else list(self.sight.kinds),
            "seen": [site.id for site in seen],
            "seen_todays": [site.today for site in seen],
            "sites": [site_id for site_id, _ in known],
            "todays": [today for _, today in known],
        }


@dataclass(frozen=True)
class Week:
    """A week by ISO 8601, from its Monday."""

    number: int
    monday: dt.date

    @property
    def sunday(self) -> dt.date:
        return self.monday + 6 * DAY


@dataclass(frozen=True)
class Cell:
    """The deadlines of one week at one site; of those before this week `week` is None."""

    site: SiteDay
    week: Week | None
    counts: Mapping[Urgency, int]

    @property
    def count(self) -> int:
        return sum(self.counts.values())

    @property
    def worst(self) -> Urgency:
        return min(self.counts, key=lambda urgency: RANKS[urgency])


@dataclass(frozen=True)
class Year:
    """A row for each site: what was due before this week, then each week, None where nothing is due."""

    weeks: Sequence[Week]
    rows: Sequence[tuple[SiteDay, Sequence[Cell | None]]]

    @property
    def cells(self) -> list[Cell]:
        """Those with something in them, week by week."""
        columns = zip(*(cells for _, cells in self.rows), strict=True)
        return [cell for column in columns for cell in column if cell is not None]


@dataclass(frozen=True)
class AgendaLine:
    """One deadline. `today` is the date at its site, None where its time zone cannot be used."""

    id: int
    due_on: dt.date
    subject_id: int
    today: dt.date | None
    urgency: Urgency
    reference: str
    title: str
    site: str
    kind: str
    wording: str
    responsible: str | None


def read_year(session: Session, viewer: Viewer) -> Year:
    """The 53 weeks from that of today on."""
    monday = viewer.today - viewer.today.weekday() * DAY
    weeks = [Week((day := monday + 7 * number * DAY).isocalendar().week, day) for number in range(WEEKS)]
    facts = viewer.facts | {"monday": monday, "first": FIRST_DAY, "last": weeks[-1].sunday}
    counts: defaultdict[tuple[int, int], Counter[Urgency]] = defaultdict(Counter)
    plan_simply(session)
    for row in session.execute(text(WEEK_COUNTS), facts):
        counts[row.site_id, row.week][Urgency(row.urgency)] = row.deadlines
    columns: list[Week | None] = [None, *weeks]

    def cells(site: SiteDay) -> list[Cell | None]:
        found = ((week, counts.get((site.id, number))) for number, week in enumerate(columns, BEFORE))
        return [Cell(site, week, urgencies) if urgencies else None for week, urgencies in found]

    return Year(weeks, [(site, cells(site)) for site in viewer.sight.in_use])


def read_agenda(
    session: Session,
    viewer: Viewer,
    first: dt.date,
    last: dt.date,
    site_id: int | None = None,
    kind_id: int | None = None,
    after: Cursor | None = None,
) -> Page[AgendaLine]:
    """The deadlines from the first day to the last, by day."""
    rank, last_id = after or (-1, 0)
    facts = {"first": first, "last": last, "site": site_id, "kind": kind_id, "most": PAGE + 1}
    facts |= {"after_due": _day_of(rank), "after_id": last_id}
    plan_simply(session)
    rows = session.execute(text(LISTED), viewer.facts | facts)
    found = [AgendaLine(**{**row._mapping, "urgency": Urgency(row.urgency)}) for row in rows]
    return page_of(found, lambda line: ((line.due_on - FIRST_DAY).days, line.id))


def _day_of(rank: int) -> dt.date:
    """The day of a key; one that no calendar has is before all of them."""
    try:
        return FIRST_DAY + rank * DAY
    except OverflowError:
        return FIRST_DAY - DAY
