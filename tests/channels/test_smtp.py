"""What becomes of one message, for every way in which a mail server can answer, break or fall silent (P3, H16, H17)."""

from __future__ import annotations

import socket
import threading
from dataclasses import replace

import pytest

from app.channels.smtp import SmtpChannel
from app.domain.delivery import Outcome
from tests.channels.certificates import Certificates
from tests.channels.conftest import Opening, fitting
from tests.channels.letters import composed, parsed, to
from tests.chaos.smtp_server import Running

POINTS = ["connected", "mail", "rcpt", "data", "body", "mark", "after_hand", "after_dot", "reply"]
UP_TO_BODY = ["connected", "mail", "rcpt", "data", "body"]


class Broken(Exception):
    """What a mark or a failpoint raises."""


class Mark:
    """The caller's side: records the hand-over, and what the server had taken by then."""

    def __init__(self, server: Running, ours: bool = True, fault: Exception | None = None) -> None:
        self.server, self.ours, self.fault = server, ours, fault
        self.taken: list[int] = []

    def __call__(self) -> bool:
        self.taken.append(len(self.server.events("message", "refused")))
        if self.fault is not None:
            raise self.fault
        return self.ours


def yes() -> bool:
    return True


def test_a_message_is_taken_once_and_only_after_the_mark(server: Running, channel: SmtpChannel) -> None:
    message, mark, points = composed(), Mark(server), []
    reply = channel.send(message, lambda: points.append("mark") is None and mark(), points.append)
    assert (reply.outcome, reply.verb, reply.text) == (Outcome.delivered, "dot", "250 2.0.0 queued as 1")
    assert (points, mark.taken) == (POINTS, [0])
    (taken,) = server.events("message")
    assert taken["raw"].encode() == message.wire
    assert taken["sha256"] == message.sha256
    assert (taken["rcpts"], taken["sender"]) == (["bruno@acme.example"], message.return_address)
    assert (taken["message_id"], taken["options"]) == ("<5.41@onus.acme.example>", "")


def test_h17_each_recipient_has_an_outcome_and_a_message_of_their_own(server: Running, channel: SmtpChannel) -> None:
    greylisted, unknown = "451 4.7.1 greylisted, try again later", "550 5.1.1 no such user"
    server.play({"to": {"b@acme.example": {"RCPT": [greylisted, "ok"]}, "c@acme.example": {"RCPT": [unknown]}}})
    found = [channel.send(to(f"{who}@acme.example"), yes) for who in "abcb"]
    assert [(reply.outcome, reply.verb, reply.text) for reply in found] == [
        (Outcome.delivered, "dot", "250 2.0.0 queued as 1"),
        (Outcome.retry, "rcpt", greylisted),
        (Outcome.failed, "rcpt", unknown),
        (Outcome.delivered, "dot", "250 2.0.0 queued as 2"),
    ]
    taken = server.events("message")
    assert [message["rcpts"] for message in taken] == [["a@acme.example"], ["b@acme.example"]]
    assert [parsed(message["raw"])["To"].addresses[0].addr_spec for message in taken] == [
        "a@acme.example",
        "b@acme.example",
    ]
    assert len(server.events("connect")) == 1


