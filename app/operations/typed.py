"""What a person typed: codes, names, notes and days, checked before anything is written.

Each function returns the form that is stored, or raises Refused with what to write instead.
"""

from __future__ import annotations

import datetime as dt
from enum import StrEnum
from typing import TypeVar

from app.domain import recurrences
from app.domain.acts import Basis
from app.domain.calendars import FIRST_DAY, LAST_DAY
from app.domain.errors import Phrase, Refused, quoted
from app.domain.folding import check_visible, clean_text, fold_name

LONGEST_NAME = 200  # Characters of a name: a line on a screen and in a message.
LONGEST_REFERENCE = 400  # Characters: longer than any reference of the registers that we have seen.
LONGEST_TITLE = 500  # Characters: some registers put whole sentences there.
LONGEST_NOTE = 4000  # Characters of a note: a page.

Code = TypeVar("Code", bound=StrEnum)


def code(words: type[Code], text: str | None, what: str) -> Code:
    """The code of this name; `what` says with its article what it is, such as "a reason"."""
    if text is not None and text in set(words):
        return words(text)
    known = ", ".join(words)
    if not text:
        raise Refused("This needs %(what)s: write one of %(known)s.", what=Phrase(what), known=known)
    raise Refused(
        "%(text)s is not %(what)s: write one of %(known)s.", text=quoted(str(text)), what=Phrase(what), known=known
    )


def one_line(text: str, field: str, longest: int = LONGEST_NAME) -> str:
    """A name or a title: one line, not empty."""
    line = fold_name(clean_text(text, field, longest))
    if not line:
        raise Refused("%(field)s is empty: write one.", field=Phrase(field))
    return line


def text(typed: str, field: str, longest: int) -> str:
    """A reference or a title: not empty, on one line, with its inner spaces as they were typed."""
    line = clean_text(typed, field, longest).replace("\n", " ")
    if not line:
        raise Refused("%(field)s is empty: write one.", field=Phrase(field))
    return line


def reference(typed: str, field: str) -> str:
    """A reference, without characters that nobody sees: with one it would be another one, and look the same."""
    line = text(typed, field, LONGEST_REFERENCE)
    check_visible(line, field)
    return line


def note(text: str) -> str:
    return clean_text(text, "The note", LONGEST_NOTE)


def register_day(day: dt.date, field: str) -> dt.date:
    """A day of the years that the register keeps."""
    if not FIRST_DAY <= day <= LAST_DAY:
        raise Refused(
            "%(field)s %(day)s is outside the years %(first)s to %(last)s: correct it.",
            field=Phrase(field),
            day=day,
            first=FIRST_DAY.year,
            last=LAST_DAY.year,
        )
    return day


def past_day(day: dt.date | None, today: dt.date, field: str) -> dt.date:
    """A day on which something happened, today if none is given: not after today at the site."""
    if day is None:
        return today
    if day > today:
        raise Refused(
            "%(field)s %(day)s is still to come: today is %(today)s at the site.",
            field=Phrase(field),
            day=day,
            today=today,
        )
    return register_day(day, field)


def rhythm(recurrence: str | None, basis: str | None) -> dict[str, str | None]:
    """A recurrence and what it is counted from, as columns; empty ones are None."""
    return {
        "recurrence": recurrences.parse(recurrence).text if recurrence else None,
        "recurrence_basis": code(Basis, basis, "a basis of a recurrence") if basis else None,
    }


def iso(day: dt.date | None) -> str | None:
    """A date as it stands in the trail."""
    return None if day is None else day.isoformat()
