"""The catalogues: whole, with nothing over, and with the same places as the English sentences (H41)."""

from __future__ import annotations

import datetime as dt
import re
from gettext import NullTranslations
from pathlib import Path

import pytest
from babel.messages.catalog import Message

from app.channels.channel import open_channel
from app.config import Settings, beside
from app.domain.errors import Refused
from app.wording import (
    CATALOGUES,
    Wording,
    catalogue,
    current,
    gettext,
    languages,
    listed,
    ngettext,
    said,
    speak,
    spoken,
    wording_of,
)
from tests.laws.sentences import ROOT, Sentence, asked_for, bare_words, modules, templates

PLACE = re.compile(r"%\((\w+)\)[sd]")
# Said to whoever runs Onus, on a terminal or in a file of the host, by a mail server, or by the code to itself.
OF_OPERATORS = (
    "app/cli", "app/config.py", "app/embedded.py", "app/supervisor.py", "app/preflight.py", "app/schema.py",
    "app/logins.py", "app/database.py", "app/clock.py", "app/failpoints.py", "app/verifier.py", "app/logs.py",
    "app/queries/owed.py", "app/queries/soundness.py", "app/domain/retention.py",
    "app/demo", "app/channels", "app/scheduler", "app/trail", "app/ledger", "app/models",
)  # fmt: skip
MAIL = ("templates/mail", "app/channels/sentences.py", "app/channels/trial.py")
# A table whose names are asked for where they are used; what becomes of a test mail, for whoever runs Onus; the heads
# of a file that an import reads; and headers of the protocol.
ASKED_ONLY = ("app/vocabulary.py", "app/channels/trial.py", "app/web/exported.py", "app/web/papers.py")
# Not asked for sentence by sentence yet: each line goes with the work on its part.
NOT_YET: tuple[str, ...] = (
    "app/imports/choices.py",
    "app/imports/comebacks.py",
    "app/imports/dates.py",
    "app/imports/delimited.py",
    "app/imports/encodings.py",
    "app/imports/entries.py",
    "app/imports/headers.py",
    "app/imports/known.py",
    "app/imports/left_over.py",
    "app/imports/limits.py",
    "app/imports/look.py",
    "app/imports/outcomes.py",
    "app/imports/parents.py",
    "app/imports/people.py",
    "app/imports/people_choices.py",
    "app/imports/people_headers.py",
    "app/imports/people_known.py",
    "app/imports/people_lines.py",
    "app/imports/people_outcomes.py",
    "app/imports/quotes.py",
    "app/imports/reading.py",
    "app/imports/records.py",
    "app/imports/register.py",
    "app/imports/shapes.py",
    "app/imports/sheet_parts.py",
    "app/imports/sheet_program.py",
    "app/imports/turned.py",
    "app/imports/workbooks.py",
    "app/web/import_form.py",
)


def is_whole(path: Path) -> bool:
    """Whether the catalogues must have what a file asks for."""
    return is_among(path, *MAIL) or not is_among(path, *OF_OPERATORS, *NOT_YET)


def is_among(path: Path, *parts: str) -> bool:
    return str(path.relative_to(ROOT)).startswith(parts)


def key(message: Message) -> Sentence:
    if isinstance(message.id, tuple | list):
        return message.context, message.id[0], message.id[1]
    return message.context, message.id, None


def forms(of: object) -> tuple[str, ...]:
    return tuple(of) if isinstance(of, tuple | list) else (str(of),)


FILES = [*modules(), *templates()]
ASKED = {sentence for path in FILES for sentence in asked_for(path)}
WANTED = {sentence for path in FILES if is_whole(path) for sentence in asked_for(path)}
SAYING = [str(path.relative_to(ROOT)) for path in FILES if is_whole(path) and not is_among(path, *ASKED_ONLY)]
TRANSLATED = sorted(languages() - {"en"})


def test_the_sentences_are_found() -> None:
    assert (None, "Done", None) in ASKED
    assert (None, "%(number)d day", "%(number)d days") in ASKED
    assert (None, "EEEE, d MMMM y", None) in ASKED
    assert ("role", "Inspector", None) in ASKED
    assert len(WANTED) > 60
    assert "es" in TRANSLATED


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_sentence_has_a_translation_and_none_is_left_over(language: str) -> None:
    given = {key(message) for message in catalogue(language) if message.id}
    assert sorted(map(str, WANTED - given)) == [], "without a translation"
    assert sorted(map(str, given - ASKED)) == [], "asked for by nobody"


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_translation_is_finished_and_has_the_places_of_its_sentence(language: str) -> None:
    found = catalogue(language)
    for message in found:
        if not message.id:
            continue
        assert not message.fuzzy, message.id
        given, wanted = forms(message.string), {frozenset(PLACE.findall(one)) for one in forms(message.id)}
        assert all(given), message.id
        assert len(given) == (found.num_plurals if message.pluralizable else 1), message.id
        # The form for one may leave its number out: every month, every 2 months.
        places = set().union(*wanted)
        assert all(places - {"number", "num"} <= set(PLACE.findall(one)) <= places for one in given), message.id
        assert places <= set(PLACE.findall(given[-1])), message.id