REFUSALS = [
    ("MAIL", "451 4.3.0 later", Outcome.retry),
    ("MAIL", "550 not now, not ever", Outcome.failed),
    ("MAIL", "552 5.3.4 too large", Outcome.failed),
    ("MAIL", "550 5.1.8 sender domain does not exist", Outcome.transport),
    ("MAIL", "553 5.1.7 bad sender address syntax", Outcome.transport),
    ("MAIL", "550 5.7.1 not from you", Outcome.transport),
    ("MAIL", "530 5.7.0 Authentication required", Outcome.transport),
    ("MAIL", "530 5.7.57 Client not authenticated to send mail", Outcome.transport),
    ("MAIL", "534 5.7.9 mechanism too weak", Outcome.transport),
    ("MAIL", "421 4.3.2 closing", Outcome.transport),
    ("RCPT", "450 4.2.0 greylisted", Outcome.retry),
    ("RCPT", "451 4.7.1 greylisted", Outcome.retry),
    ("RCPT", "452 4.2.2 mailbox full", Outcome.retry),
    ("RCPT", "550 5.1.1 no such user", Outcome.failed),
    ("RCPT", "550 5.7.1 this mailbox takes no mail from outside", Outcome.failed),
    ("RCPT", "550 5.7.1 message rejected by policy", Outcome.failed),
    ("RCPT", "553 5.1.3 bad address syntax", Outcome.failed),
    ("RCPT", "550 5.1.1 unknown user relay@acme.example", Outcome.failed),
    ("RCPT", "554 5.7.1 <bruno@acme.example>: Relay access denied", Outcome.transport),
    ("RCPT", "454 4.7.1 <bruno@acme.example>: Relay access denied", Outcome.transport),
    ("RCPT", "550 5.7.1 Unable to relay", Outcome.transport),
    ("RCPT", "550 5.7.64 TenantAttribution; Relay Access Denied", Outcome.transport),
    ("RCPT", "550 relaying not permitted", Outcome.transport),
    ("RCPT", "550 5.7.8 credentials have expired", Outcome.transport),
    ("RCPT", "550 5.7.0 Authentication required", Outcome.transport),
    ("RCPT", "553 5.7.1 <x>: Sender address rejected: not owned by user onus", Outcome.transport),
    ("RCPT", "554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using a list", Outcome.transport),
    ("RCPT", "535 5.7.8 credentials have expired", Outcome.transport),
    ("RCPT", "421 4.3.2 closing", Outcome.transport),
    ("DATA", "451 4.3.0 later", Outcome.retry),
    ("DATA", "554 5.5.1 no valid recipients", Outcome.failed),
    ("DATA", "421 4.3.2 closing", Outcome.transport),
    ("DOT", "451 4.3.0 later", Outcome.retry),
    ("DOT", "452 4.3.1 disk full", Outcome.retry),
    ("DOT", "554 5.6.0 I do not like this message", Outcome.failed),
    ("DOT", "554 5.7.1 relay access denied to words such as these", Outcome.failed),
    ("DOT", "550 5.7.57 not from you", Outcome.transport),
    ("DOT", "421 4.3.2 closing", Outcome.transport),
]


@pytest.mark.parametrize(("point", "answer", "outcome"), REFUSALS)
def test_a_refusal_is_proof_that_nothing_was_taken(
    point: str, answer: str, outcome: Outcome, server: Running, channel: SmtpChannel
) -> None:
    server.play({point: [answer, "ok"]})
    mark = Mark(server)
    reply = channel.send(composed(), mark)
    assert (reply.outcome, reply.verb) == (outcome, point.lower())
    assert reply.text == answer
    assert server.events("message") == []
    assert len(mark.taken) == (point == "DOT")
    assert channel.send(composed(), yes).outcome is Outcome.delivered


def test_a_refusal_of_several_lines_is_kept_whole(server: Running, channel: SmtpChannel) -> None:
    server.play({"DOT": ["550-5.7.1 too many\n550 5.7.1 exclamation marks"]})
    assert channel.send(composed(), yes).text == "550 5.7.1 too many 5.7.1 exclamation marks"


DEEDS = ["drop", "stall", "garbage", "long", "endless", "trickle 0.05"]
BROKEN_BEFORE = [(point, deed) for point in ("GREETING", "EHLO", "MAIL", "RCPT", "DATA") for deed in DEEDS]
OUT_OF_TURN = [("GREETING", "354 go"), ("EHLO", "354 go"), ("MAIL", "354 go"), ("RCPT", "354 go"), ("DATA", "250 ok")]


@pytest.mark.parametrize(("point", "deed"), BROKEN_BEFORE + OUT_OF_TURN)
def test_a_fault_before_the_body_is_the_transports_and_nothing_is_taken(
    point: str, deed: str, server: Running, opened: Opening
) -> None:
    channel = opened(fitting(deed))
    server.play({point: [deed, "ok"]})
    mark = Mark(server)
    reply = channel.send(composed(), mark)
    assert (reply.outcome, reply.verb, mark.taken) == (Outcome.transport, point.lower(), [])
    assert opened().send(composed(), yes).outcome is Outcome.delivered
    assert len(server.events("message")) == 1


