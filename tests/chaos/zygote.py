"""The zygote: it imports Onus, then waits for orders and forks. What it forks is a scheduler on its own.

It reads one order a line and answers each with a number. It opens no connection and starts no thread, so that there is
nothing a fork could share. When its orders end, it ends with all that it has started.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

import structlog
from flask import Flask

from app import create_app, failpoints
from app.channels.channel import open_channel
from app.channels.composing import prepare
from app.config import Settings, settings
from app.database import LOST
from app.scheduler import process
from app.scheduler.heartbeat import Heartbeat, beat_every
from app.scheduler.mail_tick import mail_tick
from app.scheduler.sender import Sender
from app.scheduler.ticks import deliver_tick, scan_tick
from tests.chaos import mutants
from tests.chaos.workers import Order

log = structlog.get_logger()


class Once(dict[str, failpoints.Armed]):
    """Points that are armed until they are reached."""

    def get(self, name: str, default: Any = None) -> Any:
        return self.pop(name, default)


def main() -> None:
    prepare()
    gc.freeze()  # What is here already is shared by all forks, and looked through by none.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # No fork is lost before it can obey.
    children: set[int] = set()
    for line in sys.stdin:
        asked = json.loads(line)
        answer = 0
        if asked["deed"] == "fork":
            answer = os.fork()
            if answer == 0:
                begin(Order(**asked["order"]))
            children.add(answer)
        elif asked["deed"] == "bury":
            answer = os.waitstatus_to_exitcode(os.waitpid(asked["pid"], 0)[1])
            children.discard(asked["pid"])
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


def begin(order: Order) -> None:
    """Never returns."""
    code = 1
    try:
        said = os.open(Path(order.folder) / "said", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for stream, target in ((0, os.open(os.devnull, os.O_RDONLY)), (1, said), (2, said)):
            os.dup2(target, stream)
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        random.seed()  # Else all forks would meet the same chances.
        code = work(order)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def work(order: Order) -> int:
    mutants.apply(order.mutant)
    app = create_app(
        Settings(
            home=Path(order.folder),
            env="test",
            secret_key="chaos",
            database_url=order.database_url,
            smtp_url=order.smtp_url,
            mail_from="Onus <onus@onus.example>",
            lease=order.lease,
            scan_every=order.scan_every,
            deliver_every=order.deliver_every,
            smtp_connections=1,
        )
    )
    failpoints.arm(order.failpoints, Path(order.folder) / "hits")
    if order.once:
        failpoints._armed = Once(failpoints._armed)
    return process.run(app) if order.only is None else rounds(app, order)


def rounds(app: Flask, order: Order) -> int:
    """The ticks of the scheduler for one organisation, one after the other, with a heartbeat beside them."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    with app.app_context():
        heartbeat = Heartbeat()
        channel = open_channel(settings())
        assert channel is not None
        sender = Sender(settings(), channel, heartbeat.id, stop=stop)
        threading.Thread(target=beat, args=(app, heartbeat, stop), daemon=True).start()
        while not stop.is_set():
            for tick in (lambda: scan_tick(order.only), lambda: deliver_tick(order.only), lambda: mail(sender, order)):
                try:
                    tick()
                except Exception:
                    log.exception("tick_failed")
            if order.once and len(failpoints._armed) == 0:
                break
            stop.wait(order.deliver_every)
        channel.close()
        heartbeat.beat(stopped=True)
    return 0


def mail(sender: Sender, order: Order) -> None:
    mail_tick(sender, order.only, forced=True)


def beat(app: Flask, heartbeat: Heartbeat, stop: threading.Event) -> None:
    with app.app_context():
        while not stop.wait(beat_every(settings())):
            with contextlib.suppress(*LOST):
                heartbeat.beat()


if __name__ == "__main__":
    main()
