"""Sending e-mail: lease, compose, hand over, settle, one person at a time, on one line that is kept open.

Each step is a transaction of its own, and no network call happens inside one (P5, law 4). Whatever happens between two
of them, the row says how far the message may have come: RELIABILITY's crash table is this file.
"""

from __future__ import annotations

import datetime as dt
import functools
import random
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

import structlog
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app import clock, failpoints
from app.channels.channel import Channel
from app.channels.composing import compose
from app.channels.message import Composed
from app.channels.returns import sign_return
from app.config import Settings
from app.database import LOST, SCHEDULER, NotDurable, durable_transaction
from app.domain.delivery import Outcome, Reply
from app.domain.letters import Letter
from app.ledger.align import Delivered
from app.ledger.hand_over import NotOurs, hand_over, settle
from app.ledger.lease import Lease, Leased, due_people, lease_for
from app.queries.letters import Envelope, read_letter
from app.scheduler.rounds import at_work, in_transaction
from app.trail.act import SCHEDULER as SCHEDULER_ACTOR
from app.trail.act import Act

log = structlog.get_logger()

Result = TypeVar("Result")

SETTLE_AGAIN_AFTER = (0.2, 1.0, 3.0, 10.0, 30.0)  # Seconds: a database that restarts is back by then, or is missed.
CHANCE = random.SystemRandom()

# What one try came to, as `onus deliver` counts it.
COUNTED = {str(outcome): str(outcome) for outcome in (Outcome.delivered, Outcome.failed, Outcome.in_doubt)}
COUNTED[Outcome.retry] = "retried"

# The mail server has spoken about the message, so that the line is good.
ANSWERED = frozenset({Outcome.delivered, Outcome.retry, Outcome.failed})

# Whatever a database says that is away, is read only after a failover, or has no connection left.
UNWRITTEN: tuple[type[Exception], ...] = (*LOST, DBAPIError, PoolTimeout)
# What leaves it open whether the commit was made, or made durable.
UNRECORDED: tuple[type[Exception], ...] = (*UNWRITTEN, NotDurable, failpoints.Failed)


class Unrecorded(Exception):
    """The hand-over may not be on record, so that nothing may leave."""


class TransportDown(Exception):
    """The mail server cannot be used; the message says why. No delivery is to blame. `done` is what went out before."""

    def __init__(self, reason: str, done: Delivered | None = None) -> None:
        super().__init__(reason)
        self.done = done or Delivered()


class LineBroke(TransportDown):
    """The line broke at this person's message, after it could be opened: only others tell which of the two it was."""

    def __init__(self, reason: str, member_id: int) -> None:
        super().__init__(reason)
        self.member_id = member_id


