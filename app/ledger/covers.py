"""Who stands in for whom today, as part of the routing of claims: each deputy's deputy is followed to the last one.

An absence counts by the date of the entry's site. It changes who is told only while both the absent and the stand-in
are there at all and may see the entry, and while a channel of the rule reaches the stand-in: else the absent person is
told as if present, so that nothing is lost. That depends on site, kind and channels, so that covers are found for each
of these that a live claim has.
"""

from __future__ import annotations

from app.domain.delivery import TOLD, State
from app.ledger.presence import PRESENT, REACHED

DEEPEST = 10  # Stand-ins of stand-ins. Loops are refused where absences are entered, and end here in any case.

# Whoever may have read it, in whose place: the person who comes back is not told the same once more.
MAY_HAVE_READ = ", ".join(f"'{state}'" for state in (State.handing_over, State.delivered, State.in_doubt))

# What is told beside the rule: officers, in the app, when a message came back.
IN_APP = "array['in_app']"

WAS_TOLD = ", ".join(f"'{state}'" for state in sorted(TOLD))

COVER = f"""
spot as materialized (
  select distinct site_id, kind_id, today from live

), absent as materialized (
  select distinct on (d.site_id, d.kind_id, a.member_id) d.site_id, d.kind_id, d.today, a.member_id, a.stand_in_id
  from absence a join spot d on a.from_on <= d.today and a.until_on >= d.today
  where a.org_id = :org and a.cancelled_at is null and a.stand_in_id is not null
  order by d.site_id, d.kind_id, a.member_id, a.id

), at_hand as materialized (
  select p.site_id, p.kind_id, m.id as member_id
  from (select site_id, kind_id, today, member_id from absent
        union select site_id, kind_id, today, stand_in_id from absent) p
  join member m on m.org_id = :org and m.id = p.member_id
  left join account a on a.id = m.account_id
  where {PRESENT.format("p")}

), stand_in as materialized (
  select b.site_id, b.kind_id, b.member_id, b.stand_in_id
  from absent b
  join at_hand x on x.site_id = b.site_id and x.kind_id = b.kind_id and x.member_id = b.member_id
  join at_hand y on y.site_id = b.site_id and y.kind_id = b.kind_id and y.member_id = b.stand_in_id

), standing_in (site_id, kind_id, member_id, told_id, hops) as (
  select site_id, kind_id, member_id, stand_in_id, 1 from stand_in
  union all
  select c.site_id, c.kind_id, c.member_id, n.stand_in_id, c.hops + 1
  from standing_in c join stand_in n on n.site_id = c.site_id and n.kind_id = c.kind_id and n.member_id = c.told_id
  where c.hops < {DEEPEST}

), means as materialized (
  select channels from alert_rule where org_id = :org union select {IN_APP}

), cover as materialized (  -- the last in the row whom one of the channels reaches
  select distinct on (c.site_id, c.kind_id, n.channels, c.member_id) c.site_id, c.kind_id, n.channels, c.member_id,
         c.told_id
  from standing_in c
  join member m on m.org_id = :org and m.id = c.told_id
  join means n on {REACHED.format("n")}
  order by c.site_id, c.kind_id, n.channels, c.member_id, c.hops desc

), told_for as materialized (
  select y.claim_id, y.channel, y.covers_id, bool_or(y.state in ({MAY_HAVE_READ})) as may_have_read
  from (select x.claim_id, x.channel, x.state, unnest(x.covers_id || x.also_covers) as covers_id
        from delivery x join live l on l.id = x.claim_id
        where x.org_id = :org and (x.covers_id is not null or x.also_covers <> '{{}}') and x.state in ({WAS_TOLD})) y
  where y.covers_id is not null
  group by y.claim_id, y.channel, y.covers_id
)"""

# Each route of the rule leads to whoever stands in. What the absent person was told already goes to the stand-in as a
# duty that was taken over; so does what was told to an earlier stand-in.
COVERED = f"""
  select v.id, coalesce(k.told_id, v.member_id) as member_id, k.member_id as covers_id, v.channels, v.is_above,
         case when k.member_id is null then v.because else 'cover' end as because,
         case when k.member_id is not null and (
                exists (select from told_for f where f.claim_id = v.id and f.covers_id = v.member_id)
                or exists (select from delivery y where y.org_id = :org and y.claim_id = v.id
                           and y.recipient_id = v.member_id and y.state in ({WAS_TOLD})))
              then least(v.rank, 3) else v.rank end as rank
  from worded v
  join live l on l.id = v.id
  left join cover k on k.site_id = l.site_id and k.kind_id = l.kind_id and k.channels = v.channels
                   and k.member_id = v.member_id"""
