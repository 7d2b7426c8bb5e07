"""Absences: who is away, from when until when, and who stands in. Both days are dates of each entry's own site.

Nobody is told of an absence by it, and nothing changes hands: the entries stay theirs. One organisation enters one
absence at a time, so that two at once cannot close a circle of stand-ins.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, select

from app.domain import calendars
from app.domain.acts import Role
from app.domain.errors import Refused
from app.ledger.queue import changed
from app.ledger.site_days import read_site_days
from app.models import Absence, Member, Organisation
from app.operations import typed
from app.operations.typed import iso
from app.trail.act import Act

DEEPEST = 10  # Stand-ins of stand-ins, as far as they are followed when alerts are routed.

# Where something hangs on the person in these days, and the stand-in may not see it.
OUT_OF_SIGHT = """
select p.name from site p
where p.org_id = :org and p.archived_at is null
  and (exists (select from subject s where s.org_id = :org and s.site_id = p.id and s.status <> 'archived'
               and (s.owner_member_id = :member or s.holder_id = :member))
       or exists (select from site_post h where h.org_id = :org and h.site_id = p.id and h.member_id = :member
                  and h.from_on <= :until_on and (h.until_on is null or h.until_on >= :from_on)))
  and exists (select from member_site x where x.org_id = :org and x.member_id = :stand_in)
  and not exists (select from member_site x where x.org_id = :org and x.member_id = :stand_in and x.site_id = p.id)
