"""Pages of a list by their key: the next page begins after the last row that was shown, whatever came in meanwhile.

The key is two whole numbers, so that it fits in an address: a rank (a day or an instant, counted) and a unique id.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import BigInteger, ColumnElement, SQLColumnExpression, cast, extract, literal

from app.domain.calendars import FIRST_DAY

PAGE = 50  # Rows: about three screens.
CURSOR = re.compile(r"(-?[0-9]{1,18})\.([0-9]{1,18})")
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MICROSECOND = dt.timedelta(microseconds=1)

Row = TypeVar("Row")
Cursor = tuple[int, int]


@dataclass(frozen=True)
class Page(Generic[Row]):
    """At most PAGE rows, and the text that leads to the next ones, if there are any."""

    rows: list[Row]
    after: str | None = None


def read_cursor(text: str) -> Cursor | None:
    """The place after which a page begins; what cannot be read is the beginning."""
    found = CURSOR.fullmatch(text)
    return (int(found[1]), int(found[2])) if found else None


def page_of(found: Sequence[Row], key: Callable[[Row], Cursor]) -> Page[Row]:
    """The page of PAGE + 1 rows that were asked for: the one too many only says that there is more."""
    rows = list(found[:PAGE])
    return Page(rows, "{}.{}".format(*key(rows[-1])) if len(found) > PAGE else None)


def micros(instant: dt.datetime) -> int:
    """Microseconds since 1970, exactly as PostgreSQL keeps an instant."""
    return (instant - EPOCH) // MICROSECOND


def instant_of(rank: int) -> dt.datetime:
    """The instant of a rank; one that no calendar has is the beginning of time."""
    try:
        return EPOCH + rank * MICROSECOND
    except OverflowError:
        return EPOCH


def rank_of_instant(column: SQLColumnExpression[Any]) -> ColumnElement[int]:
    return cast(extract("epoch", column) * 1_000_000, BigInteger)


def rank_of_day(column: SQLColumnExpression[Any]) -> ColumnElement[int]:
    return cast(column - literal(FIRST_DAY), BigInteger)
