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
RECURRENCE_BASIS, DUE_FROM = "recurrence_basis", "due_from"

# The headers that are understood for each field, in English and Spanish, then in French, German and Portuguese, the
# surest first; compared without accents, case and punctuation. What may as well be free text ("location") is left out.
UNDERSTOOD: Mapping[str, tuple[str, ...]] = {
    REFERENCE: (
        "reference", "referencia", "ref", "reference number", "reference no", "permit number", "permit no",
        "licence number", "licence no", "license number", "license no", "certificate number", "certificate no",
        "permit ref", "licence ref", "license ref", "certificate ref", "permit reference", "licence reference",
        "license reference", "certificate reference",
        "identifier", "id", "code", "numero de referencia", "n de referencia", "no de referencia", "expediente",
        "numero de expediente", "n de expediente", "no de expediente", "n expediente", "no expediente",
        "num expediente", "nro expediente", "nro de expediente", "numero de permiso", "n de permiso", "no de permiso",
        "n permiso", "no permiso", "numero de licencia", "n de licencia", "no de licencia", "n licencia", "no licencia",
        "numero de certificado", "n de certificado", "no de certificado", "n certificado", "no certificado",
        "n referencia", "no referencia", "identificador", "codigo",
        "numero de reference", "n de reference", "no de reference", "numero de permis", "numero de licence",
        "numero de certificat", "numero d autorisation", "numero de dossier", "identifiant",
        "referenz", "referenznummer", "aktenzeichen", "genehmigungsnummer", "bescheidnummer", "lizenznummer",
        "zertifikatsnummer", "zertifikat nr", "inventarnummer", "kennung", "kennzeichen", "referenz nr",
        "genehmigungs nr", "bescheid nr", "lizenz nr", "inventar nr",
        "numero da referencia", "numero da licenca", "n da licenca", "no da licenca", "numero do alvara",
        "numero do certificado", "numero do processo", "n do processo", "no do processo",
    ),
    DUE_ON: (
        "due on", "due date", "due", "expiry date", "expiry", "expires on", "expires", "expiration date", "expiration",
        "valid until", "valid to", "renewal date", "deadline", "next due", "next due date", "next inspection",
        "next inspection date", "date of expiry",
        "vencimiento", "fecha de vencimiento", "fecha vencimiento", "vence", "vence el", "caducidad",
        "fecha de caducidad", "fecha caducidad", "caduca", "caduca el", "valido hasta", "valida hasta",
        "vigente hasta", "fecha limite", "plazo", "proxima revision", "proxima inspeccion", "vto", "fecha vto",
        "fecha de vto", "f vto", "venc", "fecha venc", "f venc", "vencim", "fecha vencim", "f vencimiento",
        "f caducidad", "fecha de proxima revision", "fecha proxima revision", "fecha de proxima inspeccion",
        "fecha proxima inspeccion",
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
    RECURRENCE_BASIS: ("recurrence basis", "base de recurrencia"),
    DUE_FROM: ("due from", "plazo desde"),
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

# What forms add to a header, as it is compared: how a date is to be written, and whether a cell may be left empty.
HINT = re.compile(
    r"(?: (?:d{1,2}|t{1,2}|m{1,4}|yy(?:yy)?|aa(?:aa)?|jj(?:jj)?)){3}$"
    r"| (?:ddmmyyyy|mmddyyyy|yyyymmdd|ddmmaaaa|ttmmjjjj|jjmmaaaa)$"
    r"| (?:required|mandatory|optional|obligatorio|obligatoria|opcional|obligatoire|facultatif|pflichtfeld)$"
)
NUMBER_SIGN = re.compile(r"\bn o\b")  # What is left of `N.º` and `N. o`.

JOINS = {REFERENCE: "/"}  # Elsewhere a space.
SPACE = " "

Parts = tuple[tuple[str, ...], ...]  # The headers of each part of a field, in the order in which the parts are joined.


@dataclass(frozen=True)
class Vocabulary:
    """The fields of one kind of file, with the headers that are understood for each, the surest first.

    A record needs one field of each group of `required`. `together` are fields that may stand in several columns: the
    first two parts must be there, one column each.
    """

    understood: Mapping[str, tuple[str, ...]]
    required: tuple[tuple[str, ...], ...]
    together: Mapping[str, tuple[Parts, ...]]

    def needs(self, name: str) -> bool:
        return any(name in group for group in self.required)

    def missing(self, fields: Iterable[str]) -> list[tuple[str, ...]]:
        """The groups of which none is among these fields."""
        there = set(fields)
        return [group for group in self.required if not there & set(group)]


REGISTER = Vocabulary(UNDERSTOOD, ((REFERENCE,), (DUE_ON,)), {})


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


def columns_of(
    header: Sequence[str] | None, width: int, maps: Iterable[str], vocabulary: Vocabulary = REGISTER
) -> Columns:
    """The columns of a table of this width. Raises Refused, which names the field that has none."""
    headers = [spaced(cell) for cell in header or ()]
    wanted = read_maps(maps, vocabulary)
    fields = mapped(headers, width, wanted) if wanted else understood(headers, vocabulary)
    for group in vocabulary.missing(fields):
        there = ", ".join(quoted(name) for name in headers[:20] if name) or "none"
        maps_of = " or ".join(f"--map {name}=COLUMN" for name in group)
        raise Refused(f"No column is the {' or the '.join(group)}: name it with {maps_of}; the headers are {there}.")
    return Columns(fields, unique_names(headers, width))


def is_header(cells: Sequence[str], maps: Iterable[str], vocabulary: Vocabulary = REGISTER) -> bool:
    """Whether these cells name the required fields, so that they can be the header of the table."""
    try:
        columns_of(cells, len(cells), maps, vocabulary)
    except Refused:
        return False
    return True


def read_maps(maps: Iterable[str], vocabulary: Vocabulary = REGISTER) -> dict[str, str]:
    """FIELD=COLUMN by field. Raises Refused for an unknown field, and for one that is mapped twice."""
    wanted: dict[str, str] = {}
    for given in maps:
        field, equals, column = (part.strip() for part in given.partition("="))
        if not equals or not column:
            raise Refused(f"--map {quoted(given)} is not understood: write FIELD=COLUMN.")
        if field not in vocabulary.understood:
            known = ", ".join(vocabulary.understood)
            raise Refused(f"--map names the unknown field {quoted(field)}: the fields are {known}.")
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
                f"--map {field}: there is no column {quoted(missing[0])}; write a header, or a position up to {width}."
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
            raise Refused(f"--map {field}: several columns are named {quoted(name)}; write a position, such as {both}.")
        if found and name:
            return found[0]
    if re.fullmatch("[0-9]{1,4}", name) and 1 <= int(name) <= width:
        return int(name) - 1
    return None


def understood(headers: Sequence[str], vocabulary: Vocabulary = REGISTER) -> dict[str, tuple[int, ...]]:
    """The fields whose headers are understood: the name of the field itself wins, then the surest header.

    Raises Refused if a required field has two candidates and neither bears its name.
    """
    plain = [without_hint(plain_header(header)) for header in headers]
    fields: dict[str, tuple[int, ...]] = {}
    for field, names in vocabulary.understood.items():
        if parts := in_parts(plain, names, vocabulary.together.get(field, ())):
            fields[field] = parts
            continue
        found = [place for name in names for place, header in enumerate(plain) if header == name]
        certain = found and plain[found[0]] == plain_header(field) and plain.count(plain[found[0]]) == 1
        if len(found) > 1 and vocabulary.needs(field) and not certain:
            both = " and ".join(quoted(headers[place]) for place in found[:2])
            raise Refused(f"The columns {both} can both be the {field}: choose with --map {field}=COLUMN.")
        if found:
            fields[field] = (found[0],)
    return fields


def in_parts(plain: Sequence[str], whole: Sequence[str], together: Iterable[Parts]) -> tuple[int, ...]:
    """The columns of a field that stands in several; none if a header can only be the whole of it."""
    of_parts = {name for parts in together for names in parts for name in names}
    if set(plain) & (set(whole) - of_parts):
        return ()
    for parts in together:
        places = [[place for place, header in enumerate(plain) if header in names] for names in parts]
        if all(len(found) == 1 for found in places[:2]):
            return tuple(place for found in places for place in found[:1])
    return ()


def unique_names(headers: Sequence[str], width: int) -> tuple[str, ...]:
    """A name for each column: its header, made unique by its position; `column 3` where it has none."""
    names: list[str] = []
    for place in range(width):
        header = headers[place] if place < len(headers) else ""
        name = header or f"column {place + 1}"
        while name in names or (name != header and name in headers):
            name = f"{name} (column {place + 1})"
        names.append(name)
    return tuple(names)


def spaced(text: str) -> str:
    """A header as it is compared: NFC, trimmed, with no-break spaces, line breaks and runs of spaces as one space."""
    return SPACE.join(unicodedata.normalize("NFC", text).split())


def plain_header(text: str) -> str:
    """A header without accents, case and punctuation; signs that stand for a number are `no`."""
    kept = (char if char.isalnum() else SPACE for char in without_accents(text).replace("#", " no "))
    return NUMBER_SIGN.sub("no", SPACE.join("".join(kept).split()))


def without_hint(plain: str) -> str:
    """A plain header without what a form adds to say how its column is filled in."""
    return HINT.sub("", plain)
