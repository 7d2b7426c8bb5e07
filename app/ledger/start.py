"""Start `next`: what has crossed already, and is there only through this act, is written as superseded (start).

An action inside the transaction of the act that saves a rule, applies an import or releases drafts; nothing else is
remembered, so that a date moved later is news. Rows that are already there are left alone.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.database import SCHEDULER, borrowed
from app.ledger.planning import plan_simply
from app.ledger.site_days import SiteDays, read_site_days, read_thresholds
from app.ledger.standings import TOLD
from app.models.wanted import IS_FOLLOW_UP, REACH, WANTED_AND_CROSSED
from app.trail.act import Act

NEW = f"""
with {REACH}, horizon as materialized (
  select * from unnest(cast(:h_sites as bigint[]), cast(:h_thresholds as text[]), cast(:h_due_through as date[]))
         as h (site_id, threshold, due_through)
), known as materialized (
  select * from unnest(cast(:k_subjects as bigint[]), cast(:k_thresholds as text[])) as k (subject_id, threshold))
select w.rule_id, w.rule_version, w.subject_id, w.threshold, w.due_on, w.obligation_id, w.site_id, w.reference, w.title
from ({WANTED_AND_CROSSED}) w
where (cast(:rule as bigint) is null or w.rule_id = :rule)
  and (cast(:obligations as bigint[]) is null or w.obligation_id = any (cast(:obligations as bigint[])))
  and (cast(:seen as bigint[]) is null or w.obligation_id = any (cast(:seen as bigint[])))
  and not exists (select from known k where k.subject_id = w.subject_id
                  and (k.threshold = w.threshold or {IS_FOLLOW_UP.format("w.threshold")}))"""

HOLD_BACK = f"""
with new as materialized ({NEW}
), alert_day as materialized (
  select * from unnest(cast(:a_sites as bigint[]), cast(:a_thresholds as text[]), cast(:a_due_ons as date[]),
                       cast(:a_alert_ons as date[])) as a (site_id, threshold, due_on, alert_on)
), held_back as (
  insert into notification_ledger (org_id, rule_id, rule_version, subject_id, site_id, obligation_id, reference, title,
                                   threshold, due_on, crossed_on, claimed_at, standing, reason, scan_run_id)
  select :org, n.rule_id, n.rule_version, n.subject_id, n.site_id, n.obligation_id, n.reference, n.title,
         n.threshold, n.due_on, a.alert_on, :now, 'superseded', 'start', :run
  from new n join alert_day a on a.site_id = n.site_id and a.threshold = n.threshold and a.due_on = n.due_on
  order by n.subject_id, n.rule_id, n.due_on, n.threshold
  on conflict (org_id, rule_id, subject_id, threshold, due_on) do nothing
  returning id, subject_id, rule_id, threshold, due_on
), event as (
  insert into audit_event (org_id, at, actor, type, subject_id, claim_id, detail)
  select :org, :now, :actor, 'superseded', subject_id, id,
         jsonb_build_object('run', cast(:run as bigint), 'rule', rule_id, 'threshold', threshold, 'due_on', due_on,
                            'reason', 'start')
  from held_back order by id
  returning id
), unsealed as (
  insert into audit_unsealed (org_id, event_id) select :org, id from event)
select count(*) from held_back"""

# What was raised for a date before it was closed, and told to nobody: it is there already, and would be told once the
# date is open again. A move names its origin (law 3); what was told stays as it is.
HOLD_BACK_RAISED = f"""
with new as materialized ({NEW}
), held_back as (
  update notification_ledger l set standing = 'superseded', reason = 'start'
  from new n
  where l.org_id = :org and l.subject_id = n.subject_id and l.rule_id = n.rule_id and l.due_on = n.due_on
    and l.threshold = n.threshold and l.delivered_at is null and not {TOLD}
    and (l.standing in ('open', 'withdrawn') or l.standing = 'superseded' and l.reason is not distinct from 'sharper')
  returning l.id, l.subject_id, l.rule_id, l.threshold, l.due_on
), event as (
  insert into audit_event (org_id, at, actor, type, subject_id, claim_id, detail)
  select :org, :now, :actor, 'superseded', subject_id, id,
         jsonb_build_object('rule', rule_id, 'threshold', threshold, 'due_on', due_on, 'reason', 'start')
  from held_back order by id
  returning id
), unsealed as (
  insert into audit_unsealed (org_id, event_id) select :org, id from event)
