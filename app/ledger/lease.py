"""Leasing e-mail by person: one worker, one random token, one message (DESIGN section 5, step 3).

The member's row is locked, so that whatever is due for them goes into one message and not into forty. Before that,
what is due is made to follow the facts of now; what is no longer wanted is cancelled and not leased. A lease is a right
for a limited time: the token, random and never given twice, is what fences off a worker that comes too late (P3).
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from app.ledger.align import align_subjects
from app.ledger.moves import LEASE
from app.ledger.planning import judge_alone
from app.ledger.site_days import read_site_days
from app.trail.act import Act

CANDIDATES = 20  # People looked at in one transaction; the others come with the next.

# Those who wait longest first. Nothing is due while the organisation is held.
DUE_PEOPLE = """
select x.recipient_id from delivery x
where x.org_id = :org and x.channel = 'email' and x.state = 'pending' and x.next_attempt_at <= :now
  and not exists (select from delivery_hold h where h.org_id = :org and h.released_at is null)
  and x.recipient_id <> all (cast(:but_not as bigint[]))
group by x.recipient_id order by min(x.next_attempt_at), x.recipient_id limit :candidates"""

# Another worker that leases for this person holds the row: there is nothing for us.
LOCK_PERSON = """
select m.id from member m where m.org_id = :org and m.id = :member for no key update skip locked"""

DUE_SUBJECTS = """
select distinct l.subject_id
from delivery x join notification_ledger l on l.org_id = :org and l.id = x.claim_id
where x.org_id = :org and x.recipient_id = :member and x.channel = 'email' and x.state = 'pending'
  and x.next_attempt_at <= :now"""

# Nothing goes out for a site whose day is not known. What is sent again goes alone, as the message that it was, under
# its old Message-ID; all else that is due, together.
LEASE_DUE = f"""
with person as (
  update member m set mailed_at = :now where m.org_id = :org and m.id = :member returning m.email
), due as materialized (
  select x.id, case when x.resend_of is not null then x.message_id end as again
  from delivery x
  join notification_ledger l on l.org_id = :org and l.id = x.claim_id
  join subject s on s.org_id = :org and s.id = l.subject_id and s.site_id = any (cast(:sites as bigint[]))
  where x.org_id = :org and x.recipient_id = :member and x.channel = 'email' and x.state in {LEASE.FROM}
    and x.next_attempt_at <= :now
    and not exists (select from delivery_hold h where h.org_id = :org and h.released_at is null)
  order by x.id
  for update of x
), chosen as materialized (
  select d.id, d.again from due d
  where d.again is not distinct from (select a.again from due a order by a.again nulls last, a.id limit 1)
)
update delivery x
set state = {LEASE.TO}, lease_token = :token, lease_until = :until, lease_holder = :holder, attempts = x.attempts + 1,
    message_id = coalesce(c.again, :message_id), sent_to = p.email, reason = null
from chosen c, person p
where x.org_id = :org and x.id = c.id and x.state in {LEASE.FROM} and p.email is not null
returning x.id, x.claim_id, x.attempts, x.message_id, x.sent_to, x.resend_of"""


@dataclass(frozen=True)
class Lease:
    """The right to hand over one message: its deliveries, under one token, until an instant of the database's clock."""

    org: int
    token: uuid.UUID
    recipient_id: int
    delivery_ids: tuple[int, ...]
    attempts: int  # Of the delivery that was tried most often, this try included.
    message_id: str
    sent_to: str
    is_resend: bool
    until: dt.datetime


@dataclass(frozen=True)
class Leased:
    """What one look came to: a lease, or none where nothing was left; and what was cancelled on the way."""

    lease: Lease | None
    cancelled: int = 0


def due_people(act: Act, but_not: Iterable[int] = ()) -> list[int]:
    """Some of the members who have e-mail that is due now, without those; who waits longest comes first."""
    return list(act.run(DUE_PEOPLE, {"candidates": CANDIDATES, "but_not": sorted(but_not)}).scalars())


def lease_for(act: Act, member_id: int, holder: uuid.UUID, lease_time: dt.timedelta, domain: str) -> Leased | None:
    """Lease what is due for this person; None if another worker is at it. `domain` is that of the Message-ID."""
    judge_alone(act)  # First, so that nobody who changes this person waits for the end of a scan.
    if act.run(LOCK_PERSON, {"member": member_id}).one_or_none() is None:
        return None
    days = read_site_days(act)
    cancelled = align_subjects(act, days, act.run(DUE_SUBJECTS, {"member": member_id}).scalars())
    token = uuid.uuid4()
    facts = {
        "member": member_id,
        "sites": list(days.days),
        "token": token,
        "holder": holder,
        "until": act.now + lease_time,
        "message_id": f"<{token.hex}@{domain}>",
    }
    rows = act.run(LEASE_DUE, facts).all()
    if not rows:
        return Leased(None, cancelled)
    lease = Lease(
        org=act.org,
        token=token,
        recipient_id=member_id,
        delivery_ids=tuple(sorted(row.id for row in rows)),
        attempts=max(row.attempts for row in rows),
        message_id=rows[0].message_id,
        sent_to=rows[0].sent_to,
        is_resend=rows[0].resend_of is not None,
        until=act.now + lease_time,
    )
    return Leased(lease, cancelled)
