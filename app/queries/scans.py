"""Checks and gaps: when the watch has looked, and when for too long it has not. Evidence, read from what scans left."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_, select, tuple_
from sqlalchemy.orm import Session

from app.models import AuditEvent, Member, ScanRun
from app.models.ledger import GAP, GAP_EXPLAINED, LOOKED_UNTIL
from app.queries.keyset import PAGE, Cursor, Page, instant_of, micros, page_of
from app.queries.sight import Sight
from app.queries.together import together
from app.wording import gettext

MOST_GAPS = 100  # Of one period: with more of them the watch has another trouble.

# What an act writes at the start of a rule is no look, unless quiet ones were counted in it.
IS_LOOK = or_(ScanRun.trigger != "start", ScanRun.quiet_scans > 0)


@dataclass(frozen=True)
class Check:
    """One check that found something, moved a day on, met an error or was asked for; and the quiet ones after it."""

    id: int
    trigger: str
    started_at: dt.datetime
    is_full: bool
    raised: int
    unsent: int
    raised_again: int
    stopped: int
    messages: int
    errors: list[str]
    quiet_scans: int
    quiet_until: dt.datetime | None


@dataclass(frozen=True)
class Explanation:
    """What a person said of a gap; without a name, whoever runs Onus."""

    words: str
    person: str | None
    at: dt.datetime


@dataclass(frozen=True)
class Silence:
    """A time in which nobody looked. `until` is None while it lasts."""

    since: dt.datetime
    until: dt.datetime | None
    lasted: dt.timedelta
    explanation: Explanation | None = None


def read_checks(session: Session, sight: Sight, after: Cursor | None) -> Page[Check]:
    """The newest first. Whoever is limited to sites reads only the errors of these and of the whole organisation."""
    query = select(ScanRun).where(ScanRun.org_id == sight.org, IS_LOOK)
    if after is not None:
        query = query.where(tuple_(ScanRun.started_at, ScanRun.id) < tuple_(instant_of(after[0]), after[1]))
    query = query.order_by(ScanRun.started_at.desc(), ScanRun.id.desc()).limit(PAGE + 1)
    seen = {site.name for site in sight.sites.values()}
    rows = [check_of(run, seen) for run in session.execute(query).scalars()]
    return page_of(rows, lambda row: (micros(row.started_at), row.id))


def check_of(run: ScanRun, seen: set[str]) -> Check:
    errors = [_worded(error) for error in run.errors if not error.get("site") or error["site"] in seen]
    found = (run.claimed, run.superseded, run.reopened, run.withdrawn, run.deliveries)
    return Check(run.id, run.trigger, run.started_at, run.is_full, *found, errors, run.quiet_scans, run.quiet_until)


def _worded(error: dict[str, Any]) -> str:
    return f"{error.get('site') or gettext('All sites')}: {error.get('message')}"


def read_silences(session: Session, sight: Sight, since: dt.datetime) -> list[Silence]:
    """The gaps that ended after `since`, or have not ended; the latest first, and at most MOST_GAPS."""
    looks = _looks(sight.org, since).subquery()
    gaps = select(looks.c.before, looks.c.started_at).where(looks.c.started_at - looks.c.before > GAP)
    latest = select(func.max(LOOKED_UNTIL)).where(ScanRun.org_id == sight.org, IS_LOOK)
    found, looked = together(session, gaps.order_by(looks.c.started_at.desc()).limit(MOST_GAPS), latest)
    silences = [Silence(before, started_at, started_at - before) for before, started_at in found]
    last = looked.scalar_one()
    if last is not None and sight.now - last > GAP:
        silences.insert(0, Silence(last, None, sight.now - last))
    said = read_explanations(session, sight.org) if silences else {}
    return [replace(one, explanation=said.get(one.since)) for one in silences]


def read_explanations(session: Session, org: int) -> dict[dt.datetime, Explanation]:
    """By the instant at which its gap begins, what was said last of it."""
    event, by = AuditEvent, and_(Member.org_id == org, AuditEvent.actor == func.concat("member:", Member.id))
    query = select(event.detail, event.at, Member.name).outerjoin(Member, by)
    query = query.where(event.org_id == org, event.type == GAP_EXPLAINED).order_by(event.id)
    found = session.execute(query).all()
    return {dt.datetime.fromisoformat(said["since"]): Explanation(said["note"], name, at) for said, at, name in found}


def _looks(org: int, since: dt.datetime) -> Any:
    """Each look since then, beside the end of the look before it."""
    of_period: ColumnElement[bool] = and_(ScanRun.org_id == org, IS_LOOK, ScanRun.started_at >= since)
    first = select(func.max(LOOKED_UNTIL)).where(ScanRun.org_id == org, IS_LOOK, ScanRun.started_at < since)
    before = func.lag(LOOKED_UNTIL, type_=LOOKED_UNTIL.type).over(order_by=(ScanRun.started_at, ScanRun.id))
    return select(ScanRun.started_at, func.coalesce(before, first.scalar_subquery()).label("before")).where(of_period)
