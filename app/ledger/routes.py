"""Whom a claim tells: deliveries that have not left are made equal to the audience of now (DESIGN, *Who is told*).

One person gets one delivery a channel, however many routes lead there; `delivery_once` decides (P2). Nothing that may
have left is touched (P3). It also keeps the books of a claim: delivered, or nobody to tell. What is made here gets its
hour from `mail_hours.py` in the same transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.domain.delivery import TABLE_REASONS
from app.ledger.above import ABOVE
from app.ledger.covers import COVER, COVERED, IN_APP
from app.ledger.mail_hours import time_mail
from app.ledger.moves import CANCEL, REVIVE
from app.ledger.presence import PRESENT
from app.ledger.site_days import SiteDays
from app.ledger.site_hours import follow_sites
from app.ledger.standings import NOMINAL, TOLD
from app.models.answered import TAKEN_UP
from app.models.undecided import UNDECIDED
from app.models.wanted import FACTS_OF_CLAIM, IN_SCOPE, IS_FOLLOW_UP, REACH, WANTED, WHY_NOT
from app.trail.act import Act

# What the table of standings cancelled may come back by it; what went with a person or a channel comes back with them.
BY_TABLE = "(" + ", ".join(f"'{reason}'" for reason in sorted(TABLE_REASONS)) + ")"

# Of what is wanted, that of which a claim is open: all of it would be millions of rows, put aside for a few thousand.
WANTED_AND_OPEN = f"""
  select w.* from ({WANTED}) w
  join notification_ledger l on l.org_id = :org and l.subject_id = w.subject_id and l.rule_id = w.rule_id
                            and l.due_on = w.due_on and l.threshold = w.threshold
  where l.standing = 'open' and {IN_SCOPE.format("l.subject_id")}"""

# A message of this claim was not sent, was refused or came back, and waits for a person.
CAME_BACK = f"""exists (
    select from delivery x
    where x.org_id = :org and x.claim_id = l.id and x.state in ('failed', 'bounced') and {UNDECIDED})"""

# An open claim is live while it is wanted and no sharper one of its family is open (what is told stays open).
LIVE = f"""
  select l.id, l.rule_id, l.subject_id, s.site_id, s.kind_id, s.owner_member_id, s.owner_post_id, s.holder_id,
         w.obligation_id, d.today, d.not_before, {TAKEN_UP} as answered, {TOLD} as told,
         {CAME_BACK} as came_back
  from notification_ledger l
  join wanted w on w.subject_id = l.subject_id and w.rule_id = l.rule_id and w.due_on = l.due_on
               and w.threshold = l.threshold
  join subject s on s.org_id = :org and s.id = l.subject_id
  join site_day d on d.site_id = s.site_id
  where l.org_id = :org and l.standing = 'open' and {IN_SCOPE.format("l.subject_id")}
    and not exists (
      select from notification_ledger n
      where n.org_id = :org and n.subject_id = l.subject_id and n.rule_id = l.rule_id and n.due_on = l.due_on
        and n.standing = 'open' and {IN_SCOPE.format("n.subject_id")}
        and {IS_FOLLOW_UP.format("n.threshold")} = {IS_FOLLOW_UP.format("l.threshold")}
        and (n.crossed_on > l.crossed_on
             or n.crossed_on = l.crossed_on and {NOMINAL.format("n.threshold")} < {NOMINAL.format("l.threshold")}
             or n.crossed_on = l.crossed_on and {NOMINAL.format("n.threshold")} = {NOMINAL.format("l.threshold")}
                and n.threshold collate "C" < l.threshold collate "C"))"""

# Everybody of the audience once, by the route that says most; each route is an equality join. When a message came back,
# the rule's fallback is told, too, and the officers are, in the app. What is nobody's is told to the post above. In the
# place of who is away the stand-in is told.
AUDIENCE = f"""
holder_of_post as materialized (
  select h.site_id, h.post_id, h.member_id from site_post h join site_day d on d.site_id = h.site_id
  where h.org_id = :org and h.from_on <= d.today and (h.until_on is null or h.until_on >= d.today)

), addressed as materialized (
  select t.rule_id, t.recipient, false as is_fallback from rule_recipient t where t.org_id = :org
  union all
  select r.id, r.fallback, true from alert_rule r where r.org_id = :org and r.fallback is not null

), named as materialized (
  select t.rule_id, m.id as member_id, 'role' as because, 5 as rank, t.is_fallback
  from addressed t join member m on m.org_id = :org and t.recipient = 'role:' || m.role
  union all
  select t.rule_id, m.id, 'named', 6, t.is_fallback
  from addressed t join member m on m.org_id = :org and lower(t.recipient) = 'member:' || lower(m.email)

), holding as materialized (
  select t.rule_id, h.site_id, h.member_id, t.is_fallback
  from addressed t
  join post p on p.org_id = :org and lower(t.recipient) = 'post:' || lower(p.name)
  join holder_of_post h on h.post_id = p.id

), {ABOVE}, route as (
  select l.id, l.owner_member_id as member_id, 'owner' as because, 1 as rank, t.is_fallback
  from live l join addressed t on t.rule_id = l.rule_id and t.recipient = 'owner'
  union all
  select l.id, h.member_id, 'owner', 1, t.is_fallback
  from live l join addressed t on t.rule_id = l.rule_id and t.recipient = 'owner'
  join holder_of_post h on h.site_id = l.site_id and h.post_id = l.owner_post_id
  union all
  select l.id, l.holder_id, 'holder', 2, t.is_fallback
  from live l join addressed t on t.rule_id = l.rule_id and t.recipient = 'holder'
  union all
  select l.id, h.member_id, 'post', 3, h.is_fallback
  from live l join holding h on h.rule_id = l.rule_id and h.site_id = l.site_id
  union all
  select id, member_id, because, 4, false from above
  union all
  select l.id, n.member_id, n.because, n.rank, n.is_fallback from live l join named n on n.rule_id = l.rule_id

), worded as (
  select v.id, v.member_id, case when v.is_fallback then 'fallback' else v.because end as because,
         case when v.is_fallback then 7 else v.rank end as rank, r.channels,
         v.because in ('above', 'nobody_above') as is_above
  from route v
  join live l on l.id = v.id
  join alert_rule r on r.org_id = :org and r.id = l.rule_id
  where l.came_back or not v.is_fallback
  union all
  select l.id, m.id, 'returned', 8, {IN_APP}, false
  from live l join member m on m.org_id = :org and m.role in ('officer', 'admin')
  where l.came_back

), {COVER}, covered as ({COVERED}

), audience as materialized (
  select distinct on (l.id, m.id, c.channel)
         l.id as claim_id, m.id as recipient_id, c.channel, v.because, v.covers_id,
         v.rank <= 4 or v.rank >= 7 as by_duty, l.told, l.answered, l.not_before, l.subject_id,
         bool_or(v.is_above) over same as is_above,
         array_agg(v.covers_id) filter (where v.covers_id is not null) over same as covers
  from live l
  join covered v on v.id = l.id
  join member m on m.org_id = :org and m.id = v.member_id
  left join account a on a.id = m.account_id
  cross join unnest(v.channels) as c (channel)
  where {PRESENT.format("l")}
    and (c.channel <> 'in_app' or a.id is not null)
    and (c.channel <> 'email' or m.email is not null and m.email_alerts)
  window same as (partition by l.id, m.id, c.channel)
  order by l.id, m.id, c.channel, v.rank, v.covers_id nulls first
)"""

AWAY = "select from cover k where k.site_id = v.site_id and k.kind_id = v.kind_id and k.member_id = x.recipient_id"

ROUTE = f"""
with recursive {REACH}, wanted as materialized ({WANTED_AND_OPEN}), live as materialized ({LIVE}), {AUDIENCE},

