"""Answers: which alert a person means, whether they may answer it, and what an answer must say.

The ledger writes the answer. It closes nothing, unless the kind of the entry lets whoever says done close it at once.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from sqlalchemy import Select, or_, select

from app.domain import media, thresholds
from app.domain.acts import Answer, Outcome, Role
from app.domain.delivery import Standing, State
from app.domain.errors import Refused, quoted
from app.domain.folding import fold_name
from app.ledger import answers as ledger
from app.models import (
    Acknowledgement,
    AlertRule,
    Delivery,
    Kind,
    Member,
    NotificationLedger,
    Obligation,
    Post,
    SitePost,
    Subject,
)
from app.operations import attachments, obligations, typed
from app.operations.attachments import SentFile
from app.operations.people import may_see, site_today
from app.trail.act import Act
from app.wording import later

# What was told stands open for ever; what was withdrawn or superseded was told to nobody.
STANDS = NotificationLedger.standing == Standing.open

STANDING = (Acknowledgement.taken_back_at.is_(None), Acknowledgement.sent_back_at.is_(None))

BY_RIGHT = (Role.admin, Role.officer)  # They may answer any alert within their sites.


class Said(TypedDict, total=False):
    """What a person adds to an answer: each belongs to one of them, the note to all."""

    until_on: dt.date | None
    done_on: dt.date | None
    note: str
    whose_member_id: int | None
    whose_post_id: int | None
    file: SentFile | None


@dataclass(frozen=True)
class Answered:
    """The claim that was meant, whether anything changed, and whether the deadline was closed with it."""

    changed: bool
    claim_id: int
    is_closed: bool = False


ASKED = later(
    "Nothing is done by asking the authority again: answer that you have seen it or that you are on it, and tell the "
    "compliance manager what the authority says."
)


def acknowledge(
    act: Act,
    member: Member,
    subject: Subject,
    answer: str,
    *,
    due_on: dt.date | None = None,
    rule: str | None = None,
    threshold: str | None = None,
    **said: Unpack[Said],
) -> Answered:
    """Answer the alert about the subject that the member means. Raises Refused where they may not."""
    chosen = typed.code(Answer, answer, "an answer")
    today = site_today(act, subject.site_id)
    _check_present(act, member, subject, today)
    _check_said(act, chosen, said, today)
    claims = act.session.scalars(_claims(act, subject, due_on, rule, threshold).where(STANDS)).all()
    claim = _sharpest(act, member, _of_one_due_date(act, subject, claims))
    _check_concerned(act, member, subject, claim, today)
    return _answer(act, member, subject, claim, chosen, said)


def acknowledge_claim(act: Act, member_id: int, claim_id: int, answer: str, **said: Unpack[Said]) -> Answered:
    """Answer this one alert, as its page does. Raises Refused where they may not; LookupError for an unknown one."""
    member, claim, subject = _of_claim(act, member_id, claim_id)
    chosen = typed.code(Answer, answer, "an answer")
    today = site_today(act, subject.site_id)
    _check_present(act, member, subject, today)
    _check_said(act, chosen, said, today)
    _check_concerned(act, member, subject, claim, today)
    ledger.mark_opened(act, claim_id=claim.id, member_id=member.id)
    return _answer(act, member, subject, claim, chosen, said)


def _answer(
    act: Act, member: Member, subject: Subject, claim: NotificationLedger, answer: Answer, said: Said
) -> Answered:
    """Record it once, keep its file, and close the deadline where the kind lets whoever does it do that."""
    if answer is Answer.done and thresholds.asked_on(claim.threshold) is not None:
        raise Refused(ASKED)
    file = said.get("file")
    given: dict[str, Any] = {name: value for name, value in said.items() if name not in ("file", "note")}
    given |= {"note": typed.note(said.get("note", "")), "file": attachments.facts_of(file) if file else None}
    before = _closed_with(act, member, claim)
    answer_id = ledger.acknowledge_once(act, claim_id=claim.id, member_id=member.id, answer=answer, **given)
    if answer_id is None:
        return Answered(False, claim.id)
    _refuse_if_closed(before, subject)  # The same again changes nothing; another answer has taken that one back.
    if file is not None:
        attachments.keep(act, file, member.id, acknowledgement_id=answer_id)
    return Answered(True, claim.id, answer is Answer.done and _close_at_once(act, member, subject, claim, answer_id))


def _close_at_once(act: Act, member: Member, subject: Subject, claim: NotificationLedger, answer_id: int) -> bool:
    """Close the deadline as met, if its kind says so; what is closed already stays as it is."""
    kind = select(Kind.staff_may_close).where(Kind.org_id == act.org, Kind.id == subject.kind_id)
    if not act.session.scalars(kind).one():
        return False
    obligation, _ = obligations.find_both(act, claim.obligation_id, lock=True)
    if obligation.closed_at is not None:
        return False
    answer = act.session.scalars(
        select(Acknowledgement).where(Acknowledgement.org_id == act.org, Acknowledgement.id == answer_id)
    ).one()
    standing = ledger.Standing(answer.id, claim.id, member.id, answer.answer, subject.id)
    ledger.accept_if_standing(act, standing, member.id)
    return obligations.close(act, obligation.id, Outcome.met, answer.done_on, note=answer.note, member_id=member.id)


def take_back_claim(act: Act, member_id: int, claim_id: int) -> Answered:
    """Take back the member's standing answer to this alert; where none stands, nothing changes."""
    member, claim, subject = _of_claim(act, member_id, claim_id)
    _check_present(act, member, subject, site_today(act, subject.site_id))
    return _take_back(act, member, subject, claim)


