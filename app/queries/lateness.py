"""Why an alert was raised after its day: what had changed since the check before, or that there was no check."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import and_, func, or_, select
from sqlalchemy.orm import Session

from app.domain import calendars
from app.models import AuditEvent, ScanRun
from app.models.ledger import GAP
from app.queries.alerts import AlertLine

SLACK = dt.timedelta(minutes=10)  # What was committed late may bear an instant before the check that missed it.


class Cause(StrEnum):
    """What made an alert late."""

    entered = "entered"
    moved = "moved"
    rule = "rule"
    released = "released"
    restored = "restored"
    unpaused = "unpaused"
    reopened = "reopened"
    filed = "filed"
    filing_ended = "filing_ended"
    taken_back = "taken_back"
    sent_back = "sent_back"
    no_check = "no_check"
    first_check = "first_check"
    unknown = "unknown"


OF_ENTRY = {
    "subject_created": Cause.entered, "obligation_opened": Cause.entered, "date_moved": Cause.moved,
    "subject_released": Cause.released, "subject_restored": Cause.restored, "snooze_ended": Cause.unpaused,
    "obligation_reopened": Cause.reopened, "filing_ended": Cause.filing_ended, "obligation_filed": Cause.filed,
    "answer_taken_back": Cause.taken_back,
    "answer_sent_back": Cause.sent_back,
}  # fmt: skip
OF_RULE = {"rule_created": Cause.rule, "rule_changed": Cause.rule, "rule_switched_on": Cause.rule}


@dataclass(frozen=True)
class Lateness:
    """How many days late, why, and when that was; for `no_check` since when there had been none."""

    days: int
    cause: Cause
    at: dt.datetime | None


def read_lateness(session: Session, org: int, alert: AlertLine, rule_id: int, run_id: int) -> Lateness | None:
    """None for an alert that was raised on its day."""
    if not alert.days_late:
        return None
    before = select(func.max(func.coalesce(ScanRun.quiet_until, ScanRun.started_at))).where(
        ScanRun.org_id == org, ScanRun.id < run_id, ScanRun.started_at < alert.claimed_at
    )
    looked_at: dt.datetime | None = session.execute(before).scalar_one()
    change = _last_change(session, org, alert, rule_id, looked_at)
    if change is not None:
        return Lateness(alert.days_late, *change)
    if looked_at is None:
        return Lateness(alert.days_late, Cause.first_check, None)
    if alert.claimed_at - looked_at > GAP:
        return Lateness(alert.days_late, Cause.no_check, looked_at)
    return Lateness(alert.days_late, Cause.unknown, None)


def _last_change(
    session: Session, org: int, alert: AlertLine, rule_id: int, looked_at: dt.datetime | None
) -> tuple[Cause, dt.datetime] | None:
    """The last change since the check before that came after the day of the alert."""
    of_entry = and_(AuditEvent.subject_id == alert.subject_id, AuditEvent.type.in_(OF_ENTRY))
    about_rule = AuditEvent.detail["rule_id"].as_string() == str(rule_id)
    of_rule = and_(AuditEvent.subject_id.is_(None), AuditEvent.type.in_(OF_RULE), about_rule)
    query = select(AuditEvent.type, AuditEvent.at).where(
        AuditEvent.org_id == org, AuditEvent.at <= alert.claimed_at, or_(of_entry, of_rule)
    )
    if looked_at is not None:
        query = query.where(AuditEvent.at > looked_at - SLACK)
    row = session.execute(query.order_by(AuditEvent.at.desc(), AuditEvent.id.desc()).limit(1)).one_or_none()
    if row is None or calendars.today(row.at, alert.timezone) <= alert.crossed_on:
        return None
    return (OF_ENTRY | OF_RULE)[row.type], row.at
