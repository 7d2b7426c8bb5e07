"""Nobody's mail waits for somebody else's: a poisonous message, an organisation, a backlog stop only themselves."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from psycopg import InternalError
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.channels.message import Composed, silent
from app.cli import main
from app.domain.delivery import Outcome, Reply
from app.ledger.align import Delivered
from app.ledger.hand_over import settle
from app.ledger.scan import scan
from app.operations import people
from app.scheduler import process
from app.scheduler import sender as sender_module
from app.scheduler.heartbeat import Heartbeat
from app.scheduler.mail_tick import BROKEN_AT_MOST, FRUITLESS_AT_MOST, mail_tick
from app.scheduler.sender import Sender
from tests import factories
from tests.factories import Acme
from tests.mail.conftest import Post, permit
from tests.mail.test_late import Scripted

NO_RELAY = "554 5.7.1 <ana@acme.example>: Relay access denied"


def told_by_mail(post: Post, slug: str, count: int = 1) -> Acme:
    """Another organisation, with so many people who each have a message due. It comes after acme in every round."""
    other = factories.acme(slug, "Lyon", "Europe/Paris", now=post.now)
    with other.acting() as act:
        for n in range(count):
            address = f"p{n}@{slug}.example"
            people.add_member(act, address, "officer", name=f"P{n}")
            factories.rule(act, f"To {n}", ("30d",), (f"member:{address}",), ("email",))
    entered(other)
    return other


def entered(other: Acme, reference: str = "L-1") -> None:
    with other.acting() as act:
        factories.subject(act, reference, dt.date(2027, 3, 31), at="Lyon")
    with other.watching() as act:
        scan(act, trigger="command", full=True)


def receivers(post: Post) -> list[str]:
    return [one["rcpts"][0] for one in post.messages()]


def is_open(post: Post) -> bool:
    return post.watch.rows("select opened_at is not null from mail_transport") == [(True,)]


@pytest.mark.parametrize("script", [{"RCPT": [NO_RELAY]}, {"DATA": ["drop"]}, {"DATA": ["421 4.7.0 go away"]}])
def test_a_message_at_which_the_line_breaks_stops_no_other_organisation(post: Post, script: dict[str, Any]) -> None:
    post.do(permit)
    post.scan()
    told_by_mail(post, "beta")
    post.server.play({"to": {"ana@acme.example": script}})
    mail_tick(post.sender())
    assert receivers(post) == ["p0@beta.example"]
    assert post.rows("x.state, x.attempts") == [("pending", 0)]
    assert not is_open(post)


def test_a_message_that_stops_nobody_else_is_tried_when_nothing_else_is_due(post: Post) -> None:
    post.do(permit)
    post.scan()
    post.server.play({"RCPT": [NO_RELAY, NO_RELAY, "ok"]})
    sender = post.sender()
    mail_tick(sender)
    assert is_open(post), "it is all that was due, so that nothing leaves: a person must see it"
    post.later(seconds=20)
    mail_tick(sender)
    post.later(seconds=40)
    assert mail_tick(sender)[0].delivered == 1
    assert not is_open(post)


def test_an_organisation_full_of_such_messages_comes_last_after_the_first_time(post: Post) -> None:
    """Nobody knows yet that acme is to blame: three of its messages look like a mail server that is down."""

    def many(act: Any) -> None:
        for n in range(BROKEN_AT_MOST + 2):
            people.add_member(act, f"far{n}@acme.example", "staff", name=f"Far {n}")
        entry = permit(act, kind="training")
        factories.rule(act, "Far", ("30d",), ("role:staff",), ("email",), subjects=[entry.id])

    post.do(many)
    post.scan()
    far = {f"far{n}@acme.example": {"RCPT": [NO_RELAY]} for n in range(BROKEN_AT_MOST + 2)}
    post.server.play({"to": {"ana@acme.example": {"RCPT": [NO_RELAY]}, **far}})
    sender = post.sender()
    mail_tick(sender)
    assert is_open(post)
    told_by_mail(post, "beta", 3)
    post.later(minutes=6)
    mail_tick(sender)
    assert sorted(receivers(post)) == [f"p{n}@beta.example" for n in range(3)]


def test_within_an_organisation_the_others_come_first_too(post: Post) -> None:
    post.do(permit)
    post.scan()
    post.server.play({"to": {"ana@acme.example": {"DATA": ["drop"]}}})
    sender = post.sender()
    mail_tick(sender)
    post.later(minutes=1)
    post.do(lambda act: factories.rule(act, "Berta", ("30d",), ("member:berta@acme.example",), ("email",)))
    post.scan()
    post.later(minutes=6)
    mail_tick(sender)
    assert receivers(post) == ["berta@acme.example"]


def test_a_mail_server_that_fails_everybody_is_left_alone_after_three(post: Post) -> None:
    told_by_mail(post, "beta", 6)
    post.server.play({"MAIL": ["421 4.3.2 no"]})
    mail_tick(post.sender())
    assert is_open(post)
    assert len(post.server.events("mail")) == BROKEN_AT_MOST


def test_p8_no_address_stands_in_the_reason_that_all_organisations_read(post: Post) -> None:
    post.do(permit)
    post.scan()
    post.server.play({"RCPT": [NO_RELAY]})
    mail_tick(post.sender())
    ((reason,),) = post.watch.rows("select reason from mail_transport")
    assert reason == "554 5.7.1 <…>: Relay access denied"


def watched(sender: Sender, before: Callable[[int], None]) -> Sender:
    """The sender, with something done before each look at an organisation; it is told how many there were."""
    look, looks = sender.send_next, iter(range(1000))

    def looked(org: int, passed: set[int] | None = None) -> Delivered | None:
        before(next(looks))
        return look(org, passed)

    sender.send_next = looked  # type: ignore[method-assign]
    return sender


def test_what_comes_during_the_backlog_of_another_does_not_wait_for_its_end(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = told_by_mail(post, "alpha")
    mail_tick(post.sender())
    told_by_mail(post, "beta", 8)
    post.server.forget()
    seconds = iter(range(0, 10_000, 4))
    monkeypatch.setattr("app.clock.monotonic", lambda: float(next(seconds)))
    sender = watched(post.sender(), lambda look: entered(idle, "L-new") if look == 6 else None)
    mail_tick(sender)
    assert len(post.messages()) == 1 + 8
    assert receivers(post).index("p0@alpha.example") < 8


def test_whoever_is_asked_to_stop_begins_nothing_more(post: Post) -> None:
    post.do(permit)
    post.scan()
    told_by_mail(post, "beta")
    sender = post.sender()
    mail_tick(watched(sender, lambda look: sender.stop.set() if look == 1 else None))
    assert receivers(post) == ["ana@acme.example"]


def test_a_hand_over_is_not_begun_once_asked_to_stop(post: Post) -> None:
    post.do(permit)
    post.scan()
    sender = post.sender()
    lease, letter = post.lease(sender)
    sender.stop.set()
    sender.send(lease, letter)
    assert post.messages() == []
    assert post.rows("x.state, x.attempts") == [("pending", 0)]


class NeverMarked(Scripted):
    """Each hand-over fails to be recorded, for a reason that does not go away."""

    def send(self, composed: Composed, mark: Callable[[], bool], passed: Callable[[str], None] = silent) -> Reply:
        self.marked = [*(self.marked or []), False]
        return Reply(Outcome.lost_lease, "mark", "not recorded, so not sent")


def test_a_hand_over_that_is_never_recorded_does_not_keep_the_tick_for_ever(post: Post) -> None:
    post.do(permit)
    post.scan()
    line = NeverMarked()
    mail_tick(post.sender(line))
    assert len(line.marked) == FRUITLESS_AT_MOST


def test_a_delivery_by_hand_that_cannot_reach_the_mail_server_says_so_and_fails(post: Post) -> None:
    post.do(permit)
    post.scan()
    ended = post.app.test_cli_runner().invoke(main, ["deliver", "--json"])
    said = json.loads(ended.stdout)
    assert ended.exit_code == 1
    assert (said["delivered"], said["pending"]) == (0, 1)
    assert "could not connect" in said["errors"][0]["message"]
    assert "all organisations: no e-mail leaves" in post.app.test_cli_runner().invoke(main, ["deliver"]).stdout


@pytest.mark.parametrize(
    "fault",
    [
        DBAPIError("update", {}, InternalError("cannot execute UPDATE in a read-only transaction")),
        PoolTimeout("no connection left"),
    ],
    ids=["read only", "no connection"],
)
def test_an_answer_is_written_again_whatever_the_database_said_first(
    post: Post, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    """As after a failover, when the old primary is a standby for a moment: an answer that is lost is a doubt."""
    post.do(permit)
    post.scan()
    faults = [fault]

    def settled(*given: Any, **named: Any) -> int:
        if faults:
            raise faults.pop()
        return settle(*given, **named)

    monkeypatch.setattr(sender_module, "settle", settled)
    mail_tick(post.sender())
    assert post.states() == ["delivered"]


def test_less_than_one_line_to_the_mail_server_is_one(post: Post) -> None:
    post.app.extensions["onus_settings"] = replace(post.settings, smtp_connections=0)
    assert len(process.open_senders(Heartbeat())) == 1
