"""Kinds by their names: found, or made and reported. A name that differs only in case or spacing is the same kind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert

from app.domain.folding import clean_text, fold_name
from app.models import Kind
from app.operations import typed
from app.trail.act import Act

NEW_KIND_WORDING = "expires"  # Most kinds lapse; a person rewords the others.


@dataclass(frozen=True)
class KindsNamed:
    """The id of each kind by its folded name, and the names of those that were made for it."""

    ids: dict[str, int]
    made: list[str]


def key_of(name: str) -> str:
    """The form in which names are compared: one line, case-folded."""
    return fold_name(name).casefold()


def clean_name(name: str, field: str) -> str:
    """A name as it is stored: one line. Raises Refused, which names the field."""
    return fold_name(clean_text(name, field, typed.LONGEST_NAME))


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
            cleaned = clean_name(name, "The name of a kind")
            ids[key], is_new = made_or_found(act, cleaned)
            made += [cleaned] if is_new else []
    return KindsNamed(ids, made)


def made_or_found(act: Act, name: str) -> tuple[int, bool]:
    """The id of the kind, and whether it is new: somebody else may have made it meanwhile."""
    adding = insert(Kind).values(org_id=act.org, name=name, wording=NEW_KIND_WORDING)
    kind_id = act.session.scalar(adding.on_conflict_do_nothing().returning(Kind.id))
    if kind_id is not None:
        act.record("kind_created", kind_id=kind_id, name=name, wording=NEW_KIND_WORDING)
        return kind_id, True
    there = select(Kind.id).where(Kind.org_id == act.org, func.lower(Kind.name) == func.lower(name))
    return act.session.scalars(there).one(), False
