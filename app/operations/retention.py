"""Retention: what a stated policy would let go, and letting it go, so that the trail still verifies.

Of an event only the hash of its leaf is left, so that every root, checkpoint and proof is what it was; and a tombstone,
an event as any other and sealed as all are, says what went, by which policy. No role may remove an event: this needs
the login that owns the tables. Nothing goes by default, and nothing by itself.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from app.domain.retention import VISITS, Kept, Policy
from app.ledger.retention import COUNTS, FORGET, PICK_VISITS, REMOVE
from app.trail.act import Act

APPLIED = "retention_applied"
MOST = 10_000  # Events of one tombstone: its ranges stay readable, and its transaction short.


@dataclass(frozen=True)
class Lot:
    """How much of one kind a policy lets go, and from when to when it is."""

    kept: Kept
    before: dt.datetime
    count: int
    first_at: dt.datetime | None
    last_at: dt.datetime | None


def foresee(act: Act, policy: Policy) -> list[Lot]:
    """What the policy would let go now. Changes nothing. Raises Refused for an age that is none."""
    return [lot_of(act, kept, before) for kept, before in policy.before(act.now).items()]


def lot_of(act: Act, kept: Kept, before: dt.datetime) -> Lot:
    row = act.run(COUNTS[kept], {"before": before, "types": list(VISITS)}).one()
    return Lot(kept, before, row.count, row.first_at, row.last_at)


def let_go(act: Act, policy: Policy) -> int:
    """Let at most ten thousand sealed events go, and all else that the policy names, and leave one tombstone; how much
    went. Zero: nothing is left to go, and nothing was written.

    By the owner of the tables only, and in a transaction that seals the tombstone as well.
    """
    lots = {lot.kept: lot for lot in foresee(act, policy) if lot.count}
    events = remove_visits(act, lots[Kept.visits].before) if Kept.visits in lots else []
    others = {kept: lot.count for kept, lot in lots.items() if kept is not Kept.visits}
    for kept in others:
        for statement in FORGET[kept]:
            act.run(statement, {"before": lots[kept].before})
    if events or others:
        act.record(
            APPLIED,
            policy=policy.words,
            ages={kept.value: age for kept, age in policy.ages.items()},
            events=len(events),
            ranges=ranges_of(one.seq for one in events),
            types=dict(Counter(one.type for one in events)),
            first_at=iso(min((one.at for one in events), default=None)),
            last_at=iso(max((one.at for one in events), default=None)),
            others={kept.value: spanned(lots[kept]) for kept in others},
        )
    return len(events) + sum(others.values())


def remove_visits(act: Act, before: dt.datetime) -> list[Any]:
    """The events that went, each with the place that its hash keeps. What is not sealed yet stays."""
    events = list(act.run(PICK_VISITS, {"before": before, "types": list(VISITS), "most": MOST}))
    facts = {"ids": [one.id for one in events], "seqs": [one.seq for one in events]}
    for statement in REMOVE if events else ():
        act.run(statement, facts)
    return events


def ranges_of(numbers: Iterable[int]) -> list[list[int]]:
    """Ascending numbers as first and last of each run of neighbours."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges


def spanned(lot: Lot) -> Mapping[str, Any]:
    return {"count": lot.count, "first_at": iso(lot.first_at), "last_at": iso(lot.last_at)}


def iso(at: dt.datetime | None) -> str | None:
    return at.astimezone(dt.UTC).isoformat() if at else None
