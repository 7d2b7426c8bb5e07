"""Reports of the trail: asked for by a person, made by the scheduler, kept for a time; or made by a command at once.

Each statement about a report names whoever makes it by the last `beat_at`, so that one who was given up on moves no
row. The end of a report, its file and its event are one transaction: who took what is in the trail, or nothing is.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import insert

from app.domain.acts import ReportFormat
from app.domain.errors import Refused
from app.models import ExportRun
from app.trail.act import Act, member_actor
from app.wording import later

SILENT_AFTER = dt.timedelta(seconds=30)  # Thirty beats that did not come: it is begun again by whoever is there.
KEPT_FOR = dt.timedelta(days=30)  # Long enough to be taken; it can be made again at any time.
LARGEST_KEPT = 50_000_000  # Bytes of a file in the database: some hundred thousand alerts as a workbook.
MOST_WAITING = 5  # Reports of one organisation that wait at a time.
TOO_LARGE = later(
    "The file is larger than 50 MB, which is more than is kept here: narrow the period or "
    "the site, or let whoever runs Onus write it to a file."
)

COUNT_WAITING = "select count(*) from export_run where org_id = :org and ended_at is null and asked_by is not null"

# Materialized, since a plan that looks for the next one once for each row would take several.
TAKE = """
with next as materialized (
  select id from export_run
  where org_id = :org and ended_at is null and asked_by is not null
    and (beat_at is null or beat_at <= :silent_since)
  order by id limit 1 for update skip locked)
update export_run w set beat_at = greatest(:now, w.beat_at + interval '1 microsecond'), done = 0, rows = 0
from next where w.org_id = :org and w.id = next.id
returning w.id, w.beat_at"""

BEAT = """
update export_run w set beat_at = greatest(:now, w.beat_at + interval '1 microsecond'), done = :done, rows = :rows
from (select id from export_run
      where org_id = :org and id = :id and beat_at = :beat_at and ended_at is null for update skip locked) mine
where w.org_id = :org and w.id = mine.id
returning w.beat_at"""

STANDS = "select count(*) from export_run where org_id = :org and id = :id and beat_at = :beat_at and ended_at is null"

GIVE_BACK = """
update export_run set beat_at = null where org_id = :org and id = :id and beat_at = :beat_at and ended_at is null"""

FAIL = """
update export_run set fault = :fault, ended_at = :now
where org_id = :org and id = :id and ended_at is null
  and (cast(:beat_at as timestamptz) is null or beat_at = :beat_at)"""

SETTLE = """
update export_run
set ended_at = :now, counts = cast(:counts as jsonb), size = :size, sha256 = :sha256, content = :content
where org_id = :org and id = :id and ended_at is null"""

READ = """
select id, asked_by, format, language, filters from export_run where org_id = :org and id = :id and ended_at is null"""

LET_GO = """
update export_run set content = null where org_id = :org and content is not null and ended_at < :before"""


@dataclass(frozen=True)
class Taken:
    """A report that somebody makes: which one, and the last sign of whoever does it."""

    id: int
    beat_at: dt.datetime

    @property
    def key(self) -> dict[str, Any]:
        return {"id": self.id, "beat_at": self.beat_at}


@dataclass(frozen=True)
class Order:
    """What a report is to be. Without `asked_by` a command asks for it."""

    id: int
    asked_by: int | None
    format: ReportFormat
    language: str
    filters: Mapping[str, Any]

    @property
    def actor(self) -> str | None:
        return member_actor(self.asked_by) if self.asked_by is not None else None


@dataclass(frozen=True)
class Made:
    """A report that is written: the rows of each section, and the file. Its content only where it is to be kept.

    `sealed`: how many events the log had which a bundle goes out with; somebody may keep that checkpoint.
    """

    counts: Mapping[str, int]
    size: int
    sha256: str
    content: bytes | None = None
    sealed: int | None = None


@dataclass(frozen=True)
class Limits:
    """What a report may show, by id; None: all."""

    site_ids: list[int] | None = None
    kind_ids: list[int] | None = None


def ask(act: Act, format: ReportFormat, language: str, filters: Mapping[str, Any], limits: Limits) -> int:
    """Ask for a report; its number. Raises Refused while too many wait."""
    if act.member_id is not None and act.run(COUNT_WAITING).scalar_one() >= MOST_WAITING:
        raise Refused("%(number)s reports are being made already: wait until one of them is done.", number=MOST_WAITING)
    facts = {"format": format.value, "language": language, "filters": dict(filters)}
    seen = {"site_ids": limits.site_ids, "kind_ids": limits.kind_ids}
    asking = insert(ExportRun).values(org_id=act.org, asked_at=act.now, asked_by=act.member_id, **facts, **seen)
    return int(act.session.execute(asking.returning(ExportRun.id)).scalar_one())


def read(act: Act, export_id: int) -> Order | None:
    """What is to be made, unless it is over."""
    row = act.run(READ, {"id": export_id}).one_or_none()
    return row and Order(row.id, row.asked_by, ReportFormat(row.format), row.language, row.filters)


def take(act: Act) -> Taken | None:
    """The oldest report that nobody makes, or of whose maker nothing was heard for too long. It is ours from now."""
    row = act.run(TAKE, {"silent_since": act.now - SILENT_AFTER}).one_or_none()
    return row and Taken(row.id, row.beat_at)


def beat(act: Act, taken: Taken, done: int, rows: int) -> Taken | None:
    """Say that we still make it, and how far it is. None: it is no longer ours, and nothing of ours counts."""
    row = act.run(BEAT, taken.key | {"done": done, "rows": rows}).one_or_none()
    if row is not None:
        return replace(taken, beat_at=row.beat_at)
    return taken if act.run(STANDS, taken.key).scalar_one() else None


def give_back(act: Act, taken: Taken) -> None:
    """Leave it to the next who comes."""
    act.run(GIVE_BACK, taken.key)


def fail(act: Act, export_id: int, fault: str, beat_at: dt.datetime | None = None) -> None:
    """End it with the reason why it came to nothing; with `beat_at` only if nobody else makes it by now."""
    act.run(FAIL, {"id": export_id, "fault": fault, "beat_at": beat_at})


def settle(act: Act, order: Order, made: Made) -> bool:
    """End it with what was made, and leave the event; False if somebody else has ended it."""
    facts = {"counts": json.dumps(made.counts), "size": made.size, "sha256": made.sha256, "content": made.content}
    if not act.run(SETTLE, {"id": order.id, **facts}).rowcount:
        return False
    sealed: dict[str, Any] = {} if made.sealed is None else {"sealed": made.sealed}
    act.record(
        "exported", **sealed, export_id=order.id, format=order.format.value, language=order.language,
        filters=dict(order.filters), counts=dict(made.counts), size=made.size, sha256=made.sha256,
    )  # fmt: skip
    return True


def let_old_go(act: Act) -> None:
    """Files that were kept long enough; what they were, and by whom they were taken, stays."""
    act.run(LET_GO, {"before": act.now - KEPT_FOR})
