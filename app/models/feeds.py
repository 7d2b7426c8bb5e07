"""Calendar feeds: addresses that nobody can guess, at which a calendar program reads due dates without signing in."""

from __future__ import annotations

import datetime as dt

from sqlalchemy import Index, UniqueConstraint
from sqlalchemy.orm import Mapped

from app.models.base import Base, OrgId, OwnId, of_org, org_key


class CalendarFeed(Base):
    """One address, of which only a hash is kept. Without a site it is of what concerns the member.

    What it shows is judged at each reading, by what the member may see then. It is revoked, never deleted.
    """

    __tablename__ = "calendar_feed"
    __table_args__ = (
        org_key(),
        of_org("member_id", "member"),
        of_org("site_id", "site"),
        UniqueConstraint("org_id", "token_sha256"),  # Serves each reading, which knows the organisation, too.
        Index("calendar_feed_member_idx", "org_id", "member_id"),  # Serves a person's list.
    )

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    member_id: Mapped[int]
    site_id: Mapped[int | None]
    token_sha256: Mapped[str]
    created_at: Mapped[dt.datetime]
    revoked_at: Mapped[dt.datetime | None]
    last_read_at: Mapped[dt.datetime | None]  # The first reading of the last day (UTC) on which it was read.
