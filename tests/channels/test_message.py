"""The form of a message: header injection, line lengths, dots, encodings, and addresses (H18, H19)."""

from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.channels.addresses import envelope_form
from app.channels.composing import compose
from app.channels.message import Composed, date, encoded, one_line, some_lines
from app.channels.smtp import SmtpChannel, dot_stuffed
from app.domain.delivery import Outcome, Reply
from app.domain.errors import Refused
from app.domain.letters import Contact
from tests.channels.letters import SENT_AT, SETTINGS, body, composed, letter, notice, parsed
from tests.chaos.smtp_server import Running

SPANISH = "inspección de la caldera nº 7 — Planta Ñuñoa, calle Álvarez Quintero, edificio «Águila» y anexo técnico"
INJECTED = "Boiler permit\r\nBcc: intruder@evil.example"
HEADERS = [
    "From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "X-Auto-Response-Suppress", "Reply-To",
    "MIME-Version", "Content-Type",
]  # fmt: skip


def yes() -> bool:
    return True


def spaceless(name: str) -> str:
    """Python 3.11 puts spaces between the encoded words of a display name, and takes others away."""
    return "".join(name.split())


def test_h18_names_that_would_break_a_message_go_out_as_words_and_stop_nobody(
    server: Running, channel: SmtpChannel
) -> None:
    titles = [INJECTED, "<img src=x onerror=alert(1)> valve", "Plain"]
    replies = [channel.send(composed(notice(title=title)), yes) for title in titles]
    assert [reply.outcome for reply in replies] == [Outcome.delivered] * 3
    first, second, third = (parsed(event["raw"]) for event in server.events("message"))
    assert all(message["Bcc"] is None for message in (first, second, third))
    assert {event["address"] for event in server.events("rcpt")} == {"bruno@acme.example"}
    assert "Boiler permit Bcc: intruder@evil.example" in first["Subject"]
    assert "Boiler permit Bcc: intruder@evil.example" in body(first, "plain")
    assert "&lt;img src=x onerror=alert(1)&gt; valve" in body(second, "html")
    assert "<img src=x onerror=alert(1)> valve" in body(second, "plain")


@pytest.mark.parametrize(
    "hostile",
    [INJECTED, "a\nb", "a\rb", "a\x00b", "a\x0bb\x0c", "a\u2028b\u2029", "a\x85b", "\ud800", "=?utf-8?q?x?=",
     'a"b\\', "a <x@y.example>, b", "🙂" * 90, ""],
)  # fmt: skip
def test_no_field_can_add_a_header_or_a_recipient(hostile: str) -> None:
    facts = dict.fromkeys(("title", "reference", "kind", "site", "timezone", "what_to_do", "whole"), hostile)
    message = composed(
        notice(**facts, others=(hostile, hostile)),
        organisation=hostile,
        name=hostile,
        contacts=(Contact(hostile, "ana@acme.example"), Contact(hostile, hostile)),
    )
    found = parsed(message.wire)
    assert found.keys() == HEADERS
    assert [address.addr_spec for address in found["To"].addresses] == ["bruno@acme.example"]
    assert [address.addr_spec for address in found["From"].addresses] == ["onus@onus.acme.example"]
    assert [address.addr_spec for address in found["Reply-To"].addresses] == ["ana@acme.example"]
    assert found["Subject"] == message.subject
    assert spaceless(found["To"].addresses[0].display_name) == spaceless(one_line(hostile))
    assert [part.get_content_type() for part in found.walk()] == ["multipart/alternative", "text/plain", "text/html"]


def test_h19_a_long_word_a_spanish_subject_and_lone_dots_arrive_as_they_are(
    server: Running, channel: SmtpChannel
) -> None:
    note = "x" * 3000 + "\n.\n..\n.x\nñ.\n\nFrom here"
    message = composed(notice(title=SPANISH, what_to_do=note), locale="es")
    assert channel.send(message, yes).outcome is Outcome.delivered
    (taken,) = server.events("message")
    assert (taken["longest_line"] <= 78, taken["bare_line_ends"], taken["is_ascii"]) == (True, 0, True)
    found = parsed(taken["raw"])
    assert found["Subject"] == message.subject
    assert SPANISH in found["Subject"]
    assert body(found, "plain") == message.text
    assert body(found, "html") == message.html
    assert note in body(found, "plain")
    words = re.findall(r"=\?[^?]+\?[bq]\?[^?]*\?=", taken["raw"])
    assert words
    assert max(map(len, words)) <= 75


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=120), st.text(max_size=200), st.text(max_size=60))
def test_whatever_stands_in_a_letter_is_read_back_as_it_is(title: str, note: str, name: str) -> None:
    message = composed(notice(title=title, what_to_do=note), name=name, organisation=title)
    found = parsed(message.wire)
    assert found.keys() == HEADERS
    assert found["Subject"] == message.subject
    assert spaceless(found["To"].addresses[0].display_name) == spaceless(one_line(name))
    assert found["To"].addresses[0].addr_spec == "bruno@acme.example"
    assert body(found, "plain") == message.text
    assert body(found, "html") == message.html
    assert message.wire.isascii()
    assert max(map(len, message.wire.split(b"\r\n"))) <= 78
    assert not re.search(rb"\r(?!\n)|(?<!\r)\n", message.wire)
    assert message.wire.endswith(b"\r\n")


