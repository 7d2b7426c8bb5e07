"""The papers of an entry and their files: what the page shows, what the search finds, and one file to give back."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, select
from sqlalchemy.orm import Session, aliased

from app.domain.folding import fold_reference
from app.models import Acknowledgement, Attachment, Document, Member, NotificationLedger, Subject
from app.queries.sight import Sight
from app.queries.together import Asked, Found, together

LAST_CHARACTER = "\U0010ffff"  # Behind every text that begins alike.


@dataclass(frozen=True)
class File:
    """A file of a paper, without its content; one that was dropped has none."""

    id: int
    document_id: int
    file_name: str
    media_type: str
    size: int
    sha256: str
    is_dropped: bool


@dataclass(frozen=True)
class Paper:
    """One paper of an entry. `replaced_by` is the number of the one that replaces it, `replaces` of the one before."""

    id: int
    number: str
    issuer: str
    issued_on: dt.date | None
    valid_from: dt.date | None
    valid_until: dt.date | None
    note: str
    obligation_id: int | None
    is_proof: bool
    added_at: dt.datetime
    added_by: str | None
    withdrawn_at: dt.datetime | None
    withdrawn_by: str | None
    disproved_at: dt.datetime | None
    replaces: str | None
    replaced_by: str | None
    files: Sequence[File]

    @property
    def proves(self) -> bool:
        """Whether it proves its deadline, if it has one."""
        return self.withdrawn_at is None and self.disproved_at is None

    @property
    def is_current(self) -> bool:
        return self.withdrawn_at is None and self.replaced_by is None and not self.is_proof


@dataclass(frozen=True)
class FoundPaper:
    """A paper whose number was searched for, and what has become of it."""

    subject_id: int
    number: str
    replaced_by: str | None
    is_withdrawn: bool


@dataclass(frozen=True)
class Content:
    """A file to give back."""

    file_name: str
    media_type: str
    content: bytes


def read_papers(session: Session, org: int, subject_id: int) -> list[Paper]:
    """The papers of an entry that the person may see, the last one first."""
    return papers_of(*together(session, *papers_asked(org, subject_id)))


def papers_asked(org: int, subject_id: int) -> tuple[Asked, Asked]:
    """The selects whose results `papers_of` takes: the papers, and their files."""
    one, before, later, adder, remover = (
        Document,
        aliased(Document),
        aliased(Document),
        aliased(Member),
        aliased(Member),
    )
    query = (
        select(
            one.id, one.number, one.issuer, one.issued_on, one.valid_from, one.valid_until, one.note,
            one.obligation_id, one.is_proof, one.added_at, adder.name, one.withdrawn_at, remover.name,
            one.disproved_at, before.number, later.number,
        )
        .outerjoin(before, and_(before.org_id == org, before.id == one.replaces_id))
        .outerjoin(later, _replaces(org, later, one))
        .outerjoin(adder, and_(adder.org_id == org, adder.id == one.added_by))
        .outerjoin(remover, and_(remover.org_id == org, remover.id == one.withdrawn_by))
        .where(one.org_id == org, one.subject_id == subject_id)
        .order_by(one.id.desc())
    )  # fmt: skip
    file = Attachment
    columns = (
        file.id, file.document_id, file.file_name, file.media_type, file.size, file.sha256, file.dropped_at.is_not(None)
    )  # fmt: skip
    files = select(*columns).join(one, and_(one.org_id == org, one.id == file.document_id))
    return query, files.where(file.org_id == org, one.subject_id == subject_id).order_by(file.id)


def papers_of(papers: Found, files: Found) -> list[Paper]:
    of_paper = defaultdict[int, list[File]](list)
    for row in files:
        of_paper[row.document_id].append(File(*row))
    return [Paper(*(*row, of_paper.get(row.id, ()))) for row in papers]


def _replaces(org: int, later: type[Document], one: type[Document]) -> ColumnElement[bool]:
    return and_(later.org_id == org, later.replaces_id == one.id, later.withdrawn_at.is_(None))


def read_file(session: Session, sight: Sight, subject_id: int, attachment_id: int) -> Content | None:
    """The file of an entry, of a paper or of an answer, or None where there is none that the person may see."""
    keeper, answer, claim = aliased(Attachment), Acknowledgement, NotificationLedger
    content = func.coalesce(Attachment.content, keeper.content)
    query = (
        select(Attachment.file_name, Attachment.media_type, content)
        .outerjoin(Document, and_(Document.org_id == sight.org, Document.id == Attachment.document_id))
        .outerjoin(answer, and_(answer.org_id == sight.org, answer.id == Attachment.acknowledgement_id))
        .outerjoin(claim, and_(claim.org_id == sight.org, claim.id == answer.claim_id))
        .join(Subject, Subject.id == func.coalesce(Document.subject_id, claim.subject_id))
        .outerjoin(keeper, and_(keeper.org_id == sight.org, keeper.id == Attachment.same_as_id))
        .where(Attachment.org_id == sight.org, Attachment.id == attachment_id, Attachment.dropped_at.is_(None))
        .where(Subject.org_id == sight.org, Subject.id == subject_id, sight.covers(Subject))
    )
    row: Any = session.execute(query).one_or_none()
    return Content(*row) if row else None


def begins_with(text: str) -> ColumnElement[bool]:
    """Whether the number of a paper begins so. Behind row-level security no index serves LIKE; it serves these two."""
    key, column = fold_reference(text), Document.number_key
    return and_(column.op("~>=~")(key), column.op("~<~")(key + LAST_CHARACTER))


def numbered(org: int, text: str) -> Select[Any]:
    """The entries that ever had a paper whose number begins so."""
    return select(Document.subject_id).where(Document.org_id == org, begins_with(text))


def read_found(
    session: Session, org: int, text: str, subject_ids: Collection[int]
) -> Mapping[int, Sequence[FoundPaper]]:
    """By entry, the papers whose numbers begin so, and what has become of each."""
    one, later, found = Document, aliased(Document), defaultdict[int, list[FoundPaper]](list)
    query = (
        select(one.subject_id, one.number, later.number, one.withdrawn_at.is_not(None))
        .outerjoin(later, _replaces(org, later, one))
        .where(one.org_id == org, one.subject_id.in_(subject_ids), begins_with(text))
        .order_by(one.id.desc())
    )
    rows: Sequence[Any] = session.execute(query).all()
    for row in rows:
        found[row.subject_id].append(FoundPaper(*row))
    return found
