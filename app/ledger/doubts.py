"""Messages that need a person: in doubt, refused, come back. One decision a message; of two officers one wins.

A machine never sends again. A person may: that makes new rows that name the old ones, under the same Message-ID, and
the constraint `delivery_resent_once` lets it happen once (P2, P3).
"""

from __future__ import annotations

import uuid

from app.domain.delivery import Resolution
from app.ledger.moves import BOUNCE, RESOLVE_DELIVERED, RESOLVE_FAILED, TRAIL
from app.ledger.queue import changed
from app.ledger.routes import close_books
from app.models.undecided import UNDECIDED
from app.trail.act import Act

# All deliveries of the message that the delivery went with; without one (never handed over) it stands for itself.
TOGETHER = f"""
select x.id, x.state from delivery d
join delivery x on x.org_id = :org
  and (x.id = d.id or x.lease_token = d.lease_token and x.recipient_id = d.recipient_id)
where d.org_id = :org and d.id = :delivery and x.channel = 'email' and x.state = :state and {UNDECIDED}
order by x.id for update of x"""

DECIDED = "resolution = :resolution, resolved_by = :resolved_by, resolved_at = :now"
THESE = f"x.org_id = :org and x.id = any (cast(:ids as bigint[])) and {UNDECIDED}"
RETURNING = "returning x.id, x.claim_id, x.recipient_id, 'doubt_resolved_' || :resolution as happened"

RESOLVE_AS_DELIVERED = f"""
with moved as (
  update delivery x
  set state = {RESOLVE_DELIVERED.TO}, reason = null, delivered_at = coalesce(x.handed_over_at, :now), {DECIDED}
  where {THESE} and x.state in {RESOLVE_DELIVERED.FROM}
  {RETURNING}
{TRAIL}"""

RESOLVE_AS_FAILED = f"""
with moved as (
  update delivery x set state = {RESOLVE_FAILED.TO}, {DECIDED}
  where {THESE} and x.state in {RESOLVE_FAILED.FROM}
  {RETURNING}
{TRAIL}"""

# The state stays: what became of the old message is as unknown, or as sad, as before.
RESOLVE_IN_PLACE = f"""
with moved as (
  update delivery x set {DECIDED}
  where {THESE} and x.state in ('in_doubt', 'failed', 'bounced')
  {RETURNING}
{TRAIL}"""

RESEND = f"""
with moved as (
  insert into delivery as x (org_id, claim_id, channel, recipient_id, because, covers_id, also_covers,
                             not_before, next_attempt_at, message_id, resend_of)
  select :org, o.claim_id, o.channel, o.recipient_id, o.because, o.covers_id, o.also_covers, :now, :now,
         o.message_id, o.id
  from delivery o where o.org_id = :org and o.id = any (cast(:ids as bigint[])) order by o.id
  on conflict do nothing
  returning x.id, x.claim_id, x.recipient_id, 'delivery_resent' as happened
{TRAIL}"""

STATEMENTS = {Resolution.delivered: RESOLVE_AS_DELIVERED, Resolution.failed: RESOLVE_AS_FAILED}

# The token stood in the signed address to which the message came back. Who said that it had arrived was mistaken: what
# came back waits for a person again, and the trail keeps what was said. What was sent again is decided.
BOUNCED = f"""
with moved as (
  update delivery x
  set state = {BOUNCE.TO}, last_reply = :reply, reason = null,
      resolution = nullif(x.resolution, 'delivered'),
      resolved_by = case when x.resolution <> 'delivered' then x.resolved_by end,
      resolved_at = case when x.resolution <> 'delivered' then x.resolved_at end
  where x.org_id = :org and x.lease_token = :token and x.state in {BOUNCE.FROM}
  returning x.id, x.claim_id, x.recipient_id, 'bounced' as happened
), attempt as (
  insert into delivery_attempt (org_id, delivery_id, at, verb, reply, outcome)
  select :org, m.id, :now, 'bounce', :reply, 'bounced' from moved m order by m.id
  returning id
{TRAIL}"""

REOPEN_BOOKS = """
update notification_ledger set delivered_at = null
where org_id = :org and id = any (cast(:claims as bigint[])) and delivered_at is not null"""


def resolve(act: Act, delivery_id: int, state: str, resolution: Resolution, member_id: int | None) -> list[int]:
    """Write a person's decision about the whole message of this delivery; the deliveries that it decided.

    `state` is the one that was decided about. Empty: it is another by now. A resend makes new rows.
    """
    ids = [row.id for row in act.run(TOGETHER, {"delivery": delivery_id, "state": state})]
    facts = {"ids": ids, "resolution": str(resolution), "resolved_by": member_id, "code": None}
    moved = act.run(STATEMENTS.get(resolution, RESOLVE_IN_PLACE), facts).all()
    decided = [row.id for row in moved]
    if resolution is Resolution.resend and decided:
        act.run(RESEND, {"ids": decided, "code": None})
    subjects = sorted({row.subject_id for row in moved})
    for subject_id in subjects:
        changed(act, subject_id=subject_id)  # A claim that is told no more must be judged.
    act.session.flush()
    close_books(act, {"subjects": subjects})
    return decided


def bounce(act: Act, token: uuid.UUID, reply: str, code: str | None) -> list[int]:
    """Mark the message of this token as come back, even after it was delivered. Again changes nothing."""
    moved = act.run(BOUNCED, {"token": token, "reply": reply, "code": code}).all()
    act.run(REOPEN_BOOKS, {"claims": sorted({row.claim_id for row in moved})})  # It was not delivered after all.
    for subject_id in sorted({row.subject_id for row in moved}):
        changed(act, subject_id=subject_id)
    return [row.id for row in moved]
