"""Kinds by their names: found, or made and reported. A name that differs only in case or spacing is the same kind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import select

from app.domain.folding import clean_text, fold_name
from app.models import Kind
from app.trail.act import Act

LONGEST_NAME = 200  # Characters of the name of a kind: a line on a screen.
NEW_KIND_WORDING = "expires"  # Most kinds lapse; a person rewords the others.


@dataclass(frozen=True)
class KindsNamed:
    """The id of each kind by its folded name, and the names of those that were made for it."""

    ids: dict[str, int]
    made: list[str]


def key_of(name: str) -> str:
    """The form in which names are compared: one line, case-folded."""
    return fold_name(name).casefold()


def clean_name(name: str, field: str, longest: int = LONGEST_NAME) -> str:
    """A name as it is stored: one line of at most `longest` characters. Raises Refused, which names the field."""
    return fold_name(clean_text(name, field, longest))


def known_kinds(act: Act) -> dict[str, int]:
    """The id of each kind of the organisation by its folded name."""
    rows = act.session.execute(select(Kind.name, Kind.id).where(Kind.org_id == act.org))
    return {key_of(name): kind_id for name, kind_id in rows}


def find_or_make(act: Act, names: Iterable[str]) -> KindsNamed:
    """All kinds of the organisation, with those of these names that it did not have. Raises Refused for a bad name."""
    ids = known_kinds(act)
    made: list[str] = []
    for name in names:
        key = key_of(name)
        if key and key not in ids:
            kind = Kind(org_id=act.org, name=clean_name(name, "The name of a kind"), wording=NEW_KIND_WORDING)
            act.session.add(kind)
            act.session.flush()
            act.record("kind_created", kind_id=kind.id, name=kind.name, wording=kind.wording)
            ids[key] = kind.id
            made.append(kind.name)
    return KindsNamed(ids, made)
