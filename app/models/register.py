"""The register: sites, kinds, the subjects that lapse, and their dated obligations."""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy import CheckConstraint, Index, Time, UniqueConstraint, false, text
from sqlalchemy.orm import Mapped, mapped_column

from app.domain.acts import Basis, FilingResult, InForce, Outcome, Status
from app.models.base import Base, OrgId, OwnId, of_org, one_of, org_key


class Site(Base):
    """A place with its own calendar. The zone is checked where it is entered, and again, with care, where used."""

    __tablename__ = "site"
    __table_args__ = (
        org_key(),
        Index("site_name_key", "org_id", text("lower(name)"), unique=True),
    )  # Serves `--site NAME`.

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    name: Mapped[str]
    timezone: Mapped[str]
    country: Mapped[str | None]
    region: Mapped[str | None]
    alert_from: Mapped[dt.time] = mapped_column(Time, server_default=text("'00:00'"))
    archived_at: Mapped[dt.datetime | None]


class DayOff(Base):
    """Days on which the organisation does not work, at one site or (without one) at all of them.

    Business days are counted around them, beside the public holidays. Deleted when it is removed: the trail keeps it.
    """

    __tablename__ = "day_off"
    __table_args__ = (
        org_key(),
        of_org("site_id", "site"),
        CheckConstraint("until_day between on_day and on_day + 91", name="until_day"),
        # Serves each look at the calendars, too, which reads all of an organisation.
        UniqueConstraint("org_id", "site_id", "on_day", "until_day", "is_yearly", postgresql_nulls_not_distinct=True),
    )

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    site_id: Mapped[int | None]
    on_day: Mapped[dt.date]
    until_day: Mapped[dt.date]  # The last day, included.
    is_yearly: Mapped[bool] = mapped_column(server_default=text("false"))
    name: Mapped[str]


class Kind(Base):
    """Permit, training …: whether it expires or falls due, what to do about it, and how often it comes again."""

    __tablename__ = "kind"
    __table_args__ = (
        org_key(),
        one_of("wording", ("expires", "falls_due")),
        one_of("recurrence_basis", Basis),
        Index("kind_name_key", "org_id", text("lower(name)"), unique=True),  # Serves rules and imports.
    )

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    name: Mapped[str]
    wording: Mapped[str] = mapped_column(server_default="expires")
    what_to_do: Mapped[str] = mapped_column(server_default="")
    what_to_do_in: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))  # By language: es.
    recurrence: Mapped[str | None]  # Of new entries that say nothing themselves, with the basis below.
    recurrence_basis: Mapped[str | None]
    proof_needed: Mapped[bool] = mapped_column(server_default=false())  # To close what was done.
    staff_may_close: Mapped[bool] = mapped_column(server_default=text("false"))  # By saying that it is done.


class Subject(Base):
    """An entry of the register: a thing that can lapse."""

    __tablename__ = "subject"
    __table_args__ = (
        org_key(),
        of_org("site_id", "site"),
        of_org("kind_id", "kind"),
        of_org("owner_member_id", "member"),
        of_org("owner_post_id", "post"),
        of_org("holder_id", "member"),
        of_org("part_of_id", "subject"),
        one_of("status", Status),
        one_of("recurrence_basis", Basis),
        CheckConstraint("part_of_id <> id", name="not_part_of_itself"),
        CheckConstraint("due_from is null or part_of_id is not null", name="due_from"),
        UniqueConstraint("org_id", "site_id", "reference_key"),
        Index("subject_reference_idx", "org_id", "reference_key"),  # Serves REF of the commands and the search.
        # Serves the scan: which watched subjects of which kind and site does a rule reach?
        Index("subject_watched_idx", "org_id", "site_id", "kind_id", "id", postgresql_where=text("status = 'watched'")),
        # Serves the watch: which series go on by the calendar?
        Index(
            "subject_series_idx",
            "org_id",
            "id",
            postgresql_where=text("recurrence_basis = 'calendar' and status = 'watched'"),
        ),
        Index("subject_owner_idx", "org_id", "owner_member_id", postgresql_where=text("owner_member_id is not null")),
        Index("subject_holder_idx", "org_id", "holder_id", postgresql_where=text("holder_id is not null")),
        Index("subject_part_idx", "org_id", "part_of_id", postgresql_where=text("part_of_id is not null")),
    )

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    site_id: Mapped[int]
    kind_id: Mapped[int]
    reference: Mapped[str]
    reference_key: Mapped[str]
    title: Mapped[str]
    owner_member_id: Mapped[int | None]
    owner_post_id: Mapped[int | None]
    holder_id: Mapped[int | None]
    part_of_id: Mapped[int | None]
    due_from: Mapped[str | None]  # How far its date is from that of its whole, as a threshold says it.
    recurrence: Mapped[str | None]
    recurrence_basis: Mapped[str | None]
    series_from: Mapped[dt.date | None]  # The day that the series is counted from, where it is remembered.
    series_through: Mapped[dt.date | None]  # By the calendar: the last date that was opened, and the one after it.
    series_next: Mapped[dt.date | None]
    status: Mapped[str] = mapped_column(server_default="watched")
    snoozed_until: Mapped[dt.date | None]
    legal_basis: Mapped[str] = mapped_column(server_default="")
    notes: Mapped[str] = mapped_column(server_default="")
    extra: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))


class Obligation(Base):
    """One dated duty of a subject, open until it is closed. `due_on` is a date in the calendar of the site (P6)."""

    __tablename__ = "obligation"
    __table_args__ = (
        of_org("subject_id", "subject"),
        of_org("closed_by", "member"),
        of_org("follows_id", "obligation"),
        one_of("outcome", Outcome),
        one_of("in_force_meanwhile", InForce),
        one_of("filing_result", FilingResult),
        CheckConstraint("due_on between '1990-01-01' and '2079-12-31'", name="due_on"),
        CheckConstraint("(closed_at is null) = (outcome is null)", name="closed_with_outcome"),
        UniqueConstraint("org_id", "subject_id", "due_on"),
        Index(
            "obligation_follows_once",
            "org_id",
            "subject_id",
            "follows_id",
            unique=True,
            postgresql_where=text("follows_id is not null"),
        ),
        # Serves the scan and the window of a new day: what is open and due by a horizon?
        Index(
            "obligation_open_idx",
            "org_id",
            "due_on",
            postgresql_include=["subject_id", "id"],
            postgresql_where=text("closed_at is null"),
        ),
        # Serves the follow-ups: which filings are pending, and when is the authority to be asked?
        Index(
            "obligation_filed_idx",
            "org_id",
            "ask_again_on",
            postgresql_where=text(
                "closed_at is null and filed_on is not null and filing_ended_on is null and ask_again_on is not null"
            ),
        ),
    )

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    subject_id: Mapped[int]
    due_on: Mapped[dt.date]
    first_due_on: Mapped[dt.date]
    opened_at: Mapped[dt.datetime] = mapped_column(server_default=text("now()"))
    met_on: Mapped[dt.date | None]
    closed_at: Mapped[dt.datetime | None]
    closed_by: Mapped[int | None]
    outcome: Mapped[str | None]
    reason: Mapped[str | None]
    note: Mapped[str] = mapped_column(server_default="")
    filed_on: Mapped[dt.date | None]
    filed_reference: Mapped[str | None]
    in_force_meanwhile: Mapped[str | None]
    ask_again_on: Mapped[dt.date | None]
    filing_ended_on: Mapped[dt.date | None]
    filing_result: Mapped[str | None]
    follows_id: Mapped[int | None]  # The obligation of its whole, whose due date this one's follows.
