"""Phones that stay signed in, to answer and for nothing else. A phone is of a login, and so of no organisation.

The phone keeps a secret, of which only a hash is kept here. Whoever finds the phone can read and answer the alerts of
its owner until they, or an administrator, let it be forgotten: nothing else is open to it (`app/web/access.py`).
"""

from __future__ import annotations

import datetime as dt
import secrets
from dataclasses import dataclass
from hashlib import sha256

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.orm import Session

from app.domain.errors import Refused
from app.models import Account, RememberedPhone
from app.operations import typed

REMEMBERED_FOR = dt.timedelta(days=90)
SECRET_BYTES = 32  # 256 bits: nobody guesses it, so that a plain hash of it is safe to keep.
MOST = 10  # Phones of one person: a list that can be looked through.


@dataclass(frozen=True)
class Remembered:
    """`token` goes into the phone's cookie, and nowhere else."""

    phone_id: int
    token: str


def checked_name(name: str) -> str:
    """The name of a phone, one line. Raises Refused for none."""
    return typed.one_line(name, "The name of the phone")


def remember(session: Session, now: dt.datetime, account_id: int, name: str) -> Remembered:
    """Let the phone of this name stay signed in for 90 days. Raises Refused for a bad name, and for too many phones."""
    # Two sign-ins at once stand in line at the account's row, so that the second counts what the first has made.
    session.execute(select(Account.id).where(Account.id == account_id).with_for_update(key_share=True)).one()
    mine = (RememberedPhone.account_id == account_id, *is_known(now))
    if session.execute(select(func.count()).select_from(RememberedPhone).where(*mine)).scalar_one() >= MOST:
        raise Refused(
            "%(most)s phones stay signed in already: sign in without, and forget one that is not used any more.",
            most=MOST,
        )
    token = secrets.token_urlsafe(SECRET_BYTES)
    facts = {"token_sha256": hashed(token), "created_at": now, "expires_at": now + REMEMBERED_FOR}
    made = RememberedPhone(account_id=account_id, name=checked_name(name), **facts)
    session.add(made)
    session.flush()
    return Remembered(made.id, token)


def forget(session: Session, now: dt.datetime, account_id: int, phone_id: int | None = None) -> list[int]:
    """Let this phone of the login, or all of them, be signed out; which they were."""
    mine = [RememberedPhone.account_id == account_id, *is_known(now)]
    if phone_id is not None:
        mine.append(RememberedPhone.id == phone_id)
    forgetting = update(RememberedPhone).where(*mine).values(forgotten_at=now)
    return sorted(session.scalars(forgetting.returning(RememberedPhone.id)))


def forget_token(session: Session, now: dt.datetime, token: str) -> None:
    """The same for the phone that has this secret; nothing where none has."""
    known = (RememberedPhone.token_sha256 == hashed(token), *is_known(now))
    session.execute(update(RememberedPhone).where(*known).values(forgotten_at=now))


def is_known(now: dt.datetime) -> tuple[ColumnElement[bool], ...]:
    return RememberedPhone.forgotten_at.is_(None), RememberedPhone.expires_at > now


def hashed(token: str) -> str:
    return sha256(token.encode()).hexdigest()
