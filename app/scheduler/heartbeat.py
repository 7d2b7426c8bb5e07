"""The heartbeat of a scheduler process: that it lives, when it last scanned and delivered, and what stops it.

The row's id is new at each start, so that nobody is taken for a process that died. Liveness is judged by these rows,
not by session locks, which do not live behind a pooler.
"""

from __future__ import annotations

import datetime as dt
import os
import socket
import uuid

from sqlalchemy import text
from sqlalchemy.orm import Session

from app import clock
from app.config import Settings, settings
from app.database import SCHEDULER, transaction
from app.version import VERSION

BEAT_EVERY = 10.0  # Seconds, unless leases are so short that a dead process must be noticed sooner.
BEATS_IN_A_LEASE = 5
MISSED_BEATS = 6  # After so many a process is taken for dead.

BORN = """
insert into scheduler_process (id, kind, host, pid, version, started_at, heartbeat_at)
values (:id, :kind, :host, :pid, :version, :now, :now)"""

BEAT = """
update scheduler_process
set heartbeat_at = :now, scanned_at = case when :scanned then :now else scanned_at end,
    delivered_at = case when :told then :now else delivered_at end,
    sealed_at = case when :sealed then :now else sealed_at end,
    stopped_at = coalesce(stopped_at, case when :stopped then :now end), fault = :fault
where id = :id"""


def beat_every(chosen: Settings) -> float:
    """Seconds between two beats."""
    return min(BEAT_EVERY, chosen.lease / BEATS_IN_A_LEASE)


def silent_after(chosen: Settings) -> dt.timedelta:
    """How old the last heartbeat of a dead process is."""
    return dt.timedelta(seconds=MISSED_BEATS * beat_every(chosen))


class Heartbeat:
    """The one row of this process. Each call is a transaction of its own.

    A `scheduler` watches; a `command` only holds leases, and is no sign that anybody watches.
    """

    def __init__(self, kind: str = "scheduler") -> None:
        self.id = uuid.uuid4()
        self.faults: dict[str, str] = {}  # By tick, as long as it fails.
        with transaction(None, SCHEDULER) as session:
            facts = {"id": self.id, "kind": kind, "host": socket.gethostname(), "pid": os.getpid(), "version": VERSION}
            session.execute(text(BORN), facts | {"now": self._now(session)})

    def beat(self, *, scanned: bool = False, told: bool = False, sealed: bool = False, stopped: bool = False) -> None:
        with transaction(None, SCHEDULER) as session:
            facts = {"scanned": scanned, "told": told, "sealed": sealed, "stopped": stopped}
            fault = "; ".join(sorted(self.faults.values())) or None
            session.execute(text(BEAT), facts | {"id": self.id, "now": self._now(session), "fault": fault})

    def _now(self, session: Session) -> dt.datetime:
        return clock.now(session, settings())
