"""`onus scheduler`: the loop of the watch, in a process of its own. The only file that knows APScheduler.

Memory job store, short intervals, and no misfire: the database decides what is due, so a late tick is as good as one in
time (law of level, not edge). Any number of these processes may run at once. SIGTERM drains: what runs may end.
"""

from __future__ import annotations

import atexit
import functools
import logging
import os
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType

import structlog
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from flask import Flask

from app import clock
from app.channels.channel import open_channel
from app.channels.ping import ping
from app.config import settings
from app.database import SCHEDULER, Unreachable, transaction
from app.ledger.sweep import leave
from app.preflight import refuse_unsound
from app.scheduler.export_tick import Exports
from app.scheduler.heartbeat import Heartbeat, beat_every
from app.scheduler.import_tick import Imports, tidy
from app.scheduler.mail_tick import mail_tick
from app.scheduler.rounds import in_transaction, organisations
from app.scheduler.seal_tick import ask_for_mails, seal_tick
from app.scheduler.sender import Sender
from app.scheduler.ticks import deliver_tick, scan_tick
from app.trail.act import SCHEDULER as SCHEDULER_ACTOR

log = structlog.get_logger()

DRAIN_WITHIN = 3.0  # Seconds that a running tick may take to end; cut off, its transaction leaves nothing behind.
IMPORT_EVERY = 1.0  # Seconds: a person waits before a page for it.
SEAL_EVERY = 5.0  # Seconds at most: what happened stands unsealed no longer than that.
CHECKPOINTS_EVERY = 600.0  # Seconds: what is mailed once a day need not be of its first minute.
TIDY_EVERY = 3600.0  # Seconds: what is kept for days may go an hour late.
SAY_SO_WITHIN = 2.0  # Seconds for the last words, which a lock or a lost database may hold up; `onus up` has 6.


@dataclass(frozen=True)
class Tick:
    """Something done at once and then every so many seconds, never twice at a time."""

    name: str
    every: float
    deed: Callable[[], None]


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
        senders, imports, exports = open_senders(heartbeat), Imports(), Exports()
        scheduler = planned(app, heartbeat, ticks_of(heartbeat, senders, imports, exports))
    scheduler.start()
    log.info("scheduler_started", process=str(heartbeat.id))
    while not stop.wait(1.0):
        pass
    log.info("scheduler_stopping")
    imports.stop.set()
    exports.stop.set()
    if not drain(app, scheduler, heartbeat, senders):
        # The interpreter would join the threads of the pool, for ever if need be: end without it.
        atexit._run_exitfuncs()
        os._exit(0)
    return 0


def open_senders(heartbeat: Heartbeat) -> list[Sender]:
    """One sender for each line to the mail server; none where there is no mail server."""
    lines = max(1, settings().smtp_connections)  # A half is no reason to send nothing, and to say nothing about it.
    channels = [open_channel(settings()) for _ in range(lines)]
    return [Sender(settings(), channel, heartbeat.id) for channel in channels if channel is not None]


def ticks_of(heartbeat: Heartbeat, senders: Sequence[Sender], imports: Imports, exports: Exports) -> list[Tick]:
    named: list[tuple[str, float, Callable[[Heartbeat], None]]] = [
        ("scan_once", settings().scan_every, scan_once),
        ("deliver_once", settings().deliver_every, deliver_once),
        ("beat_once", beat_every(settings()), beat_once),
    ]
    ticks = [Tick(name, every, functools.partial(deed, heartbeat)) for name, every, deed in named]
    ticks += [Tick("import_once", IMPORT_EVERY, import_once(imports)), Tick("tidy_once", TIDY_EVERY, tidy)]
    sealing = functools.partial(seal_once, heartbeat)
    ticks.append(Tick("seal_once", min(SEAL_EVERY, settings().deliver_every), sealing))
    ticks.append(Tick("checkpoints_once", CHECKPOINTS_EVERY, checkpoints_once))
    ticks.append(Tick("export_once", IMPORT_EVERY, export_once(exports)))
    mail = [functools.partial(mail_once, heartbeat, sender) for sender in senders]
    return ticks + [Tick(f"mail_once_{n}", settings().deliver_every, deed) for n, deed in enumerate(mail, 1)]