waiting as materialized (
  select x.id, x.claim_id, x.channel, x.recipient_id
  from delivery x
  join notification_ledger l on l.org_id = :org and l.id = x.claim_id and {IN_SCOPE.format("l.subject_id")}
  where x.org_id = :org and x.state in {CANCEL.FROM}

), wrong as materialized (  -- 1. what waits to leave and should not, and why
  select x.id,
         case when v.id is not null and x.channel <> all (r.channels) then 'channel_off'
              when v.id is not null and exists ({AWAY}) then 'away'
              when v.id is not null then 'not_a_recipient'
              when l.standing <> 'open' then l.reason
              when w.rule_id is not null then 'sharper'
              else {WHY_NOT} end as reason
  from waiting x
  join notification_ledger l on l.org_id = :org and l.id = x.claim_id {FACTS_OF_CLAIM}
  left join live v on v.id = l.id
  left join wanted w on w.subject_id = l.subject_id and w.rule_id = l.rule_id and w.due_on = l.due_on
                    and w.threshold = l.threshold
  where not exists (select from audience a where a.claim_id = x.claim_id and a.channel = x.channel
                    and a.recipient_id = x.recipient_id)

), cancelled as (           -- a worker that leased it loses its compare-and-set
  update delivery x set state = {CANCEL.TO}, reason = w.reason, lease_token = null, lease_until = null
  from wrong w where x.org_id = :org and x.id = w.id and x.state in {CANCEL.FROM}
  returning x.id, x.claim_id, x.recipient_id, x.channel, x.reason

), missing as materialized (  -- 2. who is to be told and has no delivery, or one that was cancelled before it left
  select a.*, array(select distinct o.id from unnest(a.covers) as o (id)
                    where o.id is distinct from a.covers_id order by o.id) as also_covers
  from audience a
  left join delivery x on x.org_id = :org and x.claim_id = a.claim_id and x.channel = a.channel
                      and x.recipient_id = a.recipient_id and x.resend_of is null
  left join told_for f on f.claim_id = a.claim_id and f.channel = a.channel and f.covers_id = a.recipient_id
                      and f.may_have_read
  where f.claim_id is null
    and (x.id is null and (not a.told or a.by_duty and not a.answered or a.is_above)
         or x.state in {REVIVE.FROM} and x.handed_over_at is null
            and (not a.told or a.by_duty and not a.answered or a.is_above or x.reason in {BY_TABLE}))
  order by a.claim_id, a.channel, a.recipient_id

), made as (
  insert into delivery as old (org_id, claim_id, channel, recipient_id, because, covers_id, also_covers, ready_at,
                               timed_by, not_before, next_attempt_at)
  select :org, claim_id, channel, recipient_id, because, covers_id, also_covers, greatest(:now, not_before),
         case when not_before > :now then 'alert_from' end, not_before, not_before from missing
  on conflict on constraint delivery_once do update
    set state = {REVIVE.TO}, reason = null, because = excluded.because, covers_id = excluded.covers_id,
        also_covers = excluded.also_covers, ready_at = excluded.ready_at, timed_by = excluded.timed_by,
        not_before = excluded.not_before, next_attempt_at = excluded.next_attempt_at
    where old.state in {REVIVE.FROM} and old.handed_over_at is null
  returning id, claim_id, recipient_id, channel, because, covers_id, also_covers

), sent_again as (          -- what a person sent again was cancelled before it left, and is wanted again
  update delivery x set state = {REVIVE.TO}, reason = null, next_attempt_at = :now
  from audience a
  where x.org_id = :org and x.claim_id = a.claim_id and x.channel = a.channel and x.recipient_id = a.recipient_id
    and x.resend_of is not null and x.state in {REVIVE.FROM} and x.handed_over_at is null
    and (not a.told or a.by_duty and not a.answered or a.is_above or x.reason in {BY_TABLE})
  returning x.id, x.claim_id, x.recipient_id, x.channel, x.because, x.covers_id, x.also_covers

), due as (
  select * from made union all select * from sent_again

), reopened_books as (      -- 3. a claim with something left to send is not delivered
  update notification_ledger l set delivered_at = null
  where l.org_id = :org and l.delivered_at is not null and l.id in (select claim_id from due)
  returning l.id

), event as (               -- 4. the trail
  insert into audit_event (org_id, at, actor, type, subject_id, claim_id, delivery_id, detail)
  select :org, :now, :actor, e.type, l.subject_id, e.claim_id, e.id, e.detail
  from (select id, claim_id, 'delivery_cancelled' as type,
               jsonb_build_object('reason', reason, 'recipient', recipient_id, 'channel', channel) as detail
        from cancelled
        union all
        select id, claim_id, 'delivery_due',
               jsonb_strip_nulls(jsonb_build_object('because', because, 'recipient', recipient_id, 'channel', channel,
                                                    'covers', covers_id,
                                                    'also_covers', nullif(also_covers, '{{}}')))
        from due) e
  join notification_ledger l on l.org_id = :org and l.id = e.claim_id
  order by e.claim_id, e.id
  returning id
), unsealed as (
  insert into audit_unsealed (org_id, event_id) select :org, id from event)

