"""The hours of e-mails that wait: each follows the hours of its recipient, worked out in plain Python, as they are now.

A plan is made of the instant at which the message is ready, so that making it again changes nothing. When its facts
have changed (hours, the due date, a calendar) it is made anew, of now. What leaves late, by a fault, waits for the end
of a rest time once more. What a person sends again has no hours: somebody is waiting for it. Only hours move here.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.calendars import Calendar, check_zone
from app.domain.delivery import TimedBy
from app.domain.errors import UnusableZone
from app.domain.mail_hours import Due, Hours, Rest, after_rest, plan
from app.ledger.moves import LEASE
from app.ledger.site_days import Day, SiteDays
from app.models.wanted import IN_SCOPE
from app.trail.act import Act

# What waits for a person who has hours, or whose hours set its own before. `rest_*` are the person's or, where these
# have none of their own, the organisation's.
WAITING = f"""
with hours as materialized (
  select m.id as member_id, coalesce(m.timezone, g.timezone) as timezone, m.country, m.region, m.mail_hour,
         case when m.own_rest then m.rest_from else g.rest_from end as rest_from,
         case when m.own_rest then m.rest_until else g.rest_until end as rest_until,
         case when m.own_rest then m.rest_days_off else g.rest_days_off end as rest_days_off
  from member m join organisation g on g.id = :org
  where m.org_id = :org
), waiting as materialized (
  select x.id, x.claim_id, x.attempts, x.not_before, x.next_attempt_at, x.timed_by,
         coalesce(x.ready_at, x.not_before) as ready_at, h.*
  from delivery x join hours h on h.member_id = x.recipient_id
  where x.org_id = :org and x.channel = 'email' and x.state in {LEASE.FROM} and x.resend_of is null
    and (h.mail_hour is not null or h.rest_from is not null or h.rest_days_off
         or x.timed_by is not null and x.timed_by <> 'alert_from')
)
select x.*, l.due_on, s.site_id
from waiting x
join notification_ledger l on l.org_id = :org and l.id = x.claim_id and {IN_SCOPE.format("l.subject_id")}
join subject s on s.org_id = :org and s.id = l.subject_id
order by x.id"""

SET_HOURS = f"""
with moved as (
  update delivery x
  set ready_at = p.ready_at, not_before = p.not_before, next_attempt_at = p.next_attempt_at, timed_by = p.timed_by
  from unnest(cast(:ids as bigint[]), cast(:ready_ats as timestamptz[]), cast(:not_befores as timestamptz[]),
              cast(:next_attempt_ats as timestamptz[]), cast(:timed_bys as text[]))
       as p (id, ready_at, not_before, next_attempt_at, timed_by)
  where x.org_id = :org and x.id = p.id and x.id = any (cast(:ids as bigint[])) and x.state in {LEASE.FROM}
  returning x.id, x.claim_id, x.recipient_id, x.timed_by, x.next_attempt_at, 'delivery_timed' as happened
), event as (
  insert into audit_event (org_id, at, actor, type, subject_id, claim_id, delivery_id, detail)
  select :org, :now, :actor, m.happened, l.subject_id, m.claim_id, m.id,
         jsonb_build_object('recipient', m.recipient_id, 'channel', 'email', 'timed_by', m.timed_by,
                            'from', m.next_attempt_at)
  from moved m join notification_ledger l on l.org_id = :org and l.id = m.claim_id order by m.id
  returning id
), unsealed as (
  insert into audit_unsealed (org_id, event_id) select :org, id from event)
select count(*) from moved"""


@dataclass(frozen=True)
class Timed:
    """The hour that a message gets: of which instant it was worked out, from when it goes, and what set that."""

    id: int
    ready_at: dt.datetime
    not_before: dt.datetime
    next_attempt_at: dt.datetime
    timed_by: str | None


def time_mail(act: Act, days: SiteDays, scope: dict[str, Any]) -> None:
    """Let what waits in this scope follow the hours of now. Again changes nothing."""
    people: dict[int, Hours] = {}
    found = []
    for row in act.run(WAITING, scope):
        if row.site_id in days.days:  # Nothing leaves for a site whose day is not known.
            hours = people.setdefault(row.member_id, hours_of(row))
            found.append(timed(row, days.days[row.site_id], hours, act.now))
    moved = [one for one in found if one is not None]
    if moved:
        act.run(SET_HOURS, arrays(moved))


def hours_of(row: Any) -> Hours:
    """The hours of the recipient. Where their zone cannot be used there are none: rather too early than never."""
    try:
        check_zone(row.timezone)
    except UnusableZone:
        return Hours("UTC", Calendar())
    rest = Rest(row.rest_from, row.rest_until, row.rest_days_off)
    return Hours(row.timezone, Calendar(row.country, row.region), row.mail_hour, rest)


def timed(row: Any, day: Day, hours: Hours, now: dt.datetime) -> Timed | None:
    """The new hour of a message that waits; None where it keeps the one that it has."""
    due = Due(row.due_on, day.timezone)
    at, timed_by = plan(row.ready_at, due, hours)
    if at != row.not_before and not (at == row.ready_at and row.not_before <= at):
        ready = max(now, day.not_before)
        at, timed_by = plan(ready, due, hours)
        return Timed(row.id, ready, at, max(at, row.next_attempt_at) if row.attempts else at, timed_by)
    if timed_by is not None and row.timed_by in (None, TimedBy.alert_from):
        return Timed(row.id, row.ready_at, row.not_before, row.next_attempt_at, timed_by)
    return held_back(row, due, hours, now)


def held_back(row: Any, due: Due, hours: Hours, now: dt.datetime) -> Timed | None:
    """What could go and did not, and would go in rest time: its next try moves, and since when it waits does not."""
    is_held = row.timed_by in (TimedBy.rest, TimedBy.day_off) and not row.attempts
    if row.not_before > now or (row.next_attempt_at > now and not is_held):
        return None
    at, timed_by = after_rest(now, due, hours)
    if at <= now and row.next_attempt_at <= now:
        at = row.next_attempt_at
    if at == row.next_attempt_at and timed_by in (None, row.timed_by):
        return None
    return Timed(row.id, row.ready_at, row.not_before, at, timed_by or row.timed_by)


def arrays(moved: Sequence[Timed]) -> dict[str, list[Any]]:
    return {f"{name}s": [getattr(one, name) for one in moved] for name in Timed.__dataclass_fields__}
