"""The due dates that come by themselves: those of series by the calendar first, then those of parts, which follow them.

In this order and together, so that whatever an act brings is there when it ends: its foresight and a start `next` see
it, and it does not come behind their back with the next check.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.ledger.followers import follow
from app.ledger.series import open_series
from app.ledger.site_days import SiteDays
from app.trail.act import Act


@dataclass(frozen=True)
class Came:
    """The parts whose dates changed, and the dates that are news: opened, or a part's on another day."""

    parts: list[int]
    dates: list[int]


def open_coming(act: Act, subjects: Sequence[int] | None = None, days: SiteDays | None = None) -> Came:
    """Open what these entries (None: all), and the parts of those of them that are wholes, must have by now."""
    of_series = open_series(act, days, subjects)
    followed = follow(act, subjects, days)
    return Came(followed.parts, [*of_series, *followed.dates])
