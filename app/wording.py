"""Whole sentences in the reader's language: the catalogues of app/translations, read as they are. English is the key.

Pure: knows no request. A language without a catalogue is English, so that a message is never without words.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path

from babel.dates import format_date
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

CATALOGUES = Path(__file__).parent / "translations"
ENGLISH = "en"
BRITISH = "en_GB"  # 3 April 2027, whichever English the reader has.


@dataclass(frozen=True)
class Wording:
    """One language. Sentences have named places, `%(days)d`; whoever asks for one fills them."""

    language: str
    translations: NullTranslations

    def gettext(self, sentence: str, **places: object) -> str:
        return self.translations.gettext(sentence) % places if places else self.translations.gettext(sentence)

    def ngettext(self, one: str, many: str, number: int, **places: object) -> str:
        """The sentence for this number; `number` is a place of it, too."""
        return self.translations.ngettext(one, many, number) % {"number": number, **places}

    def day(self, day: dt.date, form: str) -> str:
        """A date in words. `form` is a pattern of Unicode TR 35; catalogues translate it as they do sentences."""
        locale = BRITISH if self.language == ENGLISH else self.language
        return format_date(day, self.translations.gettext(form), locale=locale)


@cache
def languages() -> frozenset[str]:
    return frozenset({ENGLISH, *(path.stem for path in CATALOGUES.glob("*.po"))})


def wording_of(locale: str) -> Wording:
    """The wording for a locale such as `es`, `es-MX` or `es_ES.UTF-8`; English where there is no catalogue."""
    language = locale.replace("-", "_").partition("_")[0].lower()
    return _read(language if language in languages() else ENGLISH)


@cache
def _read(language: str) -> Wording:
    if language == ENGLISH:
        return Wording(language, NullTranslations())
    compiled = BytesIO()
    with (CATALOGUES / f"{language}.po").open("rb") as catalogue:
        write_mo(compiled, read_po(catalogue, locale=language))
    compiled.seek(0)
    return Wording(language, GNUTranslations(compiled))


def gettext(sentence: str, /, **places: object) -> str:
    """The sentence in the reader's language. `places` are what it names: `%(site)s`."""
    return sentence % places if places else sentence


def ngettext(one: str, many: str, number: int, /, **places: object) -> str:
    """The sentence for a number, which is its place `%(number)d`."""
    return (one if number == 1 else many) % {"number": number, **places}
