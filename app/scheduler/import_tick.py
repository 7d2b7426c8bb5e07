"""One tick of the work on large files: a wish of each organisation, in a child process that is watched to its end.

The child says how far it is, and we say so in the wish, in short transactions of our own: the child's ends only with
the work. Whatever ends it, nothing of it stays but whole, and the wish says why.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import TypeVar

import structlog

from app import clock
from app.database import WEB
from app.imports.limits import CHILD_CPU_SECONDS, CHILD_MEMORY, CHILD_WALL_SECONDS
from app.operations import export_runs, uploads, wishes
from app.operations.wishes import Wish
from app.scheduler.child import Child
from app.scheduler.leash import OUT_OF_MEMORY
from app.scheduler.rounds import in_transaction, organisations, refuse_lost_database
from app.trail.act import SCHEDULER as SCHEDULER_ACTOR
from app.trail.act import Act

log = structlog.get_logger()

LOOK_EVERY = 0.1  # Seconds between two looks at the child: so long at most its end goes unnoticed.
ENDS_WITHIN = 1.0  # Seconds that a child whose wish is over may take to end by itself.
BEAT_EVERY = 1.0  # Seconds between two signs of life, with how far it is.
REST = 9  # Times as long as all organisations took to be asked: looking for wishes costs a tenth of a core at most.

OF_MEMORY = f"The file needs more than {CHILD_MEMORY // 1_000_000:,} MB of memory: split it."
OF_CPU = f"The file takes more than {CHILD_CPU_SECONDS} seconds of computing: split it."
OF_TIME = f"The file was not done after {CHILD_WALL_SECONDS / 60:.0f} minutes: try again later, or split it."
KILLED = "What worked on the file was ended from outside, perhaps for want of memory. Nothing was changed: try again."
FAILED = "The work on the file failed, and the log of the scheduler says why. Nothing was changed: try again."

Result = TypeVar("Result")


class Imports:
    """The work on large files of one scheduler process, one after the other."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.rests_until = 0.0

    def tick(self, only: int | None = None) -> int:
        """Do what is wished, at most one wish of each organisation; how many were taken."""
        began = clock.monotonic()
        if began < self.rests_until:
            return 0
        taken = {}
        for org, _ in organisations(only):
            if self.stop.is_set():
                break
            if (wish := for_pages(org, wishes.take)) is not None:
                taken[org] = wish
                self.serve(org, wish)
        if not taken:
            self.rests_until = clock.monotonic() + REST * (clock.monotonic() - began)
        return len(taken)

    def serve(self, org: int, wish: Wish) -> None:
        """One organisation's fault stops none of the others."""
        try:
            with Child("import-work", str(org), str(wish.upload_id), wish.asked_at.isoformat()) as child:
                fate = self.follow(org, wish, child)
            log.info("import_worked", org=org, upload=wish.upload_id, wish=wish.wish, fate=fate or "done")
        except Exception as fault:
            refuse_lost_database(fault)
            log.exception("import_failed", org=org, upload=wish.upload_id)

    def follow(self, org: int, wish: Wish, child: Child) -> str | None:
        """Watch the child to its end, or end it; in words how, if not well.

        1. Asked to stop, we leave the wish to the next who comes. 2. A wish that is no longer ours is left alone.
        3. What ended the child is said in the wish.
        """
        began = beaten = clock.monotonic()
        while not child.has_ended():
            if self.stop.wait(LOOK_EVERY):
                child.kill()
                return give_back(org, wish)
            moment = clock.monotonic()
            if moment - began > CHILD_WALL_SECONDS:
                return fail(org, wish, OF_TIME)
            if moment - beaten > BEAT_EVERY:
                beaten, ours = moment, beat(org, wish, child)
                if ours is None:
                    return self.let_end(child)
                wish = ours
        return None if child.code == 0 else fail(org, wish, fault_of(child.code))

    def let_end(self, child: Child) -> str | None:
        """Let a child end that has done its work; in words if it works on what nobody wishes any more."""
        until = clock.monotonic() + ENDS_WITHIN
        while clock.monotonic() < until and not self.stop.wait(LOOK_EVERY):
            if child.has_ended():
                return None if child.code == 0 else fault_of(child.code)
        return "no longer wished"


def for_pages(org: int, deed: Callable[[Act], Result]) -> Result:
    """What the pages' own role may do: wishes are theirs."""
    return in_transaction(org, SCHEDULER_ACTOR, deed, role=WEB)


def beat(org: int, wish: Wish, child: Child) -> Wish | None:
    done, total = child.far
    return for_pages(org, lambda act: wishes.beat(act, wish, done, total))


def give_back(org: int, wish: Wish) -> str:
    for_pages(org, lambda act: wishes.give_back(act, wish))
    return "given back"


def fail(org: int, wish: Wish, fault: str) -> str:
    key = (wish.upload_id, wish.asked_at, fault, wish.beat_at)
    for_pages(org, lambda act: wishes.fail_if_wished(act, *key))
    return fault


def fault_of(code: int) -> str:
    """Why a child came to no end, in words."""
    if code == OUT_OF_MEMORY:
        return OF_MEMORY
    if code == -signal.SIGXCPU:
        return OF_CPU
    return KILLED if code < 0 else FAILED


def tidy() -> None:
    """Let go what was kept for a time only: files that nobody brought in, lines that nobody has mended, reports."""
    for org, _ in organisations(None):
        for_pages(org, uploads.let_old_go)
        for_pages(org, export_runs.let_old_go)
