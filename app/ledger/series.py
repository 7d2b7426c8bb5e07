"""Series by the calendar: their due dates are opened ahead, also while the last one is open. What is missed stays.

The watch opens them before it judges, in a short transaction of its own, since it locks entries that people work with;
and so does whoever changes an entry, with the change. Twice at once is once: the key of an obligation decides. How far
a series is opened is kept with its entry, so that looking is cheap.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from app.domain.calendars import DAY, LAST_DAY
from app.domain.recurrences import next_due, to_open
from app.ledger.planning import plan_simply
from app.ledger.queue import changed
from app.ledger.site_days import SiteDays, columns, read_site_days
from app.models.wanted import IN_SCOPE, REACH
from app.trail.act import Act

ANY = """
select exists (select from subject where org_id = :org and recurrence_basis = 'calendar' and status = 'watched')"""

# The series that may need a date, each with the horizon of the widest threshold that reaches it. One that was never
# looked at is counted from its open date.
NEEDY = f"""
with {REACH}, horizon as materialized (
  select * from unnest(cast(:h_sites as bigint[]), cast(:h_thresholds as text[]), cast(:h_due_through as date[]))
         as h (site_id, threshold, due_through)
), series as (
  select s.id, s.kind_id, s.site_id, s.recurrence, s.series_from, s.series_through, s.series_next, d.today
  from subject s
  join site p on p.org_id = :org and p.id = s.site_id and p.archived_at is null
  join site_day d on d.site_id = s.site_id
  where s.org_id = :org and s.status = 'watched' and s.recurrence_basis = 'calendar' and s.recurrence is not null
    and s.due_from is null
    and {IN_SCOPE.format("s.id")}
), ahead as (
  select s.id, max(h.due_through) as due_through
  from series s
  join reached_kind k on k.kind_id = s.kind_id
  join reached_site r on r.rule_id = k.rule_id and r.site_id = s.site_id
  join rule_in_force f on f.rule_id = k.rule_id
  join rule_threshold t on t.org_id = :org and t.rule_id = f.rule_id
  join horizon h on h.site_id = s.site_id and h.threshold = t.threshold
  where not f.by_subject
     or exists (select from rule_subject x where x.org_id = :org and x.rule_id = f.rule_id and x.subject_id = s.id)
  group by s.id)
select s.id, s.recurrence, s.series_from, s.series_through, s.today, coalesce(a.due_through, s.today) as horizon,
       (select coalesce(min(o.first_due_on) filter (where o.closed_at is null), max(o.first_due_on)) from obligation o
        where o.org_id = :org and o.subject_id = s.id and o.outcome is distinct from 'entered_in_error') as given_on
from series s left join ahead a on a.id = s.id
where s.series_through is null or s.series_through <= s.today or s.series_next <= a.due_through
order by s.id"""

MARK = """
update subject s set series_from = g.series_from, series_through = g.series_through, series_next = g.series_next
from unnest(cast(:ids as bigint[]), cast(:froms as date[]), cast(:throughs as date[]), cast(:nexts as date[]))
     as g (id, series_from, series_through, series_next)
where s.org_id = :org and s.id = g.id"""

# A date that was closed as entered in error, with the wrong import that began the series or as another rhythm left it
# behind, is opened again. One that a person has moved is there, on its other day.
OPEN = """
with opened as (
  insert into obligation as o (org_id, subject_id, due_on, first_due_on, opened_at)
  select :org, g.subject_id, g.due_on, g.due_on, :now
  from unnest(cast(:subjects as bigint[]), cast(:due_ons as date[])) as g (subject_id, due_on)
  where not exists (select from obligation x
                    where x.org_id = :org and x.subject_id = g.subject_id and x.first_due_on = g.due_on
                      and x.due_on <> g.due_on and x.outcome is distinct from 'entered_in_error')
  order by g.subject_id, g.due_on
  on conflict (org_id, subject_id, due_on) do update
  set closed_at = null, closed_by = null, outcome = null, reason = null, note = ''
  where o.outcome = 'entered_in_error'
  returning o.id, o.subject_id, o.due_on, o.opened_at = :now as is_new
), event as (
  insert into audit_event (org_id, at, actor, type, subject_id, detail)
  select :org, :now, :actor, case when is_new then 'obligation_opened' else 'obligation_reopened' end, subject_id,
         jsonb_build_object('obligation_id', id, 'due_on', due_on, 'source', 'series')
  from opened order by subject_id, due_on
  returning id
), unsealed as (
  insert into audit_unsealed (org_id, event_id) select :org, id from event)
select id, subject_id from opened order by subject_id, due_on"""


def open_series(act: Act, days: SiteDays | None = None, subjects: Sequence[int] | None = None) -> list[int]:
    """Open the due dates that the series of these entries (None: of all) must have by now; the new obligations.

    Each leaves its event, and word for the scan.
    """
    act.session.flush()
    if not act.run(ANY).scalar_one():
        return []
    plan_simply(act)
    days = days or read_site_days(act)
    thresholds = [row.threshold for row in act.run("select distinct threshold from rule_threshold where org_id = :org")]
    scope = {"subjects": None if subjects is None else list(subjects)}
    marks: list[tuple[int, dt.date, dt.date, dt.date]] = []
    dates: list[tuple[int, dt.date]] = []
    for row in act.run(NEEDY, scope | days.facts | days.horizons(thresholds)).all():
        anchor = row.series_from or row.given_on
        if anchor is None and row.recurrence[-1].isalpha():
            continue  # An interval from no date at all: the entry is shown as one without a date.
        opened, new = dates_of(row, anchor or row.today)
        marks.append((row.id, anchor or row.today, opened, next_due(anchor or row.today, row.recurrence, opened)))
        dates += [(row.id, due_on) for due_on in new]
    return open_dates(act, marks, dates)


def dates_of(row: Any, anchor: dt.date) -> tuple[dt.date, list[dt.date]]:
    """Through which day the series is opened now, and the dates that are new.

    What lay in the past when the entry came to the watch was nobody's to watch, and is not opened.
    """
    opened = row.series_through or row.today - DAY
    new = to_open(anchor, row.recurrence, opened, row.today, row.horizon)
    return (new[-1] if new else opened), [due_on for due_on in new if due_on <= LAST_DAY]


def open_dates(
    act: Act, marks: Sequence[tuple[int, dt.date, dt.date, dt.date]], dates: Sequence[tuple[int, dt.date]]
) -> list[int]:
    if marks:
        act.run(MARK, dict(zip(("ids", "froms", "throughs", "nexts"), columns(marks, 4), strict=True)))
    if not dates:
        return []
    opened = act.run(OPEN, dict(zip(("subjects", "due_ons"), columns(dates, 2), strict=True))).all()
    for subject_id in sorted({row.subject_id for row in opened}):
        changed(act, subject_id=subject_id)
    return [row.id for row in opened]
