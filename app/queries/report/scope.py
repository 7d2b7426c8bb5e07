"""What a report is narrowed to: what its reader may see, and the period, site, rule and entry that were asked for.

Every section asks the one scope, so that none of them shows what another leaves out.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, or_, select, true
from sqlalchemy.orm import Session

from app.domain.calendars import DAY
from app.models import (
    Acknowledgement,
    Delivery,
    NotificationLedger,
    RuleKind,
    RuleSite,
    RuleSubject,
    Subject,
)
from app.queries.alerts import start_of
from app.queries.sight import Sight, SiteDay

AT_ONCE = 500  # Rows that are held at a time, so that a report of any length needs the same memory.
EARLIEST = dt.datetime(1, 1, 1, tzinfo=dt.UTC)
LATEST = dt.datetime(9999, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True)
class Asked:
    """What was asked for; None: all of it. Days are those of the organisation, both included."""

    from_on: dt.date | None = None
    to_on: dt.date | None = None
    site_id: int | None = None
    rule_id: int | None = None
    subject_id: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Without what was not asked for."""
        days = {"from_on": self.from_on and self.from_on.isoformat(), "to_on": self.to_on and self.to_on.isoformat()}
        ids = {"site_id": self.site_id, "rule_id": self.rule_id, "subject_id": self.subject_id}
        return {name: value for name, value in {**days, **ids}.items() if value is not None}

    @classmethod
    def of_json(cls, kept: Mapping[str, Any]) -> Asked:
        days = {name: dt.date.fromisoformat(kept[name]) for name in ("from_on", "to_on") if name in kept}
        return cls(**{**kept, **days})


@dataclass(frozen=True)
class Scope:
    """The rows of one report. `zone` is the organisation's, for what happens at no site."""

    sight: Sight
    zone: str
    asked: Asked = field(default_factory=Asked)

    @property
    def org(self) -> int:
        return self.sight.org

    @property
    def since(self) -> dt.datetime:
        return start_of(self.asked.from_on, self.zone) if self.asked.from_on else EARLIEST

    @property
    def until(self) -> dt.datetime:
        return start_of(self.asked.to_on + DAY, self.zone) if self.asked.to_on else LATEST

    @property
    def sites(self) -> Sequence[SiteDay]:
        """Those that the report is about, by name."""
        return [site for site in self.sight.sites.values() if self.asked.site_id in (None, site.id)]

    @property
    def is_about_all(self) -> bool:
        """Whether what belongs to no site, rule or entry belongs to the report."""
        narrowed = (self.asked.site_id, self.asked.rule_id, self.asked.subject_id)
        return not self.sight.is_limited and self.sight.kinds is None and not any(narrowed)

    def within(self, instant: Any) -> ColumnElement[bool]:
        return and_(instant >= self.since, instant < self.until)

    def entries(self, entry: Any = Subject) -> ColumnElement[bool]:
        """Whether the report is about this entry: seen today, and one that was asked for."""
        found = [entry.org_id == self.org, self.sight.covers(entry)]
        if self.asked.site_id is not None:
            found.append(entry.site_id == self.asked.site_id)
        if self.asked.subject_id is not None:
            found.append(entry.id == self.asked.subject_id)
        if self.asked.rule_id is not None:
            found.append(or_(self._reached(entry), self._told_by_rule(entry)))
        return and_(*found)

    def _reached(self, entry: Any) -> ColumnElement[bool]:
        """Whether the rule means the entry, as it stands; a rule that names none of a sort means all of them."""
        found: list[Any] = []
        sorts = ((RuleKind, RuleKind.kind_id, entry.kind_id), (RuleSite, RuleSite.site_id, entry.site_id),
                 (RuleSubject, RuleSubject.subject_id, entry.id))  # fmt: skip
        for table, named, own in sorts:
            of_rule: Select[Any] = select(named).where(table.org_id == self.org, table.rule_id == self.asked.rule_id)
            found.append(or_(~of_rule.exists(), own.in_(of_rule)))
        return and_(*found)

    def _told_by_rule(self, entry: Any) -> ColumnElement[bool]:
        claim = NotificationLedger
        told = select(claim.subject_id).where(claim.org_id == self.org, claim.rule_id == self.asked.rule_id)
        reached: ColumnElement[bool] = entry.id.in_(told)
        return reached

    def alerts(self) -> ColumnElement[bool]:
        """Of the alerts of these entries, beside them: raised, told or answered in the period, by the rule."""
        claim = NotificationLedger
        of_rule = claim.rule_id == self.asked.rule_id if self.asked.rule_id is not None else true()
        return and_(claim.org_id == self.org, of_rule, self.entries(), self._in_period())

    def _in_period(self) -> ColumnElement[bool]:
        if self.asked.from_on is None and self.asked.to_on is None:
            return true()
        claim = NotificationLedger
        sent = Delivery.org_id == self.org, Delivery.claim_id == claim.id
        told = exists().where(*sent, or_(self.within(Delivery.delivered_at), self.within(Delivery.handed_over_at)))
        said = Acknowledgement.org_id == self.org, Acknowledgement.claim_id == claim.id
        answered = exists().where(*said, self.within(Acknowledgement.acknowledged_at))
        return or_(self.within(claim.claimed_at), told.correlate(claim), answered.correlate(claim))

    def of_alerts(self) -> Select[Any]:
        """The numbers of the alerts, for what hangs on them."""
        claim = NotificationLedger
        same = and_(Subject.org_id == claim.org_id, Subject.id == claim.subject_id)
        return select(claim.id).join(Subject, same).where(self.alerts())


def portions(session: Session, query: Any) -> Iterator[Sequence[Any]]:
    """The rows some at a time, as the database gives them."""
    yield from session.execute(query.execution_options(yield_per=AT_ONCE)).partitions()
