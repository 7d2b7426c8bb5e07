"""Which columns of a file of people are which fields: the headers that are understood, in five languages.

What may as well be a counter of the rows (`No`, `ID`) is left out: it would become the identity of a person.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.domain.errors import Refused
from app.imports import headers
from app.imports.headers import Parts, Vocabulary

NAME, NUMBER, EMAIL, SITE, POST, ROLE = "name", "number", "email", "site", "post", "role"

# The surest first; compared without accents, case and punctuation, as the headers of a register are.
UNDERSTOOD: Mapping[str, tuple[str, ...]] = {
    NAME: (
        "name", "full name", "complete name", "employee name", "person", "nombre completo", "nombre y apellidos",
        "nombres y apellidos", "apellidos y nombre", "apellidos nombre", "apellido y nombre", "nombre y apellido",
        "nombre del empleado", "nombre del trabajador", "nom complet", "nom et prenom", "nom prenom", "prenom et nom",
        "vollstandiger name", "vor und nachname", "vorname und nachname", "name vorname", "nachname vorname",
        "mitarbeitername", "nome completo", "nombre", "nom", "nome",
    ),
    NUMBER: (
        "number", "employee number", "employee no", "employee id", "staff number", "staff no", "staff id",
        "personnel number", "personnel no", "payroll number", "payroll no", "badge number", "worker id",
        "numero de empleado", "n de empleado", "no de empleado", "n empleado", "no empleado", "codigo de empleado",
        "id de empleado", "id empleado", "legajo", "n de legajo", "no de legajo", "numero de legajo",
        "numero de trabajador", "codigo de trabajador", "numero de personal", "numero de nomina", "matricula",
        "matricule", "numero de matricule", "n de matricule", "no de matricule", "numero d employe",
        "numero de salarie",
        "personalnummer", "personal nr", "personalnr", "pers nr", "mitarbeiternummer", "mitarbeiter nr",
        "numero de funcionario", "n de funcionario", "no de funcionario", "numero de colaborador",
        "numero mecanografico", "n mecanografico",
    ),
    EMAIL: (
        "email", "e mail", "email address", "e mail address", "work email", "work e mail", "mail",
        "correo", "correo electronico", "correo e", "correo corporativo", "email corporativo", "direccion de correo",
        "courriel", "adresse e mail", "adresse email", "adresse mail", "adresse electronique", "adresse courriel",
        "e mail adresse", "emailadresse", "mailadresse", "correio eletronico", "endereco de e mail",
        "endereco eletronico",
    ),
    SITE: (*headers.UNDERSTOOD[headers.SITE], "site name", "workplace", "lugar de trabajo", "arbeitsort"),
    POST: (
        "post", "position", "job title", "job position", "puesto", "puesto de trabajo", "cargo", "posicion",
        "poste", "poste de travail", "fonction", "stelle", "funktion", "funcao", "posto de trabalho",
    ),
    ROLE: ("role", "rol", "role in onus", "rol en onus", "rolle", "papel"),
}  # fmt: skip

# A name in two columns, by language: first names, last names, and what Spanish lists keep in a column of its own.
NAMES_IN_PARTS: tuple[Parts, ...] = (
    (("first name", "first names", "given name", "given names", "forename"), ("last name", "surname", "family name")),
    (("first name", "first names", "given name", "given names", "forename"), ("name",)),
    (("name",), ("last name", "surname", "family name")),
    (("nombre", "nombres", "nombre de pila"),
     ("apellidos", "apellido", "primer apellido", "apellido 1", "1er apellido"),
     ("segundo apellido", "apellido 2", "2o apellido", "2do apellido")),
    (("prenom", "prenoms"), ("nom", "nom de famille")),
    (("vorname", "vornamen"), ("nachname", "familienname", "zuname", "name")),
    (("nome", "nome proprio", "primeiro nome"), ("apelido", "apelidos", "sobrenome")),
)  # fmt: skip

PEOPLE = Vocabulary(UNDERSTOOD, ((NAME,), (NUMBER, EMAIL)), {NAME: NAMES_IN_PARTS})

# How a person says on a page in which order the columns of a name are joined.
FIRST_NAME, LAST_NAME = "first_name", "last_name"
OFFERED = (NAME, FIRST_NAME, LAST_NAME, *tuple(UNDERSTOOD)[1:])


def proposed(header: Sequence[str]) -> dict[int, str]:
    """What each column is taken for, by position from 0, with the parts of a name apart; nothing where two could be."""
    try:
        fields = headers.understood(header, PEOPLE)
    except Refused:
        return {}
    said = {place: name for name, places in fields.items() for place in places}
    if len(parts := fields.get(NAME, ())) > 1:
        said |= dict.fromkeys(parts, LAST_NAME) | {parts[0]: FIRST_NAME}
    return said
