"""How far the trail of an organisation is sealed: the last checkpoint, and since when something waits for the next."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Text, and_, func, select
from sqlalchemy.orm import Session

from app.models import AuditCheckpoint, AuditEvent, AuditUnsealed
from app.queries.together import Asked, Found, together

UNSEALED_AT_MOST = dt.timedelta(seconds=60)  # A seal is made every five seconds: after a minute something is wrong.
SHORT = 8  # Characters of a root that a person compares at a glance; the note has all of it.


@dataclass(frozen=True)
class SealState:
    """`size` events are sealed under `root`, last at `at`; `waits_since` is the instant of the first that is not."""

    size: int
    root: str
    at: dt.datetime | None
    waits_since: dt.datetime | None

    @property
    def short_root(self) -> str:
        return self.root[:SHORT]

    def waits_for(self, now: dt.datetime) -> int | None:
        """Seconds since the first event that is not sealed yet; None if all are."""
        return None if self.waits_since is None else max(0, int((now - self.waits_since).total_seconds()))

    def is_late(self, now: dt.datetime) -> bool:
        return self.waits_since is not None and now - self.waits_since > UNSEALED_AT_MOST


def is_sealing(sealed_at: Iterable[dt.datetime | None], now: dt.datetime) -> bool:
    """Whether one of the schedulers has sealed all there was within the last minute."""
    return any(at is not None and now - at <= UNSEALED_AT_MOST for at in sealed_at)


def read_seal(session: Session, org: int) -> SealState:
    return seal_of(*together(session, *seal_asked(org)))


def seal_asked(org: int) -> tuple[Asked, Asked]:
    """The selects whose results `seal_of` takes: the last checkpoint, and the first event that no seal covers."""
    last = select(AuditCheckpoint.size, func.encode(AuditCheckpoint.root, "hex", type_=Text), AuditCheckpoint.at)
    same = and_(AuditEvent.org_id == AuditUnsealed.org_id, AuditEvent.id == AuditUnsealed.event_id)
    first = select(AuditEvent.at).select_from(AuditUnsealed).join(AuditEvent, same).where(AuditUnsealed.org_id == org)
    return (
        last.where(AuditCheckpoint.org_id == org).order_by(AuditCheckpoint.size.desc()).limit(1),
        first.order_by(AuditUnsealed.event_id).limit(1),
    )


def seal_of(last: Found, first: Found) -> SealState:
    size, root, at = last.one_or_none() or (0, "", None)
    return SealState(size, root, at, first.scalar_one_or_none())
