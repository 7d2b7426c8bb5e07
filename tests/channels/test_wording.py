"""The catalogues: whole, with nothing over, and with the same places as the English sentences (H41)."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from gettext import NullTranslations
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po
from jinja2.ext import babel_extract

from app.channels.channel import open_channel
from app.config import Settings, beside
from app.wording import CATALOGUES, Wording, languages, wording_of

ROOT = Path(__file__).parents[2]
PLACE = re.compile(r"%\((\w+)\)[sd]")
OPTIONS = {"trimmed": "false", "trim_blocks": "true", "lstrip_blocks": "true"}


def asked_for() -> Iterator[tuple[str, ...]]:
    """Every sentence that the mails ask for: (singular,) or (singular, plural)."""
    sources: list[tuple[object, Path]] = [(babel_extract, path) for path in (beside("templates") / "mail").iterdir()]
    sources += [("python", path) for path in (ROOT / "app" / "channels").glob("*.py")]
    for method, path in sources:
        for _, found, _, _ in extract_from_file(method, path, options=OPTIONS):  # type: ignore[arg-type]
            yield found if isinstance(found, tuple) else (found,)
    yield from [
        (form,) for form in re.findall(r'"(\w[\w, ]*MMMM[\w ]*)"', (ROOT / "app/channels/sentences.py").read_text())
    ]


def catalogue(language: str) -> Catalog:
    with (CATALOGUES / f"{language}.po").open("rb") as file:
        return read_po(file, locale=language)


def forms(message: Message, of: object) -> tuple[str, ...]:
    return tuple(of) if isinstance(of, tuple | list) else (str(of),)


SENTENCES = frozenset(asked_for())
TRANSLATED = sorted(languages() - {"en"})


def test_the_sentences_are_found() -> None:
    assert ("Done",) in SENTENCES
    assert ("%(number)d day", "%(number)d days") in SENTENCES
    assert ("EEEE, d MMMM y",) in SENTENCES
    assert len(SENTENCES) > 35
    assert TRANSLATED == ["es"]


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_sentence_has_a_translation_and_none_is_left_over(language: str) -> None:
    given = {forms(message, message.id) for message in catalogue(language) if message.id}
    assert sorted(SENTENCES - given) == [], "without a translation"
    assert sorted(given - SENTENCES) == [], "asked for by nobody"


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_translation_is_finished_and_has_the_places_of_its_sentence(language: str) -> None:
    found = catalogue(language)
    for message in found:
        if not message.id:
            continue
        assert not message.fuzzy, message.id
        said, wanted = (
            forms(message, message.string),
            {frozenset(PLACE.findall(one)) for one in forms(message, message.id)},
        )
        assert all(said), message.id
        assert len(said) == (found.num_plurals if message.pluralizable else 1), message.id
        assert {frozenset(PLACE.findall(one)) for one in said} == wanted, message.id
        assert len(wanted) == 1, message.id
    assert not list(found.check())


@pytest.mark.parametrize(
    ("locale", "language"),
    [("es", "es"), ("es-MX", "es"), ("ES_es", "es"), ("es_ES.UTF-8", "es"), ("en", "en"), ("en-US", "en"),
     ("pt", "en"), ("", "en"), ("../es", "en"), ("es/../es", "en"), ("estonian", "en")],
)  # fmt: skip
def test_a_locale_finds_its_language_or_english(locale: str, language: str) -> None:
    assert wording_of(locale).language == language
    assert wording_of(locale) is wording_of(language)


def test_dates_are_words_in_both_languages() -> None:
    day = dt.date(2027, 4, 3)
    assert wording_of("en").day(day, "d MMMM y") == "3 April 2027"
    assert wording_of("es").day(day, "d MMMM y") == "3 de abril de 2027"
    assert wording_of("es").day(day, "EEEE, d MMMM") == "sábado 3 de abril"


def test_a_sentence_that_nobody_translated_is_english() -> None:
    wording = Wording("es", NullTranslations())
    assert wording.ngettext("%(number)d day", "%(number)d days", 1) == "1 day"
    assert wording_of("es").gettext("Never translated") == "Never translated"


def test_a_broken_installation_shows_at_the_start(tmp_path: Path) -> None:
    """The channel reads every template and catalogue before the first message; unset, there is no channel."""
    assert open_channel(Settings(home=tmp_path)) is None
    channel = open_channel(Settings(home=tmp_path, smtp_url="file:"))
    assert channel is not None
    assert channel.ready() is None


def test_the_catalogues_are_inside_the_package() -> None:
    """So that the wheel has them, and the templates beside it."""
    assert CATALOGUES.parent == ROOT / "app"
    assert (beside("templates") / "mail" / "letter.html").is_file()
