"""Applying a file of people: whoever is new and whatever changes, in a few statements for all of them at once.

What becomes of each line was decided before (`app/imports`). A file makes no account and lets nobody in: that is done
one by one, in the settings. Each change leaves the trail of the same change by hand, with people by id alone.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError

from app.domain.acts import Role
from app.domain.errors import Refused
from app.domain.recipients import MEMBER
from app.ledger.queue import changed
from app.models import Post
from app.operations import imports, members
from app.operations.batches import Trail, as_json, batches
from app.operations.imports import SOURCE, Evidence
from app.operations.inspectors import limit_to_kinds
from app.operations.kinds import clean_name, key_of
from app.trail.act import Act
from app.wording import later

MEANWHILE = later("Somebody has changed people of this file meanwhile: bring it again.")

ADD_MEMBERS = """
insert into member (org_id, name, email, number, role, locale)
select :org, g.name, g.email, g.number, g.role, (select o.locale from organisation o where o.id = :org)
from jsonb_to_recordset(cast(:rows as jsonb)) as g (line int, name text, email text, number text, role text)
order by g.line
on conflict do nothing
returning id, email, number"""

CHANGE_MEMBERS = """
update member m set name = coalesce(g.name, m.name), email = coalesce(g.email, m.email),
  number = coalesce(g.number, m.number), role = coalesce(g.role, m.role)
from jsonb_to_recordset(cast(:rows as jsonb)) as g (id bigint, name text, email text, number text, role text)
where m.org_id = :org and m.id = g.id"""

ADD_LIMITS = """
insert into member_site (org_id, member_id, site_id)
select :org, g.member_id, g.site_id
from jsonb_to_recordset(cast(:rows as jsonb)) as g (member_id bigint, site_id bigint)
on conflict do nothing"""

ADD_HOLDINGS = """
insert into site_post (org_id, site_id, post_id, member_id, from_on)
select :org, g.site_id, g.post_id, g.member_id, g.from_on
from jsonb_to_recordset(cast(:rows as jsonb)) as g (site_id bigint, post_id bigint, member_id bigint, from_on date)
on conflict do nothing"""

LOCK = """
select count(*) from (
  select id from member where org_id = :org and id = any (cast(:ids as bigint[])) order by id for update) m"""

# Whom rules name by the address, as recipients or for messages that come back.
NAMED_IN_RULES = """
select lower(recipient) as named from rule_recipient where org_id = :org
union select lower(fallback) from alert_rule where org_id = :org and archived_at is null and fallback is not null"""

# What the trail says of each column that changes; names, numbers and addresses are not in it.
EVENTS = {"name": "member_renamed", "number": "member_number_changed", "email": "member_address_changed"}


@dataclass(frozen=True, slots=True)
class Holding:
    """A post that somebody is to hold at a site, from a day on."""

    line: int
    post: str
    site_id: int
    from_on: dt.date


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A person who is new; limited to these sites, if there are any. An empty number or address is none."""

    line: int
    name: str
    number: str
    email: str
    role: Role
    site_ids: tuple[int, ...]
    holdings: Sequence[Holding]


@dataclass(frozen=True, slots=True)
class Change:
    """What changes of a member: columns, sites besides those that they are limited to, and posts."""

    line: int
    member_id: int
    old: Mapping[str, str | None]
    new: Mapping[str, str]
    limits: tuple[int, ...]
    more_sites: tuple[int, ...]
    holdings: Sequence[Holding]


@dataclass(frozen=True)
class Applied:
    import_run_id: int
    posts_made: list[str]


def lock(act: Act, member_ids: Iterable[int]) -> None:
    """Lock these members, in the order of their ids."""
    act.run(LOCK, {"ids": sorted(member_ids)})


def apply(act: Act, evidence: Evidence, newcomers: Sequence[Newcomer], changes: Sequence[Change]) -> Applied:
    """Make and change all people of a file, in the caller's transaction. Raises Refused if others did meanwhile.

    1. The import itself is kept, so that each event can name it.
    2. Posts are made, then people, then what changes of those who are there.
    3. Limits come before the posts that need them.
    """
    run_id = imports.keep(act, evidence)
    trail = Trail(act, {"source": SOURCE, "import_run_id": run_id})
    named = [holding.post for one in newcomers for holding in one.holdings]
    named += [holding.post for one in changes for holding in one.holdings]
    posts, made = find_or_make_posts(act, named)
    ids = add_members(act, newcomers, trail)
    change_members(act, changes, trail)
    add_limits(act, newcomers, ids, changes, trail)
    held = [(member_id, holding) for member_id, one in zip(ids, newcomers, strict=True) for holding in one.holdings]
    held += [(one.member_id, holding) for one in changes for holding in one.holdings]
    add_holdings(act, held, posts, trail)
    trail.write()
    if newcomers or changes:
        changed(act)
    return Applied(run_id, made)


def known_posts(act: Act) -> dict[str, int]:
    """The id of each post of the organisation by its folded name."""
    rows = act.session.execute(select(Post.name, Post.id).where(Post.org_id == act.org))
    return {key_of(name): post_id for name, post_id in rows}


