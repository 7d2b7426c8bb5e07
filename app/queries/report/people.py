"""The people of a report: which role each of them had when, which posts they held, who stood in, who left.

Whoever sees only a part, or asked for one, reads of the people who have to do with that part.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, or_, select, true
from sqlalchemy.orm import Session, aliased

from app.models import (
    Absence,
    Acknowledgement,
    AuditEvent,
    Delivery,
    Departure,
    Member,
    MemberSite,
    Post,
    Site,
    SitePost,
    Subject,
)
from app.queries.report.scope import Scope, portions

ROLE = ("member_created", "member_role_changed")
DISABLED, ENABLED = "member_disabled", "member_enabled"


@dataclass(frozen=True)
class PersonFacts:
    """One person. `roles` are the events that gave one; the others are rows of their tables, in their order."""

    row: Any
    roles: Sequence[Any]
    posts: Sequence[Any]
    absences: Sequence[Any]
    departures: Sequence[Any]
    sites: Sequence[str]


def read_people_facts(session: Session, scope: Scope) -> Iterator[PersonFacts]:
    """By number."""
    columns = (Member.id, Member.name, Member.role, Member.is_active, Member.valid_until, Member.left_on)
    query = select(*columns).where(Member.org_id == scope.org, _has_to_do(scope)).order_by(Member.id)
    for rows in portions(session, query):
        ids = [row.id for row in rows]
        sorts = [_roles(session, scope, ids), _posts(session, scope, ids), _absences(session, scope, ids)]
        sorts.append(_departures(session, scope, ids))
        sites = _sites(session, scope, ids)
        for row in rows:
            of_person = [[one for one in found if one.member_id == row.id] for found in sorts]
            yield PersonFacts(row, *(*of_person, [site.name for site in sites if site.member_id == row.id]))


def _has_to_do(scope: Scope) -> ColumnElement[bool]:
    if scope.is_about_all:
        return true()
    org, alerts = scope.org, scope.of_alerts()
    site_ids = [site.id for site in scope.sites]
    told = select(Delivery.recipient_id).where(Delivery.org_id == org, Delivery.claim_id.in_(alerts))
    covered = select(Delivery.covers_id).where(
        Delivery.org_id == org, Delivery.claim_id.in_(alerts), Delivery.covers_id.is_not(None)
    )
    answered = select(Acknowledgement.member_id).where(
        Acknowledgement.org_id == org, Acknowledgement.claim_id.in_(alerts)
    )
    owners = select(Subject.owner_member_id).where(scope.entries(), Subject.owner_member_id.is_not(None))
    holders = select(Subject.holder_id).where(scope.entries(), Subject.holder_id.is_not(None))
    posts = select(SitePost.member_id).where(SitePost.org_id == org, SitePost.site_id.in_(site_ids))
    sources: list[Select[Any]] = [told, covered, answered, owners, holders]
    if scope.asked.rule_id is None and scope.asked.subject_id is None:
        sources.append(posts)
    return or_(*(Member.id.in_(source) for source in sources))


def _roles(session: Session, scope: Scope, ids: Collection[int]) -> Sequence[Any]:
    """From the trail, with the event after which the person had another role, or was let in no more."""
    one, detail, by = AuditEvent, AuditEvent.detail, aliased(Member)
    columns = (detail["member_id"].as_integer().label("member_id"), one.at, one.actor, one.type, detail)
    who = and_(by.org_id == one.org_id, one.actor == func.concat("member:", by.id))
    query = select(*columns, by.name.label("by")).outerjoin(by, who).where(one.org_id == scope.org)
    types = one.type.in_((*ROLE, DISABLED, ENABLED))
    query = query.where(types, detail["member_id"].as_string().in_([str(id) for id in ids]), one.at < scope.until)
    return session.execute(query.order_by(one.id)).all()


def _posts(session: Session, scope: Scope, ids: Collection[int]) -> Sequence[Any]:
    one, org = SitePost, scope.org
    columns = (one.member_id, Post.name, Site.name.label("site"), one.from_on, one.until_on)
    query = (
        select(*columns)
        .join(Post, and_(Post.org_id == org, Post.id == one.post_id))
        .join(Site, and_(Site.org_id == org, Site.id == one.site_id))
        .where(one.org_id == org, one.member_id.in_(ids), one.site_id.in_([site.id for site in scope.sites]))
        .where(*_days(scope, one.from_on, one.until_on))
    )
    return session.execute(query.order_by(one.from_on, Site.name, Post.name, one.member_id)).all()


def _absences(session: Session, scope: Scope, ids: Collection[int]) -> Sequence[Any]:
    one, org, stand_in = Absence, scope.org, aliased(Member)
    columns = (one.id, one.member_id, one.from_on, one.until_on, one.entered_at, one.entered_by, one.cancelled_at)
    query = (
        select(*columns, one.stand_in_id, stand_in.name.label("stand_in"), Member.name.label("enterer"))
        .outerjoin(stand_in, and_(stand_in.org_id == org, stand_in.id == one.stand_in_id))
        .outerjoin(Member, and_(Member.org_id == org, Member.id == one.entered_by))
        .where(one.org_id == org, one.member_id.in_(ids), *_days(scope, one.from_on, one.until_on))
    )
    return session.execute(query.order_by(one.from_on, one.id)).all()


def _departures(session: Session, scope: Scope, ids: Collection[int]) -> Sequence[Any]:
    one, org, heir = Departure, scope.org, aliased(Member)
    columns = (one.id, one.member_id, one.leaves_on, one.entered_at, one.entered_by, one.done_at, one.withdrawn_at)
    names = (one.to_member_id, heir.name.label("heir"), Post.name.label("post"), Member.name.label("enterer"))
    query = (
        select(*columns, *names)
        .outerjoin(heir, and_(heir.org_id == org, heir.id == one.to_member_id))
        .outerjoin(Post, and_(Post.org_id == org, Post.id == one.to_post_id))
        .outerjoin(Member, and_(Member.org_id == org, Member.id == one.entered_by))
        .where(one.org_id == org, one.member_id.in_(ids), *_days(scope, one.leaves_on, one.leaves_on))
    )
    return session.execute(query.order_by(one.leaves_on, one.id)).all()


def _sites(session: Session, scope: Scope, ids: Collection[int]) -> Sequence[Any]:
    """The sites that a person is limited to, those of the report."""
    one, org = MemberSite, scope.org
    query = (
        select(one.member_id, Site.name)
        .join(Site, and_(Site.org_id == org, Site.id == one.site_id))
        .where(one.org_id == org, one.member_id.in_(ids), one.site_id.in_([site.id for site in scope.sites]))
    )
    return session.execute(query.order_by(Site.name)).all()


def _days(scope: Scope, first: Any, last: Any) -> list[ColumnElement[bool]]:
    """Whether these days have any of the period in them."""
    found: list[ColumnElement[bool]] = []
    if scope.asked.to_on is not None:
        found.append(first <= scope.asked.to_on)
    if scope.asked.from_on is not None:
        found.append(or_(last.is_(None), last >= scope.asked.from_on))
    return found