MID_BODY = [("DATA", "drop after"), ("BODY", "drop"), ("BODY", "stall")]


@pytest.mark.parametrize(("point", "deed"), MID_BODY)
def test_a_fault_within_the_body_is_the_transports_and_nothing_is_taken(
    point: str, deed: str, server: Running, opened: Opening
) -> None:
    """More octets than the buffers of both sides hold, so that the fault shows while they are written."""
    channel = opened(fitting(deed))
    server.play({point: [deed, "ok"]})
    mark = Mark(server)
    reply = channel.send(replace(composed(), wire=(b"x" * 998 + b"\r\n") * 24_000), mark)
    assert (reply.outcome, reply.verb, mark.taken) == (Outcome.transport, "body", [])
    assert server.events("message") == []


@pytest.mark.parametrize(("point", "deed"), MID_BODY)
def test_a_body_that_was_lost_in_the_buffers_is_never_called_delivered(
    point: str, deed: str, server: Running, opened: Opening
) -> None:
    """A short body may seem to be sent although nobody reads it any more: a doubt is honest then."""
    channel = opened(fitting(deed))
    server.play({point: [deed, "ok"]})
    mark = Mark(server)
    outcome = channel.send(composed(), mark).outcome
    assert (outcome, mark.taken) in [(Outcome.in_doubt, [0]), (Outcome.transport, [0]), (Outcome.transport, [])]
    assert server.events("message") == []


@pytest.mark.parametrize("what", ["nobody listens", "no such host"])
def test_a_server_that_cannot_be_reached_is_the_transports(what: str, opened: Opening) -> None:
    channel = opened(host="127.0.0.2") if what == "nobody listens" else opened(host="no-such-host.invalid")
    reply = channel.send(composed(), yes)
    assert (reply.outcome, reply.verb) == (Outcome.transport, "connect")
    assert "could not connect to" in reply.text


def test_a_refused_greeting_says_what_the_server_said(server: Running, channel: SmtpChannel) -> None:
    server.play({"GREETING": ["421 4.3.2 too busy"]})
    reply = channel.send(composed(), yes)
    assert (reply.outcome, reply.verb) == (Outcome.transport, "greeting")
    assert "421 4.3.2 too busy" in reply.text


def test_a_server_without_ehlo_is_greeted_as_of_old(server: Running, channel: SmtpChannel) -> None:
    server.play({"EHLO": ["502 5.5.1 what?"]})
    assert channel.send(composed(), yes).outcome is Outcome.delivered


SILENCE_AFTER = ["drop", "drop after", "stall", "stall after", "garbage", "garbage after", "354 go on", "199 hm",
                 "long after", "endless after", "250-first\n451 second", "trickle 0.05"]  # fmt: skip


@pytest.mark.parametrize("deed", SILENCE_AFTER)
def test_h16_no_answer_to_the_dot_is_a_doubt_and_never_a_retry(deed: str, server: Running, opened: Opening) -> None:
    channel = opened(fitting(deed))
    server.play({"DOT": [deed, "ok"]})
    mark = Mark(server)
    reply = channel.send(composed(), mark)
    assert (reply.outcome, reply.verb, mark.taken) == (Outcome.in_doubt, "dot", [0])
    assert reply.text.startswith("no answer to the whole message: ")
    taken = 1 if deed.endswith("after") or deed.startswith(("trickle", "250")) else 0
    assert len(server.events("message")) == taken
    # It opens no breaker: the next message has a line of its own, and a resend keeps the Message-ID.
    assert opened().send(composed(may_repeat=True), yes).outcome is Outcome.delivered
    ids = {message["message_id"] for message in server.events("message")}
    assert (len(server.events("message")), len(ids)) == (taken + 1, 1)


def test_a_slow_answer_to_the_dot_is_waited_for_longer_than_a_verb(server: Running, opened: Opening) -> None:
    server.play({"DOT": ["slow 0.4"]})
    assert opened("verb=0.25&reply=10").send(composed(), yes).outcome is Outcome.delivered


