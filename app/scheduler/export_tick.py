"""One tick of the reports of the trail: one of each organisation, in a child process that is watched to its end.

The child says how far it is, and we say so on the report, in short transactions of our own.
"""

from __future__ import annotations

import signal
import threading

import structlog

from app import clock
from app.operations import export_runs
from app.operations.export_runs import Taken
from app.scheduler.child import Child
from app.scheduler.import_tick import BEAT_EVERY, ENDS_WITHIN, LOOK_EVERY, REST, for_pages
from app.scheduler.leash import OUT_OF_MEMORY
from app.scheduler.rounds import organisations, refuse_lost_database
from app.wording import later

log = structlog.get_logger()

WALL_SECONDS = 1800.0  # On a busy host CPU seconds take longer.
TOO_LONG = later("The report was not done in time: narrow the period or the site, and ask for it again.")
TOO_MUCH = later("The report needs more memory than it may have: narrow the period or the site, or take CSV.")
KILLED = later("What made the report was ended from outside, perhaps for want of memory: ask for it again.")
FAILED = later("The report could not be made, and the log of the scheduler says why: ask for it again.")


class Exports:
    """The reports of one scheduler process, one after the other."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.rests_until = 0.0

    def tick(self, only: int | None = None) -> int:
        """Make what was asked for, at most one report of each organisation; how many were taken."""
        began, taken = clock.monotonic(), 0
        if began < self.rests_until:
            return 0
        for org, _ in organisations(only):
            if self.stop.is_set():
                break
            if (one := for_pages(org, export_runs.take)) is not None:
                taken += 1
                self.serve(org, one)
        if not taken:
            self.rests_until = clock.monotonic() + REST * (clock.monotonic() - began)
        return taken

    def serve(self, org: int, taken: Taken) -> None:
        """One organisation's fault stops none of the others."""
        try:
            with Child("export-work", str(org), str(taken.id)) as child:
                fate = self.follow(org, taken, child)
            log.info("export_worked", org=org, export=taken.id, fate=fate or "done")
        except Exception as fault:
            refuse_lost_database(fault)
            log.exception("export_failed", org=org, export=taken.id)

    def follow(self, org: int, taken: Taken, child: Child) -> str | None:
        """Watch the child to its end, or end it; in words how, if not well.

        1. Asked to stop, we leave the report to the next who comes. 2. One that is over, or another's, is let go.
        3. What ended the child is said on the report.
        """
        began = beaten = clock.monotonic()
        while not child.has_ended():
            if self.stop.wait(LOOK_EVERY):
                child.kill()
                return give_back(org, taken)
            moment = clock.monotonic()
            if moment - began > WALL_SECONDS:
                return fail(org, taken, TOO_LONG)
            if moment - beaten > BEAT_EVERY:
                beaten, ours = moment, beat(org, taken, child)
                if ours is None:
                    return self.let_end(child)
                taken = ours
        return None if child.code == 0 else fail(org, taken, fault_of(child.code))

    def let_end(self, child: Child) -> str | None:
        """Let a child end that has done its work; in words if it makes what is another's by now."""
        until = clock.monotonic() + ENDS_WITHIN
        while clock.monotonic() < until and not self.stop.wait(LOOK_EVERY):
            if child.has_ended():
                return None if child.code == 0 else fault_of(child.code)
        return "no longer ours"


def give_back(org: int, taken: Taken) -> str:
    for_pages(org, lambda act: export_runs.give_back(act, taken))
    return "given back"


def beat(org: int, taken: Taken, child: Child) -> Taken | None:
    return for_pages(org, lambda act: export_runs.beat(act, taken, *child.far))


def fail(org: int, taken: Taken, fault: str) -> str:
    for_pages(org, lambda act: export_runs.fail(act, taken.id, fault, taken.beat_at))
    return fault


def fault_of(code: int) -> str:
    """Why a child came to no end, in words."""
    if code == OUT_OF_MEMORY:
        return TOO_MUCH
    if code == -signal.SIGXCPU:
        return TOO_LONG
    return KILLED if code < 0 else FAILED
