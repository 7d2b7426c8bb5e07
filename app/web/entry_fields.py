"""The fields of the register's forms, and what is read out of them. What was typed is kept, with its fault beside it.

Dates are written as the browser sends them, year, month, day, and in no other way; none is ever converted (P6).
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from flask import request

from app.domain.errors import Refused, quoted
from app.vocabulary import OF
from app.web.typed_form import Form
from app.wording import gettext, later, said
from app.words import day

ISO_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
NO_LINE = later("Choose one of the list.")

Code = TypeVar("Code", bound=StrEnum)
Options = Sequence[tuple[str, str]]

# The field that a refusal is about, by what its English words say; else it stands above the form.
BESIDE = (
    (re.compile("There is no entry "), "part_of"),
    (re.compile("parts have no parts"), "part_of"),
    (re.compile("cannot be part of itself"), "part_of"),
    (re.compile(" is archived: restore"), "part_of"),
    (re.compile("The note "), "note"),
    (re.compile("The note "), "notes"),
    (re.compile("The title "), "title"),
    (re.compile("The legal basis "), "legal_basis"),
    (re.compile("The reference of the filing "), "filed_reference"),
    (re.compile("The reference "), "reference"),
    (re.compile(" has an entry "), "reference"),
    (re.compile(" has an entry "), "site"),
    (re.compile("The name of a kind "), "new_kind"),
    (re.compile("The number of the paper"), "number"),
    (re.compile("Proof is needed "), "number"),
    (re.compile("The issuer "), "issuer"),
    (re.compile("The day of issue "), "issued_on"),
    (re.compile("The first day of validity "), "valid_from"),
    (re.compile("The last day of validity "), "valid_until"),
    (re.compile("The paper that it replaces "), "replaces"),
    (re.compile("The file "), "file"),
    (re.compile("The next due date "), "next_due_on"),
    (re.compile(" has a deadline on "), "next_due_on"),
    (re.compile("recurrence"), "recurrence"),
    (re.compile("The day it was done "), "met_on"),
    (re.compile("The day of filing "), "filed_on"),
    (re.compile("The day to ask again"), "ask_again_on"),
    (re.compile("The filing began on "), "ended_on"),
    (re.compile("The day on which the filing ended "), "ended_on"),
    (re.compile("The due date "), "due_on"),
    (re.compile(" has a deadline on "), "due_on"),
    (re.compile("The day "), "until"),
)


@dataclass(frozen=True)
class Field:
    """One field of a form. `kind` is text, day, area, choice, radio or file; of a file the form keeps the name."""

    name: str
    label: str
    kind: str = "text"
    options: Options = ()
    blank: str | None = None
    hint: str | None = None
    is_required: bool = False


def read_form(fields: Sequence[Field]) -> Form:
    """The fields as they were sent; PostgreSQL keeps no NUL, and nobody can type one."""
    return Form({field.name: _sent(field).replace("\0", "") for field in fields})


def _sent(field: Field) -> str:
    if field.kind == "file":
        file = request.files.get(field.name)
        return (file.filename or "") if file else ""
    return request.form.get(field.name, "")


def place(form: Form, refused: Refused) -> None:
    """Put the words of a refusal beside the field that they are about."""
    english, words = str(refused), in_words(said(refused))
    for about, name in BESIDE:
        if about.search(english) and name in form.values:
            form.faults[name] = words
            return
    form.refusal = words


def in_words(text: str) -> str:
    """The text with its dates in words, as everywhere on the screens."""
    return ISO_DAY.sub(lambda found: _in_words(found[0]), text)


def _in_words(text: str) -> str:
    try:
        return day(dt.date.fromisoformat(text))
    except ValueError:
        return text


def typed_day(form: Form, name: str, missing: str | None = None) -> dt.date | None:
    """The date of the field. An empty one is none, or wrong where `missing`, a marked sentence, says what to do."""
    text = str(form.values[name]).strip()
    if not text:
        if missing:
            form.faults[name] = gettext(missing)
        return None
    try:
        if ISO_DAY.fullmatch(text):
            return dt.date.fromisoformat(text)
    except ValueError:
        pass  # The calendar has no such day; said below, like every other text that is no date.
    form.faults[name] = gettext(
        "%(text)s is not a date: choose one, or write year-month-day, such as 2027-04-03.", text=quoted(text)
    )
    return None


def typed_code(form: Form, name: str, codes: type[Code], missing: str = NO_LINE) -> Code | None:
    """The code that was chosen; a missing or foreign one is wrong."""
    text = str(form.values[name])
    if text in set(codes):
        return codes(text)
    form.faults[name] = gettext(missing)
    return None


def offered(form: Form, name: str, options: Options, missing: str = NO_LINE) -> str:
    """What was chosen, if it was offered, and nothing where nothing was; what is chosen is checked, not believed."""
    text = str(form.values.get(name, ""))
    if text and text not in {value for value, _ in options}:
        form.faults[name] = gettext(missing)
    return text


def told(options: Options) -> Options:
    """A table of values with their marked words, in the language of whoever reads the form."""
    return [(value, gettext(words)) for value, words in options]


def words_of(of: str, codes: type[StrEnum]) -> Options:
    """The codes with their words, in the order of the codes."""
    return [(code.value, OF[of][code.value]) for code in codes]
