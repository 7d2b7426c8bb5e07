"""Files that somebody is bringing in: kept until they are applied or dropped, so that each step sees the same file."""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, OrgId, OwnId, of_org, org_key


class ImportUpload(Base):
    """One file: how it looks, and what a person has said of its columns.

    Once it is applied, the file itself is let go; what was not accepted stays, to be mended and brought again.
    """

    __tablename__ = "import_upload"
    __table_args__ = (
        org_key(),
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
