"""The seal: every event gets a dense number and its bytes, and a signed checkpoint stands for all so far.

Whatever commits late is merely sealed later: there is no watermark, only the rows of `audit_unsealed`, which the seal
takes away in the transaction that writes the leaves. No business transaction waits for it, and none computes a hash.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row

from app import failpoints
from app.trail.act import Act
from app.trail.canonical import event_bytes
from app.trail.notes import Checkpoint, Signer, has_signed, origin, signed
from app.trail.tree import Frontier, leaf_hash

MOST = 10_000  # Events of one seal: about a second of work, and a transaction that nobody minds.
DAY_SEALED, KEY_CHANGED = "day_sealed", "trail_key_changed"

# For economy only: of two sealers at once the unique keys would let one win.
ALONE = "select pg_try_advisory_xact_lock(hashtextextended('onus seal', :org))"
LAST = "select size, at, frontier, note from audit_checkpoint where org_id = :org order by size desc limit 1"

# By number up to a bound and not by a list of numbers, so that no plan reads the whole table.
TAKE = """
with bound as (
  select max(event_id) as last from (
    select event_id from audit_unsealed where org_id = :org order by event_id limit :most) first),
taken as (
  delete from audit_unsealed where org_id = :org and event_id <= (select last from bound) returning event_id)
select e.id, e.at, e.actor, e.type, e.subject_id, e.claim_id, e.delivery_id, e.detail
from taken t join audit_event e on e.org_id = :org and e.id = t.event_id order by e.id"""

MORE = "select exists (select from audit_unsealed where org_id = :org offset :most - 1)"

PUT_LEAVES = """
insert into audit_leaf (org_id, seq, event_id, content, sealed_at)
select :org, :size + n - 1, event_id, content, :now
from unnest(cast(:ids as bigint[]), cast(:contents as bytea[])) with ordinality sealed (event_id, content, n)"""
PUT_CHECKPOINT = """
insert into audit_checkpoint (org_id, at, size, root, frontier, note)
values (:org, :now, :size, :root, :frontier, :note)"""

# The last thing that happened before today, and how far silence has been sealed since.
LAST_DEED = """
select at from audit_event where org_id = :org and at < :today and type <> :silence order by at desc, id desc limit 1"""
SILENT_UNTIL = """
select cast(detail ->> 'until' as date) from audit_event
where org_id = :org and at >= :since and type = :silence order by at desc, id desc limit 1"""


@dataclass(frozen=True)
class Sealed(Checkpoint):
    """A checkpoint that was just made: its note, and how many events it sealed."""

    note: str
    events: int


def seal(act: Act, signer: Signer) -> Sealed | None:
    """Seal what is not sealed yet, at most `MOST` at a time; None if there is nothing, or another is sealing.

    The caller's transaction decides: either all of it is kept, or nothing happened. Days of silence are sealed, too,
    and a key that has taken over: its first checkpoint is signed by the one before as well.
    """
    if not act.run(ALONE).scalar_one():
        return None
    last = act.run(LAST).one_or_none()
    if last is None or last.at.astimezone(dt.UTC).date() < act.now.date():
        note_silence(act)
    changes_hands = last is not None and not has_signed(signer.key, last.note)
    if changes_hands and signer.before and act.run(MORE, {"most": MOST}).scalar_one():
        # What had waited is the old key's: the checkpoint that both sign must hold the event that names the new one.
        signer, changes_hands = signer.before, False
    if changes_hands:
        note_key(act, signer)
    taken = act.run(TAKE, {"most": MOST}).all()
    if not taken:
        return None
    frontier = Frontier.from_bytes(last.frontier) if last else Frontier()
    put_leaves(act, frontier, taken)
    failpoints.reached("seal_before_commit")
    return put_checkpoint(act, frontier, signer, both=changes_hands, events=len(taken))


def put_leaves(act: Act, frontier: Frontier, events: Sequence[Row[Any]]) -> None:
    """Write the leaves behind those that are there, and let the frontier grow over them."""
    contents = [bytes_of(act.org, event) for event in events]
    ids = [event.id for event in events]
    act.run(PUT_LEAVES, {"size": frontier.size, "ids": ids, "contents": contents})
    frontier.extend(map(leaf_hash, contents))


def put_checkpoint(act: Act, frontier: Frontier, signer: Signer, *, both: bool, events: int) -> Sealed:
    """Sign and keep the checkpoint of this frontier; `both`: with the key before as well, if it is still there."""
    made = Checkpoint(origin(signer.name, act.org), frontier.size, frontier.root())
    signers = [signer.before, signer] if both and signer.before else [signer]
    note = signed(made.text, signers)
    facts = {"size": made.size, "root": made.root, "frontier": frontier.to_bytes(), "note": note}
    act.run(PUT_CHECKPOINT, facts)
    return Sealed(made.origin, made.size, made.root, note, events)


def bytes_of(org: int, event: Row[Any]) -> bytes:
    """The sealed form of a row of the trail."""
    return event_bytes(
        org=org,
        id=event.id,
        at=event.at,
        actor=event.actor,
        type=event.type,
        subject=event.subject_id,
        claim=event.claim_id,
        delivery=event.delivery_id,
        detail=event.detail,
    )


def note_silence(act: Act) -> None:
    """Say of the whole days, by UTC, in which nothing happened that nothing happened: silence is evidence, too."""
    today = act.now.replace(hour=0, minute=0, second=0, microsecond=0)
    happened = act.run(LAST_DEED, {"today": today, "silence": DAY_SEALED}).scalar_one_or_none()
    yesterday = today.date() - dt.timedelta(days=1)
    if happened is None or happened.astimezone(dt.UTC).date() >= yesterday:
        return
    said = act.run(SILENT_UNTIL, {"since": happened, "silence": DAY_SEALED}).scalar_one_or_none()
    first = max(happened.astimezone(dt.UTC).date(), said or dt.date.min) + dt.timedelta(days=1)
    if first <= yesterday:
        act.record(DAY_SEALED, **{"from": first.isoformat(), "until": yesterday.isoformat()})


def note_key(act: Act, signer: Signer) -> None:
    """Another key seals from here on. Where the one before is lost, it does not vouch for this one."""
    before = signer.before.key.text if signer.before else None
    act.record(KEY_CHANGED, vkey=signer.key.text, vouched_for_by=before)
