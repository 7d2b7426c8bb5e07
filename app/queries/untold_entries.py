"""The entries of which a person is not told, by name, as far as whoever looks may see them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session

from app.models import Obligation, Site, Subject
from app.queries.sight import Sight

MOST = 50  # Lines; how many there are in all is said above them.


@dataclass(frozen=True)
class UntoldEntry:
    """An entry, with its next open date."""

    subject_id: int
    reference: str
    title: str
    site: str
    due_on: dt.date


def untold_entries(session: Session, sight: Sight, ids: Collection[int]) -> list[UntoldEntry]:
    """What is due first comes first."""
    if not ids:
        return []
    due = func.min(Obligation.due_on).label("due_on")
    query = (
        select(Subject.id, Subject.reference, Subject.title, Site.name, due)
        .join(Site, and_(Site.org_id == sight.org, Site.id == Subject.site_id))
        .join(Obligation, and_(Obligation.org_id == sight.org, Obligation.subject_id == Subject.id))
        .where(Subject.org_id == sight.org, Subject.id.in_(ids), Obligation.closed_at.is_(None), sight.covers(Subject))
        .group_by(Subject.org_id, Subject.id, Site.name)
        .order_by(due, Subject.reference_key, Subject.id)
        .limit(MOST)
    )
    return [UntoldEntry(*row) for row in session.execute(query)]
