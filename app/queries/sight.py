"""What a person may see: the sites, all of them or those that they are limited to, each with its own date of today;
and of an inspector perhaps the kinds.

Every list of the screens is judged by it. Days are worked out here, site by site: SQL converts no zone (P6).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Date,
    ScalarSelect,
    TableValuedAlias,
    and_,
    cast,
    column,
    func,
    select,
    true,
)
from sqlalchemy.orm import Session

from app.domain import calendars
from app.domain.errors import UnusableZone
from app.models import MemberKind, MemberSite, Site
from app.queries.together import Asked, Found, together


@dataclass(frozen=True)
class SiteDay:
    """A site and the date that it is there; None where its time zone cannot be used."""

    id: int
    name: str
    timezone: str
    is_archived: bool
    today: dt.date | None


@dataclass(frozen=True)
class Sight:
    """The sites that a person sees at an instant, by id and in the order of their names, archived ones included."""

    org: int
    now: dt.datetime
    sites: Mapping[int, SiteDay]
    is_limited: bool
    kinds: frozenset[int] | None = None  # Those that an inspector is limited to; None: all.

    @property
    def in_use(self) -> list[SiteDay]:
        return [site for site in self.sites.values() if not site.is_archived]

    def covers(self, entry: Any) -> ColumnElement[bool]:
        """Whether the person sees this entry (Subject, or an alias of it); an alert is seen by its entry of today."""
        of_kind = true() if self.kinds is None else entry.kind_id.in_(list(self.kinds))
        return and_(self.covers_site(entry.site_id), of_kind)

    def covers_site(self, site_id: Any) -> ColumnElement[bool]:
        return site_id.in_(list(self.sites)) if self.is_limited else true()

    def sees(self, site_id: int, kind_id: int) -> bool:
        """The same of an entry that was read already."""
        return site_id in self.sites and (self.kinds is None or kind_id in self.kinds)

    def days(self) -> TableValuedAlias:
        """The sites in use whose day is known, as a table `d` of site_id and today."""
        known = [(site.id, site.today) for site in self.in_use if site.today is not None]
        ids = cast([site_id for site_id, _ in known], ARRAY(BigInteger))
        todays = cast([today for _, today in known], ARRAY(Date))
        columns = (column("site_id", BigInteger), column("today", Date))
        return func.unnest(ids, todays).table_valued(*columns).render_derived(name="d")


def read_sight(session: Session, org: int, member_id: int, now: dt.datetime) -> Sight:
    """What this member sees now."""
    return sight_of(org, now, *together(session, *sight_asked(org, member_id)))


def sight_asked(org: int, member_id: int | ScalarSelect[int]) -> tuple[Asked, Asked, Asked]:
    """The selects whose results `sight_of` takes: the sites, and the sites and the kinds that limit the member."""
    limits = select(MemberSite.site_id).where(MemberSite.org_id == org, MemberSite.member_id == member_id)
    to_kinds = select(MemberKind.kind_id).where(MemberKind.org_id == org, MemberKind.member_id == member_id)
    named = select(Site.id, Site.name, Site.timezone, Site.archived_at).where(Site.org_id == org).order_by(Site.name)
    return named, limits, to_kinds


def sight_of(org: int, now: dt.datetime, named: Found, limits: Found, to_kinds: Found) -> Sight:
    limited = set(limits.scalars())
    sites = {
        row.id: SiteDay(row.id, row.name, row.timezone, row.archived_at is not None, _today(now, row.timezone))
        for row in named
        if not limited or row.id in limited
    }
    return Sight(org, now, sites, bool(limited), frozenset(to_kinds.scalars()) or None)


def _today(now: dt.datetime, timezone: str) -> dt.date | None:
    try:
        return calendars.today(now, timezone)
    except UnusableZone:
        return None
