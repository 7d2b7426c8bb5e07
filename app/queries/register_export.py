"""The register for a file: the entries that match, or those named, some at a time as the database gives them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, select
from sqlalchemy.orm import Session, aliased

from app.models import Member, Subject
from app.queries.register import Filters, Line, read_lines
from app.queries.sight import Sight


@dataclass(frozen=True)
class Exported:
    """One entry with what the list does not show. People are by e-mail or number, as an import knows them."""

    line: Line
    owner: str | None
    holder: str | None
    recurrence: str | None
    recurrence_basis: str | None
    legal_basis: str
    notes: str


def read_exported(
    session: Session, sight: Sight, filters: Filters, ids: Collection[int] | None = None
) -> Iterator[Exported]:
    """The entries in the order of the list; with ids, only those of them."""
    for lines in read_lines(session, sight, filters, ids):
        more = _more(session, sight.org, [line.id for line in lines])
        for line in lines:
            yield Exported(line, *more[line.id])


def _more(session: Session, org: int, ids: Collection[int]) -> dict[int, Any]:
    owner, holder = aliased(Member), aliased(Member)
    query = (
        select(
            Subject.id, owner.email, owner.number, holder.email, holder.number, Subject.recurrence,
            Subject.recurrence_basis, Subject.legal_basis, Subject.notes,
        )
        .outerjoin(owner, and_(owner.org_id == org, owner.id == Subject.owner_member_id))
        .outerjoin(holder, and_(holder.org_id == org, holder.id == Subject.holder_id))
        .where(Subject.org_id == org, Subject.id.in_(ids))
    )  # fmt: skip
    rows: Any = session.execute(query)
    return {row[0]: (row[1] or row[2], row[3] or row[4], *row[5:]) for row in rows}