def open_claim(act: Act, member_id: int, claim_id: int) -> bool:
    """Record that the member has opened an alert that was delivered to them in the app; once."""
    return ledger.mark_opened(act, claim_id=claim_id, member_id=member_id)


def _of_claim(act: Act, member_id: int, claim_id: int) -> tuple[Member, NotificationLedger, Subject]:
    of_org = NotificationLedger.org_id == act.org
    claim = act.session.scalars(select(NotificationLedger).where(of_org, NotificationLedger.id == claim_id, STANDS))
    found = claim.one_or_none()
    if found is None:
        raise LookupError(claim_id)
    member = act.session.scalars(select(Member).where(Member.org_id == act.org, Member.id == member_id)).one()
    subject = act.session.scalars(
        select(Subject).where(Subject.org_id == act.org, Subject.id == found.subject_id)
    ).one()
    return member, found, subject


def take_back(
    act: Act,
    member: Member,
    subject: Subject,
    *,
    due_on: dt.date | None = None,
    rule: str | None = None,
    threshold: str | None = None,
) -> Answered:
    """Take back the member's last answer about the subject. Where none stands, nothing changes."""
    _check_present(act, member, subject, site_today(act, subject.site_id))
    claims = _claims(act, subject, due_on, rule, threshold)
    answered = act.session.scalars(_answered_last_first(act, member, claims)).all()
    if not answered:
        told = act.session.scalars(claims.where(STANDS)).all()
        return Answered(False, _sharpest(act, member, _of_one_due_date(act, subject, told)).id)
    return _take_back(act, member, subject, _of_one_due_date(act, subject, answered)[0])


def _take_back(act: Act, member: Member, subject: Subject, claim: NotificationLedger) -> Answered:
    """Raises Refused where a deadline was closed with the answer: it proves that, and an officer decides."""
    _refuse_if_closed(_closed_with(act, member, claim), subject)
    return Answered(ledger.take_back(act, claim_id=claim.id, member_id=member.id), claim.id)


