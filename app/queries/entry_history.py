"""What happened to one entry, from the trail, with the names of whom and what the events name by id."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.models import AuditEvent
from app.queries.names import NAMED, Names, member_in, read_names
from app.queries.personal import known_of, personal_asked
from app.queries.together import together

EVENTS_AT_ONCE = 50

# What `old` and `new` of an event name that are a number alone, or a list of them.
BARE: Mapping[str, str] = {
    "holder_assigned": "holder_id", "subject_moved": "site_id",
    "member_limited": "site_id", "member_limited_to_kinds": "kind_id",
}  # fmt: skip


@dataclass(frozen=True)
class Event:
    """One event as the trail has it."""

    id: int
    at: dt.datetime
    actor: str
    type: str
    claim_id: int | None
    detail: Mapping[str, Any]


@dataclass(frozen=True)
class History:
    """The events, the last one first, and the id before which older ones follow, if there are any."""

    events: Sequence[Event]
    names: Names
    before: int | None


def read_history(session: Session, org: int, subject_id: int, before: int | None = None) -> History:
    event = AuditEvent
    query = (
        select(event.id, event.at, event.actor, event.type, event.claim_id, event.detail)
        .where(event.org_id == org, event.subject_id == subject_id)
        .order_by(event.id.desc())
        .limit(EVENTS_AT_ONCE + 1)
    )
    if before is not None:
        query = query.where(event.id < before)
    events, personal = together(session, query, personal_asked(org, query.with_only_columns(event.id)))
    rows, known = events.all(), known_of(personal)
    found = [replace(Event(*row), detail=known.in_words(row.id, row.detail)) for row in rows]
    shown = found[:EVENTS_AT_ONCE]
    return History(shown, names_of(session, org, shown), shown[-1].id if len(found) > EVENTS_AT_ONCE else None)


def names_of(session: Session, org: int, events: Sequence[Event]) -> Names:
    """One look, however many events there are."""
    wanted = defaultdict[str, set[int]](set)
    for event in events:
        _collect(event.detail, wanted)
        if bare := BARE.get(event.type):
            _collect({bare: event.detail.get("old")}, wanted)
            _collect({bare: event.detail.get("new")}, wanted)
        if (number := member_in(event.actor)) is not None:
            wanted["member"].add(number)
    return read_names(session, org, wanted)


def _collect(detail: Mapping[str, Any], wanted: defaultdict[str, set[int]]) -> None:
    for word, value in detail.items():
        if isinstance(value, Mapping):
            _collect(value, wanted)
        elif word in NAMED:
            numbers = value if isinstance(value, list) else [value]
            wanted[word].update(number for number in numbers if isinstance(number, int))
