"""What a standing answer says to whoever is asked now, as SQL for ledger and pages.

Whoever says "not mine", or asks for help, does nothing about it: an officer is asked, until the entry is handed over.
From then on whoever is responsible is told and asked, and that answer counts no more. Every other answer counts as long
as it stands, whoever gave it. The owed check judges by means of its own.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, SQLColumnExpression, and_, exists, or_

from app.domain.acts import Answer
from app.models.ledger import Acknowledgement
from app.models.trail import AuditEvent

PASSED_ON = (Answer.not_mine, Answer.help)
HANDED_OVER = ("subject_assigned", "holder_assigned")  # What the trail says when somebody else gets an entry.

# Somebody has taken the claim `l` up.
TAKEN_UP = """(l.acknowledged_at is not null and exists (
    select from acknowledgement k
    where k.org_id = :org and k.claim_id = l.id and k.taken_back_at is null and k.sent_back_at is null
      and k.answer not in ('not_mine', 'help')))"""


def stands(answer: type[Acknowledgement]) -> ColumnElement[bool]:
    """Neither taken back by its person nor sent back by an officer."""
    return and_(answer.taken_back_at.is_(None), answer.sent_back_at.is_(None))


def takes_up(answer: type[Acknowledgement]) -> ColumnElement[bool]:
    """TAKEN_UP, for a query over answers."""
    return and_(stands(answer), answer.answer.not_in(PASSED_ON))


def counts(answer: type[Acknowledgement], subject_id: SQLColumnExpression[int]) -> ColumnElement[bool]:
    """Whether it answers for whoever is asked now about this entry."""
    handed_over = (
        exists()
        .where(
            AuditEvent.org_id == answer.org_id,
            AuditEvent.subject_id == subject_id,
            AuditEvent.type.in_(HANDED_OVER),
            AuditEvent.at > answer.acknowledged_at,
        )
        .correlate_except(AuditEvent)
    )
    return and_(stands(answer), or_(answer.answer.not_in(PASSED_ON), ~handed_over))
