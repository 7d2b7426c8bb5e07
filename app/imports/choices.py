"""What a person says of a file on the pages: which column is which field, how dates are written, and so on.

Kept with the file while it is a draft, and offered again for the next file with the same header.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from app.domain.errors import Refused
from app.imports.dates import AUTO, DMY, MDY, YMD
from app.imports.headers import DUE_ON, FIELDS, REFERENCE, Columns
from app.imports.left_over import LINE, REASON, LeftOver, left_over_of
from app.imports.look import Look, check_columns, named
from app.imports.register import (
    LATEST,
    REFUSE,
    Found,
    Imported,
    Options,
    Told,
    import_register,
    nobody,
    read_register,
)
from app.operations import imports
from app.trail.act import Act

PATTERN = "pattern"  # The way of writing dates that is typed as a pattern.
DATE_FORMATS = (AUTO, YMD, DMY, MDY, PATTERN)
ON_CONFLICT = (REFUSE, LATEST)
LEFT_OUT = "left_out"  # Of a column that the register is not to keep.
OF_OURS = (LINE, REASON)  # Columns that only say why a record came back.


@dataclass(frozen=True)
class Choices:
    """`fields` by the position of their column, from 0; several columns of one field are joined.

    `confirmed` are the lines of this file whose bare number is a date; `uploads.OF_ONE_FILE` forgets them with it.
    """

    fields: dict[int, str] = field(default_factory=dict)
    date_format: str = AUTO
    on_conflict: str = REFUSE
    site: str = ""
    no_expiry: str = ""
    date_pattern: str = ""
    confirmed: tuple[int, ...] = ()
    confirm_all: bool = False

    @classmethod
    def of_json(cls, kept: Mapping[str, Any]) -> Choices:
        known = {one.name: kept[one.name] for one in fields(cls) if one.name in kept}
        places = {int(place): name for place, name in kept.get("fields", {}).items()}
        return cls(**{**known, "fields": places, "confirmed": tuple(kept.get("confirmed", ()))})

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def digest(self, look: Look) -> str:
        """The same for the same choices about the same table of a file."""
        said = json.dumps([look.sheet, look.header_row, self.as_json()], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()

    def reads_dates_like(self, other: Choices) -> bool:
        """Whether the same columns are the due date, read in the same way: then the same lines are to be confirmed."""
        said = [
            (one.date_format, one.date_pattern, sorted(place for place in one.fields if one.fields[place] == DUE_ON))
            for one in (self, other)
        ]
        return said[0] == said[1]

    def missing(self) -> list[str]:
        """The required fields that no column is."""
        return [name for name in (REFERENCE, DUE_ON) if name not in self.fields.values()]

    def options(self, look: Look, dry_run: bool) -> Options:
        """How the file is to be read. What arrives lands as a draft."""
        columns = {
            name: "+".join(named(place, look.header) for place in sorted(self.fields) if self.fields[place] == name)
            for name in FIELDS
        }
        return Options(
            maps=tuple(f"{name}={column}" for name, column in columns.items() if column),
            date_format=self.date_pattern if self.date_format == PATTERN else self.date_format,
            no_expiry=tuple(word.strip() for word in self.no_expiry.split(",") if word.strip()),
            on_conflict=self.on_conflict,
            sheet=look.sheet,
            header_row=look.header_row,
            site=self.site or None,
            start=imports.DRAFT,
            dry_run=dry_run,
            confirmed=self.confirmed,
            confirm_all=self.confirm_all,
            loosely=True,
        )

    def check(self) -> None:
        """Raise Refused for a choice that nobody offers."""
        for name, value, known in (
            ("date format", self.date_format, DATE_FORMATS),
            ("", self.on_conflict, ON_CONFLICT),
        ):
            if value not in known:
                raise Refused(f"The {name or 'choice'} is none of the list.")
        if self.date_format == PATTERN and "%" not in self.date_pattern:
            raise Refused("Write the pattern of the dates, such as %d.%m.%y for 31.12.27, or choose another way.")


@dataclass(frozen=True)
class KeptColumns(Columns):
    """The columns of a file of which some are not kept."""

    left_out: frozenset[str]

    def unmapped(self, cells: Sequence[str]) -> dict[str, str]:
        return {name: cell for name, cell in super().unmapped(cells).items() if name not in self.left_out}


@dataclass(frozen=True)
class Outcome:
    """What became, or would become, of the file, and what of it is left to mend."""

    imported: Imported
    left_over: LeftOver


def bring(act: Act, source: bytes, file_name: str, look: Look, choices: Choices, *, dry_run: bool) -> Outcome:
    """Bring the file in, in the caller's transaction, or say what would become of it.

    Raises Refused for a file or a choice that is refused whole.
    """
    return bring_read(act, read_file(source, file_name, look, choices), look, choices, dry_run=dry_run)


def read_file(source: bytes, file_name: str, look: Look, choices: Choices) -> Found:
    """The file as the choices say that it is to be read, without any transaction. Raises Refused."""
    choices.check()
    found = read_register(source, file_name, choices.options(look, dry_run=True))
    check_columns(found.columns, look, {place: name for place, name in choices.fields.items() if name != LEFT_OUT})
    return without_left_out(found, choices)


def bring_read(act: Act, found: Found, look: Look, choices: Choices, *, dry_run: bool, told: Told = nobody) -> Outcome:
    """The rest of `bring`, once the file is read. Raises Refused."""
    imported = import_register(act, found, choices.options(look, dry_run), told)
    return Outcome(imported, left_over_of(found, imported.rows))


def without_left_out(found: Found, choices: Choices) -> Found:
    """The file without the columns that the register is not to keep."""
    columns = found.columns
    said = choices.fields
    ours = {columns.names[place] for place, name in said.items() if name == LEFT_OUT}
    ours |= {name for place, name in enumerate(columns.names) if name in OF_OURS and place not in said}
    return replace(found, columns=KeptColumns(columns.fields, columns.names, frozenset(ours)))
