"""The alerts of a report, each with what makes its line of sense: why late, to whom, answered by whom, done when."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, and_, func, select
from sqlalchemy.orm import Session, aliased

from app.domain.delivery import Standing
from app.models import Acknowledgement, AuditEvent, AuditLeaf, Delivery, Kind, Member, NotificationLedger, Obligation
from app.queries.alerts import AlertLine, alert_lines
from app.queries.dispatches import Dispatch, read_dispatches
from app.queries.lateness import Lateness, read_lateness
from app.queries.report.scope import Scope, portions
from app.queries.watch import is_undelivered

OF_LINE = len(dataclasses.fields(AlertLine))


@dataclass(frozen=True)
class AlertFacts:
    """One alert. `more` has its kind, rule, deadline and who answered; `event` the first event of it in the trail."""

    line: AlertLine
    more: Any
    event: Any
    lateness: Lateness | None
    messages: Sequence[Dispatch]
    answers: Sequence[Any]

    @property
    def own_answers(self) -> Sequence[Any]:
        """Those given to this alert, and not to another one of its deadline."""
        return [one for one in self.answers if one.claim_id == self.line.id]


def read_alert_facts(session: Session, scope: Scope) -> Iterator[AlertFacts]:
    """In the order in which they were raised."""
    for rows in portions(session, _alerts(scope)):
        lines = [AlertLine(*row[:OF_LINE]) for row in rows]
        ids = [line.id for line in lines]
        messages = _messages(session, scope.org, ids)
        answers = _answers(session, scope.org, {row.obligation_id for row in rows})
        events = _first_events(session, scope.org, ids)
        for line, row in zip(lines, rows, strict=True):
            late = _lateness(session, scope.org, line, row)
            yield AlertFacts(line, row, events.get(line.id), late, messages[line.id], answers[row.obligation_id])


def _alerts(scope: Scope) -> Select[Any]:
    claim, closer = NotificationLedger, aliased(Member)
    columns: list[Any] = [
        *(Kind.name.label("kind"), claim.rule_id, claim.rule_version, claim.scan_run_id, claim.obligation_id),
        *(claim.acknowledged_by, Obligation.due_on.label("due_on_now"), Obligation.closed_at, Obligation.outcome),
        *(Obligation.met_on, Obligation.closed_by, closer.name.label("closer")),
        is_undelivered(scope.org, scope.sight.now).label("is_late_to_arrive"),
    ]
    return (
        alert_lines(scope.sight)
        .add_columns(*columns)
        .join(Obligation, and_(Obligation.org_id == claim.org_id, Obligation.id == claim.obligation_id))
        .outerjoin(closer, and_(closer.org_id == claim.org_id, closer.id == Obligation.closed_by))
        .where(scope.alerts())
        .order_by(claim.claimed_at, claim.id)
    )


def _lateness(session: Session, org: int, line: AlertLine, row: Any) -> Lateness | None:
    """Of what was not sent, the reason why is said, and nothing of its day."""
    if line.standing == Standing.superseded:
        return None
    return read_lateness(session, org, line, row.rule_id, row.scan_run_id)


def _messages(session: Session, org: int, claim_ids: Collection[int]) -> Mapping[int, list[Dispatch]]:
    found = defaultdict[int, list[Dispatch]](list)
    for one in read_dispatches(session, org, Delivery.claim_id.in_(claim_ids)):
        found[one.claim_id].append(one)
    return found


def _answers(session: Session, org: int, obligation_ids: Collection[int]) -> Mapping[int, list[Any]]:
    """By deadline those that stand, neither taken back nor sent back: an answer counts for all its alerts."""
    one, claim, found = Acknowledgement, NotificationLedger, defaultdict[int, list[Any]](list)
    columns = (claim.obligation_id, one.claim_id, Member.name, one.acknowledged_at, one.answer, one.until_on)
    query = (
        select(*columns, one.note, one.accepted_at)
        .join(Member, and_(Member.org_id == org, Member.id == one.member_id))
        .join(claim, and_(claim.org_id == org, claim.id == one.claim_id))
        .where(one.org_id == org, claim.obligation_id.in_(obligation_ids))
        .where(one.taken_back_at.is_(None), one.sent_back_at.is_(None))
        .order_by(one.acknowledged_at, one.id)
    )
    for row in session.execute(query):
        found[row.obligation_id].append(row)
    return found


def _first_events(session: Session, org: int, claim_ids: Collection[int]) -> Mapping[int, Any]:
    one = AuditEvent
    query = select(one.claim_id, func.min(one.id).label("id")).where(one.org_id == org, one.claim_id.in_(claim_ids))
    first = query.group_by(one.claim_id).subquery()
    sealed = and_(AuditLeaf.org_id == org, AuditLeaf.event_id == first.c.id)
    rows = session.execute(select(first.c.claim_id, first.c.id, AuditLeaf.seq).outerjoin(AuditLeaf, sealed))
    return {row.claim_id: row for row in rows}
