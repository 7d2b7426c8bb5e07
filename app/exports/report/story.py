"""The story of one entry, for somebody who does not know Onus: how it was known that it was lapsing, on two pages.

It says what the sections of the report say of the entry, under their row numbers: what is alike is folded, and what is
left out is counted. It is words only, so that a page and a paper show the same.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from sqlalchemy.orm import Session

from app.exports.report import entry_words
from app.exports.report.changes import change_in_words
from app.exports.report.said import actor
from app.exports.report.told import answered, raised, told, word_of
from app.queries.entry import Entry, read_entry
from app.queries.report.alerts import AlertFacts, read_alert_facts
from app.queries.report.changes import read_changes
from app.queries.report.messages import read_answers
from app.queries.report.scope import Scope
from app.wording import gettext as _
from app.wording import later, ngettext, plural
from app.words import before, moment, word

MOST_ALERTS, MOST_DEEDS = 40, 30  # That are held at all: two pages have room for fewer.
SHOWN_ALERTS, SHOWN_DEEDS = 16, 14  # On a page of the browser, which may be printed.
LONGEST = 320  # Characters of one text: the data files have all of it.

# The words around a story, the same on a page and on paper.
LEGEND: Mapping[str, str] = {
    "lead": later("Onus watches what lapses or falls due: before each due date it raises an alert once, tells people, and records what they answer. This is how it was known."),
    "what": later("What it is"), "label": later("What"), "value": later("Value"), "alerts": later("Deadlines, and the alerts about them"), "row": later("Row"),
    "raised": later("Alert, raised on"), "told": later("Told to whom, and how"), "answered": later("Answered by whom"), "deeds": later("What was done to it"),
    "at": later("When"), "by": later("By"), "deed": later("What"), "page": later("Page"), "none": later("none"),
    "rows": later("The rows have the numbers that they have under Alerts in the data files of the same report. Each time is that of the site, with its offset from UTC."),
    "read": later("That a mail server took a message does not say that somebody read it; what was opened in the app says so."),
}  # fmt: skip
EARLIER_ALERTS = plural(
    "And %(number)d earlier alert, which is in the full report (XLSX, CSV, bundle).",
    "And %(number)d earlier alerts, all in the full report (XLSX, CSV, bundle).",
)
EARLIER_DEEDS = plural(
    "And %(number)d earlier change, which is in the full report (XLSX, CSV, bundle).",
    "And %(number)d earlier changes, all in the full report (XLSX, CSV, bundle).",
)


@dataclass(frozen=True)
class Line:
    """An alert, or some that were not sent for one reason: their rows in the report, and what each column says."""

    rows: str
    count: int
    raised: Sequence[str]
    told: Sequence[str]
    answered: Sequence[str]


@dataclass(frozen=True)
class Chapter:
    """A deadline: what became of it, and its alerts in the order in which they were raised."""

    heading: str
    became: Sequence[str]
    is_open: bool
    lines: Sequence[Line]


@dataclass(frozen=True)
class Deed:
    """What was done to the entry: when, by whom, what."""

    at: str
    by: str
    what: str


@dataclass(frozen=True)
class Story:
    """`earlier` alerts and `earlier_deeds` are those that are not shown."""

    title: str
    facts: Sequence[tuple[str, str]]
    summary: Sequence[str]
    chapters: Sequence[Chapter]
    earlier: int
    deeds: Sequence[Deed]
    earlier_deeds: int

    def cut(self, alerts: int, deeds: int) -> Story:
        """The last lines of it, so many at most; an open deadline is never left out."""
        room, kept, earlier = alerts, list[Chapter](), self.earlier
        for chapter in reversed(self.chapters):
            lines = chapter.lines[-room:] if room else []
            room -= len(lines)
            earlier += sum(line.count for line in chapter.lines[: len(chapter.lines) - len(lines)])
            if lines or chapter.is_open:
                kept.insert(0, replace(chapter, lines=lines))
        shown = self.deeds[-deeds:]
        left = self.earlier_deeds + len(self.deeds) - len(shown)
        return replace(self, chapters=kept, earlier=earlier, deeds=shown, earlier_deeds=left)

    @property
    def left_out(self) -> str:
        """And 14 earlier alerts, all in the full report; empty where nothing is left out."""
        return ngettext(*EARLIER_ALERTS, self.earlier) if self.earlier else ""

    @property
    def deeds_left_out(self) -> str:
        return ngettext(*EARLIER_DEEDS, self.earlier_deeds) if self.earlier_deeds else ""


def read_story(session: Session, scope: Scope) -> Story | None:
    """The story of the entry that the scope is narrowed to; None where there is none that its reader may see."""
    entry = read_entry(session, scope.sight, scope.asked.subject_id or 0)
    if entry is None:
        return None
    alerts = deque[tuple[int, AlertFacts]](enumerate(read_alert_facts(session, scope), 1), MOST_ALERTS)
    answers = defaultdict[int, list[Any]](list)
    for answer, _files in read_answers(session, scope):
        answers[answer.claim_id].append(answer)
    seen = alerts[-1][0] if alerts else 0
    deeds, count = _deeds(session, scope, entry.site.timezone)
    told_of = [shortened(line) for line in _chapters(entry, alerts, answers)]
    return Story(
        title=f"{entry.line.reference}: {entry.line.title}"[:LONGEST],
        facts=[(label, short(value)) for label, value in entry_words.facts(entry)],
        summary=entry_words.summary(entry, [one for _row, one in alerts], seen),
        chapters=told_of,
        earlier=seen - len(alerts),
        deeds=deeds,
        earlier_deeds=count - len(deeds),
    )


def _chapters(
    entry: Entry, alerts: Sequence[tuple[int, AlertFacts]], answers: Mapping[int, list[Any]]
) -> Iterator[Chapter]:
    """Each deadline that is open or was told of, the earliest first."""
    of_deadline = defaultdict[int, list[tuple[int, AlertFacts]]](list)
    for row, one in alerts:
        of_deadline[one.more.obligation_id].append((row, one))
    rows = {one.line.id: row for row, one in alerts}
    for deadline in sorted(entry.deadlines, key=lambda one: one.due_on):
        if deadline.is_open or deadline.id in of_deadline:
            lines = list(_lines(of_deadline[deadline.id], answers, rows))
            became = entry_words.became(entry, deadline)
            yield Chapter(entry_words.heading(entry, deadline), became, deadline.is_open, lines)


def _lines(
    alerts: Sequence[tuple[int, AlertFacts]], answers: Mapping[int, list[Any]], rows: Mapping[int, int]
) -> Iterator[Line]:
    """An alert each; neighbours that reached nobody for the same reason are one."""
    for reason, group in groupby(alerts, key=lambda row: _why_nothing(row[1], answers)):
        found = list(group)
        if reason and len(found) > 1:
            yield _folded(reason, found)
            continue
        for row, one in found:
            said = (
                answered(answers[one.line.id], one.line.timezone) if one.line.id in answers else _elsewhere(one, rows)
            )
            yield Line(str(row), 1, raised(one), told(one), said)


def _why_nothing(one: AlertFacts, answers: Mapping[int, list[Any]]) -> str:
    """The reason of an alert of which no message was made and which nobody answered; else the empty text."""
    return "" if one.messages or one.line.id in answers else one.line.reason or ""


def _folded(reason: str, alerts: Sequence[tuple[int, AlertFacts]]) -> Line:
    (first, _oldest), (last, newest) = alerts[0], alerts[-1]
    when = ", ".join(before(one.line.threshold) for _row, one in alerts)
    at = sorted({moment(one.line.claimed_at, one.line.timezone) for _row, one in alerts})
    said = _raised_on(at, newest)
    return Line(f"{first}–{last}", len(alerts), [word_of(when), said], [_not_sent(reason)], [])


def _raised_on(at: Sequence[str], newest: AlertFacts) -> str:
    last = moment(newest.line.claimed_at, newest.line.timezone)
    return _("Raised on %(at)s.", at=last) if len(at) == 1 else _("The last one raised on %(at)s.", at=last)


def _not_sent(reason: str) -> str:
    return _("Not sent: %(why)s.", why=word(reason, "reason"))


def _elsewhere(one: AlertFacts, rows: Mapping[int, int]) -> list[str]:
    """Of an alert without an answer of its own: where its deadline was answered, if it was."""
    given = [rows[answer.claim_id] for answer in one.answers if answer.claim_id in rows]
    if given:
        return [_("Answered under row %(row)d.", row=given[-1])]
    return [_("No answer.")] if one.line.delivered_at else []


def _deeds(session: Session, scope: Scope, timezone: str) -> tuple[list[Deed], int]:
    """The last changes of the entry, and how many there are; what was done in one moment is one deed."""
    said, count = deque[tuple[tuple[dt.datetime, str], str, str]](maxlen=MOST_DEEDS), 0
    for one in read_changes(session, scope):
        count += 1
        by = actor(one.event.actor, one.names.of_actor(one.event.actor))
        said.append(((one.event.at, one.event.actor), by, change_in_words(one)))
    deeds = []
    for (at, _actor), group in groupby(said, key=lambda row: row[0]):
        parts = list(group)
        what = " ".join(f"{part}." for _key, _by, part in parts)
        deeds.append(Deed(moment(at, timezone), parts[0][1], short(what)))
    return deeds, count - len(said) + len(deeds)


def shortened(chapter: Chapter) -> Chapter:
    lines = [
        replace(
            line,
            raised=list(map(short, line.raised)),
            told=list(map(short, line.told)),
            answered=list(map(short, line.answered)),
        )
        for line in chapter.lines
    ]
    return replace(chapter, became=list(map(short, chapter.became)), lines=lines)


def short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
