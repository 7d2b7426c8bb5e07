"""The codes of claims and deliveries: the one place of their states, standings, reasons and channels.

Must not hold transitions; those are statements of `app/ledger`, each of which names its origin (law 3).
"""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """Where a delivery stands."""

    pending = "pending"
    leased = "leased"
    handing_over = "handing_over"
    delivered = "delivered"
    failed = "failed"
    in_doubt = "in_doubt"
    cancelled = "cancelled"
    bounced = "bounced"
    held = "held"


class Standing(StrEnum):
    """Where a claim stands in the table of standings."""

    open = "open"
    superseded = "superseded"
    withdrawn = "withdrawn"


class Reason(StrEnum):
    """Why a claim is not open, or why a delivery was cancelled."""

    sharper = "sharper"
    start = "start"
    nobody_to_tell = "nobody_to_tell"
    closed = "closed"
    moved = "moved"
    rule_off = "rule_off"
    threshold_off = "threshold_off"
    no_match = "no_match"
    snoozed = "snoozed"
    archived = "archived"
    out_of_service = "out_of_service"
    draft = "draft"
    site_archived = "site_archived"
    filed = "filed"
    somebody_on_it = "somebody_on_it"
    not_a_recipient = "not_a_recipient"
    channel_off = "channel_off"


class Channel(StrEnum):
    """By which way a delivery reaches its recipient."""

    email = "email"
    in_app = "in_app"


# The states in which something may have reached the recipient: nothing told is sent again by a machine (P3).
TOLD = frozenset({State.handing_over, State.delivered, State.bounced, State.in_doubt})

# The reasons by which the table of standings cancels a delivery: only these may make it pending again.
TABLE_REASONS = frozenset(Reason) - {
    Reason.start,
    Reason.nobody_to_tell,
    Reason.not_a_recipient,
    Reason.channel_off,
}


class Outcome(StrEnum):
    """What one try to hand a message over came to."""

    delivered = "delivered"  # The server has taken it.
    retry = "retry"  # Refused for now, so nothing was taken.
    failed = "failed"  # Refused for good, for what the recipient or the message is.
    in_doubt = "in_doubt"  # The final dot was written, and no answer came.
    transport = "transport"  # Connection, TLS or sign-in: no message is to blame, and nothing was taken.
    lost_lease = "lost_lease"  # Not ours any more, and nothing was taken.


@dataclass(frozen=True)
class Reply:
    """The end of one try: its outcome, the verb that ended it, and what the server (or the network) said."""

    outcome: Outcome
    verb: str
    text: str
