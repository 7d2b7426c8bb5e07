"""Who is there already, read once for a file of people: members with what they see and hold, posts, and days of sites.

Read only, and of one organisation: whoever is a member elsewhere is nobody here (P8).
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import select

from app.domain import calendars
from app.domain.acts import Role
from app.domain.errors import UnusableZone
from app.domain.folding import fold_reference
from app.imports.people_lines import Line
from app.models import Member, MemberSite, Post, Site, SitePost
from app.operations.kinds import key_of
from app.trail.act import Act


@dataclass(frozen=True, slots=True)
class Colleague:
    """A member: the sites that they are limited to, the posts (folded) they hold where, and why they are not here."""

    id: int
    name: str
    email: str | None
    number: str | None
    role: Role
    has_account: bool
    limits: frozenset[int]
    held: frozenset[tuple[str, int]]
    absence: str

    @property
    def number_key(self) -> str:
        return fold_reference(self.number or "")

    def may_see(self, site_id: int) -> bool:
        return not self.limits or site_id in self.limits


@dataclass(frozen=True)
class Roster:
    """All members by id, number and address, and the date at each site; None where its time zone cannot be used."""

    people: Mapping[int, Colleague]
    by_number: Mapping[str, list[int]]
    by_email: Mapping[str, int]
    days: Mapping[int, dt.date | None]

    def members_of(self, line: Line) -> set[int]:
        """The members to whom the number or the address of a line belongs."""
        found = set(self.by_number.get(line.number_key, ())) if line.number else set()
        if line.email in self.by_email:
            found.add(self.by_email[line.email])
        return found


def read_roster(act: Act) -> Roster:
    days = read_days(act)
    limits, held = read_limits(act), read_held(act, days)
    people: dict[int, Colleague] = {}
    for row in act.session.execute(select(Member.__table__).where(Member.org_id == act.org)):
        absence = absence_of(row.is_active, row.left_on, row.valid_until, act.now.date())
        facts = (row.id, row.name, row.email, row.number, Role(row.role), row.account_id is not None)
        people[row.id] = Colleague(*facts, frozenset(limits[row.id]), frozenset(held[row.id]), absence)
    by_number: dict[str, list[int]] = defaultdict(list)
    for person in people.values():
        if person.number:
            by_number[person.number_key].append(person.id)
    by_email = {person.email.lower(): person.id for person in people.values() if person.email}
    return Roster(people, dict(by_number), by_email, days)


def absence_of(is_active: bool, left_on: dt.date | None, valid_until: dt.date | None, today: dt.date) -> str:
    """Why nobody lets this member in today, and what to do; nothing if they are let in."""
    if not is_active:
        return "this person is disabled: enable them in Settings first"
    if left_on is not None and left_on <= today:
        return f"this person left on {left_on}: take that back first, or correct the number or e-mail"
    if valid_until is not None and valid_until < today:
        return f"the access of this person ended on {valid_until}: prolong it in Settings first"
    return ""


def read_days(act: Act) -> dict[int, dt.date | None]:
    days: dict[int, dt.date | None] = {}
    for row in act.session.execute(select(Site.id, Site.timezone).where(Site.org_id == act.org)):
        try:
            days[row.id] = calendars.today(act.now, row.timezone)
        except UnusableZone:
            days[row.id] = None
    return days


def read_limits(act: Act) -> dict[int, set[int]]:
    limits: dict[int, set[int]] = defaultdict(set)
    pairs = select(MemberSite.member_id, MemberSite.site_id).where(MemberSite.org_id == act.org)
    for member_id, site_id in act.session.execute(pairs):
        limits[member_id].add(site_id)
    return limits


def read_held(act: Act, days: Mapping[int, dt.date | None]) -> dict[int, set[tuple[str, int]]]:
    """The posts that each member holds, or will: one that has not ended is left as it is, whatever its days."""
    held: dict[int, set[tuple[str, int]]] = defaultdict(set)
    asked = select(SitePost.member_id, SitePost.site_id, SitePost.until_on, Post.name).where(SitePost.org_id == act.org)
    asked = asked.join(Post, (Post.org_id == SitePost.org_id) & (Post.id == SitePost.post_id))
    for row in act.session.execute(asked):
        today = days[row.site_id]
        if row.until_on is None or today is None or row.until_on >= today:
            held[row.member_id].add((key_of(row.name), row.site_id))
    return held
