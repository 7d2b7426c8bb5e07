"""The report as a whole: every section read once, from the one moment at which its transaction sees the database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.orm import Session

from app.exports.report import alerts, changes, checks, cover, messages, people, register
from app.exports.report.cover import Origin, Seal
from app.exports.report.section import Plan, Section, keep
from app.exports.report.story import Story, read_story
from app.exports.tables import Row
from app.queries.report.scope import Scope
from app.queries.seal import read_seal
from app.trail.act import Act
from app.trail.notes import Signer
from app.trail.sealed import seal_up

# In the order in which they are read: by a person, too.
PLANS: tuple[tuple[Plan, Callable[[Session, Scope], Iterator[Row]]], ...] = (
    (register.PLAN, register.rows),
    (alerts.PLAN, alerts.rows),
    (messages.MESSAGES, messages.message_rows),
    (messages.TRIES, messages.try_rows),
    (messages.ANSWERS, messages.answer_rows),
    (changes.CHANGES, changes.change_rows),
    (people.PLAN, people.rows),
    (checks.PLAN, checks.rows),
    (changes.TAKEN_OFF, changes.taken_off_rows),
)


@dataclass(frozen=True)
class Report:
    """The sections, the cover first; they can be written as often as there are formats, while their folder is there."""

    origin: Origin
    scope: Scope
    sections: tuple[Section, ...]
    story: Story | None = None  # Of the one entry that it is about.

    @property
    def counts(self) -> dict[str, int]:
        """How many rows each section has, without the cover."""
        return {section.key: section.count for section in self.sections if section.plan is not cover.PLAN}


def seal_first(act: Act, signer: Signer) -> Seal | None:
    """Seal what the trail has, so that a report never says more than a seal covers; the last seal. None: nothing is."""
    seal_up(act, signer)
    last = read_seal(act.session, act.org)
    return Seal(last.size, last.root, last.at) if last.at else None


def read_report(
    session: Session, scope: Scope, origin: Origin, folder: Path, told: Callable[[int, int], None] = lambda *_: None
) -> Report:
    """Read every section into the folder. `told` hears how many sections are done, and how many rows were read."""
    sections: list[Section] = []
    before = 0
    for plan, rows in PLANS:
        done, so_far = len(sections), before
        sections.append(keep(plan, rows(session, scope), folder, lambda count, d=done, b=so_far: told(d, b + count)))  # type: ignore[misc]
        before += sections[-1].count
    front = keep(cover.PLAN, cover.rows(origin, scope, sections), folder, lambda _: None)
    story = read_story(session, scope) if scope.asked.subject_id is not None else None
    return Report(origin, scope, (front, *sections), story)
