"""Why a line of a file was not accepted, in the reader's language.

A reason is kept as it was found, in English, with the line for good. Here each sentence that the reader of files writes
is known again by its fixed words, and what was given is put into the same sentence of the other language.
"""

from __future__ import annotations

import re

from app.wording import gettext, later

# The more exact before the more general.
REASONS = (
    later("due date missing"),
    later("the due date says %(text)s: kept without a due date"),
    later("its due date follows that of its whole"),
    later("the year %(year)s of %(text)s is outside %(first)s to %(last)s"),
    later("the number %(number)s would be %(day)s in a spreadsheet: confirm the date"),
    later("the number %(number)s would be %(day)s in a spreadsheet"),
    later("the number %(number)s was confirmed to be %(day)s"),
    later("%(text)s is an instant with a time zone, not a date: give the date at the site"),
    later("%(text)s has a year of two digits: write four"),
    later("%(text)s is a number, not a date"),
    later("%(text)s has a time that no day has: write the date alone"),
    later("%(text)s is a date cell, not a reference: a spreadsheet may have made it one"),
    later("%(text)s is a placeholder, not a reference"),
    later("%(text)s is not a date"),
    later("reference missing"),
    later("a part of the reference is empty: %(column)s"),
    later("line %(lines)s gives the same reference other values: none is applied"),
    later("line %(lines)s gives the same reference other values: the latest due date, in line %(latest)s, is taken"),
    later("no such site: none is named, and there are %(count)s"),
    later("no such site: %(text)s"),
    later("the site %(text)s is archived"),
    later("no such owner: %(text)s"),
    later("no such holder: %(text)s"),
    later("no such post: %(text)s"),
    later("the owner %(text)s is %(count)s members: name one by e-mail"),
    later("the holder %(text)s is %(count)s members: name one by e-mail"),
    later("the owner %(text)s may not see the site %(site)s"),
    later("the holder %(text)s may not see the site %(site)s"),
    later("part_of %(text)s is at several sites"),
    later("part_of %(text)s is neither in the register nor among the accepted records"),
    later("part_of %(text)s is rejected itself"),
)
PLACE = re.compile(r"%\\\((\w+)\\\)s|%\((\w+)\)s")


def pattern_of(sentence: str) -> re.Pattern[str]:
    """What a reason looks like that was made of this sentence."""
    return re.compile(PLACE.sub(lambda found: f"(?P<{found[1] or found[2]}>.+)", re.escape(sentence)))


PATTERNS = [(sentence, pattern_of(sentence)) for sentence in REASONS]


def retold(reason: str) -> str:
    """The reason in the reader's language; as it is, where it is none of the known ones."""
    for sentence, pattern in PATTERNS:
        if found := pattern.fullmatch(reason):
            return gettext(sentence, **found.groupdict())
    return reason
