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
from app.queries.answer_files import SentFile, sent_files_asked
from app.queries.facts import People, Register, both_of, facts_asked, facts_of
from app.queries.last_alerts import last_alerts_asked, last_alerts_of
from app.queries.papers import Paper, papers_asked, papers_of
from app.queries.reach import Reach
from app.queries.register import Line, line_asked, line_of
from app.queries.sight import Sight, SiteDay
from app.queries.together import Asked, Found, together
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
    """The entry, or None where there is none that the person may see. All of it is asked for at once."""
    org = sight.org
    asked = (
        line_asked(sight, subject_id), _facts(sight, subject_id), last_alerts_asked(org, [subject_id]),
        _deadlines_asked(org, subject_id), _filings_asked(org, subject_id), *papers_asked(org, subject_id),
        sent_files_asked(org, subject_id), _parts(sight, subject_id), _post_holders_asked(org, subject_id),
    )  # fmt: skip
    found, facts, told, deadlines, filings, papers, files, sent, parts, holders, *bare = together(
        session, *asked, *facts_asked(org, [subject_id])
    )
    line = line_of(found, sight)
    if line is None:
        return None
    known = facts.one()._mapping
    site = sight.sites[known["site_id"]]
    gap, rules = _watch(sight, *both_of(facts_of(bare)))
    return Entry(
        line=replace(line, last_alert=last_alerts_of(told).get(subject_id), gap=gap),
        site=site,
        deadlines=_deadlines(deadlines, filings),
        papers=papers_of(papers, files),
        sent_files=[SentFile(*row) for row in sent],
        parts=[(row.id, row.reference, row.title) for row in parts],
        post_holders=_post_holders(holders, site.today),
        watching=rules,
        gap=gap,
        **{name: value for name, value in known.items() if name != "site_id"},
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


def _deadlines_asked(org: int, subject_id: int) -> Asked:
    one, closer, whole = Obligation, Member, aliased(Obligation)
    return (
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


def _filings_asked(org: int, subject_id: int) -> Asked:
    of_entry = (AuditEvent.org_id == org, AuditEvent.subject_id == subject_id, AuditEvent.type == "obligation_filed")
    return select(AuditEvent.at, AuditEvent.detail).where(*of_entry).order_by(AuditEvent.id)


def _deadlines(found: Found, filings: Found) -> list[Deadline]:
    """Each with the instant at which its last filing was noted; only the trail has that. A correction begins none."""
    entered: dict[int, dt.datetime] = {}
    for at, detail in filings:
        if detail["old"]["filed_on"] is None or detail["old"]["filing_ended_on"] is not None:
            entered[detail["obligation_id"]] = at
    return [Deadline(*(*row, entered.get(row.id))) for row in found]


def _parts(sight: Sight, subject_id: int) -> Asked:
    query = (
        select(Subject.id, Subject.reference, Subject.title)
        .where(Subject.org_id == sight.org, Subject.part_of_id == subject_id, sight.covers(Subject))
        .order_by(Subject.reference_key, Subject.id)
    )
    return query.limit(PARTS_SHOWN)


def _post_holders_asked(org: int, subject_id: int) -> Asked:
    held, at_site = SitePost, (Subject.site_id == SitePost.site_id) & (Subject.owner_post_id == SitePost.post_id)
    return (
        select(Member.name, held.from_on, held.until_on)
        .join(held, and_(held.org_id == org, held.member_id == Member.id))
        .join(Subject, and_(Subject.org_id == org, at_site))
        .where(Member.org_id == org, Subject.id == subject_id)
        .order_by(Member.name)
    )


def _post_holders(found: Found, today: dt.date | None) -> list[str]:
    """Who holds the post that is responsible, at the site, today."""
    return [
        row.name
        for row in found
        if today is not None and row.from_on <= today and (row.until_on is None or row.until_on >= today)
    ]


def _watch(sight: Sight, register: Register, people: People) -> tuple[Gap | None, list[Watching]]:
    """Why nobody watches the entry, if nobody does; and the rules in force that are about it."""
    (subject,) = register.subjects
    judge = watched.Judge(register, people, sight.now)
    gap = None if subject.status == Status.archived else judge.gap_of(subject)
    rules = Reach(register).rules_for(subject)
    notices: defaultdict[int, list[str]] = defaultdict(list)
    for row in register.thresholds:
        notices[row.rule_id].append(row.threshold)
    found = [Watching(rule.id, rule.name, in_order(notices[rule.id]), rule.only_if) for rule in rules]
    return gap, sorted(found, key=lambda rule: rule.name)
