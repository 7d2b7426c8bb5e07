"""The session with the mail server: kept and asked before it is trusted, secured as the setting says, and signed in."""

from __future__ import annotations

import base64
import logging

import pytest

from app.channels.smtp import SmtpChannel
from app.config import MailServer
from app.domain.delivery import Outcome
from tests.channels.certificates import Certificates
from tests.channels.conftest import PATIENT, Opening, fitting
from tests.channels.letters import composed, to
from tests.chaos.smtp_server import Running

PASSWORD = "s3cret-Pässword"
USER = "onus:s3cret-P%C3%A4ssword@"
AUTH = ["AUTH PLAIN LOGIN"]


def yes() -> bool:
    return True


def test_one_session_carries_many_messages(server: Running, channel: SmtpChannel) -> None:
    for number in range(5):
        assert channel.send(to(f"a{number}@acme.example"), yes).outcome is Outcome.delivered
    assert len(server.events("message")) == 5
    assert len(server.events("connect")) == 1


def test_a_session_that_is_full_is_begun_anew_and_no_try_is_burnt(server: Running, channel: SmtpChannel) -> None:
    server.play({"session_limit": 2})
    assert [channel.send(composed(), yes).outcome for _ in range(5)] == [Outcome.delivered] * 5
    assert [event["session"] - server.forgotten for event in server.events("message")] == [1, 1, 2, 2, 3]


def test_a_server_that_has_enough_in_every_session_is_asked_twice_and_then_believed(
    server: Running, channel: SmtpChannel
) -> None:
    server.play({"MAIL": ["ok", "451 4.7.1 enough"]})
    assert [channel.send(composed(), yes).outcome for _ in range(2)] == [Outcome.delivered, Outcome.retry]
    assert len(server.events("mail")) == 3


@pytest.mark.parametrize("deed", ["drop", "421 4.4.2 idle for too long", "garbage", "stall", "500 5.5.1 what?"])
def test_a_kept_session_that_has_ended_is_no_fault_of_the_next_message(
    deed: str, server: Running, opened: Opening
) -> None:
    channel = opened(fitting(deed))
    server.play({"NOOP": [deed, "ok"]})
    assert [channel.send(composed(), yes).outcome for _ in range(2)] == [Outcome.delivered] * 2
    assert len(server.events("connect")) == 2


@pytest.mark.parametrize("deed", ["drop", "421 4.3.2 closing", "garbage"])
def test_a_kept_session_that_ends_at_mail_is_no_fault_either(deed: str, server: Running, channel: SmtpChannel) -> None:
    server.play({"MAIL": ["ok", deed, "ok"]})
    assert [channel.send(composed(), yes).outcome for _ in range(2)] == [Outcome.delivered] * 2


def test_a_session_that_idled_out_is_begun_anew(server: Running, channel: SmtpChannel) -> None:
    assert channel.send(composed(), yes).outcome is Outcome.delivered
    server.play({"idle": 0.01})
    assert channel.ready() is None
    server.until("close")
    server.play({})
    assert channel.send(composed(), yes).outcome is Outcome.delivered
    assert len(server.events("connect")) == 2


@pytest.mark.parametrize("deed", ["drop", "garbage", "550 5.5.1 no"])
def test_a_fault_after_a_refusal_does_not_change_it(deed: str, server: Running, channel: SmtpChannel) -> None:
    server.play({"RCPT": ["550 5.1.1 no such user", "ok"], "RSET": [deed]})
    assert [channel.send(composed(), yes).outcome for _ in range(2)] == [Outcome.failed, Outcome.delivered]


def test_ready_opens_the_line_before_anything_is_to_be_sent(server: Running, channel: SmtpChannel) -> None:
    assert channel.ready() is None
    assert channel.ready() is None
    assert channel.send(composed(), yes).outcome is Outcome.delivered
    assert len(server.events("connect")) == 1
    channel.close()
    server.play({"GREETING": ["554 5.3.2 no service"]})
    reply = channel.ready()
    assert reply is not None
    assert (reply.outcome, reply.verb) == (Outcome.transport, "greeting")


