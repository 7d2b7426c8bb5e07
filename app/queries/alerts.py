"""Alerts as lists: every one of them; those that have not arrived in time; those that nobody could be told.

History does not move: site, reference and title are as they were told. Who may see an alert goes by the site where its
entry is today.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, or_, select, tuple_
from sqlalchemy.orm import Session

from app.domain import calendars
from app.domain.calendars import DAY
from app.domain.delivery import Reason, Resolution, Standing, State
from app.domain.folding import fold_reference
from app.models import AlertRule, Delivery, Kind, Member, NotificationLedger, Site, Subject
from app.queries.keyset import PAGE, Cursor, Page, instant_of, micros, page_of
from app.queries.sight import Sight
from app.queries.together import Asked
from app.queries.watch import ARRIVED_OR_GONE, is_undelivered
from app.queries.wholes import whole_of

MIDNIGHT = dt.time()


class AlertState(StrEnum):
    """Where an alert stands for whoever reads the list; `arrived` is delivered and not answered."""

    raised = "raised"
    arrived = "arrived"
    answered = "answered"
    unsent = "unsent"
    stopped = "stopped"


@dataclass(frozen=True)
class AlertLine:
    """One alert. `state` follows from its facts; `reason` is a code, and says why it was not sent or stopped."""

    id: int
    subject_id: int
    reference: str
    title: str
    site_id: int
    site: str
    timezone: str
    wording: str
    rule: str
    threshold: str
    due_on: dt.date
    crossed_on: dt.date
    claimed_at: dt.datetime
    delivered_at: dt.datetime | None
    acknowledged_at: dt.datetime | None
    answered_by: str | None
    standing: str
    reason: str | None
    whole: str | None  # What the entry is part of today, by reference and title.

    @property
    def state(self) -> AlertState:
        if self.acknowledged_at is not None:
            return AlertState.answered
        if self.standing == Standing.superseded:
            return AlertState.unsent
        if self.standing == Standing.withdrawn:
            return AlertState.stopped
        return AlertState.raised if self.delivered_at is None else AlertState.arrived

    @property
    def is_open(self) -> bool:
        return self.standing == Standing.open

    @property
    def days_late(self) -> int:
        """Days between the day on which it should have been raised and the day on which it was, at its site."""
        return max((calendars.today(self.claimed_at, self.timezone) - self.crossed_on).days, 0)


@dataclass(frozen=True)
class Wanted:
    """What the list of every alert is narrowed to; days are those of the organisation, both included."""

    site_id: int | None = None
    rule_id: int | None = None
    state: AlertState | None = None
    from_on: dt.date | None = None
    until_on: dt.date | None = None
    reference: str = ""


@dataclass(frozen=True)
class Message:
    """A message of an alert that has not arrived: to whom, and how far it has come."""

    person: str
    channel: str
    state: State
    next_attempt_at: dt.datetime
    last_reply: str | None


@dataclass(frozen=True)
class Undelivered:
    """An alert that has not arrived in time, and the messages that are the cause; none: nobody to tell."""

    alert: AlertLine
    messages: list[Message]


def alert_lines(sight: Sight) -> Select[Any]:
    """The columns of AlertLine, of the alerts that are seen."""
    claim = NotificationLedger
    columns: list[Any] = [
        *(claim.id, claim.subject_id, claim.reference, claim.title, claim.site_id, Site.name, Site.timezone),
        *(Kind.wording, AlertRule.name, claim.threshold, claim.due_on, claim.crossed_on, claim.claimed_at),
        *(claim.delivered_at, claim.acknowledged_at, Member.name, claim.standing, claim.reason),
        whole_of(Subject),
    ]
    query: Select[Any] = select(*columns)
    return (
        query.select_from(claim)
        .join(Subject, and_(Subject.org_id == claim.org_id, Subject.id == claim.subject_id))
        .join(Kind, and_(Kind.org_id == claim.org_id, Kind.id == Subject.kind_id))
        .join(Site, and_(Site.org_id == claim.org_id, Site.id == claim.site_id))
        .join(AlertRule, and_(AlertRule.org_id == claim.org_id, AlertRule.id == claim.rule_id))
        .outerjoin(Member, and_(Member.org_id == claim.org_id, Member.id == claim.acknowledged_by))
        .where(claim.org_id == sight.org, sight.covers(Subject))
    )


def read_alerts(session: Session, sight: Sight, wanted: Wanted, timezone: str, after: Cursor | None) -> Page[AlertLine]:
    """Every alert that is wanted, the newest first."""
    claim = NotificationLedger
    query = alert_lines(sight).where(*_narrowed(sight.org, wanted, timezone))
    if after is not None:
        query = query.where(tuple_(claim.claimed_at, claim.id) < tuple_(instant_of(after[0]), after[1]))
    return _page(session, query.order_by(claim.claimed_at.desc(), claim.id.desc()))


def _narrowed(org: int, wanted: Wanted, timezone: str) -> list[ColumnElement[bool]]:
    claim = NotificationLedger
    found: list[ColumnElement[bool]] = []
    if wanted.site_id is not None:
        found.append(claim.site_id == wanted.site_id)
    if wanted.rule_id is not None:
        found.append(claim.rule_id == wanted.rule_id)
    if wanted.state is not None:
        found.append(_is_in(wanted.state))
    if wanted.from_on is not None:
        found.append(claim.claimed_at >= start_of(wanted.from_on, timezone))
    if wanted.until_on is not None:
        found.append(claim.claimed_at < start_of(wanted.until_on + DAY, timezone))
    if key := fold_reference(wanted.reference):
        entries = select(Subject.id).where(Subject.org_id == org, Subject.reference_key.contains(key, autoescape=True))
        found.append(claim.subject_id.in_(entries))
    return found


def _is_in(state: AlertState) -> ColumnElement[bool]:
    claim = NotificationLedger
    unanswered = claim.acknowledged_at.is_(None)
    match state:
        case AlertState.answered:
            return claim.acknowledged_at.is_not(None)
        case AlertState.raised:
            return and_(claim.standing == Standing.open, claim.delivered_at.is_(None), unanswered)
        case AlertState.arrived:
            return and_(claim.standing == Standing.open, claim.delivered_at.is_not(None), unanswered)
        case AlertState.unsent:
            return and_(claim.standing == Standing.superseded, unanswered)
        case AlertState.stopped:
            return and_(claim.standing == Standing.withdrawn, unanswered)


def start_of(day: dt.date, timezone: str) -> dt.datetime:
    """The instant at which the day begins in this zone. A zone that cannot be used raises UnusableZone."""
    return calendars.not_before(day, MIDNIGHT, timezone)


def read_undelivered(session: Session, sight: Sight, after: Cursor | None) -> Page[Undelivered]:
    """What has not arrived within the limit of the organisation, or can no longer arrive; the oldest first."""
    page = _oldest_first(session, alert_lines(sight).where(is_undelivered(sight.org, sight.now)), after)
    messages = _unarrived(session, sight.org, [line.id for line in page.rows])
    return Page([Undelivered(line, messages[line.id]) for line in page.rows], page.after)


def read_unaddressed(session: Session, sight: Sight, after: Cursor | None) -> Page[AlertLine]:
    """The alerts that nobody can be told, the oldest first."""
    return _oldest_first(session, alert_lines(sight).where(_is_unaddressed()), after)


def undelivered_asked(sight: Sight) -> Asked:
    """Counts them."""
    return _count(alert_lines(sight).where(is_undelivered(sight.org, sight.now)))


def unaddressed_asked(sight: Sight) -> Asked:
    """Counts them."""
    return _count(alert_lines(sight).where(_is_unaddressed()))


def rules_by_name(session: Session, org: int) -> list[tuple[int, str]]:
    """All rules that ever were, by name: history has alerts of those that are gone."""
    rows = session.execute(select(AlertRule.id, AlertRule.name).where(AlertRule.org_id == org).order_by(AlertRule.name))
    return [(row[0], row[1]) for row in rows]


def _is_unaddressed() -> ColumnElement[bool]:
    claim = NotificationLedger
    return and_(claim.standing == Standing.open, claim.delivered_at.is_(None), claim.reason == Reason.nobody_to_tell)


def _oldest_first(session: Session, query: Select[Any], after: Cursor | None) -> Page[AlertLine]:
    claim = NotificationLedger
    if after is not None:
        query = query.where(tuple_(claim.claimed_at, claim.id) > tuple_(instant_of(after[0]), after[1]))
    return _page(session, query.order_by(claim.claimed_at, claim.id))


def _page(session: Session, query: Select[Any]) -> Page[AlertLine]:
    rows = [AlertLine(*row) for row in session.execute(query.limit(PAGE + 1))]
    return page_of(rows, lambda row: (micros(row.claimed_at), row.id))


def _count(query: Select[Any]) -> Asked:
    ids = query.with_only_columns(NotificationLedger.id).subquery()
    return select(func.count()).select_from(ids)


def _unarrived(session: Session, org: int, claim_ids: list[int]) -> defaultdict[int, list[Message]]:
    """What was sent again is judged by the new message, and what was settled otherwise is waited for no more."""
    ended = (Resolution.resend, Resolution.settled)
    query = (
        select(Delivery, Member.name)
        .join(Member, and_(Member.org_id == Delivery.org_id, Member.id == Delivery.recipient_id))
        .where(Delivery.org_id == org, Delivery.claim_id.in_(claim_ids), Delivery.state.not_in(ARRIVED_OR_GONE))
        .where(or_(Delivery.resolution.is_(None), Delivery.resolution.not_in(ended)))
        .order_by(Delivery.id)
    )
    found: defaultdict[int, list[Message]] = defaultdict(list)
    for row, name in session.execute(query):
        facts = (name, row.channel, State(row.state), row.next_attempt_at, row.last_reply)
        found[row.claim_id].append(Message(*facts))
    return found
