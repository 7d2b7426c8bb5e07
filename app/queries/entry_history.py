"""What happened to one entry, from the trail, with the names of whom and what the events name by id."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.models import AlertRule, AuditEvent, Base, Kind, Member, Obligation, Post, Site
from app.queries.personal import read_personal

EVENTS_AT_ONCE = 50

# Under which words the details of events name a row, and of which table. What `old` and `new` alone mean is said below.
NAMED: Mapping[str, type[Base]] = {
    "member": Member,
    "member_id": Member,
    "recipient": Member,
    "owner_member_id": Member,
    "holder_id": Member,
    "whose_member_id": Member,
    "whose_post_id": Post,
    "post_id": Post,
    "owner_post_id": Post,
    "site": Site,
    "site_id": Site,
    "kind_id": Kind,
    "rule": AlertRule,
    "obligation_id": Obligation,
}
BARE: Mapping[str, str] = {"holder_assigned": "holder_id", "subject_moved": "site_id"}
TEXT_OF: Mapping[type[Base], Any] = {
    Member: Member.name,
    Post: Post.name,
    Site: Site.name,
    Kind: Kind.name,
    AlertRule: AlertRule.name,
    Obligation: Obligation.due_on,
}


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
class Names:
    """The name of a row by the word under which a detail names it, and its id."""

    known: Mapping[type[Base], Mapping[int, str]] = field(default_factory=dict)

    def of(self, word: str, number: object) -> str | None:
        """The name; None where the detail names nothing."""
        if not isinstance(number, int):
            return None
        return self.known.get(NAMED[word], {}).get(number, f"number {number}")

    def of_actor(self, actor: str) -> str:
        """The name of the member who did it; the empty text for Onus itself and its operator."""
        route, _, number = actor.partition(":")
        return (self.of("member", int(number)) or "") if route == "member" and number.isdecimal() else ""


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
    rows = session.execute(query).all()
    known = read_personal(session, org, [row.id for row in rows])
    found = [replace(Event(*row), detail=known.in_words(row.id, row.detail)) for row in rows]
    shown = found[:EVENTS_AT_ONCE]
    return History(shown, names_of(session, org, shown), shown[-1].id if len(found) > EVENTS_AT_ONCE else None)


def names_of(session: Session, org: int, events: Sequence[Event]) -> Names:
    """One look for each table, however many events there are."""
    wanted: dict[type[Base], set[int]] = {table: set() for table in TEXT_OF}
    for event in events:
        _collect(event.detail, wanted)
        if bare := BARE.get(event.type):
            _collect({bare: event.detail.get("old")}, wanted)
            _collect({bare: event.detail.get("new")}, wanted)
        route, _, number = event.actor.partition(":")
        if route == "member" and number.isdecimal():
            wanted[Member].add(int(number))
    return Names({table: _look_up(session, org, table, ids) for table, ids in wanted.items() if ids})


def _collect(detail: Mapping[str, Any], wanted: dict[type[Base], set[int]]) -> None:
    for word, value in detail.items():
        if isinstance(value, Mapping):
            _collect(value, wanted)
        elif word in NAMED and isinstance(value, int):
            wanted[NAMED[word]].add(value)


def _look_up(session: Session, org: int, table: Any, ids: Collection[int]) -> dict[int, str]:
    query = select(table.id, TEXT_OF[table]).where(table.org_id == org, table.id.in_(ids))
    return {number: str(text) for number, text in session.execute(query)}