@pytest.mark.parametrize("path", SAYING)
def test_no_word_passes_the_catalogues_by(path: str) -> None:
    assert list(bare_words(ROOT / path)) == []


@pytest.mark.parametrize("part", NOT_YET)
def test_what_is_not_asked_for_yet_is_there(part: str) -> None:
    """A part that is done leaves the list."""
    here = [path for path in FILES if is_among(path, part)]
    assert any(bare_words(path) or asked_for(path) - WANTED for path in here)


def test_bare_words_are_found(tmp_path: Path) -> None:
    """So that the law can fail."""
    page, module = tmp_path / "page.html", tmp_path / "module.py"
    page.write_text(
        '<p title="Told aloud">Two words {{ _("and these not") }}</p>{{ field("name", "Bare label") }}'
        '{% trans %}nor these{% endtrans %}<img alt="{{ _("never") }}">'
    )
    module.write_text(
        '"""Not this one."""\nA = f"There are {2} of them"\nB = gettext("not this one")\nC = "Label"\n'
        'raise ValueError("not this one")\nraise Refused(f"No {name} here")\n'
    )
    assert sorted(words.partition(": ")[2] or words for words in bare_words(page)) == [
        "Bare label", "Told aloud", "Two words",
    ]  # fmt: skip
    assert sorted(words.partition(": ")[2] for words in bare_words(module)) == [
        "Label", "No {} here", "There are {} of them",
    ]  # fmt: skip


def test_a_sentence_within_another_call_is_asked_for_too(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        'A = gettext("Outer %(x)s", x=ngettext("one", "many", 2))\nB = later(f"{pgettext(\'of\', \'word\')}")\n'
    )
    assert asked_for(module) == {(None, "Outer %(x)s", None), (None, "one", "many"), ("of", "word", None)}


@pytest.mark.parametrize(
    ("locale", "language"),
    [("es", "es"), ("es-MX", "es"), ("ES_es", "es"), ("es_ES.UTF-8", "es"), ("en", "en"), ("en-US", "en"),
     ("xx", "en"), ("", "en"), ("../es", "en"), ("es/../es", "en"), ("estonian", "en")],
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


def test_whoever_speaks_a_language_speaks_it_until_told_otherwise() -> None:
    assert current().language == "en"
    with spoken("es-MX") as wording:
        assert wording.language == "es"
        assert (gettext("Due today"), ngettext("%(number)d day", "%(number)d days", 2)) == ("Vence hoy", "2 días")
        assert listed(["a", "b", "c"]) == "a, b y c"
        speak("en")
        assert gettext("Due today") == "Due today"
    assert current().language == "en"
    assert listed(["a", "b", "c"]) == "a, b and c"


def test_a_refusal_is_said_in_the_language_of_the_reader() -> None:
    """What was given stays as it was given, also where it looks like a place."""
    inner = Refused("Due today")
    refused = Refused("%(site)s (time zone %(zone)s)", site=inner, zone="100 %(x)s")
    assert str(refused) == "Due today (time zone 100 %(x)s)"
    with spoken("es"):
        assert said(refused) == "Vence hoy (zona horaria 100 %(x)s)"
    assert str(Refused("100 % of them")) == said(Refused("100 % of them")) == "100 % of them"


def test_a_broken_installation_shows_at_the_start(tmp_path: Path) -> None:
    """The channel reads every template and catalogue before the first message; unset, there is no channel."""
    assert open_channel(Settings(home=tmp_path)) is None
    channel = open_channel(Settings(home=tmp_path, smtp_url="file:"))
    assert channel is not None
    assert channel.ready() is None


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_language_is_one_file_in_the_order_of_its_sentences(language: str) -> None:
    """So that a third one is one file, too, and a sentence cannot stand there twice in two ways."""
    assert [path.name for path in (CATALOGUES / language).iterdir()] == ["onus.po"]
    found = [key(message) for message in catalogue(language) if message.id]
    assert found == sorted(found, key=lambda one: (one[1].casefold(), one[1], one[0] or ""))
    text = (CATALOGUES / language / "onus.po").read_text()
    assert len(re.findall(r"^msgid ", text, re.MULTILINE)) == len(found) + 1


def test_the_catalogues_are_inside_the_package() -> None:
    """So that the wheel has them, and the templates beside it."""
    assert CATALOGUES.parent == ROOT / "app"
    assert (beside("templates") / "mail" / "letter.html").is_file()
