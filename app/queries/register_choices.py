"""What the forms and filters of the register offer: kinds, people and posts.

Offered as responsible or holder are the members who are there today and may see the site. An inspector is not: they
change nothing, and could not answer.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.domain.acts import Role
from app.models import Kind, Member, MemberSite, Post, Subject
from app.queries.together import together


@dataclass(frozen=True)
class Named:
    """A kind, a member or a post, by its id."""

    id: int
    name: str


@dataclass(frozen=True)
class Candidate:
    """A member who is there; without sites, they may see all of them."""

    id: int
    name: str
    sites: frozenset[int]

    def may_see(self, site_id: int) -> bool:
        return not self.sites or site_id in self.sites


@dataclass(frozen=True)
class Owners:
    """Who is responsible for some entry: members and posts."""

    members: list[Named]
    posts: list[Named]


def read_kinds(session: Session, org: int) -> list[Named]:
    query = select(Kind.id, Kind.name).where(Kind.org_id == org).order_by(Kind.name)
    return [Named(*row) for row in session.execute(query)]


def read_posts(session: Session, org: int) -> list[Named]:
    query = select(Post.id, Post.name).where(Post.org_id == org).order_by(Post.name)
    return [Named(*row) for row in session.execute(query)]


def read_candidates(session: Session, org: int, today: dt.date, site_ids: Collection[int]) -> list[Candidate]:
    """The members who are there on this day and may see at least one of the sites."""
    limits: defaultdict[int, set[int]] = defaultdict(set)
    pairs = select(MemberSite.member_id, MemberSite.site_id).where(MemberSite.org_id == org)
    query = select(Member.id, Member.name).where(
        Member.org_id == org,
        Member.is_active,
        Member.role != Role.inspector,
        Member.left_on.is_(None) | (Member.left_on > today),
        Member.valid_until.is_(None) | (Member.valid_until >= today),
    )
    limited, present = together(session, pairs, query.order_by(Member.name, Member.id))
    for member_id, site_id in limited:
        limits[member_id].add(site_id)
    found = [Candidate(row.id, row.name, frozenset(limits[row.id])) for row in present]
    return [one for one in found if any(one.may_see(site_id) for site_id in site_ids)]


def read_owners(session: Session, org: int) -> Owners:
    """Who is responsible for anything, for the filter of the list."""
    members = select(Subject.owner_member_id).where(Subject.org_id == org)
    posts = select(Subject.owner_post_id).where(Subject.org_id == org)
    people = select(Member.id, Member.name).where(Member.org_id == org, Member.id.in_(members))
    functions = select(Post.id, Post.name).where(Post.org_id == org, Post.id.in_(posts))
    found = together(session, people.order_by(Member.name, Member.id), functions.order_by(Post.name))
    return Owners(*([Named(*row) for row in rows] for rows in found))
