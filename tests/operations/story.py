"""What an act has left behind: its trail and its queue rows, for tests that read like a story."""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy import select

from app.models import AuditEvent, AuditUnsealed, ScanQueue
from app.trail.act import Act


def march(day: int) -> dt.date:
    """A day of March 2027; the tests' own day is the first."""
    return dt.date(2027, 3, day)


class Since:
    """What an act leaves from here on; each reading begins anew."""

    def __init__(self, act: Act) -> None:
        self.act = act
        self.event_id = self.queue_n = 0
        self.read()

    def read(self) -> tuple[list[AuditEvent], list[ScanQueue]]:
        session = self.act.session
        session.flush()
        events = session.scalars(select(AuditEvent).where(AuditEvent.id > self.event_id).order_by(AuditEvent.id)).all()
        rows = session.scalars(select(ScanQueue).where(ScanQueue.n > self.queue_n).order_by(ScanQueue.n)).all()
        unsealed = set(session.scalars(select(AuditUnsealed.event_id)))
        assert {event.id for event in events} <= unsealed
        self.event_id = max([self.event_id, *(event.id for event in events)])
        self.queue_n = max([self.queue_n, *(row.n for row in rows)])
        return list(events), list(rows)

    def events(self) -> list[str]:
        return [event.type for event in self.read()[0]]

    def event(self) -> tuple[str, dict[str, Any]]:
        """The one event."""
        [event] = self.read()[0]
        return event.type, event.detail

    def both(self) -> tuple[list[str], list[tuple[int | None, dt.date | None]]]:
        """The types of the events, and subject and wake_on of the queue rows."""
        events, rows = self.read()
        return [event.type for event in events], [(row.subject_id, row.wake_on) for row in rows]
