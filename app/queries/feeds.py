"""What a calendar feed shows: the due dates that its member may see now, each with how often it has changed.

Every open deadline of a watched entry, whether a rule tells of it or not, and, called off, what was closed lately:
somebody's calendar has it still. A pause or a filing silences alerts; the date stays.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, or_, select, text
from sqlalchemy.orm import Session

from app.domain.acts import Role
from app.domain.calendars import today
from app.domain.errors import UnusableZone
from app.models import Account, CalendarFeed, Member, Organisation, Site
from app.queries.concern import CONCERNED
from app.queries.sight import read_sight
from app.queries.what_to_do import WHAT_TO_DO

CALLED_OFF_FOR = dt.timedelta(days=60)  # Longer than any calendar program goes without looking.

# Whatever changes what an event says. Of the entry, or, where the event names one, of a single deadline.
OPENED = "obligation_opened"
CHANGES = (
    OPENED, "obligation_closed", "obligation_reopened", "date_moved", "subject_retitled", "subject_changed",
    "subject_moved",
)  # fmt: skip

DATES = f"""
select o.id, o.subject_id, o.due_on, o.opened_at, o.closed_at, s.reference, s.title, s.notes,
       p.name as site, k.name as kind, k.wording, {WHAT_TO_DO}
from obligation o
join subject s on s.org_id = :org and s.id = o.subject_id
join site p on p.org_id = :org and p.id = s.site_id and p.archived_at is null
join kind k on k.org_id = :org and k.id = s.kind_id
join member m on m.org_id = :org and m.id = :member
where o.org_id = :org
  and (o.closed_at is null and s.status = 'watched' or o.closed_at >= :since and s.status <> 'draft')
  and (cast(:seen as bigint[]) is null or s.site_id = any (cast(:seen as bigint[])))
  and (cast(:kinds as bigint[]) is null or s.kind_id = any (cast(:kinds as bigint[])))
  and (not :concerned or {CONCERNED})
order by o.due_on, o.id"""

EVENTS = """
select e.subject_id, e.type, e.at, cast(e.detail ->> 'obligation_id' as bigint) as obligation_id
from audit_event e
where e.org_id = :org and e.subject_id = any (cast(:subjects as bigint[])) and e.type = any (cast(:types as text[]))
order by e.id"""


@dataclass(frozen=True)
class Feed:
    """A feed that is not revoked, of a member who is present."""

    id: int
    org: int
    slug: str
    organisation: str
    member_id: int
    member: str
    locale: str
    role: Role
    site_id: int | None
    site: str | None

    @property
    def name(self) -> str:
        return f"{self.organisation}: {self.site or self.member}"


@dataclass(frozen=True)
class FeedLine:
    """A feed in the list of its owner. Without a site it is of what concerns them."""

    id: int
    site: str | None
    created_at: dt.datetime
    last_read_at: dt.datetime | None


@dataclass(frozen=True)
class FeedOwner(FeedLine):
    """A feed in the list of all of them, with whose it is."""

    member: str
    email: str | None


@dataclass(frozen=True)
class Dated:
    """One deadline. `revision` counts the changes since it was opened, `changed_at` is the last one's instant."""

    obligation_id: int
    subject_id: int
    due_on: dt.date
    is_closed: bool
    reference: str
    title: str
    notes: str
    site: str
    kind: str
    wording: str
    what_to_do: str
    revision: int
    changed_at: dt.datetime


def find_feed(session: Session, org: int, token_sha256: str, now: dt.datetime) -> Feed | None:
    """The feed of this address; None if it is unknown or revoked, or its member disabled or gone."""
    place = session.execute(select(Organisation.slug, Organisation.name, Organisation.timezone).filter_by(id=org))
    if (row := place.one_or_none()) is None:
        return None
    slug, organisation, timezone = row
    day = _day(now, timezone)
    columns = (CalendarFeed.id, CalendarFeed.member_id, Member.name, Member.locale, Member.role)
    query = (
        select(*columns, CalendarFeed.site_id, Site.name)
        .join(Member, and_(Member.org_id == org, Member.id == CalendarFeed.member_id))
        .join(Account, Account.id == Member.account_id)
        .outerjoin(Site, and_(Site.org_id == org, Site.id == CalendarFeed.site_id))
        .where(CalendarFeed.org_id == org, CalendarFeed.token_sha256 == token_sha256, CalendarFeed.revoked_at.is_(None))
        .where(Member.is_active, Account.is_active)
        .where(or_(Member.left_on.is_(None), Member.left_on > day))
        .where(or_(Member.valid_until.is_(None), Member.valid_until >= day))
    )
    found = session.execute(query).one_or_none()
    if found is None:
        return None
    feed_id, member_id, member, locale, role, site_id, site = found
    return Feed(feed_id, org, slug, organisation, member_id, member, locale, Role(role), site_id, site)


