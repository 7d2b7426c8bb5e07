"""The child process that makes one report of the trail for a person, and keeps its file.

What is read is read in one transaction, what is written in none, and the end of it is in one of its own: the file, the
counts and the event, or the reason why there is no file. How far it is goes to standard output, two numbers a line.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from app import clock
from app.config import settings
from app.database import WEB, transaction
from app.domain.errors import Refused
from app.operations import export_runs
from app.operations.export_runs import Order
from app.scheduler.exporting import make
from app.scheduler.leash import OUT_OF_MEMORY, bound, hold_leash
from app.trail.act import SCHEDULER as SCHEDULER_ACTOR
from app.trail.act import Act

CPU_SECONDS = 300  # A hundred thousand alerts take some sixty.
MEMORY = 2_000_000_000  # Bytes of address space; the file itself is the largest part of it.


def work(org: int, export_id: int) -> None:
    """Make the report, unless it is over. What is refused is said with it."""
    hold_leash()
    bound(CPU_SECONDS, MEMORY, for_good=False)
    try:
        finish(org, export_id)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)  # Whatever else is done at an end may need memory, too.


def finish(org: int, export_id: int) -> None:
    order = within(org, lambda act: export_runs.read(act, export_id))
    if order is None or order.actor is None:
        return
    try:
        with tempfile.TemporaryDirectory(prefix="onus-export-") as folder:
            made = make(org, order, Path(folder) / "report", tell, keeps=True)
    except Refused as refused:
        fault = str(refused)
        within(org, lambda act: export_runs.fail(act, export_id, fault))
        return
    within(org, lambda act: export_runs.settle(act, order, made), order)


def within(org: int, deed: Callable[[Act], Order | bool | None], order: Order | None = None) -> Order | None:
    """One transaction, as the person who asked where the order is given."""
    actor = order.actor if order is not None and order.actor else SCHEDULER_ACTOR
    with transaction(org, WEB) as session:
        found = deed(Act(session, org, clock.now(session, settings()), actor))
    return found if isinstance(found, Order) else None


def tell(done: int, rows: int) -> None:
    sys.stdout.write(f"{done} {rows}\n")
    sys.stdout.flush()
