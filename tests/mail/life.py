"""Random life of the post: workers that sleep, die and wake, servers that answer, refuse and fall silent, and people.

The line is a double that keeps the truth: which deliveries a mail server has really accepted. After each step the rows
may not contradict it, and no delivery may have been accepted twice, whatever happened (P3).
"""

from __future__ import annotations

import datetime as dt
import itertools
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from flask import Flask, current_app
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from app.channels.message import Composed, silent
from app.channels.returns import read_return
from app.domain.delivery import Outcome, Reply
from app.domain.errors import Refused
from app.domain.letters import Letter
from app.domain.mail_hours import Rest
from app.ledger.hand_over import settle
from app.ledger.lease import Lease, due_people
from app.ledger.scan import scan
from app.ledger.sweep import leave
from app.models import Delivery, Obligation
from app.operations import doubts, mail_hours, obligations, people
from app.queries.facts import read_facts
from app.queries.owed import owed
from app.scheduler.sender import Sender, TransportDown
from app.scheduler.ticks import deliver_tick
from app.trail.act import Act
from tests import factories
from tests.mail.conftest import BEGIN, LEASE, permit

NUMBERS = itertools.count(1)
PEOPLE = ("ana", "berta")

# What happens to one message: before its mark, or at the dot. Accepted says whether the server has it.
ENDS: dict[str, tuple[Reply, bool]] = {
    "taken": (Reply(Outcome.delivered, "dot", "250 2.0.0 queued"), True),
    "put off": (Reply(Outcome.retry, "dot", "451 4.3.0 later"), False),
    "refused": (Reply(Outcome.failed, "dot", "554 5.7.1 no"), False),
    "closing": (Reply(Outcome.transport, "dot", "421 4.3.2 closing"), False),
    "taken in silence": (Reply(Outcome.in_doubt, "dot", "no answer"), True),
    "lost in silence": (Reply(Outcome.in_doubt, "dot", "no answer"), False),
}
EARLY: dict[str, Reply] = {
    "unknown": Reply(Outcome.failed, "rcpt", "550 5.1.1 unknown"),
    "greylisted": Reply(Outcome.retry, "rcpt", "451 4.7.1 later"),
    "broken": Reply(Outcome.transport, "data", "the connection was lost"),
}


ends = st.sampled_from([*ENDS, *EARLY])
deaths = st.sampled_from(["", "", "before", "marked", "answered"])


class Vanished(BaseException):
    """The worker was killed: nothing of it runs any more, not even its own clean-up."""


@dataclass
class Line:
    """One line: what becomes of the next message, and where its worker dies, if it does."""

    taken: Callable[[Composed], None]  # Told when the server has really accepted a message.
    end: str = "taken"
    dies: str = ""
    answer_within: float = 5.0
    reply: Reply | None = None

    def send(self, composed: Composed, mark: Callable[[], bool], passed: Callable[[str], None] = silent) -> Reply:
        if self.dies == "before":
            raise Vanished
        if self.end in EARLY:
            return EARLY[self.end]
        if not mark():
            return Reply(Outcome.lost_lease, "mark", "not ours")
        if self.dies == "marked":
            raise Vanished
        self.reply, accepted = ENDS[self.end]
        if accepted:
            self.taken(composed)
        if self.dies == "answered":
            raise Vanished
        return self.reply

    def ready(self) -> Reply | None:
        return None

    def close(self) -> None:
        """Nothing is open."""

    drop = close


@dataclass
class Worker:
    """A sender with the message that it holds; it may sleep between any two of its steps."""

    sender: Sender
    line: Line
    held: tuple[Lease, Letter] | None = None
    unsaid: tuple[Lease, Reply] | None = None  # An answer that it has read and not written.


