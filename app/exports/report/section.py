"""One section of a report: its columns, and its rows as they were read once and are kept in a file until all is written.

So every format has the same rows under the same numbers, however long a section is, and nothing of it in memory.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from app.exports.tables import Cell, Row
from app.wording import gettext, later

NONE = later("none")  # What an empty section says.


class Sort(StrEnum):
    """What a column holds."""

    text = "text"
    number = "number"
    date = "date"


@dataclass(frozen=True)
class Column:
    """`key` is for programs and stays; `name` is for people, in their language, within the frame of an instant."""

    key: str
    english: str
    sort: Sort = Sort.text
    frame: str = ""

    @property
    def name(self) -> str:
        name = gettext(self.english)
        return gettext(self.frame, name=name) if self.frame else name


def number(key: str, name: str) -> Column:
    return Column(key, name, Sort.number)


def date(key: str, name: str) -> Column:
    return Column(key, name, Sort.date)


UTC, SITE = later("%(name)s (UTC)"), later("%(name)s (site time)")


def instant(key: str, name: str) -> tuple[Column, Column]:
    """An instant has two columns: in UTC, and as the clocks of the site showed it."""
    return Column(f"{key}_utc", name, frame=UTC), Column(f"{key}_local", name, frame=SITE)


@dataclass(frozen=True)
class Group:
    """Columns that stand in one cell on paper, where there is no room for each. An instant is named by its own key."""

    english: str
    keys: tuple[str, ...]
    share: float = 1.0  # Of the width, as compared with the other groups.

    @property
    def name(self) -> str:
        return gettext(self.english)


@dataclass(frozen=True)
class Plan:
    """What a section is, before it is read. `sentence` names the column that says in words what a row is about."""

    key: str
    english: str
    described: str
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]
    sentence: str | None = None


@dataclass(frozen=True)
class Section:
    """A section that was read: row 1 is the first one, in every format."""

    plan: Plan
    path: Path
    count: int

    @property
    def key(self) -> str:
        return self.plan.key

    @property
    def name(self) -> str:
        return gettext(self.plan.english)

    @property
    def about(self) -> str:
        return gettext(self.plan.described)

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.plan.columns

    def rows(self) -> Iterator[Row]:
        """The rows again, from the file."""
        dates = [column.sort is Sort.date for column in self.columns]
        with self.path.open(encoding="utf-8") as lines:
            for line in lines:
                yield [_date(cell) if is_date else cell for cell, is_date in zip(json.loads(line), dates, strict=True)]


def _date(cell: str | None) -> dt.date | None:
    return dt.date.fromisoformat(cell) if cell else None


def keep(plan: Plan, rows: Iterable[Sequence[Cell]], folder: Path, told: Callable[[int], None]) -> Section:
    """Read the rows once and keep them in a file; `told` hears now and then how many there are."""
    path, count = folder / f"{plan.key}.jsonl", 0
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            cells = [cell.isoformat() if isinstance(cell, dt.date) else cell for cell in row]
            file.write(json.dumps(cells, ensure_ascii=False) + "\n")
            count += 1
            if count % TELL_EVERY == 0:
                told(count)
    told(count)
    return Section(plan, path, count)


TELL_EVERY = 2000  # Rows: some ten times a second.
