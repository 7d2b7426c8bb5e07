"""One tick of one sender: message after message, one organisation after the other, until nothing is due.

The breaker stands before it: while the mail server cannot be used nothing is leased, but for one try now and then.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import structlog

from app import clock
from app.config import settings
from app.database import SCHEDULER, transaction
from app.ledger.align import Delivered
from app.scheduler import breaker
from app.scheduler.rounds import AnotherDatabase, hold_if_changed, organisations, refuse_lost_database, worded
from app.scheduler.sender import LineBroke, Sender, TransportDown
from app.scheduler.trials import send_trials

log = structlog.get_logger()

Errors = list[dict[str, str | None]]
Place = tuple[int, str]

BROKEN_AT_MOST = 3  # Messages in a row at which the line broke: then it is not the messages.
FRUITLESS_AT_MOST = 3  # Times in a row that nothing came of an organisation's message.
LOOK_AGAIN_AFTER = 15.0  # Seconds: so long at most somebody else's backlog goes on alone.
ADDRESS = re.compile(r"[^\s<>@]*@[^\s<>]*")  # Whose it is, is nobody's business who only shares the mail server.


def mail_tick(sender: Sender, only: int | None = None, *, forced: bool = False) -> tuple[Delivered, Errors]:
    """Send what is due. `forced` tries a mail server at once that is being left alone."""
    hold_if_changed(sender.actor)
    with transaction(None, SCHEDULER) as session:
        was_open = breaker.is_open(session)
        if not breaker.may_send(session, clock.now(session, settings()), forced=forced):
            return Delivered(), []
    try:
        if was_open:
            sender.reach()  # Even where nothing is due: else the banner would stay.
        faults = send_trials(sender, only)
        done, errors = send_all(sender, only)
    except TransportDown as down:
        trip(str(down))
        return down.done, []
    if was_open:
        close()
    return done, faults + errors


def send_all(sender: Sender, only: int | None) -> tuple[Delivered, Errors]:
    """Round after round, one message for each organisation. Raises TransportDown with what was done before."""
    walk = Walk(sender, only)
    try:
        walk.to_the_end()
    except AnotherDatabase:
        pass  # The next tick holds everything first.
    except TransportDown as down:
        raise TransportDown(str(down), walk.total) from down
    return walk.total, walk.errors


@dataclass
class Walk:
    """One tick's way round the organisations.

    A line that breaks at one message says nothing of the others: they are tried, so that one message, or one
    organisation, cannot stop them all. If they break it as well, or there are none, the mail server is down.
    """

    sender: Sender
    only: int | None
    total: Delivered = field(default_factory=Delivered)
    errors: Errors = field(default_factory=list)
    failing: set[int] = field(default_factory=set)
    waiting: list[Place] = field(default_factory=list)
    passed: defaultdict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    fruitless: Counter[int] = field(default_factory=Counter)
    broken: list[LineBroke] = field(default_factory=list)  # Since the last message that got an answer.
    answered: bool = False
    looked: float = 0.0

    def to_the_end(self) -> None:
        """Raises TransportDown if nothing but broken lines is left."""
        self.look()
        while self.waiting and not self.sender.stop.is_set():
            self.once_round()
            if clock.monotonic() - self.looked > LOOK_AGAIN_AFTER:
                self.look()
        if self.broken and not self.answered:
            raise self.broken[-1]

    def look(self) -> None:
        """Ask all again who has something due: whose first alert comes now does not wait for another's thousand."""
        suspected = {org for org, _ in self.sender.suspects}
        places = [place for place in organisations(self.only) if place[0] not in self.failing]
        self.waiting = sorted(places, key=lambda place: place[0] in suspected)
        self.passed.clear()
        self.fruitless.clear()
        self.looked = clock.monotonic()

    def once_round(self) -> None:
        for place in list(self.waiting):
            if self.sender.stop.is_set():
                return
            done = self.next_of(place)
            if done is None:
                self.waiting.remove(place)
            else:
                self.total += done

    def next_of(self, place: Place) -> Delivered | None:
        """One message of this organisation; None when it is done for now."""
        org, _ = place
        try:
            done = self.sender.send_next(org, self.passed[org])
        except LineBroke as broke:
            self.passed[org].add(broke.member_id)
            self.broken.append(broke)
            if len(self.broken) >= BROKEN_AT_MOST:
                raise
            return Delivered()
        except (TransportDown, AnotherDatabase):
            raise
        except Exception as fault:
            refuse_lost_database(fault)
            self.failing.add(org)
            self.errors.append(failed(place, fault))
            return None
        return done if done is not None and self.is_of_use(org, done) else None

    def is_of_use(self, org: int, done: Delivered) -> bool:
        """Whether to ask this organisation again: not for ever, while no hand-over of it can be recorded."""
        if done.delivered or done.retried or done.failed:
            self.answered = True
            self.broken.clear()
        self.fruitless[org] = 0 if any(vars(done).values()) else self.fruitless[org] + 1
        return self.fruitless[org] < FRUITLESS_AT_MOST


def trip(said: str) -> None:
    """Open the breaker. All organisations read the reason, so that nobody's address may stand in it (P8)."""
    reason = ADDRESS.sub("…", said)
    log.warning("mail_transport_failed", reason=reason)
    with transaction(None, SCHEDULER) as session:
        breaker.trip(session, clock.now(session, settings()), reason)


def close() -> None:
    with transaction(None, SCHEDULER) as session:
        breaker.close(session, clock.now(session, settings()))


def failed(place: Place, fault: Exception) -> dict[str, str | None]:
    org, slug = place
    log.exception("mail_failed", org=org)
    return {"org": slug, "site": None, "message": worded(fault)}
