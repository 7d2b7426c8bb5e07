"""What one rule said before: the events of the trail that are about it, with the names of whom they name by id."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.domain.recipients import MEMBER
from app.models import AuditEvent, Member, Subject
from app.models.trail import OF_RULES
from app.queries.together import together

MOST = 50  # Events of one rule on its page, the last ones.


@dataclass(frozen=True)
class RuleEvent:
    """One event of the rule. `old` and `new` have the parts that differ, as the trail keeps them."""

    at: dt.datetime
    actor: str
    type: str
    version: int | None
    old: Any
    new: Any


@dataclass(frozen=True)
class Versions:
    """The events, the last one first; people by id as the trail names them, entries by id."""

    events: Sequence[RuleEvent]
    people: Mapping[str, str]
    references: Mapping[int, str]

    def by(self, event: RuleEvent) -> str:
        """The member who did it; empty for an operator."""
        route, _, number = event.actor.partition(":")
        return self.people.get(number, "") if route == "member" else ""


def read_versions(session: Session, org: int, rule_id: int) -> Versions:
    event = AuditEvent
    query = select(event.at, event.actor, event.type, event.detail).where(
        event.org_id == org, event.type.in_(OF_RULES), event.detail["rule_id"].as_string() == str(rule_id)
    )
    rows = session.execute(query.order_by(event.id.desc()).limit(MOST)).all()
    events = [
        RuleEvent(row.at, row.actor, row.type, row.detail.get("version"), row.detail.get("old"), row.detail.get("new"))
        for row in rows
    ]
    people = {number for one in events for number in _people(one)}
    subjects = {number for one in events for side in _sides(one) for number in side.get("subjects") or ()}
    names = select(Member.id, Member.name).where(Member.org_id == org, Member.id.in_(people))
    references = select(Subject.id, Subject.reference).where(Subject.org_id == org, Subject.id.in_(subjects))
    people_named, entries = together(session, names, references)
    return Versions(events, {str(row[0]): row[1] for row in people_named}, {row[0]: row[1] for row in entries})


def _sides(event: RuleEvent) -> list[Mapping[str, Any]]:
    return [side for side in (event.old, event.new) if isinstance(side, Mapping)]


def _people(event: RuleEvent) -> Iterator[int]:
    """The members whom the event names: who did it, and whom the rule tells."""
    named = [event.actor]
    for side in _sides(event):
        named += [*(side.get("recipients") or ()), side.get("fallback") or ""]
    for text in named:
        route, _, number = text.partition(":")
        if route == MEMBER and number.isdecimal():
            yield int(number)
