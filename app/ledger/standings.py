"""The table of standings (DESIGN section 4): which claims are opened, superseded, withdrawn, opened again.

Claims come into being here and in start.py, nowhere else. The constraint `notification_once` decides whether one does
(law 2); every move names the standing that it comes from (law 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.ledger.site_days import Combination, SiteDays, read_thresholds
from app.models.wanted import FACTS_OF_CLAIM, IN_SCOPE, IS_FOLLOW_UP, REACH, WANTED, WANTED_AND_CROSSED, WHY_NOT
from app.trail.act import Act

# Nominal fifths of a day of a threshold, negative after the due date, as `app.domain.thresholds` has them.
NOMINAL = """(case when {0} like '+%' then -1 else 1 end * cast(substring({0} from '[0-9]+') as integer)
  * case when {0} like '%bd' then 7 when {0} like '%d' then 5 when {0} like '%w' then 35 else 150 end)"""

# The sharpest first: the later alert day, then fewer nominal days, then the text smaller by code point.
SHARPEST_FIRST = f'crossed_on desc, {NOMINAL.format("threshold")}, threshold collate "C"'

# What is judged together: the alerts of a rule about one due date. The follow-ups of its filing are a family of their
# own: they cover no alert, and no alert covers them.
FAMILY = f"subject_id, rule_id, due_on, {IS_FOLLOW_UP.format('threshold')}"

TOLD = """exists (select from delivery x where x.org_id = :org and x.claim_id = l.id
                     and x.state in ('handing_over', 'delivered', 'bounced', 'in_doubt'))"""

# What has crossed and has no row, by site, threshold and due date: usually nothing, and a scan ends here.
UNCLAIMED = f"""
with {REACH}, horizon as materialized (
  select * from unnest(cast(:h_sites as bigint[]), cast(:h_thresholds as text[]), cast(:h_due_through as date[]))
         as h (site_id, threshold, due_through))
select distinct w.site_id, w.threshold, w.due_on
from ({WANTED_AND_CROSSED}) w
where not exists (select from notification_ledger l
                  where l.org_id = :org and l.subject_id = w.subject_id and l.rule_id = w.rule_id
                    and l.due_on = w.due_on and l.threshold = w.threshold and {IN_SCOPE.format("l.subject_id")})"""

MOVE = f"""
with {REACH}, wanted as materialized ({WANTED}

), alert_day as materialized (
  select * from unnest(cast(:a_sites as bigint[]), cast(:a_thresholds as text[]), cast(:a_due_ons as date[]),
                       cast(:a_alert_ons as date[])) as a (site_id, threshold, due_on, alert_on)

), held as materialized (      -- 1. what the ledger holds of the families that are wanted, and what is still to be told
  select l.*, l.delivered_at is not null or {TOLD} as told
  from notification_ledger l
  join subject s on s.org_id = :org and s.id = l.subject_id and {IN_SCOPE.format("s.id")}
  join site_day d on d.site_id = s.site_id
  left join (select distinct subject_id, rule_id, due_on from wanted) w
         on w.subject_id = l.subject_id and w.rule_id = l.rule_id and w.due_on = l.due_on
  where l.org_id = :org and {IN_SCOPE.format("l.subject_id")}
    and (l.standing = 'open' and l.delivered_at is null or w.subject_id is not null)

), family as materialized (    -- 2. beside it, what is wanted, has crossed, and has no row
  select h.id as claim_id, h.rule_id, h.subject_id, h.due_on, h.threshold, h.crossed_on, h.standing, h.reason,
         h.told, w.rule_id is not null as wanted, w.rule_version, w.obligation_id, w.site_id, w.reference, w.title
  from held h
  left join wanted w on w.subject_id = h.subject_id and w.rule_id = h.rule_id and w.due_on = h.due_on
                    and w.threshold = h.threshold
  union all
  select null, w.rule_id, w.subject_id, w.due_on, w.threshold, a.alert_on, null, null,
         false, true, w.rule_version, w.obligation_id, w.site_id, w.reference, w.title
  from wanted w
  join alert_day a on a.site_id = w.site_id and a.threshold = w.threshold and a.due_on = w.due_on
  where not exists (select from held h where h.subject_id = w.subject_id and h.rule_id = w.rule_id
                    and h.due_on = w.due_on and h.threshold = w.threshold)

), topped as (                 -- 3. top: the sharpest that is wanted and crossed
  select f.*, f.wanted and row_number() over (
           partition by {FAMILY} order by wanted desc, {SHARPEST_FIRST}) = 1 as top
  from family f

), claiming as (               -- 4. claiming: open and still to be told, or about to be opened
  select t.*, wanted and not told
           and (standing is not distinct from 'open'
                or :opening and top
                   and (standing is null or standing = 'withdrawn' or reason is not distinct from 'sharper')) as claims
  from topped t

), covered as (                -- 5. covered: a sharper one is told, or claims
  select c.*, coalesce(bool_or(told or claims) over (
           partition by {FAMILY} order by {SHARPEST_FIRST}
           rows between unbounded preceding and 1 preceding), false) as covered
  from claiming c

), judged as materialized (    -- 6. one order for everybody, so that two scans cannot lock each other out
  select c.*,
         case when claims and not covered then 'open'
              when standing is null or standing = 'open' and wanted then 'superseded'
              else 'withdrawn' end as becomes,
         case when not (claims and not covered) and (standing is null or wanted) then 'sharper' end as because
  from covered c
  where standing is null
     or not told and standing = 'open' and (not wanted or covered)
     or standing <> 'open' and claims and not covered
  order by subject_id, rule_id, due_on, threshold

), unwanted as materialized (  -- 7. why a claim is wanted no longer
  select l.id, {WHY_NOT} as why
  from judged j join notification_ledger l on l.org_id = :org and l.id = j.claim_id {FACTS_OF_CLAIM}
  where j.becomes = 'withdrawn'

), claimed as (                -- 8. the constraint decides, whatever this statement saw
  insert into notification_ledger (org_id, rule_id, rule_version, subject_id, site_id, obligation_id, reference, title,
                                   threshold, due_on, crossed_on, claimed_at, standing, reason, scan_run_id)
  select :org, rule_id, rule_version, subject_id, site_id, obligation_id, reference, title,
         threshold, due_on, crossed_on, :now, becomes, because, :run
  from judged where claim_id is null
  on conflict (org_id, rule_id, subject_id, threshold, due_on) do nothing
  returning id, subject_id, rule_id, threshold, due_on, crossed_on, standing, reason,
            case standing when 'open' then 'claimed' else standing end as happened

), moved as (                  -- 9. a move names its origin
  update notification_ledger l set standing = j.becomes, reason = coalesce(u.why, j.because)
  from judged j left join unwanted u on u.id = j.claim_id
  where l.org_id = :org and l.id = j.claim_id and l.standing = j.standing and l.reason is not distinct from j.reason
  returning l.id, l.subject_id, l.rule_id, l.threshold, l.due_on, l.crossed_on, l.standing, l.reason,
            case l.standing when 'open' then 'reopened' else l.standing end as happened

), fresh as (
  select *, true as is_new from claimed union all select *, false from moved

), event as (                  -- 10. the trail
  insert into audit_event (org_id, at, actor, type, subject_id, claim_id, detail)
  select :org, :now, :actor, happened, subject_id, id,
         jsonb_strip_nulls(jsonb_build_object('run', cast(:run as bigint), 'rule', rule_id, 'threshold', threshold,
           'due_on', due_on, 'crossed_on', crossed_on, 'reason', reason))
  from fresh order by subject_id, rule_id, due_on, threshold
  returning id
), unsealed as (
  insert into audit_unsealed (org_id, event_id) select :org, id from event)

