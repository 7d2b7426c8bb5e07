"""Answers that an officer decides about: what is said to be done is accepted or sent back; a question is answered.

The claim is locked first, then the deadline, as whoever answers does: of two who decide at once one does, and the
other is told so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, select

from app.domain import calendars
from app.domain.acts import Answer, Outcome
from app.domain.errors import Refused
from app.ledger import answers as ledger
from app.models import Acknowledgement, Member, NotificationLedger, Obligation, Site, Subject
from app.operations import obligations, typed
from app.trail.act import Act

SENT_BACK = (Answer.done, Answer.not_mine, Answer.help)  # What waits for an officer; the rest asks for nothing.


@dataclass(frozen=True)
class Question:
    """An answer that waits for an officer, as it was found under the lock of its claim."""

    answer: Acknowledgement
    claim: NotificationLedger
    obligation: Obligation
    person: str

    @property
    def standing(self) -> ledger.Standing:
        said = self.answer
        return ledger.Standing(said.id, self.claim.id, said.member_id, said.answer, self.claim.subject_id)


def accept(act: Act, answer_id: int, member_id: int | None = None) -> Obligation:
    """Close the deadline as met on the day on which it was done. `member_id` is the officer; none for a command.

    Raises LookupError for an unknown answer, Refused where somebody has decided meanwhile.
    """
    one = _locked(act, answer_id)
    if one.answer.answer != Answer.done:
        raise Refused("%(name)s does not say that it is done: there is nothing to accept.", name=one.person)
    if not ledger.accept_if_standing(act, one.standing, member_id):
        raise Refused("The answer of %(name)s does not stand any more: there is nothing to accept.", name=one.person)
    met_on = one.answer.done_on or calendars.today(one.answer.acknowledged_at, _zone(act, one.claim))
    obligations.close(act, one.obligation.id, Outcome.met, met_on, note=one.answer.note, member_id=member_id)
    return one.obligation


def send_back(act: Act, answer_id: int, words: str, member_id: int | None = None) -> None:
    """Send the answer back with these words, which the person finds in the inbox. From now on it counts as none."""
    said = typed.note(words)
    if not said:
        raise Refused("The note is empty: say what is missing, or what to do. The person reads it.")
    one = _locked(act, answer_id)
    if one.answer.answer not in SENT_BACK:
        raise Refused(
            "The answer %(answer)s of %(name)s asks for nothing that could be sent back.",
            answer=one.answer.answer,
            name=one.person,
        )
    if not ledger.send_back_if_standing(act, one.standing, said, member_id):
        raise Refused("The answer of %(name)s does not stand any more: there is nothing to send back.", name=one.person)


def subject_of(act: Act, answer_id: int) -> Subject:
    """The entry that the answer is about. Raises LookupError for an unknown answer."""
    answer, claim = Acknowledgement, NotificationLedger
    query = (
        select(Subject)
        .join(claim, and_(claim.org_id == act.org, claim.subject_id == Subject.id))
        .join(answer, and_(answer.org_id == act.org, answer.claim_id == claim.id))
        .where(Subject.org_id == act.org, answer.id == answer_id)
    )
    found = act.session.scalars(query).one_or_none()
    if found is None:
        raise LookupError(answer_id)
    return found


def _locked(act: Act, answer_id: int) -> Question:
    """The answer under the lock of its claim. Raises Refused where nothing is left to decide, and says why."""
    of = select(Acknowledgement).where(Acknowledgement.org_id == act.org, Acknowledgement.id == answer_id)
    known = act.session.scalars(of).one_or_none()
    if known is None:
        raise LookupError(answer_id)
    ledger.lock(act, known.claim_id)
    answer = act.session.scalars(of.execution_options(populate_existing=True)).one()
    claim = _one(act, NotificationLedger, answer.claim_id)
    obligation, _ = obligations.find_both(act, claim.obligation_id, lock=True)
    found = Question(answer, claim, obligation, _one(act, Member, answer.member_id).name)
    if (why := _why_settled(act, found)) is not None:
        raise Refused("%(why)s: nothing is left to decide here.", why=why)
    return found


def _why_settled(act: Act, one: Question) -> Refused | None:
    if one.answer.taken_back_at is not None:
        return Refused("%(name)s has taken the answer back meanwhile", name=one.person)
    by = _one(act, Member, one.answer.checked_by).name if one.answer.checked_by else None
    if one.answer.sent_back_at is not None:
        if by is None:
            return Refused("The answer of %(name)s was sent back already", name=one.person)
        return Refused("The answer of %(name)s was sent back already by %(by)s", name=one.person, by=by)
    if one.obligation.closed_at is None:
        return None
    if one.answer.accepted_at is not None:
        if by is None:
            return Refused("The answer of %(name)s was accepted already", name=one.person)
        return Refused("The answer of %(name)s was accepted already by %(by)s", name=one.person, by=by)
    due_on, reference = one.obligation.due_on, one.claim.reference
    return Refused("The deadline %(day)s of %(reference)s is closed already", day=due_on, reference=reference)


def _one(act: Act, table: Any, number: int) -> Any:
    return act.session.scalars(select(table).where(table.org_id == act.org, table.id == number)).one()


def _zone(act: Act, claim: NotificationLedger) -> str:
    zone = select(Site.timezone).join(Subject, and_(Subject.org_id == act.org, Subject.site_id == Site.id))
    return str(act.session.scalars(zone.where(Site.org_id == act.org, Subject.id == claim.subject_id)).one())
