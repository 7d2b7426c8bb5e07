"""Leaving: from which day on a member is not there, and to whom what hangs on them goes on that day.

The duty goes as soon as the first of the sites has that date, so that nothing is without anybody anywhere.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy import select

from app.domain.acts import Held, Role
from app.domain.errors import Refused
from app.ledger.queue import changed
from app.models import Departure, Member, Organisation, Post
from app.operations import people, typed
from app.operations.absences import days_of_today, out_of_sight
from app.operations.handing_on import hand_on
from app.operations.typed import iso
from app.trail.act import Act
from app.wording import later

# Sites where something hangs on the person, and nobody else who is there that day holds the post.
UNHELD = """
select p.name from site p
where p.org_id = :org and p.archived_at is null
  and exists (select from subject s where s.org_id = :org and s.site_id = p.id and s.status <> 'archived'
              and (s.owner_member_id = :member or s.holder_id = :member))
  and not exists (
    select from site_post h join member m on m.org_id = :org and m.id = h.member_id
    where h.org_id = :org and h.site_id = p.id and h.post_id = :post and h.member_id <> :member
      and h.from_on <= :day and (h.until_on is null or h.until_on >= :day)
      and m.is_active and (m.left_on is null or m.left_on > :day) and (m.valid_until is null or m.valid_until >= :day))
order by p.name"""

NAMED_IN_RULES = """
select exists (select from rule_recipient t join member m on m.org_id = :org and m.id = :member
               where t.org_id = :org and lower(t.recipient) = 'member:' || lower(m.email))
    or exists (select from alert_rule r join member m on m.org_id = :org and m.id = :member
               where r.org_id = :org and r.archived_at is null and lower(r.fallback) = 'member:' || lower(m.email))"""


def leave(
    act: Act,
    member_id: int,
    leaves_on: dt.date,
    *,
    to_member_id: int | None = None,
    to_post_id: int | None = None,
    about: str = Held.hand_over,
    entered_by: int | None = None,
) -> int:
    """Let the member be gone from this day on, in place of what was said before; the id of the departure.

    A day that has come hands everything over at once. Raises Refused for the last administrator, and for who cannot
    take over.
    """
    act.session.execute(select(Organisation.id).where(Organisation.id == act.org).with_for_update(key_share=True)).one()
    people.keep_an_admin(act, member_id)
    typed.register_day(leaves_on, later("The day"))
    check_heir(act, member_id, leaves_on, to_member_id, to_post_id)
    member = _locked(act, member_id)
    if (before := _open(act, member_id)) is not None:
        before.withdrawn_at = act.now
        act.session.flush()
    said = typed.code(Held, about, later("what becomes of entries about the person"))
    to: dict[str, Any] = {"to_member_id": to_member_id, "to_post_id": to_post_id}
    by = {"entered_at": act.now, "entered_by": entered_by}
    made = Departure(org_id=act.org, member_id=member_id, leaves_on=leaves_on, about=said, **to, **by)
    member.left_on = leaves_on
    act.session.add(made)
    act.session.flush()
    changed(act)
    changed(act, wake_on=leaves_on)
    act.record("departure_entered", departure_id=made.id, member_id=member_id, leaves_on=iso(leaves_on), **to)
    if leaves_on <= days_of_today(act)[1]:
        hand_on(act, made)
    return made.id


def stay(act: Act, member_id: int) -> bool:
    """The member does not leave, or is back. What was handed over stays where it is."""
    member, departure = _locked(act, member_id), _open(act, member_id)
    if member.left_on is None:
        return False
    if departure is not None:
        departure.withdrawn_at = act.now
    old, member.left_on = member.left_on, None
    changed(act)
    act.record("departure_withdrawn", member_id=member_id, leaves_on=iso(old))
    return True


def hand_on_due(act: Act) -> int:
    """Hand over what hangs on those whose day has come; how many they are. Again does nothing.

    Where whoever was to take over cannot any more, nothing moves: who is told by nobody is shown, and somebody decides.
    """
    query = select(Departure).where(Departure.org_id == act.org, Departure.done_at.is_(None))
    query = query.where(Departure.withdrawn_at.is_(None), Departure.leaves_on <= days_of_today(act)[1])
    done = 0
    for departure in act.session.scalars(query.order_by(Departure.id).with_for_update()).all():
        to = (departure.to_member_id, departure.to_post_id)
        try:
            with act.session.begin_nested():  # One that is refused half-way stops neither the others nor the watch.
                check_heir(act, departure.member_id, departure.leaves_on, *to)
                hand_on(act, departure)
        except Refused:
            continue
        done += 1
    return done


def check_heir(act: Act, member_id: int, day: dt.date, to_member_id: int | None, to_post_id: int | None) -> None:
    """Raise Refused unless one of them can take over everything on that day."""
    if (to_member_id is None) == (to_post_id is None):
        raise Refused("Choose who takes over: a person, or a post.")
    if to_post_id is not None:
        post = act.session.get_one(Post, (act.org, to_post_id))
        nobody = [row.name for row in act.run(UNHELD, {"member": member_id, "post": to_post_id, "day": day})]
        if nobody:
            words = later("Nobody else holds the post %(post)s at %(sites)s on %(day)s: assign it first.")
            raise Refused(words, post=post.name, sites=", ".join(nobody), day=day)
    if to_member_id is not None:
        _check_person(act, member_id, day, act.session.get_one(Member, (act.org, to_member_id)))


def _check_person(act: Act, member_id: int, day: dt.date, heir: Member) -> None:
    if heir.id == member_id:
        raise Refused("Whoever leaves cannot take over: choose somebody else.")
    gone = (heir.left_on is not None and heir.left_on <= day) or (
        heir.valid_until is not None and heir.valid_until < day
    )
    if not heir.is_active or heir.role == Role.inspector or gone:
        words = later("%(name)s is disabled, an inspector, or not here any more on %(day)s: choose somebody else.")
        raise Refused(words, name=heir.name, day=day)
    unseen = out_of_sight(act, member_id, heir.id, day, dt.date.max)
    if unseen:
        words = later("%(name)s may not see %(sites)s: widen their sites, or choose somebody else.")
        raise Refused(words, name=heir.name, sites=", ".join(unseen))
    if heir.email is None and act.run(NAMED_IN_RULES, {"member": member_id}).scalar_one():
        words = later("A rule names whoever leaves, and %(name)s has no e-mail address to be named by: add one.")
        raise Refused(words, name=heir.name)


def _open(act: Act, member_id: int) -> Departure | None:
    query = select(Departure).where(Departure.org_id == act.org, Departure.member_id == member_id)
    query = query.where(Departure.done_at.is_(None), Departure.withdrawn_at.is_(None)).with_for_update()
    return act.session.scalars(query).one_or_none()


def _locked(act: Act, member_id: int) -> Member:
    query = select(Member).where(Member.org_id == act.org, Member.id == member_id).with_for_update()
    return act.session.scalars(query.execution_options(populate_existing=True)).one()
