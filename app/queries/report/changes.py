"""The changes of a report: every event of the trail that is about no alert, with the names of what it names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, false, or_, select, true
from sqlalchemy.orm import Session

from app.models import AuditEvent, AuditLeaf, Site, Subject
from app.queries.entry_history import Event, names_of
from app.queries.names import Names
from app.queries.report.scope import Scope, portions

# Who came and looked is no change. What happened to alerts, messages and answers has sections of its own.
LOOKS = ("looked", "access_refused", "signed_in", "opened", "absence_summary_read")


@dataclass(frozen=True)
class ChangeFacts:
    """One event, what it is about (`row`: reference, zone, entry, place in the seal), and the names in it."""

    row: Any
    event: Event
    names: Names


def read_changes(session: Session, scope: Scope) -> Iterator[ChangeFacts]:
    """In the order in which they were recorded."""
    for rows in portions(session, _events(scope)):
        events = [Event(row.id, row.at, row.actor, row.type, None, row.detail) for row in rows]
        names = names_of(session, scope.org, events)
        for row, event in zip(rows, events, strict=True):
            yield ChangeFacts(row, event, names)


def _events(scope: Scope) -> Select[Any]:
    one = AuditEvent
    columns = (one.id, AuditLeaf.seq, one.at, one.actor, one.type, one.detail, one.subject_id)
    return (
        select(*columns, Subject.reference, Site.timezone)
        .outerjoin(Subject, and_(Subject.org_id == one.org_id, Subject.id == one.subject_id))
        .outerjoin(Site, and_(Site.org_id == Subject.org_id, Site.id == Subject.site_id))
        .outerjoin(AuditLeaf, and_(AuditLeaf.org_id == one.org_id, AuditLeaf.event_id == one.id))
        .where(one.org_id == scope.org, scope.within(one.at), one.claim_id.is_(None), one.delivery_id.is_(None))
        .where(one.type.not_in(LOOKS), or_(of_entry(scope), and_(one.subject_id.is_(None), of_others(scope))))
        .order_by(one.id)
    )


def of_entry(scope: Scope) -> ColumnElement[bool]:
    return and_(Subject.id.is_not(None), scope.entries())


def of_others(scope: Scope) -> ColumnElement[bool]:
    """What is about no entry: all of it for whoever sees all; else what names a site or a rule of the report."""
    if scope.is_about_all:
        return true()
    asked = scope.asked
    if asked.subject_id is not None:
        return false()
    detail: Any = AuditEvent.detail
    about: ColumnElement[bool] = detail["site_id"].as_string().in_([str(site.id) for site in scope.sites])
    if asked.rule_id is not None:
        about = detail["rule_id"].as_string() == str(asked.rule_id)
    return about
