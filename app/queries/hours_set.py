"""Who has set when e-mail goes to a person, where somebody else did: read from the trail."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.models import AuditEvent, Member

SETTING = ("mail_hours_changed", "email_alerts_changed")
LOOKED_FOR = dt.timedelta(days=90)  # How far back the trail is read; what is older is known by now.


@dataclass(frozen=True)
class SetBy:
    """The last change. `name` is None for an operator, who did it by a command."""

    at: dt.datetime
    name: str | None


def set_by_another(session: Session, org: int, member_id: int, now: dt.datetime) -> SetBy | None:
    """Of the last 90 days, over the trail's index by time; None where the person set it, or nobody did."""
    event, of_member = AuditEvent, AuditEvent.detail["member_id"].as_integer()
    query = (
        select(event.at, event.actor)
        .where(event.org_id == org, event.at >= now - LOOKED_FOR, event.type.in_(SETTING), of_member == member_id)
        .order_by(event.at.desc(), event.id.desc())
        .limit(1)
    )
    last = session.execute(query).one_or_none()
    route, _, number = last.actor.partition(":") if last else ("", "", "")
    if last is None or number == str(member_id):
        return None
    known = select(Member.name).where(Member.org_id == org, Member.id == int(number)) if route == "member" else None
    return SetBy(last.at, session.scalars(known).one_or_none() if known is not None else None)
