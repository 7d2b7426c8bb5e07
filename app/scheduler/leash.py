"""What every child process does first: it ends when its parent does, and is bound in memory and time.

The leash is the pipe at its standard input, which is then at its end.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import threading

OUT_OF_MEMORY = 3  # The exit code of a child that has reached its limit.


def hold_leash() -> None:
    """End this process, and whatever it has started, as soon as its parent is gone."""

    def wait_for_the_end() -> None:
        os.read(0, 1)
        if os.getpgrp() == os.getpid():
            os.killpg(os.getpid(), signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=wait_for_the_end, daemon=True).start()


def bound(cpu_seconds: int, memory: int, *, for_good: bool = True) -> None:
    """Bound the time and the memory (in bytes of address space) of this process.

    Not `for_good`, a program that it starts may give itself another bound of memory.
    """
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(ValueError):  # Some systems have no such limit; those of time stay.
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory if for_good else resource.RLIM_INFINITY))
