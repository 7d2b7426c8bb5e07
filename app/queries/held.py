"""What is held since the database was restored or failed over, until a person lets it go (`app/ledger/holds.py`)."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, and_, func, select
from sqlalchemy.orm import Session

from app.domain.delivery import State
from app.models import Delivery, Member, NotificationLedger, Site, Subject
from app.queries.keyset import PAGE, Cursor, Page, page_of
from app.queries.sight import Sight


@dataclass(frozen=True)
class Held:
    """One message that is held: of which alert, to whom, and by which way. `not_before` is when it was due."""

    id: int
    claim_id: int
    subject_id: int
    reference: str
    title: str
    site: str
    timezone: str
    threshold: str
    due_on: dt.date
    person: str
    channel: str
    not_before: dt.datetime


def read_held(session: Session, sight: Sight, after: Cursor | None) -> Page[Held]:
    """One page of what is held, in the order in which it was made."""
    query = _held(sight).order_by(Delivery.id).limit(PAGE + 1)
    if after is not None:
        query = query.where(Delivery.id > after[1])
    return page_of([Held(*row) for row in session.execute(query)], lambda row: (0, row.id))


def all_held(org: int) -> Select[int]:
    """Counts all that is held for the organisation, at the sites out of sight, too: it is let go together."""
    return select(func.count()).select_from(Delivery).where(Delivery.org_id == org, Delivery.state == State.held)


def _held(sight: Sight) -> Select[Any]:
    claim = NotificationLedger
    columns: list[Any] = [
        *(Delivery.id, claim.id, claim.subject_id, claim.reference, claim.title, Site.name, Site.timezone),
        *(claim.threshold, claim.due_on, Member.name, Delivery.channel, Delivery.not_before),
    ]
    return (
        select(*columns)
        .select_from(Delivery)
        .join(claim, and_(claim.org_id == Delivery.org_id, claim.id == Delivery.claim_id))
        .join(Subject, and_(Subject.org_id == claim.org_id, Subject.id == claim.subject_id))
        .join(Site, and_(Site.org_id == claim.org_id, Site.id == claim.site_id))
        .join(Member, and_(Member.org_id == Delivery.org_id, Member.id == Delivery.recipient_id))
        .where(Delivery.org_id == sight.org, Delivery.state == State.held, sight.covers(Subject))
    )
