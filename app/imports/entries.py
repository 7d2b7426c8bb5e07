"""What one record says: its cells become an entry with people, a site and a due date, or it is rejected for itself.

Must not look at other records; repeats and parents are for `outcomes.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.domain import recurrences, thresholds
from app.domain.acts import Basis
from app.domain.errors import Refused, quoted
from app.domain.folding import clean_text, fold_reference
from app.domain.recipients import POST
from app.imports import headers
from app.imports.dates import DateReader, Due
from app.imports.folding import folded
from app.imports.headers import Columns
from app.imports.known import Key, Known, Place
from app.imports.records import Record, Widths
from app.operations import typed
from app.operations.kinds import clean_name, key_of

# What stands in a reference column until there is a reference, folded; so does whatever has no letter and no digit.
PLACEHOLDERS = frozenset({
    "n/a", "n.a", "na", "none", "null", "not assigned", "not assigned yet", "not yet assigned", "unassigned",
    "not available", "not applicable", "not issued", "not issued yet", "tbd", "tba", "tbc", "to be determined",
    "to be defined", "to be confirmed", "to be assigned", "to follow", "pending", "awaiting", "applied for", "unknown",
    "s/n", "s/no", "sin asignar", "sin numero", "sin referencia", "por asignar", "por definir", "pendiente",
    "pendiente de asignar", "no asignado", "no aplica", "no disponible", "en tramite", "desconocido",
    "non attribue", "non attribuee", "a definir", "en attente", "sans numero", "sans objet", "inconnu",
    "noch nicht vergeben", "nicht vergeben", "unbekannt", "ohne nummer", "ausstehend", "folgt", "k.a", "keine angabe",
    "nao atribuido", "por atribuir", "sem numero", "desconhecido", "em curso", "a atribuir",
    "nan", "n/d", "s/d", "(blank)", "(en blanco)", "(vide)", "(leer)", "(vazio)", "(none)", "(null)",
})  # fmt: skip

PEOPLE = (headers.OWNER, headers.HOLDER)
OWNER_POST = "owner_post"  # What a record says of the responsible that is written `post:NAME`.
BY_POST = f"{POST}:"
SAID = tuple(field for field in headers.FIELDS if field not in (headers.REFERENCE, headers.DUE_ON, headers.SITE))


@dataclass(frozen=True, slots=True)
class Entry:
    """An accepted record. `said` holds the fields that it says something about; a blank cell says nothing."""

    line: int
    key: Key
    reference: str
    site: Place
    due: Due
    said: Mapping[str, Any]
    extra: Mapping[str, str]
    part_of: str = ""  # As it is written, for a person.

    @property
    def title(self) -> str:
        return str(self.said.get(headers.TITLE, self.reference))

    @property
    def is_dated(self) -> bool:
        """Whether it has a due date, of its own or with its whole."""
        return self.due.on is not None or headers.DUE_FROM in self.said

    @property
    def meaning(self) -> tuple[Any, ...]:
        """What two records must have in common to be the same: all mapped fields."""
        said = dict(self.said)
        if headers.KIND in said:
            said[headers.KIND] = key_of(said[headers.KIND])
        return (self.due.on, self.due.must_confirm, *sorted(said.items()))


def confirms_none(line: int) -> bool:
    return False


@dataclass(frozen=True)
class EntryReader:
    """Reads records by what is known: the columns, the dates of the column, sites and people.

    `confirms` says of which lines a person has confirmed the date that a bare number would be.
    """

    columns: Columns
    dates: DateReader
    known: Known
    site: str
    widths: Widths
    confirms: Callable[[int], bool] = confirms_none

    def read(self, record: Record) -> Entry:
        """The entry of a record. Raises Refused with the reason why the record is rejected for itself."""
        if shifted := self.widths.fault(record):
            raise Refused(shifted)
        if record.faults:
            self.check_faults(record)
        reference = self.reference(record)
        site = self.known.site(self.text(headers.SITE, record) or self.site, fold_reference(reference))
        due = self.due(record)
        if due.must_confirm and self.confirms(record.line):
            due = due.confirmed()
        key = (site.id, fold_reference(reference))
        said = dict(self.value(field, text, site, key) for field, text in self.texts(record))
        check_rhythm(said)
        extra, part_of = self.columns.unmapped(record.cells), self.text(headers.PART_OF, record)
        return Entry(record.line, key, reference, site, due, said, extra, part_of)

    def text(self, field: str, record: Record) -> str:
        return self.columns.text(field, record.cells)

    def check_faults(self, record: Record) -> None:
        """Raise Refused if a cell of a field holds an error of the spreadsheet in place of a value."""
        for place, fault in record.faults:
            for field, places in self.columns.fields.items():
                if place in places:
                    raise Refused(f"the {field} is {fault}, not a value")

    def due(self, record: Record) -> Due:
        text = self.text(headers.DUE_ON, record)
        if not text and self.text(headers.DUE_FROM, record):
            return Due(None, reason="its due date follows that of its whole")
        places = self.columns.fields[headers.DUE_ON]
        return (
            self.dates.of_date_cell(text) if places[0] in record.dated and len(places) == 1 else self.dates.read(text)
        )

    def texts(self, record: Record) -> list[tuple[str, str]]:
        """The fields beside reference, site and due date that have text."""
        return [(field, text) for field in SAID if (text := self.text(field, record))]

    def value(self, field: str, text: str, site: Place, key: Key) -> tuple[str, Any]:
        """What the text of a field means, and what it is said of. Raises Refused."""
        if field == headers.OWNER and text.casefold().startswith(BY_POST):
            return OWNER_POST, self.known.post(text[len(BY_POST) :])
        return field, self.known.person(text, field, site, key) if field in PEOPLE else TEXTS[field](text)

    def reference(self, record: Record) -> str:
        """The reference. Raises Refused if it, or a part of it, is empty or only holds its place."""
        parts = self.columns.parts(headers.REFERENCE, record.cells)
        if not any(parts):
            raise Refused("reference missing")
        for part, place in zip(parts, self.columns.fields[headers.REFERENCE], strict=True):
            if not part:
                raise Refused(f"a part of the reference is empty: {quoted(self.columns.names[place])}")
            if place in record.dated:
                raise Refused(f"{quoted(part)} is a date cell, not a reference: a spreadsheet may have made it one")
            if folded(part) in PLACEHOLDERS or not any(char.isalnum() for char in part):
                raise Refused(f"{quoted(part)} is a placeholder, not a reference")
        return reference_text(self.text(headers.REFERENCE, record))


def reference_text(text: str) -> str:
    return typed.reference(text, "the reference")


def part_of_key(text: str) -> str:
    return fold_reference(typed.reference(text, "part_of"))


def title_text(text: str) -> str:
    return typed.text(text, "the title", typed.LONGEST_TITLE)


def kind_name(text: str) -> str:
    return clean_name(text, "the kind")


def check_rhythm(said: Mapping[str, Any]) -> None:
    """Raise Refused unless what is said of when it comes again goes together."""
    if headers.RECURRENCE_BASIS in said and headers.RECURRENCE not in said:
        raise Refused("the recurrence_basis has no recurrence: say both")
    if headers.DUE_FROM in said and headers.PART_OF not in said:
        raise Refused("the due_from has no part_of: say whose due date it follows")
    if headers.DUE_FROM in said and headers.RECURRENCE in said:
        raise Refused("what has a due_from comes again with its whole: leave the recurrence out")


def basis_text(text: str) -> str:
    return typed.code(Basis, text.casefold(), "a recurrence_basis").value


def due_from_text(text: str) -> str:
    return thresholds.parse(text).text


def recurrence_text(text: str) -> str:
    return recurrences.parse(text).text


def legal_basis_text(text: str) -> str:
    return clean_text(text, "the legal basis", typed.LONGEST_NOTE)


def notes_text(text: str) -> str:
    return clean_text(text, "the text of the notes", typed.LONGEST_NOTE)


# How the text of a field becomes what is stored; owner and holder are looked up instead.
TEXTS: Mapping[str, Callable[[str], str]] = {
    headers.TITLE: title_text,
    headers.KIND: kind_name,
    headers.PART_OF: part_of_key,
    headers.RECURRENCE: recurrence_text,
    headers.RECURRENCE_BASIS: basis_text,
    headers.DUE_FROM: due_from_text,
    headers.LEGAL_BASIS: legal_basis_text,
    headers.NOTES: notes_text,
}
