"""Who is here: only they are made responsible, hold a post, or are named in a rule. Whom something names already stays.

Must not decide what becomes of what hangs on those who go; that is `departures.py`.
"""

from __future__ import annotations

import datetime as dt

from app.domain.errors import Refused
from app.models import Member


def why_gone(is_active: bool, left_on: dt.date | None, valid_until: dt.date | None, day: dt.date) -> str:
    """Why the member is not here on that day, as it stands behind a name; nothing if they are."""
    if not is_active:
        return "is disabled"
    if left_on is not None and left_on <= day:
        return f"left on {left_on}"
    if valid_until is not None and valid_until < day:
        return f"was let in until {valid_until}"
    return ""


def check_here(member: Member, day: dt.date) -> None:
    """Raise Refused for a member who is not here on that day, with why and what to do."""
    if why := why_gone(member.is_active, member.left_on, member.valid_until, day):
        instead = "enable them first" if not member.is_active else "take that back first"
        raise Refused(f"{member.name} {why}: choose somebody else, or {instead}.")
