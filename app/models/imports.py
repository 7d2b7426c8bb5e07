"""Files that somebody is bringing in: kept until they are applied or dropped, so that each step sees the same file."""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy import Index, text
from sqlalchemy.orm import Mapped, mapped_column

from app.domain.acts import Contents, ImportWish
from app.models.base import Base, OrgId, OwnId, of_org, one_of, org_key


class ImportUpload(Base):
    """One file: how it looks, and what a person has said of its columns.

    Once it is applied, the file itself is let go; what was not accepted stays, to be mended and brought again.
    """

    __tablename__ = "import_upload"
    __table_args__ = (
        org_key(),
        one_of("contents", Contents),
        of_org("member_id", "member"),
        of_org("import_run_id", "import_run"),
        Index("import_upload_header_idx", "org_id", "header_key", "id"),  # Serves what was said of the same header.
        Index("import_upload_run_idx", "org_id", "import_run_id"),  # Serves the page of an import.
    )

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    at: Mapped[dt.datetime]
    member_id: Mapped[int]
    file_name: Mapped[str]
    file_sha256: Mapped[str]
    content: Mapped[bytes | None] = mapped_column(deferred=True)
    look: Mapped[dict[str, Any]]
    header_key: Mapped[str]
    mapping: Mapped[dict[str, Any]]
    import_run_id: Mapped[int | None]
    left_over: Mapped[list[Any] | None] = mapped_column(deferred=True)
    contents: Mapped[str] = mapped_column(server_default=Contents.register.value)


class ImportWork(Base):
    """What the scheduler is to do with a large file, how far it is, and how it ended. One row a file, the last wish.

    It is done in one transaction, and how far it is must be seen before that ends: so this row is written beside it.
    """

    __tablename__ = "import_work"
    __table_args__ = (
        org_key(),
        of_org("upload_id", "import_upload"),
        of_org("asked_by", "member"),
        one_of("wish", ImportWish),
    )

    org_id: Mapped[OrgId]
    upload_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    wish: Mapped[str]
    asked_at: Mapped[dt.datetime]
    asked_by: Mapped[int]
    beat_at: Mapped[dt.datetime | None]  # When whoever does it last said so; without it nobody has begun.
    done: Mapped[int] = mapped_column(server_default=text("0"))  # Records, of `total`.
    total: Mapped[int] = mapped_column(server_default=text("0"))
    ended_at: Mapped[dt.datetime | None]
    fault: Mapped[str | None]
    found: Mapped[dict[str, Any] | None] = mapped_column(deferred=True)
