"""The overview of the evidence: how much there is of each list that somebody must look at."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.domain.delivery import State
from app.queries.alerts import unaddressed_asked, undelivered_asked
from app.queries.held import all_held
from app.queries.messages import count_stuck
from app.queries.off_watch import taken_off_asked
from app.queries.queues import Queue, count_queue
from app.queries.scans import read_silences
from app.queries.seal import SealState, seal_asked, seal_of
from app.queries.sight import Sight
from app.queries.together import together


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
    asked = (
        undelivered_asked(sight), unaddressed_asked(sight), taken_off_asked(sight, since, until), all_held(sight.org),
        *seal_asked(sight.org),
    )  # fmt: skip
    undelivered, unaddressed, taken_off, held, *sealed = together(session, *asked)
    return Overview(
        undelivered=undelivered.scalar_one(),
        unaddressed=unaddressed.scalar_one(),
        stuck=count_stuck(session, sight),
        held=held.scalar_one(),
        silent=count_queue(session, sight, Queue.silent),
        gaps=len(read_silences(session, sight, since)),
        taken_off=taken_off.scalar_one(),
        seal=seal_of(*sealed),
    )
