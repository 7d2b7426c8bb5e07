"""What concerns a member: they are responsible by name, hold the post that is, or are the holder."""

# Of an entry `s`; `:member`, and each usable site's own day in `:sites` and `:todays`.
CONCERNED = """
  (s.owner_member_id = :member or s.holder_id = :member
   or exists (select from site_post h
              join unnest(cast(:sites as bigint[]), cast(:todays as date[])) as d (site_id, today)
                on d.site_id = h.site_id
              where h.org_id = :org and h.member_id = :member and h.site_id = s.site_id
                and h.post_id = s.owner_post_id
                and h.from_on <= d.today and (h.until_on is null or h.until_on >= d.today)))"""
