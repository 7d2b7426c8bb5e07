"""Whole sentences in the reader's language: the catalogues of app/translations, read as they are. English is the key.

Knows no request: whoever lets somebody in says in whose language the rest is (`speak`, `spoken`), for this thread or
task alone. A language without a catalogue is English, so that nothing is ever without words.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, lru_cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path

from babel import Locale
from babel.dates import format_date
from babel.lists import format_list
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from app.domain.errors import Phrase, Refused

CATALOGUES = Path(__file__).parent / "translations"
ENGLISH = "en"
BRITISH = "en_GB"  # 3 April 2027, whichever English the reader has.


@dataclass(frozen=True)
class Wording:
    """One language. Sentences have named places, `%(days)d`; whoever asks for one fills them."""

    language: str
    translations: NullTranslations

    def gettext(self, sentence: str, /, **places: object) -> str:
        return filled(self.translations.gettext(sentence), places)

    def pgettext(self, about: str, sentence: str, /, **places: object) -> str:
        """The sentence where it is about this: one English word may be two elsewhere."""
        return filled(self.translations.pgettext(about, sentence), places)

    def ngettext(self, one: str, many: str, number: int, /, **places: object) -> str:
        """The sentence for this number; `number` is a place of it, too."""
        return self.translations.ngettext(one, many, number) % {"number": number, **places}

    def day(self, day: dt.date, form: str) -> str:
        """A date in words. `form` is a pattern of Unicode TR 35; catalogues translate it as they do sentences."""
        return _day(self.locale, day, self.translations.gettext(form))

    def listed(self, names: Sequence[str], style: str = "standard") -> str:
        """Several in one sentence: a, b and c; `or` with style="or"."""
        return format_list(list(names), style, locale=self.locale)  # type: ignore[arg-type]

    @property
    def locale(self) -> str:
        return BRITISH if self.language == ENGLISH else self.language


def filled(sentence: str, places: dict[str, object]) -> str:
    return sentence % places if places else sentence


@lru_cache(maxsize=10_000)  # A report has the same few thousand days over and over.
def _day(locale: str, day: dt.date, pattern: str) -> str:
    return format_date(day, pattern, locale=locale)


@cache
def languages() -> frozenset[str]:
    return frozenset({ENGLISH, *(path.name for path in CATALOGUES.iterdir() if path.is_dir())})


@cache
def by_own_name() -> list[tuple[str, str]]:
    """The languages, each called as it calls itself: whoever cannot read the page still finds theirs."""
    return [(code, (Locale(code).get_display_name() or code).capitalize()) for code in sorted(languages())]


def wording_of(locale: str) -> Wording:
    """The wording for a locale such as `es`, `es-MX` or `es_ES.UTF-8`; English where there is no catalogue."""
    return _read(language_of(locale))


def language_of(locale: str) -> str:
    """The language of ours for a locale; English where there is none."""
    language = locale.replace("-", "_").partition("_")[0].lower()
    return language if language in languages() else ENGLISH


@cache
def _read(language: str) -> Wording:
    if language == ENGLISH:
        return Wording(language, NullTranslations())
    compiled = BytesIO()
    write_mo(compiled, catalogue(language))
    compiled.seek(0)
    return Wording(language, GNUTranslations(compiled))


def catalogue(language: str) -> Catalog:
    """All sentences of a language."""
    with (CATALOGUES / language / "onus.po").open("rb") as file:
        return read_po(file, locale=language)


# In whose language the sentences of this thread or task are. English until somebody says.
_spoken: ContextVar[str] = ContextVar("spoken", default=ENGLISH)


def speak(locale: str) -> None:
    """From here on, sentences are in this language."""
    _spoken.set(language_of(locale))


@contextmanager
def spoken(locale: str) -> Iterator[Wording]:
    """Within, sentences are in this language."""
    before = _spoken.set(language_of(locale))
    try:
        yield current()
    finally:
        _spoken.reset(before)


def current() -> Wording:
    return _read(_spoken.get())


def gettext(sentence: str, /, **places: object) -> str:
    """The sentence in the reader's language. `places` are what it names: `%(site)s`."""
    return current().gettext(sentence, **places)


def pgettext(about: str, sentence: str, /, **places: object) -> str:
    return current().pgettext(about, sentence, **places)


def ngettext(one: str, many: str, number: int, /, **places: object) -> str:
    """The sentence for a number, which is its place `%(number)d`."""
    return current().ngettext(one, many, number, **places)


def listed(names: Sequence[str], style: str = "standard") -> str:
    return current().listed(names, style)


def later(sentence: str) -> str:
    """Marks a sentence of a table for the catalogues; whoever shows it asks `gettext`."""
    return sentence


def plural(one: str, many: str) -> tuple[str, str]:
    """The same for a sentence with a number: `ngettext(*pair, number)`."""
    return one, many


def said(refused: Refused) -> str:
    """A refusal in the reader's language, and whatever refusal it quotes."""
    return gettext(refused.sentence, **{name: _said(value) for name, value in refused.places.items()})


def _said(place: object) -> object:
    if isinstance(place, Refused):
        return said(place)
    return gettext(place) if isinstance(place, Phrase) else place
