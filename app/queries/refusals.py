"""Whether a refusal is in the trail already: the same one counts once a minute, so that nobody can fill the trail."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.models import AuditEvent

AT_MOST_EVERY = dt.timedelta(minutes=1)
ACCESS, SIGN_IN = "access_refused", "sign_in_refused"


def is_noted(session: Session, org: int, now: dt.datetime, actor: str, type: str, what: Mapping[str, Any]) -> bool:
    """Whether the trail says so of this actor within the last minute; `what` is in the detail of that event."""
    event = AuditEvent
    query = select(event.id).where(event.org_id == org, event.at > now - AT_MOST_EVERY, event.at <= now)
    query = query.where(event.actor == actor, event.type == type, event.detail.contains(dict(what)))
    return session.execute(query.limit(1)).one_or_none() is not None
