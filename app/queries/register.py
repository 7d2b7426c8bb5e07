"""The register as a list: one line an entry, parts under their whole, page by page.

Whatever is compared with today is compared with the site's own date, which comes worked out (P6). The key of a page is
what the list is sorted by, so that a page begins after the last line shown, whatever came in meanwhile.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
    Subquery,
    and_,
    case,
    func,
    literal,
    or_,
    select,
    tuple_,
)
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session, aliased

from app.domain.acts import InForce, Status
from app.domain.folding import fold_reference
from app.models import Kind, Member, Obligation, Post, Subject
from app.queries import watched
from app.queries.facts import read_register_and_people
from app.queries.keyset import PAGE
from app.queries.last_alerts import LastAlert, read_last_alerts
from app.queries.papers import FoundPaper, numbered, read_found
from app.queries.sight import Sight
from app.queries.together import Asked, Found
from app.queries.watched import Gap

SOON = dt.timedelta(days=30)  # What the list calls the next 30 days.
NEVER, LONG_AGO = "9999-12-31", "0000-01-01"  # Where an entry without an open deadline stands: last, either way.
AT_ONCE = 1_000  # Lines that are read at once where all of them are.
NOBODY = "nobody"  # The filter for entries without a responsible.

OWN_COLUMNS = (
    Subject.id, Subject.reference, Subject.reference_key, Subject.title, Subject.kind_id, Subject.site_id,
    Subject.owner_member_id, Subject.owner_post_id, Subject.status, Subject.snoozed_until,
)  # fmt: skip


class Shown(StrEnum):
    """Which entries the list shows."""

    all = "all"
    watched = "watched"
    not_watched = "not_watched"
    overdue = "overdue"
    soon = "soon"
    filed = "filed"
    paused = "paused"
    draft = "draft"
    out_of_service = "out_of_service"
    archived = "archived"
    no_date = "no_date"


class Sort(StrEnum):
    """What the list is sorted by."""

    due = "due"
    reference = "reference"
    by_title = "title"  # A text has a method of that name.
    site = "site"


@dataclass(frozen=True)
class Filters:
    """What a person asks of the list. `responsible` is `member:ID`, `post:ID` or `nobody`; empty means all."""

    text: str = ""
    site_id: int | None = None
    kind_id: int | None = None
    responsible: str = ""
    shown: Shown = Shown.all
    sort: Sort = Sort.due
    descending: bool = False
    due_from: dt.date | None = None  # Between these days, both included, an entry has an open deadline: that is shown.
    due_until: dt.date | None = None

    @property
    def is_dated(self) -> bool:
        return self.due_from is not None or self.due_until is not None


@dataclass(frozen=True)
class Line:
    """One entry in the list. `today` is the date at its site, None where its time zone cannot be used."""

    id: int
    reference: str
    title: str
    kind: str
    wording: str
    site: str
    timezone: str
    today: dt.date | None
    owner: str | None
    owner_post: str | None
    whole_reference: str | None
    status: str
    snoozed_until: dt.date | None
    obligation_id: int | None
    due_on: dt.date | None
    is_filed: bool
    in_force_meanwhile: str | None
    gap: Gap | None = None
    last_alert: LastAlert | None = None
    papers: Sequence[FoundPaper] = ()  # Those that were searched for by number.

    @property
    def is_filed_in_force(self) -> bool:
        return self.is_filed and self.in_force_meanwhile == InForce.yes

    @property
    def is_paused(self) -> bool:
        return bool(self.snoozed_until and self.today and self.today < self.snoozed_until)

    @property
    def days_left(self) -> int | None:
        return (self.due_on - self.today).days if self.due_on and self.today else None


@dataclass(frozen=True)
class Page:
    """At most PAGE lines, and the text that leads to the next ones, if there are any."""

    lines: Sequence[Line]
    after: str | None
    is_first: bool


def read_page(session: Session, sight: Sight, filters: Filters, after: str = "") -> Page:
    """The lines that the person sees and asks for. An `after` that cannot be read is the beginning."""
    entries = _entries(sight, filters)
    query = select(entries).where(*_conditions(session, sight, filters, entries))
    key = read_key(after)
    if key is not None:
        query = query.where(_beyond(entries, key, filters.descending))
    found = session.execute(query.order_by(*_in_order(filters, entries)).limit(PAGE + 1)).all()
    lines = [_line(dict(row._mapping), sight) for row in found[:PAGE]]
    lines = _with_papers(session, sight, filters.text.strip(), _told(session, sight, lines))
    return Page(lines, _key_of(dict(found[PAGE - 1]._mapping)) if len(found) > PAGE else None, key is None)


def read_lines(
    session: Session, sight: Sight, filters: Filters, ids: Collection[int] | None = None
) -> Iterator[list[Line]]:
    """All lines that the person sees and asks for, or of these entries, some at a time: never all are held at once."""
    entries = _entries(sight, filters)
    query = select(entries).where(*_conditions(session, sight, filters, entries))
    query = query if ids is None else query.where(entries.c.id.in_(ids))
    streamed = session.execute(query.order_by(*_in_order(filters, entries)), execution_options={"yield_per": AT_ONCE})
    for rows in streamed.partitions():
        yield _told(session, sight, [_line(dict(row._mapping), sight) for row in rows])


def _in_order(filters: Filters, entries: CTE) -> list[ColumnElement[Any]]:
    order = [entries.c.group_1, entries.c.group_2, entries.c.group_id]
    leading = [column.desc() for column in order] if filters.descending else order
    return [*leading, entries.c.is_part, entries.c.own_1, entries.c.own_2, entries.c.id]


def read_matching(session: Session, sight: Sight, filters: Filters) -> list[int]:
    """The ids of all entries that the person sees and asks for, whatever the page; in their order."""
    entries = _entries(sight, filters)
    query = select(entries.c.id).where(*_conditions(session, sight, filters, entries))
    return list(session.scalars(query.order_by(entries.c.id)))


def line_asked(sight: Sight, subject_id: int) -> Asked:
    """The select whose result `line_of` takes: an entry that the person may see."""
    entries = _entries(sight, Filters(sort=Sort.reference))
    return select(entries).where(entries.c.id == subject_id)


def line_of(asked: Found, sight: Sight) -> Line | None:
    """The line of one entry, without what was told of it and whether it is watched; None where there is none."""
    row = asked.one_or_none()
    return _line(dict(row._mapping), sight) if row else None


def _entries(sight: Sight, filters: Filters) -> CTE:
    """Every entry that the person sees, with its next open deadline and its place in the order."""
    org, whole, day, due = sight.org, aliased(Subject), sight.days(), _next_deadline(sight.org, filters)
    is_filed = and_(due.c.filed_on.is_not(None), due.c.filing_ended_on.is_(None))
    columns = (
        *OWN_COLUMNS, Kind.name.label("kind"), Kind.wording, Member.name.label("owner"), Post.name.label("owner_post"),
        whole.reference.label("whole_reference"), due.c.id.label("obligation_id"), due.c.due_on,
        func.coalesce(is_filed, False).label("is_filed"), due.c.in_force_meanwhile, day.c.today,
    )  # fmt: skip
    query = (
        select(*columns, *_order(sight, filters, whole, due.c.due_on))
        .join(Kind, and_(Kind.org_id == org, Kind.id == Subject.kind_id))
        .outerjoin(day, day.c.site_id == Subject.site_id)
        .outerjoin(Member, and_(Member.org_id == org, Member.id == Subject.owner_member_id))
        .outerjoin(Post, and_(Post.org_id == org, Post.id == Subject.owner_post_id))
        .outerjoin(whole, and_(whole.org_id == org, whole.id == Subject.part_of_id, sight.covers(whole)))
        .outerjoin(due, due.c.subject_id == Subject.id)
        .where(Subject.org_id == org, sight.covers(Subject))
    )
    return query.cte("entries")


def _next_deadline(org: int, filters: Filters) -> Subquery:
    """The open deadline of each entry that is due first, of the days that are asked for.

    For all at once, not entry by entry: right after an import, before the database has counted what is there, it
    would look for each one's among all of them.
    """
    open_ones = select(Obligation).where(Obligation.org_id == org, Obligation.closed_at.is_(None))
    if filters.due_from is not None:
        open_ones = open_ones.where(Obligation.due_on >= filters.due_from)
    if filters.due_until is not None:
        open_ones = open_ones.where(Obligation.due_on <= filters.due_until)
    first = open_ones.ext(distinct_on(Obligation.subject_id)).order_by(Obligation.subject_id, Obligation.due_on)
    return first.subquery("due")


def _order(sight: Sight, filters: Filters, whole: Any, due_on: ColumnElement[Any]) -> list[ColumnElement[Any]]:
    """The place of an entry: that of its whole (of the most urgent of them, by due date), then its own under it."""
    group_id = func.coalesce(whole.id, Subject.id)
    names = case({site.id: site.name for site in sight.sites.values()} or {0: ""}, value=Subject.site_id, else_="")
    of_whole = case({site.id: site.name for site in sight.sites.values()} or {0: ""}, value=whole.site_id, else_=names)
    last = LONG_AGO if filters.descending else NEVER
    dated = case(
        (or_(Subject.status == Status.archived, due_on.is_(None)), last), else_=func.to_char(due_on, "YYYY-MM-DD")
    )
    extreme = func.max(dated) if filters.descending else func.min(dated)
    whole_key = func.coalesce(whole.reference_key, Subject.reference_key)
    group_1, own_1 = {
        Sort.due: (extreme.over(partition_by=group_id), dated),
        Sort.reference: (whole_key, Subject.reference_key),
        Sort.by_title: (func.lower(func.coalesce(whole.title, Subject.title)), func.lower(Subject.title)),
        Sort.site: (of_whole, names),
    }[filters.sort]
    return [
        group_1.label("group_1"),
        whole_key.label("group_2"),
        group_id.label("group_id"),
        case((whole.id.is_(None), 0), else_=1).label("is_part"),
        own_1.label("own_1"),
        Subject.reference_key.label("own_2"),
    ]


def _conditions(session: Session, sight: Sight, filters: Filters, entries: CTE) -> list[ColumnElement[bool]]:
    found, columns = [], entries.c
    if filters.text.strip():
        found.append(matches(sight.org, filters.text, columns))
    if filters.site_id is not None:
        found.append(columns.site_id == filters.site_id)
    if filters.kind_id is not None:
        found.append(columns.kind_id == filters.kind_id)
    if filters.is_dated:
        found.append(columns.due_on.is_not(None))
        if filters.shown != Shown.archived:
            found.append(columns.status != Status.archived)  # Nothing is due of what is gone.
    if filters.responsible:
        found.append(_responsible(filters.responsible, columns))
    if filters.shown in (Shown.watched, Shown.not_watched):
        gaps = [row.subject_id for row in _unwatched(session, sight)]
        found += [columns.status != Status.archived]
        found.append(columns.id.not_in(gaps) if filters.shown == Shown.watched else columns.id.in_(gaps))
    elif filters.shown != Shown.all:
        found.append(_state(filters.shown, columns))
    return found


def matches(org: int, text: str, columns: Any) -> ColumnElement[bool]:
    """Whether a part of the reference or of the title is so, or a paper that the entry ever had has this number."""
    in_reference = columns.reference_key.contains(fold_reference(text), autoescape=True)
    in_title = columns.title.icontains(text.strip(), autoescape=True)
    return or_(in_reference, in_title, columns.id.in_(numbered(org, text)))


def _unwatched(session: Session, sight: Sight) -> list[watched.Unwatched]:
    return list(watched.unwatched(*read_register_and_people(session, sight.org), sight.now))


def _responsible(text: str, columns: Any) -> ColumnElement[bool]:
    route, _, number = text.partition(":")
    if text == NOBODY:
        return and_(columns.owner_member_id.is_(None), columns.owner_post_id.is_(None))
    column = {"member": columns.owner_member_id, "post": columns.owner_post_id}.get(route)
    if column is None or not number.isdecimal():
        return literal(False)
    return and_(column == int(number[:18]))


def _state(shown: Shown, columns: Any) -> ColumnElement[bool]:
    alive = columns.status.in_((Status.watched, Status.draft, Status.out_of_service))
    in_use = columns.status == Status.watched
    in_force = and_(columns.is_filed, columns.in_force_meanwhile.is_not_distinct_from(InForce.yes.value))
    conditions = {
        Shown.overdue: and_(in_use, ~in_force, columns.due_on < columns.today),
        Shown.soon: and_(in_use, columns.due_on.between(columns.today, columns.today + SOON.days)),
        Shown.filed: and_(alive, columns.is_filed),
        Shown.paused: and_(alive, columns.snoozed_until > columns.today),
        Shown.draft: columns.status == Status.draft,
        Shown.out_of_service: columns.status == Status.out_of_service,
        Shown.archived: columns.status == Status.archived,
        Shown.no_date: and_(alive, columns.due_on.is_(None)),
    }
    return and_(conditions[shown])


def _beyond(entries: CTE, key: Sequence[str | int], descending: bool) -> ColumnElement[bool]:
    """Whether a line comes after this key: another group, or later in the same one."""
    group = tuple_(entries.c.group_1, entries.c.group_2, entries.c.group_id)
    own = tuple_(entries.c.is_part, entries.c.own_1, entries.c.own_2, entries.c.id)
    of_group, in_group = tuple_(*key[:3]), tuple_(*key[3:])
    next_group = group < of_group if descending else group > of_group
    return or_(next_group, and_(group == of_group, own > in_group))


def _key_of(row: Mapping[str, Any]) -> str:
    return json.dumps([row[name] for name in ("group_1", "group_2", "group_id", "is_part", "own_1", "own_2", "id")])


def read_key(text: str) -> list[str | int] | None:
    """The key of a page from an address; None for what is none."""
    try:
        key = json.loads(text)
    except ValueError:
        return None
    shape = [str, str, int, int, str, str, int]
    if not isinstance(key, list) or [type(part) for part in key] != shape:
        return None
    fits = all("\0" not in part if isinstance(part, str) else abs(part) < 2**63 for part in key)
    return key if fits else None


def _line(row: Mapping[str, Any], sight: Sight) -> Line:
    names = set(Line.__dataclass_fields__) - {"site", "timezone", "gap", "last_alert", "papers"}
    site = sight.sites[row["site_id"]]
    return Line(site=site.name, timezone=site.timezone, **{name: row[name] for name in names})


def _told(session: Session, sight: Sight, lines: Sequence[Line]) -> list[Line]:
    """The lines, with what was told of each last, and why nobody watches it, where that is so."""
    ids = [line.id for line in lines]
    if not ids:
        return []
    told = read_last_alerts(session, sight.org, ids)
    facts = read_register_and_people(session, sight.org, ids)
    gaps = {row.subject_id: row.gap for row in watched.unwatched(*facts, sight.now)}
    return [replace(line, last_alert=told.get(line.id), gap=gaps.get(line.id)) for line in lines]


def _with_papers(session: Session, sight: Sight, text: str, lines: list[Line]) -> list[Line]:
    """The lines, each with its papers that the search is about."""
    if not text or not lines:
        return lines
    found = read_found(session, sight.org, text, [line.id for line in lines])
    return [replace(line, papers=found.get(line.id, ())) for line in lines]
