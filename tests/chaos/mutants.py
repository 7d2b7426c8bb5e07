"""Faults put into Onus on purpose: each takes away one guard, and must be seen from the outside (`test_mutants.py`).

A mutant is applied in a forked worker before it begins. Each replaces a piece that must be there: when the code
changes, the mutant fails and has to be thought over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

from app.channels.smtp import SmtpChannel
from app.database import transaction
from app.domain.delivery import Outcome
from app.ledger import doubts, hand_over, lease, sweep
from app.scheduler import sender


def apply(name: str | None) -> None:
    if name is not None:
        MUTANTS[name]()


def swap(module: ModuleType, constant: str, old: str, new: str) -> None:
    """Put a statement's guard out of force."""
    statement = getattr(module, constant)
    assert old in statement, f"{constant} has no {old!r} any more: think this mutant over"
    setattr(module, constant, statement.replace(old, new))


def no_fence_at_hand_over() -> None:
    """Whoever once leased for this person hands over, whatever became of the lease."""
    fence = "x.lease_token = :token and x.state in ('leased') and x.lease_until > :now"
    swap(hand_over, "HAND_OVER_ALL", fence, "x.recipient_id = :recipient and x.channel = 'email'")


def no_fence_at_settling() -> None:
    """An outcome is written on whatever is leased, by whoever had it before."""
    for outcome, statement in hand_over.STATEMENTS.items():
        unfenced = statement.replace("x.lease_token = :token", "x.lease_token is not null")
        assert unfenced != statement
        hand_over.STATEMENTS[outcome] = unfenced


def sweep_to_pending() -> None:
    """An abandoned hand-over is sent again, as if its lease had run out."""
    back = "state = 'pending', lease_token = null, next_attempt_at = :now, reason = null"
    swap(sweep, "SWEEP_HAND_OVERS", "state = 'in_doubt', reason = :reason", back)


def silence_is_retry() -> None:
    """No answer to the final dot is taken for a refusal."""
    release = SmtpChannel._release

    def released(self: SmtpChannel, *given: Any) -> Any:
        reply = release(self, *given)
        return replace(reply, outcome=Outcome.retry) if reply.outcome is Outcome.in_doubt else reply

    SmtpChannel._release = released  # type: ignore[method-assign]


def asynchronous_hand_over() -> None:
    """The commit before the final dot is like any other: asynchronous, where the server's default is."""
    sender.durable_transaction = transaction  # type: ignore[assignment]


def resend_in_the_same_row() -> None:
    """A person's resend puts the old row back, instead of making a new one."""
    back = "set state = 'pending', lease_token = null, next_attempt_at = :now, resolution = null"
    swap(
        doubts, "RESOLVE_IN_PLACE", "set resolution = :resolution, resolved_by = :resolved_by, resolved_at = :now", back
    )
    swap(doubts, "RESEND", "where o.org_id = :org", "where false and o.org_id = :org")


def lease_by_row() -> None:
    """A worker leases one row and not all that is due for the person."""
    swap(lease, "LEASE_DUE", "  order by x.id\n  for update of x", "  order by x.id limit 1\n  for update of x")


MUTANTS: dict[str, Callable[[], None]] = {
    mutant.__name__: mutant
    for mutant in (
        no_fence_at_hand_over,
        no_fence_at_settling,
        sweep_to_pending,
        silence_is_retry,
        asynchronous_hand_over,
        resend_in_the_same_row,
        lease_by_row,
    )
}
