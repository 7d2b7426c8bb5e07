"""Handing over and settling: compare-and-set by token, state and lease, and nothing else (P3).

`handing_over` is committed, durably, after the body and before the final dot; no server has accepted a message before
that dot. From then on only the server's own answer makes a delivery pending again; no answer is `in_doubt`. An outcome
is written only by who holds the token; one that comes late still settles a doubt about which nobody has decided.
"""

from __future__ import annotations

import datetime as dt
import re

from app.domain.backoff import TRIES_AT_MOST, wait_after
from app.domain.delivery import Fate, Outcome, Reply
from app.ledger.lease import Lease
from app.ledger.moves import ATTEMPT_AND_TRAIL, DOUBT, GIVE_BACK, HAND_OVER, REFUSE, RETRY, SETTLE, TRAIL
from app.ledger.planning import judged_beside
from app.ledger.queue import changed
from app.ledger.routes import close_books
from app.trail.act import Act

REPLY_LENGTH = 1000  # Characters kept of an answer: more than any server says that means to be read.
CODE = re.compile(r"[2-5]\d\d(?:[ -][245]\.\d{1,3}\.\d{1,3})?")

HAND_OVER_ALL = f"""
with moved as (
  update delivery x
  set state = {HAND_OVER.TO}, handed_over_at = :now, lease_until = :until
  where x.org_id = :org and x.lease_token = :token and x.state in {HAND_OVER.FROM} and x.lease_until > :now
  returning x.id, x.claim_id, x.recipient_id, 'handed_over' as happened
), message as (
  insert into mail_message (org_id, token, message_id, recipient_id, sent_to, subject, body, sha256, handed_over_at)
  values (:org, :token, :message_id, :recipient, :sent_to, :subject, :body, :sha256, :now)
  returning id
{TRAIL}"""

# Where the token still names the rows, and nobody has decided meanwhile.
OURS = "x.org_id = :org and x.lease_token = :token and x.resolution is null"

SETTLE_DELIVERED = f"""
with moved as (
  update delivery x set state = {SETTLE.TO}, delivered_at = :now, last_reply = :reply, reason = null, lease_until = null
  where {OURS} and x.state in {SETTLE.FROM}
  returning x.id, x.claim_id, x.recipient_id, 'delivered' as happened
{ATTEMPT_AND_TRAIL}"""

# A refusal is proof that nothing was taken: it was not told, whatever was marked.
SETTLE_RETRY = f"""
with moved as (
  update delivery x
  set state = case when x.attempts < :tries then {RETRY.TO} else {REFUSE.TO} end,
      reason = case when x.attempts < :tries then null else 'gave_up' end,
      lease_token = case when x.attempts < :tries then null else x.lease_token end,
      next_attempt_at = :next_attempt_at, last_reply = :reply, handed_over_at = null, lease_until = null
  where {OURS} and x.state in {RETRY.FROM}
  returning x.id, x.claim_id, x.recipient_id,
            case x.state when 'pending' then 'delivery_put_off' else 'delivery_failed' end as happened
{ATTEMPT_AND_TRAIL}"""

SETTLE_FAILED = f"""
with moved as (
  update delivery x
  set state = {REFUSE.TO}, reason = 'refused', last_reply = :reply, handed_over_at = null, lease_until = null
  where {OURS} and x.state in {REFUSE.FROM}
  returning x.id, x.claim_id, x.recipient_id, 'delivery_failed' as happened
{ATTEMPT_AND_TRAIL}"""

SETTLE_DOUBT = f"""
with moved as (
  update delivery x set state = {DOUBT.TO}, reason = :reason, last_reply = :reply, lease_until = null
  where {OURS} and x.state in {DOUBT.FROM}
  returning x.id, x.claim_id, x.recipient_id, 'delivery_in_doubt' as happened
{ATTEMPT_AND_TRAIL}"""

# The transport's fault, or nobody's: this try does not count. It is due at once, behind all that waits for longer, so
# that a message at which the line always breaks does not stop the others.
SETTLE_GIVEN_BACK = f"""
with moved as (
  update delivery x
  set state = {GIVE_BACK.TO}, attempts = x.attempts - 1, next_attempt_at = :next_attempt_at, last_reply = :reply,
      handed_over_at = null, lease_token = null, lease_until = null
  where {OURS} and x.state in {GIVE_BACK.FROM}
  returning x.id, x.claim_id, x.recipient_id, 'delivery_given_back' as happened
{ATTEMPT_AND_TRAIL}"""

# An answer to a message about which somebody has decided: kept as evidence, and nothing moves.
LATE = f"""
with moved as (
  select x.id, x.claim_id, x.recipient_id, 'late_answer' as happened
  from delivery x where x.org_id = :org and x.lease_token = :token
{ATTEMPT_AND_TRAIL}"""

STATEMENTS = {
    Outcome.delivered: SETTLE_DELIVERED,
    Outcome.retry: SETTLE_RETRY,
    Outcome.failed: SETTLE_FAILED,
    Outcome.in_doubt: SETTLE_DOUBT,
    Outcome.transport: SETTLE_GIVEN_BACK,
    Outcome.lost_lease: SETTLE_GIVEN_BACK,
}


class NotOurs(Exception):
    """The message is not ours to send as it stands: the lease is over, or part of it was cancelled meanwhile."""


def hand_over(act: Act, lease: Lease, *, answer_within: dt.timedelta, subject: str, body: str, sha256: str) -> None:
    """Mark all deliveries of the message as handing over. Raises NotOurs if they are not all ours any more.

    The caller commits durably before the final dot is written. No judge works meanwhile: what one is about to withdraw
    cannot be told in the same instant.
    """
    judged_beside(act)
    facts = {
        "token": lease.token,
        "until": act.now + answer_within,
        "message_id": lease.message_id,
        "recipient": lease.recipient_id,
        "sent_to": lease.sent_to,
        "subject": subject,
        "body": body,
        "sha256": sha256,
        "code": None,
    }
    moved = act.run(HAND_OVER_ALL, facts).all()
    if {row.id for row in moved} != set(lease.delivery_ids):
        raise NotOurs


def settle(act: Act, lease: Lease, reply: Reply, *, chance: float = 0.0, reason: Fate = Fate.no_answer) -> int:
    """Write what the try came to; the number of deliveries that it settled. `chance`, 0 to 1, spreads the next tries.

    0 is the answer of a late worker: the rows are somebody else's, or a person has decided. `reason` is a doubt's.
    """
    waits = wait_after(lease.attempts, chance) if reply.outcome is Outcome.retry else dt.timedelta()
    facts = {"token": lease.token, "reason": str(reason), "tries": TRIES_AT_MOST, "next_attempt_at": act.now + waits}
    moved = act.run(STATEMENTS[reply.outcome], spoken(reply) | facts).all()
    if not moved:
        act.run(LATE, spoken(reply) | {"token": lease.token, "outcome": f"late: {reply.outcome}"})
        return 0
    subjects = sorted({row.subject_id for row in moved})
    for subject_id in subjects if reply.outcome is not Outcome.delivered else ():
        changed(act, subject_id=subject_id)  # What is not told, or came to nobody, must be judged once more.
    act.session.flush()
    close_books(act, {"subjects": subjects})
    return len(moved)


def spoken(reply: Reply) -> dict[str, str | None]:
    """The reply as parameters: for the attempt in the server's words, for the trail only its code."""
    code = CODE.match(reply.text)
    return {
        "verb": reply.verb,
        "reply": reply.text[:REPLY_LENGTH],
        "outcome": str(reply.outcome),
        "code": code[0] if code else None,
    }
