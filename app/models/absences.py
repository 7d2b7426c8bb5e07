"""Who is away and who stands in for them; who leaves, and to whom the duty goes."""

from __future__ import annotations

import datetime as dt

from sqlalchemy import CheckConstraint, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from app.domain.acts import Held
from app.models.base import Base, OrgId, OwnId, of_org, one_of, org_key


class Absence(Base):
    """A member is away from a day until a day, both included, in the calendar of each entry's site.

    With a stand-in, the stand-in is told instead. It is ended by `cancelled_at`, never deleted.
    """

    __tablename__ = "absence"
    __table_args__ = (
        org_key(),
        of_org("member_id", "member"),
        of_org("stand_in_id", "member"),
        of_org("entered_by", "member"),
        CheckConstraint("until_on >= from_on", name="days"),
        CheckConstraint("stand_in_id <> member_id", name="not_for_oneself"),
        # Serves each look at who is told, and the page of a person.
        Index("absence_member_idx", "org_id", "member_id", postgresql_where=text("cancelled_at is null")),
    )

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    member_id: Mapped[int]
    stand_in_id: Mapped[int | None]
    from_on: Mapped[dt.date]
    until_on: Mapped[dt.date]
    note: Mapped[str] = mapped_column(server_default="")
    entered_at: Mapped[dt.datetime]
    entered_by: Mapped[int | None]
    cancelled_at: Mapped[dt.datetime | None]
    seen_at: Mapped[dt.datetime | None]  # When the person has put the summary of it away.


class Departure(Base):
    """A member leaves: from `leaves_on` on they are not there, and what hangs on them goes to a person or a post.

    `done_at` says that it was handed over; `withdrawn_at` that nothing came of it. One of them is open at most. Of
    the person and the post one is given, which the operation sees to.
    """

    __tablename__ = "departure"
    __table_args__ = (
        org_key(),
        of_org("member_id", "member"),
        of_org("to_member_id", "member"),
        of_org("to_post_id", "post"),
        of_org("entered_by", "member"),
        one_of("about", Held),
        CheckConstraint("to_member_id <> member_id", name="not_to_oneself"),
        # Serves the watch: who leaves today?
        Index(
            "departure_open_once", "org_id", "member_id", unique=True,
            postgresql_where=text("done_at is null and withdrawn_at is null"),
        ),
    )  # fmt: skip

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    member_id: Mapped[int]
    leaves_on: Mapped[dt.date]
    to_member_id: Mapped[int | None]
    to_post_id: Mapped[int | None]
    about: Mapped[str]  # What becomes of the entries that are about the person.
    entered_at: Mapped[dt.datetime]
    entered_by: Mapped[int | None]
    done_at: Mapped[dt.datetime | None]
    withdrawn_at: Mapped[dt.datetime | None]
