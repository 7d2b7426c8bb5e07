"""Who can be told at all, as SQL over a member `m` and the account `a`, which may be none.

`{0}` is what it is about, with a site, a kind and the date of the site; for REACHED, what has the channels.
"""

PRESENT = """(m.is_active and coalesce(a.is_active, true)
    and (m.left_on is null or m.left_on > {0}.today) and (m.valid_until is null or m.valid_until >= {0}.today)
    and (not exists (select from member_site x where x.org_id = :org and x.member_id = m.id)
         or exists (select from member_site x where x.org_id = :org and x.member_id = m.id and x.site_id = {0}.site_id))
    and (not exists (select from member_kind x where x.org_id = :org and x.member_id = m.id)
         or exists (select from member_kind x
                    where x.org_id = :org and x.member_id = m.id and x.kind_id = {0}.kind_id)))"""

REACHED = """('in_app' = any ({0}.channels) and m.account_id is not null
    or 'email' = any ({0}.channels) and m.email is not null and m.email_alerts)"""
