"""Holding everything back: a restored or failed-over database may not know what was told already.

Its deliveries return to an older state, so that sending them could tell twice. From the moment the database is seen to
be another one, nothing leaves for an organisation until one of its officers has looked, and lets it go on.
"""

from __future__ import annotations

from app.ledger.moves import HOLD, RELEASE, TRAIL
from app.ledger.planning import stand_alone
from app.ledger.queue import changed
from app.trail.act import Act

IS_HELD = "select id from delivery_hold where org_id = :org and released_at is null order by id limit 1"

NEW_HOLD = """
insert into delivery_hold (org_id, held_at, cause)
select :org, :now, :cause
where not exists (select from delivery_hold h where h.org_id = :org and h.released_at is null)
returning id"""

HOLD_OPEN = f"""
with moved as (
  update delivery x set state = {HOLD.TO}, reason = 'restored', lease_token = null, lease_until = null
  where x.org_id = :org and x.state in {HOLD.FROM}
    and exists (select from delivery_hold h where h.org_id = :org and h.released_at is null)
  returning x.id, x.claim_id, x.recipient_id, 'delivery_held' as happened
{TRAIL}"""

RELEASE_HOLD = """
update delivery_hold set released_at = :now, released_by = :member
where org_id = :org and released_at is null
returning id"""

RELEASE_HELD = f"""
with moved as (
  update delivery x set state = {RELEASE.TO}, reason = null
  where x.org_id = :org and x.state in {RELEASE.FROM}
  returning x.id, x.claim_id, x.recipient_id, 'delivery_released' as happened
{TRAIL}"""


def is_held(act: Act) -> bool:
    return act.run(IS_HELD).one_or_none() is not None


def hold(act: Act, cause: str) -> None:
    """Hold the organisation, once; what is open now is held with it."""
    stand_alone(act)
    if act.run(NEW_HOLD, {"cause": cause}).one_or_none() is not None:
        act.record("deliveries_held", cause=cause)
    hold_open(act)


def hold_open(act: Act) -> int:
    """While it is held, whatever has become due since is held, too; the number of deliveries.

    Holding and releasing take turns, or what is held in the moment of the release would be held for ever.
    """
    stand_alone(act)
    return len(act.run(HOLD_OPEN, {"code": None}).all())


def release(act: Act, member_id: int | None) -> int | None:
    """Let everything go on; the number of deliveries. None: nothing was held, or somebody else has released it."""
    stand_alone(act)
    holds = act.run(RELEASE_HOLD, {"member": member_id}).all()
    released = act.run(RELEASE_HELD, {"code": None}).all()
    if not holds and not released:  # What is held without a hold, after a downgrade say, must not stay so for ever.
        return None
    act.record("deliveries_released", deliveries=len(released))
    changed(act)  # What was held may be wanted no longer: it is judged before it leaves.
    return len(released)
