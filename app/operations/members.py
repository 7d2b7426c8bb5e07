"""Changing a member: name, role, and until when they are let in. The trail keeps people by id, never their names."""

from __future__ import annotations

import datetime as dt

from sqlalchemy import func, select

from app.domain import calendars
from app.domain.acts import Role
from app.domain.errors import Refused
from app.domain.folding import fold_address
from app.domain.recipients import MEMBER
from app.ledger.queue import changed
from app.models import AlertRule, Member, RuleRecipient
from app.operations import people, typed
from app.operations.inspectors import limit_to_kinds
from app.operations.typed import iso
from app.trail.act import Act
from app.wording import later


def change_member(act: Act, member_id: int, name: str, role: str, valid_until: dt.date | None) -> bool:
    """Make the member so. Raises Refused where nobody would be left who administers the organisation for good."""
    line, known = typed.one_line(name, later("The name")), typed.code(Role, role, later("a role"))
    if valid_until is not None:
        typed.register_day(valid_until, later("The last day"))
    if known != Role.admin or valid_until is not None:
        people.keep_an_admin(act, member_id)
    query = select(Member).where(Member.org_id == act.org, Member.id == member_id).with_for_update()
    member = act.session.scalars(query.execution_options(populate_existing=True)).one()
    done = [_rename(act, member, line), _give_role(act, member, known), _let_in_until(act, member, valid_until)]
    return any(done)


def change_address(act: Act, member_id: int, email: str) -> bool:
    """Send their alerts there from now on; empty: nowhere. What they sign in with stays. Raises Refused.

    Rules that name the person by the address go on naming the person.
    """
    address = fold_address(email) if email.strip() else None
    query = select(Member).where(Member.org_id == act.org, Member.id == member_id).with_for_update()
    member = act.session.scalars(query.execution_options(populate_existing=True)).one()
    if member.email == address:
        return False
    taken = select(Member.id).where(Member.org_id == act.org, func.lower(Member.email) == address)
    if address is not None and act.session.execute(taken.where(Member.id != member_id)).first() is not None:
        raise Refused("%(address)s is another member's address: correct it, or open that person.", address=address)
    if member.email is not None:
        rename_in_rules(act, member.email, address)
    member.email = address
    changed(act)
    act.record("member_address_changed", member_id=member.id, has_address=address is not None)
    return True


def rename_in_rules(act: Act, old: str, new: str | None) -> None:
    """Recipients and fallbacks are addresses in a rule. Raises Refused where one would name nobody."""
    recipients = select(RuleRecipient).where(RuleRecipient.org_id == act.org)
    named = act.session.scalars(
        recipients.where(func.lower(RuleRecipient.recipient) == f"{MEMBER}:{old}".lower())
    ).all()
    rules = select(AlertRule).where(AlertRule.org_id == act.org, AlertRule.archived_at.is_(None))
    falling_back = act.session.scalars(rules.where(func.lower(AlertRule.fallback) == f"{MEMBER}:{old}".lower())).all()
    if new is None and (named or falling_back):
        raise Refused("A rule names this person by the address: take it out of the rule first, or write another one.")
    for recipient in named:
        act.session.delete(recipient)
        act.session.add(RuleRecipient(org_id=act.org, rule_id=recipient.rule_id, recipient=f"{MEMBER}:{new}"))
    for rule in falling_back:
        rule.fallback = f"{MEMBER}:{new}"


def _rename(act: Act, member: Member, name: str) -> bool:
    if member.name == name:
        return False
    member.name = name
    act.record("member_renamed", member_id=member.id)
    return True


def _give_role(act: Act, member: Member, role: Role) -> bool:
    old = member.role
    if old == role:
        return False
    if role != Role.inspector:
        limit_to_kinds(act, member.id, ())
    member.role = role
    changed(act)
    act.record("member_role_changed", member_id=member.id, old=old, new=role)
    return True


def _let_in_until(act: Act, member: Member, last_day: dt.date | None) -> bool:
    old = member.valid_until
    if old == last_day:
        return False
    member.valid_until = last_day
    changed(act)
    if last_day is not None:
        changed(act, wake_on=last_day + calendars.DAY)
    act.record("member_access_changed", member_id=member.id, old=iso(old), new=iso(last_day))
    return True
