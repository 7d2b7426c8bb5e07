"""Absences as pages show them: whose they are, whom a person stands in for, and what was told in somebody's place."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, any_, exists, func, literal, or_, select, union
from sqlalchemy.orm import Session, aliased

from app.domain import calendars
from app.domain.delivery import TOLD, Reason, State
from app.models import (
    Absence,
    Acknowledgement,
    AuditEvent,
    Delivery,
    Member,
    NotificationLedger,
    Obligation,
    Site,
    Subject,
)  # fmt: skip
from app.queries.sight import Sight, read_sight

MOST = 200  # Lines of a summary; nobody reads more, and the register has them all.
REMEMBERED_FOR = 90 * calendars.DAY  # After that nobody asks what was told in an absence.


@dataclass(frozen=True)
class AbsenceLine:
    """One absence. `person` is who is away, `stand_in` who is told instead."""

    id: int
    member_id: int
    person: str
    stand_in: str | None
    from_on: dt.date
    until_on: dt.date
    note: str
    is_over: bool
    is_ahead: bool


@dataclass(frozen=True)
class ToldForYou:
    """One alert that was told in the person's place: to whom, and what has become of it."""

    subject_id: int
    reference: str
    title: str
    site: str
    due_on: dt.date
    threshold: str
    people: Sequence[str]
    is_open: bool
    answered_by: str | None


@dataclass(frozen=True)
class Summary:
    """What was told in the person's place in an absence that is over, and that they have not put away."""

    absence_id: int
    from_on: dt.date
    until_on: dt.date
    told: Sequence[ToldForYou]


def absences_of(session: Session, org: int, member_id: int, today: dt.date) -> list[AbsenceLine]:
    """The member's absences, the last one first; what was ended early is left out."""
    return _lines(session, org, Absence.member_id == member_id, today)


def covered_by(session: Session, org: int, member_id: int, today: dt.date) -> list[AbsenceLine]:
    """The absences, now or to come, in which the member stands in."""
    return _lines(session, org, and_(Absence.stand_in_id == member_id, Absence.until_on >= today), today)


def _lines(session: Session, org: int, which: Any, today: dt.date) -> list[AbsenceLine]:
    other = aliased(Member)
    columns: list[Any] = [Absence.id, Absence.member_id, Member.name.label("person"), other.name.label("stand_in")]
    columns += [Absence.from_on, Absence.until_on, Absence.note]
    query = (
        select(*columns)
        .join(Member, and_(Member.org_id == org, Member.id == Absence.member_id))
        .outerjoin(other, and_(other.org_id == org, other.id == Absence.stand_in_id))
        .where(Absence.org_id == org, Absence.cancelled_at.is_(None), which)
        .order_by(Absence.from_on.desc(), Absence.id.desc())
        .limit(MOST)
    )
    return [
        AbsenceLine(**row._mapping, is_over=row.until_on < today, is_ahead=row.from_on > today)
        for row in session.execute(query)
    ]


def away_today(session: Session, org: int, today: dt.date) -> dict[int, str | None]:
    """Who is away on this day, and the name of who stands in."""
    now = and_(Absence.from_on <= today, Absence.until_on >= today)
    return {line.member_id: line.stand_in for line in _lines(session, org, now, today)}


def read_summary(session: Session, org: int, member_id: int, now: dt.datetime, today: dt.date) -> Summary | None:
    """Of the last absence that is over; None if nothing was told in it, or the person has put it away."""
    over = or_(Absence.until_on < today, and_(Absence.cancelled_at.is_not(None), Absence.from_on <= today))
    query = select(Absence).where(Absence.org_id == org, Absence.member_id == member_id, over)
    query = query.where(Absence.seen_at.is_(None), Absence.until_on >= today - REMEMBERED_FOR)
    absence = session.scalars(query.order_by(Absence.until_on.desc(), Absence.id.desc()).limit(1)).one_or_none()
    if absence is None:
        return None
    told = _told_for(session, read_sight(session, org, member_id, now), absence)
    return Summary(absence.id, absence.from_on, absence.until_on, told) if told else None


def _told_for(session: Session, sight: Sight, absence: Absence) -> list[ToldForYou]:
    org = sight.org
    claim, entry = NotificationLedger, Subject
    names = func.array_agg(func.distinct(Member.name))
    columns: list[Any] = [claim.id, entry.id.label("subject_id"), claim.reference, claim.title, Site.name.label("site")]
    columns += [claim.due_on, claim.threshold, names.label("people"), Obligation.closed_at, claim.acknowledged_by]
    query = (
        select(*columns)
        .select_from(Delivery)
        .join(claim, and_(claim.org_id == org, claim.id == Delivery.claim_id))
        .join(entry, and_(entry.org_id == org, entry.id == claim.subject_id))
        .join(Site, and_(Site.org_id == org, Site.id == entry.site_id))
        .join(Obligation, and_(Obligation.org_id == org, Obligation.id == claim.obligation_id))
        .join(Member, and_(Member.org_id == org, Member.id == Delivery.recipient_id))
        .where(Delivery.org_id == org, Delivery.id.in_(_instead_of(org, absence)), sight.covers(entry))
        .group_by(claim.org_id, claim.id, entry.id, Site.name, Obligation.closed_at)
        .order_by(claim.due_on, claim.reference, claim.id)
        .limit(MOST)
    )
    rows = session.execute(query).all()
    said = _answered(session, org, [row.id for row in rows])
    return [
        ToldForYou(
            *(row.subject_id, row.reference, row.title, row.site, row.due_on, row.threshold, sorted(row.people)),
            is_open=row.closed_at is None,
            answered_by=said.get(row.id),
        )
        for row in rows
    ]


def _instead_of(org: int, absence: Absence) -> Any:
    """The messages that told somebody else since the absence began.

    In the person's place, alone or among others; and of an alert of which the person's own message was stopped as they
    went, what the others were told.
    """
    begins = dt.datetime.combine(absence.from_on - calendars.DAY, dt.time(), dt.UTC)  # The earliest zone is ahead.
    own, stopped = aliased(Delivery), AuditEvent
    told = select(Delivery.id).where(Delivery.org_id == org, Delivery.state.in_(TOLD))
    since = told.where(Delivery.handed_over_at >= begins)
    among = since.where(Delivery.also_covers != [], literal(absence.member_id) == any_(Delivery.also_covers))
    because = (stopped.org_id == org, stopped.claim_id == own.claim_id, stopped.delivery_id == own.id)
    went = select(own.claim_id).where(
        own.org_id == org, own.recipient_id == absence.member_id, own.state == State.cancelled,
        own.reason == Reason.away, exists().where(*because, stopped.at >= begins),
    )  # fmt: skip
    others = told.where(Delivery.claim_id.in_(went))
    return union(since.where(Delivery.covers_id == absence.member_id), among, others).scalar_subquery()


def _answered(session: Session, org: int, claim_ids: Sequence[int]) -> dict[int, str]:
    """By alert, who has answered it last."""
    said = Acknowledgement
    query = (
        select(said.claim_id, Member.name)
        .join(Member, and_(Member.org_id == org, Member.id == said.member_id))
        .where(said.org_id == org, said.claim_id.in_(claim_ids))
        .where(said.taken_back_at.is_(None), said.sent_back_at.is_(None))
        .order_by(said.acknowledged_at, said.id)
    )
    return {row.claim_id: row.name for row in session.execute(query)}
