"""What was taken off the watch, for a report: the same acts as on the page, the first one first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import ColumnElement, and_, false, or_
from sqlalchemy.orm import Session

from app.models import AuditEvent, Site, Subject
from app.queries.off_watch import RULE_OFF, SITE_ARCHIVED, TakenOff, acts, taken_off_of
from app.queries.report.scope import Scope, portions


def read_taken_off_rows(session: Session, scope: Scope) -> Iterator[tuple[TakenOff, str]]:
    """Each act with the zone of its site."""
    query = acts(scope.sight, scope.since, scope.until).add_columns(Site.timezone.label("timezone"))
    query = query.where(_is_asked_for(scope))
    for rows in portions(session, query.order_by(AuditEvent.at, AuditEvent.id)):
        for row, one in zip(rows, taken_off_of(session, scope.sight, rows), strict=True):
            yield one, row.timezone or scope.zone
        session.expunge_all()


def _is_asked_for(scope: Scope) -> ColumnElement[bool]:
    """A rule that was switched off is of the whole organisation, unless one rule or entry was asked for."""
    asked, detail = scope.asked, AuditEvent.detail
    rule: Any = AuditEvent.type == RULE_OFF if asked.subject_id is None else false()
    site: Any = and_(
        AuditEvent.type == SITE_ARCHIVED, detail["site_id"].as_string().in_([str(one.id) for one in scope.sites])
    )
    if asked.rule_id is not None:
        rule = and_(rule, detail["rule_id"].as_string() == str(asked.rule_id))
    if asked.rule_id is not None or asked.subject_id is not None:
        site = false()
    return or_(rule, site, and_(Subject.id.is_not(None), scope.entries()))
