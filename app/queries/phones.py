"""Phones that stay signed in: whose one is, and those of a login."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from app.models import Account, Member, RememberedPhone


@dataclass(frozen=True)
class Phone:
    id: int
    name: str
    created_at: dt.datetime
    expires_at: dt.datetime


def owner_of(session: Session, token_sha256: str, now: dt.datetime) -> tuple[int, str, str] | None:
    """Id, name and language of the active login whose phone has this secret, if it is remembered still."""
    query = (
        select(Account.id, Account.name, Account.locale)
        .join(RememberedPhone, RememberedPhone.account_id == Account.id)
        .where(RememberedPhone.token_sha256 == token_sha256, Account.is_active)
        .where(*_remembered(now))
    )
    row = session.execute(query).one_or_none()
    return (row.id, row.name, row.locale) if row else None


def phones_of(session: Session, account_id: int, now: dt.datetime) -> Sequence[Phone]:
    """The phones that stay signed in now, the last one first."""
    columns = (RememberedPhone.id, RememberedPhone.name, RememberedPhone.created_at, RememberedPhone.expires_at)
    query = select(*columns).where(RememberedPhone.account_id == account_id, *_remembered(now))
    return [Phone(*row) for row in session.execute(query.order_by(RememberedPhone.id.desc()))]


def count_phones(session: Session, org: int, member_id: int, now: dt.datetime) -> int:
    """How many phones of the member stay signed in; what they are called is the person's own business."""
    query = (
        select(func.count())
        .select_from(RememberedPhone)
        .join(Member, Member.account_id == RememberedPhone.account_id)
        .where(Member.org_id == org, Member.id == member_id)
        .where(*_remembered(now))
    )
    return session.scalar(query) or 0


def _remembered(now: dt.datetime) -> tuple[ColumnElement[bool], ...]:
    """Neither forgotten nor over."""
    return RememberedPhone.forgotten_at.is_(None), RememberedPhone.expires_at > now
