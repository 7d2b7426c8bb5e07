"""One act upon many entries at once: which acts there are, and why one of the entries is left as it is."""

import datetime as dt
from enum import StrEnum

from app.domain.recurrences import Interval


class BatchAct(StrEnum):
    """What can be done to many entries at once."""

    move = "move"
    renew = "renew"
    assign = "assign"
    pause = "pause"
    resume = "resume"
    release = "release"
    out_of_service = "out_of_service"
    archive = "archive"


class Several(StrEnum):
    """What becomes of an entry with several open dates, of which a batch could mean any."""

    leave = "leave"
    next = "next"


class Left(StrEnum):
    """Why an entry is left as it is."""

    taken = "taken"
    several = "several"
    follows = "follows"
    closed = "closed"
    no_date = "no_date"
    beyond = "beyond"
    archived = "archived"
    out_of_sight = "out_of_sight"
    day_over = "day_over"
    day_ahead = "day_ahead"
    day_unknown = "day_unknown"
    not_paused = "not_paused"
    no_draft = "no_draft"
    filed = "filed"
    nothing_next = "nothing_next"
    has_paper = "has_paper"
    same = "same"


def shifted(day: dt.date, by: Interval, is_earlier: bool) -> dt.date | None:
    """The day so much later, or earlier; a shorter month clamps. None where no calendar goes so far."""
    try:
        return by.nth(day, -1 if is_earlier else 1)
    except (OverflowError, ValueError):
        return None
