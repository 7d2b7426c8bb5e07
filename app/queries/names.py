"""What people, posts, sites, kinds and rules are called now: by the word under which something names them, and an id.

History keeps ids, since names change; whoever shows it asks here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select, true
from sqlalchemy.orm import Session

from app.models import AlertRule, Base, Kind, Member, Obligation, Post, Site
from app.queries.together import together

# Under which words the details of events name a row, and of which table.
NAMED: Mapping[str, type[Base]] = {
    "member": Member,
    "member_id": Member,
    "recipient": Member,
    "owner_member_id": Member,
    "holder_id": Member,
    "whose_member_id": Member,
    "whose_post_id": Post,
    "post_id": Post,
    "owner_post_id": Post,
    "site": Site,
    "site_id": Site,
    "kind_id": Kind,
    "rule": AlertRule,
    "obligation_id": Obligation,
}
TEXT_OF: Mapping[type[Base], Any] = {
    Member: Member.name,
    Post: Post.name,
    Site: Site.name,
    Kind: Kind.name,
    AlertRule: AlertRule.name,
    Obligation: Obligation.due_on,
}
OF_FACTS = ("owner_member_id", "owner_post_id", "kind_id", "site_id")  # A word of each table that entries name.


@dataclass(frozen=True)
class Names:
    """The name of a row by the word that means its table, and its id."""

    known: Mapping[type[Base], Mapping[int, str]] = field(default_factory=dict)

    def of(self, word: str, number: object) -> str | None:
        """The name; None where there is no number. What is a text already is one (an import has its kind by name)."""
        if isinstance(number, str):
            return number
        if not isinstance(number, int):
            return None
        return self.known.get(NAMED[word], {}).get(number, f"number {number}")

    def of_actor(self, actor: str) -> str:
        """The name of the member who did it; the empty text for Onus itself and its operator."""
        number = member_in(actor)
        return (self.of("member", number) or "") if number is not None else ""


def member_in(actor: str) -> int | None:
    """The number of the member that an actor is, if it is one."""
    route, _, number = actor.partition(":")
    return int(number) if route == "member" and number.isdecimal() else None


def read_names(session: Session, org: int, wanted: Mapping[str, Collection[int]]) -> Names:
    """The names of these ids, each under a word that means its table: all in one look."""
    ids: dict[type[Base], set[int]] = {}
    for word, numbers in wanted.items():
        ids.setdefault(NAMED[word], set()).update(numbers)
    return _look_up(session, org, {table: numbers for table, numbers in ids.items() if numbers})


def read_names_of_entries(session: Session, org: int) -> Names:
    """Whatever an entry may name: all people, posts, kinds and sites."""
    return _look_up(session, org, {NAMED[word]: None for word in OF_FACTS})


def _look_up(session: Session, org: int, wanted: Mapping[Any, Collection[int] | None]) -> Names:
    """All tables in one look; None: every row of the table."""
    if not wanted:
        return Names()
    asked = [
        select(table.id, TEXT_OF[table]).where(table.org_id == org, true() if ids is None else table.id.in_(ids))
        for table, ids in wanted.items()
    ]
    found = zip(wanted, together(session, *asked), strict=True)
    return Names({table: {row[0]: str(row[1]) for row in rows} for table, rows in found})
