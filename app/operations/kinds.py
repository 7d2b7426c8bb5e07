"""Kinds by their names: found, or made and reported; and what a person says of one.

A name that differs only in case or spacing is the same kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert

from app.domain.errors import Refused, quoted
from app.domain.folding import clean_text, fold_name
from app.models import Kind
from app.operations import names, typed
from app.trail.act import Act
from app.wording import later

NEW_KIND_WORDING = "expires"  # Most kinds lapse; a person rewords the others.
WORDINGS = (NEW_KIND_WORDING, "falls_due")
OF_ENTRIES_WITHOUT_ONE = "other"  # Each organisation has it, so it keeps its name.
KIND_NAME, WHAT_TO_DO = later("The name of the kind"), later("What to do")
TAKEN = later("The kind %(name)s is there already: choose another name.")


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


def find_kind(act: Act, name: str) -> int:
    """The kind of this name. Raises Refused where there is none."""
    found = known_kinds(act).get(key_of(name))
    if found is None:
        raise Refused("There is no kind %(name)s: correct the name; Settings list the kinds.", name=quoted(name))
    return found


def find_or_make(act: Act, named: Iterable[str]) -> KindsNamed:
    """All kinds of the organisation, with those of these names that it did not have. Raises Refused for a bad name."""
    ids = known_kinds(act)
    made: list[str] = []
    for name in named:
        key = key_of(name)
        if key and key not in ids:
            cleaned = clean_name(name, later("The name of a kind"))
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


@dataclass(frozen=True)
class KindText:
    """What a person says of a kind. `what_to_do_in` is the same in other languages, by their codes.

    The recurrence and its basis are those of new entries that say nothing themselves; other entries stay as they are.
    With `proof_needed` no deadline of the kind is closed as done without a paper, from now on.
    """

    name: str
    wording: str = NEW_KIND_WORDING
    what_to_do: str = ""
    what_to_do_in: Mapping[str, str] = field(default_factory=dict)
    recurrence: str = ""
    recurrence_basis: str = ""
    proof_needed: bool = False
    staff_may_close: bool = False  # Whoever says that it is done closes the deadline, and nobody checks it.

    def cleaned(self) -> dict[str, Any]:
        """The columns of the kind. Raises Refused for what cannot be."""
        told = {code: clean_text(said, WHAT_TO_DO, typed.LONGEST_NOTE) for code, said in self.what_to_do_in.items()}
        return {
            "name": typed.one_line(self.name, KIND_NAME),
            "wording": check_wording(self.wording),
            "what_to_do": clean_text(self.what_to_do, WHAT_TO_DO, typed.LONGEST_NOTE),
            "what_to_do_in": {code: said for code, said in told.items() if said},
            **typed.rhythm(self.recurrence, self.recurrence_basis),
            "proof_needed": self.proof_needed,
            "staff_may_close": self.staff_may_close,
        }


def add_kind(act: Act, said: KindText) -> int:
    """A new kind, as a person words it. Raises Refused if its name is taken."""
    line = typed.one_line(said.name, KIND_NAME)
    kind_id, is_new = made_or_found(act, line)
    if not is_new:
        raise Refused(TAKEN, name=quoted(line))
    change_kind(act, kind_id, said)
    return kind_id


def change_kind(act: Act, kind_id: int, said: KindText) -> bool:
    """Make the kind say this. Rules and entries stay with it, whatever it is called."""
    new = said.cleaned()
    query = select(Kind).where(Kind.org_id == act.org, Kind.id == kind_id).with_for_update()
    kind = act.session.scalars(query.execution_options(populate_existing=True)).one()
    old = {part: getattr(kind, part) for part in new if getattr(kind, part) != new[part]}
    if not old:
        return False
    if key_of(kind.name) == OF_ENTRIES_WITHOUT_ONE and key_of(new["name"]) != OF_ENTRIES_WITHOUT_ONE:
        words = later("The kind %(name)s keeps its name: entries that name no kind belong to it.")
        raise Refused(words, name=quoted(kind.name))
    names.give(act, kind, new["name"], TAKEN)
    for part in old.keys() - {"name"}:
        setattr(kind, part, new[part])
    act.record("kind_changed", kind_id=kind_id, old=old, new={part: new[part] for part in old})
    return True


def check_wording(wording: str) -> str:
    if wording not in WORDINGS:
        one_of = ", ".join(WORDINGS)
        raise Refused("%(text)s is not a wording: choose one of %(words)s.", text=quoted(wording), words=one_of)
    return wording
