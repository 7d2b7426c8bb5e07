"""Inspectors: the kinds that they are limited to, and what they looked at, read from the trail."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.models import AuditEvent, MemberKind

LOOKED = "looked"
SHOWN = 50  # The last looks on the page of a person; the trail has them all.


@dataclass(frozen=True)
class Look:
    """A page that the person was shown. `address` is what follows the organisation's, with the query."""

    at: dt.datetime
    address: str


def kind_ids(session: Session, org: int, member_id: int) -> Sequence[int]:
    """The kinds that the inspector is limited to; none: all."""
    own = select(MemberKind.kind_id).where(MemberKind.org_id == org, MemberKind.member_id == member_id)
    return session.scalars(own.order_by(MemberKind.kind_id)).all()


def looks(session: Session, org: int, member_id: int, since: dt.datetime) -> list[Look]:
    """What the inspector looked at since then, the last first, at most SHOWN; read over the trail's index by time."""
    query = (
        select(AuditEvent.at, AuditEvent.detail["address"].as_string())
        .where(AuditEvent.org_id == org, AuditEvent.at >= since, AuditEvent.type == LOOKED)
        .where(AuditEvent.actor == f"member:{member_id}")
        .order_by(AuditEvent.at.desc(), AuditEvent.id.desc())
        .limit(SHOWN)
    )
    return [Look(at, address) for at, address in session.execute(query)]
