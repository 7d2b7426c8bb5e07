"""What was brought in, and what is being brought in: files that wait, imports, and what is left of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Text, and_, cast, func, literal, select
from sqlalchemy.orm import Session, aliased

from app.domain.acts import Contents
from app.models import AuditEvent, ImportRun, ImportUpload, Member
from app.queries.keyset import Cursor, Page, page_of


@dataclass(frozen=True)
class Waiting:
    """A file that was uploaded and not applied."""

    id: int
    at: dt.datetime
    file_name: str
    member: str


@dataclass(frozen=True)
class Run:
    """An import that was applied, and since when it is in error. `by` and `in_error_by` are empty for the operator."""

    id: int
    at: dt.datetime
    file_name: str
    file_sha256: str
    counts: Mapping[str, int]
    by: str | None
    in_error_at: dt.datetime | None
    in_error_by: str | None
    in_error_note: str


@dataclass(frozen=True)
class Record:
    """One record that needs a person."""

    line: int
    outcome: str
    reason: str
    reference: str
    title: str
    site: str
    due_on: dt.date | None


def read_waiting(session: Session, org: int, contents: Contents = Contents.register) -> Sequence[Waiting]:
    query = select(ImportUpload.id, ImportUpload.at, ImportUpload.file_name, Member.name)
    query = query.join(Member, and_(Member.org_id == org, Member.id == ImportUpload.member_id))
    query = query.where(ImportUpload.org_id == org, ImportUpload.import_run_id.is_(None))
    query = query.where(ImportUpload.contents == contents)
    return [Waiting(*row) for row in session.execute(query.order_by(ImportUpload.id.desc()))]


def read_runs(
    session: Session, org: int, after: Cursor | None = None, contents: Contents = Contents.register
) -> Page[Run]:
    """The imports, the last one first."""
    query = _runs(org, contents).order_by(ImportRun.id.desc()).limit(51)
    if after is not None:
        query = query.where(ImportRun.id < after[1])
    return page_of([Run(*row) for row in session.execute(query)], lambda run: (0, run.id))


def read_run(session: Session, org: int, import_run_id: int, contents: Contents = Contents.register) -> Run | None:
    row = session.execute(_runs(org, contents).where(ImportRun.id == import_run_id)).one_or_none()
    return Run(*row) if row else None


def read_run_of_file(
    session: Session, org: int, file_sha256: str, contents: Contents = Contents.register
) -> Run | None:
    """The last import of this very file."""
    query = _runs(org, contents).where(ImportRun.file_sha256 == file_sha256).order_by(ImportRun.id.desc()).limit(1)
    row = session.execute(query).one_or_none()
    return Run(*row) if row else None


def _runs(org: int, contents: Contents) -> Any:
    run, other = ImportRun, aliased(Member)
    columns = (run.id, run.at, run.file_name, run.file_sha256, run.counts, Member.name)
    query = select(*columns, run.in_error_at, other.name, run.in_error_note)
    query = query.outerjoin(Member, _is(Member, org, run.actor))
    return query.outerjoin(other, _is(other, org, run.in_error_by)).where(run.org_id == org, run.contents == contents)


def _is(member: Any, org: int, actor: Any) -> Any:
    """Whether the actor is this member."""
    return and_(member.org_id == org, literal("member:") + cast(member.id, Text) == actor)


def read_records(session: Session, org: int, import_run_id: int, outcomes: Sequence[str], most: int) -> list[Record]:
    """The records with one of these outcomes, in the order of the file, at most so many."""
    rows = func.jsonb_array_elements(ImportRun.rows).table_valued("value").alias("kept")
    record: Any = rows.c.value
    query = select(record).select_from(ImportRun).join(rows, literal(True))
    query = query.where(ImportRun.org_id == org, ImportRun.id == import_run_id)
    query = query.where(record.op("->>")("outcome").in_(outcomes)).limit(most)
    return [_record(row) for row in session.scalars(query)]


def _record(kept: Mapping[str, Any]) -> Record:
    due_on = kept["due_on"]
    return Record(**{**kept, "due_on": dt.date.fromisoformat(due_on) if due_on else None})


def count_touched(session: Session, org: int, run: Run) -> int:
    """How many entries the import made or changed, by the trail; its events bear its instant."""
    event = AuditEvent
    query = select(func.count(event.subject_id.distinct())).where(event.org_id == org, event.at == run.at)
    return int(session.scalar(query.where(event.detail["import_run_id"].as_integer() == run.id)) or 0)


def read_left_over(session: Session, org: int, import_run_id: int) -> list[Any] | None:
    """What is left to mend, as it was kept; None for an import by a command, of which no cells are kept."""
    query = select(ImportUpload.left_over).where(ImportUpload.org_id == org)
    return session.scalar(query.where(ImportUpload.import_run_id == import_run_id).limit(1))
