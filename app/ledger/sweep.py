"""The sweeper: leases that are over go back, hand-overs that nobody follows any more become doubts (DESIGN section 5).

It never makes pending what may have left. Whether somebody still follows a hand-over is judged by heartbeats; one of a
living process is left alone, until even the longest wait for an answer is over.
"""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass

from app.domain.backoff import TRIES_AT_MOST
from app.domain.delivery import Fate, Outcome
from app.ledger.moves import ATTEMPT_AND_TRAIL, DOUBT, GIVE_BACK, GIVE_UP, SWEEP
from app.ledger.queue import changed
from app.trail.act import Act

LOST = "lost"  # The outcome of a try of which no word is left: its worker died, or was stopped for too long.

# A try that was lost counts. The last one that may be made is not dropped: the delivery failed, and is seen to have.
SWEEP_LEASES = f"""
with moved as (
  update delivery x
  set state = case when x.attempts < :tries then {SWEEP.TO} else {GIVE_UP.TO} end,
      reason = case when x.attempts < :tries then null else 'gave_up' end,
      lease_token = case when x.attempts < :tries then null else x.lease_token end,
      next_attempt_at = :now, lease_until = null
  where x.org_id = :org and x.state in {SWEEP.FROM} and x.lease_until < :now
  returning x.id, x.claim_id, x.recipient_id,
            case when x.attempts < :tries then 'delivery_lost' else 'delivery_failed' end as happened
{ATTEMPT_AND_TRAIL}"""

SWEEP_HAND_OVERS = f"""
with moved as (
  update delivery x set state = {DOUBT.TO}, reason = :reason, lease_until = null
  where x.org_id = :org and x.state in {DOUBT.FROM}
    and (x.lease_until < :now
         or :lease_time + x.handed_over_at < :now
            and not exists (select from scheduler_process p where p.id = x.lease_holder and p.stopped_at is null
                            and p.heartbeat_at > :silent_since))
  returning x.id, x.claim_id, x.recipient_id, 'delivery_in_doubt' as happened
{ATTEMPT_AND_TRAIL}"""

# What one process still holds when it must end: by it alone, so that no other's token is touched.
LEAVE_HAND_OVERS = f"""
with moved as (
  update delivery x set state = {DOUBT.TO}, reason = :reason, lease_until = null
  where x.org_id = :org and x.lease_holder = :holder and x.state in {DOUBT.FROM}
  returning x.id, x.claim_id, x.recipient_id, 'delivery_in_doubt' as happened
{ATTEMPT_AND_TRAIL}"""

LEAVE_LEASES = f"""
with moved as (
  update delivery x
  set state = {GIVE_BACK.TO}, attempts = x.attempts - 1, next_attempt_at = :now, lease_token = null, lease_until = null
  where x.org_id = :org and x.lease_holder = :holder and x.state in {SWEEP.FROM}
  returning x.id, x.claim_id, x.recipient_id, 'delivery_given_back' as happened
{ATTEMPT_AND_TRAIL}"""


@dataclass(frozen=True)
class Swept:
    """How many deliveries wait again, how many failed for good, how many are in doubt now."""

    retried: int = 0
    failed: int = 0
    in_doubt: int = 0


def sweep(act: Act, *, lease_time: dt.timedelta, silent_after: dt.timedelta) -> Swept:
    """Free what was left behind. A process is taken for dead when its heartbeat is older than `silent_after`."""
    lost = {"verb": "lease", "reply": "", "outcome": LOST, "code": None, "tries": TRIES_AT_MOST}
    freed = act.run(SWEEP_LEASES, lost).all()
    facts = {"reason": str(Fate.abandoned), "lease_time": lease_time, "silent_since": act.now - silent_after}
    doubtful = act.run(SWEEP_HAND_OVERS, facts | doubt(Fate.abandoned)).all()
    for row in freed:
        changed(act, subject_id=row.subject_id)
    failed = sum(1 for row in freed if row.happened == "delivery_failed")
    return Swept(len(freed) - failed, failed, len(doubtful))


def leave(act: Act, holder: uuid.UUID) -> Swept:
    """Write what this process still holds as it ends: leases go back, a hand-over without an answer is a doubt."""
    facts = {"holder": holder, "reason": str(Fate.stopped)}
    doubtful = act.run(LEAVE_HAND_OVERS, facts | doubt(Fate.stopped)).all()
    given_back = {"verb": "lease", "reply": "", "outcome": str(Outcome.lost_lease), "code": None}
    freed = act.run(LEAVE_LEASES, facts | given_back).all()
    return Swept(retried=len(freed), in_doubt=len(doubtful))


def doubt(fate: Fate) -> dict[str, str | None]:
    return {"verb": "dot", "reply": str(fate), "outcome": str(Outcome.in_doubt), "code": None}
