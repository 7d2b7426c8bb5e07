"""Proof: the paper of a deadline, without which some kinds do not let it be closed as done."""

from __future__ import annotations

from sqlalchemy import select

from app.domain.errors import Refused
from app.models import Document, Kind, Obligation, Subject
from app.trail.act import Act


def ask(act: Act, obligation: Obligation, subject: Subject) -> None:
    """Raises Refused where the kind asks for proof and no paper of this deadline stands."""
    needed = select(Kind.proof_needed).where(Kind.org_id == act.org, Kind.id == subject.kind_id)
    if act.session.scalars(needed).one() and not is_there(act, obligation):
        raise Refused(
            f"Proof is needed to close the deadline {obligation.due_on} of {subject.reference} as done: give the "
            "number or the file of a paper."
        )


def is_there(act: Act, obligation: Obligation) -> bool:
    """Whether a paper of this deadline stands; one that was entered in error proves nothing."""
    papers = select(Document.id).where(Document.org_id == act.org, Document.subject_id == obligation.subject_id)
    own = papers.where(Document.obligation_id == obligation.id, Document.withdrawn_at.is_(None))
    return act.session.scalars(own.limit(1)).one_or_none() is not None
