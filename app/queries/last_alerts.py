"""Of some entries: the alert that was raised last, when it arrived, and who has answered what."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import and_, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from app.domain.delivery import Standing
from app.models import Acknowledgement, Member, NotificationLedger
from app.queries.together import Asked, Found


@dataclass(frozen=True)
class LastAlert:
    """`delivered_at` is None while something of it is still to be sent; `answer` is the last one that stands."""

    claim_id: int
    threshold: str
    claimed_at: dt.datetime
    delivered_at: dt.datetime | None
    answered_by: str | None = None
    answer: str | None = None
    until_on: dt.date | None = None


def read_last_alerts(session: Session, org: int, subject_ids: Collection[int]) -> dict[int, LastAlert]:
    """The last alert of each of these entries that has one."""
    return last_alerts_of(session.execute(last_alerts_asked(org, subject_ids)))


def last_alerts_asked(org: int, subject_ids: Collection[int]) -> Asked:
    """The select whose result `last_alerts_of` takes."""
    claim = NotificationLedger
    latest = (
        select(claim)
        .where(claim.org_id == org, claim.subject_id.in_(subject_ids), claim.standing == Standing.open)
        .ext(distinct_on(claim.subject_id))
        .order_by(claim.subject_id, claim.claimed_at.desc(), claim.crossed_on.desc(), claim.id.desc())
        .subquery("latest")
    )
    # An answer counts for the deadline of its alert, whatever rule or notice it came to.
    told = (
        select(claim.id, claim.obligation_id).where(claim.org_id == org, claim.subject_id.in_(subject_ids)).subquery()
    )
    answers = (
        select(told.c.obligation_id, Acknowledgement.answer, Acknowledgement.until_on, Member.name)
        .join(Acknowledgement, and_(Acknowledgement.org_id == org, Acknowledgement.claim_id == told.c.id))
        .join(Member, and_(Member.org_id == org, Member.id == Acknowledgement.member_id))
        .where(Acknowledgement.taken_back_at.is_(None), Acknowledgement.sent_back_at.is_(None))
        .ext(distinct_on(told.c.obligation_id))
        .order_by(told.c.obligation_id, Acknowledgement.acknowledged_at.desc(), Acknowledgement.id.desc())
        .subquery("answers")
    )
    return select(
        latest.c.subject_id, latest.c.id, latest.c.threshold, latest.c.claimed_at, latest.c.delivered_at,
        answers.c.name, answers.c.answer, answers.c.until_on,
    ).outerjoin(answers, answers.c.obligation_id == latest.c.obligation_id)  # fmt: skip


def last_alerts_of(rows: Found) -> dict[int, LastAlert]:
    return {subject_id: LastAlert(*values) for subject_id, *values in rows}
