"""Promises to be on it: nobody is on it by the word of who is gone or let in no more."""

from __future__ import annotations

from sqlalchemy import select

from app.domain.acts import Answer
from app.ledger import answers
from app.models import Acknowledgement, NotificationLedger, Obligation
from app.trail.act import Act


def take_back_promises(act: Act, member_id: int) -> int:
    """Of open deadlines, with an event for each: whoever takes over is told, and what they held back comes."""
    query = (
        select(Acknowledgement.claim_id)
        .join(NotificationLedger, NotificationLedger.id == Acknowledgement.claim_id)
        .join(Obligation, Obligation.id == NotificationLedger.obligation_id)
        .where(Acknowledgement.org_id == act.org, NotificationLedger.org_id == act.org, Obligation.org_id == act.org)
        .where(Acknowledgement.member_id == member_id, Acknowledgement.answer == Answer.on_it)
        .where(Acknowledgement.taken_back_at.is_(None), Acknowledgement.sent_back_at.is_(None))
        .where(Obligation.closed_at.is_(None))
    )
    claims = act.session.scalars(query.order_by(Acknowledgement.claim_id)).all()
    return sum(answers.take_back(act, claim_id=claim_id, member_id=member_id) for claim_id in claims)