def test_a_lost_lease_cuts_the_line_and_nothing_is_taken(server: Running, channel: SmtpChannel) -> None:
    points: list[str] = []
    reply = channel.send(composed(), Mark(server, ours=False), points.append)
    assert (reply.outcome, reply.verb, points) == (Outcome.lost_lease, "mark", UP_TO_BODY)
    assert_cut_before_the_dot(server)
    assert channel.send(composed(), yes).outcome is Outcome.delivered
    assert len(server.events("message")) == 1


def test_a_mark_that_raises_cuts_the_line_and_the_fault_goes_on(server: Running, channel: SmtpChannel) -> None:
    with pytest.raises(Broken, match="the database is gone"):
        channel.send(composed(), Mark(server, fault=Broken("the database is gone")))
    assert_cut_before_the_dot(server)


@pytest.mark.parametrize("point", [point for point in POINTS if point != "mark"])
def test_a_fault_at_a_point_goes_on_and_the_line_is_cut(point: str, server: Running, channel: SmtpChannel) -> None:
    def passed(name: str) -> None:
        if name == point:
            raise Broken(point)

    with pytest.raises(Broken, match=point):
        channel.send(composed(), yes, passed)
    server.until("close")
    # The lone dot was written only where the fault came after it.
    assert len(server.events("message")) == (point in ("after_dot", "reply"))
    assert channel.session is None


@pytest.mark.parametrize("options", ["", "tls"])
def test_a_line_that_ends_during_the_mark_is_no_doubt(
    options: str, server: Running, opened: Opening, certificates: Certificates
) -> None:
    """The server gave up while the hand-over was being recorded: the dot is not written, so nothing can be taken."""
    script = certificates.good.offered() if options else {}
    server.play(script)
    channel = opened(f"tls=starttls&cafile={certificates.authority}") if options else opened()
    reply = channel.send(
        composed(),
        lambda: server.until("close") is not None,
        lambda point: server.play(script | {"idle": 0.2}) if point == "rcpt" else None,
    )
    assert reply.outcome is Outcome.transport
    assert reply.verb in ("body", "dot")  # On a very busy machine it has gone before the mark.
    assert len(server.events("unfinished")) == 1
    assert server.events("message") == []


def test_a_line_that_is_cut_by_another_thread_ends_at_once(server: Running, opened: Opening) -> None:
    """A stop need not wait 600 seconds for the answer to the dot."""
    server.play({"DOT": ["stall after"]})
    channel = opened("verb=60&reply=600")
    at_dot = threading.Event()
    replies = []
    sending = threading.Thread(
        target=lambda: replies.append(
            channel.send(composed(), yes, lambda p: at_dot.set() if p == "after_dot" else None)
        )
    )
    sending.start()
    assert at_dot.wait(5)
    channel.drop()
    sending.join(5)
    assert [reply.outcome for reply in replies] == [Outcome.in_doubt]


def test_a_line_that_was_cut_before_the_dot_has_released_nothing(server: Running, channel: SmtpChannel) -> None:
    reply = channel.send(composed(), lambda: channel.drop() is None)
    assert (reply.outcome, reply.verb) == (Outcome.transport, "dot")
    assert_cut_before_the_dot(server)


def test_the_lone_dot_does_not_wait_for_a_delayed_acknowledgement(server: Running, channel: SmtpChannel) -> None:
    assert channel.ready() is None
    assert channel.session is not None
    assert channel.session.line.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_nothing_stands_in_the_log_before_the_dot(server: Running, channel: SmtpChannel) -> None:
    """The whole body has been sent at the mark, and the server has neither taken nor refused it."""
    seen = []
    channel.send(composed(), lambda: seen.append([event["event"] for event in server.events()]) is None)
    assert seen == [["connect", "mail", "rcpt", "data"]]


def assert_cut_before_the_dot(server: Running) -> None:
    """The server has seen a body without an end, and no QUIT; it took nothing."""
    server.until("close")
    assert [event["event"] for event in server.events()] == ["connect", "mail", "rcpt", "data", "unfinished", "close"]
    assert server.events("unfinished")[0]["octets"] == len(composed().wire)