@pytest.mark.parametrize("deed", ["ok", "drop", "stall", "garbage"])
def test_closing_is_polite_and_never_fails(deed: str, server: Running, opened: Opening) -> None:
    channel = opened(fitting(deed))
    server.play({"QUIT": [deed]})
    assert channel.send(composed(), yes).outcome is Outcome.delivered
    channel.close()
    channel.close()
    channel.drop()
    assert len(server.events("message")) == 1


def test_h20_a_password_is_not_sent_where_tls_is_required_and_not_offered(server: Running, opened: Opening) -> None:
    server.play({"offers": AUTH})
    reply = opened(f"tls=starttls&{PATIENT}", USER).send(composed(), yes)
    assert (reply.outcome, reply.verb) == (Outcome.transport, "starttls")
    assert reply.text == "TLS is required (tls=starttls), and the mail server does not offer STARTTLS"
    assert server.events("auth", "message", "mail") == []


@pytest.mark.parametrize("tls", ["starttls", "implicit"])
@pytest.mark.parametrize("which", ["unknown authority", "of another host", "outdated"])
def test_h20_a_certificate_that_proves_nothing_ends_it_before_the_password(
    tls: str, which: str, server: Running, opened: Opening, certificates: Certificates
) -> None:
    pair, cafile = {
        "unknown authority": (certificates.good, ""),
        "of another host": (certificates.of_another_host, f"&cafile={certificates.authority}"),
        "outdated": (certificates.outdated, f"&cafile={certificates.authority}"),
    }[which]
    server.play(pair.offered(implicit=tls == "implicit"))
    reply = opened(f"tls={tls}&verb=10{cafile}", USER).send(composed(), yes)
    assert reply.outcome is Outcome.transport
    assert "the certificate is not trusted" in reply.text
    assert server.events("auth", "message", "mail") == []