@dataclass
class Sender:
    """One line to the mail server, and the process that holds what is leased for it."""

    settings: Settings
    channel: Channel
    holder: uuid.UUID
    actor: str = SCHEDULER_ACTOR
    stop: threading.Event = field(default_factory=threading.Event)
    suspects: set[tuple[int, int]] = field(default_factory=set)  # Organisation and person at whom the line broke.

    @property
    def lease_time(self) -> dt.timedelta:
        return dt.timedelta(seconds=self.settings.lease)

    @property
    def answer_within(self) -> dt.timedelta:
        """How long a hand-over may stay open: the wait for the answer to the dot, and once the lease on top."""
        return dt.timedelta(seconds=self.channel.answer_within) + self.lease_time

    def send_next(self, org: int, passed: set[int] | None = None) -> Delivered | None:
        """Send one message of this organisation; None where nothing is due. Raises TransportDown, or LineBroke.

        People in `passed` are passed over, and whoever is looked at in vain is added to them.
        """
        passed = set() if passed is None else passed
        cancelled = 0
        while people := self.due(org, passed):
            self.reach()
            for member_id in people:
                leased, letter = self.within(org, functools.partial(self.lease, member_id))
                cancelled += leased.cancelled
                if leased.lease is not None and letter is not None:
                    failpoints.reached("mail_leased")
                    return replace(self.send(leased.lease, letter), cancelled=cancelled)
            passed.update(people)  # Somebody else is at them, or nothing of theirs may leave: the next ones.
        return Delivered(cancelled=cancelled) if cancelled else None

    def due(self, org: int, passed: set[int]) -> list[int]:
        """Some of the people to whom something is due; those at whom the line broke come after all others."""
        suspects = {member_id for suspect, member_id in self.suspects if suspect == org}
        people = self.within(org, functools.partial(due_people, but_not=passed | suspects))
        if not people and suspects - passed:
            people = self.within(org, functools.partial(due_people, but_not=passed))
        return people

    def within(self, org: int, deed: Callable[[Act], Result]) -> Result:
        return in_transaction(org, self.actor, deed, self.settings)

    def reach(self) -> None:
        """Open the line, or see that it is still good, before anything is leased for it. Raises TransportDown."""
        fault = self.channel.ready()
        if fault is not None:
            raise TransportDown(fault.text)

    def lease(self, member_id: int, act: Act) -> tuple[Leased, Letter | None]:
        """The lease and what its message says, read in one transaction: it says what was last checked."""
        at_work(act, self.settings)
        domain = self.settings.mail_sender()[1].partition("@")[2]
        leased = lease_for(act, member_id, self.holder, self.lease_time, domain) or Leased(None)
        lease = leased.lease
        if lease is None:
            return leased, None
        envelope = Envelope(
            lease.recipient_id,
            lease.sent_to,
            lease.delivery_ids,
            lease.message_id,
            sign_return(self.settings, act.org, lease.token),
            lease.is_resend,
        )
        return leased, read_letter(act.session, act.org, envelope, act.now)

    def send(self, lease: Lease, letter: Letter) -> Delivered:
        """Hand the message over and write what came of it. Raises LineBroke after that is written."""
        composed = compose(letter, self.settings)
        reply = composed if isinstance(composed, Reply) else self.handed_over(lease, composed)
        count = self.settled(lease, reply)
        failpoints.reached("mail_recorded")
        person = (lease.org, lease.recipient_id)
        if reply.outcome is Outcome.transport:
            self.suspects.add(person)
            raise LineBroke(reply.text, lease.recipient_id)
        if reply.outcome in ANSWERED:
            self.suspects.discard(person)
        named = COUNTED.get(reply.outcome)
        return Delivered(**({named: count} if named else {}))

    def handed_over(self, lease: Lease, composed: Composed) -> Reply:
        """The channel's reply; a hand-over that could not be recorded was not made, since the dot was not written."""
        try:
            return self.channel.send(composed, lambda: self.mark(lease, composed), passed)
        except Unrecorded as fault:
            log.warning("hand_over_not_recorded", org=lease.org, fault=str(fault))
            return Reply(Outcome.lost_lease, "mark", f"not recorded, so not sent: {fault}")

    def mark(self, lease: Lease, composed: Composed) -> bool:
        """Record the hand-over durably. False: the lease is lost, or this process stood still for too long.

        Raises Unrecorded where the commit failed, or nobody knows whether it did: then the dot is not written. Whoever
        has been asked to stop begins no hand-over: he could not wait for its answer, and it would be a doubt.
        """
        failpoints.reached("mail_before_hand")
        if self.stop.is_set():
            return False
        began = clock.monotonic()
        words = {"subject": composed.subject, "body": composed.text, "sha256": composed.sha256}
        try:
            with durable_transaction(lease.org, SCHEDULER) as session:
                act = Act(session, lease.org, clock.now(session, self.settings), self.actor)
                hand_over(act, lease, answer_within=self.answer_within, **words)
            failpoints.reached("mail_commit_sent")
        except NotOurs:
            return False
        except UNRECORDED as fault:
            raise Unrecorded(type(fault).__name__) from fault
        return clock.monotonic() - began < self.settings.lease

    def settled(self, lease: Lease, reply: Reply) -> int:
        """Write the outcome; what stays unwritten is swept."""

        def write(act: Act) -> int:
            return settle(act, lease, reply, chance=CHANCE.random())

        count = self.recorded(lease.org, write)
        if count is None:
            log.error("outcome_not_recorded", org=lease.org, outcome=reply.outcome)
            return 0
        if not count:
            log.warning("late_answer", org=lease.org, outcome=reply.outcome)
        return count

    def recorded(self, org: int, write: Callable[[Act], Result]) -> Result | None:
        """Write, for as long as the database may take to come back; None if it did not, or this process must stop."""
        for wait in (*SETTLE_AGAIN_AFTER, None):
            try:
                return self.within(org, write)
            except UNWRITTEN:
                if wait is None or self.stop.wait(wait):
                    break
        return None


def passed(point: str) -> None:
    failpoints.reached(f"mail_{point}")
