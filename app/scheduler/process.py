"""`onus scheduler`: the loop of the watch, in a process of its own. The only file that knows APScheduler.

Memory job store, short intervals, and no misfire: the database decides what is due, so a late tick is as good as one in
time (law of level, not edge). Any number of these processes may run at once. SIGTERM drains: what runs may end.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType

import structlog
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from flask import Flask

from app import clock
from app.config import settings
from app.database import SCHEDULER, Unreachable, transaction
from app.preflight import refuse_unsound
from app.scheduler.heartbeat import BEAT_EVERY, Heartbeat
from app.scheduler.ticks import deliver_tick, scan_tick

log = structlog.get_logger()

DRAIN_WITHIN = 4.0  # Seconds that a running tick may take to end; cut off, its transaction leaves nothing behind.
SAY_SO_WITHIN = 1.5  # Seconds for the last heartbeat, which a lock or a lost database may hold up; `onus up` has 6.


def run(app: Flask) -> int:
    """Watch until SIGTERM or SIGINT. Raises Unsound if the database must not be worked on."""
    stop = threading.Event()

    def ask_to_stop(number: int, frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, ask_to_stop)
    with app.app_context():
        with transaction(None, SCHEDULER) as session:
            refuse_unsound(session)
        heartbeat = Heartbeat()
        scheduler = planned(app, heartbeat)
    scheduler.start()
    log.info("scheduler_started", process=str(heartbeat.id))
    while not stop.wait(1.0):
        pass
    log.info("scheduler_stopping")
    if not drain(app, scheduler, heartbeat):
        # The interpreter would join the threads of the pool, for ever if need be: end without it.
        atexit._run_exitfuncs()
        os._exit(0)
    return 0


def planned(app: Flask, heartbeat: Heartbeat) -> BackgroundScheduler:
    """Scan, deliver and beat, each at once and then at its interval, never two of a kind at a time."""
    scheduler = BackgroundScheduler(
        executors={"default": ThreadPoolExecutor(3)},
        job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        timezone="UTC",
    )
    ticks: tuple[tuple[Callable[[Heartbeat], None], float], ...] = (
        (scan_once, settings().scan_every),
        (deliver_once, settings().deliver_every),
        (beat_once, BEAT_EVERY),
    )
    for tick, every in ticks:
        scheduler.add_job(
            contained,
            "interval",
            (app, tick, heartbeat),
            id=tick.__name__,
            seconds=every,
            next_run_time=clock.host_now(),
        )
    return scheduler


def contained(app: Flask, tick: Callable[[Heartbeat], None], heartbeat: Heartbeat) -> None:
    """No fault of a tick may end the loop; it is logged, and shown by the heartbeat until the tick succeeds again."""
    try:
        with app.app_context():
            tick(heartbeat)
    except Unreachable as lost:
        log.warning("database_lost", tick=tick.__name__, message=str(lost))
    except Exception as fault:
        heartbeat.faults[tick.__name__] = f"{tick.__name__}: {type(fault).__name__}"
        log.exception("tick_failed", tick=tick.__name__)


def scan_once(heartbeat: Heartbeat) -> None:
    started = clock.monotonic()
    done = scan_tick()
    heartbeat.faults.pop(scan_once.__name__, None)
    heartbeat.beat(scanned=True)
    log.info("scanned", **done.counts, errors=len(done.errors), seconds=round(clock.monotonic() - started, 3))


def deliver_once(heartbeat: Heartbeat) -> None:
    done, errors = deliver_tick()
    heartbeat.faults.pop(deliver_once.__name__, None)
    heartbeat.beat(told=True)
    if done.delivered or done.cancelled or errors:
        log.info("delivery_ticked", **vars(done), errors=len(errors))


def beat_once(heartbeat: Heartbeat) -> None:
    heartbeat.faults.pop(beat_once.__name__, None)
    heartbeat.beat()


def drain(app: Flask, scheduler: BackgroundScheduler, heartbeat: Heartbeat) -> bool:
    """Let what runs end, then say that this process has stopped, each within a limit. False if something still runs."""
    drained = ends_within(DRAIN_WITHIN, lambda: scheduler.shutdown(wait=True))
    said = ends_within(SAY_SO_WITHIN, lambda: contained(app, last_beat, heartbeat))
    log.info("scheduler_stopped", drained=drained)
    return drained and said


def last_beat(heartbeat: Heartbeat) -> None:
    heartbeat.beat(stopped=True)


def ends_within(seconds: float, deed: Callable[[], None]) -> bool:
    thread = threading.Thread(target=deed, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()