select count(*) from held_back"""

# What a rule reaches, dates apart: each entry with each of its thresholds. An entry that it reached has its follow-ups.
PAIRS = f"""
with {REACH}
select distinct s.id as subject_id, t.threshold
from subject s
join reached_kind k on k.kind_id = s.kind_id and k.rule_id = :rule
join reached_site p on p.rule_id = k.rule_id and p.site_id = s.site_id
join rule_in_force r on r.rule_id = k.rule_id
join rule_threshold t on t.org_id = :org and t.rule_id = r.rule_id
where s.org_id = :org
  and (not r.by_subject or exists (
         select from rule_subject x where x.org_id = :org and x.rule_id = r.rule_id and x.subject_id = s.id))"""


@dataclass(frozen=True)
class Before:
    """What was so before a rule was changed: the deadlines that were open, and the entries and thresholds that it had.

    A deadline that somebody else commits in between is not among them, and so is told: it is there by their act.
    """

    deadlines: list[int]
    pairs: list[tuple[int, str]]


def before_change(act: Act, rule_id: int) -> Before:
    """Read before a change, for `hold_back` after it; the deadlines first, so that a pair may miss, but never lies."""
    act.session.flush()
    deadlines = list(act.run("select id from obligation where org_id = :org and closed_at is null").scalars())
    rows = act.run(PAIRS, read_site_days(act).facts | {"subjects": None, "rule": rule_id})
    return Before(deadlines, [(row.subject_id, row.threshold) for row in rows])


def hold_back(
    act: Act,
    *,
    rule_id: int | None = None,
    before: Before | None = None,
    obligation_ids: Sequence[int] | None = None,
) -> int:
    """Write what is wanted and crossed, and new through this act, as superseded (start); the number of claims.

    New are the pairs of a rule that it did not have before, or these obligations.
    """
    days, facts = facts_of(act, rule_id, before, obligation_ids)
    combinations: list[tuple[int, str, dt.date]] = sorted(
        {(n.site_id, n.threshold, n.due_on) for n in act.run(NEW, facts)}
    )
    if not combinations:
        return 0
    run = act.run(
        "insert into scan_run (org_id, trigger, actor, started_at, finished_at, is_full) "
        "values (:org, 'start', :actor, :now, :now, false) returning id"
    ).scalar_one()
    return int(act.run(HOLD_BACK, facts | days.alert_days(combinations) | {"run": run}).scalar_one())


def hold_back_raised(act: Act, obligation_ids: Sequence[int]) -> int:
    """Write what these obligations had raised before, told to nobody, as superseded (start); the number of claims.

    For dates that are open again. What leaves with such a claim is cancelled by the next align, right before it leaves.
    """
    if not obligation_ids:
        return 0
    _, facts = facts_of(act, None, None, obligation_ids)
    with borrowed(act.session, SCHEDULER):
        return int(act.run(HOLD_BACK_RAISED, facts).scalar_one())


def facts_of(
    act: Act, rule_id: int | None, before: Before | None, obligation_ids: Sequence[int] | None
) -> tuple[SiteDays, dict[str, Any]]:
    """Each site's day, and what the statements of this module are given."""
    act.session.flush()
    plan_simply(act)
    days = read_site_days(act)
    facts = {
        "subjects": None,
        "rule": rule_id,
        "obligations": None if obligation_ids is None else list(obligation_ids),
        "seen": before.deadlines if before else None,
        "k_subjects": [subject for subject, _ in before.pairs] if before else [],
        "k_thresholds": [threshold for _, threshold in before.pairs] if before else [],
    }
    return days, days.facts | days.horizons(read_thresholds(act)) | facts
