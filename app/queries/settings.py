"""What the settings show: the sites, the kinds, the people, and who holds which post. Read only."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session, aliased

from app.domain import calendars
from app.domain.acts import Status
from app.domain.delivery import Channel, State
from app.domain.errors import UnusableZone
from app.domain.mail_hours import Rest
from app.models import Account, AuditEvent, Delivery, Kind, Member, MemberSite, Post, Site, SitePost, Subject
from app.queries.name_pages import NamePage, page
from app.queries.together import Asked, Found, together

NOT_ARRIVED = (State.failed, State.bounced)
SIGN_INS_FOR = dt.timedelta(days=90)  # How far back the trail is read for a last sign-in.
MEMBER_ACTOR = "member:"  # Before the number of a member who did something.


@dataclass(frozen=True)
class SiteLine:
    """A site. `today` is its own date, or None where its zone cannot be used; `watched` counts entries."""

    id: int
    name: str
    timezone: str
    country: str | None
    region: str | None
    alert_from: dt.time
    archived_at: dt.datetime | None
    today: dt.date | None
    watched: int


@dataclass(frozen=True)
class KindLine:
    id: int
    name: str
    wording: str
    what_to_do: str
    what_to_do_in: Mapping[str, str]
    recurrence: str | None
    recurrence_basis: str | None
    proof_needed: bool
    staff_may_close: bool

    @property
    def what_to_do_es(self) -> str:
        return self.what_to_do_in.get("es", "")


@dataclass(frozen=True)
class PersonLine:
    """A member. No sites means all of them; `last_sign_in` is None where there was none in ninety days.

    `mail_fault` is the state of the last message to the present address, if it was refused or came back.
    """

    id: int
    name: str
    email: str | None
    number: str | None
    role: str
    locale: str
    is_active: bool
    valid_until: dt.date | None
    left_on: dt.date | None
    email_alerts: bool
    mail_hour: dt.time | None
    own_rest: bool
    rest_from: dt.time | None
    rest_until: dt.time | None
    rest_days_off: bool
    may_sign_in: bool
    has_account: bool
    sites: Sequence[str]
    site_ids: Collection[int]
    last_sign_in: dt.datetime | None
    mail_fault: str | None

    @property
    def rest(self) -> Rest | None:
        """None: as the organisation has it."""
        return Rest(self.rest_from, self.rest_until, self.rest_days_off) if self.own_rest else None

    @property
    def hears_mail(self) -> bool:
        """Whether alerts go to the person by e-mail at all."""
        return bool(self.email) and self.email_alerts

    def is_past(self, today: dt.date) -> bool:
        """Whether the last day that was granted is over, or the person has left."""
        left = self.left_on is not None and self.left_on <= today
        return left or (self.valid_until is not None and self.valid_until < today)


@dataclass(frozen=True)
class Holding:
    """Who holds a post at a site, both days included. `today` is the date there."""

    site_id: int
    site: str
    member_id: int
    member: str
    from_on: dt.date
    until_on: dt.date | None
    today: dt.date | None

    @property
    def is_over(self) -> bool:
        return self.today is not None and self.until_on is not None and self.until_on < self.today

    @property
    def is_ahead(self) -> bool:
        return self.today is not None and self.from_on > self.today


@dataclass(frozen=True)
class PostLine:
    """A post, and by name the one above it."""

    id: int
    name: str
    above_id: int | None
    above: str | None
    holdings: Sequence[Holding]


def day_at(now: dt.datetime, timezone: str) -> dt.date | None:
    try:
        return calendars.today(now, timezone)
    except UnusableZone:
        return None


def sites(session: Session, org: int, now: dt.datetime, after: int | None = None) -> NamePage[SiteLine]:
    found = page(session, org, _site_query(org), Site, after, lambda row: row)
    watched = _watched_at(session, org, [row.id for row in found.lines])
    return NamePage([_site_line(row, now, watched.get(row.id, 0)) for row in found.lines], found.after)


def site(session: Session, org: int, now: dt.datetime, site_id: int) -> SiteLine | None:
    row = session.execute(_site_query(org).where(Site.id == site_id)).one_or_none()
    return _site_line(row, now, _watched_at(session, org, [site_id]).get(site_id, 0)) if row else None


def _site_query(org: int) -> Any:
    where = (Site.name, Site.timezone, Site.country, Site.region, Site.alert_from, Site.archived_at)
    return select(Site.id, *where).where(Site.org_id == org)


def _site_line(row: Any, now: dt.datetime, watched: int) -> SiteLine:
    return SiteLine(**row._mapping, today=day_at(now, row.timezone), watched=watched)


def _watched_at(session: Session, org: int, site_ids: Collection[int]) -> dict[int, int]:
    there = (Subject.org_id == org, Subject.status == Status.watched, Subject.site_id.in_(site_ids))
    return dict(session.execute(select(Subject.site_id, func.count()).where(*there).group_by(Subject.site_id)).all())


def kinds(session: Session, org: int, after: int | None = None) -> NamePage[KindLine]:
    return page(session, org, _kind_query(org), Kind, after, lambda row: KindLine(*row))


def kind(session: Session, org: int, kind_id: int) -> KindLine | None:
    row = session.execute(_kind_query(org).where(Kind.id == kind_id)).one_or_none()
    return KindLine(*row) if row else None


def _kind_query(org: int) -> Any:
    columns = (Kind.what_to_do, Kind.what_to_do_in, Kind.recurrence, Kind.recurrence_basis)
    closing = (Kind.proof_needed, Kind.staff_may_close)
    return select(Kind.id, Kind.name, Kind.wording, *columns, *closing).where(Kind.org_id == org)


def people(session: Session, org: int, now: dt.datetime, after: int | None = None) -> NamePage[PersonLine]:
    found = page(session, org, _person_query(org), Member, after, lambda row: row)
    return NamePage(_person_lines(session, org, now, found.lines), found.after)


def person(session: Session, org: int, now: dt.datetime, member_id: int) -> PersonLine | None:
    rows = session.execute(_person_query(org).where(Member.id == member_id)).all()
    return next(iter(_person_lines(session, org, now, rows)), None)


def _person_query(org: int) -> Any:
    facts = (
        Member.name,
        Member.email,
        Member.number,
        Member.role,
        Member.locale,
        Member.is_active,
        Member.valid_until,
        Member.left_on,
    )
    may_sign_in = func.coalesce(Account.is_active, False) & Account.password_hash.is_not(None)
    has_account = Member.account_id.is_not(None).label("has_account")
    hours = (Member.mail_hour, Member.own_rest, Member.rest_from, Member.rest_until, Member.rest_days_off)
    query = select(Member.id, *facts, Member.email_alerts, *hours, may_sign_in.label("may_sign_in"), has_account)
    return query.outerjoin(Account, Account.id == Member.account_id).where(Member.org_id == org)


def _person_lines(session: Session, org: int, now: dt.datetime, rows: Sequence[Any]) -> list[PersonLine]:
    ids = [row.id for row in rows]
    limits = select(MemberSite.member_id, Site.id, Site.name).join(
        Site, (Site.org_id == MemberSite.org_id) & (Site.id == MemberSite.site_id)
    )
    limits = limits.where(MemberSite.org_id == org, MemberSite.member_id.in_(ids)).order_by(Site.name)
    names: defaultdict[int, dict[int, str]] = defaultdict(dict)
    limited, signed_in, mailed = together(session, limits, _last_sign_ins(org, now, ids), mail_faults_asked(org, ids))
    for member_id, site_id, name in limited:
        names[member_id][site_id] = name
    seen = {int(actor.removeprefix(MEMBER_ACTOR)): at for actor, at in signed_in}
    faults = mail_faults_of(mailed)
    return [
        PersonLine(
            **row._mapping,
            sites=list(names[row.id].values()),
            site_ids=names[row.id].keys(),
            last_sign_in=seen.get(row.id),
            mail_fault=faults.get(row.id),
        )
        for row in rows
    ]


def mail_faults(session: Session, org: int, ids: Collection[int]) -> dict[int, str]:
    """By member, what became of the last e-mail to the address that they have now, where it did not arrive."""
    return mail_faults_of(session.execute(mail_faults_asked(org, ids)))


def mail_faults_asked(org: int, ids: Collection[int]) -> Asked:
    """The select whose result `mail_faults_of` takes."""
    to_address = (Member.org_id == Delivery.org_id) & (Member.id == Delivery.recipient_id)
    to_address &= func.lower(Member.email) == func.lower(Delivery.sent_to)
    last = (
        select(func.max(Delivery.id))
        .join(Member, to_address)
        .where(Delivery.org_id == org, Delivery.recipient_id.in_(ids), Delivery.channel == Channel.email)
        .where(Delivery.state.in_((State.delivered, *NOT_ARRIVED)))
        .group_by(Delivery.recipient_id)
    )
    return select(Delivery.recipient_id, Delivery.state).where(Delivery.org_id == org, Delivery.id.in_(last))


def mail_faults_of(rows: Found) -> dict[int, str]:
    return {row[0]: row[1] for row in rows if row[1] in NOT_ARRIVED}


def _last_sign_ins(org: int, now: dt.datetime, ids: Collection[int]) -> Asked:
    """Read from the trail, over its index by time."""
    actors = [f"{MEMBER_ACTOR}{member_id}" for member_id in ids]
    query = select(AuditEvent.actor, func.max(AuditEvent.at)).where(
        AuditEvent.org_id == org,
        AuditEvent.at >= now - SIGN_INS_FOR,
        AuditEvent.type == "signed_in",
        AuditEvent.actor.in_(actors),
    )
    return query.group_by(AuditEvent.actor)


def is_member(session: Session, org: int, address: str) -> bool:
    query = select(Member.id).where(Member.org_id == org, func.lower(Member.email) == address.strip().lower())
    return session.execute(query).first() is not None


def posts(session: Session, org: int, now: dt.datetime, after: int | None = None) -> NamePage[PostLine]:
    found = page(session, org, _post_query(org), Post, after, lambda row: row)
    held = _holdings(session, org, now, [row.id for row in found.lines])
    # A list says who holds a post now or will; the page of the post shows also who held it.
    return NamePage(
        [PostLine(**row._mapping, holdings=[one for one in held[row.id] if not one.is_over]) for row in found.lines],
        found.after,
    )


def post(session: Session, org: int, now: dt.datetime, post_id: int) -> PostLine | None:
    row = session.execute(_post_query(org).where(Post.id == post_id)).one_or_none()
    return PostLine(**row._mapping, holdings=_holdings(session, org, now, [post_id])[post_id]) if row else None


def _post_query(org: int) -> Any:
    above = aliased(Post, name="above")
    query = select(Post.id, Post.name, Post.above_id, above.name.label("above")).where(Post.org_id == org)
    return query.outerjoin(above, (above.org_id == Post.org_id) & (above.id == Post.above_id))


def _holdings(session: Session, org: int, now: dt.datetime, ids: Collection[int]) -> dict[int, list[Holding]]:
    facts = (Site.id, Site.name, Member.id, Member.name, SitePost.from_on, SitePost.until_on, Site.timezone)
    query = (
        select(SitePost.post_id, *facts)
        .join(Site, (Site.org_id == SitePost.org_id) & (Site.id == SitePost.site_id))
        .join(Member, (Member.org_id == SitePost.org_id) & (Member.id == SitePost.member_id))
        .where(SitePost.org_id == org, SitePost.post_id.in_(ids))
        .order_by(Site.name, SitePost.from_on, Member.name)
    )
    held: defaultdict[int, list[Holding]] = defaultdict(list)
    for row in session.execute(query):
        held[row[0]].append(Holding(*row[1:7], today=day_at(now, row.timezone)))
    return held


def site_names(session: Session, org: int, besides: Collection[int] = ()) -> dict[int, str]:
    """The sites in use by name, and those that are chosen already, for a form."""
    usable = or_(Site.archived_at.is_(None), Site.id.in_(besides))
    query = select(Site.id, Site.name).where(Site.org_id == org, usable).order_by(func.lower(Site.name))
    return dict(session.execute(query).all())


def kind_names(session: Session, org: int) -> dict[int, str]:
    query = select(Kind.id, Kind.name).where(Kind.org_id == org).order_by(func.lower(Kind.name))
    return dict(session.execute(query).all())


def post_names(session: Session, org: int) -> dict[int, str]:
    query = select(Post.id, Post.name).where(Post.org_id == org).order_by(func.lower(Post.name))
    return dict(session.execute(query).all())


def member_names(session: Session, org: int) -> dict[int, str]:
    """The active members by name, with the address that tells two of one name apart."""
    query = select(Member.id, Member.name, Member.email).where(Member.org_id == org, Member.is_active)
    rows = session.execute(query.order_by(func.lower(Member.name), Member.id))
    return {row.id: f"{row.name}, {row.email}" if row.email else row.name for row in rows}
