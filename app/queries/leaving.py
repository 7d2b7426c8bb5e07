"""Everything that hangs on one person, for the page of whoever leaves: entries, posts, rules, stand-ins, messages."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, exists, func, or_, select
from sqlalchemy.orm import Session

from app.domain.acts import Answer, Status
from app.domain.delivery import TOLD, Standing, State
from app.domain.recipients import MEMBER
from app.models import (
    Absence,
    Acknowledgement,
    AlertRule,
    CalendarFeed,
    Delivery,
    Departure,
    Member,
    NotificationLedger,
    Obligation,
    Post,
    RuleRecipient,
    Site,
    SitePost,
    Subject,
)  # fmt: skip
from app.models.answered import takes_up
from app.models.undecided import is_undecided

LOST = (State.in_doubt, State.failed, State.bounced)


@dataclass(frozen=True)
class Hanging:
    """An entry, with its next open date."""

    subject_id: int
    reference: str
    title: str
    site: str
    due_on: dt.date | None


@dataclass(frozen=True)
class HeldPost:
    post: str
    site: str
    from_on: dt.date
    until_on: dt.date | None


@dataclass(frozen=True)
class Leaving:
    """A departure that is entered. `to` is the name of a person or of a post."""

    leaves_on: dt.date
    to: str
    is_done: bool


@dataclass(frozen=True)
class Load:
    """What hangs on the person. `unanswered` alerts follow the duty; `messages` need a person to look."""

    owned: Sequence[Hanging]
    about: Sequence[Hanging]
    posts: Sequence[HeldPost]
    rules: Sequence[str]
    stands_in_for: Sequence[str]
    calendars: int
    unanswered: int
    messages: int
    leaving: Leaving | None

    @property
    def is_nothing(self) -> bool:
        return not (self.owned or self.about or self.posts or self.rules or self.stands_in_for or self.calendars)


def read_load(session: Session, org: int, member_id: int, today: dt.date) -> Load:
    feeds = (CalendarFeed.org_id == org, CalendarFeed.member_id == member_id, CalendarFeed.revoked_at.is_(None))
    lost = and_(Delivery.org_id == org, Delivery.recipient_id == member_id, Delivery.state.in_(LOST), is_undecided())
    return Load(
        owned=_entries(session, org, Subject.owner_member_id == member_id),
        about=_entries(session, org, Subject.holder_id == member_id),
        posts=_posts(session, org, member_id, today),
        rules=_rules(session, org, member_id),
        stands_in_for=_stands_in_for(session, org, member_id, today),
        calendars=session.execute(select(func.count()).select_from(CalendarFeed).where(*feeds)).scalar_one(),
        unanswered=session.execute(_unanswered(org, member_id)).scalar_one(),
        messages=session.execute(select(func.count()).select_from(Delivery).where(lost)).scalar_one(),
        leaving=_leaving(session, org, member_id),
    )


def _entries(session: Session, org: int, which: Any) -> list[Hanging]:
    due = select(func.min(Obligation.due_on)).where(
        Obligation.org_id == org, Obligation.subject_id == Subject.id, Obligation.closed_at.is_(None)
    )
    query = (
        select(Subject.id, Subject.reference, Subject.title, Site.name, due.scalar_subquery())
        .join(Site, and_(Site.org_id == org, Site.id == Subject.site_id))
        .where(Subject.org_id == org, which, Subject.status != Status.archived)
        .order_by(Site.name, Subject.reference_key, Subject.id)
    )
    return [Hanging(*row) for row in session.execute(query)]


def _posts(session: Session, org: int, member_id: int, today: dt.date) -> list[HeldPost]:
    running = or_(SitePost.until_on.is_(None), SitePost.until_on >= today)
    query = (
        select(Post.name, Site.name, SitePost.from_on, SitePost.until_on)
        .join(Post, and_(Post.org_id == org, Post.id == SitePost.post_id))
        .join(Site, and_(Site.org_id == org, Site.id == SitePost.site_id))
        .where(SitePost.org_id == org, SitePost.member_id == member_id, running)
        .order_by(Post.name, Site.name, SitePost.from_on)
    )
    return [HeldPost(*row) for row in session.execute(query)]


def _rules(session: Session, org: int, member_id: int) -> list[str]:
    address = select(func.concat(MEMBER, ":", func.lower(Member.email)))
    address = address.where(Member.org_id == org, Member.id == member_id, Member.email.is_not(None))
    named = exists().where(
        RuleRecipient.org_id == org,
        RuleRecipient.rule_id == AlertRule.id,
        func.lower(RuleRecipient.recipient) == address.scalar_subquery(),
    )
    names = or_(named, func.lower(AlertRule.fallback) == address.scalar_subquery())
    query = select(AlertRule.name).where(AlertRule.org_id == org, AlertRule.archived_at.is_(None), names)
    return list(session.scalars(query.order_by(AlertRule.name)))


def _stands_in_for(session: Session, org: int, member_id: int, today: dt.date) -> list[str]:
    ahead = (Absence.stand_in_id == member_id, Absence.cancelled_at.is_(None), Absence.until_on >= today)
    query = select(Member.name).join(Absence, and_(Absence.org_id == org, Absence.member_id == Member.id))
    return list(session.scalars(query.where(Member.org_id == org, *ahead).order_by(Member.name)))


def _unanswered(org: int, member_id: int) -> Any:
    """Counts the alerts of open deadlines that the person was told and nobody else has taken up.

    What the person says to be on is taken back as they go.
    """
    claim = NotificationLedger
    of_claim = (Delivery.org_id == org, Delivery.claim_id == claim.id)
    told = exists().where(*of_claim, Delivery.recipient_id == member_id, Delivery.state.in_(TOLD))
    said = and_(Acknowledgement.org_id == org, Acknowledgement.claim_id == claim.id, takes_up(Acknowledgement))
    goes = and_(Acknowledgement.member_id == member_id, Acknowledgement.answer == Answer.on_it)
    query = select(func.count()).select_from(claim)
    query = query.join(Obligation, and_(Obligation.org_id == org, Obligation.id == claim.obligation_id))
    waiting = (claim.standing == Standing.open, ~exists().where(said, ~goes), Obligation.closed_at.is_(None))
    return query.where(claim.org_id == org, *waiting, told)


def _leaving(session: Session, org: int, member_id: int) -> Leaving | None:
    heir = and_(Member.org_id == org, Member.id == Departure.to_member_id)
    query = (
        select(Departure.leaves_on, func.coalesce(Member.name, Post.name), Departure.done_at.is_not(None))
        .outerjoin(Member, heir)
        .outerjoin(Post, and_(Post.org_id == org, Post.id == Departure.to_post_id))
        .where(Departure.org_id == org, Departure.member_id == member_id, Departure.withdrawn_at.is_(None))
        .order_by(Departure.id.desc())
        .limit(1)
    )
    row = session.execute(query).one_or_none()
    return Leaving(*row) if row else None