@pytest.mark.parametrize("tls", ["starttls", "implicit"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_h20_with_a_trusted_certificate_it_signs_in_under_tls(
    tls: str, host: str, server: Running, opened: Opening, certificates: Certificates
) -> None:
    server.play(certificates.good.offered(implicit=tls == "implicit"))
    channel = opened(f"tls={tls}&verb=10&cafile={certificates.authority}", USER, host)
    assert [channel.send(composed(), yes).outcome for _ in range(2)] == [Outcome.delivered] * 2
    (auth,) = server.events("auth")
    assert auth["tls"]
    assert base64.b64decode(auth["initial"][0]).decode() == f"\0onus\0{PASSWORD}"
    assert [message["tls"] for message in server.events("message")] == [True, True]


def test_what_was_said_before_tls_counts_for_nothing(
    server: Running, opened: Opening, certificates: Certificates
) -> None:
    """Somebody in between who slips answers in front of TLS is noticed (CVE-2011-0411, the client's side)."""
    server.play(certificates.good.offered(STARTTLS=["220 go ahead\n250 2.0.0 and take this"]))
    reply = opened(f"tls=starttls&verb=10&cafile={certificates.authority}", USER).send(composed(), yes)
    assert (reply.outcome, reply.verb) == (Outcome.transport, "starttls")
    assert "spoke before TLS" in reply.text


@pytest.mark.parametrize("deed", ["454 4.7.0 TLS not available", "drop", "garbage", "stall"])
def test_starttls_that_is_refused_is_the_transports(
    deed: str, server: Running, opened: Opening, certificates: Certificates
) -> None:
    server.play(certificates.good.offered(STARTTLS=[deed]))
    reply = opened(f"tls=starttls&{fitting(deed)}", USER).send(composed(), yes)
    assert (reply.outcome, reply.verb) == (Outcome.transport, "starttls")
    assert server.events("auth") == []


def test_a_server_without_tls_at_an_implicit_port_is_the_transports(server: Running, opened: Opening) -> None:
    reply = opened("tls=implicit&verb=0.25").send(composed(), yes)
    assert (reply.outcome, reply.verb) == (Outcome.transport, "connect")


@pytest.mark.parametrize("cafile", ["/nowhere/authority.pem", "key"])
def test_authorities_that_cannot_be_read_are_named(cafile: str, opened: Opening, certificates: Certificates) -> None:
    path = certificates.good.key if cafile == "key" else cafile
    reply = opened(f"tls=starttls&{PATIENT}&cafile={path}").send(composed(), yes)
    assert (reply.outcome, reply.verb) == (Outcome.transport, "connect")
    assert "cafile" in reply.text


def test_a_password_goes_to_this_host_without_tls(server: Running, opened: Opening) -> None:
    server.play({"offers": AUTH})
    assert opened(user=USER).send(composed(), yes).outcome is Outcome.delivered
    assert len(server.events("auth")) == 1


def test_a_password_goes_nowhere_else_without_tls(server: Running) -> None:
    """The setting refuses it already; the channel does so on its own, too, for a host that is not loopback by name."""
    server.play({"offers": AUTH})
    channel = SmtpChannel(MailServer("127.1", server.port, "none", "onus", PASSWORD))
    reply = channel.send(composed(), yes)
    assert (reply.outcome, reply.verb, reply.text) == (Outcome.transport, "auth", "a password is not sent without TLS")
    assert server.events("auth") == []


def test_login_is_known_where_plain_is_not_offered(server: Running, opened: Opening) -> None:
    server.play({"offers": ["AUTH LOGIN CRAM-MD5"]})
    assert opened(user=USER).send(composed(), yes).outcome is Outcome.delivered
    said = [base64.b64decode(event["initial"][0]).decode() for event in server.events("auth") if event["initial"]]
    assert said == ["onus", PASSWORD]


@pytest.mark.parametrize("offers", [[], ["AUTH CRAM-MD5 XOAUTH2"]])
def test_a_way_of_signing_in_that_is_not_known_is_said(offers: list[str], server: Running, opened: Opening) -> None:
    server.play({"offers": offers})
    reply = opened(user=USER).send(composed(), yes)
    assert (reply.outcome, reply.verb) == (Outcome.transport, "auth")
    assert "no way of signing in" in reply.text


@pytest.mark.parametrize(
    "deed", ["535 5.7.8 wrong password", "534 5.7.9 too weak", "454 4.7.0 later", "550 no", "drop", "garbage", "334 "]
)
def test_sign_in_that_is_refused_is_the_transports(deed: str, server: Running, opened: Opening) -> None:
    server.play({"offers": AUTH, "AUTH": [deed]})
    reply = opened(user=USER).send(composed(), yes)
    assert (reply.outcome, reply.verb) == (Outcome.transport, "auth")
    assert server.events("mail") == []


def test_a_password_is_in_no_answer_no_fault_and_no_log(
    server: Running, opened: Opening, caplog: pytest.LogCaptureFixture
) -> None:
    """Also where the server says it back, plain or encoded."""
    caplog.set_level(logging.DEBUG)
    whole = base64.b64encode(f"\0onus\0{PASSWORD}".encode()).decode()
    alone = base64.b64encode(PASSWORD.encode()).decode()
    echo = f"535 5.7.8 rejected: AUTH PLAIN {whole} {alone} {PASSWORD}"
    for script in ({"AUTH": [echo]}, {"RCPT": [echo]}, {"DOT": [echo]}, {"AUTH": [whole]}, {"MAIL": [PASSWORD]}):
        server.play({"offers": AUTH, **script})
        channel = opened(user=USER)
        reply = channel.send(composed(), yes)
        shown = f"{reply} {channel.server!r} {caplog.text}"
        assert not [secret for secret in (PASSWORD, whole, alone, channel.server.password) if str(secret) in shown]


def test_addresses_outside_ascii_need_a_server_that_takes_them(server: Running, channel: SmtpChannel) -> None:
    message = to("josé.ñandú@bücher.example")
    assert message.recipient == "josé.ñandú@xn--bcher-kva.example"
    reply = channel.send(message, yes)
    assert (reply.outcome, reply.verb) == (Outcome.failed, "mail")
    assert "SMTPUTF8" in reply.text
    assert server.events("message") == []
    channel.close()
    server.play({"offers": ["8BITMIME", "SMTPUTF8"]})
    assert channel.send(message, yes).outcome is Outcome.delivered
    (taken,) = server.events("message")
    assert taken["options"] == "SMTPUTF8 BODY=8BITMIME"
    assert taken["rcpts"] == ["josé.ñandú@xn--bcher-kva.example"]
    assert taken["raw"].encode() == message.wire
    assert channel.send(to("ana@straße.example"), yes).outcome is Outcome.delivered
    assert server.events("message")[1]["rcpts"] == ["ana@xn--strae-oqa.example"]
    assert server.events("message")[1]["options"] == ""
