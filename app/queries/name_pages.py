"""Pages of a list in the order of its names: fifty rows, and the row after which the next page begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import Select, func, literal, select, tuple_
from sqlalchemy.orm import Session

ROWS = 50

Line = TypeVar("Line")


@dataclass(frozen=True)
class NamePage(Generic[Line]):
    """`after` is the id that the next page follows on, or None at the end."""

    lines: Sequence[Line]
    after: int | None


def page(
    session: Session, org: int, query: Select[Any], table: Any, after: int | None, line: Callable[[Any], Line]
) -> NamePage[Line]:
    """The rows of a query whose columns begin with the id of `table`. An unknown `after` is the first page."""
    name = func.lower(table.name)
    if after is not None:
        last = session.execute(select(name).where(table.org_id == org, table.id == after)).scalar_one_or_none()
        if last is not None:
            query = query.where(tuple_(name, table.id) > tuple_(literal(last), literal(after)))
    rows = session.execute(query.order_by(name, table.id).limit(ROWS + 1)).all()
    shown = rows[:ROWS]
    return NamePage([line(row) for row in shown], shown[-1][0] if len(rows) > ROWS else None)
