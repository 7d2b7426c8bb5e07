"""Headers: which are understood for each field, in five languages, and how they are compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import Refused
from app.imports.headers import DUE_ON, FIELDS, REFERENCE, UNDERSTOOD, columns_of, plain_header, unique_names

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
    assert set(order) == set(FIELDS) - {"recurrence_basis", "due_from"}, "which only files of ours have"
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


@pytest.mark.parametrize(
    ("reference", "due_on"),
    [
        ("N.º de expediente", "Fecha vencim."),
        ("Nº Expediente", "Fecha Vto."),
        ("N. o Expediente", "F. Vto."),
        ("License #", "Next Inspection Date"),
        ("Licence Ref", "DUE DATE (dd/mm/yyyy)"),
        ("Referenz-Nr.", "Fällig am [TT.MM.JJJJ]"),
        ("Referencia (obligatorio)", "Fecha de vencimiento dd/mm/aaaa"),
        ("Reference*", "Due date (d-mmm-yy)"),
    ],
)
def test_headers_as_offices_write_them(reference: str, due_on: str) -> None:
    assert columns_of([reference, due_on], 2, ()).fields == {REFERENCE: (0,), DUE_ON: (1,)}


def test_a_hint_is_no_other_word() -> None:
    for written in ("Due date (old)", "Due date (of the invoice)", "Due date 2"):
        with pytest.raises(Refused, match="due_on"):
            columns_of(["reference", written], 2, ())


def test_a_hint_does_not_choose_between_two_columns() -> None:
    with pytest.raises(Refused, match="can both be the due_on"):
        columns_of(["reference", "Expiry date", "Expiry date (dd/mm/yyyy)"], 3, ())


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


@given(
    header=st.lists(st.sampled_from(["", "a", "column 1", "column 2", "a (column 5)", "a (column 2)"]), max_size=7),
    more=st.integers(0, 2),
)
def test_every_column_has_a_name_of_its_own(header: list[str], more: int) -> None:
    names = unique_names(header, len(header) + more)
    assert len(set(names)) == len(header) + more


def test_a_column_without_a_name_takes_no_name_of_another() -> None:
    assert unique_names(["", "column 1"], 2) == ("column 1 (column 1)", "column 1")


def test_what_is_wrong_with_a_map_names_it() -> None:
    with pytest.raises(Refused, match=r"^--map due_on: there is no column '9'; write a header, or a position up to 2"):
        columns_of(["a", "b"], 2, ("reference=1", "due_on=9"))