select count(*) filter (where happened = 'claimed') as claimed,
       count(*) filter (where happened = 'superseded' and is_new) as superseded,
       count(*) filter (where happened = 'superseded' and not is_new) as overtaken,
       count(*) filter (where happened = 'reopened') as reopened,
       count(*) filter (where happened = 'withdrawn') as withdrawn
from fresh"""

# Until a claim is told it shows the facts of now; what was told is history and does not move. What is open and not told
# is wanted, since MOVE has just withdrawn the rest; only at a site that cannot be used it may not be.
REFRESH = f"""
with stale as materialized (
  select l.id, o.id as obligation_id, s.site_id, s.reference, s.title,
         jsonb_build_object('reference', l.reference, 'title', l.title, 'site', l.site_id) as before
  from notification_ledger l
  join subject s on s.org_id = :org and s.id = l.subject_id
  join obligation o on o.org_id = :org and o.subject_id = l.subject_id and o.due_on = l.due_on
  where l.org_id = :org and l.standing = 'open' and l.delivered_at is null and {IN_SCOPE.format("l.subject_id")}
    and s.site_id = any (cast(:sites as bigint[]))
    and (l.obligation_id, l.site_id, l.reference, l.title) <> (o.id, s.site_id, s.reference, s.title)
    and not {TOLD}
), refreshed as (
  update notification_ledger l
  set obligation_id = s.obligation_id, site_id = s.site_id, reference = s.reference, title = s.title
  from stale s where l.org_id = :org and l.id = s.id
  returning l.id, l.subject_id, s.before
), event as (
  insert into audit_event (org_id, at, actor, type, subject_id, claim_id, detail)
  select :org, :now, :actor, 'claim_refreshed', subject_id, id, jsonb_build_object('before', before) from refreshed
  returning id
), unsealed as (
  insert into audit_unsealed (org_id, event_id) select :org, id from event)
select count(*) from refreshed"""


@dataclass(frozen=True)
class Moves:
    """How many claims moved: new and open, new and superseded, superseded later, opened again, withdrawn."""

    claimed: int
    superseded: int
    overtaken: int
    reopened: int
    withdrawn: int


def read_unclaimed(act: Act, days: SiteDays, scope: dict[str, Any]) -> list[Combination]:
    """What has crossed and is not in the ledger, by site, threshold and due date."""
    facts = days.facts | days.horizons(read_thresholds(act)) | scope
    return [(row.site_id, row.threshold, row.due_on) for row in act.run(UNCLAIMED, facts)]


def move_standings(
    act: Act, days: SiteDays, scope: dict[str, Any], unclaimed: list[Combination], *, opening: bool, run: int | None
) -> Moves:
    """Withdraw and supersede, and (if opening) claim and reopen, all judged together. Again moves nothing."""
    facts = days.facts | days.alert_days(unclaimed) | scope | {"opening": opening, "run": run}
    moves = Moves(**act.run(MOVE, facts).mappings().one())
    act.run(REFRESH, days.facts | scope)
    return moves
