"""What was taken off the watch in a period: archived, closed without doing, paused, moved, out of service, rule off.

Read from the trail, so nothing that a person did is left out; whether it is still so is read from the tables of now.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Select, and_, cast, func, or_, select, tuple_
from sqlalchemy.orm import Session

from app.domain.acts import Outcome, Status
from app.models import AlertRule, AuditEvent, Member, Obligation, Site, Subject
from app.queries.keyset import PAGE, Cursor, Page, instant_of, micros, page_of
from app.queries.sight import Sight
from app.queries.together import Asked

ARCHIVED, OUT, PAUSED = "subject_archived", "subject_out_of_service", "subject_snoozed"
CLOSED, MOVED, RULE_OFF, SITE_ARCHIVED = "obligation_closed", "date_moved", "rule_switched_off", "site_archived"
TYPES = (ARCHIVED, OUT, PAUSED, CLOSED, MOVED, RULE_OFF, SITE_ARCHIVED)
DONE = (Outcome.met, Outcome.failed)  # Closed so, it was done; only the rest was taken off.


@dataclass(frozen=True)
class TakenOff:
    """One act: what was taken off, by whom (`actor` is a code, `person` a name), why, and whether it is still so."""

    id: int
    at: dt.datetime
    actor: str
    person: str | None
    type: str
    subject_id: int | None
    reference: str | None
    title: str | None
    site: str | None
    rule: str | None
    due_on: dt.date | None
    to: dt.date | None
    outcome: str | None
    reason: str | None
    note: str
    still_so: bool


def read_taken_off(
    session: Session, sight: Sight, since: dt.datetime, until: dt.datetime, after: Cursor | None
) -> Page[TakenOff]:
    """The acts from `since` on and before `until`, the newest first."""
    query = acts(sight, since, until)
    if after is not None:
        query = query.where(tuple_(AuditEvent.at, AuditEvent.id) < tuple_(instant_of(after[0]), after[1]))
    found = session.execute(query.order_by(AuditEvent.at.desc(), AuditEvent.id.desc()).limit(PAGE + 1)).all()
    return page_of(taken_off_of(session, sight, found), lambda row: (micros(row.at), row.id))


def taken_off_of(session: Session, sight: Sight, found: Sequence[Any]) -> list[TakenOff]:
    """These acts, each with what is so today."""
    now = Now(session, sight, [row.AuditEvent for row in found])
    return [_taken_off(row, now) for row in found]


def taken_off_asked(sight: Sight, since: dt.datetime, until: dt.datetime) -> Asked:
    """Counts them."""
    ids = acts(sight, since, until).with_only_columns(AuditEvent.id).subquery()
    return select(func.count()).select_from(ids)


def acts(sight: Sight, since: dt.datetime, until: dt.datetime) -> Select[Any]:
    """The acts of the period that are seen, each beside its entry and whoever did it."""
    outcome = AuditEvent.detail["outcome"].as_string()
    columns: list[Any] = [AuditEvent, Member.name, Subject, Site.name.label("site")]
    query: Select[Any] = select(*columns)
    return (
        query.outerjoin(
            Member, and_(Member.org_id == AuditEvent.org_id, AuditEvent.actor == func.concat("member:", Member.id))
        )
        .outerjoin(Subject, and_(Subject.org_id == AuditEvent.org_id, Subject.id == AuditEvent.subject_id))
        .outerjoin(Site, and_(Site.org_id == Subject.org_id, Site.id == Subject.site_id))
        .where(AuditEvent.org_id == sight.org, AuditEvent.at >= since, AuditEvent.at < until)
        .where(AuditEvent.type.in_(TYPES), or_(AuditEvent.type != CLOSED, outcome.not_in(DONE)), _is_seen(sight))
    )


def _is_seen(sight: Sight) -> ColumnElement[bool]:
    """A rule is of the whole organisation; a site that was archived names itself in the detail."""
    site_id = cast(AuditEvent.detail["site_id"].as_string(), BigInteger)
    of_site = and_(AuditEvent.type == SITE_ARCHIVED, sight.covers_site(site_id))
    return or_(AuditEvent.type == RULE_OFF, of_site, and_(Subject.id.is_not(None), sight.covers(Subject)))


class Now:
    """The present state of what these events are about."""

    def __init__(self, session: Session, sight: Sight, events: list[AuditEvent]) -> None:
        self.sight = sight
        obligations = _numbers(event.detail.get("obligation_id") for event in events)
        due = select(Obligation.id, Obligation.due_on, Obligation.closed_at).where(
            Obligation.org_id == sight.org, Obligation.id.in_(obligations)
        )
        self.deadlines = {row.id: row for row in session.execute(due)}
        rules = _numbers(event.detail.get("rule_id") for event in events)
        off = select(AlertRule.id, AlertRule.is_active).where(AlertRule.org_id == sight.org, AlertRule.id.in_(rules))
        self.active = {row.id: row.is_active for row in session.execute(off)}

    def has(self, event: AuditEvent, entry: Subject | None) -> bool:
        """Whether what the event says is so today."""
        deadline = self.deadlines.get(event.detail.get("obligation_id", 0))
        if event.type == CLOSED:
            return deadline is not None and deadline.closed_at is not None
        if event.type == MOVED:
            return deadline is not None and deadline.due_on == _day(event.detail.get("new"))
        if event.type == RULE_OFF:
            return not self.active.get(event.detail.get("rule_id", 0), False)
        if entry is None:
            return True  # A site stays archived.
        if event.type == PAUSED:
            today = self.sight.sites[entry.site_id].today
            return entry.snoozed_until is not None and (today is None or today < entry.snoozed_until)
        return entry.status == (Status.archived if event.type == ARCHIVED else Status.out_of_service)


def _taken_off(row: Any, now: Now) -> TakenOff:
    event, entry = row.AuditEvent, row.Subject
    detail = event.detail
    site = row.site or (detail.get("site_id") and now.sight.sites[detail["site_id"]].name)
    return TakenOff(
        id=event.id,
        at=event.at,
        actor=event.actor,
        person=row.name,
        type=event.type,
        subject_id=entry and entry.id,
        reference=entry and entry.reference,
        title=entry and entry.title,
        site=site,
        rule=detail.get("name"),
        due_on=_day(detail.get("due_on") or (detail.get("old") if event.type == MOVED else None)),
        to=_day(detail.get("new")) if event.type in (MOVED, PAUSED) else None,
        outcome=detail.get("outcome"),
        reason=detail.get("reason"),
        note=detail.get("note") or "",
        still_so=now.has(event, entry),
    )


def _numbers(values: Iterable[Any]) -> list[int]:
    return [value for value in values if isinstance(value, int)]


def _day(text: str | None) -> dt.date | None:
    return dt.date.fromisoformat(text) if text else None
