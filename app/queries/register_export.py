"""The register for a file: the entries that match, or those named, some at a time as the database gives them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, literal, select
from sqlalchemy.orm import Session, aliased

from app.domain.recipients import POST
from app.models import Member, Post, Subject
from app.models.mistaken import archived_in_error
from app.queries.register import Filters, Line, read_lines
from app.queries.sight import Sight


@dataclass(frozen=True)
class Exported:
    """One entry with what the list does not show.

    People are by e-mail or number, and a post is `post:NAME`, as an import knows them.
    """

    line: Line
    owner: str | None
    holder: str | None
    recurrence: str | None
    recurrence_basis: str | None
    due_from: str | None
    legal_basis: str
    notes: str


def read_exported(
    session: Session, sight: Sight, filters: Filters, ids: Collection[int] | None = None
) -> Iterator[Exported]:
    """The entries in the order of the list; with ids, only those of them.

    What was archived as entered in error is no part of the register: an import of the file would bring it back.
    """
    for lines in read_lines(session, sight, filters, ids):
        more = _more(session, sight.org, [line.id for line in lines])
        for line in lines:
            if line.id in more:
                yield Exported(line, *more[line.id])


def _more(session: Session, org: int, ids: Collection[int]) -> dict[int, Any]:
    owner, holder = aliased(Member), aliased(Member)
    in_error = select(archived_in_error(org, Subject.id.in_(ids)).c.id)
    query = (
        select(
            Subject.id, owner.email, owner.number, literal(f"{POST}:") + Post.name, holder.email, holder.number,
            Subject.recurrence, Subject.recurrence_basis, Subject.due_from, Subject.legal_basis, Subject.notes,
        )
        .outerjoin(owner, and_(owner.org_id == org, owner.id == Subject.owner_member_id))
        .outerjoin(holder, and_(holder.org_id == org, holder.id == Subject.holder_id))
        .outerjoin(Post, and_(Post.org_id == org, Post.id == Subject.owner_post_id))
        .where(Subject.org_id == org, Subject.id.in_(ids), Subject.id.not_in(in_error))
    )  # fmt: skip
    rows: Any = session.execute(query)
    return {row[0]: (row[1] or row[2] or row[3], row[4] or row[5], *row[6:]) for row in rows}
