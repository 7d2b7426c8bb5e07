"""The register of a report: each entry as it stood, its next deadline, and the paper in force with its file.

As it stood at the end of the last day that was asked for, at each site by its own clock, worked out as on the page of a
past day (`app/queries/as_of.py`); without such a day, as it stands.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import and_, exists, or_, select
from sqlalchemy.orm import Session, aliased

from app.domain.calendars import DAY
from app.domain.errors import UnusableZone
from app.domain.hindsight import Deadline, Entry
from app.models import Attachment, Document, Kind, Member, Obligation, Post, Site, Subject
from app.queries.alerts import start_of
from app.queries.as_of import entries_at
from app.queries.names import Names, read_names_of_entries
from app.queries.report.scope import Scope, portions


@dataclass(frozen=True)
class EntryRow:
    """An entry by the columns of its query, in the names that places and people have now."""

    id: int
    reference: str
    timezone: str
    title: str
    kind: str
    site: str | None  # None where it then was at a site that the reader may not see.
    whole: str | None
    status: str
    snoozed_until: dt.date | None
    owner_member_id: int | None
    owner: str | None
    owner_post: str | None
    holder_id: int | None
    holder: str | None
    recurrence: str | None
    recurrence_basis: str | None
    legal_basis: str
    notes: str


@dataclass(frozen=True)
class DeadlineRow:
    """An open deadline, and what is pending with the authority."""

    id: int
    due_on: dt.date
    filed_on: dt.date | None
    filed_reference: str | None
    filing_ended_on: dt.date | None
    in_force_meanwhile: str | None


FILED = ("filed_on", "filed_reference", "filing_ended_on", "in_force_meanwhile")
Found = dict[int, tuple[EntryRow, Sequence[DeadlineRow]]]  # By entry.


@dataclass(frozen=True)
class PaperFacts:
    """A paper that nothing has replaced, with the file that proves it: by name and hash."""

    subject_id: int
    number: str
    issuer: str
    issued_on: dt.date | None
    valid_from: dt.date | None
    valid_until: dt.date | None
    files: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class EntryFacts:
    """One entry. Deadlines are the open ones, the next one first."""

    row: EntryRow
    deadlines: Sequence[DeadlineRow]
    papers: Sequence[PaperFacts]


def ends_at(scope: Scope, timezone: str) -> dt.datetime | None:
    """The end of the last day of the report in this zone; None where it is not over, or none was asked for."""
    if scope.asked.to_on is None:
        return None
    try:
        end = start_of(scope.asked.to_on + DAY, timezone)
    except UnusableZone:
        end = scope.until
    return end if end < scope.sight.now else None


def read_entries(session: Session, scope: Scope) -> Iterator[EntryFacts]:
    """By site, reference and number."""
    names = read_names_of_entries(session, scope.org) if scope.asked.to_on else Names()
    for rows in portions(session, _entries(scope)):
        by_end = defaultdict[dt.datetime | None, dict[int, EntryRow]](dict)
        for row in rows:
            by_end[ends_at(scope, row.timezone)][row.id] = EntryRow(**row._mapping)
        papers, found = defaultdict[int, list[PaperFacts]](list), Found()
        for end, entries in by_end.items():
            found |= _now(session, scope, entries) if end is None else _then(session, scope, entries, end, names)
            papers |= _papers(session, scope.org, entries, end)
        for row in rows:
            if row.id in found:
                yield EntryFacts(*found[row.id], papers[row.id])


def _now(session: Session, scope: Scope, entries: Mapping[int, EntryRow]) -> Found:
    deadlines = _deadlines(session, scope.org, entries)
    return {id: (row, deadlines[id]) for id, row in entries.items()}


def _then(session: Session, scope: Scope, entries: Mapping[int, EntryRow], end: dt.datetime, names: Names) -> Found:
    """As they were right before this instant, without those that were entered later."""
    then = {id: one for id, one in entries_at(session, scope.org, list(entries), end).items() if one.exists}
    wholes = _wholes(session, scope, {one.facts["part_of_id"] for one in then.values()})
    rows = {id: _row_then(entries[id], one, names, scope) for id, one in then.items()}
    return {
        id: (replace(rows[id], whole=wholes.get(one.facts["part_of_id"])), _open(one.deadlines))
        for id, one in then.items()
    }


def _row_then(row: EntryRow, then: Entry, names: Names, scope: Scope) -> EntryRow:
    facts = then.facts
    snoozed, site = facts["snoozed_until"], scope.sight.sites.get(facts["site_id"])
    plain = ("title", "status", "owner_member_id", "holder_id", "recurrence", "recurrence_basis")
    return replace(
        row,
        **{name: facts[name] for name in plain},
        legal_basis=facts["legal_basis"] or "",
        notes=facts["notes"] or "",
        kind=names.of("kind_id", facts["kind_id"]) or row.kind,
        site=site.name if site else None,
        snoozed_until=dt.date.fromisoformat(snoozed) if isinstance(snoozed, str) else snoozed,
        owner=names.of("member_id", facts["owner_member_id"]),
        owner_post=names.of("post_id", facts["owner_post_id"]),
        holder=names.of("holder_id", facts["holder_id"]),
    )


def _open(deadlines: Mapping[int, Deadline]) -> list[DeadlineRow]:
    open_ones = ((id, one) for id, one in deadlines.items() if one.outcome is None)
    found = [DeadlineRow(id, one.due_on, **{name: one.filing.get(name) for name in FILED}) for id, one in open_ones]
    return sorted(found, key=lambda one: (one.due_on, one.id))


def _wholes(session: Session, scope: Scope, ids: Collection[int | None]) -> Mapping[int, str]:
    """The references of those that are seen."""
    known = [id for id in ids if id is not None]
    query = select(Subject.id, Subject.reference).where(Subject.org_id == scope.org, scope.sight.covers(Subject))
    return {row.id: row.reference for row in session.execute(query.where(Subject.id.in_(known)))} if known else {}


def _entries(scope: Scope) -> Any:
    org, holder, whole = scope.org, aliased(Member), aliased(Subject)
    columns: list[Any] = [
        *(Subject.id, Subject.reference, Site.timezone, Subject.title, Kind.name.label("kind")),
        *(Site.name.label("site"), whole.reference.label("whole"), Subject.status),
        *(Subject.snoozed_until, Subject.owner_member_id, Member.name.label("owner"), Post.name.label("owner_post")),
        *(holder.name.label("holder"), Subject.holder_id, Subject.recurrence, Subject.recurrence_basis),
        *(Subject.legal_basis, Subject.notes),
    ]
    return (
        select(*columns)
        .join(Kind, and_(Kind.org_id == org, Kind.id == Subject.kind_id))
        .join(Site, and_(Site.org_id == org, Site.id == Subject.site_id))
        .outerjoin(Member, and_(Member.org_id == org, Member.id == Subject.owner_member_id))
        .outerjoin(Post, and_(Post.org_id == org, Post.id == Subject.owner_post_id))
        .outerjoin(holder, and_(holder.org_id == org, holder.id == Subject.holder_id))
        .outerjoin(whole, and_(whole.org_id == org, whole.id == Subject.part_of_id, scope.sight.covers(whole)))
        .where(scope.entries())
        .order_by(Site.name, Subject.reference_key, Subject.id)
    )


def _deadlines(session: Session, org: int, subject_ids: Collection[int]) -> Mapping[int, list[DeadlineRow]]:
    one, found = Obligation, defaultdict[int, list[DeadlineRow]](list)
    columns = [one.subject_id, one.id, one.due_on, *(getattr(one, name) for name in FILED)]
    query = select(*columns).where(one.org_id == org, one.closed_at.is_(None), one.subject_id.in_(subject_ids))
    for subject_id, *facts in session.execute(query.order_by(one.due_on, one.id)):
        found[subject_id].append(DeadlineRow(*facts))
    return found


def _papers(
    session: Session, org: int, subject_ids: Collection[int], end: dt.datetime | None
) -> dict[int, list[PaperFacts]]:
    """By entry the papers that were in force then, the last one first."""
    found = defaultdict[int, list[PaperFacts]](list)
    rows: Sequence[Any] = session.execute(_current(org, subject_ids, end)).all()
    files = _files(session, org, [row.id for row in rows], end)
    for row in rows:
        found[row.subject_id].append(PaperFacts(*(*row[1:], files[row.id])))
    return found


def _current(org: int, subject_ids: Collection[int], end: dt.datetime | None) -> Any:
    """What was added by then, and neither withdrawn nor replaced."""
    one, later = Document, aliased(Document)
    columns = (one.subject_id, one.number, one.issuer, one.issued_on, one.valid_from, one.valid_until)
    replaced = exists().where(later.org_id == org, later.replaces_id == one.id, *_there(later, end))
    mine = (one.org_id == org, one.subject_id.in_(subject_ids), one.is_proof.is_(False), *_there(one, end))
    return select(one.id, *columns).where(*mine, ~replaced.correlate(one)).order_by(one.id.desc())


def _there(paper: Any, end: dt.datetime | None) -> list[Any]:
    if end is None:
        return [paper.withdrawn_at.is_(None)]
    return [paper.added_at < end, or_(paper.withdrawn_at.is_(None), paper.withdrawn_at >= end)]


def _files(
    session: Session, org: int, document_ids: Collection[int], end: dt.datetime | None
) -> Mapping[int, list[tuple[str, str]]]:
    one, found = Attachment, defaultdict[int, list[tuple[str, str]]](list)
    query = select(one.document_id, one.file_name, one.sha256).where(one.org_id == org)
    if end is not None:
        query = query.where(one.added_at < end)
    for document_id, name, sha256 in session.execute(query.where(one.document_id.in_(document_ids)).order_by(one.id)):
        found[document_id or 0].append((name, sha256))
    return found
