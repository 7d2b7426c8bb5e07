"""What the rules page shows: each rule in full, how many entries it reaches, and when it last told somebody."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
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
    notices, recipients = (
        _texts(session, org, ids, table, column)
        for table, column in ((RuleThreshold, RuleThreshold.threshold), (RuleRecipient, RuleRecipient.recipient))
    )
    kinds = _named(session, org, ids, RuleKind, RuleKind.kind_id, Kind, Kind.name)
    sites = _named(session, org, ids, RuleSite, RuleSite.site_id, Site, Site.name)
    entries = _named(session, org, ids, RuleSubject, RuleSubject.subject_id, Subject, Subject.reference)
    names, watched, told = _people(session, org, recipients), places(session, org), _last_told(session, org)
    single = _watched_entries(session, org, [entry for of_rule in entries.values() for entry in of_rule])
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


def _texts(session: Session, org: int, ids: Collection[int], table: Any, column: Any) -> dict[int, list[str]]:
    held: defaultdict[int, list[str]] = defaultdict(list)
    for rule_id, text in session.execute(
        select(table.rule_id, column).where(table.org_id == org, table.rule_id.in_(ids))
    ):
        held[rule_id].append(text)
    return held


def _named(
    session: Session, org: int, ids: Collection[int], table: Any, key: Any, named: Any, name: Any
) -> dict[int, dict[int, str]]:
    held: defaultdict[int, dict[int, str]] = defaultdict(dict)
    query = select(table.rule_id, named.id, name).join(named, (named.org_id == table.org_id) & (named.id == key))
    for rule_id, own_id, text in session.execute(
        query.where(table.org_id == org, table.rule_id.in_(ids)).order_by(func.lower(name), named.id)
    ):
        held[rule_id][own_id] = text
    return held


def _people(session: Session, org: int, recipients: Mapping[int, Sequence[str]]) -> dict[str, str]:
    """The names of the members that rules name by address."""
    addresses = {
        text.partition(":")[2] for texts in recipients.values() for text in texts if text.startswith(f"{MEMBER}:")
    }
    query = select(func.lower(Member.email), Member.name)
    rows = session.execute(query.where(Member.org_id == org, func.lower(Member.email).in_(addresses)))
    return dict(rows.all())


def places(session: Session, org: int) -> Places:
    """How many entries are watched, of each kind at each site in use."""
    query = (
        select(Subject.kind_id, Subject.site_id, func.count())
        .join(Site, (Site.org_id == Subject.org_id) & (Site.id == Subject.site_id) & Site.archived_at.is_(None))
        .where(Subject.org_id == org, Subject.status == Status.watched)
        .group_by(Subject.kind_id, Subject.site_id)
    )
    return {(kind_id, site_id): count for kind_id, site_id, count in session.execute(query)}


def _watched_entries(session: Session, org: int, ids: Collection[int]) -> dict[int, tuple[int, int]]:
    """Kind and site of those of these entries that are watched at a site in use."""
    query = (
        select(Subject.id, Subject.kind_id, Subject.site_id)
        .join(Site, (Site.org_id == Subject.org_id) & (Site.id == Subject.site_id) & Site.archived_at.is_(None))
        .where(Subject.org_id == org, Subject.status == Status.watched, Subject.id.in_(ids))
    )
    return {row.id: (row.kind_id, row.site_id) for row in session.execute(query)}


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


def _last_told(session: Session, org: int) -> dict[int, dt.datetime]:
    """When each rule last told somebody, as far as the latest alerts show."""
    claim = NotificationLedger
    latest = select(claim.id, claim.rule_id).where(claim.org_id == org)
    recent = latest.order_by(claim.claimed_at.desc(), claim.id.desc()).limit(LATELY).subquery()
    at = func.max(func.coalesce(Delivery.handed_over_at, Delivery.delivered_at))
    query = select(recent.c.rule_id, at).join(Delivery, (Delivery.org_id == org) & (Delivery.claim_id == recent.c.id))
    return dict(session.execute(query.where(Delivery.state.in_(TOLD)).group_by(recent.c.rule_id)).all())


def audience(session: Session, org: int) -> Audience:
    """Posts, and the people who run things, whom a form offers; everybody else is typed by address."""
    posts = select(Post.name).where(Post.org_id == org).order_by(func.lower(Post.name))
    offered = select(func.lower(Member.email), Member.name).where(
        Member.org_id == org, Member.is_active, Member.email.is_not(None), Member.role.in_((Role.admin, Role.officer))
    )
    return Audience(
        list(session.execute(posts).scalars()), dict(session.execute(offered.order_by(func.lower(Member.name))).all())
    )


def names_of(session: Session, org: int, addresses: Collection[str]) -> dict[str, str]:
    """The members of these folded addresses, by name."""
    query = select(func.lower(Member.email), Member.name).where(
        Member.org_id == org, func.lower(Member.email).in_(addresses)
    )
    return dict(session.execute(query).all())
