"""The moves of a delivery as SQL: each statement that moves one takes origin and target from here (law 3).

So no statement can name a state that the machine of `app/domain/delivery.py` does not allow; a law test holds every
`update delivery` of this package to it. The last pieces of a move are shared, too: its attempt and its trail (law 7).
"""

from __future__ import annotations

from typing import NamedTuple

from app.domain.delivery import MOVES


class Step(NamedTuple):
    """One move: `FROM` is a list of states for `in`, `TO` one state."""

    FROM: str
    TO: str


def _step(name: str) -> Step:
    move = MOVES[name]
    return Step("(" + ", ".join(f"'{state}'" for state in sorted(move.origins)) + ")", f"'{move.target}'")


LEASE = _step("lease")
HAND_OVER = _step("hand_over")
TELL = _step("tell")
SETTLE = _step("settle")
RETRY = _step("retry")
REFUSE = _step("refuse")
DOUBT = _step("doubt")
GIVE_BACK = _step("give_back")
SWEEP = _step("sweep")
GIVE_UP = _step("give_up")
CANCEL = _step("cancel")
REVIVE = _step("revive")
HOLD = _step("hold")
RELEASE = _step("release")
RESOLVE_DELIVERED = _step("resolve_delivered")
RESOLVE_FAILED = _step("resolve_failed")
BOUNCE = _step("bounce")

# Behind a CTE `moved (id, claim_id, recipient_id, happened)`: the event of each row. `:code` is what the server
# answered, without the words of it, in which addresses stand.
TRAIL = """
), event as (
  insert into audit_event (org_id, at, actor, type, subject_id, claim_id, delivery_id, detail)
  select :org, :now, :actor, m.happened, l.subject_id, m.claim_id, m.id,
         jsonb_strip_nulls(jsonb_build_object('recipient', m.recipient_id, 'channel', 'email',
                                              'code', cast(:code as text)))
  from moved m join notification_ledger l on l.org_id = :org and l.id = m.claim_id order by m.id
  returning id
), unsealed as (
  insert into audit_unsealed (org_id, event_id) select :org, id from event)
select m.id, m.claim_id, m.recipient_id, m.happened, l.subject_id
from moved m join notification_ledger l on l.org_id = :org and l.id = m.claim_id
order by m.id"""

# The same, and before it the attempt, with the server's own words.
ATTEMPT_AND_TRAIL = f"""
), attempt as (
  insert into delivery_attempt (org_id, delivery_id, at, verb, reply, outcome)
  select :org, m.id, :now, :verb, :reply, :outcome from moved m order by m.id
  returning id
{TRAIL}"""
