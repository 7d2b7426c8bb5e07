"""How quickly pages answer, asked one after the other from another thread while something else goes on."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType

from bench.house import Browser, House

PAGES = ("/o/acme/", "/o/acme/register", "/o/acme/register?q=permit", "/o/acme/register/import", "/o/acme/evidence")
PAUSE = 0.1  # Seconds between two pages: a person who reads, not a load test.


@dataclass(frozen=True)
class Answers:
    """The pages that were asked for, each with its time in seconds."""

    asked: list[tuple[float, str]]

    @property
    def seconds(self) -> list[float]:
        return [took for took, _ in self.asked]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def slow(self) -> float:
        """The 95th percentile."""
        return sorted(self.seconds)[max(0, round(0.95 * len(self.seconds)) - 1)]

    def __str__(self) -> str:
        told = f"median {self.median * 1000:.0f} ms, 95 % within {self.slow * 1000:.0f} ms"
        slowest, page = max(self.asked)
        return f"{len(self.asked)} pages, {told}, slowest {slowest * 1000:.0f} ms ({page})"


@dataclass
class Reader:
    """Asks for pages as long as it is entered. A page that fails ends the benchmark."""

    house: House
    asked: list[tuple[float, str]] = field(default_factory=list)
    fault: Exception | None = None

    def __enter__(self) -> Reader:
        self._stop = threading.Event()
        self._browser = Browser(self.house)
        self._thread = threading.Thread(target=self._read)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()
        if self.fault is not None and fault is None:
            raise self.fault

    def _read(self) -> None:
        n = 0
        while not self._stop.wait(PAUSE):
            page, began = PAGES[n % len(PAGES)], time.monotonic()
            try:
                self._browser.get(page)
            except Exception as fault:
                self.fault = fault
                return
            self.asked.append((time.monotonic() - began, page))
            n += 1

    @property
    def answers(self) -> Answers:
        return Answers(self.asked)


def while_reading(house: House, deed: Callable[[], object]) -> Answers:
    """How the pages answered while the deed was done."""
    with Reader(house) as reader:
        deed()
    return reader.answers
