"""Scheduler processes by the dozen: a zygote has imported Onus once, and forks each of them in milliseconds.

A worker is buried only when its handle says so: until then its number is nobody else's, and a signal meets no stranger.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.chaos.cluster import is_gone, state_of
from tests.scheduler.conftest import CHECKOUT, until


@dataclass(frozen=True)
class Order:
    """What a worker is to do. `folder` is its own: `said` is what it writes, `hits` the failpoints that it met."""

    folder: str
    database_url: str
    smtp_url: str
    only: int | None = None  # Rounds for this organisation alone; None is the whole scheduler.
    failpoints: str | None = None
    once: bool = False  # Each failpoint once; it ends after the round in which it met one.
    mutant: str | None = None
    lease: float = 1.0
    scan_every: float = 1.0
    deliver_every: float = 0.2


class Worker:
    """A handle to one worker, from the outside."""

    def __init__(self, nursery: Nursery, pid: int, order: Order) -> None:
        self.nursery, self.pid, self.order = nursery, pid, order
        self.folder = Path(order.folder)
        self.buried = False

    @property
    def is_gone(self) -> bool:
        return self.buried or is_gone(self.pid)

    @property
    def is_stopped(self) -> bool:
        return not self.buried and state_of(self.pid) == "T"

    @property
    def hits(self) -> list[tuple[str, str]]:
        """Each failpoint that it met, with the deed."""
        found = self.folder / "hits"
        lines = found.read_text().splitlines() if found.exists() else []
        return [(line.split()[0], line.split()[1]) for line in lines]

    @property
    def said(self) -> str:
        return (self.folder / "said").read_text(errors="replace")

    def signal(self, number: signal.Signals) -> None:
        if not self.buried:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)

    def ask_to_stop(self) -> None:
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)

    def ended(self) -> int:
        """Wait for its end, and bury it; the exit code, negative for a signal."""
        until(lambda: self.is_gone, f"the end of worker {self.pid}")
        return self.bury()

    def bury(self) -> int:
        self.buried = True
        return self.nursery.ask(deed="bury", pid=self.pid)


class Nursery:
    """The zygote, from the outside. Threads may share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workers: list[Worker] = []
        self._lock = threading.Lock()
        self._zygote = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.zygote"],
            cwd=CHECKOUT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.ask(deed="hello")

    def ask(self, **words: Any) -> int:
        with self._lock:
            self._zygote.stdin.write(json.dumps(words) + "\n")
            self._zygote.stdin.flush()
            return int(self._zygote.stdout.readline())

    def start(self, **given: Any) -> Worker:
        with self._lock:
            folder = self.folder / f"worker-{len(list(self.folder.iterdir()))}"
            folder.mkdir(parents=True)
        order = Order(folder=str(folder), **given)
        worker = Worker(self, self.ask(deed="fork", order=asdict(order)), order)
        self.workers.append(worker)
        return worker

    def end(self) -> None:
        """End all workers at once."""
        for worker in self.workers:
            if not worker.buried:
                worker.kill()
                worker.ended()
        self.workers.clear()

    def close(self) -> None:
        self._zygote.stdin.close()  # At the end of its orders it ends whoever is left, and itself.
        self._zygote.wait(30)
        self._zygote.stdout.close()
