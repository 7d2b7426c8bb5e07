"""Several selects in one question: what a page shows of small tables needs one way to the database, not one for each.

Each select becomes a column of one row, its rows a JSON array; columns come back as the types that they were declared
with. For lists that fit a page: what may grow with the register is asked for by itself.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sqlalchemy import ARRAY, JSON, ColumnElement, CompoundSelect, Result, Select, Subquery, TextualSelect, func, select
from sqlalchemy.engine import IteratorResult
from sqlalchemy.engine.result import SimpleResultMetaData
from sqlalchemy.orm import Session
from sqlalchemy.types import TypeEngine

Asked = Select[*tuple[Any, ...]] | CompoundSelect[*tuple[Any, ...]] | TextualSelect
Found = Result[*tuple[Any, ...]]
Reader = Callable[[Any], Any]

# What JSON writes as a text or a number, by the type that it is of in Python.
READERS: Mapping[type, Reader] = MappingProxyType(
    {
        dt.date: dt.date.fromisoformat,
        dt.datetime: dt.datetime.fromisoformat,
        dt.time: dt.time.fromisoformat,
        dt.timedelta: lambda seconds: dt.timedelta(seconds=seconds),
        uuid.UUID: uuid.UUID,
    }
)
AS_THEY_ARE = (bool, int, str, float)


def together(session: Session, *asked: Asked, given: Mapping[str, Any] = MappingProxyType({})) -> tuple[Found, ...]:
    """The results of these selects, in their order, all as one statement sees them. `given` are values by name.

    Raises TypeError for a column whose values JSON cannot carry.
    """
    parts = [one.subquery() for one in asked]
    readers = [[_reader(column.type) for column in part.c] for part in parts]
    lists = [
        select(func.json_agg(func.json_build_array(*map(_carried, part.c)), type_=JSON)).scalar_subquery()
        for part in parts
    ]
    found = session.execute(select(*lists), dict(given)).one()
    return tuple(_result(part, reads, rows or ()) for part, reads, rows in zip(parts, readers, found, strict=True))


def _result(part: Subquery, readers: Sequence[Reader | None], rows: Sequence[Any]) -> Found:
    names = SimpleResultMetaData([column.key for column in part.c])
    return IteratorResult(names, (_row(readers, row) for row in rows))


def _carried(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """A length of time travels as its seconds: how PostgreSQL writes it depends on the session."""
    return func.extract("epoch", column) if column.type.python_type is dt.timedelta else column


def _row(readers: Sequence[Reader | None], values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(
        value if value is None or read is None else read(value) for read, value in zip(readers, values, strict=True)
    )


def _reader(of: TypeEngine[Any]) -> Reader | None:
    """What turns a value from JSON into that of the column; None where it is that already."""
    if isinstance(of, ARRAY):
        read = _reader(of.item_type)
        return None if read is None else lambda values: [None if one is None else read(one) for one in values]
    if isinstance(of, JSON):
        return None
    python = of.python_type
    if python in READERS:
        return READERS[python]
    if python not in AS_THEY_ARE:
        raise TypeError(f"JSON cannot carry {python.__name__}: ask for this column by itself")
    return None
