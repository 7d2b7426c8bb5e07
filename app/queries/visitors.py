"""Who visits: the account that is signed in, the organisation of the address, and what the person is in it."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from sqlalchemy import false, func, select
from sqlalchemy.orm import Session

from app.domain.acts import Role
from app.domain.calendars import today
from app.domain.errors import UnusableZone
from app.models import Account, Member, Organisation
from app.queries.together import Asked, Found, together

PLACE = (Organisation.id, Organisation.slug, Organisation.name, Organisation.timezone, Organisation.grace_period)


@dataclass(frozen=True)
class Login:
    """An active account, with what a sign-in is checked against."""

    account_id: int
    email: str
    name: str
    locale: str
    password_hash: str | None


@dataclass(frozen=True)
class Visitor:
    """An active account that is signed in already."""

    account_id: int
    name: str
    locale: str


@dataclass(frozen=True)
class Place:
    """An organisation, as its address names it."""

    org: int
    slug: str
    name: str
    timezone: str
    grace_period: dt.timedelta

    def day(self, now: dt.datetime) -> dt.date:
        """The date in the organisation's own zone; in UTC where that cannot be used."""
        try:
            return today(now, self.timezone)
        except UnusableZone:
            return now.date()


@dataclass(frozen=True)
class Person:
    """A present member of the organisation that the transaction acts for."""

    member_id: int
    name: str
    role: Role
    locale: str


def find_login(session: Session, *, email: str) -> Login | None:
    """The active account of this address."""
    columns = (Account.id, Account.email, Account.name, Account.locale, Account.password_hash)
    query = select(*columns).where(Account.is_active, func.lower(Account.email) == email.strip().lower())
    row = session.execute(query).one_or_none()
    return Login(*row) if row else None


def find_visitor(session: Session, account_id: int, slug: str | None) -> tuple[Visitor | None, Place | None]:
    """The active account of this number, and the organisation of the address: asked at each request, so together."""
    account = select(Account.id, Account.name, Account.locale).where(Account.is_active, Account.id == account_id)
    who, where = together(session, account, place_asked(slug))
    row, place = who.one_or_none(), where.one_or_none()
    return Visitor(*row) if row else None, Place(*place) if place else None


def places(session: Session) -> list[Place]:
    """All organisations; which of them a person belongs to is known inside each of them only (P8)."""
    return [Place(*row) for row in session.execute(select(*PLACE).order_by(Organisation.name))]


def find_place(session: Session, slug: str | None) -> Place | None:
    """The organisation of an address; asked at each request, so that it must not read all of them."""
    row = session.execute(place_asked(slug)).one_or_none()
    return Place(*row) if row else None


def place_asked(slug: str | None) -> Asked:
    """What PostgreSQL would not take as a text names no organisation, as no address at all does."""
    return select(*PLACE).where(false() if slug is None or "\0" in slug else Organisation.slug == slug)


def find_person(session: Session, org: int, account_id: int, today: dt.date) -> Person | None:
    """The member with this account, unless disabled, gone, or past the last day that was granted."""
    return person_of(session.execute(person_asked(org, account_id)), today)


def person_asked(org: int, account_id: int) -> Asked:
    """The select whose result `person_of` takes."""
    columns = (Member.id, Member.name, Member.role, Member.locale, Member.left_on, Member.valid_until)
    return select(*columns).where(Member.org_id == org, Member.account_id == account_id, Member.is_active)


def person_of(found: Found, today: dt.date) -> Person | None:
    row = found.one_or_none()
    if row is None or (row.left_on and row.left_on <= today) or (row.valid_until and row.valid_until < today):
        return None
    return Person(row.id, row.name, Role(row.role), row.locale)
