"""Forgetting a person: what names them goes, what happened stays, and the trail verifies as before.

Alerts, messages as facts, answers and who acted remain under "Erased person N", since the organisation must be able to
show that it knew, told and acted. It cannot be taken back.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from sqlalchemy import func, select, update

from app.database import SCHEDULER, borrowed
from app.domain.errors import Refused, quoted
from app.ledger.erasure import forget_in_messages
from app.models import Account, Member
from app.operations import phones
from app.operations.members import rename_in_rules
from app.operations.mentions import Person, forget_in_imports, mentions
from app.trail.act import Act

FORGET_VALUES = "delete from audit_personal where org_id = :org and member_id = :member"
FORGET_NOTES = """
update acknowledgement set note = '', sent_back_note = case when sent_back_note is not null then '' end
where org_id = :org and member_id = :member and (note <> '' or sent_back_note <> '')"""
FORGET_ABSENCES = "update absence set note = '' where org_id = :org and member_id = :member and note <> ''"
# Reports that are kept for a time name whoever they are about; each can be asked for again.
FORGET_REPORTS = "update export_run set content = null where org_id = :org and content is not null"
FORGET_PHONES = "update remembered_phone set name = '' where account_id = :account"


@dataclass(frozen=True)
class Erased:
    """The new name, and how much was erased: values of the trail, messages, imported files, and the login.

    `named_in`: where else the person is named, by place and entry, which is left for somebody to edit.
    """

    member_id: int
    name: str
    values: int
    messages: int
    imports: int
    login: bool
    named_in: dict[str, list[str]]


def find_who_left(act: Act, email: str) -> Member:
    """The member of this address, locked. Raises Refused for nobody, and for somebody who is still there."""
    query = select(Member).where(Member.org_id == act.org, func.lower(Member.email) == func.lower(email.strip()))
    member = act.session.scalars(query.with_for_update().execution_options(populate_existing=True)).one_or_none()
    if member is None:
        raise Refused(f"there is no member {quoted(email)}: `onus member list` names them")
    if member.is_active and not has_left(member, act.now.date()):
        raise Refused(f"{email} is a member still: `onus member disable {email}` first, or let them leave on a day")
    return member


def has_left(member: Member, today: dt.date) -> bool:
    return member.left_on is not None and member.left_on <= today


def erase(act: Act, email: str, *, login_is_shared: bool) -> Erased:
    """Erase the member of this address. `login_is_shared`: another organisation has the login, so that it stays there.

    Raises Refused.
    """
    member = find_who_left(act, email)
    if member.email is not None:
        rename_in_rules(act, member.email, None)
    who, name, account_id = person_of(member), f"Erased person {member.id}", member.account_id
    member.name, member.email, member.number, member.account_id = name, None, None, None
    member.is_active = False
    act.session.flush()
    values = int(act.run(FORGET_VALUES, {"member": member.id}).rowcount)
    act.run(FORGET_NOTES, {"member": member.id})
    act.run(FORGET_ABSENCES, {"member": member.id})
    act.run(FORGET_REPORTS)
    imports = forget_in_imports(act, who, name)
    with borrowed(act.session, SCHEDULER):
        messages = forget_in_messages(act, member.id, name)
    with_login = account_id is not None and not login_is_shared
    if account_id is not None and with_login:
        erase_login(act, account_id, name)
    act.record("person_erased", member_id=member.id, values=values, messages=messages, login=with_login)
    return Erased(member.id, name, values, messages, imports, with_login, mentions(act, who))


def person_of(member: Member) -> Person:
    return Person(member.name, member.email, member.number)


def erase_login(act: Act, account_id: int, name: str) -> None:
    """Nobody signs in by it again."""
    phones.forget(act.session, act.now, account_id)
    act.run(FORGET_PHONES, {"account": account_id})
    gone = {"name": name, "email": f"erased-{account_id}", "password_hash": None, "is_active": False}
    act.session.execute(update(Account).where(Account.id == account_id).values(gone))
