"""Messages by e-mail that need a person: in doubt, refused or come back; one line each, however many alerts it named.

One decision counts for the whole message, so each is shown with all that speaks for and against its arrival. Of one
that also names alerts of sites out of sight, these are only counted.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, Text, and_, cast, func, or_, select, tuple_
from sqlalchemy.orm import Session, aliased

from app.domain.delivery import Channel, State
from app.models import Delivery, NotificationLedger, Site, Subject
from app.models.undecided import is_undecided
from app.queries.dispatches import Dispatch, read_dispatches
from app.queries.keyset import PAGE, Cursor, Page, instant_of, micros, page_of
from app.queries.sight import Sight
from app.queries.watch import LOST

SINCE = func.coalesce(Delivery.handed_over_at, Delivery.not_before)

# The deliveries of one message: they bear one token, or are one row.
Bundle = tuple[uuid.UUID | int, int]


@dataclass(frozen=True)
class Part:
    """One alert of a message. `is_in_app`: the app told the same person of it; `opened_at`: when they looked."""

    claim_id: int
    subject_id: int
    reference: str
    title: str
    threshold: str
    due_on: dt.date
    site: str
    timezone: str
    is_in_app: bool
    opened_at: dt.datetime | None


@dataclass(frozen=True)
class Message:
    """One message to one person: how far it has come, its alerts that are seen, and how many more it named."""

    sent: Dispatch
    parts: list[Part]
    unseen: int

    @property
    def timezone(self) -> str:
        return self.parts[0].timezone

    @property
    def is_in_app(self) -> bool:
        return any(part.is_in_app for part in self.parts)

    @property
    def opened_at(self) -> dt.datetime | None:
        """When the person last opened one of its alerts in the app."""
        return max((part.opened_at for part in self.parts if part.opened_at), default=None)


def read_stuck(session: Session, sight: Sight, states: Collection[State], after: Cursor | None) -> Page[Message]:
    """One page of the messages in these states about which nobody has decided, the newest first."""
    found = _stuck(sight, states).subquery()
    query = select(found.c.id, found.c.since).order_by(found.c.since.desc(), found.c.id.desc()).limit(PAGE + 1)
    if after is not None:
        query = query.where(tuple_(found.c.since, found.c.id) < tuple_(instant_of(after[0]), after[1]))
    keys = page_of(session.execute(query).all(), lambda row: (micros(row.since), row.id))
    messages = {one.sent.id: one for one in _read(session, sight, [row.id for row in keys.rows])}
    return Page([messages[row.id] for row in keys.rows], keys.after)


def count_stuck(session: Session, sight: Sight) -> dict[State, int]:
    """How many messages of each state; a state that none is in is not named."""
    found = _stuck(sight, LOST).subquery()
    query = select(found.c.state, func.count()).group_by(found.c.state)
    counts = {State(state): count for state, count in session.execute(query)}
    return {state: counts[state] for state in LOST if state in counts}


def read_message(session: Session, sight: Sight, delivery_id: int) -> Message | None:
    """The message of this delivery, decided or not. None where there is none, or its entry is out of sight."""
    return next(iter(_read(session, sight, [delivery_id])), None)


def _stuck(sight: Sight, states: Collection[State]) -> Select[Any]:
    """A row for each message."""
    together = func.coalesce(cast(Delivery.lease_token, Text), cast(Delivery.id, Text))
    columns: list[Any] = [func.min(Delivery.id).label("id"), Delivery.state, func.max(SINCE).label("since")]
    return (
        _of_alerts(select(*columns))
        .where(Delivery.org_id == sight.org, Delivery.channel == Channel.email, Delivery.state.in_(states))
        .where(is_undecided(), sight.covers(Subject))
        .group_by(together, Delivery.recipient_id, Delivery.state)
    )


def _of_alerts(query: Select[Any]) -> Select[Any]:
    claim = NotificationLedger
    return (
        query.select_from(Delivery)
        .join(claim, and_(claim.org_id == Delivery.org_id, claim.id == Delivery.claim_id))
        .join(Subject, and_(Subject.org_id == claim.org_id, Subject.id == claim.subject_id))
    )


def _read(session: Session, sight: Sight, delivery_ids: list[int]) -> list[Message]:
    """The messages of these deliveries; those whose entry is out of sight are left out."""
    if not delivery_ids:
        return []
    seen = _of_alerts(select(Delivery.id)).where(sight.covers(Subject), Delivery.id.in_(delivery_ids))
    asked = (Delivery.channel == Channel.email, Delivery.id.in_(seen.where(Delivery.org_id == sight.org)))
    found = read_dispatches(session, sight.org, *asked)
    parts = _parts(session, sight, found)
    return [Message(one, *parts[bundle(one.token, one.id, one.recipient_id)]) for one in found]


def bundle(token: uuid.UUID | None, delivery_id: int, recipient_id: int) -> Bundle:
    return token or delivery_id, recipient_id


def _parts(session: Session, sight: Sight, found: list[Dispatch]) -> dict[Bundle, tuple[list[Part], int]]:
    """By message: the alerts that are seen, and how many more there are."""
    claim, app = NotificationLedger, aliased(Delivery)
    told = and_(app.org_id == Delivery.org_id, app.claim_id == Delivery.claim_id, app.channel == Channel.in_app)
    columns: list[Any] = [
        *(
            Delivery.id,
            Delivery.lease_token,
            Delivery.recipient_id,
            Subject.site_id,
            Subject.kind_id,
            claim.id.label("claim_id"),
        ),
        *(claim.subject_id, claim.reference, claim.title, claim.threshold, claim.due_on, Site.name, Site.timezone),
        *(app.id.is_not(None).label("is_in_app"), app.seen_at),
    ]
    query = (
        _of_alerts(select(*columns))
        .join(Site, and_(Site.org_id == claim.org_id, Site.id == claim.site_id))
        .outerjoin(app, and_(told, app.recipient_id == Delivery.recipient_id, app.state == State.delivered))
        .where(Delivery.org_id == sight.org, Delivery.channel == Channel.email, _of_one(found))
        .order_by(claim.due_on, claim.id)
    )
    parts: defaultdict[Bundle, list[Any]] = defaultdict(list)
    for row in session.execute(query):
        parts[bundle(row.lease_token, row.id, row.recipient_id)].append(row)
    shown = {
        key: [Part(*row[5:]) for row in rows if sight.sees(row.site_id, row.kind_id)] for key, rows in parts.items()
    }
    return {key: (seen, len(parts[key]) - len(seen)) for key, seen in shown.items()}


def _of_one(found: list[Dispatch]) -> Any:
    """The rows that went with these."""
    tokens = [one.token for one in found if one.token is not None]
    return or_(Delivery.id.in_([one.id for one in found]), Delivery.lease_token.in_(tokens))
