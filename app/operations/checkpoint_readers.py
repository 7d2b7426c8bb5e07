"""Who keeps the seal outside: the members to whom each day's checkpoint is mailed. Nobody, unless somebody says so."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import select

from app.domain.errors import Refused
from app.models import Member
from app.trail.act import Act


def choose(act: Act, member_ids: Collection[int]) -> bool:
    """Let these members, and nobody else, get the checkpoint of each day. Raises Refused, LookupError."""
    here = {member.id for member in members(act)}
    if not set(member_ids) <= here:
        raise LookupError(sorted(set(member_ids) - here)[0])
    changed = {set_reader(act, id, id in member_ids) for id in sorted(here)}
    return True in changed


def set_reader(act: Act, member_id: int, wanted: bool) -> bool:
    """Mail the checkpoint of each day to this member, or do not; whether that is another thing than before."""
    query = select(Member).where(Member.org_id == act.org, Member.id == member_id)
    member = act.session.scalars(query.with_for_update().execution_options(populate_existing=True)).one()
    if member.daily_checkpoint is wanted:
        return False
    if wanted and not member.email:
        raise Refused(
            "%(name)s has no e-mail address: enter one under People, then the seal of each day can be mailed there.",
            name=member.name,
        )
    member.daily_checkpoint = wanted
    act.session.flush()
    act.record("daily_checkpoint_changed", member_id=member_id, old=not wanted, new=wanted)
    return True


def members(act: Act) -> list[Member]:
    query = select(Member).where(Member.org_id == act.org, Member.is_active | Member.daily_checkpoint)
    return list(act.session.scalars(query.order_by(Member.name, Member.id)))
