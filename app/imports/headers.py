"""Which columns are which fields: by the headers that are understood, or by what a person mapped.

Must not give cells a meaning beyond joining them; dates, people and sites are for others.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.domain.errors import Refused, quoted
from app.imports.folding import without_accents

REFERENCE, DUE_ON, TITLE, SITE, KIND = "reference", "due_on", "title", "site", "kind"
OWNER, HOLDER, PART_OF, RECURRENCE = "owner", "holder", "part_of", "recurrence"
LEGAL_BASIS, NOTES = "legal_basis", "notes"
REQUIRED = (REFERENCE, DUE_ON)

# The headers that are understood for each field, in English and Spanish, then in French, German and Portuguese, the
# surest first; compared without accents, case and punctuation. What may as well be free text ("location") is left out.
UNDERSTOOD: Mapping[str, tuple[str, ...]] = {
    REFERENCE: (
        "reference", "referencia", "ref", "reference number", "reference no", "permit number", "permit no",
        "licence number", "licence no", "license number", "license no", "certificate number", "certificate no",
        "identifier", "id", "code", "numero de referencia", "n de referencia", "no de referencia", "expediente",
        "numero de expediente", "n de expediente", "no de expediente", "numero de permiso", "numero de licencia",
        "numero de certificado", "identificador", "codigo",
        "numero de reference", "n de reference", "no de reference", "numero de permis", "numero de licence",
        "numero de certificat", "numero d autorisation", "numero de dossier", "identifiant",
        "referenz", "referenznummer", "aktenzeichen", "genehmigungsnummer", "bescheidnummer", "lizenznummer",
        "zertifikatsnummer", "zertifikat nr", "inventarnummer", "kennung", "kennzeichen",
        "numero da referencia", "numero da licenca", "n da licenca", "no da licenca", "numero do alvara",
        "numero do certificado", "numero do processo", "n do processo", "no do processo",
    ),
    DUE_ON: (
        "due on", "due date", "due", "expiry date", "expiry", "expires on", "expires", "expiration date", "expiration",
        "valid until", "valid to", "renewal date", "deadline", "next due", "next due date", "next inspection",
        "vencimiento", "fecha de vencimiento", "fecha vencimiento", "vence", "vence el", "caducidad",
        "fecha de caducidad", "fecha caducidad", "caduca", "caduca el", "valido hasta", "valida hasta",
        "vigente hasta", "fecha limite", "plazo", "proxima revision", "proxima inspeccion",
        "echeance", "date d echeance", "date echeance", "date limite", "date d expiration", "date expiration",
        "expire le", "valable jusqu au", "valide jusqu au", "fin de validite", "date de fin de validite",
        "prochaine echeance", "prochain controle", "prochaine verification",
        "fallig", "fallig am", "faellig am", "falligkeit", "falligkeitsdatum", "faelligkeitsdatum", "frist",
        "ablaufdatum", "lauft ab am", "gultig bis", "gueltig bis", "nachste prufung", "naechste pruefung",
        "vencimento", "data de vencimento", "data do vencimento", "validade", "data de validade", "valido ate",
        "valida ate", "expira em", "data de expiracao", "prazo", "data limite", "proxima inspecao",
    ),
    TITLE: (
        "title", "titulo", "name", "nombre", "description", "descripcion", "denominacion",
        "titre", "nom", "intitule", "designation", "libelle", "titel", "bezeichnung", "beschreibung",
        "nome", "descricao", "designacao",
    ),
    SITE: (
        "site", "sitio", "centro", "centro de trabajo", "plant", "planta", "emplazamiento", "facility",
        "etablissement", "usine", "standort", "werk", "betriebsstatte", "unidade", "instalacao", "estabelecimento",
    ),
    KIND: ("kind", "type", "tipo", "category", "categoria", "clase", "categorie", "art", "typ", "kategorie", "classe"),
    OWNER: (
        "owner", "owner email", "owner e mail", "responsible", "responsable", "propietario", "titular del plazo",
        "verantwortlich", "verantwortliche", "verantwortlicher", "zustandig", "responsavel",
    ),
    HOLDER: (
        "holder", "holder email", "employee", "employee number", "titular", "empleado", "numero de empleado",
        "titulaire", "employe", "salarie", "matricule", "inhaber", "mitarbeiter", "personalnummer",
        "mitarbeiternummer", "funcionario", "colaborador", "matricula",
    ),
    PART_OF: (
        "part of", "parent", "parent reference", "parte de", "forma parte de", "referencia superior",
        "fait partie de", "teil von", "gehort zu", "faz parte de",
    ),
    RECURRENCE: ("recurrence", "recurrencia", "wiederholung", "recorrencia"),
    LEGAL_BASIS: (
        "legal basis", "base legal", "fundamento legal", "base juridica", "base legale", "fondement juridique",
        "rechtsgrundlage",
    ),
    NOTES: (
        "notes", "note", "remarks", "comments", "notas", "nota", "observaciones", "comentarios", "remarques",
        "commentaires", "observations", "bemerkung", "bemerkungen", "anmerkungen", "notizen", "observacoes",
    ),
}  # fmt: skip
FIELDS = tuple(UNDERSTOOD)

JOINS = {REFERENCE: "/"}  # Elsewhere a space.
SPACE = " "


@dataclass(frozen=True)
class Columns:
    """The columns of each field that the file has, by position from 0, and the name of every column."""

    fields: Mapping[str, tuple[int, ...]]
    names: tuple[str, ...]

    def parts(self, field: str, cells: Sequence[str]) -> list[str]:
        """The cells of a field, trimmed at their ends; what a short record lacks is empty."""
        return [cells[place].strip() if place < len(cells) else "" for place in self.fields.get(field, ())]

    def text(self, field: str, cells: Sequence[str]) -> str:
        """The field as one text: empty parts are left out. Empty if it is not mapped."""
        parts = self.parts(field, cells)
        return parts[0] if len(parts) == 1 else JOINS.get(field, SPACE).join(part for part in parts if part)

    def unmapped(self, cells: Sequence[str]) -> dict[str, str]:
        """The cells with text that belong to no field, by the names of their columns."""
        used = {place for places in self.fields.values() for place in places}
        rest = ((place, cell.strip()) for place, cell in enumerate(cells) if place not in used)
        return {self.names[place]: cell for place, cell in rest if cell and place < len(self.names)}

    def described(self) -> dict[str, list[str]]:
        """The mapping as it is kept as evidence: the names of the columns of each field."""
        return {field: [self.names[place] for place in places] for field, places in self.fields.items()}


def columns_of(header: Sequence[str] | None, width: int, maps: Iterable[str]) -> Columns:
    """The columns of a table of this width. Raises Refused, which names the field that has none."""
    headers = [spaced(cell) for cell in header or ()]
    wanted = read_maps(maps)
    fields = mapped(headers, width, wanted) if wanted else understood(headers)
    for field in REQUIRED:
        if field not in fields:
            there = ", ".join(quoted(name) for name in headers[:20] if name) or "none"
            raise Refused(f"No column is the {field}: name it with --map {field}=COLUMN; the headers are {there}.")
    return Columns(fields, unique_names(headers, width))


def is_header(cells: Sequence[str], maps: Iterable[str]) -> bool:
    """Whether these cells name the required fields, so that they can be the header of the table."""
    try:
        columns_of(cells, len(cells), maps)
    except Refused:
        return False
    return True


def read_maps(maps: Iterable[str]) -> dict[str, str]:
    """FIELD=COLUMN by field. Raises Refused for an unknown field, and for one that is mapped twice."""
    wanted: dict[str, str] = {}
    for given in maps:
        field, equals, column = (part.strip() for part in given.partition("="))
        if not equals or not column:
            raise Refused(f"--map {quoted(given)} is not understood: write FIELD=COLUMN.")
        if field not in FIELDS:
            raise Refused(f"--map names the unknown field {quoted(field)}: the fields are {', '.join(FIELDS)}.")
        if field in wanted:
            raise Refused(f"--map names the field {field} twice: join columns as {field}=A+B.")
        wanted[field] = column
    return wanted


def mapped(headers: Sequence[str], width: int, wanted: Mapping[str, str]) -> dict[str, tuple[int, ...]]:
    """The positions of the mapped columns. A header is matched whole first; only then are `+` and numbers read."""
    fields: dict[str, tuple[int, ...]] = {}
    for field, column in wanted.items():
        whole = position_of(column, headers, width, field)
        if whole is not None:
            fields[field] = (whole,)
            continue
        parts = [position_of(part, headers, width, field) for part in column.split("+")]
        missing = [part.strip() for part, place in zip(column.split("+"), parts, strict=True) if place is None]
        if missing:
            raise Refused(
                f"There is no column {quoted(missing[0])} for the field {field}: write a header or a position."
            )
        fields[field] = tuple(place for place in parts if place is not None)
    return fields


def position_of(column: str, headers: Sequence[str], width: int, field: str) -> int | None:
    """The position, from 0, of a header, or else of a number counted from 1. Raises Refused if two headers match."""
    name = spaced(column)
    exact = [place for place, header in enumerate(headers) if header == name]
    folded = [place for place, header in enumerate(headers) if header.casefold() == name.casefold()]
    for found in (exact, folded):
        if len(found) > 1:
            both = " and ".join(str(place + 1) for place in found[:2])
            raise Refused(f"Several columns are named {quoted(name)}: map {field} to a position, such as {both}.")
        if found and name:
            return found[0]
    if re.fullmatch("[0-9]{1,4}", name) and 1 <= int(name) <= width:
        return int(name) - 1
    return None


def understood(headers: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The fields whose headers are understood: the name of the field itself wins, then the surest header.

    Raises Refused if a required field has two candidates and neither bears its name.
    """
    plain = [plain_header(header) for header in headers]
    fields: dict[str, tuple[int, ...]] = {}
    for field, names in UNDERSTOOD.items():
        found = [place for name in names for place, header in enumerate(plain) if header == name]
        certain = found and plain[found[0]] == plain_header(field) and plain.count(plain[found[0]]) == 1
        if len(found) > 1 and field in REQUIRED and not certain:
            both = " and ".join(quoted(headers[place]) for place in found[:2])
            raise Refused(f"The columns {both} can both be the {field}: choose with --map {field}=COLUMN.")
        if found:
            fields[field] = (found[0],)
    return fields


def unique_names(headers: Sequence[str], width: int) -> tuple[str, ...]:
    """A name for each column: its header, made unique by its position; `column 3` where it has none."""
    names: list[str] = []
    for place in range(width):
        header = headers[place] if place < len(headers) else ""
        name = header or f"column {place + 1}"
        names.append(name if name not in names else f"{name} (column {place + 1})")
    return tuple(names)


def spaced(text: str) -> str:
    """A header as it is compared: NFC, trimmed, with no-break spaces, line breaks and runs of spaces as one space."""
    return SPACE.join(unicodedata.normalize("NFC", text).split())


def plain_header(text: str) -> str:
    """A header without accents, case and punctuation."""
    kept = (char if char.isalnum() else SPACE for char in without_accents(text))
    return SPACE.join("".join(kept).split())
