"""Logins: who may sign in. An account is global, since one person may be a member of several organisations.

What an account is called and has elsewhere belongs to others: nothing of it is shown here, and its password is never
replaced (P8).
"""

from __future__ import annotations

import datetime as dt

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert

from app.domain import calendars
from app.domain.acts import Role
from app.domain.errors import Refused
from app.ledger.queue import changed
from app.models import Account, Member
from app.operations import phones, typed
from app.operations.inspectors import limit_to_kinds
from app.operations.typed import iso
from app.trail.act import Act
from app.wording import later


def member_without_one(act: Act, address: str) -> Member | None:
    """The member of this address who is let in by no account yet, locked."""
    query = select(Member).where(Member.org_id == act.org, func.lower(Member.email) == func.lower(address))
    query = query.where(Member.account_id.is_(None), Member.is_active).with_for_update()
    return act.session.scalars(query.execution_options(populate_existing=True)).one_or_none()


def welcome(
    act: Act, member: Member, role: Role, name: str | None, password_hash: str | None, valid_until: dt.date | None
) -> int:
    """Give this member an account, and make them so; their id."""
    shown = typed.one_line(name, later("The name")) if name is not None else member.name
    give(act, member, password_hash)
    if member.name != shown:
        member.name = shown
        act.record("member_renamed", member_id=member.id)
    if member.role != role:
        if role != Role.inspector:
            limit_to_kinds(act, member.id, ())
        act.record("member_role_changed", member_id=member.id, old=member.role, new=role)
        member.role = role
    if valid_until != member.valid_until:
        act.record("member_access_changed", member_id=member.id, old=iso(member.valid_until), new=iso(valid_until))
        member.valid_until = valid_until
    if valid_until is not None:
        changed(act, wake_on=valid_until + calendars.DAY)
    return member.id


def let_in(act: Act, member_id: int, password_hash: str | None) -> None:
    """Give a member who has no account one. Raises Refused for who has one, and who has no address."""
    query = select(Member).where(Member.org_id == act.org, Member.id == member_id).with_for_update()
    give(act, act.session.scalars(query.execution_options(populate_existing=True)).one(), password_hash)


def give(act: Act, member: Member, password_hash: str | None) -> None:
    """Let the member sign in by their address. Raises Refused for who has none, or signs in already."""
    if member.account_id is not None:
        raise Refused("%(name)s signs in already.", name=member.name)
    if member.email is None:
        raise Refused("%(name)s has no e-mail address: write one first.", name=member.name)
    account_id = joined(act, member.email, member.name, password_hash, member.locale)
    taken = select(Member.id).where(Member.org_id == act.org, Member.account_id == account_id)
    if act.session.execute(taken).first() is not None:
        words = later("Somebody else here signs in as %(address)s: give %(name)s another address.")
        raise Refused(words, address=member.email, name=member.name)
    member.account_id = account_id
    changed(act)
    act.record("member_account_given", member_id=member.id)


def joined(act: Act, address: str, name: str, password_hash: str | None, locale: str) -> int:
    """The account of this address, locked, made with this language if there is none.

    Raises Refused where a password would be replaced.
    """
    act.session.execute(insert(Account).values(email=address, name=name, locale=locale).on_conflict_do_nothing())
    query = select(Account).where(func.lower(Account.email) == func.lower(address)).with_for_update()
    account = act.session.scalars(query).one()
    if password_hash is not None:
        if account.password_hash is not None:
            raise Refused("%(address)s has a password already: add the member without one.", address=address)
        account.password_hash = password_hash
    return account.id


def forget_phones(act: Act, member_id: int) -> int:
    """Sign out every phone of the member that stays signed in; how many there were."""
    of_member = select(Member.account_id).where(Member.org_id == act.org, Member.id == member_id)
    account_id = act.session.scalar(of_member)
    forgotten = phones.forget(act.session, act.now, account_id) if account_id is not None else []
    if forgotten:
        act.record("phones_forgotten", member_id=member_id, phone_ids=forgotten)
    return len(forgotten)
