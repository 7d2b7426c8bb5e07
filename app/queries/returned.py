"""Messages that may have been sent, were refused or came back, and that nobody has sent again."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, and_, exists, func, select, tuple_
from sqlalchemy.orm import Session, aliased

from app.domain.delivery import State
from app.models import Delivery, Member, NotificationLedger, Site, Subject
from app.queries.keyset import PAGE, Cursor, Page, instant_of, micros, page_of
from app.queries.sight import Sight
from app.queries.watch import LOST


@dataclass(frozen=True)
class Returned:
    """One such message. `since` is when it may have left; `decision` what a person said about it."""

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
    state: str
    since: dt.datetime
    sent_to: str | None
    last_reply: str | None
    decision: str | None


SINCE = func.coalesce(Delivery.handed_over_at, Delivery.not_before)


def read_returned(session: Session, sight: Sight, after: Cursor | None) -> Page[Returned]:
    """The newest first."""
    query = _returned(sight)
    if after is not None:
        query = query.where(tuple_(SINCE, Delivery.id) < tuple_(instant_of(after[0]), after[1]))
    query = query.order_by(SINCE.desc(), Delivery.id.desc()).limit(PAGE + 1)
    rows = [Returned(*row) for row in session.execute(query)]
    return page_of(rows, lambda row: (micros(row.since), row.id))


def count_returned(session: Session, sight: Sight) -> dict[State, int]:
    """How many of each state; a state that none is in is not named."""
    found = _returned(sight).with_only_columns(Delivery.state, func.count()).group_by(Delivery.state)
    counts = {State(state): count for state, count in session.execute(found)}
    return {state: counts[state] for state in LOST if state in counts}


def _returned(sight: Sight) -> Select[Any]:
    claim, again = NotificationLedger, aliased(Delivery)
    columns: list[Any] = [
        *(Delivery.id, claim.id, claim.subject_id, claim.reference, claim.title, Site.name, Site.timezone),
        *(claim.threshold, claim.due_on, Member.name, Delivery.channel, Delivery.state, SINCE, Delivery.sent_to),
        *(Delivery.last_reply, Delivery.resolution),
    ]
    query: Select[Any] = select(*columns)
    return (
        query.select_from(Delivery)
        .join(claim, and_(claim.org_id == Delivery.org_id, claim.id == Delivery.claim_id))
        .join(Subject, and_(Subject.org_id == claim.org_id, Subject.id == claim.subject_id))
        .join(Site, and_(Site.org_id == claim.org_id, Site.id == claim.site_id))
        .join(Member, and_(Member.org_id == Delivery.org_id, Member.id == Delivery.recipient_id))
        .where(Delivery.org_id == sight.org, Delivery.state.in_(LOST), sight.covers(Subject.site_id))
        .where(~exists().where(again.org_id == Delivery.org_id, again.resend_of == Delivery.id))
    )