def _day(now: dt.datetime, timezone: str) -> dt.date:
    """The date at the organisation, as at the door of its pages."""
    try:
        return today(now, timezone)
    except UnusableZone:
        return now.date()


def feeds_of(session: Session, org: int, member_id: int) -> list[FeedLine]:
    """The member's feeds that are not revoked, the last one first."""
    query = (
        select(CalendarFeed.id, Site.name, CalendarFeed.created_at, CalendarFeed.last_read_at)
        .outerjoin(Site, and_(Site.org_id == org, Site.id == CalendarFeed.site_id))
        .where(CalendarFeed.org_id == org, CalendarFeed.member_id == member_id, CalendarFeed.revoked_at.is_(None))
        .order_by(CalendarFeed.id.desc())
    )
    return [FeedLine(*row) for row in session.execute(query)]


def feed_owners(session: Session, org: int, member_id: int | None = None) -> list[FeedOwner]:
    """All feeds that are not revoked, or those of this member; by the name of whose they are."""
    facts = (CalendarFeed.id, Site.name, CalendarFeed.created_at, CalendarFeed.last_read_at, Member.name, Member.email)
    query = (
        select(*facts)
        .join(Member, and_(Member.org_id == org, Member.id == CalendarFeed.member_id))
        .outerjoin(Site, and_(Site.org_id == org, Site.id == CalendarFeed.site_id))
        .where(CalendarFeed.org_id == org, CalendarFeed.revoked_at.is_(None))
        .order_by(Member.name, CalendarFeed.id)
    )
    if member_id is not None:
        query = query.where(CalendarFeed.member_id == member_id)
    return [FeedOwner(*row) for row in session.execute(query)]


def read_dates(session: Session, feed: Feed, now: dt.datetime) -> list[Dated]:
    """The due dates of the feed, the first one first. Team members see what concerns them, at a site, too."""
    sight = read_sight(session, feed.org, feed.member_id, now)
    seen = list(sight.sites) if sight.is_limited else None
    if feed.site_id is not None:
        seen = [feed.site_id] if feed.site_id in sight.sites else []
    known = {site.id: site.today for site in sight.in_use if site.today is not None}
    facts: dict[str, Any] = {"org": feed.org, "member": feed.member_id, "since": now - CALLED_OFF_FOR, "seen": seen}
    facts["kinds"] = None if sight.kinds is None else list(sight.kinds)
    facts |= {"sites": list(known), "todays": list(known.values())}
    facts["concerned"] = feed.site_id is None or feed.role == Role.staff
    rows = session.execute(text(DATES), facts).all()
    events = _events(session, feed.org, {row.subject_id for row in rows})
    return [_dated(row, events[row.subject_id]) for row in rows]


def _events(session: Session, org: int, subjects: Iterable[int]) -> Mapping[int, Sequence[Any]]:
    found: dict[int, list[Any]] = defaultdict(list)
    for row in session.execute(text(EVENTS), {"org": org, "subjects": list(subjects), "types": list(CHANGES)}):
        found[row.subject_id].append(row)
    return found


def _dated(row: Any, events: Sequence[Any]) -> Dated:
    revision, changed_at = 0, row.opened_at
    for event in events:
        if event.obligation_id not in (None, row.id):
            continue
        changed_at = max(changed_at, event.at)
        revision = 0 if event.type == OPENED else revision + 1
    same = {name: getattr(row, name) for name in ("subject_id", "due_on", "reference", "title", "notes", "site", "kind",
                                                  "wording", "what_to_do")}  # fmt: skip
    return Dated(row.id, is_closed=row.closed_at is not None, revision=revision, changed_at=changed_at, **same)
