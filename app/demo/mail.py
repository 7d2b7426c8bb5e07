"""The demo's e-mail: sent by the real sender into files, at the instants of the story; two of them go wrong on purpose.

One is taken, and the line is lost after the dot: a doubt, for the visitor to decide. One comes back.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from dataclasses import replace

from app.channels.message import Composed, silent
from app.channels.outbox import OutboxChannel
from app.config import settings
from app.database import SCHEDULER, transaction
from app.domain.delivery import Outcome, Reply, State
from app.operations import doubts
from app.scheduler.sender import Sender
from app.trail.act import SCHEDULER as SCHEDULER_ACTOR
from app.trail.act import Act

IN_DOUBT, COMES_BACK = "TUC-INS-1", "MTY-AIR-3"
LOST = Reply(Outcome.in_doubt, "dot", "no answer to the whole message: the mail server closed the connection")
UNKNOWN = "550 5.1.1 no such user here"

# The message that told of this entry last, unless it has come back already.
LAST_TOLD = """
select x.lease_token from delivery x join notification_ledger l on l.org_id = :org and l.id = x.claim_id
where x.org_id = :org and x.channel = 'email' and l.reference = :reference and x.state = :state
order by x.id desc limit 1"""


class Postman(OutboxChannel):
    """Writes messages into files; the last one about the insurance is taken, and its answer is lost."""

    def __init__(self, now: dt.datetime) -> None:
        super().__init__(settings().home / "outbox")
        self.lost_on = now.date()

    def send(self, composed: Composed, mark: Callable[[], bool], passed: Callable[[str], None] = silent) -> Reply:
        reply = super().send(composed, mark, passed)
        lost = IN_DOUBT in composed.text and composed.sent_at.date() == self.lost_on
        return LOST if lost and reply.outcome is Outcome.delivered else reply


def send_due(org: int, at: dt.datetime, postman: Postman) -> None:
    """Send all that is due at this instant, as the scheduler would have done then."""
    sender = Sender(replace(settings(), clock=at), postman, uuid.uuid4())
    while sender.send_next(org) is not None:
        """The next person."""


def come_back(org: int, at: dt.datetime) -> None:
    """The mail server of one recipient reports that nobody is there."""
    with transaction(org, SCHEDULER) as session:
        act = Act(session, org, at, SCHEDULER_ACTOR)
        token = act.run(LAST_TOLD, {"reference": COMES_BACK, "state": State.delivered}).scalar()
        if token is not None:
            doubts.came_back(act, token, UNKNOWN, "5.1.1")