@pytest.mark.parametrize(
    ("octets", "stuffed"),
    [(b".\r\n", b"..\r\n"), (b"a\r\n.b\r\n", b"a\r\n..b\r\n"), (b"a.\r\n", b"a.\r\n"), (b"..\r\n", b"...\r\n")],
)
def test_a_dot_that_begins_a_line_is_doubled(octets: bytes, stuffed: bytes) -> None:
    assert dot_stuffed(octets) == stuffed


def test_lines_that_begin_with_a_dot_in_the_bytes_arrive(server: Running, channel: SmtpChannel) -> None:
    raw = b"Subject: dots\r\n\r\n.\r\n..\r\n.QUIT\r\na.\r\n"
    assert channel.send(dataclasses.replace(composed(), wire=raw), yes).outcome is Outcome.delivered
    assert server.events("message")[0]["raw"].encode() == raw


def test_the_same_letter_gives_the_same_bytes() -> None:
    assert composed().wire == composed().wire
    assert composed().sha256 == composed().sha256
    assert composed(notice(claim_id=42)).sha256 != composed().sha256


def test_a_header_is_plain_where_it_can_be() -> None:
    assert encoded("Plain words", "Subject") == "Plain words"
    assert encoded("x" * 80, "Subject").count("\r\n =?utf-8?b?") == 2
    assert encoded("a =?utf-8?q?b?=", "Subject").lstrip().startswith("=?utf-8?b?")
    assert encoded("ñ", "Subject") == "=?utf-8?b?w7E=?="
    assert date(SENT_AT) == "Fri, 05 Mar 2027 07:00:04 +0000"


def test_texts_are_cleaned_and_nothing_more() -> None:
    assert one_line(" a\r\n\tb  c\x00 ") == "a b  c"
    assert some_lines("a\r\nb\x00c\n\n d ") == "a\nb c\n\nd"


GOOD_ADDRESSES = [
    ("bruno@acme.example", "bruno@acme.example"),
    (" Bruno.O'Neil+x@Acme.Example ", "Bruno.O'Neil+x@Acme.Example"),
    ("root@localhost", "root@localhost"),
    ("ana@bücher.example", "ana@xn--bcher-kva.example"),
    ("ana@faß.example", "ana@xn--fa-hia.example"),
    ("ana@xn--bcher-kva.example", "ana@xn--bcher-kva.example"),
    ("ñandú@acme.example", "ñandú@acme.example"),
]
BAD_ADDRESSES = [
    "", "bruno", "@acme.example", "bruno@", "a b@acme.example", "a@b@acme.example", '"a b"@acme.example',
    ".a@acme.example", "a.@acme.example", "a..b@acme.example", "a@acme..example", "a@.example", "a@-acme.example",
    "a@acme_.example-", "a@[192.0.2.1]", "a@acme.example\r\nBcc: x@evil.example", "a\r\n@acme.example",
    "a@ac me.example", "a>@acme.example", "<a@acme.example>", "a,b@acme.example", "a\x00@acme.example",
    "ñ\u2028@acme.example", "a@\u2028.example", "x" * 65 + "@acme.example", "ñ" * 33 + "@acme.example",
    "a@" + "x" * 64 + ".example", "a@" + "x.y" * 90, "a@ex\u200bample..org", "a.ñ b@acme.example",
]  # fmt: skip


@pytest.mark.parametrize(("address", "form"), GOOD_ADDRESSES)
def test_an_address_has_one_form_in_the_envelope(address: str, form: str) -> None:
    assert envelope_form(address) == form


@pytest.mark.parametrize("address", BAD_ADDRESSES)
def test_an_address_that_could_break_a_line_or_a_list_is_refused(address: str) -> None:
    with pytest.raises(Refused):
        envelope_form(address)
    for facts in ({"address": address}, {"return_address": address}):
        reply = compose(letter(**facts), SETTINGS)
        assert isinstance(reply, Reply)
        assert (reply.outcome, reply.verb) == (Outcome.failed, "compose")
        assert reply.text.isprintable()


@pytest.mark.parametrize(
    "message_id", ["", "x", "<x>", "<a@b", "<a@b>\r\nBcc: x@y", "<a b@c>", "<ñ@c>", "<a@b@c>", f"<{'a' * 260}@b>"]
)
def test_a_message_id_that_is_none_is_refused(message_id: str) -> None:
    reply = compose(letter(message_id=message_id), SETTINGS)
    assert isinstance(reply, Reply)
    assert (reply.outcome, reply.verb) == (Outcome.failed, "compose")


@pytest.mark.parametrize("broken", [{"notices": ()}, {"name": None}, {"locale": None}, {"sent_at": None}])
def test_whatever_is_wrong_with_one_letter_ends_with_it(broken: dict[str, object]) -> None:
    reply = compose(dataclasses.replace(letter(), **broken), SETTINGS)  # type: ignore[arg-type]
    assert isinstance(reply, Reply)
    assert (reply.outcome, reply.verb) == (Outcome.failed, "compose")
    assert isinstance(compose(letter(), SETTINGS), Composed)
