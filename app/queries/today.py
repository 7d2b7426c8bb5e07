"""The Today page: does the watch run, what is not watched, what needs a person, and each site on one line."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session

from app.models import Member, Obligation, Post, Subject
from app.queries import watch
from app.queries.facts import read_register_and_people
from app.queries.keyset import PAGE, Cursor, Page, page_of
from app.queries.months import Month, months_asked, months_of
from app.queries.queues import Queue, count_by_site
from app.queries.seal import seal_asked, seal_of
from app.queries.sight import Sight, SiteDay
from app.queries.stops import Stops
from app.queries.together import Asked, Found, together
from app.queries.unreached import Unreached, read_unreached
from app.queries.watched import Gap, Unwatched, unwatched

NUMBERED = (Queue.overdue, Queue.check, Queue.silent, Queue.attention, Queue.doubt, Queue.filed, Queue.coming)


@dataclass(frozen=True)
class SiteLine:
    """One site. `checked_up_to` is its own date; `is_late` that its checks lag behind, or cannot be made at all."""

    site: SiteDay
    late: int
    month: int
    silent: int
    not_watched: int
    checked_up_to: dt.date | None
    is_late: bool


@dataclass(frozen=True)
class Look:
    """How far each site is checked, when the last check was, and what is wrong with schedulers, checks and delivery."""

    marks: list[watch.SiteWatch]
    looked_at: dt.datetime | None
    problems: list[str]


@dataclass(frozen=True)
class Board:
    """All figures of the page. `problems` are sentences: the watch is broken if there is one, or if a site is late."""

    at: dt.datetime
    stops: Stops
    problems: list[str]
    last_check_at: dt.datetime | None
    gaps: dict[Gap, int]
    unreached: int
    counts: dict[Queue, int]
    sites: list[SiteLine]
    months: Sequence[Month]
    unsealed_since: dt.datetime | None = None  # Only when that is too long ago.

    @property
    def not_watched(self) -> int:
        return sum(self.gaps.values())

    @property
    def late_sites(self) -> list[SiteLine]:
        return [line for line in self.sites if line.is_late]

    @property
    def is_broken(self) -> bool:
        return bool(self.problems or self.late_sites)


@dataclass(frozen=True)
class NotWatched:
    """One entry that is not watched, and why; `due_on` is its next open date, if it has one."""

    subject_id: int
    reference: str
    title: str
    site: str
    gap: Gap
    paused_until: dt.date | None
    responsible: str | None
    post: str | None
    due_on: dt.date | None
    rank: int


def read_board(session: Session, sight: Sight, name: str, late: dt.timedelta, stops: Stops, today: dt.date) -> Board:
    """The figures of this instant, of the sites that are seen.

    `late` is the patience of the settings, `today` the organisation's own date, where its months begin.
    """
    asked = (*watch_asked(sight, late), *seal_asked(sight.org), months_asked(sight, today))
    *watched, last, first, by_month = together(session, *asked)
    look, seal = watch_of(sight, name, late, *watched), seal_of(last, first)
    facts = read_register_and_people(session, sight.org)
    missing = [row for row in unwatched(*facts, sight.now) if row.site_id in sight.sites]
    figures = count_by_site(session, sight, *NUMBERED, Queue.late, Queue.month)
    return Board(
        at=sight.now,
        stops=stops,
        problems=[*stops.problems, *look.problems],
        last_check_at=look.looked_at,
        gaps={gap: count for gap in Gap if (count := sum(1 for row in missing if row.gap is gap))},
        unreached=sum(row.site_id in sight.sites for row in read_unreached(session, sight.org, sight.now, *facts)),
        counts={queue: sum(figures[queue].values()) for queue in NUMBERED},
        sites=list(_lines(sight, look.marks, figures, missing)),
        unsealed_since=seal.waits_since if seal.is_late(sight.now) else None,
        months=months_of(by_month, today),
    )


def look_at_watch(session: Session, sight: Sight, name: str, late: dt.timedelta) -> Look:
    """How the watch stands over the sites that are seen."""
    return watch_of(sight, name, late, *together(session, *watch_asked(sight, late)))


def watch_asked(sight: Sight, late: dt.timedelta) -> tuple[Asked, ...]:
    """The selects whose results `watch_of` takes."""
    waiting = watch.late_asked(sight.org, sight.now - late)
    return watch.last_scan_asked(sight.org), watch.sites_asked(sight.org), watch.SCHEDULERS, waiting


def watch_of(
    sight: Sight, name: str, late: dt.timedelta, scan: Found, sites: Found, schedulers: Found, waiting: Found
) -> Look:
    last = watch.last_scan_of(scan)
    looked_at = None if last is None else last.looked_at
    seen = {site.name for site in sight.in_use}
    marks = [mark for mark in watch.sites_of(sites, name, sight.now, late, looked_at) if mark.site in seen]
    problems = [
        *watch.problems_of_schedulers(watch.schedulers_of(schedulers, sight.now), sight.now, late),
        *watch.problems_of_scan(name, last, marks, seen),
        *watch.problems_of_late(waiting.scalar_one(), name),
    ]
    return Look(marks, looked_at, problems)


def _lines(
    sight: Sight, marks: list[watch.SiteWatch], counts: Mapping[Queue, Counter[int]], missing: list[Unwatched]
) -> Iterator[SiteLine]:
    named = {site.name: site for site in sight.in_use}
    unseen = Counter(row.site_id for row in missing)
    for mark in marks:
        site = named[mark.site]
        late, month, silent = (counts[queue][site.id] for queue in (Queue.late, Queue.month, Queue.silent))
        yield SiteLine(site, late, month, silent, unseen[site.id], mark.scanned_through, not mark.up_to_date)


def read_gaps(session: Session, sight: Sight) -> Iterator[Unwatched]:
    """The entries that are not watched, at the sites that are seen."""
    register, people = read_register_and_people(session, sight.org)
    return (row for row in unwatched(register, people, sight.now) if row.site_id in sight.sites)


def read_ahead(session: Session, sight: Sight) -> list[Unreached]:
    """The alerts ahead that would reach nobody, at the sites that are seen."""
    facts = read_register_and_people(session, sight.org)
    return [row for row in read_unreached(session, sight.org, sight.now, *facts) if row.site_id in sight.sites]


def read_unwatched(
    session: Session, sight: Sight, gap: Gap | None = None, site_id: int | None = None, after: Cursor | None = None
) -> Page[NotWatched]:
    """One page of the entries that are not watched, by reason, then in the order in which they were added."""
    order = {one: rank for rank, one in enumerate(Gap)}
    keys = sorted(
        (order[row.gap], row.subject_id)
        for row in read_gaps(session, sight)
        if (gap is None or row.gap is gap) and (site_id is None or row.site_id == site_id)
    )
    wanted = [key for key in keys if after is None or key > after][: PAGE + 1]
    known = _entries(session, sight.org, [subject_id for _, subject_id in wanted])
    rows = [_not_watched(sight, rank, known[subject_id]) for rank, subject_id in wanted]
    return page_of(rows, lambda row: (row.rank, row.subject_id))


def _not_watched(sight: Sight, rank: int, row: tuple[Subject, str | None, str | None, dt.date | None]) -> NotWatched:
    entry, responsible, post, due_on = row
    site = sight.sites[entry.site_id].name
    facts = (entry.id, entry.reference, entry.title, site, list(Gap)[rank], entry.snoozed_until)
    return NotWatched(*facts, responsible, post, due_on, rank)


def _entries(
    session: Session, org: int, subject_ids: list[int]
) -> dict[int, tuple[Subject, str | None, str | None, dt.date | None]]:
    due = select(func.min(Obligation.due_on)).where(
        Obligation.org_id == org, Obligation.subject_id == Subject.id, Obligation.closed_at.is_(None)
    )
    query = (
        select(Subject, Member.name, Post.name, due.scalar_subquery())
        .outerjoin(Member, and_(Member.org_id == org, Member.id == Subject.owner_member_id))
        .outerjoin(Post, and_(Post.org_id == org, Post.id == Subject.owner_post_id))
        .where(Subject.org_id == org, Subject.id.in_(subject_ids))
    )
    return {row[0].id: (row[0], row[1], row[2], row[3]) for row in session.execute(query)}
