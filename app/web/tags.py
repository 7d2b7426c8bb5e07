"""The state of an entry in words: what its tags say, most urgent first. A colour only repeats the word."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.acts import InForce, Status
from app.queries.register import SOON, Line
from app.queries.watched import Gap
from app.vocabulary import OF
from app.wording import gettext, later, ngettext
from app.words import day, days_left, word

LATE, NEAR, GOOD, PLAIN = "late", "soon", "good", ""

# Why nobody is told of an entry, in a sentence about it alone; the list counts many and has words of its own.
WHY_NOT = {
    Gap.site_archived: later("its site is archived"),
    Gap.draft: later("it is a draft"),
    Gap.out_of_service: later("it is out of service"),
    Gap.no_date: later("it has no open deadline"),
    Gap.no_rule: later("no active rule is about its kind at its site"),
    Gap.nobody_to_tell: later("there is nobody to tell"),
    Gap.paused: later("its alerts are paused"),
}


@dataclass(frozen=True)
class Tag:
    """A word, and the class of its colour."""

    words: str
    colour: str = PLAIN


def tags_of(line: Line) -> list[Tag]:
    """At least one tag; of an entry that is off the watch, that one alone."""
    if line.status != Status.watched:
        return [Tag(word(line.status, "status"))]
    found = [of_due_date(line)]
    if line.is_filed_in_force:
        is_past = line.days_left is not None and line.days_left < 0
        found = [Tag(gettext("In force, renewal pending"), GOOD), *([] if is_past else found)]
    elif line.is_filed:
        found.insert(1 if found[0].colour == LATE else 0, Tag(pending(line.in_force_meanwhile), NEAR))
    if line.is_paused:
        found.append(Tag(gettext("Paused until %(day)s", day=day(line.snoozed_until)), NEAR))
    if line.gap in (Gap.no_rule, Gap.nobody_to_tell, Gap.site_archived):
        found.append(Tag(gettext("Not watched: %(why)s", why=OF["gap"][line.gap]), LATE))
    return found


def pending(in_force: str | None) -> str:
    """Of a filing under which the paper may be in force no longer."""
    if in_force == InForce.no:
        return gettext("Pending with the authority, not in force")
    return gettext("Pending with the authority, in force unclear")


def left_of(line: Line) -> str:
    """How far the due date is away; of a paper that stays in force meanwhile, only that its date has passed."""
    if line.due_on is None or line.today is None or line.status == Status.archived:
        return ""
    if line.due_on < line.today and line.is_filed_in_force:
        passed = (line.today - line.due_on).days
        return ngettext("its date passed %(number)d day ago", "its date passed %(number)d days ago", passed)
    return days_left(line.due_on, line.today, line.wording)


def of_due_date(line: Line) -> Tag:
    left = line.days_left
    if line.due_on is None:
        return Tag(gettext("No date"), LATE)
    if left is None:
        return Tag(gettext("Date at the site unknown"), LATE)
    if left < 0:
        return Tag(gettext("Expired") if line.wording == "expires" else gettext("Overdue"), LATE)
    if left == 0:
        return Tag(gettext("Today"), NEAR)
    return Tag(gettext("Within 30 days"), NEAR) if left <= SOON.days else Tag(gettext("OK"), GOOD)