def planned(app: Flask, heartbeat: Heartbeat, ticks: Sequence[Tick]) -> BackgroundScheduler:
    """Every tick at once and then at its interval, each with a thread of its own."""
    logging.getLogger("apscheduler").setLevel(logging.ERROR)  # A tick that is still at work is no complaint.
    scheduler = BackgroundScheduler(
        executors={"default": ThreadPoolExecutor(len(ticks))},
        job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        timezone="UTC",
    )
    for tick in ticks:
        scheduler.add_job(
            contained,
            "interval",
            (app, tick, heartbeat),
            id=tick.name,
            seconds=tick.every,
            next_run_time=clock.host_now(),
        )
    return scheduler


def contained(app: Flask, tick: Tick, heartbeat: Heartbeat) -> None:
    """No fault of a tick may end the loop; it is logged, and shown by the heartbeat until the tick succeeds again."""
    try:
        with app.app_context():
            tick.deed()
        heartbeat.faults.pop(tick.name, None)
    except Unreachable as lost:
        log.warning("database_lost", tick=tick.name, message=str(lost))
    except Exception as fault:
        heartbeat.faults[tick.name] = f"{tick.name}: {type(fault).__name__}"
        log.exception("tick_failed", tick=tick.name)


def scan_once(heartbeat: Heartbeat) -> None:
    started = clock.monotonic()
    done = scan_tick()
    heartbeat.beat(scanned=True)
    log.info("scanned", **done.counts, errors=len(done.errors), seconds=round(clock.monotonic() - started, 3))
    if not done.errors:
        ping_outside()


def ping_outside() -> None:
    """Tell the dead man's switch outside that the watch is alive. It only matters when this no longer happens."""
    url = settings().ping_url
    if url is not None and (fault := ping(url)) is not None:
        log.warning("ping_failed", reason=fault)


def deliver_once(heartbeat: Heartbeat) -> None:
    done, errors = deliver_tick()
    heartbeat.beat(told=True)
    if done.delivered or done.cancelled or errors:
        log.info("delivery_ticked", **vars(done), errors=len(errors))


def mail_once(heartbeat: Heartbeat, sender: Sender) -> None:
    done, errors = mail_tick(sender)
    if any(vars(done).values()) or errors:
        log.info("mail_ticked", **vars(done), errors=len(errors))


def import_once(imports: Imports) -> Callable[[], None]:
    def deed() -> None:
        imports.tick()

    return deed


def seal_once(heartbeat: Heartbeat) -> None:
    done = seal_tick()
    heartbeat.beat(sealed=not done.errors)
    if done.sealed or done.errors:
        log.info("sealed", events=done.sealed, errors=len(done.errors))


def checkpoints_once() -> None:
    if asked := ask_for_mails():
        log.info("checkpoints_asked", mails=asked)


def export_once(exports: Exports) -> Callable[[], None]:
    def deed() -> None:
        exports.tick()

    return deed


def beat_once(heartbeat: Heartbeat) -> None:
    heartbeat.beat()


def drain(app: Flask, scheduler: BackgroundScheduler, heartbeat: Heartbeat, senders: Sequence[Sender]) -> bool:
    """Let what runs end, then say what is left, each within a limit. False if something still runs.

    A hand-over whose answer has not come is written as in doubt: nobody waits for a mail server, and nobody forgets.
    """
    for sender in senders:
        sender.stop.set()
    drained = ends_within(DRAIN_WITHIN, lambda: scheduler.shutdown(wait=True))
    last = Tick("last_words", 0.0, functools.partial(last_words, heartbeat, drained=drained, mails=bool(senders)))
    said = ends_within(SAY_SO_WITHIN, lambda: contained(app, last, heartbeat))
    for sender in senders:
        sender.channel.drop()
    log.info("scheduler_stopped", drained=drained)
    return drained and said


def last_words(heartbeat: Heartbeat, *, drained: bool, mails: bool) -> None:
    if mails and not drained:
        for org, _ in organisations(None):
            in_transaction(org, SCHEDULER_ACTOR, lambda act: leave(act, heartbeat.id))
    heartbeat.beat(stopped=True)


def ends_within(seconds: float, deed: Callable[[], None]) -> bool:
    thread = threading.Thread(target=deed, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()
