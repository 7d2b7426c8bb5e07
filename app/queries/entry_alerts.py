"""The alerts of one entry, those not sent included: whom they reached, what was answered, and why one was not sent."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import and_, func, select, tuple_
from sqlalchemy.orm import Session, aliased

from app.domain.delivery import TOLD, Reason, Resolution, Standing
from app.domain.thresholds import asked_on, sharpest_first
from app.models import Acknowledgement, AlertRule, Delivery, Member, NotificationLedger, Post
from app.queries.answer_files import AnswerFile, answer_files_asked, answer_files_of
from app.queries.places import in_places
from app.queries.together import Asked, Found, together

Made = TypeVar("Made")
Family = tuple[int, dt.date, bool]  # A rule, a due date, and whether the alerts are follow-ups of its filing.
SHOWN_AT_ONCE = 25  # Alerts on the page of an entry; each is several lines.


@dataclass(frozen=True)
class Message:
    """One message of an alert to one person."""

    recipient: str
    channel: str
    because: str
    covers: str | None
    state: str
    reason: str | None
    delivered_at: dt.datetime | None
    seen_at: dt.datetime | None
    decision: str | None

    @property
    def is_ended(self) -> bool:
        """Whether a person has sent it again, so that the new one counts, or has settled it otherwise."""
        return self.decision in (Resolution.resend, Resolution.settled)

    @property
    def left(self) -> bool:
        """Whether it may have reached the person."""
        return self.state in TOLD


@dataclass(frozen=True)
class Reply:
    """What a person answered; a reply that was taken or sent back no longer stands."""

    person: str
    answer: str
    at: dt.datetime
    until_on: dt.date | None
    done_on: dt.date | None
    note: str
    taken_back_at: dt.datetime | None
    sent_back_at: dt.datetime | None
    sent_back_note: str | None
    accepted_at: dt.datetime | None
    whose: str | None
    files: Sequence[AnswerFile] = ()


@dataclass(frozen=True)
class Alert:
    """One alert. `covered_by` is the notice that was sent in its place."""

    id: int
    rule: str
    threshold: str
    due_on: dt.date
    crossed_on: dt.date
    claimed_at: dt.datetime
    delivered_at: dt.datetime | None
    standing: str
    reason: str | None
    covered_by: str | None
    messages: Sequence[Message]
    replies: Sequence[Reply]

    @property
    def has_nobody(self) -> bool:
        return self.standing == Standing.open and self.reason == Reason.nobody_to_tell


@dataclass(frozen=True)
class AlertPage:
    """The alerts, those of the latest due date first; `before` leads to the older ones, if there are any."""

    alerts: Sequence[Alert]
    before: int | None


def read_alerts(session: Session, org: int, subject_id: int, before: int | None = None) -> AlertPage:
    claim = NotificationLedger
    query = (
        select(
            claim.id, claim.rule_id, AlertRule.name.label("rule"), claim.threshold, claim.due_on, claim.crossed_on,
            claim.claimed_at, claim.delivered_at, claim.standing, claim.reason,
        )
        .join(AlertRule, and_(AlertRule.org_id == org, AlertRule.id == claim.rule_id))
        .where(claim.org_id == org, claim.subject_id == subject_id)
        .order_by(claim.due_on.desc(), claim.crossed_on.desc(), claim.id.desc())
        .limit(SHOWN_AT_ONCE + 1)
    )  # fmt: skip
    if before is not None:
        key = (claim.due_on, claim.crossed_on, claim.id)
        last = session.execute(select(*key).where(claim.org_id == org, claim.id == before)).one_or_none()
        query = query.where(tuple_(*key) < tuple_(*last)) if last else query
    rows = session.execute(query).all()
    shown = rows[:SHOWN_AT_ONCE]
    return AlertPage(_told(session, org, subject_id, shown), shown[-1].id if len(rows) > SHOWN_AT_ONCE else None)


def _told(session: Session, org: int, subject_id: int, rows: Sequence[Any]) -> list[Alert]:
    """Each of the alerts with its messages, its answers and what covers it, all asked for at once."""
    ids, covered = [row.id for row in rows], {row.due_on for row in rows if row.reason == Reason.sharper}
    asked = (_messages(org, ids), _replies(org, ids), _files(org, ids), _standing(org, subject_id, covered))
    told, said, files, standing = together(session, *asked)
    messages, replies = by_claim(told, lambda row: Message(*row[1:])), replies_of(said, answer_files_of(files))
    covering, alerts = _covering(standing), []
    for row in rows:
        facts = {name: value for name, value in row._mapping.items() if name != "rule_id"}
        covered_by = (
            covering.get((row.rule_id, row.due_on, is_follow_up(row))) if row.reason == Reason.sharper else None
        )
        alerts.append(Alert(**facts, covered_by=covered_by, messages=messages[row.id], replies=replies[row.id]))
    return alerts


def _standing(org: int, subject_id: int, due_ons: Collection[dt.date]) -> Asked:
    claim = NotificationLedger
    return select(claim.rule_id, claim.due_on, claim.threshold, claim.crossed_on).where(
        claim.org_id == org,
        claim.subject_id == subject_id,
        claim.due_on.in_(due_ons),
        claim.standing == Standing.open,
    )


def _covering(standing: Found) -> dict[Family, str]:
    """By family, the sharpest notice that stands: what covers the milder ones."""
    sharpest: dict[Family, tuple[tuple[int, int, str], str]] = {}
    for row in standing:
        order = (sharpest_first(row.threshold, row.crossed_on), row.threshold)
        key = (row.rule_id, row.due_on, is_follow_up(row))
        sharpest[key] = min(order, sharpest.get(key, order))
    return {key: threshold for key, (_, threshold) in sharpest.items()}


def is_follow_up(row: Any) -> bool:
    return asked_on(row.threshold) is not None


def _messages(org: int, claim_ids: Sequence[int]) -> Asked:
    return (
        select(
            Delivery.claim_id, Member.name, Delivery.channel, Delivery.because, in_places().label("covers"),
            Delivery.state, Delivery.reason, Delivery.delivered_at, Delivery.seen_at, Delivery.resolution,
        )
        .join(Member, and_(Member.org_id == org, Member.id == Delivery.recipient_id))
        .where(Delivery.org_id == org, Delivery.claim_id.in_(claim_ids))
        .order_by(Member.name, Delivery.channel, Delivery.id)
    )  # fmt: skip


def by_claim(rows: Found, made: Callable[[Any], Made]) -> defaultdict[int, list[Made]]:
    found: defaultdict[int, list[Made]] = defaultdict(list)
    for row in rows:
        found[row.claim_id].append(made(row))
    return found


def replies_of(rows: Found, files: Mapping[int, Sequence[AnswerFile]]) -> defaultdict[int, list[Reply]]:
    return by_claim(rows, lambda row: Reply(*(*row[2:], files.get(row.id, ()))))


def _files(org: int, claim_ids: Sequence[int]) -> Asked:
    said = Acknowledgement
    return answer_files_asked(org, select(said.id).where(said.org_id == org, said.claim_id.in_(claim_ids)))


def _replies(org: int, claim_ids: Sequence[int]) -> Asked:
    said, hers = Acknowledgement, aliased(Member)
    return (
        select(
            said.claim_id, said.id, Member.name, said.answer, said.acknowledged_at, said.until_on, said.done_on,
            said.note, said.taken_back_at, said.sent_back_at, said.sent_back_note, said.accepted_at,
            func.coalesce(hers.name, Post.name),
        )
        .join(Member, and_(Member.org_id == org, Member.id == said.member_id))
        .outerjoin(hers, and_(hers.org_id == org, hers.id == said.whose_member_id))
        .outerjoin(Post, and_(Post.org_id == org, Post.id == said.whose_post_id))
        .where(said.org_id == org, said.claim_id.in_(claim_ids))
        .order_by(said.acknowledged_at, said.id)
    )  # fmt: skip