class PostLife(RuleBasedStateMachine):
    """Each rule is one step of one worker, one act of a person, or time."""

    def __init__(self) -> None:
        super().__init__()
        self.app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]
        self.acme = factories.acme(f"post-{next(NUMBERS)}", now=BEGIN)
        self.entries = 0
        self.accepted: Counter[int] = Counter()  # By delivery: how often a server has really accepted it.
        self.workers: list[Worker] = []
        self.at(BEGIN)

    def at(self, instant: dt.datetime) -> None:
        self.acme.now = instant
        self.settings = replace(
            self.app.extensions["onus_settings"],
            clock=instant, lease=LEASE, mail_from="onus@acme.example", secret_key="a secret",
        )  # fmt: skip
        self.app.extensions["onus_settings"] = self.settings
        for worker in self.workers:
            worker.sender.settings = self.settings

    def do(self, deed: Callable[[Act], Any]) -> Any:
        with self.acme.acting() as act:
            return deed(act)

    @initialize()
    def furnish(self) -> None:
        def furnished(act: Act) -> None:
            for name in PEOPLE:
                people.add_member(act, f"{name}@{self.acme.org}.example", "officer", name=name.title())
            rule = factories.rule(act, "Both", ("30d", "7d", "0d"), ("role:officer",), ("email",))
            rule.fallback = "role:officer"
            permit(act, "P-0", BEGIN.date() + dt.timedelta(days=9))

        self.do(furnished)
        for _ in range(2):
            line = Line(self.taken)
            self.workers.append(Worker(Sender(self.settings, line, uuid.uuid4()), line))

    # Time, the watch, the people.

    @rule(seconds=st.sampled_from([1, 5, 30, 61, 90, 700, 3600, 86400]))
    def time_passes(self, seconds: int) -> None:
        self.at(self.acme.now + dt.timedelta(seconds=seconds))

    @rule(due=st.integers(-3, 40))
    def entry_added(self, due: int) -> None:
        self.entries += 1
        self.do(lambda act: permit(act, f"P-{self.entries}", self.acme.now.date() + dt.timedelta(days=due)))

    @rule()
    def scanned(self) -> None:
        with self.acme.watching() as act:
            scan(act, trigger="command", full=True)

    @rule()
    def swept_and_aligned(self) -> None:
        _, errors = deliver_tick(self.acme.org)
        assert errors == []

    @rule(number=st.integers(0, 20))
    def deadline_closed(self, number: int) -> None:
        def close(act: Act) -> None:
            found = act.session.query(Obligation.id).filter_by(org_id=act.org, closed_at=None).order_by("id").all()
            if found:
                obligations.close(act, found[number % len(found)][0], "met")

        self.do(close)

    @rule(who=st.sampled_from(PEOPLE), wanted=st.booleans())
    def mail_switched(self, who: str, wanted: bool) -> None:
        address = f"{who}@{self.acme.org}.example"
        self.do(lambda act: people.set_email_alerts(act, people.find_member(act, address).id, wanted=wanted))

    @rule(
        who=st.sampled_from(PEOPLE),
        daily_at=st.none() | st.sampled_from([dt.time(8), dt.time(21)]),
        rest=st.sampled_from([None, Rest(dt.time(20), dt.time(6)), Rest(dt.time(9), dt.time(17), days_off=True)]),
    )
    def hours_chosen(self, who: str, daily_at: dt.time | None, rest: Rest | None) -> None:
        address = f"{who}@{self.acme.org}.example"
        hours = mail_hours.OwnHours(daily_at, rest)
        self.do(lambda act: mail_hours.set_hours(act, people.find_member(act, address).id, hours))

    @rule(number=st.integers(0, 20), said=st.sampled_from(["delivered", "failed", "resend", "settled"]))
    def doubt_resolved(self, number: int, said: str) -> None:
        def decide(act: Act) -> None:
            found = act.session.query(Delivery.id).filter(
                Delivery.org_id == act.org, Delivery.state.in_(("in_doubt", "failed", "bounced"))
            )
            ids = [id for (id,) in found.order_by(Delivery.id)]
            if ids:
                try:
                    doubts.resolve(act, ids[number % len(ids)], said)
                except Refused:
                    """Decided already, or not to be said of this one."""

        self.do(decide)

    # The workers.

    def taken(self, composed: Composed) -> None:
        """A server has accepted the message: by the token in its return address, all deliveries of it."""
        found = read_return(self.settings, composed.return_address)
        assert found is not None
        with self.acme.watching() as act:
            rows = act.run("select id from delivery where org_id = :org and lease_token = :token", {"token": found[1]})
            self.accepted.update(id for (id,) in rows)

    @rule(n=st.integers(0, 1), end=ends, dies=deaths)
    def leased(self, n: int, end: str, dies: str) -> None:
        """A worker takes what is due for somebody, and sleeps."""
        worker = self.workers[n]
        if worker.held or worker.unsaid:
            return
        worker.line.end, worker.line.dies = end, dies
        self.scanned()
        with self.acme.watching() as act:
            people_due = due_people(act)
        for member_id in people_due:
            with self.acme.watching() as act:
                found, letter = worker.sender.lease(member_id, act)
            if found.lease and letter:
                worker.held = (found.lease, letter)
                return

    @rule(n=st.integers(0, 1))
    def handed_over(self, n: int) -> None:
        """It wakes: speaks to the server, marks, and writes the outcome, or dies on the way."""
        worker = self.workers[n]
        if worker.held is None:
            return
        lease, letter = worker.held
        worker.held = None
        try:
            worker.sender.send(lease, letter)
        except Vanished:
            if worker.line.reply is not None:
                worker.unsaid = (lease, worker.line.reply)
        except TransportDown:
            """Written before it was raised."""
        worker.line.reply = None

    @rule(n=st.integers(0, 1), end=ends, dies=deaths)
    def sent(self, n: int, end: str, dies: str) -> None:
        """The same at once, with something new to tell."""
        self.entry_added(5)
        self.leased(n, end, dies)
        self.handed_over(n)

    @rule(n=st.integers(0, 1), wait=st.sampled_from([1, 61, 700]))
    def woken_late(self, n: int, wait: int) -> None:
        """One worker sleeps through its lease while the other takes over; then both go on."""
        self.leased(n, "taken", "")
        self.time_passes(wait)
        self.swept_and_aligned()
        self.sent(1 - n, "put off", "")
        self.handed_over(n)
        self.time_passes(90)
        self.sent(1 - n, "taken", "")

    @rule(n=st.integers(0, 1), says=st.booleans())
    def late_answer(self, n: int, says: bool) -> None:
        """A worker that was stopped after the answer writes it now, or never."""
        worker = self.workers[n]
        if worker.unsaid is None:
            return
        (lease, reply), worker.unsaid = worker.unsaid, None
        if says:
            with self.acme.watching() as act:
                settle(act, lease, reply)

    @rule(n=st.integers(0, 1))
    def process_stops(self, n: int) -> None:
        worker = self.workers[n]
        with self.acme.watching() as act:
            leave(act, worker.sender.holder)
        worker.held = worker.unsaid = None
        worker.sender.holder = uuid.uuid4()

    # What must hold at every moment.

    def rows(self) -> list[Any]:
        with self.acme.watching() as act:
            return act.run(
                "select id, state, resolution, handed_over_at, lease_token, reason, attempts from delivery "
                "where org_id = :org and channel = 'email' order by id"
            ).all()  # type: ignore[no-any-return]

    @invariant()
    def nothing_is_accepted_twice_and_no_state_lies(self) -> None:
        for row in self.rows():
            accepted = self.accepted[row.id]
            assert accepted <= 1, f"P3: {row} was accepted {accepted} times"
            if row.state == "delivered":
                assert accepted or row.resolution == "delivered", f"{row} says delivered"
            if row.state in ("pending", "leased", "cancelled", "held"):
                assert not accepted, f"{row} was accepted"
            if row.state == "failed":
                assert not accepted or row.resolution == "failed", f"{row} was accepted"
            assert (row.state in ("leased", "handing_over")) <= (row.lease_token is not None)
            assert (row.handed_over_at is None) >= (row.state in ("pending", "leased", "cancelled", "held"))

    def teardown(self) -> None:
        """Calm: everybody is gone, the server is good. Nothing stays between two states, and nothing is owed."""
        if not self.workers:
            return
        self.workers.clear()
        line = Line(self.taken)
        for _ in range(16):
            self.at(self.acme.now + dt.timedelta(hours=11))
            with self.acme.watching() as act:
                scan(act, trigger="command", full=True)
            deliver_tick(self.acme.org)
            sender = Sender(self.settings, line, uuid.uuid4())
            while sender.send_next(self.acme.org):
                """The next person."""
        states = {row.state for row in self.rows()}
        self.nothing_is_accepted_twice_and_no_state_lies()
        assert states <= {"delivered", "failed", "in_doubt", "cancelled", "bounced"}, states
        with self.acme.watching() as act:
            assert owed(read_facts(act.session, act.org), act.now).count == 0
