"""The hour from which the alerts of a site go out: what waits for it follows it, as mail follows the hours of people.

What is ready at an hour to come was made so by the hour of its site. Where that hour is another one by now, the
message is ready at that, or now if it has come. Only hours move here; the hours of its reader are worked out after it.
"""

from __future__ import annotations

from typing import Any

from app.ledger.moves import LEASE
from app.ledger.site_days import SiteDays
from app.models.wanted import IN_SCOPE
from app.trail.act import Act

# What a person sends again, and what was tried, has an hour of its own.
FOLLOW = f"""
with site_day as materialized (
  select * from unnest(cast(:sites as bigint[]), cast(:not_befores as timestamptz[])) as d (site_id, not_before)
), waiting as materialized (
  select x.id, l.subject_id, greatest(:now, d.not_before) as ready_at
  from delivery x
  join notification_ledger l on l.org_id = :org and l.id = x.claim_id and {IN_SCOPE.format("l.subject_id")}
  join subject s on s.org_id = :org and s.id = l.subject_id
  join site_day d on d.site_id = s.site_id
  where x.org_id = :org and x.state in {LEASE.FROM} and x.next_attempt_at > :now
    and coalesce(x.ready_at, x.not_before) > :now and x.attempts = 0 and x.resend_of is null
    and coalesce(x.ready_at, x.not_before) <> greatest(:now, d.not_before)
), moved as (
  update delivery x
  set ready_at = w.ready_at, not_before = w.ready_at, next_attempt_at = w.ready_at,
      timed_by = case when w.ready_at > :now then 'alert_from' end
  from waiting w where x.org_id = :org and x.id = w.id and x.state in {LEASE.FROM}
  returning x.id, x.claim_id, x.recipient_id, x.channel, x.timed_by, x.next_attempt_at, w.subject_id
), event as (
  insert into audit_event (org_id, at, actor, type, subject_id, claim_id, delivery_id, detail)
  select :org, :now, :actor, 'delivery_timed', subject_id, claim_id, id,
         jsonb_build_object('recipient', recipient_id, 'channel', channel, 'timed_by', timed_by,
                            'from', next_attempt_at)
  from moved order by id
  returning id
), unsealed as (
  insert into audit_unsealed (org_id, event_id) select :org, id from event)
select count(*) from moved"""


def follow_sites(act: Act, days: SiteDays, scope: dict[str, Any]) -> None:
    """Let what waits in this scope for the hour of its site follow it. Again changes nothing."""
    act.run(FOLLOW, days.facts | scope)
