"""A child process that works on something long, as its parent sees it: how far it is, and how it ended.

In a process of its own the work slows no scan and no message, and gives its memory back.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import IO


class Child:
    """One child process on its leash: a command of ours. Nothing of it is left when this ends."""

    def __init__(self, *command: str) -> None:
        self.far = (0, 0)
        self.command = [sys.executable, "-m", "app", *command]

    def __enter__(self) -> Child:
        # In a session of its own, so that its reader of workbooks ends with it, and Ctrl-C is for us to hear.
        self.running = subprocess.Popen(  # noqa: S603  Our own program, and no shell.
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self.ear = threading.Thread(target=self.hear, args=(self.running.stdout,), daemon=True)
        self.ear.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.running.wait()
        for pipe in (self.running.stdin, self.running.stdout):
            if pipe is not None:
                pipe.close()

    def hear(self, pipe: IO[bytes]) -> None:
        for line in pipe:
            done, _, total = line.decode(errors="replace").partition(" ")
            if done.isdecimal() and total.strip().isdecimal():
                self.far = (int(done), int(total))

    def has_ended(self) -> bool:
        """It stays unreaped meanwhile, so that its number, and its group's, cannot be a stranger's."""
        return os.waitid(os.P_PID, self.running.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    @property
    def code(self) -> int:
        """How it ended: its exit code, or the negative number of the signal."""
        seen = os.waitid(os.P_PID, self.running.pid, os.WEXITED | os.WNOWAIT)
        if seen is None:
            return 0
        return seen.si_status if seen.si_code == os.CLD_EXITED else -seen.si_status

    def kill(self) -> None:
        if self.running.returncode is None:
            os.killpg(self.running.pid, signal.SIGKILL)
