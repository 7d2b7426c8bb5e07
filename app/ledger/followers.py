"""Parts whose due date is so far from that of their whole: it is opened with the whole's, and moves with it.

Level, never edge: what follows what is looked at as it is, by whoever changes a date or an entry, and by the watch
before it judges. A follower that was closed stays closed; one whose whole was closed stays as it is.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from app.domain.calendars import FIRST_DAY, LAST_DAY
from app.domain.thresholds import alert_day
from app.ledger.queue import changed
from app.ledger.site_days import SiteDays, columns, read_site_days
from app.trail.act import Act

# Each open date of a whole with the date of the part that follows it, if there is one yet.
FOLLOWING = """
select s.id, s.site_id, s.due_from, w.id as whole_id, w.due_on as whole_due_on, o.id as obligation_id, o.due_on
from subject s
join obligation w on w.org_id = :org and w.subject_id = s.part_of_id and w.closed_at is null
left join obligation o on o.org_id = :org and o.subject_id = s.id and o.follows_id = w.id
where s.org_id = :org and s.due_from is not null and s.status = 'watched' and o.closed_at is null
  and (cast(:subjects as bigint[]) is null
       or s.id = any (cast(:subjects as bigint[])) or s.part_of_id = any (cast(:subjects as bigint[])))
order by s.id, w.id"""

# A date that the part has there already, open and of its own, follows from now on.
OPEN = """
with opened as (
  insert into obligation as o (org_id, subject_id, due_on, first_due_on, opened_at, follows_id)
  select :org, g.subject_id, g.due_on, g.due_on, :now, g.whole_id
  from unnest(cast(:subjects as bigint[]), cast(:due_ons as date[]), cast(:wholes as bigint[]))
       as g (subject_id, due_on, whole_id)
  order by g.subject_id, g.due_on
  on conflict (org_id, subject_id, due_on) do update set follows_id = excluded.follows_id
  where o.follows_id is null and o.closed_at is null
  returning o.id, o.subject_id, o.due_on, o.follows_id, o.opened_at = :now as is_new
), event as (
  insert into audit_event (org_id, at, actor, type, subject_id, detail)
  select :org, :now, :actor, 'obligation_opened', subject_id,
         jsonb_build_object('obligation_id', id, 'due_on', due_on, 'source', 'whole',
                            'follows_obligation_id', follows_id)
  from opened where is_new order by subject_id, due_on
  returning id
), unsealed as (
  insert into audit_unsealed (org_id, event_id) select :org, id from event)
select subject_id, id, is_new from opened order by subject_id, id"""

# Onto a day that the part has already nothing moves: its own date stands there.
MOVE = """
with moved as (
  update obligation o set due_on = g.due_on
  from unnest(cast(:ids as bigint[]), cast(:olds as date[]), cast(:due_ons as date[])) as g (id, old, due_on)
  where o.org_id = :org and o.id = g.id and o.due_on = g.old and o.closed_at is null
    and not exists (select from obligation x
                    where x.org_id = :org and x.subject_id = o.subject_id and x.due_on = g.due_on)
  returning o.id, o.subject_id, g.old, o.due_on
), event as (
  insert into audit_event (org_id, at, actor, type, subject_id, detail)
  select :org, :now, :actor, 'date_moved', subject_id,
         jsonb_build_object('obligation_id', id, 'old', old, 'new', due_on, 'reason', 'other', 'note', '',
                            'source', 'whole')
  from moved order by id
  returning id
), unsealed as (
  insert into audit_unsealed (org_id, event_id) select :org, id from event)
