"""What the register knows already, read once for an import: sites, people, and the entries that the file names.

Read only. Sets, not single rows: a file of 100,000 records asks a dozen questions.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ARRAY, BigInteger, ColumnElement, Text, any_, cast, func, literal, select

from app.domain.acts import Outcome
from app.domain.errors import Refused, quoted
from app.models import Kind, Member, MemberSite, Obligation, Post, Site, Subject
from app.models.mistaken import archived_in_error
from app.operations.absences import days_of_today
from app.operations.kinds import key_of
from app.operations.presence import Gone, why_gone
from app.operations.typed import iso
from app.trail.act import Act

Key = tuple[int, str]  # A site and a folded reference: the identity of an entry.

GONE = {
    Gone.disabled: "the %(role)s %(person)s is disabled",
    Gone.left: "the %(role)s %(person)s left on %(day)s",
    Gone.let_in: "the %(role)s %(person)s was let in until %(day)s",
}


@dataclass(frozen=True)
class Place:
    """A site."""

    id: int
    name: str
    is_archived: bool


@dataclass(frozen=True)
class Person:
    """A member who may be owner or holder; without sites, of all of them."""

    id: int
    gone: tuple[Gone, dt.date | None] | None  # Why they are not here any more.
    sites: frozenset[int]

    def may_see(self, site_id: int) -> bool:
        return not self.sites or site_id in self.sites


@dataclass(frozen=True)
class Known:
    """The sites and people of the organisation, by the words that a cell may use for them.

    `kept` are people whom entries name though nobody could name them now, and `archived` the entries at sites that are
    archived: what the register says already is no news, and is let pass.
    """

    sites: dict[str, Place]
    people: dict[str, list[Person]] = field(default_factory=dict)
    posts: dict[str, int] = field(default_factory=dict)
    kept: frozenset[tuple[Key, str, int]] = frozenset()
    archived: frozenset[Key] = frozenset()

    def site(self, name: str, reference_key: str = "") -> Place:
        """The site of this name; the only one if the name is empty. Raises Refused."""
        if name:
            place = self.sites.get(key_of(name))
            if place is None:
                raise Refused(f"no such site: {quoted(name)}")
            if place.is_archived and (place.id, reference_key) not in self.archived:
                raise Refused(f"the site {quoted(name)} is archived")
            return place
        open_sites = [place for place in self.sites.values() if not place.is_archived]
        if len(open_sites) != 1:
            raise Refused(f"no such site: none is named, and there are {len(open_sites)}")
        return open_sites[0]

    def person(self, text: str, role: str, site: Place, key: Key) -> int:
        """The id of a member by e-mail or number, who must be here and able to see the site. Raises Refused."""
        found = self.people.get(text.casefold(), [])
        if not found:
            raise Refused(f"no such {role}: {quoted(text)}")
        named = [one for one in found if (key, role, one.id) in self.kept]
        if len(named) == 1:
            return named[0].id
        if len(found) > 1:
            raise Refused(f"the {role} {quoted(text)} is {len(found)} members: name one by e-mail")
        if why := found[0].gone:
            raise Refused(GONE[why[0]], role=role, person=quoted(text), day=why[1])
        if not found[0].may_see(site.id):
            raise Refused(f"the {role} {quoted(text)} may not see the site {quoted(site.name)}")
        return found[0].id

    def post(self, name: str) -> int:
        """The id of a post by its name. Raises Refused."""
        if key_of(name) not in self.posts:
            raise Refused(f"no such post: {quoted(name)}")
        return self.posts[key_of(name)]


@dataclass(frozen=True, slots=True)
class Present:
    """An entry that the register has, with its due dates: each with its obligation, and whether it is open."""

    id: int
    site_id: int
    reference_key: str
    title: str
    kind: str
    owner_id: int | None
    holder_id: int | None
    part_of_id: int | None
    recurrence: str | None
    legal_basis: str
    notes: str
    status: str
    owner_post_id: int | None
    recurrence_basis: str | None
    due_from: str | None
    series_from: dt.date | None
    snoozed_until: dt.date | None
    is_in_error: bool = False  # It was archived as entered in error, and by nothing else since.
    dates: list[tuple[dt.date, int, bool]] = field(default_factory=list)
    mistaken: dict[dt.date, int] = field(default_factory=dict)  # Due dates that were closed as entered in error.

    def has(self, due_on: dt.date | None) -> bool:
        """Whether this is one of its due dates, open or closed."""
        return any(day == due_on for day, _, _ in self.dates)

    @property
    def beside(self) -> dict[str, Any]:
        """What no file says, as it stands in the trail."""
        return {
            "series_from": iso(self.series_from),
            "snoozed_until": iso(self.snoozed_until),
        }

    @property
    def open_due_ons(self) -> dict[dt.date, int]:
        return {day: obligation_id for day, obligation_id, is_open in self.dates if is_open}


def read_places(act: Act) -> dict[str, Place]:
    """The sites of the organisation by their folded names."""
    sites = select(Site.id, Site.name, Site.archived_at).where(Site.org_id == act.org)
    places = [Place(row.id, row.name, row.archived_at is not None) for row in act.session.execute(sites)]
    return {key_of(place.name): place for place in places}


def read_known(act: Act) -> Known:
    limits: dict[int, set[int]] = defaultdict(set)
    pairs = select(MemberSite.member_id, MemberSite.site_id).where(MemberSite.org_id == act.org)
    for member_id, site_id in act.session.execute(pairs):
        limits[member_id].add(site_id)
    people: dict[str, list[Person]] = defaultdict(list)
    day = days_of_today(act)[1]
    here = (Member.is_active, Member.left_on, Member.valid_until)
    members = select(Member.id, Member.email, Member.number, *here).where(Member.org_id == act.org)
    gone: set[int] = set()
    for row in act.session.execute(members):
        why = why_gone(row.is_active, row.left_on, row.valid_until, day)
        gone |= {row.id} if why else set()
        person = Person(row.id, why, frozenset(limits.get(row.id, ())))
        for name in {row.email, row.number} - {None, ""}:
            people[name.casefold()].append(person)
    posts = {key_of(name): post_id for name, post_id in act.session.execute(
        select(Post.name, Post.id).where(Post.org_id == act.org)
    )}  # fmt: skip
    kept = frozenset(read_kept(act, gone, limits))
    return Known(read_places(act), dict(people), posts, kept, frozenset(read_archived(act)))


def read_archived(act: Act) -> Iterator[Key]:
    """The entries at sites that are archived."""
    at = select(Site.id).where(Site.org_id == act.org, Site.archived_at.is_not(None))
    asked = select(Subject.site_id, Subject.reference_key).where(Subject.org_id == act.org, Subject.site_id.in_(at))
    return ((row.site_id, row.reference_key) for row in act.session.execute(asked))


def read_kept(act: Act, gone: Collection[int], limits: Mapping[int, Collection[int]]) -> Iterator[tuple[Key, str, int]]:
    """Where entries name those who are gone, or who may not see their site: the entry, as what, and whom."""
    asked = [*gone, *limits]
    for role, column in (("owner", Subject.owner_member_id), ("holder", Subject.holder_id)):
        naming = select(Subject.site_id, Subject.reference_key, column.label("who")).where(
            Subject.org_id == act.org, column.in_(asked)
        )
        for row in act.session.execute(naming):
            if row.who in gone or row.site_id not in limits[row.who]:
                yield (row.site_id, row.reference_key), role, row.who


def lock_present(act: Act, references: Collection[str]) -> None:
    """Lock the entries of these folded references at all sites, then all their due dates, each in the order of ids."""
    named = (Subject.org_id == act.org, Subject.reference_key == any_(texts(references)))
    subjects = select(Subject.id).where(*named)
    mine = (Subject.org_id == Obligation.org_id) & (Subject.id == Obligation.subject_id)
    dates = select(Obligation.id).join(Subject, mine).where(*named)
    for asked in (
        subjects.order_by(Subject.id).with_for_update(of=Subject),
        dates.order_by(Obligation.id).with_for_update(of=Obligation),
    ):
        act.session.execute(select(func.count()).select_from(asked.subquery()))


def read_ids(act: Act, references: Collection[str]) -> dict[Key, int]:
    """The ids of the entries of these folded references at all sites."""
    asked = select(Subject.id, Subject.site_id, Subject.reference_key)
    rows = act.session.execute(asked.where(Subject.org_id == act.org, Subject.reference_key == any_(texts(references))))
    return {(row.site_id, row.reference_key): row.id for row in rows}


def read_present(act: Act, references: Collection[str]) -> dict[Key, Present]:
    """The entries of these folded references at all sites, with all their due dates."""
    in_error = archived_in_error(act.org, Subject.reference_key == any_(texts(references)))
    asked = (
        select(
            Subject.id, Subject.site_id, Subject.reference_key, Subject.title, Kind.name.label("kind"),
            Subject.owner_member_id.label("owner_id"), Subject.holder_id, Subject.part_of_id, Subject.recurrence,
            Subject.legal_basis, Subject.notes, Subject.status, Subject.owner_post_id, Subject.recurrence_basis,
            Subject.due_from, Subject.series_from, Subject.snoozed_until,
            Subject.id.in_(select(in_error.c.id)).label("is_in_error"),
        )
        .join(Kind, (Kind.org_id == act.org) & (Kind.id == Subject.kind_id))
        .where(Subject.org_id == act.org, Subject.reference_key == any_(texts(references)))
    )  # fmt: skip
    present = {row.id: Present(**row._mapping) for row in act.session.execute(asked)}
    ids = cast(literal(list(present), ARRAY(BigInteger)), ARRAY(BigInteger))
    columns = (Obligation.id, Obligation.subject_id, Obligation.due_on, Obligation.closed_at, Obligation.outcome)
    dates = select(*columns).where(Obligation.org_id == act.org, Obligation.subject_id == any_(ids))
    for row in act.session.execute(dates.order_by(Obligation.id)):
        present[row.subject_id].dates.append((row.due_on, row.id, row.closed_at is None))
        if row.outcome == Outcome.entered_in_error:
            present[row.subject_id].mistaken[row.due_on] = row.id
    return {(entry.site_id, entry.reference_key): entry for entry in present.values()}


def texts(references: Collection[str]) -> ColumnElement[Any]:
    return cast(literal(list(references), ARRAY(Text)), ARRAY(Text))


def read_parents(act: Act) -> dict[int, int]:
    """Which entry is part of which, for all of the register; what was entered in error is part of nothing."""
    asked = select(Subject.id, Subject.part_of_id).where(Subject.org_id == act.org, Subject.part_of_id.is_not(None))
    asked = asked.where(Subject.id.not_in(select(archived_in_error(act.org, Subject.part_of_id.is_not(None)).c.id)))
    return {row.id: row.part_of_id for row in act.session.execute(asked)}
