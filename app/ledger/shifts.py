"""What a changed calendar moves: the alert days of whatever is wanted and has no row in the ledger yet. Read only.

What was raised keeps its alert day, whatever becomes of the calendar. SQL gets the days of before and after as arrays.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.calendars import Calendar
from app.domain.thresholds import alert_day
from app.ledger.planning import plan_simply
from app.ledger.site_days import Combination, Day, SiteDays, columns
from app.models.wanted import REACH, WANTED
from app.trail.act import Act

# Only business days hang on the calendar; where the date of today changes, each alert day may come or not.
COMBINATIONS = f"""
with {REACH}
select distinct w.site_id, w.threshold, w.due_on from ({WANTED}) w
where w.threshold like '%bd' or w.site_id = any (cast(:other_days as bigint[]))
order by w.site_id, w.due_on, w.threshold"""

MOVED = f"""
with {REACH}, shift as materialized (
  select * from unnest(cast(:s_sites as bigint[]), cast(:s_thresholds as text[]), cast(:s_due_ons as date[]),
                       cast(:s_olds as date[]), cast(:s_news as date[]), cast(:s_comes as boolean[]))
         as g (site_id, threshold, due_on, old, new, comes)
), hit as materialized (
  select w.subject_id, w.reference, w.title, w.site_id, w.rule_id, w.threshold, w.due_on, g.old, g.new, g.comes
  from ({WANTED}) w
  join shift g on g.site_id = w.site_id and g.threshold = w.threshold and g.due_on = w.due_on
  where not exists (select from notification_ledger l
                    where l.org_id = :org and l.subject_id = w.subject_id and l.rule_id = w.rule_id
                      and l.due_on = w.due_on and l.threshold = w.threshold)
), shown as materialized (
  select * from hit where old <> new order by new, due_on, reference, rule_id, threshold limit :most)
select (select count(*) from hit where old <> new) as alerts,
       (select count(distinct subject_id) from hit where old <> new) as entries,
       (select count(*) from hit where new < old) as earlier,
       (select coalesce(array_agg(distinct subject_id order by subject_id), '{{}}') from hit where comes) as coming,
       (select coalesce(jsonb_agg(to_jsonb(l) order by l.new, l.due_on, l.reference, l.rule, l.threshold), '[]')
        from (select w.subject_id, w.reference, w.title, p.name as site, r.name as rule, w.threshold, w.due_on,
                     w.old, w.new, w.comes
              from shown w
              join site p on p.org_id = :org and p.id = w.site_id
              join alert_rule r on r.org_id = :org and r.id = w.rule_id) l) as lines"""


@dataclass(frozen=True)
class Shift:
    """One alert that is not raised yet, with its day before and after; `comes` if the new day has come already."""

    subject_id: int
    reference: str
    title: str
    site: str
    rule: str
    threshold: str
    due_on: dt.date
    old: dt.date
    new: dt.date
    comes: bool


@dataclass(frozen=True)
class Shifts:
    """How many alerts move, of how many entries, and how many to an earlier day; the first lines of them.

    `coming` are the entries that have an alert whose day comes by the change.
    """

    alerts: int = 0
    entries: int = 0
    earlier: int = 0
    coming: Sequence[int] = ()
    lines: Sequence[Shift] = ()


def read_shifts(act: Act, before: SiteDays, after: SiteDays, most: int) -> Shifts:
    """What moves between the two; asked while the change is made. Of `lines` at most so many."""
    olds = {site: before.days[site] for site in after.days if site in before.days}
    # Only the sites that change are looked at: the others are given no day.
    changing = {site: after.days[site] for site, old in olds.items() if _judges(old) != _judges(after.days[site])}
    if not changing:
        return Shifts()
    plan_simply(act)
    other_days = [site for site, new in changing.items() if olds[site].today != new.today]
    facts = SiteDays(changing, []).facts | {"subjects": None, "most": most, "other_days": other_days}
    combinations = [(row.site_id, row.threshold, row.due_on) for row in act.run(COMBINATIONS, facts)]
    rows = [row for one in combinations if (row := _moved(one, olds[one[0]], changing[one[0]]))]
    names = ("s_sites", "s_thresholds", "s_due_ons", "s_olds", "s_news", "s_comes")
    found = act.run(MOVED, facts | dict(zip(names, columns(rows, 6), strict=True))).one()
    return Shifts(found.alerts, found.entries, found.earlier, found.coming, [_shift(line) for line in found.lines])


def _judges(day: Day) -> tuple[Calendar, dt.date]:
    return day.calendar, day.today


def _moved(combination: Combination, old: Day, new: Day) -> tuple[Any, ...] | None:
    """The alert day before and after, and whether it comes by the change; None where nothing is different."""
    _, threshold, due_on = combination
    before, after = (alert_day(threshold, due_on, day.calendar) for day in (old, new))
    comes = after <= new.today and before > old.today
    return (*combination, before, after, comes) if comes or before != after else None


def _shift(line: dict[str, Any]) -> Shift:
    days = {name: dt.date.fromisoformat(line[name]) for name in ("due_on", "old", "new")}
    return Shift(**(line | days))
