"""The hours of e-mail in words, for their owner and for whoever manages people; and what is left untold without."""

from __future__ import annotations

import datetime as dt

from app.domain.mail_hours import Rest
from app.queries.settings import PersonLine
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


def alerts_words(person: PersonLine, rest_of_all: Rest) -> str:
    """Whether e-mail goes to the person, and when: On: once a day at 08:00; rest 20:00 to 06:00."""
    if not person.email:
        return "No e-mail address: nothing goes by e-mail."
    if not person.email_alerts:
        return "Off: nothing goes by e-mail."
    as_all = f"rest as everybody, {rest_words(rest_of_all)}" if person.rest is None and not rest_of_all.is_none else ""
    parts = ("" if person.mail_hour else "at once", hours_words(person.mail_hour, person.rest), as_all)
    return f"On: {'; '.join(filter(None, parts))}."


def untold_words(untold: Untold, person: str | None = None, *, is_so: bool = False) -> str:
    """What follows without e-mail, said to the person, or of the person of this name; `is_so`: it is off already."""
    you = person or "you"
    be, other = (("is" if person else "are"), "is") if is_so else ("would be", "would be")
    not_be = f"{be} not" if is_so else "would not be"
    parts = []
    if untold.in_app:
        here = "here in the app" if person is None else "in the app"
        parts.append(f"Of {counted(len(untold.in_app), 'deadline')} {you} {be} told only {here}.")
    if untold.not_told:
        names = sorted(untold.rules)
        more = f" and {len(names) - NAMED_AT_MOST} more" if len(names) > NAMED_AT_MOST else ""
        tell = "tells" if len(names) == 1 else "tell"
        parts.append(
            f"Of {counted(len(untold.not_told), 'deadline')} {you} {not_be} told at all: "
            f"{counted(len(names), 'rule')} {tell} by e-mail only ({', '.join(names[:NAMED_AT_MOST])}{more})."
        )
    if untold.nobody:
        parts.append(f"Of {counted(len(untold.nobody), 'deadline')} nobody else {other} told, either.")
    return " ".join(parts)
