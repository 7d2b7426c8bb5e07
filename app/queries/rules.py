"""What the rules page shows: each rule in full, how many entries it reaches, and when it last told somebody."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Text, and_, func, literal, select
from sqlalchemy.orm import Session

from app.domain import thresholds
from app.domain.acts import Role, Status
from app.domain.delivery import TOLD
from app.domain.recipients import HOLDER, MEMBER, OWNER, POST, ROLE
from app.models import (
    AlertRule,
    Delivery,
    Kind,
    Member,
    NotificationLedger,
    Post,
    RuleKind,
    RuleRecipient,
    RuleSite,
    RuleSubject,
    RuleThreshold,
    Site,
    Subject,
)
from app.queries.name_pages import NamePage, page
from app.queries.together import Asked, Found, together

ROUTES = (OWNER, HOLDER, POST, ROLE, MEMBER)
LATELY = 20_000  # Alerts that are looked through for the last one of each rule: a bounded read of an index.

Places = Mapping[tuple[int, int], int]  # How many entries are watched, by kind and site.


@dataclass(frozen=True)
class RuleLine:
    """A rule, whole. Empty kinds, sites or entries mean all; ids map to names, entries to references."""

    id: int
    name: str
    channels: Sequence[str]
    only_if: str
    fallback: str | None
    is_active: bool
    version: int
    notices: Sequence[str]
    recipients: Sequence[str]
    kinds: Mapping[int, str]
    sites: Mapping[int, str]
    entries: Mapping[int, str]
    people: Mapping[str, str]
    reached: int
    last_told_at: dt.datetime | None


@dataclass(frozen=True)
class Audience:
    """Whom a rule may name: the posts, and people by address; `others` says which addresses are members besides."""

    posts: Sequence[str]
    people: Mapping[str, str]


def rules(session: Session, org: int, after: int | None = None) -> NamePage[RuleLine]:
    found = page(session, org, _query(org), AlertRule, after, lambda row: row)
    return NamePage(_lines(session, org, found.lines), found.after)


def rule(session: Session, org: int, rule_id: int) -> RuleLine | None:
    rows = session.execute(_query(org).where(AlertRule.id == rule_id)).all()
    return next(iter(_lines(session, org, rows)), None)


def _query(org: int) -> Any:
    one = AlertRule
    facts = (one.id, one.name, one.channels, one.only_if, one.fallback, one.is_active, one.version)
    return select(*facts).where(one.org_id == org, one.archived_at.is_(None))


def _lines(session: Session, org: int, rows: Sequence[Any]) -> list[RuleLine]:
    ids = [row.id for row in rows]
    asked = (
        _texts(org, ids, RuleThreshold, RuleThreshold.threshold),
        _texts(org, ids, RuleRecipient, RuleRecipient.recipient),
        _named(org, ids, RuleKind, RuleKind.kind_id, Kind, Kind.name),
        _named(org, ids, RuleSite, RuleSite.site_id, Site, Site.name),
        _named(org, ids, RuleSubject, RuleSubject.subject_id, Subject, Subject.reference),
        places_asked(org), _last_told(org), _people(org, ids), _watched_entries(org, ids),
    )  # fmt: skip
    texts, to, of_kinds, of_sites, of_entries, at_places, lately, people, alone = together(session, *asked)
    notices, recipients = by_rule(texts), by_rule(to)
    kinds, sites, entries = names_by_rule(of_kinds), names_by_rule(of_sites), names_by_rule(of_entries)
    names, watched = {row[0]: row[1] for row in people}, places_of(at_places)
    told, single = {row[0]: row[1] for row in lately}, {row.id: (row.kind_id, row.site_id) for row in alone}
    return [
        RuleLine(
            **row._mapping,
            notices=thresholds.in_order(notices[row.id]),
            recipients=sorted(recipients[row.id], key=_rank),
            kinds=kinds[row.id],
            sites=sites[row.id],
            entries=entries[row.id],
            people=names,
            reached=_reached(kinds[row.id], sites[row.id], entries[row.id], watched, single),
            last_told_at=told.get(row.id),
        )
        for row in rows
    ]


def _rank(recipient: str) -> tuple[int, str]:
    """Whoever has the duty first, then posts and roles, then people."""
    return ROUTES.index(recipient.partition(":")[0]), recipient


def _texts(org: int, ids: Collection[int], table: Any, column: Any) -> Asked:
    return select(table.rule_id, column).where(table.org_id == org, table.rule_id.in_(ids))


def by_rule(rows: Found) -> dict[int, list[str]]:
    held: defaultdict[int, list[str]] = defaultdict(list)
    for rule_id, text in rows:
        held[rule_id].append(text)
    return held


def _named(org: int, ids: Collection[int], table: Any, key: Any, named: Any, name: Any) -> Asked:
    query = select(table.rule_id, named.id, name).join(named, (named.org_id == table.org_id) & (named.id == key))
    return query.where(table.org_id == org, table.rule_id.in_(ids)).order_by(func.lower(name), named.id)


def names_by_rule(rows: Found) -> dict[int, dict[int, str]]:
    held: defaultdict[int, dict[int, str]] = defaultdict(dict)
    for rule_id, own_id, text in rows:
        held[rule_id][own_id] = text
    return held


def _people(org: int, ids: Collection[int]) -> Asked:
    """The names of the members that rules name by address."""
    address = func.lower(Member.email, type_=Text)
    is_named = RuleRecipient.recipient == literal(f"{MEMBER}:") + address
    query = select(address, Member.name).distinct().join(RuleRecipient, and_(RuleRecipient.org_id == org, is_named))
    return query.where(Member.org_id == org, RuleRecipient.rule_id.in_(ids))


def places(session: Session, org: int) -> Places:
    """How many entries are watched, of each kind at each site in use."""
    return places_of(session.execute(places_asked(org)))


def places_of(rows: Found) -> Places:
    return {(kind_id, site_id): count for kind_id, site_id, count in rows}


def places_asked(org: int) -> Asked:
    """The select whose result `places_of` takes."""
    return (
        select(Subject.kind_id, Subject.site_id, func.count())
        .join(Site, (Site.org_id == Subject.org_id) & (Site.id == Subject.site_id) & Site.archived_at.is_(None))
        .where(Subject.org_id == org, Subject.status == Status.watched)
        .group_by(Subject.kind_id, Subject.site_id)
    )


def _watched_entries(org: int, ids: Collection[int]) -> Asked:
    """Kind and site of the entries that these rules name, and that are watched at a site in use."""
    named = select(RuleSubject.subject_id).where(RuleSubject.org_id == org, RuleSubject.rule_id.in_(ids))
    return (
        select(Subject.id, Subject.kind_id, Subject.site_id)
        .join(Site, (Site.org_id == Subject.org_id) & (Site.id == Subject.site_id) & Site.archived_at.is_(None))
        .where(Subject.org_id == org, Subject.status == Status.watched, Subject.id.in_(named))
    )


def _reached(
    kinds: Collection[int],
    sites: Collection[int],
    entries: Collection[int],
    watched: Places,
    single: Mapping[int, tuple[int, int]],
) -> int:
    """How many watched entries the rule is about, with no row of a sort meaning all."""

    def covers(place: tuple[int, int]) -> bool:
        return (not kinds or place[0] in kinds) and (not sites or place[1] in sites)

    if entries:
        return sum(entry in single and covers(single[entry]) for entry in entries)
    return sum(count for place, count in watched.items() if covers(place))


def _last_told(org: int) -> Asked:
    """When each rule last told somebody, as far as the latest alerts show."""
    claim = NotificationLedger
    latest = select(claim.id, claim.rule_id).where(claim.org_id == org)
    recent = latest.order_by(claim.claimed_at.desc(), claim.id.desc()).limit(LATELY).subquery()
    at = func.max(func.coalesce(Delivery.handed_over_at, Delivery.delivered_at))
    query = select(recent.c.rule_id, at).join(Delivery, (Delivery.org_id == org) & (Delivery.claim_id == recent.c.id))
    return query.where(Delivery.state.in_(TOLD)).group_by(recent.c.rule_id)


def audience(session: Session, org: int) -> Audience:
    """Posts, and the people who run things, whom a form offers; everybody else is typed by address."""
    posts = select(Post.name).where(Post.org_id == org).order_by(func.lower(Post.name))
    offered = select(func.lower(Member.email, type_=Text), Member.name).where(
        Member.org_id == org, Member.is_active, Member.email.is_not(None), Member.role.in_((Role.admin, Role.officer))
    )
    names, people = together(session, posts, offered.order_by(func.lower(Member.name)))
    return Audience(list(names.scalars()), {row[0]: row[1] for row in people})


def names_of(session: Session, org: int, addresses: Collection[str]) -> dict[str, str]:
    """The members of these folded addresses, by name."""
    query = select(func.lower(Member.email), Member.name).where(
        Member.org_id == org, func.lower(Member.email).in_(addresses)
    )
    return dict(session.execute(query).all())
