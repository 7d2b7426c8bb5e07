"""What is in the register by mistake, for whoever brings entries in and whoever takes them out.

Entries and dates that were entered in error stay, as everything does; by the trail they are told apart.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Subquery, select

from app.domain.acts import ArchiveReason, Status
from app.models.register import Subject
from app.models.trail import AuditEvent


def archived_in_error(org: int, named: ColumnElement[bool]) -> Subquery:
    """The ids of those entries among the named that are archived, the last time as entered in error, by the trail."""
    event = AuditEvent
    why = select(event.detail["reason"].as_string()).where(event.org_id == org, event.subject_id == Subject.id)
    last = why.where(event.type == "subject_archived").order_by(event.id.desc()).limit(1)
    archived = select(Subject.id).where(Subject.org_id == org, Subject.status == Status.archived, named)
    return archived.where(last.scalar_subquery() == ArchiveReason.entered_in_error).subquery()
