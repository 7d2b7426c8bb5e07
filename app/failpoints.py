"""Named points at which a test may kill or stop this process, to prove that nothing is lost or doubled there.

Nothing happens at them unless ONUS_FAILPOINTS arms one, which is refused unless ONUS_ENV=test. `name:kill` ends the
process as `kill -9` does, `name:stop` stops it until somebody lets it go on, `name:raise` raises; `name:kill:0.1` does
so once in ten times. Each hit is a line of the log file, if one is named, before it happens: a test counts them.
"""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path
from typing import NamedTuple


class Armed(NamedTuple):
    deed: str
    chance: float


_armed: dict[str, Armed] = {}
_hits: list[Path] = []

POINTS = (
    "scan_taken",
    "scan_claimed",
    "scan_before_commit",
    "scan_after_commit",
    "deliver_in_app",
    "mail_leased",
    "mail_connected",
    "mail_mail",
    "mail_rcpt",
    "mail_data",
    "mail_body",
    "mail_before_hand",
    "mail_commit_sent",
    "mail_after_hand",
    "mail_after_dot",
    "mail_reply",
    "mail_recorded",
)
OF_IMPORTS = ("import_taken", "import_counted", "import_before_commit")  # In a child process, apart from the watch.
OF_SEALS = ("seal_before_commit",)
KNOWN = (*POINTS, *OF_IMPORTS, *OF_SEALS)
DEEDS = ("kill", "stop", "raise")


class Failed(Exception):
    """Raised at a failpoint that was armed to raise."""


def arm(text: str | None, hits: Path | None = None) -> None:
    """Arm the points of `name:deed[:chance],…`; None disarms all. Raises ValueError for what it does not know."""
    _armed.clear()
    _hits[:] = [hits] if hits is not None else []
    for part in filter(None, (text or "").split(",")):
        name, _, rest = part.partition(":")
        deed, _, chance = rest.partition(":")
        if name not in KNOWN or deed not in DEEDS or not is_chance(chance or "1"):
            raise ValueError(
                f"{part!r}: use one of {', '.join(KNOWN)} with one of {', '.join(DEEDS)}, and a chance up to 1"
            )
        _armed[name] = Armed(deed, float(chance or 1))


def is_chance(text: str) -> bool:
    try:
        return 0 < float(text) <= 1
    except ValueError:
        return False


def reached(name: str) -> None:
    """This point was reached."""
    armed = _armed.get(name)
    if armed is None or random.random() >= armed.chance:  # noqa: S311 (no secret hangs on it)
        return
    for path in _hits:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as log:
            log.write(f"{name} {armed.deed} {os.getpid()}\n")
    if armed.deed == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif armed.deed == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    else:
        raise Failed(name)
