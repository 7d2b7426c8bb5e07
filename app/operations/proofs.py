"""What proves that a deadline was met, apart from a paper: the file of an answer that was accepted."""

from __future__ import annotations

from sqlalchemy import and_, select

from app.models import Acknowledgement, Attachment, NotificationLedger
from app.trail.act import Act


def has_accepted_file(act: Act, obligation_id: int) -> bool:
    """Whether somebody said that it is done, with a photo or a file, and that was accepted and stands.

    It is so already while the acceptance closes the deadline.
    """
    answer, claim = Acknowledgement, NotificationLedger
    query = (
        select(Attachment.id)
        .join(answer, and_(answer.org_id == act.org, answer.id == Attachment.acknowledgement_id))
        .join(claim, and_(claim.org_id == act.org, claim.id == answer.claim_id))
        .where(Attachment.org_id == act.org, claim.obligation_id == obligation_id)
        .where(answer.accepted_at.is_not(None), answer.taken_back_at.is_(None), answer.sent_back_at.is_(None))
    )
    return act.session.scalars(query.limit(1)).first() is not None
