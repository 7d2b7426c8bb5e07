"""Headers of a file of people: understood in five languages; a name may stand in several columns."""

from __future__ import annotations

import pytest

from app.domain.errors import Refused
from app.imports.headers import columns_of, plain_header
from app.imports.people_headers import NAMES_IN_PARTS, PEOPLE, UNDERSTOOD, proposed

ROWS = [
    ("Name", "Number", "Email", "Site", "Post", "Role"),
    ("Full name", "Employee number", "E-mail", "Site", "Job title", "Role"),
    ("Nombre y apellidos", "Nº de empleado", "Correo electrónico", "Centro de trabajo", "Puesto", "Rol"),
    ("Apellidos, Nombre", "Legajo", "Correo", "Centro", "Cargo", "Rol"),
    ("Nom complet", "Matricule", "Courriel", "Établissement", "Poste", "Role"),
    ("Name", "Personalnummer", "E-Mail-Adresse", "Standort", "Stelle", "Rolle"),
    ("Nome completo", "Nº de funcionário", "E-mail", "Unidade", "Função", "Papel"),
]


@pytest.mark.parametrize("header", ROWS)
def test_each_field_is_understood_in_each_language(header: tuple[str, ...]) -> None:
    fields = columns_of(header, len(header), (), PEOPLE).fields
    assert fields == {field: (place,) for place, field in enumerate(UNDERSTOOD)}


@pytest.mark.parametrize(
    ("header", "name"),
    [
        (("First name", "Last name", "Number"), (0, 1)),
        (("Surname", "Given name", "Number"), (1, 0)),
        (("Nombre", "Apellidos", "Number"), (0, 1)),
        (("Apellidos", "Nombre", "Number"), (1, 0)),
        (("Primer apellido", "Segundo apellido", "Nombre", "Number"), (2, 0, 1)),
        (("Nom", "Prénom", "Number"), (1, 0)),
        (("Name", "Vorname", "Number"), (1, 0)),
        (("Sobrenome", "Nome", "Number"), (1, 0)),
        (("Full name", "First name", "Last name", "Number"), (0,)),
        (("Nombre", "Puesto", "Number"), (0,)),
        (("Name", "Surname", "Number"), (0, 1)),
        (("Name", "First name", "Number"), (1, 0)),
    ],
)
def test_a_name_in_several_columns_is_first_name_then_last(header: tuple[str, ...], name: tuple[int, ...]) -> None:
    assert columns_of(header, len(header), (), PEOPLE).fields["name"] == name


def test_parts_of_a_name_are_joined_by_a_map_with_a_space() -> None:
    columns = columns_of(("Apellidos", "Llamado", "Legajo"), 3, ("name=Llamado+Apellidos", "number=3"), PEOPLE)
    assert columns.text("name", ["Pérez", " Ana ", "007"]) == "Ana Pérez"
    assert columns.text("number", ["Pérez", "Ana", "007"]) == "007"


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (("Number", "Email"), "No column is the name: name it with --map name=COLUMN"),
        (("Name", "Site"), "No column is the number or the email: name it with --map number=COLUMN or --map email"),
        (("Apellidos", "Legajo"), "No column is the name"),
        (("Nº", "Name"), "No column is the number or the email"),
        (("ID", "Name"), "No column is the number or the email"),
        (("Name", "Legajo", "Matrícula"), "can both be the number"),
        (("Nombre", "Nom", "Legajo"), "can both be the name"),
    ],
)
def test_what_identifies_nobody_for_certain_is_refused(header: tuple[str, ...], words: str) -> None:
    with pytest.raises(Refused, match=words.replace("(", r"\(")):
        columns_of(header, len(header), (), PEOPLE)


def test_a_map_of_a_field_of_another_kind_of_file_is_refused() -> None:
    with pytest.raises(Refused, match="the fields are name, number, email, site, post, role"):
        columns_of(("Name", "Number"), 2, ("due_on=Number",), PEOPLE)


def test_each_understood_header_is_written_as_it_is_compared_and_means_one_field() -> None:
    names = [name for understood in UNDERSTOOD.values() for name in understood]
    parts = [name for language in NAMES_IN_PARTS for names in language for name in names]
    assert [name for name in names + parts if plain_header(name) != name] == []
    assert sorted(names) == sorted(set(names))
    assert not set(parts) & {name for field, words in UNDERSTOOD.items() if field != "name" for name in words}


def test_a_page_proposes_the_parts_of_a_name_apart() -> None:
    assert proposed(("Apellidos", "Nombre", "Legajo")) == {1: "first_name", 0: "last_name", 2: "number"}
    assert proposed(("Nombre y apellidos", "Correo")) == {0: "name", 1: "email"}
    assert proposed(("Name", "Legajo", "Matrícula")) == {}
