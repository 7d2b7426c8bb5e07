"""When the watch looked and when it did not: each check of the period, and between two of them each gap by itself."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.models import NotificationLedger, ScanRun
from app.models.ledger import GAP, LOOKED_UNTIL
from app.queries.report.scope import Scope, portions
from app.queries.scans import IS_LOOK, Check, Explanation, check_of, read_explanations


@dataclass(frozen=True)
class Look:
    """A check with the end of its quiet ones, or (without `check`) a gap in which nobody looked; None: it lasts."""

    since: dt.datetime
    until: dt.datetime | None
    actor: str = ""
    check: Check | None = None
    explanation: Explanation | None = None  # Of a gap.


def read_looks(session: Session, scope: Scope) -> Iterator[Look]:
    """In their order, each gap before the check that ended it. Checks are of the whole organisation.

    Of the story of one entry they are those that raised its alerts, and no gaps: an alert that came late says why.
    """
    if scope.asked.subject_id is not None:
        yield from _of_story(session, scope)
        return
    seen = {site.name for site in scope.sites}
    said, last = read_explanations(session, scope.org), _last_before(session, scope)
    query = select(ScanRun).where(ScanRun.org_id == scope.org, IS_LOOK, scope.within(ScanRun.started_at))
    for rows in portions(session, query.order_by(ScanRun.started_at, ScanRun.id)):
        for (run,) in rows:
            if last is not None and run.started_at - last > GAP:
                yield Look(last, run.started_at, explanation=said.get(last))
            end = max(filter(None, (run.started_at, run.finished_at, run.quiet_until)))
            yield Look(run.started_at, end, run.actor, check_of(run, seen))
            last = max(last or end, end)
            session.expunge(run)
    end = min(scope.sight.now, scope.until)
    if last is not None and end - last > GAP:
        yield Look(last, None if end == scope.sight.now else end, explanation=said.get(last))


def _of_story(session: Session, scope: Scope) -> Iterator[Look]:
    raised = select(NotificationLedger.scan_run_id).where(
        NotificationLedger.org_id == scope.org, NotificationLedger.id.in_(scope.of_alerts())
    )
    query = select(ScanRun).where(ScanRun.org_id == scope.org, ScanRun.id.in_(raised))
    seen = {site.name for site in scope.sites}
    for run in session.scalars(query.order_by(ScanRun.started_at, ScanRun.id)):
        yield Look(run.started_at, run.finished_at, run.actor, check_of(run, seen))


def _last_before(session: Session, scope: Scope) -> dt.datetime | None:
    before = select(func.max(LOOKED_UNTIL)).where(ScanRun.org_id == scope.org, IS_LOOK)
    found: dt.datetime | None = session.execute(before.where(ScanRun.started_at < scope.since)).scalar_one()
    return found
