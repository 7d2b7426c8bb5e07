"""Who is here: only they are made responsible, hold a post, or are named in a rule. Whom something names already stays.

Must not decide what becomes of what hangs on those who go; that is `departures.py`.
"""

from __future__ import annotations

import datetime as dt
from enum import StrEnum

from app.domain.errors import Refused
from app.models import Member
from app.wording import later


class Gone(StrEnum):
    """Why somebody is not here."""

    disabled = "disabled"
    left = "left"
    let_in = "let_in"  # Until a day that is over.


SENTENCES = {
    Gone.disabled: later("%(person)s is disabled: choose somebody else, or enable them first."),
    Gone.left: later("%(person)s left on %(day)s: choose somebody else, or take that back first."),
    Gone.let_in: later("%(person)s was let in until %(day)s: choose somebody else, or prolong that first."),
}


def why_gone(
    is_active: bool, left_on: dt.date | None, valid_until: dt.date | None, today: dt.date
) -> tuple[Gone, dt.date | None] | None:
    """Why a member is not here today, and since or until when; None if they are."""
    if not is_active:
        return Gone.disabled, None
    if left_on is not None and left_on <= today:
        return Gone.left, left_on
    if valid_until is not None and valid_until < today:
        return Gone.let_in, valid_until
    return None


def check_here(member: Member, today: dt.date) -> None:
    """Raise Refused for a member who is not here today, with why and what to do."""
    if why := why_gone(member.is_active, member.left_on, member.valid_until, today):
        raise Refused(SENTENCES[why[0]], person=member.name, day=why[1])
