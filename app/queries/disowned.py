"""Who said of an alert that it is not theirs, for whoever is told of it as the post above, or in its place."""

# Of a delivery `x` and its claim `l`; null where it is told by another route.
DISOWNED_BY = """(
         select n.name from acknowledgement y join member n on n.org_id = :org and n.id = y.member_id
         where y.org_id = :org and y.claim_id = l.id and x.because in ('above', 'nobody_above')
           and y.answer = 'not_mine' and y.taken_back_at is null and y.sent_back_at is null
         order by y.acknowledged_at limit 1) as disowned_by"""