def _closed_with(act: Act, member: Member, claim: NotificationLedger) -> dt.date | None:
    """The due date of a deadline that was closed with the member's standing answer. The claim is locked."""
    ledger.lock(act, claim.id)
    closed = select(Obligation.due_on).where(
        Obligation.org_id == act.org, Obligation.id == claim.obligation_id, Obligation.closed_at.is_not(None)
    )
    accepted = select(Acknowledgement.id).where(
        Acknowledgement.org_id == act.org, Acknowledgement.claim_id == claim.id,
        Acknowledgement.member_id == member.id, Acknowledgement.accepted_at.is_not(None), *STANDING,
    )  # fmt: skip
    is_accepted = act.session.scalars(accepted).one_or_none() is not None
    return act.session.scalars(closed).one_or_none() if is_accepted else None


def _refuse_if_closed(due_on: dt.date | None, subject: Subject) -> None:
    if due_on is not None:
        raise Refused(
            "The deadline %(day)s of %(reference)s was closed with this answer, so it stays: whoever looks after the "
            "register can open the deadline again.",
            day=due_on,
            reference=subject.reference,
        )


def _answered_last_first(act: Act, member: Member, claims: Select[NotificationLedger]) -> Select[NotificationLedger]:
    """Those of the claims to which an answer of the member stands."""
    of_claim = (Acknowledgement.org_id == act.org) & (Acknowledgement.claim_id == NotificationLedger.id)
    query = claims.join(Acknowledgement, of_claim).where(Acknowledgement.member_id == member.id, *STANDING)
    return query.order_by(Acknowledgement.acknowledged_at.desc(), Acknowledgement.id.desc())


def _claims(
    act: Act, subject: Subject, due_on: dt.date | None, rule: str | None, threshold: str | None
) -> Select[NotificationLedger]:
    query = select(NotificationLedger).where(
        NotificationLedger.org_id == act.org, NotificationLedger.subject_id == subject.id
    )
    if due_on is not None:
        query = query.where(NotificationLedger.due_on == due_on)
    if threshold is not None:
        query = query.where(NotificationLedger.threshold == notice_of(threshold))
    if rule is not None:
        named = select(AlertRule.id).where(AlertRule.org_id == act.org, AlertRule.name == fold_name(rule))
        query = query.where(NotificationLedger.rule_id.in_(named))
    return query


def notice_of(text: str) -> str:
    """The text in the ledger: a threshold, or a follow-up with its day. Raises Refused."""
    try:
        return text if thresholds.asked_on(text) else thresholds.parse(text).text
    except ValueError:
        raise Refused(
            "%(text)s is no alert: write a threshold, or @2027-03-18 for a follow-up.", text=quoted(text)
        ) from None


def _of_one_due_date(act: Act, subject: Subject, claims: Sequence[NotificationLedger]) -> list[NotificationLedger]:
    """The claims of the one due date that is meant: if there are several, the one that is still open."""
    if len({claim.due_on for claim in claims}) > 1:
        open_now = select(Obligation.due_on).where(Obligation.org_id == act.org, Obligation.subject_id == subject.id)
        due = set(act.session.scalars(open_now.where(Obligation.closed_at.is_(None))))
        claims = [claim for claim in claims if claim.due_on in due] or claims
    if not claims:
        raise Refused(
            "There is no such alert about %(reference)s: nobody was told, or name another.", reference=subject.reference
        )
    dates = sorted({claim.due_on for claim in claims})
    if len(dates) > 1:
        several = ", ".join(map(str, dates))
        raise Refused(
            "%(reference)s has alerts for several dates: name one with --due-on: %(dates)s.",
            reference=subject.reference,
            dates=several,
        )
    return list(claims)


def _sharpest(act: Act, member: Member, claims: Collection[NotificationLedger]) -> NotificationLedger:
    """Of what was sent to the member, else of all: the sharpest alert, of equally sharp ones the oldest row."""
    sent = _sent_to(act, member, claims)

    def order(claim: NotificationLedger) -> tuple[bool, tuple[int, int, str], int]:
        return claim.id not in sent, thresholds.sharpest_first(claim.threshold, claim.crossed_on), claim.id

    return min(claims, key=order)


def _sent_to(act: Act, member: Member, claims: Collection[NotificationLedger]) -> set[int]:
    query = select(Delivery.claim_id).where(
        Delivery.org_id == act.org,
        Delivery.recipient_id == member.id,
        Delivery.claim_id.in_([claim.id for claim in claims]),
        Delivery.state != State.cancelled,
    )
    return set(act.session.scalars(query))


