"""Headers: which are understood for each field, in five languages, and how they are compared."""

from __future__ import annotations

import pytest

from app.domain.errors import Refused
from app.imports.headers import DUE_ON, FIELDS, REFERENCE, UNDERSTOOD, columns_of, plain_header

ROWS = [
    ("Reference", "Due date", "Title", "Site", "Kind", "Owner", "Holder", "Part of", "Recurrence", "Legal basis",
     "Notes"),
    ("Nº de expediente", "Fecha de vencimiento", "Descripción", "Centro de trabajo", "Tipo", "Responsable", "Empleado",
     "Parte de", "Recurrencia", "Base jurídica", "Observaciones"),
    ("N° de référence", "Date d’échéance", "Intitulé", "Établissement", "Catégorie", "Responsable", "Employé",
     "Fait partie de", "Récurrence", "Base légale", "Remarques"),
    ("Aktenzeichen", "Gültig bis", "Bezeichnung", "Standort", "Art", "Verantwortlich", "Mitarbeiter", "Teil von",
     "Wiederholung", "Rechtsgrundlage", "Bemerkungen"),
    ("Nº da licença", "Validade", "Descrição", "Unidade", "Categoria", "Responsável", "Funcionário", "Faz parte de",
     "Recorrência", "Base legal", "Observações"),
]  # fmt: skip


@pytest.mark.parametrize("header", ROWS)
def test_each_field_is_understood_in_each_language(header: tuple[str, ...]) -> None:
    order = (
        REFERENCE,
        DUE_ON,
        "title",
        "site",
        "kind",
        "owner",
        "holder",
        "part_of",
        "recurrence",
        "legal_basis",
        "notes",
    )
    assert set(order) == set(FIELDS)
    assert columns_of(header, len(header), ()).fields == {field: (place,) for place, field in enumerate(order)}


@pytest.mark.parametrize(
    "written",
    [
        " Due Date ",
        "DUE\nDATE",
        "due\N{NO-BREAK SPACE}date",
        "Due-date:",
        "due_date",
        "Fälligkeit",
        "FALLIGKEIT",
        "Échéance",
    ],
)
def test_a_header_is_compared_without_case_accents_and_spaces(written: str) -> None:
    assert columns_of(["reference", written], 2, ()).fields[DUE_ON] == (1,)


def test_a_header_is_understood_whole_only() -> None:
    for written in ("due date of the invoice", "not the due date", "expiry 2"):
        with pytest.raises(Refused, match="due_on"):
            columns_of(["reference", written], 2, ())


def test_each_understood_header_is_written_as_it_is_compared_and_means_one_field() -> None:
    names = [name for understood in UNDERSTOOD.values() for name in understood]
    assert [name for name in names if plain_header(name) != name] == []
    assert sorted(names) == sorted(set(names))


def test_columns_without_a_name_or_with_the_same_are_told_apart() -> None:
    header = ["", "reference", "\n", "fee", "fee", "due_on", "Line\nbreak"]
    names = columns_of(header, 8, ()).names
    assert names == (
        "column 1", "reference", "column 3", "fee", "fee (column 5)", "due_on", "Line break", "column 8",
    )  # fmt: skip
