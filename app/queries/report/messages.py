"""The messages of the alerts of a report, each try to send one over the network, and every answer that was given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from sqlalchemy import Select, and_, select
from sqlalchemy.orm import Session, aliased

from app.models import (
    Acknowledgement,
    Attachment,
    Delivery,
    DeliveryAttempt,
    Member,
    NotificationLedger,
    Post,
    Site,
)
from app.queries.dispatches import Dispatch, read_dispatches
from app.queries.report.scope import Scope, portions


def read_messages(session: Session, scope: Scope) -> Iterator[tuple[Any, Dispatch]]:
    """Each message behind its alert (entry, reference, zone), in the order in which they were made ready."""
    claim = NotificationLedger
    query = _beside_alerts(select(Delivery.id, claim.subject_id, claim.reference, Site.timezone), scope)
    for rows in portions(session, query.order_by(Delivery.id)):
        found = {one.id: one for one in read_dispatches(session, scope.org, Delivery.id.in_([row.id for row in rows]))}
        for row in rows:
            yield row, found[row.id]


def read_tries(session: Session, scope: Scope) -> Iterator[Any]:
    """Each try, in the order in which they were noted."""
    claim, tried = NotificationLedger, DeliveryAttempt
    columns = (tried.id, tried.delivery_id, claim.id.label("claim_id"), claim.reference, Site.timezone, tried.at)
    query = _beside_alerts(select(*columns, tried.verb, tried.reply, tried.outcome), scope)
    query = query.join(tried, and_(tried.org_id == Delivery.org_id, tried.delivery_id == Delivery.id))
    for rows in portions(session, query.order_by(tried.id)):
        yield from rows


def _beside_alerts(query: Any, scope: Scope) -> Any:
    claim = NotificationLedger
    return (
        query.select_from(Delivery)
        .join(claim, and_(claim.org_id == Delivery.org_id, claim.id == Delivery.claim_id))
        .join(Site, and_(Site.org_id == claim.org_id, Site.id == claim.site_id))
        .where(Delivery.org_id == scope.org, Delivery.claim_id.in_(scope.of_alerts()))
    )


def read_answers(session: Session, scope: Scope) -> Iterator[tuple[Any, list[str]]]:
    """Each answer, those included that were taken back or sent back, with the hashes of its files."""
    for rows in portions(session, _answers(scope)):
        files = _files(session, scope.org, [row.id for row in rows])
        for row in rows:
            yield row, files[row.id]


def _answers(scope: Scope) -> Select[Any]:
    one, claim, org = Acknowledgement, NotificationLedger, scope.org
    checker, whose = aliased(Member), aliased(Member)
    columns: list[Any] = [
        *(one.id, one.claim_id, claim.subject_id, claim.reference, Site.timezone, one.member_id),
        *(Member.name.label("person"), one.acknowledged_at, one.answer, one.until_on, one.done_on, one.note),
        *(whose.name.label("whose"), Post.name.label("whose_post"), one.taken_back_at, one.sent_back_at),
        *(one.sent_back_note, one.accepted_at, one.checked_by, checker.name.label("checker")),
    ]
    return (
        select(*columns)
        .join(claim, and_(claim.org_id == org, claim.id == one.claim_id))
        .join(Site, and_(Site.org_id == org, Site.id == claim.site_id))
        .join(Member, and_(Member.org_id == org, Member.id == one.member_id))
        .outerjoin(checker, and_(checker.org_id == org, checker.id == one.checked_by))
        .outerjoin(whose, and_(whose.org_id == org, whose.id == one.whose_member_id))
        .outerjoin(Post, and_(Post.org_id == org, Post.id == one.whose_post_id))
        .where(one.org_id == org, one.claim_id.in_(scope.of_alerts()))
        .order_by(one.acknowledged_at, one.id)
    )


def _files(session: Session, org: int, answer_ids: Collection[int]) -> Mapping[int, list[str]]:
    one, found = Attachment, defaultdict[int, list[str]](list)
    query = select(one.acknowledgement_id, one.sha256).where(one.org_id == org)
    for answer_id, sha256 in session.execute(query.where(one.acknowledgement_id.in_(answer_ids)).order_by(one.id)):
        found[answer_id or 0].append(sha256)
    return found
