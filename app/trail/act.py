"""An act: who does something for which organisation, in which transaction, at which instant.

Every function that writes takes one, and writes its trail with it, in the same transaction (law 7). It never commits.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.models import AuditEvent, AuditPersonal, AuditUnsealed
from app.trail.personal import veiled

SCHEDULER = "system:scheduler"
OPERATOR = "system:operator"
STRANGER = "system:stranger"  # Somebody who has not signed in, and whom nobody knows.


@dataclass(frozen=True)
class Act:
    """`now` is an aware instant in UTC; `actor` is `member:ID`, or one of Onus itself, above.

    `origin` stands in the detail of each event that is recorded: what the act is a part of.
    """

    session: Session
    org: int
    now: dt.datetime
    actor: str = OPERATOR
    origin: Mapping[str, Any] = field(default_factory=dict)

    @property
    def member_id(self) -> int | None:
        """The member who acts; None for Onus itself, and for an operator."""
        route, _, number = self.actor.partition(":")
        return int(number) if route == "member" else None

    def record(
        self,
        type: str,
        *,
        subject_id: int | None = None,
        claim_id: int | None = None,
        delivery_id: int | None = None,
        personal: Mapping[str, str] | None = None,
        about: int | None = None,
        **detail: Any,
    ) -> None:
        """Append one event. `detail` holds what JSON can hold; dates go in as ISO text; people by id, never by name.

        `personal` are words of a person, or about one: the event holds a hash in place of each, and the value goes when
        the member that it is `about` is erased.
        """
        hidden = veiled(personal or {})
        detail = dict(personal or {}) | detail | {one.name: one.stand_in for one in hidden}
        event = AuditEvent(
            org_id=self.org,
            at=self.now,
            actor=self.actor,
            type=type,
            subject_id=subject_id,
            claim_id=claim_id,
            delivery_id=delivery_id,
            detail={**detail, **self.origin},
        )
        self.session.add(event)
        self.session.flush()
        self.session.add(AuditUnsealed(org_id=self.org, event_id=event.id))
        key = {"org_id": self.org, "event_id": event.id, "member_id": about}
        self.session.add_all(AuditPersonal(**key, name=one.name, salt=one.salt, value=one.value) for one in hidden)

    def run(self, sql: str, facts: Mapping[str, Any] | None = None) -> Any:
        """Execute one statement of the ledger. `:org`, `:now` and `:actor` are given."""
        return self.session.execute(text(sql), {"org": self.org, "now": self.now, "actor": self.actor, **(facts or {})})

    def by(self, actor: str) -> Act:
        return replace(self, actor=actor)

    def as_part_of(self, **origin: Any) -> Act:
        return replace(self, origin=origin)


def member_actor(member_id: int) -> str:
    return f"member:{member_id}"
