"""Answers: which alert a person means, whether they may answer it, and what an answer must say.

The ledger writes the answer. It closes nothing.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Select, or_, select

from app.domain import thresholds
from app.domain.acts import Answer, Role
from app.domain.delivery import Standing, State
from app.domain.errors import Refused, quoted
from app.domain.folding import fold_name
from app.ledger import answers as ledger
from app.models import Acknowledgement, AlertRule, Delivery, Member, NotificationLedger, Obligation, SitePost, Subject
from app.operations import typed
from app.operations.people import may_see, site_today
from app.trail.act import Act

# What was told stands open for ever; what was withdrawn or superseded was told to nobody.
STANDS = NotificationLedger.standing == Standing.open

BY_RIGHT = (Role.admin, Role.officer)  # They may answer any alert within their sites.


@dataclass(frozen=True)
class Answered:
    """The claim that was meant, and whether anything changed."""

    changed: bool
    claim_id: int


def acknowledge(
    act: Act,
    member: Member,
    subject: Subject,
    answer: str,
    *,
    due_on: dt.date | None = None,
    rule: str | None = None,
    threshold: str | None = None,
    until_on: dt.date | None = None,
    done_on: dt.date | None = None,
    note: str = "",
) -> Answered:
    """Answer the alert about the subject that the member means. Raises Refused where they may not."""
    said, noted = typed.code(Answer, answer, "an answer"), typed.note(note)
    today = site_today(act, subject.site_id)
    _check_present(act, member, subject, today)
    _check_days(said, until_on, done_on, today)
    claims = act.session.scalars(_claims(act, subject, due_on, rule, threshold).where(STANDS)).all()
    claim = _sharpest(act, member, _of_one_due_date(act, subject, claims))
    _check_concerned(act, member, subject, claim, today)
    changed = ledger.acknowledge_once(
        act, claim_id=claim.id, member_id=member.id, answer=said, until_on=until_on, done_on=done_on, note=noted
    )
    return Answered(changed, claim.id)


def acknowledge_claim(
    act: Act, member_id: int, claim_id: int, answer: str, *, until_on: dt.date | None = None, note: str = ""
) -> Answered:
    """Answer this one alert, as its page does. Raises Refused where they may not; LookupError for an unknown one."""
    member, claim, subject = _of_claim(act, member_id, claim_id)
    said, noted = typed.code(Answer, answer, "an answer"), typed.note(note)
    today = site_today(act, subject.site_id)
    _check_present(act, member, subject, today)
    _check_days(said, until_on, None, today)
    _check_concerned(act, member, subject, claim, today)
    ledger.mark_opened(act, claim_id=claim.id, member_id=member.id)
    changed = ledger.acknowledge_once(
        act, claim_id=claim.id, member_id=member.id, answer=said, until_on=until_on, note=noted
    )
    return Answered(changed, claim.id)


def take_back_claim(act: Act, member_id: int, claim_id: int) -> Answered:
    """Take back the member's standing answer to this alert; where none stands, nothing changes."""
    member, claim, subject = _of_claim(act, member_id, claim_id)
    _check_present(act, member, subject, site_today(act, subject.site_id))
    return Answered(ledger.take_back(act, claim_id=claim.id, member_id=member.id), claim.id)


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
    claim = _of_one_due_date(act, subject, answered)[0]
    return Answered(ledger.take_back(act, claim_id=claim.id, member_id=member.id), claim.id)


def _answered_last_first(act: Act, member: Member, claims: Select[NotificationLedger]) -> Select[NotificationLedger]:
    """Those of the claims to which an answer of the member stands."""
    of_claim = (Acknowledgement.org_id == act.org) & (Acknowledgement.claim_id == NotificationLedger.id)
    stands = Acknowledgement.taken_back_at.is_(None) & Acknowledgement.sent_back_at.is_(None)
    query = claims.join(Acknowledgement, of_claim).where(Acknowledgement.member_id == member.id, stands)
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
        raise Refused(f"{quoted(text)} is no alert: write a threshold, or @2027-03-18 for a follow-up.") from None


def _of_one_due_date(act: Act, subject: Subject, claims: Sequence[NotificationLedger]) -> list[NotificationLedger]:
    """The claims of the one due date that is meant: if there are several, the one that is still open."""
    if len({claim.due_on for claim in claims}) > 1:
        open_now = select(Obligation.due_on).where(Obligation.org_id == act.org, Obligation.subject_id == subject.id)
        due = set(act.session.scalars(open_now.where(Obligation.closed_at.is_(None))))
        claims = [claim for claim in claims if claim.due_on in due] or claims
    if not claims:
        raise Refused(f"There is no such alert about {subject.reference}: nobody was told, or name another.")
    dates = sorted({claim.due_on for claim in claims})
    if len(dates) > 1:
        several = ", ".join(map(str, dates))
        raise Refused(f"{subject.reference} has alerts for several dates: name one with --due-on: {several}.")
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
        raise Refused(f"{member.name} is disabled or has left: somebody else must answer.")
    if member.role == Role.inspector:
        raise Refused(f"{member.name} is an inspector and changes nothing: somebody else must answer.")
    if not may_see(act, member.id, subject.site_id):
        raise Refused(f"{member.name} may not see the site of {subject.reference}: somebody else must answer.")


def _check_concerned(act: Act, member: Member, subject: Subject, claim: NotificationLedger, today: dt.date) -> None:
    """Raise Refused unless the alert was sent to the member, the subject is theirs, or their role answers for all."""
    if member.role in BY_RIGHT or member.id in (subject.owner_member_id, subject.holder_id):
        return
    if not _sent_to(act, member, [claim]) and not _holds_post(act, member, subject, today):
        raise Refused(f"The alert about {subject.reference} was not sent to {member.name}: somebody else must answer.")


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


def _check_days(answer: Answer, until_on: dt.date | None, done_on: dt.date | None, today: dt.date) -> None:
    """Raise Refused unless the answer has the day that it needs, and no other."""
    if answer is Answer.on_it and until_on is None:
        raise Refused("The answer on_it needs the day until which somebody is on it: add --until.")
    if until_on is not None and answer is not Answer.on_it:
        raise Refused(f"The answer {answer} has no last day: leave --until out.")
    if until_on is not None and typed.register_day(until_on, "The day") < today:
        raise Refused(f"Until {until_on} is over already: today is {today} at the site.")
    if done_on is not None and answer is not Answer.done:
        raise Refused(f"The answer {answer} has no day on which it was done: leave --done-on out.")
    typed.past_day(done_on, today, "The day it was done")