def _check_present(act: Act, member: Member, subject: Subject, today: dt.date) -> None:
    """Raise Refused unless the member is there today, may see the site of the subject, and is no inspector."""
    gone = member.left_on is not None and member.left_on <= today
    over = member.valid_until is not None and member.valid_until < today
    if not member.is_active or gone or over:
        raise Refused("%(name)s is disabled or has left: somebody else must answer.", name=member.name)
    if member.role == Role.inspector:
        raise Refused("%(name)s is an inspector and changes nothing: somebody else must answer.", name=member.name)
    if not may_see(act, member.id, subject.site_id):
        raise Refused(
            "%(name)s may not see the site of %(reference)s: somebody else must answer.",
            name=member.name,
            reference=subject.reference,
        )


def _check_concerned(act: Act, member: Member, subject: Subject, claim: NotificationLedger, today: dt.date) -> None:
    """Raise Refused unless the alert was sent to the member, the subject is theirs, or their role answers for all."""
    if member.role in BY_RIGHT or member.id in (subject.owner_member_id, subject.holder_id):
        return
    if not _sent_to(act, member, [claim]) and not _holds_post(act, member, subject, today):
        raise Refused(
            "The alert about %(reference)s was not sent to %(name)s: somebody else must answer.",
            reference=subject.reference,
            name=member.name,
        )


def _holds_post(act: Act, member: Member, subject: Subject, today: dt.date) -> bool:
    """Whether the member holds the post that is responsible for the subject."""
    query = select(SitePost.member_id).where(
        SitePost.org_id == act.org,
        SitePost.site_id == subject.site_id,
        SitePost.post_id == subject.owner_post_id,
        SitePost.member_id == member.id,
        SitePost.from_on <= today,
        or_(SitePost.until_on.is_(None), SitePost.until_on >= today),
    )
    return act.session.scalars(query.limit(1)).one_or_none() is not None


def _check_said(act: Act, answer: Answer, said: Said, today: dt.date) -> None:
    """Raise Refused unless the answer has what it needs, and nothing that belongs to another one."""
    until_on, done_on, file = said.get("until_on"), said.get("done_on"), said.get("file")
    if answer is Answer.on_it and until_on is None:
        raise Refused("The answer on_it needs the day until which somebody is on it: add --until.")
    if until_on is not None and answer is not Answer.on_it:
        raise Refused("The answer %(answer)s has no last day: leave --until out.", answer=answer)
    if until_on is not None and typed.register_day(until_on, "The day") < today:
        raise Refused("Until %(day)s is over already: today is %(today)s at the site.", day=until_on, today=today)
    if done_on is not None and answer is not Answer.done:
        raise Refused("The answer %(answer)s has no day on which it was done: leave --done-on out.", answer=answer)
    typed.past_day(done_on, today, "The day it was done")
    if file is not None and answer is not Answer.done:
        raise Refused("The answer %(answer)s has no file: leave --file out, or say that it is done.", answer=answer)
    if file is not None:
        media.check_proof(file.name, file.content)
    _check_whose(act, answer, said.get("whose_member_id"), said.get("whose_post_id"))


def _check_whose(act: Act, answer: Answer, member_id: int | None, post_id: int | None) -> None:
    named: list[tuple[Any, int | None]] = [(Member, member_id), (Post, post_id)]
    found = [(table, number) for table, number in named if number is not None]
    if found and answer is not Answer.not_mine:
        raise Refused("The answer %(answer)s does not say whose it is: leave --whose out.", answer=answer)
    if len(found) > 1:
        raise Refused("It is either a person's or a post's: name one of them.")
    for table, number in found:
        known = select(table.id).where(table.org_id == act.org, table.id == number)
        if act.session.scalars(known).one_or_none() is None:
            raise Refused("There is no such person or post: choose one of the list, or say it in words.")
