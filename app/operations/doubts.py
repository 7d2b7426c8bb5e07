"""What a person decides about messages: in doubt, refused or come back; and that what is held may go on.

A machine never decides these. One decision counts for the whole message, since that is what arrived or did not.
"""

from __future__ import annotations

import uuid

from sqlalchemy import select

from app.database import SCHEDULER, borrowed
from app.domain.delivery import Channel, Resolution, State
from app.domain.errors import Refused
from app.ledger import doubts as ledger
from app.ledger import holds
from app.models import Delivery
from app.operations import typed
from app.trail.act import Act
from app.wording import later

DECIDED = later("This message was decided about already: look at what was decided, and by whom.")

NO_REASON = later("no reason given")  # In the place of what a server said, which is kept as it was said.

NOT_SENT = (State.failed, Resolution.failed)  # No end yet: it may still be sent again, or settled otherwise.

# What may be said of a message in each state.
CHOICES: dict[str, tuple[Resolution, ...]] = {
    State.in_doubt: (Resolution.delivered, Resolution.failed, Resolution.resend),
    State.failed: (Resolution.resend, Resolution.settled),
    State.bounced: (Resolution.resend, Resolution.settled),
}


def resolve(
    act: Act, delivery_id: int, resolution: str, member_id: int | None = None, seen: str | None = None
) -> list[int]:
    """Decide about the message of this delivery; the deliveries that it decides, all of the message.

    `seen` is the state that the person looked at: a decision counts for that one alone. Raises LookupError for an
    unknown delivery; Refused where there is nothing to decide, or somebody has decided.
    """
    wanted = typed.code(Resolution, resolution, later("a decision"))
    query = select(Delivery).where(Delivery.org_id == act.org, Delivery.id == delivery_id)
    delivery = act.session.scalars(query).one_or_none()
    if delivery is None or delivery.channel != Channel.email:
        raise LookupError(delivery_id)
    may_follow = (delivery.state, delivery.resolution) == NOT_SENT and seen in (None, delivery.state)
    if delivery.resolution is not None and not may_follow:
        raise Refused(DECIDED)
    choices = CHOICES.get(delivery.state, ())
    if not choices:
        raise Refused("About this message can be said: nothing: it is not in doubt, refused or come back.")
    if wanted not in choices:
        raise Refused("About this message can be said: %(choices)s.", choices=", ".join(choices))
    with borrowed(act.session, SCHEDULER):
        decided = ledger.resolve(act, delivery_id, delivery.state, wanted, member_id)
    if not decided:
        raise Refused(DECIDED)  # By somebody else, in this very moment.
    return decided


def release(act: Act, member_id: int | None = None) -> int:
    """Let go on what is held since a restore; the number of deliveries. Raises Refused if nothing is."""
    with borrowed(act.session, SCHEDULER):
        released = holds.release(act, member_id)
    if released is None:
        raise Refused("Nothing is held: somebody else may have released it already.")
    return released


def came_back(act: Act, message: uuid.UUID, diagnostic: str, code: str | None) -> list[int]:
    """A mail server reports that this message did not arrive. The deliveries that it moved; again none."""
    return ledger.bounce(act, message, typed.one_line(diagnostic or NO_REASON, later("The report"))[:500], code)