select (select count(*) from cancelled) as cancelled, (select count(*) from due) as made,
       (select count(*) from reopened_books) as reopened_books"""

# Delivered: at least one was delivered and all others were delivered or cancelled. Nobody to tell: none is live.
# What was sent again is judged by the new delivery; of what a person settled otherwise they were told in another way.
SETTLED = "x.resolution is not distinct from 'settled'"

CLOSE_BOOKS = f"""
with tally as materialized (
  select l.id, l.subject_id, l.reason,
         count(x.id) filter (where x.state <> 'cancelled') = 0 as nobody,
         bool_and(x.state in ('delivered', 'cancelled') or {SETTLED}) and bool_or(x.state = 'delivered' or {SETTLED})
           as complete,
         max(coalesce(x.delivered_at, x.resolved_at)) filter (where x.state = 'delivered' or {SETTLED}) as delivered_at
  from notification_ledger l
  left join delivery x on x.org_id = :org and x.claim_id = l.id
       and x.resolution is distinct from 'resend'
  where l.org_id = :org and l.standing = 'open' and l.delivered_at is null and {IN_SCOPE.format("l.subject_id")}
  group by l.id, l.subject_id, l.reason

), closed as (
  update notification_ledger l
  set delivered_at = case when t.complete then t.delivered_at end,
      reason = case when t.nobody then 'nobody_to_tell' end
  from tally t
  where l.org_id = :org and l.id = t.id and l.standing = 'open' and l.delivered_at is null
    and (t.complete or t.nobody is distinct from (t.reason is not distinct from 'nobody_to_tell'))
  returning l.id, l.subject_id, case when t.complete then 'claim_delivered' when t.nobody then 'nobody_to_tell'
                                     else 'somebody_to_tell' end as happened

), event as (
  insert into audit_event (org_id, at, actor, type, subject_id, claim_id)
  select :org, :now, :actor, happened, subject_id, id from closed order by id
  returning id
), unsealed as (
  insert into audit_unsealed (org_id, event_id) select :org, id from event)
select count(*) filter (where happened = 'claim_delivered') from closed"""


@dataclass(frozen=True)
class Routed:
    """How many deliveries were cancelled, and how many were made or are pending again."""

    cancelled: int
    made: int


def route_deliveries(act: Act, days: SiteDays, scope: dict[str, Any]) -> Routed:
    """Make what has not left equal to the audience of now, and close the books. Again changes nothing."""
    row = act.run(ROUTE, days.facts | days.said_befores | scope).one()
    follow_sites(act, days, scope)
    time_mail(act, days, scope)
    close_books(act, scope)
    return Routed(cancelled=row.cancelled, made=row.made)


def close_books(act: Act, scope: dict[str, Any]) -> None:
    act.run(CLOSE_BOOKS, scope)
