"""A closed deadline is opened again. Where it was not done after all, what said so says it no more.

Then its papers are no proof of it any more, and whoever answered that it is done finds the answer sent back. After a
slip of typing they stay what they are, and an answer that was accepted waits to be looked at once more.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import select, update

from app.domain.acts import Answer, ReopenReason
from app.ledger import answers as ledger
from app.ledger.queue import changed
from app.models import Acknowledgement, Document, NotificationLedger
from app.operations import obligations, typed
from app.operations.typed import iso
from app.trail.act import Act


def reopen(act: Act, obligation_id: int, reason: str | None, note: str = "") -> bool:
    """Open it again; how it had been closed stays in the trail. Claims are locked first, as whoever answers does."""
    why, noted = typed.code(ReopenReason, reason, "a reason for reopening"), typed.note(note)
    said = _said_to_be_done(act, obligation_id) if why is ReopenReason.not_done else []
    obligation, subject = obligations.find_both(act, obligation_id, lock=True)
    if obligation.closed_at is None:
        return False
    old = {"outcome": obligation.outcome, "met_on": iso(obligation.met_on), "reason": obligation.reason}
    obligation.closed_at = obligation.closed_by = obligation.met_on = None
    obligation.outcome = obligation.reason = None
    obligation.note = ""
    changed(act, subject_id=subject.id)
    detail: dict[str, Any] = {"due_on": iso(obligation.due_on), "old": old, "reason": why, "note": noted}
    if why is ReopenReason.not_done:
        detail["disproved"] = _disprove(act, obligation_id)
    act.record("obligation_reopened", subject_id=subject.id, obligation_id=obligation_id, **detail)
    for one in said:
        ledger.send_back_if_standing(act, one, noted, act.member_id)
    return True


def _said_to_be_done(act: Act, obligation_id: int) -> list[ledger.Standing]:
    """The standing answers that it is done, their claims locked in the order of ids."""
    one, claim = Acknowledgement, NotificationLedger
    claims = select(claim.id).where(claim.org_id == act.org, claim.obligation_id == obligation_id)
    asked = select(one).where(one.org_id == act.org, one.claim_id.in_(claims), one.answer == Answer.done)
    asked = asked.where(one.taken_back_at.is_(None), one.sent_back_at.is_(None)).order_by(one.claim_id, one.id)
    return [
        ledger.Standing(found.id, found.claim_id, found.member_id, found.answer, ledger.lock(act, found.claim_id))
        for found in act.session.scalars(asked).all()
    ]


def _disprove(act: Act, obligation_id: int) -> list[int]:
    """Let the papers of this deadline prove it no more; their ids. They stay papers of the entry."""
    mine = (Document.org_id == act.org, Document.obligation_id == obligation_id)
    standing = (Document.withdrawn_at.is_(None), Document.disproved_at.is_(None))
    disproved = update(Document).where(*mine, *standing).values(disproved_at=act.now).returning(Document.id)
    return sorted(act.session.scalars(disproved))
