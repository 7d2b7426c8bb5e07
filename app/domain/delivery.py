"""The codes of claims and deliveries: the one place of their states and moves, standings, reasons and channels.

MOVES is the machine: every statement of `app/ledger` that moves a delivery takes origin and target from it (law 3),
and so does the model that is searched for a second message (P3). Nothing here decides when a move is made.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


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
    away = "away"  # The recipient is away, and the stand-in is told instead.


class Fate(StrEnum):
    """Why a delivery failed, is in doubt or is held."""

    refused = "refused"  # By the mail server, for good.
    gave_up = "gave_up"  # Refused for now, or lost, as often as it may be tried.
    no_answer = "no_answer"  # The final dot was written, and the line was lost or stayed silent.
    abandoned = "abandoned"  # The process that handed it over is gone.
    stopped = "stopped"  # The process was asked to stop before the answer came.
    restored = "restored"  # The database is not the one that recorded it: it may have been told since.


class Because(StrEnum):
    """The route by which a person is told: the "why you" of a message."""

    owner = "owner"
    holder = "holder"
    post = "post"
    role = "role"
    named = "named"
    fallback = "fallback"  # The rule's word for a message that came back.
    returned = "returned"  # An officer, since a message came back.
    cover = "cover"  # Stands in for a recipient who is away.
    above = "above"  # Holds the post above the one that was meant, which said that it is not theirs.
    nobody_above = "nobody_above"  # An administrator, since nobody who can be told holds that post.


class Resolution(StrEnum):
    """What a person decided about a message in doubt, refused or come back."""

    delivered = "delivered"  # It has arrived.
    failed = "failed"  # It was not sent.
    resend = "resend"  # It is sent again, in a new row that names this one.
    settled = "settled"  # The person was told in another way.


class Channel(StrEnum):
    """By which way a delivery reaches its recipient."""

    email = "email"
    in_app = "in_app"


class TimedBy(StrEnum):
    """What set the hour of a message, where it is not simply the hour at which it was raised."""

    alert_from = "alert_from"  # The site's hour, from which its alerts go out.
    daily = "daily"  # It goes with the person's daily message.
    rest = "rest"  # It waits until the rest time is over.
    day_off = "day_off"  # The same, and a day off lies in between.
    due_soon = "due_soon"  # It does not wait for the daily message, since it is due soon.
    despite_rest = "despite_rest"  # It does not wait, or not as long, since it is due before the rest time is over.


class Move(NamedTuple):
    """From which states, to which state."""

    origins: frozenset[State]
    target: State


def _move(target: State, *origins: State) -> Move:
    return Move(frozenset(origins), target)


# Every move of a delivery. What is handing over or in doubt may have left: it goes back to pending only on the server's
# own refusal (retry), or by the worker that holds its token and knows that nothing was taken (give_back).
MOVES: dict[str, Move] = {
    "lease": _move(State.leased, State.pending),
    "hand_over": _move(State.handing_over, State.leased),
    "tell": _move(State.delivered, State.pending),  # In the app: one statement, no network.
    "settle": _move(State.delivered, State.handing_over, State.in_doubt),
    "retry": _move(State.pending, State.leased, State.handing_over, State.in_doubt),
    "refuse": _move(State.failed, State.leased, State.handing_over, State.in_doubt),
    "doubt": _move(State.in_doubt, State.handing_over),
    "give_back": _move(State.pending, State.leased, State.handing_over, State.in_doubt),
    "sweep": _move(State.pending, State.leased),  # The lease is over, and nothing was handed over.
    "give_up": _move(State.failed, State.leased),  # The same, once too often.
    "cancel": _move(State.cancelled, State.pending, State.leased, State.held),
    "revive": _move(State.pending, State.cancelled),
    "hold": _move(State.held, State.pending, State.leased),
    "release": _move(State.pending, State.held),
    "resolve_delivered": _move(State.delivered, State.in_doubt),
    "resolve_failed": _move(State.failed, State.in_doubt),
    "bounce": _move(State.bounced, State.handing_over, State.in_doubt, State.delivered),
}

# The states in which something may have reached the recipient: nothing told is sent again by a machine (P3).
TOLD = frozenset({State.handing_over, State.delivered, State.bounced, State.in_doubt})

# The reasons by which the table of standings cancels a delivery: only these may make it pending again.
TABLE_REASONS = frozenset(Reason) - {
    Reason.start,
    Reason.nobody_to_tell,
    Reason.not_a_recipient,
    Reason.channel_off,
    Reason.away,
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
