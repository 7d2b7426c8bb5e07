"""What one line of a file of people says, or why it is rejected for itself.

Must not look at other lines, nor at who is there; that is for `people_outcomes.py`. No reason quotes a name or an
address: reasons are kept as evidence for good, and a person may have to be forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.domain.acts import Role
from app.domain.errors import Refused, quoted
from app.domain.folding import check_visible, fold_address, fold_reference
from app.imports.entries import PLACEHOLDERS
from app.imports.folding import folded
from app.imports.headers import Columns
from app.imports.known import Known, Place
from app.imports.people_headers import EMAIL, NAME, NUMBER, POST, ROLE, SITE
from app.imports.records import Record, Widths
from app.operations import typed
from app.operations.kinds import clean_name, key_of

LONGEST_NUMBER = 100  # Characters: an employee number is a word, not a sentence.

# How files call the roles, folded. `auditor` and the like are left out: they are posts more often than roles.
ROLES: Mapping[Role, tuple[str, ...]] = {
    Role.staff: (
        "staff", "team member", "member", "member of staff", "employee", "personal", "miembro", "miembro del equipo",
        "empleado", "empleada", "plantilla",
    ),
    Role.inspector: ("inspector", "inspectora"),
    Role.officer: (
        "officer", "compliance officer", "compliance manager", "responsable de cumplimiento", "oficial de cumplimiento",
    ),
    Role.admin: ("admin", "administrator", "administrador", "administradora"),
}  # fmt: skip
ROLE_OF = {word: role for role, words in ROLES.items() for word in words}
WORDS = {EMAIL: "e-mail"}  # Of the fields, where the name of the field is none.


@dataclass(frozen=True, slots=True)
class Line:
    """An accepted line. What a blank cell leaves out is empty or None; `is_named` says that it names its site."""

    line: int
    name: str
    number: str
    email: str
    role: Role | None
    site: Place | None
    is_named: bool
    post: str

    @property
    def number_key(self) -> str:
        """By which numbers are compared: leading zeros count, upper and lower case do not."""
        return fold_reference(self.number)

    @property
    def meaning(self) -> tuple[Any, ...]:
        """What two lines must have in common to be the same."""
        site_id = self.site.id if self.site else None
        return key_of(self.name), self.number_key, self.email, self.role, site_id, self.is_named, key_of(self.post)


@dataclass(frozen=True)
class LineReader:
    """Reads lines by what is known: the columns and the sites. `site` is that of lines that name none."""

    columns: Columns
    known: Known
    site: str
    widths: Widths

    def read(self, record: Record) -> Line:
        """Raises Refused with the reason why the line is rejected for itself."""
        if shifted := self.widths.fault(record):
            raise Refused(shifted)
        self.check_cells(record)
        name = typed.one_line(self.text(NAME, record), "the name")
        number, email = number_of(self.said(NUMBER, record)), email_of(self.said(EMAIL, record))
        if not number and not email:
            raise Refused("neither a number nor an e-mail: nothing says who this is")
        role = role_of(self.said(ROLE, record))
        post = clean_name(self.said(POST, record), "the post")
        named = self.text(SITE, record) or self.site
        site = self.known.site(named) if named or post else None
        return Line(record.line, name, number, email, role, site, bool(named), post)

    def text(self, field: str, record: Record) -> str:
        return self.columns.text(field, record.cells)

    def said(self, field: str, record: Record) -> str:
        """The text of a field; what only holds its place says nothing, and is never the identity of a person."""
        text = self.text(field, record)
        return "" if folded(text) in PLACEHOLDERS or not any(char.isalnum() for char in text) else text

    def check_cells(self, record: Record) -> None:
        """Raise Refused for an error of the spreadsheet in a field, and for what it has turned into a date."""
        faults, dated = dict(record.faults), {NAME, NUMBER, EMAIL}
        for field, places in self.columns.fields.items():
            for place in places:
                if place in faults:
                    raise Refused(f"the {WORDS.get(field, field)} is {faults[place]}, not a value")
                if place in record.dated and field in dated:
                    raise Refused(f"the {WORDS.get(field, field)} is a date in the file: write it as text")


def number_of(text: str) -> str:
    """A number as it is stored: as it stands, leading zeros included."""
    number = typed.text(text, "the number", LONGEST_NUMBER) if text else ""
    check_visible(number, "the number")
    return number


def email_of(text: str) -> str:
    """An address as it is stored. Raises Refused, which does not quote it."""
    try:
        return fold_address(text) if text else ""
    except Refused:
        raise Refused("the e-mail is not one address, such as ana@example.com") from None


def role_of(text: str) -> Role | None:
    """The role that a cell names; None for an empty one. Raises Refused."""
    role = ROLE_OF.get(folded(text)) if text else None
    if text and role is None:
        raise Refused(f"no such role: {quoted(text)}; write staff or inspector, or leave it out")
    return role