select subject_id, id, true as is_new from moved order by subject_id, id"""

# A date of its own stands on the new day: said once, for a person, since only they can move one of the two.
LEFT_BEHIND = """
with behind as (
  select o.id, o.subject_id, o.due_on, g.due_on as wanted_on
  from unnest(cast(:ids as bigint[]), cast(:olds as date[]), cast(:due_ons as date[])) as g (id, old, due_on)
  join obligation o on o.org_id = :org and o.id = g.id and o.due_on = g.old and o.closed_at is null
  join obligation x on x.org_id = :org and x.subject_id = o.subject_id and x.due_on = g.due_on
                   and (x.follows_id is null or x.closed_at is not null)
  where not exists (select from audit_event e
                    where e.org_id = :org and e.subject_id = o.subject_id and e.type = 'part_left_behind'
                      and e.detail @> jsonb_build_object('obligation_id', o.id, 'old', o.due_on, 'new', g.due_on))
), event as (
  insert into audit_event (org_id, at, actor, type, subject_id, detail)
  select :org, :now, :actor, 'part_left_behind', subject_id,
         jsonb_build_object('obligation_id', id, 'old', due_on, 'new', wanted_on)
  from behind order by id
  returning id)
insert into audit_unsealed (org_id, event_id) select :org, id from event"""


@dataclass(frozen=True)
class Followed:
    """The parts whose dates changed, and the dates that are news of it: opened, or on another day."""

    parts: list[int] = field(default_factory=list)
    dates: list[int] = field(default_factory=list)


def follow(act: Act, subjects: Sequence[int] | None = None, days: SiteDays | None = None) -> Followed:
    """Open and move the due dates of parts as those of their wholes say.

    `subjects` are parts or wholes; None: all. Each change leaves its event, and word for the scan.
    """
    act.session.flush()
    rows = act.run(FOLLOWING, {"subjects": None if subjects is None else list(subjects)}).all()
    if not rows:
        return Followed()
    days = days or read_site_days(act)
    opens: list[tuple[int, dt.date, int]] = []
    moves: list[tuple[int, dt.date, dt.date]] = []
    taken = {(row.id, row.due_on) for row in rows if row.due_on is not None}
    for row in rows:
        due_on = followed(row, days)
        # Two dates of a whole may give one of the part, by business days or months: it is there once.
        if due_on is None or due_on == row.due_on or (row.id, due_on) in taken:
            continue
        taken.add((row.id, due_on))
        if row.obligation_id is None:
            opens.append((row.id, due_on, row.whole_id))
        else:
            moves.append((row.obligation_id, row.due_on, due_on))
    touched = opened(act, opens) + moved(act, moves)
    note_left_behind(act, moves)
    parts = sorted({row.subject_id for row in touched})
    for subject_id in parts:
        changed(act, subject_id=subject_id)
    if touched:
        act.session.expire_all()  # What was read of these dates before is not so any more.
    return Followed(parts, [row.id for row in touched if row.is_new])


def followed(row: Any, days: SiteDays) -> dt.date | None:
    """The due date of the part; None where the site's calendar cannot be used, and beyond the register's years."""
    if row.site_id not in days.days:
        return None
    due_on = alert_day(row.due_from, row.whole_due_on, days.days[row.site_id].calendar)
    return due_on if FIRST_DAY <= due_on <= LAST_DAY else None


def opened(act: Act, opens: Sequence[tuple[int, dt.date, int]]) -> list[Any]:
    if not opens:
        return []
    facts = dict(zip(("subjects", "due_ons", "wholes"), columns(opens), strict=True))
    return list(act.run(OPEN, facts))


def moved(act: Act, moves: Sequence[tuple[int, dt.date, dt.date]]) -> list[Any]:
    if not moves:
        return []
    return list(act.run(MOVE, dict(zip(("ids", "olds", "due_ons"), columns(moves), strict=True))))


def note_left_behind(act: Act, moves: Sequence[tuple[int, dt.date, dt.date]]) -> None:
    """Of those that should have moved and could not, an event: the history of the entry says what to do."""
    if moves:
        act.run(LEFT_BEHIND, dict(zip(("ids", "olds", "due_ons"), columns(moves), strict=True)))
