"""How a report says what every section has: instants, twice each, and who did something."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

from app.trail.act import OPERATOR, SCHEDULER
from app.wording import gettext as _

Instant = tuple[str | None, str | None]


def instant(at: dt.datetime | None, timezone: str) -> Instant:
    """2027-03-02T11:00:00Z and 2027-03-02T06:00:00-05:00. Where the zone cannot be used, nobody knows the second."""
    if at is None:
        return None, None
    return utc(at), local(at, timezone)


def utc(at: dt.datetime) -> str:
    return f"{at.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%S}Z"


def local(at: dt.datetime, timezone: str) -> str | None:
    try:
        return at.astimezone(ZoneInfo(timezone)).isoformat(timespec="seconds")
    except (LookupError, ValueError, OSError):
        return None


def person(name: str | None, number: int | None) -> str | None:
    """By the name that the person has now, with the number that stays."""
    return _("%(name)s (no. %(number)d)", name=name or _("A person"), number=number) if number is not None else None


def actor(code: str, name: str | None) -> str:
    """Who did it: a person, the watch, or whoever runs Onus."""
    if code == SCHEDULER:
        return _("Onus itself")
    if code == OPERATOR:
        return _("An operator, by a command")
    return person(name, int(code.partition(":")[2])) or code if code.startswith("member:") else code


def yes(fact: bool) -> str:
    return _("yes") if fact else _("no")
