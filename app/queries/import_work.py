"""How far the work on a large file is, and whether anybody could do it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, select
from sqlalchemy.orm import Session

from app.domain.acts import ImportWish
from app.models import ImportUpload, ImportWork, Member
from app.queries.watch import read_schedulers


@dataclass(frozen=True)
class Work:
    """What was wished for a file last. Until `ended_at` it waits for its turn, or somebody works on it.

    `total` is 0 while the file is read; `done` is `total` once each line is judged.
    """

    wish: str
    asked_at: dt.datetime
    asked_by: str
    beat_at: dt.datetime | None
    done: int
    total: int
    ended_at: dt.datetime | None
    fault: str | None
    found: Mapping[str, Any] | None

    @property
    def is_over(self) -> bool:
        return self.ended_at is not None

    @property
    def is_applying(self) -> bool:
        return self.wish == ImportWish.apply and not self.is_over

    @property
    def is_judged(self) -> bool:
        return 0 < self.total <= self.done

    def is_held(self, now: dt.datetime, silent_after: dt.timedelta) -> bool:
        """Whether somebody works on it at this moment."""
        return not self.is_over and self.beat_at is not None and now - self.beat_at < silent_after


def read_work(session: Session, org: int, upload_id: int) -> Work | None:
    table = ImportWork
    named = and_(Member.org_id == org, Member.id == table.asked_by)
    columns = (table.wish, table.asked_at, Member.name, table.beat_at, table.done, table.total)
    query = select(*columns, table.ended_at, table.fault, table.found).join(Member, named)
    row = session.execute(query.where(table.org_id == org, table.upload_id == upload_id)).one_or_none()
    return Work(*row) if row else None


def is_anybody_there(session: Session, now: dt.datetime) -> bool:
    """Whether a scheduler runs, without which nobody works on a file."""
    return any(row.alive for row in read_schedulers(session, now))


def has_left_over(session: Session, org: int, import_run_id: int) -> bool:
    """Whether the cells of the lines are still kept that this import did not accept."""
    kept = ImportUpload.org_id == org, ImportUpload.import_run_id == import_run_id, ImportUpload.left_over.is_not(None)
    return session.execute(select(ImportUpload.id).where(*kept).limit(1)).first() is not None