order by p.name"""


def enter_absence(
    act: Act,
    member_id: int,
    from_on: dt.date,
    until_on: dt.date,
    stand_in_id: int | None = None,
    note: str = "",
    entered_by: int | None = None,
) -> int:
    """Let the member be away on these days. Raises Refused for days that overlap, a circle, or who may not stand in."""
    _take_turns(act)
    _check_days(act, from_on, until_on)
    member = _member(act, member_id)
    for other in _in_force(act, from_on, until_on, Absence.member_id == member_id):
        raise Refused(
            "%(name)s is away from %(first)s until %(last)s already: end that absence first, or choose other days.",
            name=member.name,
            first=other.from_on,
            last=other.until_on,
        )
    if stand_in_id is not None:
        _check_stand_in(act, member, _member(act, stand_in_id), from_on, until_on)
    made = Absence(
        org_id=act.org,
        member_id=member_id,
        stand_in_id=stand_in_id,
        from_on=from_on,
        until_on=until_on,
        note=typed.note(note),
        entered_at=act.now,
        entered_by=entered_by,
    )
    act.session.add(made)
    act.session.flush()
    _wake(act, made)
    facts: dict[str, Any] = {"from_on": iso(from_on), "until_on": iso(until_on), "stand_in_id": stand_in_id}
    act.record("absence_entered", absence_id=made.id, member_id=member_id, **facts)
    return made.id


def end_absence(act: Act, member_id: int, absence_id: int) -> bool:
    """The member is there again, from now on, or does not go at all. Raises LookupError if it is not theirs."""
    query = select(Absence).where(Absence.org_id == act.org, Absence.id == absence_id, Absence.member_id == member_id)
    found = act.session.scalars(query.with_for_update().execution_options(populate_existing=True)).one_or_none()
    if found is None:
        raise LookupError("no such absence")
    if found.cancelled_at is not None or found.until_on < days_of_today(act)[0]:
        return False
    found.cancelled_at = act.now
    changed(act)
    act.record("absence_ended", absence_id=found.id, member_id=member_id)
    return True


def come_back(act: Act, member_id: int) -> bool:
    """End the absence that the member is in; if they are in none, the next one. Whether there was one."""
    first, _ = days_of_today(act)
    ahead = sorted(_in_force(act, first, dt.date.max, Absence.member_id == member_id), key=lambda one: one.from_on)
    return bool(ahead) and end_absence(act, member_id, ahead[0].id)


def put_summary_away(act: Act, member_id: int, absence_id: int) -> bool:
    """The member has read what was told in their place. Raises LookupError if the absence is not theirs."""
    query = select(Absence).where(Absence.org_id == act.org, Absence.id == absence_id, Absence.member_id == member_id)
    found = act.session.scalars(query.with_for_update().execution_options(populate_existing=True)).one_or_none()
    if found is None:
        raise LookupError("no such absence")
    if found.seen_at is not None:
        return False
    found.seen_at = act.now
    act.record("absence_summary_read", absence_id=found.id, member_id=member_id)
    return True


def check_circle(act: Act, member: Member, stand_in: Member, from_on: dt.date, until_on: dt.date) -> None:
    """Raise Refused if whoever stands in is, on one of these days, stood in for by the member, over however many."""
    if _leads_to(act, stand_in.id, member.id, from_on, until_on):
        raise Refused(
            "%(stand_in)s is away in these days, too, and %(name)s stands in, directly or for somebody between: "
            "choose somebody else.",
            stand_in=stand_in.name,
            name=member.name,
        )


def _leads_to(act: Act, who: int, target: int, first: dt.date, last: dt.date, depth: int = 1) -> bool:
    for stand_in, since, until in _stood_in_for(act, who, first, last) if depth <= DEEPEST else ():
        if stand_in == target or _leads_to(act, stand_in, target, since, until, depth + 1):
            return True
    return False


def check_row(act: Act, member: Member, stand_in: Member, from_on: dt.date, until_on: dt.date) -> None:
    """Raise Refused if more would stand in for each other, on one of these days, than are followed to who is told."""
    if _in_a_row(act, member.id, stand_in.id, from_on, until_on) > DEEPEST:
        raise Refused(
            "More than %(most)s people would stand in for each other in a row: choose somebody else.", most=DEEPEST
        )


def _in_a_row(act: Act, who: int, stand_in: int, first: dt.date, last: dt.date, before: int = 0) -> int:
    """How many stand in for each other, through these two: before them, between them, and after them."""
    longest = before + 1 + _after(act, stand_in, first, last)
    for absence in _in_force(act, first, last, Absence.stand_in_id == who):
        days = max(first, absence.from_on), min(last, absence.until_on)
        longest = max(longest, _in_a_row(act, absence.member_id, stand_in, *days, before + 1))
    return longest


def _after(act: Act, who: int, first: dt.date, last: dt.date) -> int:
    return max((1 + _after(act, *after) for after in _stood_in_for(act, who, first, last)), default=0)


def _stood_in_for(act: Act, who: int, first: dt.date, last: dt.date) -> Iterable[tuple[int, dt.date, dt.date]]:
    """Who stands in for them on some of these days, and on which."""
    for one in _in_force(act, first, last, Absence.member_id == who):
        if one.stand_in_id is not None:
            yield one.stand_in_id, max(first, one.from_on), min(last, one.until_on)


def _check_stand_in(act: Act, member: Member, stand_in: Member, from_on: dt.date, until_on: dt.date) -> None:
    if stand_in.id == member.id:
        raise Refused("Nobody stands in for themselves: choose somebody else, or nobody.")
    if not stand_in.is_active:
        raise Refused("%(name)s is disabled: choose somebody else.", name=stand_in.name)
    if stand_in.role == Role.inspector:
        raise Refused("%(name)s is an inspector, and changes nothing: choose somebody else.", name=stand_in.name)
    if stand_in.account_id is None and not (stand_in.email and stand_in.email_alerts):
        raise Refused(
            "%(name)s has neither a login nor e-mail alerts, and would not be told: choose another.", name=stand_in.name
        )
    ends = [day - calendars.DAY for day in (stand_in.left_on,) if day is not None]
    ends += [day for day in (stand_in.valid_until,) if day is not None]
    if ends and min(ends) < until_on:
        raise Refused(
            "The last day of %(name)s here is %(day)s: choose somebody else, or fewer days.",
            name=stand_in.name,
            day=min(ends),
        )
    unseen = out_of_sight(act, member.id, stand_in.id, from_on, until_on)
    if unseen:
        raise Refused(
            "%(stand_in)s may not see %(sites)s, where something hangs on %(name)s: widen the sites of %(stand_in)s, "
            "or choose somebody else.",
            stand_in=stand_in.name,
            sites=", ".join(unseen),
            name=member.name,
        )
    check_circle(act, member, stand_in, from_on, until_on)
    check_row(act, member, stand_in, from_on, until_on)


def out_of_sight(act: Act, member_id: int, other_id: int, from_on: dt.date, until_on: dt.date) -> list[str]:
    """The sites where something hangs on the member in these days, and that the other one may not see."""
    facts = {"member": member_id, "stand_in": other_id, "from_on": from_on, "until_on": until_on}
    return [row.name for row in act.run(OUT_OF_SIGHT, facts)]


def _check_days(act: Act, from_on: dt.date, until_on: dt.date) -> None:
    typed.register_day(from_on, "The first day")
    typed.register_day(until_on, "The last day")
    if until_on < from_on:
        raise Refused(
            "The last day %(last)s is before the first day %(first)s: correct one of them.",
            last=until_on,
            first=from_on,
        )
    if until_on < days_of_today(act)[0]:
        raise Refused("The last day %(last)s is over already: choose a later one.", last=until_on)


def _in_force(act: Act, first: dt.date, last: dt.date, whose: ColumnElement[bool]) -> Iterable[Absence]:
    """The absences that have a day of these, the first one first."""
    query = select(Absence).where(Absence.org_id == act.org, whose, Absence.cancelled_at.is_(None))
    query = query.where(Absence.from_on <= last, Absence.until_on >= first)
    return act.session.scalars(query.order_by(Absence.from_on, Absence.id)).all()


def days_of_today(act: Act) -> tuple[dt.date, dt.date]:
    """The earliest and the latest date of today among the sites."""
    todays = [day.today for day in read_site_days(act).days.values()] or [act.now.date()]
    return min(todays), max(todays)


def _wake(act: Act, absence: Absence) -> None:
    """Everything must be looked at now, when it begins, and on the first day after it."""
    changed(act)
    changed(act, wake_on=absence.from_on)
    changed(act, wake_on=absence.until_on + calendars.DAY)


def _member(act: Act, member_id: int) -> Member:
    return act.session.scalars(select(Member).where(Member.org_id == act.org, Member.id == member_id)).one()


def _take_turns(act: Act) -> None:
    act.session.execute(select(Organisation.id).where(Organisation.id == act.org).with_for_update(key_share=True)).one()
