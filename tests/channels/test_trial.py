"""The test mail: text and HTML in the reader's language, which say that it is one, and nothing that could be opened."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.channels.message import Composed
from app.channels.trial import compose_trial
from app.domain.delivery import Outcome, Reply
from app.domain.letters import Letter
from tests.channels.letters import SETTINGS, body, letter, parsed
from tests.channels.test_composing import NEVER, TAGS, Tags

PLAIN = replace(letter(), notices=(), contacts=())


def made(given: Letter) -> Composed:
    found = compose_trial(given, SETTINGS)
    assert isinstance(found, Composed)
    return found


@pytest.mark.parametrize(
    ("locale", "words"),
    [
        ("en", ("[Acme] Test mail", "This is a test mail.", "mail for Acme reaches", "no answer is needed.")),
        ("es-MX", ("[Acme] Correo de prueba", "Este es un correo de prueba.", "el correo de Acme", "no hay que hacer")),
        ("pt", ("[Acme] Test mail", "This is a test mail.", "mail for Acme reaches", "no answer is needed.")),
    ],
)
def test_h41_it_says_what_it_is_in_the_readers_language(locale: str, words: tuple[str, ...]) -> None:
    message = made(replace(PLAIN, locale=locale))
    found = parsed(message.wire)
    assert message.subject == found["Subject"] == words[0]
    assert (body(found, "plain"), body(found, "html")) == (message.text, message.html)
    for part in (message.text, message.html):
        for sentence in words[1:]:
            assert sentence.lower() in part.lower()
        assert not NEVER.search(part.partition("<body")[2] or part)


def test_its_headers_are_those_of_every_mail_and_nobody_is_asked_to_reply() -> None:
    message = made(PLAIN)
    found = parsed(message.wire)
    assert found["Auto-Submitted"] == "auto-generated"
    assert found["Message-ID"] == message.message_id
    assert found["To"].addresses[0].addr_spec == "bruno@acme.example"
    assert found["Reply-To"] is None
    assert found.get_content_type() == "multipart/alternative"
    assert made(PLAIN).wire == message.wire


def test_nothing_in_it_is_fetched_or_opened() -> None:
    message = made(PLAIN)
    tags = Tags(message.html).found
    assert {tag for tag, _ in tags} <= TAGS - {"a"}
    assert not {name for _, attributes in tags for name in attributes} & {"src", "href", "background"}
    assert "http" not in message.text
    assert "url(" not in message.html


def test_a_hostile_name_is_only_text() -> None:
    message = made(replace(PLAIN, organisation="<b>Acme</b>\r\nBcc: omar@other.example"))
    assert "<b>" not in message.html
    assert parsed(message.wire)["Bcc"] is None


def test_an_address_that_cannot_be_is_refused_with_words() -> None:
    refused = compose_trial(replace(PLAIN, address="nobody"), SETTINGS)
    assert isinstance(refused, Reply)
    assert (refused.outcome, refused.verb) == (Outcome.failed, "compose")
    assert "nobody" in refused.text
