"""One entry of the register: what it is, its deadlines, its parts, and which rules watch it."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import and_, select
from sqlalchemy.orm import Session, aliased

from app.domain.acts import InForce, Status
from app.domain.thresholds import in_order
from app.models import AuditEvent, Kind, Member, Obligation, SitePost, Subject
from app.queries import watched
from app.queries.answer_files import SentFile, read_sent_files
from app.queries.facts import Reach, read_register_and_people
from app.queries.papers import Paper, read_papers
from app.queries.register import Line, read_line
from app.queries.sight import Sight, SiteDay
from app.queries.watched import Gap

PARTS_SHOWN = 200  # More parts than any permit has conditions.


@dataclass(frozen=True)
class Deadline:
    """One dated duty; `first_due_on` differs from `due_on` where it was moved."""

    id: int
    due_on: dt.date
    first_due_on: dt.date
    met_on: dt.date | None
    closed_at: dt.datetime | None
    closed_by: str | None
    outcome: str | None
    reason: str | None
    note: str
    filed_on: dt.date | None
    filed_reference: str | None
    in_force_meanwhile: str | None
    ask_again_on: dt.date | None
    filing_ended_on: dt.date | None
    filing_result: str | None
    whole_due_on: dt.date | None = None  # Of the deadline of its whole that it followed, where that is closed, and how.
    whole_outcome: str | None = None
    filing_entered_at: dt.datetime | None = None  # When somebody noted that it was filed.

    @property
    def is_open(self) -> bool:
        return self.closed_at is None

    @property
    def is_pending(self) -> bool:
        """Filed with the authority, which has not answered yet."""
        return self.filed_on is not None and self.filing_ended_on is None

    @property
    def is_in_force(self) -> bool:
        """Whether the old paper stays in force meanwhile, so that nobody is told of its date."""
        return self.is_open and self.is_pending and self.in_force_meanwhile == InForce.yes

    @property
    def days_filed_late(self) -> int:
        """Days from the due date to the day of filing; none if it was filed in time."""
        return max((self.filed_on - self.due_on).days, 0) if self.filed_on else 0


@dataclass(frozen=True)
class Watching:
    """A rule that is about the entry, and its notices, first to last."""

    rule_id: int
    name: str
    notices: Sequence[str]
    only_if: str


@dataclass(frozen=True)
class Entry:
    """An entry in full. `line` is its line in the register; `gap` says why nobody watches it, if nobody does."""

    line: Line
    site: SiteDay
    kind_id: int
    what_to_do: str
    proof_needed: bool
    owner_member_id: int | None
    owner_post_id: int | None
    post_holders: Sequence[str]
    holder_id: int | None
    holder: str | None
    part_of_id: int | None
    whole_id: int | None
    due_from: str | None
    recurrence: str | None
    recurrence_basis: str | None
    legal_basis: str
    notes: str
    extra: Mapping[str, Any]
    deadlines: Sequence[Deadline]
    papers: Sequence[Paper]
    sent_files: Sequence[SentFile]
    parts: Sequence[tuple[int, str, str]]
    watching: Sequence[Watching]
    gap: Gap | None

    @property
    def id(self) -> int:
        return self.line.id

    @property
    def open_deadlines(self) -> list[Deadline]:
        """The next one first."""
        return [one for one in self.deadlines if one.is_open]

    @property
    def past_deadlines(self) -> list[Deadline]:
        """The last one first."""
        return [one for one in reversed(self.deadlines) if not one.is_open]

    @property
    def current_papers(self) -> list[Paper]:
        """Those that nothing has replaced, the last one first."""
        return [one for one in self.papers if one.is_current]

    def proof_of(self, obligation_id: int) -> Paper | None:
        """The last paper with which a deadline was renewed, or which proves it."""
        closing = (one for one in self.papers if one.obligation_id == obligation_id and one.proves)
        return next(closing, None)

    def deadline(self, obligation_id: int) -> Deadline | None:
        return next((one for one in self.deadlines if one.id == obligation_id), None)


def read_entry(session: Session, sight: Sight, subject_id: int) -> Entry | None:
    """The entry, or None where there is none that the person may see."""
    line = read_line(session, sight, subject_id)
    if line is None:
        return None
    facts = session.execute(_facts(sight, subject_id)).one()._mapping
    site = sight.sites[facts["site_id"]]
    gap, rules = _watch(session, sight, subject_id)
    return Entry(
        line=line,
        site=site,
        deadlines=_deadlines(session, sight.org, subject_id),
        papers=read_papers(session, sight.org, subject_id),
        sent_files=read_sent_files(session, sight.org, subject_id),
        parts=_parts(session, sight, subject_id),
        post_holders=_post_holders(session, sight.org, site, facts["owner_post_id"]),
        watching=rules,
        gap=gap,
        **{name: value for name, value in facts.items() if name != "site_id"},
    )


def _facts(sight: Sight, subject_id: int) -> Any:
    org, holder, whole = sight.org, aliased(Member), aliased(Subject)
    columns = (
        Subject.site_id, Subject.kind_id, Kind.what_to_do, Kind.proof_needed, Subject.owner_member_id,
        Subject.owner_post_id, Subject.holder_id, holder.name.label("holder"), Subject.part_of_id,
        whole.id.label("whole_id"), Subject.due_from,
        Subject.recurrence, Subject.recurrence_basis, Subject.legal_basis, Subject.notes, Subject.extra,
    )  # fmt: skip
    return (
        select(*columns)
        .join(Kind, and_(Kind.org_id == org, Kind.id == Subject.kind_id))
        .outerjoin(holder, and_(holder.org_id == org, holder.id == Subject.holder_id))
        .outerjoin(whole, and_(whole.org_id == org, whole.id == Subject.part_of_id, sight.covers(whole)))
        .where(Subject.org_id == org, Subject.id == subject_id)
    )


def _deadlines(session: Session, org: int, subject_id: int) -> list[Deadline]:
    one, closer, whole = Obligation, Member, aliased(Obligation)
    query = (
        select(
            one.id, one.due_on, one.first_due_on, one.met_on, one.closed_at, closer.name, one.outcome, one.reason,
            one.note, one.filed_on, one.filed_reference, one.in_force_meanwhile, one.ask_again_on,
            one.filing_ended_on, one.filing_result, whole.due_on, whole.outcome,
        )
        .outerjoin(closer, and_(closer.org_id == org, closer.id == one.closed_by))
        .outerjoin(whole, and_(whole.org_id == org, whole.id == one.follows_id, whole.closed_at.is_not(None)))
        .where(one.org_id == org, one.subject_id == subject_id)
        .order_by(one.due_on)
    )  # fmt: skip
    found = [Deadline(*tuple(row)) for row in session.execute(query)]
    entered = _filings_entered(session, org, subject_id) if any(one.filed_on for one in found) else {}
    return [replace(one, filing_entered_at=entered.get(one.id)) for one in found]


def _filings_entered(session: Session, org: int, subject_id: int) -> dict[int, dt.datetime]:
    """By deadline, when its last filing was noted; only the trail remembers that. A correction begins none."""
    query = select(AuditEvent.at, AuditEvent.detail).where(
        AuditEvent.org_id == org, AuditEvent.subject_id == subject_id, AuditEvent.type == "obligation_filed"
    )
    entered: dict[int, dt.datetime] = {}
    for at, detail in session.execute(query.order_by(AuditEvent.id)):
        if detail["old"]["filed_on"] is None or detail["old"]["filing_ended_on"] is not None:
            entered[detail["obligation_id"]] = at
    return entered


def _parts(session: Session, sight: Sight, subject_id: int) -> list[tuple[int, str, str]]:
    query = (
        select(Subject.id, Subject.reference, Subject.title)
        .where(Subject.org_id == sight.org, Subject.part_of_id == subject_id, sight.covers(Subject))
        .order_by(Subject.reference_key, Subject.id)
    )
    return [(row.id, row.reference, row.title) for row in session.execute(query.limit(PARTS_SHOWN))]


def _post_holders(session: Session, org: int, site: SiteDay, post_id: int | None) -> list[str]:
    """Who holds the post at the site today."""
    if post_id is None or site.today is None:
        return []
    held, today = SitePost, site.today
    query = (
        select(Member.name)
        .join(held, and_(held.org_id == org, held.member_id == Member.id))
        .where(Member.org_id == org, held.site_id == site.id, held.post_id == post_id, held.from_on <= today)
        .where(held.until_on.is_(None) | (held.until_on >= today))
        .order_by(Member.name)
    )
    return list(session.execute(query).scalars())


def _watch(session: Session, sight: Sight, subject_id: int) -> tuple[Gap | None, list[Watching]]:
    """Why nobody watches the entry, if nobody does; and the rules in force that are about it."""
    register, people = read_register_and_people(session, sight.org, [subject_id])
    (subject,) = register.subjects
    judge = watched.Judge(register, people, sight.now)
    gap = None if subject.status == Status.archived else judge.gap_of(subject)
    rules = Reach(register).rules_for(subject)
    notices: defaultdict[int, list[str]] = defaultdict(list)
    for row in register.thresholds:
        notices[row.rule_id].append(row.threshold)
    found = [Watching(rule.id, rule.name, in_order(notices[rule.id]), rule.only_if) for rule in rules]
    return gap, sorted(found, key=lambda rule: rule.name)
