"""What a policy of retention lets go, as statements: how much there is, and its removal, by one condition each.

While one deadline of a message is open, its words may still be asked for, and stay. Removing events is for the owner of
the tables; `REMOVE` leaves the hash of each leaf in its place.
"""

from __future__ import annotations

from app.domain.retention import Kept

OLD_VISITS = "e.org_id = :org and e.at < :before and e.type = any (cast(:types as text[])) and e.claim_id is null"
OLD_MESSAGES = """
m.org_id = :org and m.handed_over_at < :before and m.body <> ''
and not exists (select from delivery x
                join notification_ledger l on l.org_id = :org and l.id = x.claim_id
                join obligation o on o.org_id = :org and o.id = l.obligation_id
                where x.org_id = :org and x.lease_token = m.token and o.closed_at is null)"""
KEPT_FILE = "u.org_id = :org and u.import_run_id = r.id and (u.left_over is not null or u.content is not null)"
OLD_IMPORTS = "r.org_id = :org and r.at < :before"
OLD_REPORTS = "x.org_id = :org and x.ended_at < :before and x.content is not null"

COUNTS = {
    Kept.visits: f"""
select count(*) as count, min(at) as first_at, max(at) as last_at from audit_event e where {OLD_VISITS}""",
    Kept.messages: f"""
select count(*) as count, min(handed_over_at) as first_at, max(handed_over_at) as last_at from mail_message m
where {OLD_MESSAGES}""",
    Kept.imports: f"""
select count(*) as count, min(r.at) as first_at, max(r.at) as last_at from import_run r
where {OLD_IMPORTS} and (r.rows <> '[]' or exists (select from import_upload u where {KEPT_FILE}))""",
    Kept.reports: f"""
select count(*) as count, min(ended_at) as first_at, max(ended_at) as last_at from export_run x where {OLD_REPORTS}""",
}

FORGET = {
    Kept.messages: (f"update mail_message m set body = '' where {OLD_MESSAGES}",),
    Kept.imports: (
        f"""
update import_upload u set left_over = null, content = null from import_run r where {OLD_IMPORTS} and {KEPT_FILE}""",
        f"update import_run r set rows = '[]' where {OLD_IMPORTS} and r.rows <> '[]'",
    ),
    Kept.reports: (f"update export_run x set content = null where {OLD_REPORTS}",),
}

# Only what is sealed has a leaf; the rest stays until it is.
PICK_VISITS = f"""
select l.seq, e.id, e.at, e.type
from audit_event e join audit_leaf l on l.org_id = :org and l.event_id = e.id
where {OLD_VISITS} order by l.seq limit :most"""
REMOVE = (
    "delete from audit_personal where org_id = :org and event_id = any (cast(:ids as bigint[]))",
    """update audit_leaf set hash = sha256(decode('00', 'hex') || content), content = null, event_id = null
where org_id = :org and seq = any (cast(:seqs as bigint[]))""",
    "delete from audit_event where org_id = :org and id = any (cast(:ids as bigint[]))",
)
