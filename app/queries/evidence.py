"""The overview of the evidence: how much there is of each list that somebody must look at."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.domain.delivery import State
from app.queries.alerts import count_unaddressed, count_undelivered
from app.queries.held import count_held
from app.queries.messages import count_stuck
from app.queries.off_watch import count_taken_off
from app.queries.queues import Queue, count_queue
from app.queries.scans import read_silences
from app.queries.seal import SealState, read_seal
from app.queries.sight import Sight


@dataclass(frozen=True)
class Overview:
    """Counts of now, and for gaps and what was taken off the watch of the period."""

    undelivered: int
    unaddressed: int
    stuck: dict[State, int]
    held: int
    silent: int
    gaps: int
    taken_off: int
    seal: SealState

    @property
    def doubts(self) -> int:
        return self.stuck.get(State.in_doubt, 0)

    @property
    def returned(self) -> dict[State, int]:
        """Refused and come back."""
        return {state: count for state, count in self.stuck.items() if state is not State.in_doubt}


def read_overview(session: Session, sight: Sight, since: dt.datetime, until: dt.datetime) -> Overview:
    """The counts of the sites that are seen."""
    return Overview(
        undelivered=count_undelivered(session, sight),
        unaddressed=count_unaddressed(session, sight),
        stuck=count_stuck(session, sight),
        held=count_held(session, sight.org),
        silent=count_queue(session, sight, Queue.silent),
        gaps=len(read_silences(session, sight, since)),
        taken_off=count_taken_off(session, sight, since, until),
        seal=read_seal(session, sight.org),
    )
