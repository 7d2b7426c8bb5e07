"""Organisations, logins, the people of an organisation and the posts that they hold."""

from __future__ import annotations

import datetime as dt

from sqlalchemy import (
    CheckConstraint,
    ForeignKeyConstraint,
    Index,
    Interval,
    PrimaryKeyConstraint,
    Time,
    UniqueConstraint,
    false,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from app.domain.acts import Role
from app.models.base import Base, OrgId, OwnId, of_org, one_of, org_key


def rest_checks() -> tuple[CheckConstraint, CheckConstraint]:
    """A rest time has both its hours, and they differ: it is over some time."""
    return (
        CheckConstraint("(rest_from is null) = (rest_until is null)", name="rest"),
        CheckConstraint("rest_from <> rest_until", name="rest_length"),
    )


class Organisation(Base):
    """The tenant. Outside row-level security by its nature: it is what a transaction acts for.

    Its rest time is that of the people who have none of their own.
    """

    __tablename__ = "organisation"
    __table_args__ = rest_checks()

    id: Mapped[OwnId]
    slug: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]
    locale: Mapped[str] = mapped_column(server_default="en")
    timezone: Mapped[str]
    grace_period: Mapped[dt.timedelta] = mapped_column(Interval, server_default=text("interval '24 hours'"))
    rest_from: Mapped[dt.time | None] = mapped_column(Time)
    rest_until: Mapped[dt.time | None] = mapped_column(Time)
    rest_days_off: Mapped[bool] = mapped_column(server_default=text("false"))


class Account(Base):
    """A login, global: one person may be a member of several organisations."""

    __tablename__ = "account"
    __table_args__ = (Index("account_address_key", text("lower(email)"), unique=True),)  # Serves sign-in.

    id: Mapped[OwnId]
    email: Mapped[str]
    name: Mapped[str]
    password_hash: Mapped[str | None]
    locale: Mapped[str] = mapped_column(server_default="en")
    is_active: Mapped[bool] = mapped_column(server_default=text("true"))


class RememberedPhone(Base):
    """A phone that stays signed in to answer, and for nothing else, until `expires_at`. Of a login, hence global."""

    __tablename__ = "remembered_phone"
    __table_args__ = (
        ForeignKeyConstraint(["account_id"], ["account.id"]),
        UniqueConstraint("token_sha256"),  # Serves the sign-in by the phone's cookie.
        Index("remembered_phone_account_idx", "account_id"),  # Serves a person's list.
    )

    id: Mapped[OwnId]
    account_id: Mapped[int]
    name: Mapped[str]
    token_sha256: Mapped[str]
    created_at: Mapped[dt.datetime]
    expires_at: Mapped[dt.datetime]
    forgotten_at: Mapped[dt.datetime | None]


class Member(Base):
    """A person of the organisation, with an account or without one.

    The hours are local ones of the person's own zone, or else of the organisation's; without a country the working
    days are Monday to Friday. Without `own_rest` the rest time is the organisation's.
    """

    __tablename__ = "member"
    __table_args__ = (
        org_key(),
        ForeignKeyConstraint(["account_id"], ["account.id"]),
        one_of("role", Role),
        *rest_checks(),
        UniqueConstraint("org_id", "account_id"),
        Index("member_address_key", "org_id", text("lower(email)"), unique=True),  # Serves `member:EMAIL`.
        Index("member_number_idx", "org_id", "number", postgresql_where=text("number is not null")),  # Serves imports.
    )

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    account_id: Mapped[int | None]
    name: Mapped[str]
    email: Mapped[str | None]
    number: Mapped[str | None]
    role: Mapped[str]
    locale: Mapped[str] = mapped_column(server_default="en")
    is_active: Mapped[bool] = mapped_column(server_default=text("true"))
    valid_until: Mapped[dt.date | None]
    left_on: Mapped[dt.date | None]
    email_alerts: Mapped[bool] = mapped_column(server_default=text("true"))
    daily_checkpoint: Mapped[bool] = mapped_column(server_default=false())  # Gets the seal of each day, to keep it.
    timezone: Mapped[str | None]
    country: Mapped[str | None]
    region: Mapped[str | None]
    mail_hour: Mapped[dt.time | None] = mapped_column(Time)  # The local hour of the daily message; null: at once.
    own_rest: Mapped[bool] = mapped_column(server_default=text("false"))
    rest_from: Mapped[dt.time | None] = mapped_column(Time)
    rest_until: Mapped[dt.time | None] = mapped_column(Time)
    rest_days_off: Mapped[bool] = mapped_column(server_default=text("false"))
    mailed_at: Mapped[dt.datetime | None]  # When a message was last leased for them; the lease locks this row.


class MemberSite(Base):
    """Limits a member to sites; no row means all of them."""

    __tablename__ = "member_site"
    __table_args__ = (
        PrimaryKeyConstraint("org_id", "member_id", "site_id"),
        of_org("member_id", "member"),
        of_org("site_id", "site"),
    )

    org_id: Mapped[int]
    member_id: Mapped[int]
    site_id: Mapped[int]


class MemberKind(Base):
    """Limits an inspector to kinds; no row means all of them."""

    __tablename__ = "member_kind"
    __table_args__ = (
        PrimaryKeyConstraint("org_id", "member_id", "kind_id"),
        of_org("member_id", "member"),
        of_org("kind_id", "kind"),
    )

    org_id: Mapped[int]
    member_id: Mapped[int]
    kind_id: Mapped[int]


class Post(Base):
    """A function at a site, such as plant manager; and the one whose holders are told when a thing is nobody's."""

    __tablename__ = "post"
    __table_args__ = (
        org_key(),
        of_org("above_id", "post"),
        CheckConstraint("above_id <> id", name="not_above_itself"),
        Index("post_name_key", "org_id", text("lower(name)"), unique=True),
    )  # Serves `post:NAME`.

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    name: Mapped[str]
    above_id: Mapped[int | None]


class SitePost(Base):
    """Who holds a post at a site, from its first day until its last (both included)."""

    __tablename__ = "site_post"
    __table_args__ = (
        PrimaryKeyConstraint("org_id", "site_id", "post_id", "member_id", "from_on"),
        of_org("site_id", "site"),
        of_org("post_id", "post"),
        of_org("member_id", "member"),
        Index("site_post_member_idx", "org_id", "member_id"),  # Serves a person's posts.
    )

    org_id: Mapped[int]
    site_id: Mapped[int]
    post_id: Mapped[int]
    member_id: Mapped[int]
    from_on: Mapped[dt.date]
    until_on: Mapped[dt.date | None]
