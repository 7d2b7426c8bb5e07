"""ONUS_SMTP_URL, ONUS_MAIL_FROM, ONUS_BASE_URL: what they mean, what is refused, and that no password is repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.channels.channel import open_channel
from app.channels.outbox import OutboxChannel
from app.channels.smtp import SmtpChannel
from app.config import MailServer, Misconfigured, Outbox, Settings


def read(**given: str) -> Settings:
    return Settings.from_env({"ONUS_HOME": "/onus", **{f"ONUS_{name.upper()}": value for name, value in given.items()}})


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://mail.example.org", MailServer("mail.example.org", 587, "starttls")),
        ("SMTP://Mail.Example.Org:2525", MailServer("mail.example.org", 2525, "starttls")),
        ("smtp://mail.example.org?tls=implicit", MailServer("mail.example.org", 465, "implicit")),
        ("smtp://mail.example.org/?tls=none", MailServer("mail.example.org", 25, "none")),
        ("smtp://127.0.0.1:1025", MailServer("127.0.0.1", 1025, "none")),
        ("smtp://localhost", MailServer("localhost", 25, "none")),
        ("smtp://[::1]:25", MailServer("::1", 25, "none")),
        ("smtp://localhost?tls=starttls", MailServer("localhost", 587, "starttls")),
        ("smtp://127.0.0.1.example.org", MailServer("127.0.0.1.example.org", 587, "starttls")),
        ("smtp://o:p@127.0.0.1", MailServer("127.0.0.1", 25, "none", "o", "p")),
        (
            "smtp://onus%40acme:p%3A%2F%40%C3%B1@mail.example.org?cafile=/etc/ca.pem&verb=1.5&reply=7",
            MailServer("mail.example.org", 587, "starttls", "onus@acme", "p:/@ñ", "/etc/ca.pem", 1.5, 7.0),
        ),
    ],
)
def test_a_mail_server_is_what_the_url_says(url: str, server: MailServer) -> None:
    """Without `tls` it is STARTTLS, but for this host itself, where nobody listens in between."""
    assert read(smtp_url=url).mail_route() == server
    assert isinstance(open_channel(read(smtp_url=url)), SmtpChannel)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("mail.example.org", "cannot be read"),
        ("smtps://mail.example.org", "cannot be read"),
        ("http://mail.example.org", "cannot be read"),
        ("smtp://", "cannot be read"),
        ("smtp://:25", "cannot be read"),
        ("smtp://mail.example.org:port", "cannot be read"),
        ("smtp://mail.example.org:70000", "cannot be read"),
        ("smtp://mail.example.org:0", "cannot be read"),
        ("smtp://mail example.org", "cannot be read"),
        ("smtp://mäil.example.org", "cannot be read"),
        ("smtp://[::1", "cannot be read"),
        ("smtp://mail.example.org/path", "cannot be read"),
        ("smtp://mail.example.org?tls", "cannot be read"),
        ("smtp://mail.example.org?tls=", "tls=''"),
        ("smtp://mail.example.org?tls=ssl", "tls='ssl'"),
        ("smtp://mail.example.org?timeout=3", "unknown option 'timeout'"),
        ("smtp://mail.example.org?verb=0", "verb in ONUS_SMTP_URL is '0'"),
        ("smtp://mail.example.org?reply=never", "reply in ONUS_SMTP_URL is 'never'"),
        ("smtp://o:s3cret@mail.example.org?tls=none", "without TLS"),
        ("smtp://o:s3cret@127.1?tls=none", "without TLS"),
        ("smtp://o@mail.example.org", "alone"),
        ("smtp://:s3cret@mail.example.org", "alone"),
        ("smtp://o:s3cret@mail.example.org:x", "cannot be read"),
        ("smtp://o:s3cret@mail.example.org?tls=wrong", "tls='wrong'"),
        ("file:/somewhere/else", "write file: alone"),
    ],
)
def test_a_url_that_cannot_be_meant_is_refused_by_name_without_its_password(url: str, reason: str) -> None:
    with pytest.raises(Misconfigured) as refusal:
        read(smtp_url=url)
    assert "ONUS_SMTP_URL" in str(refusal.value)
    assert reason in str(refusal.value)
    assert "s3cret" not in str(refusal.value)


def test_a_password_is_in_no_repr() -> None:
    found = read(smtp_url="smtp://o:s3cret@mail.example.org")
    assert "s3cret" not in f"{found!r} {found.mail_route()!r}"


@pytest.mark.parametrize("url", ["file:", "FILE:", "file://", "file:///"])
def test_files_go_to_the_outbox_of_the_home(url: str) -> None:
    found = read(smtp_url=url)
    assert found.mail_route() == Outbox(Path("/onus/outbox"))
    assert isinstance(open_channel(found), OutboxChannel)


def test_unset_there_is_no_channel() -> None:
    assert read().mail_route() is None
    assert open_channel(read()) is None


@pytest.mark.parametrize(
    ("given", "sender"),
    [
        ({}, (None, "onus@localhost")),
        ({"base_url": "http://192.0.2.7:8000"}, (None, "onus@localhost")),
        ({"base_url": "https://onus.acme.example/"}, (None, "onus@onus.acme.example")),
        ({"base_url": "https://Onus.Acme.Example:8443"}, (None, "onus@onus.acme.example")),
        ({"base_url": "https://[::1]:8000"}, (None, "onus@localhost")),
        ({"mail_from": "onus@acme.example"}, (None, "onus@acme.example")),
        ({"mail_from": "Onus of Acme <onus@acme.example>"}, ("Onus of Acme", "onus@acme.example")),
        ({"mail_from": '"Acme, compliance" <onus@acme.example>'}, ("Acme, compliance", "onus@acme.example")),
        ({"mail_from": "Año <onus@acme.example>"}, ("Año", "onus@acme.example")),
        ({"mail_from": "<onus@acme.example>"}, (None, "onus@acme.example")),
    ],
)
def test_the_sender_is_the_setting_or_made_of_the_address_of_the_pages(
    given: dict[str, str], sender: tuple[str | None, str]
) -> None:
    assert read(**given).mail_sender() == sender


@pytest.mark.parametrize(
    "text",
    [
        "onus",
        "onus@",
        "@acme.example",
        "a@b@c",
        "Onus onus@acme.example",
        "a b@c",
        "onus@acme.example, x@y",
        "ñ@acme.example",
        "onus@añ.example",
        "<onus@acme.example",
        "a\r\nBcc: x@y <onus@acme.example>",
        "x" * 65 + "@acme.example",
    ],
)
def test_a_sender_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(Misconfigured, match="ONUS_MAIL_FROM"):
        read(mail_from=text)


@pytest.mark.parametrize(
    ("url", "start"),
    [(None, "http://127.0.0.1:8000"), ("https://onus.acme.example/", "https://onus.acme.example")],
)
def test_links_begin_with_the_address_of_the_pages(url: str | None, start: str) -> None:
    assert (read(base_url=url) if url else read()).links_to() == start
