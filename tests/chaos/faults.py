"""What goes wrong, and when: all of it drawn from one seed before it begins.

A seed gives the same faults at the same times again. Who has just leased what when they strike is the machine's own
affair, so the same seed need not break the same message.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from app.failpoints import POINTS

# How often each happens beside the others. `crash` is an immediate stop of the database, `shot` a kill -9 of one of its
# sessions, from which it recovers by itself; `cut` ends a session as an operator would; `script` is the mail server's.
FAULTS = {"kill": 8, "stop": 6, "crash": 3, "shot": 1, "cut": 6, "script": 4}
ACTS = {
    "entry": 60, "close": 6, "move": 8, "assign": 8, "snooze": 3, "archive": 3, "disable": 3, "silence": 3,
    "thresholds": 3, "recipients": 3, "switch": 2, "decide": 20, "restore": 1, "release": 5,
}  # fmt: skip
FAULTS_A_SECOND, ACTS_A_SECOND = 0.8, 8.0
STOPPED_FOR = (0.3, 3.0)  # Seconds, beyond the lease of the storm or not.
# How likely an armed point strikes when it is reached. Each tick reaches those of scan and app; mail has to be due.
HIT_OF_MAIL, HIT = 0.3, 0.06
ARMED_AT_ONCE = 2  # Points of one worker.
DEEDS = ("kill", "kill", "stop", "stop", "raise")

# By point: what the mail server does instead of what a good one does. Whatever accepts a message and then says that it
# has not is a lying server, against which nobody can promise anything.
NOT_TAKEN = ("451 4.3.0 later", "550 5.1.1 no", "421 4.3.2 bye", "drop", "stall", "garbage")
SMTP: dict[str, tuple[str, ...]] = {
    "GREETING": ("421 4.3.2 not now", "554 5.3.2 never", "drop", "stall", "garbage"),
    "EHLO": NOT_TAKEN,
    "NOOP": ("421 4.3.2 bye", "drop", "stall"),
    "MAIL": NOT_TAKEN,
    "RCPT": NOT_TAKEN,
    "DATA": (*NOT_TAKEN, "drop after"),
    "BODY": ("drop", "stall"),
    "DOT": (*NOT_TAKEN, "drop after", "stall after", "garbage after", "slow 0.4", "slow 2.5"),
    "RSET": ("drop",),
}
SHARE, SHARE_OF_RARE = 0.08, 0.3  # Of all times that a point is reached, the share in which it breaks.
RARE = frozenset({"RSET"})  # Reached only after a refusal.
LET_GO = 2.0  # By how much the points of one script are more likely to break than that.

DOUBTFUL = frozenset({"drop", "stall", "garbage", "drop after", "stall after", "garbage after", "slow 2.5"})


class Happening(NamedTuple):
    """`number` chooses the victim among whoever is there; `chance` is from 0 to 1."""

    at: float
    what: str
    number: int
    chance: float


def plan(seed: str, kinds: Mapping[str, int], rate: float, seconds: float) -> list[Happening]:
    """So many a second, at any time, the kinds by their weights; and each kind once, however short the time is."""
    draw = random.Random(f"{seed} {sorted(kinds)}")
    count = max(int(rate * seconds), len(kinds))
    whats = list(kinds) + draw.choices(list(kinds), list(kinds.values()), k=count - len(kinds))
    ats = [draw.uniform(0, seconds) for _ in whats]
    return sorted(
        Happening(at, what, draw.randrange(1 << 30), draw.random()) for at, what in zip(ats, whats, strict=True)
    )


def arms(draw: random.Random) -> Iterator[str]:
    """The failpoints of one worker after the other. They are dealt like cards, so that none is left out for long."""
    while True:
        deck = draw.sample(POINTS, len(POINTS))
        while len(deck) >= ARMED_AT_ONCE:
            points = [deck.pop() for _ in range(ARMED_AT_ONCE)]
            yield ",".join(f"{point}:{draw.choice(DEEDS)}:{how_likely(point)}" for point in points)


def how_likely(point: str) -> float:
    return HIT_OF_MAIL if point.startswith("mail") else HIT


def script(number: int) -> dict[str, Any]:
    """A mail server that breaks a little at every point, and more at one or two."""
    draw = random.Random(number)
    worse = draw.sample(sorted(SMTP), 2)
    chance = {
        point: dict.fromkeys(deeds, share(point) / len(deeds) * (LET_GO if point in worse else 1.0))
        for point, deeds in SMTP.items()
    }
    return {"chance": chance, "seed": number, "idle": 20}


def share(point: str) -> float:
    return SHARE_OF_RARE if point in RARE else SHARE


def resting(chance: float) -> float:
    """For how many seconds something is stopped: seldom for long, since whoever holds a lock stops the others, too."""
    least, most = STOPPED_FOR
    return least + chance**3 * (most - least)
