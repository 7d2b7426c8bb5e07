"""Reports of the trail that were asked for: what of, by whom, how far they are, and for a time the file itself."""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, Index, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from app.domain.acts import ReportFormat
from app.models.base import Base, OrgId, OwnId, of_org, one_of, org_key


class ExportRun(Base):
    """One report. The row stays for good, its file for a time. Without `asked_by` a command makes it, and keeps none.

    `site_ids` and `kind_ids` are what it may show: null where whoever asked sees all.
    """

    __tablename__ = "export_run"
    __table_args__ = (
        org_key(),
        of_org("asked_by", "member"),
        one_of("format", ReportFormat),
        CheckConstraint("ended_at is null or (fault is null) = (sha256 is not null)", name="made_or_why_not"),
        # Serves whoever makes them: which ones wait?
        Index("export_run_waiting_idx", "org_id", "id", postgresql_where=text("ended_at is null")),
        # Serves the letting go of old files.
        Index("export_run_kept_idx", "org_id", "ended_at", postgresql_where=text("content is not null")),
    )

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    asked_at: Mapped[dt.datetime]
    asked_by: Mapped[int | None]
    format: Mapped[str]
    language: Mapped[str]
    filters: Mapped[dict[str, Any]]
    site_ids: Mapped[list[int] | None] = mapped_column(ARRAY(BigInteger))
    kind_ids: Mapped[list[int] | None] = mapped_column(ARRAY(BigInteger))
    beat_at: Mapped[dt.datetime | None]  # When whoever makes it last said so; without it nobody has begun.
    done: Mapped[int] = mapped_column(server_default=text("0"))  # Sections read, and rows in all of them.
    rows: Mapped[int] = mapped_column(server_default=text("0"))
    ended_at: Mapped[dt.datetime | None]
    fault: Mapped[str | None]
    counts: Mapped[dict[str, Any] | None]
    size: Mapped[int | None]
    sha256: Mapped[str | None]
    content: Mapped[bytes | None] = mapped_column(deferred=True)
