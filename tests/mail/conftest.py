"""The post in tests: an organisation's e-mail, ticked by hand at chosen instants, to a scripted server of its own."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from flask import Flask

from app.channels.channel import Channel
from app.channels.smtp import SmtpChannel
from app.config import Settings, mail_server
from app.ledger.align import Delivered
from app.ledger.scan import Scanned
from app.models import Obligation
from app.operations import people
from app.scheduler.mail_tick import mail_tick
from app.scheduler.sender import Sender
from app.scheduler.ticks import deliver_tick
from app.trail.act import Act
from tests import factories
from tests.channels.conftest import certificates, mail_process, server  # noqa: F401  (fixtures)
from tests.chaos.smtp_server import Running
from tests.factories import Acme
from tests.ledger.conftest import Watch
from tests.scheduler.conftest import database, onus  # noqa: F401  (fixtures)

BEGIN = dt.datetime(2027, 3, 2, 11, 0, tzinfo=dt.UTC)
QUICK = "tls=none&verb=0.3&reply=0.3"
LEASE = 60.0


@dataclass
class Post:
    """Scan, deliver and send at one instant, which stands still until it is moved."""

    app: Flask
    watch: Watch
    server: Running
    channels: list[SmtpChannel] = field(default_factory=list)
    senders: list[Sender] = field(default_factory=list)

    def at(self, instant: dt.datetime) -> Post:
        self.watch.acme.now = instant
        for sender in self.senders:
            sender.settings = replace(sender.settings, clock=instant)
        self.app.extensions["onus_settings"] = replace(self.settings, clock=instant)
        return self

    def later(self, **time: float) -> Post:
        return self.at(self.now + dt.timedelta(**time))

    @property
    def now(self) -> dt.datetime:
        return self.watch.acme.now

    @property
    def settings(self) -> Settings:
        found: Settings = self.app.extensions["onus_settings"]
        return found

    def sender(self, channel: Channel | None = None) -> Sender:
        """A worker of its own: another holder, another line."""
        if channel is None:
            opened = SmtpChannel(mail_server(f"smtp://127.0.0.1:{self.server.port}?{QUICK}"))
            self.channels.append(opened)
            channel = opened
        self.senders.append(Sender(self.settings, channel, uuid.uuid4()))
        return self.senders[-1]

    def do(self, deed: Callable[[Act], Any]) -> Any:
        return self.watch.do(deed)

    def scan(self) -> Scanned:
        return self.watch.scan()

    def send(self, sender: Sender | None = None) -> Delivered:
        """One tick of everything: sweep, align, deliver in the app, send; it may try a mail server that failed."""
        done, errors = deliver_tick(self.watch.acme.org)
        sent, faults = mail_tick(sender or self.sender(), self.watch.acme.org, forced=True)
        assert errors + faults == []
        return replace(done, pending=0) + sent

    def lease(self, sender: Sender, email: str = "ana@acme.example") -> tuple[Any, Any]:
        """The lease of what is due for this person, and the letter."""
        member = self.watch.acme.members[email]
        with self.watch.acme.watching() as act:
            leased, letter = sender.lease(member, act)
        return leased.lease, letter

    def rows(self, columns: str, where: str = "true") -> list[tuple[Any, ...]]:
        """Columns of the e-mail deliveries `x`, with their claims `l` and recipients `m`."""
        return self.watch.rows(
            f"select {columns} from delivery x join notification_ledger l on l.org_id = x.org_id and l.id = x.claim_id "
            f"join member m on m.org_id = x.org_id and m.id = x.recipient_id "
            f"where x.channel = 'email' and {where} order by x.id"
        )

    def states(self) -> list[str]:
        return [state for (state,) in self.rows("x.state")]

    def messages(self) -> list[dict[str, Any]]:
        return self.server.events("message")


@pytest.fixture
def post(app: Flask, acme: Acme, server: Running) -> Iterator[Post]:  # noqa: F811
    """Ana and Berta, officers; a rule that tells officers by e-mail 30 and 7 days before, and on the day."""
    before = app.extensions["onus_settings"]
    post = Post(app, Watch(acme), server)
    app.extensions["onus_settings"] = replace(
        before,
        smtp_url="smtp://127.0.0.1:1?tls=none",
        mail_from="onus@acme.example",
        lease=LEASE,
        secret_key="a secret",
    )
    post.at(BEGIN)
    with acme.acting() as act:
        for name in ("ana", "berta"):
            address = f"{name}@acme.example"
            acme.members[address] = people.add_member(act, address, "officer", name=name.title())
        factories.rule(act, thresholds=("30d", "7d", "0d"), to=("member:ana@acme.example",), channels=("email",))
    yield post
    for channel in post.channels:
        channel.drop()
    app.extensions["onus_settings"] = before


def permit(act: Act, reference: str = "P-1", due_on: dt.date = dt.date(2027, 3, 31), **given: object) -> Any:
    return factories.subject(act, reference, due_on, **given)


def obligation_of(act: Any, subject_id: int) -> Any:
    """The id of its one deadline."""
    return act.session.query(Obligation).filter_by(org_id=act.org, subject_id=subject_id).one().id
