"""Proof: the paper of a deadline, or the file of an accepted answer. Some kinds close nothing as done without it."""

from __future__ import annotations

from sqlalchemy import and_, select

from app.domain.errors import Refused
from app.models import Acknowledgement, Attachment, Document, Kind, NotificationLedger, Obligation, Subject
from app.trail.act import Act


def ask(act: Act, obligation: Obligation, subject: Subject) -> None:
    """Raises Refused where the kind asks for proof and there is none of this deadline."""
    needed = select(Kind.proof_needed).where(Kind.org_id == act.org, Kind.id == subject.kind_id)
    if act.session.scalars(needed).one() and not is_there(act, obligation):
        raise Refused(
            "Proof is needed to close the deadline %(day)s of %(reference)s as done: give the number or the file of a "
            "paper.",
            day=obligation.due_on,
            reference=subject.reference,
        )


def is_there(act: Act, obligation: Obligation) -> bool:
    """Whether a paper of this deadline stands, or an accepted answer brought a file.

    A paper that was entered in error proves nothing, nor does one of a deadline that was not done after all.
    """
    papers = select(Document.id).where(Document.org_id == act.org, Document.subject_id == obligation.subject_id)
    standing = (Document.withdrawn_at.is_(None), Document.disproved_at.is_(None))
    own = papers.where(Document.obligation_id == obligation.id, *standing)
    return act.session.scalars(own.limit(1)).one_or_none() is not None or has_accepted_file(act, obligation.id)


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
