"""Who visits: the account that is signed in, the organisation of the address, and what the person is in it."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.domain.acts import Role
from app.models import Account, Member, Organisation

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
class Place:
    """An organisation, as its address names it."""

    org: int
    slug: str
    name: str
    timezone: str
    grace_period: dt.timedelta


@dataclass(frozen=True)
class Person:
    """A present member of the organisation that the transaction acts for."""

    member_id: int
    name: str
    role: Role
    locale: str


def find_login(session: Session, *, email: str | None = None, account_id: int | None = None) -> Login | None:
    """The active account of this address, or of this number."""
    query = select(Account.id, Account.email, Account.name, Account.locale, Account.password_hash).where(
        Account.is_active
    )
    query = query.where(
        func.lower(Account.email) == (email or "").strip().lower() if email else Account.id == account_id
    )
    row = session.execute(query).one_or_none()
    return Login(*row) if row else None


def places(session: Session) -> list[Place]:
    """All organisations; which of them a person belongs to is known inside each of them only (P8)."""
    return [Place(*row) for row in session.execute(select(*PLACE).order_by(Organisation.name))]


def find_place(session: Session, slug: str) -> Place | None:
    """The organisation of an address; asked at each request, so that it must not read all of them."""
    if "\0" in slug:  # PostgreSQL would refuse the question.
        return None
    row = session.execute(select(*PLACE).where(Organisation.slug == slug)).one_or_none()
    return Place(*row) if row else None


def find_person(session: Session, org: int, account_id: int, today: dt.date) -> Person | None:
    """The member with this account, unless disabled, gone, or past the last day that was granted."""
    query = select(Member.id, Member.name, Member.role, Member.locale).where(
        Member.org_id == org,
        Member.account_id == account_id,
        Member.is_active,
        Member.left_on.is_(None) | (Member.left_on > today),
        Member.valid_until.is_(None) | (Member.valid_until >= today),
    )
    row = session.execute(query).one_or_none()
    return Person(row.id, row.name, Role(row.role), row.locale) if row else None
