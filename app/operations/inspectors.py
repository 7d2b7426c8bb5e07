"""Limiting an inspector to kinds of entries. Nobody else can be: who changes the register must see what is in it."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import delete, select

from app.domain.acts import Role
from app.domain.errors import Refused
from app.ledger.queue import changed
from app.models import Member, MemberKind
from app.trail.act import Act


def limit_to_kinds(act: Act, member_id: int, kind_ids: Collection[int]) -> bool:
    """Let the inspector see entries of these kinds only; no kind means all again. Raises Refused for another role."""
    query = select(Member).where(Member.org_id == act.org, Member.id == member_id).with_for_update()
    member = act.session.scalars(query.execution_options(populate_existing=True)).one()
    of_member = select(MemberKind.kind_id).where(MemberKind.org_id == act.org, MemberKind.member_id == member_id)
    old, new = set(act.session.scalars(of_member)), set(kind_ids)
    if old == new:
        return False
    if new and member.role != Role.inspector:
        raise Refused("%(name)s is no inspector: only inspectors can be limited to kinds.", name=member.name)
    own = (MemberKind.org_id == act.org, MemberKind.member_id == member_id)
    act.session.execute(delete(MemberKind).where(*own, MemberKind.kind_id.in_(old - new)))
    act.session.add_all(MemberKind(org_id=act.org, member_id=member_id, kind_id=kind_id) for kind_id in new - old)
    changed(act)
    act.record("member_limited_to_kinds", member_id=member_id, old=sorted(old), new=sorted(new))
    return True