def find_or_make_posts(act: Act, names: Iterable[str]) -> tuple[dict[str, int], list[str]]:
    """All posts of the organisation by their folded names, and the names of those that were made for it."""
    ids = known_posts(act)
    made = []
    for name in names:
        if key_of(name) not in ids:
            line = clean_name(name, later("The name of a post"))
            ids[key_of(name)], is_new = made_or_found(act, line)
            made += [line] if is_new else []
    return ids, made


def made_or_found(act: Act, name: str) -> tuple[int, bool]:
    """The id of the post, and whether it is new: somebody else may have made it meanwhile."""
    adding = insert(Post).values(org_id=act.org, name=name).on_conflict_do_nothing().returning(Post.id)
    post_id = act.session.scalar(adding)
    if post_id is not None:
        act.record("post_created", post_id=post_id, name=name)
        return post_id, True
    there = select(Post.id).where(Post.org_id == act.org, func.lower(Post.name) == func.lower(name))
    return act.session.scalars(there).one(), False


def add_members(act: Act, newcomers: Sequence[Newcomer], trail: Trail) -> list[int]:
    """Their ids, in the same order. Raises Refused if somebody else has made one of them meanwhile."""
    ids = []
    for batch in batches(newcomers):
        rows = [
            {"line": one.line, "name": one.name, "email": one.email or None, "number": one.number or None,
             "role": one.role} for one in batch
        ]  # fmt: skip
        made = {(row.email, row.number): row.id for row in act.run(ADD_MEMBERS, {"rows": as_json(rows)})}
        if len(made) < len(batch):
            raise Refused(MEANWHILE)
        for one, row in zip(batch, rows, strict=True):
            ids.append(made[row["email"], row["number"]])
            trail.add("member_created", None, member_id=ids[-1], role=one.role, valid_until=None, line=one.line)
    return ids


def change_members(act: Act, changes: Iterable[Change], trail: Trail) -> None:
    """Write the columns that differ. Rules that name a person by the address go on naming the person."""
    differing = [one for one in changes if one.new]
    try:
        with act.session.begin_nested():
            for batch in batches(differing):
                act.run(CHANGE_MEMBERS, {"rows": as_json([{"id": one.member_id, **one.new} for one in batch])})
    except IntegrityError:  # The address: nobody else may have it, and the index of the table decides.
        raise Refused(MEANWHILE) from None
    rename_in_rules(act, differing)
    for one in differing:
        if one.new.get("role") == Role.staff:
            limit_to_kinds(act, one.member_id, ())  # Only inspectors are limited to kinds.
        for column in one.new:
            trail.add(EVENTS.get(column, "member_role_changed"), None, line=one.line, **told(one, column))


def told(one: Change, column: str) -> dict[str, Any]:
    """What the event of a column says besides."""
    if column == "email":
        return {"member_id": one.member_id, "has_address": True}
    if column == "role":
        return {"member_id": one.member_id, "old": one.old[column], "new": one.new[column]}
    return {"member_id": one.member_id}


def rename_in_rules(act: Act, changes: Iterable[Change]) -> None:
    moved = [(old, one.new["email"]) for one in changes if (old := one.old.get("email"))]
    named = {row.named for row in act.run(NAMED_IN_RULES)} if moved else set()
    for old, new in moved:
        if f"{MEMBER}:{old}".lower() in named:
            members.rename_in_rules(act, old, new)


def add_limits(
    act: Act, newcomers: Iterable[Newcomer], ids: Iterable[int], changes: Iterable[Change], trail: Trail
) -> None:
    """Who may see which sites: those of newcomers, and more of them for who is limited already."""
    limited = [
        (one.line, member_id, tuple[int, ...](), one.site_ids) for member_id, one in zip(ids, newcomers, strict=True)
    ]
    limited += [(one.line, one.member_id, one.limits, one.more_sites) for one in changes]
    limited = [one for one in limited if one[3]]
    pairs = ({"member_id": member_id, "site_id": site} for _, member_id, _, more in limited for site in more)
    for batch in batches(pairs):
        act.run(ADD_LIMITS, {"rows": as_json(batch)})
    for line, member_id, old, more in limited:
        new = sorted({*old, *more})
        trail.add("member_limited", None, member_id=member_id, old=sorted(old), new=new, line=line)


def add_holdings(act: Act, held: Iterable[tuple[int, Holding]], posts: Mapping[str, int], trail: Trail) -> None:
    for batch in batches(held):
        rows = [
            {"site_id": one.site_id, "post_id": posts[key_of(one.post)], "member_id": member_id,
             "from_on": one.from_on.isoformat()} for member_id, one in batch
        ]  # fmt: skip
        act.run(ADD_HOLDINGS, {"rows": as_json(rows)})
        for (_, one), row in zip(batch, rows, strict=True):
            ids = {name: row[name] for name in ("post_id", "member_id", "site_id")}
            trail.add("post_assigned", None, **ids, old=None, new=[row["from_on"], None], line=one.line)
