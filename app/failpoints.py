"""Named points at which a test may kill or stop this process, to prove that nothing is lost or doubled there.

Nothing happens at them unless ONUS_FAILPOINTS arms one, which is refused in production. `name:kill` ends the process
as `kill -9` does, `name:stop` stops it, `name:raise` raises.
"""

from __future__ import annotations

import os
import signal

_armed: dict[str, str] = {}

POINTS = ("scan_taken", "scan_claimed", "scan_before_commit", "scan_after_commit", "deliver_in_app")
DEEDS = ("kill", "stop", "raise")


class Failed(Exception):
    """Raised at a failpoint that was armed to raise."""


def arm(text: str | None) -> None:
    """Arm the points of `name:deed,name:deed`; None disarms all. Raises ValueError for an unknown name or deed."""
    _armed.clear()
    for part in filter(None, (text or "").split(",")):
        name, _, deed = part.partition(":")
        if name not in POINTS or deed not in DEEDS:
            raise ValueError(f"{part!r}: use one of {', '.join(POINTS)} with one of {', '.join(DEEDS)}")
        _armed[name] = deed


def reached(name: str) -> None:
    """This point was reached."""
    deed = _armed.get(name)
    if deed == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif deed == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif deed == "raise":
        raise Failed(name)
