"""What holds back, for now, the alerts that are sent only if nobody acts: who is on it, or a filing, by deadline."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from sqlalchemy import and_, or_, select
from sqlalchemy.orm import Session

from app.domain.acts import Answer
from app.models import Acknowledgement, Member, NotificationLedger, Obligation
from app.queries.together import together


@dataclass(frozen=True)
class HeldBack:
    """One open deadline. Without a person a filing is pending; `until_on` is the last day of a promise."""

    due_on: dt.date
    person: str | None = None
    until_on: dt.date | None = None


def held_back(session: Session, org: int, subject_id: int, today: dt.date) -> list[HeldBack]:
    """By due date; of several who are on one, whoever said so last. `today` is the date at the site."""
    said, claim = Acknowledgement, NotificationLedger
    of_subject = (Obligation.org_id == org, Obligation.subject_id == subject_id, Obligation.closed_at.is_(None))
    is_filed = and_(Obligation.filed_on.is_not(None), Obligation.filing_ended_on.is_(None))
    on_it = or_(said.answer == Answer.done, and_(said.answer == Answer.on_it, said.until_on >= today))
    query = (
        select(Obligation.due_on, Member.name, said.until_on)
        .join(claim, and_(claim.org_id == org, claim.obligation_id == Obligation.id))
        .join(said, and_(said.org_id == org, said.claim_id == claim.id))
        .join(Member, and_(Member.org_id == org, Member.id == said.member_id))
        .where(*of_subject, said.taken_back_at.is_(None), said.sent_back_at.is_(None), on_it)
        .order_by(said.acknowledged_at, said.id)
    )
    filed, on_them = together(session, select(Obligation.due_on).where(*of_subject, is_filed), query)
    found = {due_on: HeldBack(due_on) for due_on in filed.scalars()} | {row.due_on: HeldBack(*row) for row in on_them}
    return [one for _, one in sorted(found.items())]
