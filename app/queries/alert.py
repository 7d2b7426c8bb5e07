"""One alert with all that is known of it: its messages and tries, its answers, its history, and why it came late."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session, aliased

from app.domain.delivery import Channel
from app.models import Acknowledgement, AuditEvent, Delivery, Member, NotificationLedger
from app.queries.alerts import AlertLine, alert_lines
from app.queries.dispatches import Dispatch, read_dispatches
from app.queries.lateness import Lateness, read_lateness
from app.queries.sight import Sight
from app.queries.together import Asked, together

MOST_EVENTS = 500  # Of one alert: told to fifty people through two channels it has about three hundred.


@dataclass(frozen=True)
class Said:
    """One answer, those included that were taken back or sent back."""

    person: str
    at: dt.datetime
    answer: str
    until_on: dt.date | None
    done_on: dt.date | None
    note: str
    taken_back_at: dt.datetime | None
    sent_back_at: dt.datetime | None
    claim_id: int


@dataclass(frozen=True)
class Happened:
    """One event of the history: who did it (`actor` is a code, `by` a name), and to whom."""

    at: dt.datetime
    type: str
    actor: str
    by: str | None
    whom: str | None
    channel: str | None
    reason: str | None
    answer: str | None


@dataclass(frozen=True)
class Alert:
    """The whole story of one alert."""

    line: AlertLine
    rule_version: int
    lateness: Lateness | None
    messages: list[Dispatch]
    answers: list[Said]
    history: list[Happened]

    def is_in_app(self, person: int) -> bool:
        """Whether the app has told this person of it."""
        of_person = (one for one in self.messages if one.recipient_id == person and one.channel is Channel.in_app)
        return any(one.delivered_at for one in of_person)

    def opened_at(self, person: int) -> dt.datetime | None:
        """When this person opened it in the app, whichever message told them of it."""
        return next((one.seen_at for one in self.messages if one.recipient_id == person and one.seen_at), None)

    @property
    def is_answered_elsewhere(self) -> bool:
        return any(said.taken_back_at is None and said.sent_back_at is None for said in self.answers)


def read_alert(session: Session, sight: Sight, claim_id: int) -> Alert | None:
    """None where there is no such alert, or none that is seen."""
    row = session.execute(alert_lines(sight).where(NotificationLedger.id == claim_id)).one_or_none()
    if row is None:
        return None
    line, org = AlertLine(*row), sight.org
    claim = NotificationLedger
    found = select(claim.rule_id, claim.rule_version, claim.scan_run_id).where(claim.org_id == org, claim.id == line.id)
    facts, people, said = together(session, found, _names(org), _answers(org, line.id))
    rule_id, version, run_id = facts.one()
    names = {row[0]: row[1] for row in people}
    return Alert(
        line=line,
        rule_version=version,
        lateness=read_lateness(session, org, line, rule_id, run_id),
        messages=read_dispatches(session, org, Delivery.claim_id == line.id),
        answers=[Said(*row) for row in said],
        history=_history(session, org, line.id, names),
    )


def _answers(org: int, claim_id: int) -> Asked:
    """An answer counts for the deadline, whichever of its alerts it was given to."""
    answer, claim, other = Acknowledgement, aliased(NotificationLedger), aliased(NotificationLedger)
    same = and_(other.org_id == claim.org_id, other.obligation_id == claim.obligation_id)
    same_deadline = select(other.id).join(claim, same).where(claim.org_id == org, claim.id == claim_id)
    return (
        select(
            *(Member.name, answer.acknowledged_at, answer.answer, answer.until_on, answer.done_on, answer.note),
            *(answer.taken_back_at, answer.sent_back_at, answer.claim_id),
        )
        .join(Member, and_(Member.org_id == answer.org_id, Member.id == answer.member_id))
        .where(answer.org_id == org, answer.claim_id.in_(same_deadline))
        .order_by(answer.acknowledged_at, answer.id)
    )


def _history(session: Session, org: int, claim_id: int, names: dict[int, str]) -> list[Happened]:
    by = aliased(Member)
    query = (
        select(AuditEvent, by.name)
        .outerjoin(by, and_(by.org_id == AuditEvent.org_id, AuditEvent.actor == func.concat("member:", by.id)))
        .where(AuditEvent.org_id == org, AuditEvent.claim_id == claim_id)
        .order_by(AuditEvent.id)
        .limit(MOST_EVENTS)
    )
    return [_happened(event, name, event.detail, names) for event, name in session.execute(query)]


def _happened(event: AuditEvent, by: str | None, detail: dict[str, Any], names: dict[int, str]) -> Happened:
    whom = names.get(detail.get("recipient") or detail.get("member") or 0)
    codes = (detail.get("channel"), detail.get("reason"), detail.get("answer"))
    return Happened(event.at, event.type, event.actor, by, whom, *codes)


def _names(org: int) -> Asked:
    """The people of the organisation by id: the trail names nobody."""
    return select(Member.id, Member.name).where(Member.org_id == org)
