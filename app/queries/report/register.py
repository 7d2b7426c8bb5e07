"""The register of a report: each entry as it stands, its next deadline, and the paper in force with its file."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, exists, select
from sqlalchemy.orm import Session, aliased

from app.models import Attachment, Document, Kind, Member, Obligation, Post, Site, Subject
from app.queries.report.scope import Scope, portions


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
    """One entry. `row` has the columns of its query; deadlines are the open ones, the next one first."""

    row: Any
    deadlines: Sequence[Any]
    papers: Sequence[PaperFacts]


def read_entries(session: Session, scope: Scope) -> Iterator[EntryFacts]:
    """By site, reference and number."""
    for rows in portions(session, _entries(scope)):
        ids = [row.id for row in rows]
        deadlines, papers = _deadlines(session, scope.org, ids), _papers(session, scope.org, ids)
        for row in rows:
            yield EntryFacts(row, deadlines[row.id], papers[row.id])


def _entries(scope: Scope) -> Any:
    org, holder, whole = scope.org, aliased(Member), aliased(Subject)
    columns: list[Any] = [
        *(Subject.id, Subject.reference, Subject.title, Kind.name.label("kind"), Kind.wording),
        *(Site.name.label("site"), Site.timezone, whole.reference.label("whole"), Subject.status),
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


def _deadlines(session: Session, org: int, subject_ids: Collection[int]) -> Mapping[int, list[Any]]:
    one, found = Obligation, defaultdict[int, list[Any]](list)
    columns = (one.subject_id, one.id, one.due_on, one.filed_on, one.filed_reference, one.filing_ended_on)
    query = select(*columns, one.in_force_meanwhile).where(one.org_id == org, one.closed_at.is_(None))
    for row in session.execute(query.where(one.subject_id.in_(subject_ids)).order_by(one.due_on, one.id)):
        found[row.subject_id].append(row)
    return found


def _papers(session: Session, org: int, subject_ids: Collection[int]) -> Mapping[int, list[PaperFacts]]:
    one, later, found = Document, aliased(Document), defaultdict[int, list[PaperFacts]](list)
    columns = (one.subject_id, one.number, one.issuer, one.issued_on, one.valid_from, one.valid_until)
    replaced = exists().where(later.org_id == org, later.replaces_id == one.id, later.withdrawn_at.is_(None))
    current = (one.withdrawn_at.is_(None), one.is_proof.is_(False), ~replaced.correlate(one))
    query = select(one.id, *columns).where(one.org_id == org, one.subject_id.in_(subject_ids), *current)
    rows: Sequence[Any] = session.execute(query.order_by(one.id.desc())).all()
    files = _files(session, org, [row.id for row in rows])
    for row in rows:
        found[row.subject_id].append(PaperFacts(*(*row[1:], files[row.id])))
    return found


def _files(session: Session, org: int, document_ids: Collection[int]) -> Mapping[int, list[tuple[str, str]]]:
    one, found = Attachment, defaultdict[int, list[tuple[str, str]]](list)
    query = select(one.document_id, one.file_name, one.sha256).where(one.org_id == org)
    for document_id, name, sha256 in session.execute(query.where(one.document_id.in_(document_ids)).order_by(one.id)):
        found[document_id or 0].append((name, sha256))
    return found
