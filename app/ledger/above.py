"""What is said to be nobody's, and whom that concerns: the holders of the post above the one that was meant.

An answer "not mine" gives the compliance manager until the next working day of the entry's site. If it still stands by
then, nobody is on it, and nobody was made responsible since, the post above is told, by the rule of the alert; where
nobody who can be told holds it, or no post is above, the administrators are. Neither a claim nor a standing is moved.
"""

from __future__ import annotations

from app.ledger.presence import PRESENT, REACHED
from app.models.wanted import FILING_PENDING, SOMEBODY_ON_IT

DISOWNED = "y.answer = 'not_mine' and y.taken_back_at is null and y.sent_back_at is null"

# Until when a "not mine" must have been said at each site comes as an instant, since SQL converts no zone. Meant is the
# responsible post; where none is, the posts of whoever said it. After a handing over it is somebody's again.
ABOVE = f"""
said_by as materialized (
  select * from unnest(cast(:sites as bigint[]), cast(:said_befores as timestamptz[])) as b (site_id, said_before)

), nobodys as materialized (
  select l.id, l.site_id, l.owner_post_id, y.member_id
  from live l
  join said_by b on b.site_id = l.site_id
  join site_day d on d.site_id = l.site_id
  join obligation o on o.org_id = :org and o.id = l.obligation_id and not {FILING_PENDING}
  join acknowledgement y on y.org_id = :org and y.claim_id = l.id and {DISOWNED} and y.acknowledged_at < b.said_before
  where not {SOMEBODY_ON_IT}
    and not exists (select from audit_event e where e.org_id = :org and e.subject_id = l.subject_id
                    and e.type in ('subject_assigned', 'holder_assigned') and e.at > y.acknowledged_at)

), meant as materialized (
  select id, site_id, owner_post_id as post_id from nobodys where owner_post_id is not null
  union
  select n.id, n.site_id, h.post_id
  from nobodys n join holder_of_post h on h.site_id = n.site_id and h.member_id = n.member_id
  where n.owner_post_id is null

), held_above as materialized (
  select distinct n.id, h.member_id
  from meant n
  join post p on p.org_id = :org and p.id = n.post_id
  join holder_of_post h on h.site_id = n.site_id and h.post_id = p.above_id

), heard_above as materialized (
  select distinct l.id
  from held_above h
  join live l on l.id = h.id
  join alert_rule r on r.org_id = :org and r.id = l.rule_id
  join member m on m.org_id = :org and m.id = h.member_id
  left join account a on a.id = m.account_id
  where {PRESENT.format("l")} and {REACHED.format("r")}

), above as materialized (
  select id, member_id, 'above' as because from held_above
  union all
  select distinct n.id, m.id, 'nobody_above'
  from nobodys n join member m on m.org_id = :org and m.role = 'admin'
  where not exists (select from heard_above h where h.id = n.id)
)"""

# The subjects of which somebody said so, and whose working day has come to an end between two looks at the site.
COME_UP = f"""
select distinct l.subject_id
from unnest(cast(:sites as bigint[]), cast(:after as timestamptz[]), cast(:before as timestamptz[]))
     as h (site_id, said_after, said_before)
join acknowledgement y on y.org_id = :org and {DISOWNED}
                      and y.acknowledged_at >= h.said_after and y.acknowledged_at < h.said_before
join notification_ledger l on l.org_id = :org and l.id = y.claim_id
join subject s on s.org_id = :org and s.id = l.subject_id and s.site_id = h.site_id"""
