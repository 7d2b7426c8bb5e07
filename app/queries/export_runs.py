"""The reports of the trail that were asked for, as whoever may see what is in them reads them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ARRAY, BigInteger, ColumnElement, and_, cast, select, true
from sqlalchemy.orm import Session

from app.models import ExportRun, Member
from app.queries.report.names import names_of_asked
from app.queries.report.scope import Asked
from app.queries.sight import Sight

LATEST = 50  # Reports on the page: more than a month of them.


@dataclass(frozen=True)
class ExportLine:
    """One report. Until `ended_at` it waits or is made; `is_kept` while its file is there."""

    id: int
    asked_at: dt.datetime
    person: str | None
    format: str
    filters: Mapping[str, Any]
    beat_at: dt.datetime | None
    done: int
    rows: int
    ended_at: dt.datetime | None
    fault: str | None
    counts: Mapping[str, int] | None
    size: int | None
    sha256: str | None
    is_kept: bool
    narrowed: tuple[tuple[str, str], ...] = ()

    @property
    def is_over(self) -> bool:
        return self.ended_at is not None

    @property
    def asked(self) -> Asked:
        return Asked.of_json(self.filters)

    @property
    def all_rows(self) -> int:
        return sum((self.counts or {}).values())


@dataclass(frozen=True)
class ExportFile:
    """The file of a report, to give back."""

    format: str
    content: bytes
    asked_on: dt.date


def read_exports(session: Session, sight: Sight) -> list[ExportLine]:
    """The last ones that the person may see, the newest first."""
    one = ExportRun
    columns = (
        one.id,
        one.asked_at,
        Member.name,
        one.format,
        one.filters,
        one.beat_at,
        one.done,
        one.rows,
        one.ended_at,
    )
    query = (
        select(*columns, one.fault, one.counts, one.size, one.sha256, one.content.is_not(None))
        .outerjoin(Member, and_(Member.org_id == sight.org, Member.id == one.asked_by))
        .where(one.org_id == sight.org, _is_within(sight))
        .order_by(one.id.desc())
        .limit(LATEST)
    )
    found = []
    for row in session.execute(query):
        narrowed = names_of_asked(session, sight.org, Asked.of_json(row.filters))
        found.append(ExportLine(*(*row, tuple(narrowed))))
    return found


def read_export_file(session: Session, sight: Sight, export_id: int) -> ExportFile | None:
    """The file, unless it is not there any more, or shows more than the person may see."""
    one = ExportRun
    query = select(one.format, one.content, one.asked_at).where(one.org_id == sight.org, one.id == export_id)
    row = session.execute(query.where(one.content.is_not(None), _is_within(sight))).one_or_none()
    return ExportFile(row.format, row.content or b"", row.asked_at.date()) if row else None


def _is_within(sight: Sight) -> ColumnElement[bool]:
    """Whether a report shows no more than the person may see: what all of it shows is for who sees all."""
    sites, kinds = list(sight.sites), sorted(sight.kinds or ())
    of_sites = ExportRun.site_ids.contained_by(cast(sites, ARRAY(BigInteger))) if sight.is_limited else true()
    of_kinds = ExportRun.kind_ids.contained_by(cast(kinds, ARRAY(BigInteger))) if sight.kinds is not None else true()
    return and_(of_sites, of_kinds)
