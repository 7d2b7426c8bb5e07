"""The hours of e-mail in words, for their owner and for whoever manages people; and what is left untold without."""

from __future__ import annotations

import datetime as dt

from app.domain.mail_hours import Rest
from app.queries.untold import Untold
from app.words import counted

NAMED_AT_MOST = 5  # Rules; who tells by more is a sentence that nobody reads.


def rest_words(rest: Rest) -> str:
    """20:00 to 06:00 and days off; none."""
    night = f"{rest.begins:%H:%M} to {rest.ends:%H:%M}" if rest.begins and rest.ends else ""
    return " and ".join(filter(None, [night, "days off" if rest.days_off else ""])) or "none"


def hours_words(daily_at: dt.time | None, rest: Rest | None) -> str:
    """Once a day at 08:00; rest 20:00 to 06:00. Nothing for who has chosen nothing."""
    daily = f"once a day at {daily_at:%H:%M}" if daily_at else ""
    own = "" if rest is None else "no rest time" if rest.is_none else f"rest {rest_words(rest)}"
    return "; ".join(filter(None, [daily, own]))


def untold_words(untold: Untold, person: str | None = None) -> str:
    """What follows from switching e-mail off, said to the person, or of the person of this name."""
    you = person or "you"
    parts = []
    if untold.in_app:
        parts.append(f"Of {counted(len(untold.in_app), 'deadline')} {you} would be told only here in the app.")
    if untold.not_told:
        names = sorted(untold.rules)
        more = f" and {len(names) - NAMED_AT_MOST} more" if len(names) > NAMED_AT_MOST else ""
        tell = "tells" if len(names) == 1 else "tell"
        parts.append(
            f"Of {counted(len(untold.not_told), 'deadline')} {you} would not be told at all: "
            f"{counted(len(names), 'rule')} {tell} by e-mail only ({', '.join(names[:NAMED_AT_MOST])}{more})."
        )
    if untold.nobody:
        parts.append(f"Of {counted(len(untold.nobody), 'deadline')} nobody else would be told, either.")
    return " ".join(parts)
