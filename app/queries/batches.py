"""The entries that a person chooses for one act, by their ids or by the filters of the list; and a batch that was done.

What is out of sight, foreign or gone is simply not among them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.models import AuditEvent, Member, Site, Subject
from app.queries.sight import Sight

APPLIED = "batch_applied"


@dataclass(frozen=True)
class Chosen:
    """An entry by the names that people know it by."""

    id: int
    reference: str
    title: str
    site: str


@dataclass(frozen=True)
class Batch:
    """One act upon many entries, as the trail has it. `left` has the ids by the reason."""

    id: int
    at: dt.datetime
    by: str | None
    detail: Mapping[str, Any]

    @property
    def deed(self) -> str:
        return str(self.detail["deed"])

    @property
    def done(self) -> int:
        return int(self.detail["done"])

    @property
    def left(self) -> Mapping[str, Sequence[int]]:
        return dict(self.detail["left"])


def seen_of(session: Session, sight: Sight, ids: Collection[int]) -> list[int]:
    """Those of the ids that are entries which the person sees."""
    query = select(Subject.id).where(Subject.org_id == sight.org, Subject.id.in_(ids), sight.covers(Subject))
    return list(session.scalars(query.order_by(Subject.id)))


def read_chosen(session: Session, sight: Sight, ids: Collection[int], most: int) -> list[Chosen]:
    """The first of the entries, by reference."""
    query = (
        select(Subject.id, Subject.reference, Subject.title, Site.name)
        .join(Site, (Site.org_id == sight.org) & (Site.id == Subject.site_id))
        .where(Subject.org_id == sight.org, Subject.id.in_(ids), sight.covers(Subject))
        .order_by(Subject.reference_key, Subject.id)
        .limit(most)
    )
    return [Chosen(*row) for row in session.execute(query)]


def read_batch(session: Session, sight: Sight, batch_id: int) -> Batch | None:
    """The batch; None for none, and for whoever sees none of its entries."""
    org, event = sight.org, AuditEvent
    query = select(event.id, event.at, event.actor, event.detail)
    row = session.execute(query.where(event.org_id == org, event.id == batch_id, event.type == APPLIED)).one_or_none()
    if row is None or not _sees_one(session, sight, row):
        return None
    route, _, number = row.actor.partition(":")
    of = select(Member.name).where(Member.org_id == org, Member.id == int(number)) if route == "member" else None
    return Batch(row.id, row.at, session.scalar(of) if of is not None else None, row.detail)


def _sees_one(session: Session, sight: Sight, batch: Any) -> bool:
    """Events of a batch bear its instant, by which the trail is indexed."""
    if not sight.is_limited and sight.kinds is None:
        return True
    event = AuditEvent
    query = (
        select(Subject.id)
        .join(event, (event.org_id == sight.org) & (event.subject_id == Subject.id))
        .where(Subject.org_id == sight.org, sight.covers(Subject), event.at == batch.at)
        .where(event.detail.contains({"batch": batch.id}))
    )
    return session.scalar(query.limit(1)) is not None
