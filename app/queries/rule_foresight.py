"""What a page says about the days ahead of one rule: its alerts by how soon, what is not sent, and notices that are too
long. The rule is read as the transaction sees it, so that one that is only tried can be looked at, too.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, func, or_, select
from sqlalchemy.orm import Session

from app.domain import recurrences
from app.domain.acts import Status
from app.domain.calendars import DAY
from app.domain.delivery import Reason
from app.domain.thresholds import parse
from app.models import (
    Acknowledgement,
    Delivery,
    Member,
    NotificationLedger,
    Obligation,
    RuleKind,
    RuleSite,
    RuleSubject,
    Site,
    Subject,
)
from app.queries.facts import (
    AnswerRow,
    ClaimRow,
    DeliveryRow,
    Facts,
    read_register_and_people,
    read_rows,
)  # fmt: skip
from app.queries.foretold import Difference, Foretold, difference, foretell

MOST = 5_000  # Entries whose alerts are worked out while a person waits; it takes some seconds.
SOON, LATER = 30, 90  # Days.


@dataclass(frozen=True)
class Outlook:
    """The alerts of one rule from now on. `alerts` is None where it reaches too many entries to work them out."""

    reached: int
    alerts: Sequence[Foretold] | None
    too_long: Sequence[tuple[str, int]] = ()  # Notices as long as a deadline lives or longer, with how many entries.

    @property
    def told(self) -> list[Foretold]:
        return [one for one in self.alerts or () if one.people]

    def within(self, first: int, last: int) -> list[Foretold]:
        """What is told from so many days on until so many days, both included, each by the date of its site."""
        return [one for one in self.told if first <= one.days <= last]

    @property
    def now(self) -> list[Foretold]:
        return self.within(0, 0)

    @property
    def soon(self) -> list[Foretold]:
        return self.within(1, SOON)

    @property
    def later(self) -> list[Foretold]:
        return self.within(SOON + 1, LATER)

    @property
    def quiet(self) -> Mapping[Reason, list[Foretold]]:
        """What is not sent, by why; what finds nobody is apart."""
        found: dict[Reason, list[Foretold]] = {}
        for one in self.alerts or ():
            if one.why is not None and one.why != Reason.nobody_to_tell:
                found.setdefault(one.why, []).append(one)
        return found

    @property
    def nobody(self) -> list[Foretold]:
        return [one for one in self.alerts or () if one.why == Reason.nobody_to_tell]


@dataclass(frozen=True)
class Named:
    """What the lines show of entries, sites and people."""

    titles: Mapping[int, str] = field(default_factory=dict)
    sites: Mapping[int, str] = field(default_factory=dict)
    people: Mapping[int, str] = field(default_factory=dict)

    def told(self, one: Foretold) -> list[str]:
        return sorted(self.people.get(person, "?") for person in one.people)


def last_claim(session: Session, org: int) -> int:
    """What the ledger had before something is tried."""
    query = select(func.coalesce(func.max(NotificationLedger.id), 0)).where(NotificationLedger.org_id == org)
    return int(session.execute(query).scalar_one())


def read_outlook(session: Session, org: int, rule_id: int, now: dt.datetime, today: dt.date, since: int) -> Outlook:
    """`today` is the organisation's own date, from which the lives of deadlines are counted."""
    session.flush()
    reached_ids = select(Subject.id).where(reached(org, rule_id))
    count = int(session.execute(select(func.count()).select_from(reached_ids.subquery())).scalar_one())
    if count > MOST:
        return Outlook(count, None)
    facts = read_rule_facts(session, org, rule_id, reached_ids)
    rule = next(rule for rule in facts.register.rules if rule.id == rule_id)
    notices = [row.threshold for row in facts.register.thresholds if row.rule_id == rule_id]
    alerts = foretell(facts, rule, now, since=since)
    return Outlook(count, alerts, too_long(session, org, rule_id, notices, today))


def reached(org: int, rule_id: int) -> ColumnElement[bool]:
    """The watched entries that the rule is about, at sites in use."""
    narrowed: list[tuple[Any, ColumnElement[bool]]] = [
        (RuleKind, RuleKind.kind_id == Subject.kind_id),
        (RuleSite, RuleSite.site_id == Subject.site_id),
        (RuleSubject, RuleSubject.subject_id == Subject.id),
    ]
    in_use = exists().where(Site.org_id == org, Site.id == Subject.site_id, Site.archived_at.is_(None))
    clauses = [Subject.org_id == org, Subject.status == Status.watched, in_use]
    for table, here in narrowed:
        of_rule = and_(table.org_id == org, table.rule_id == rule_id)
        clauses.append(or_(~exists().where(of_rule), exists().where(of_rule, here)))
    return and_(*clauses)


def read_rule_facts(session: Session, org: int, rule_id: int, subject_ids: Select[Any]) -> Facts:
    """The facts of these entries; of the ledger what concerns their open deadlines."""
    open_dates = select(Obligation.id).where(
        Obligation.org_id == org, Obligation.closed_at.is_(None), Obligation.subject_id.in_(subject_ids)
    )
    of_dates = and_(NotificationLedger.org_id == org, NotificationLedger.obligation_id.in_(open_dates))
    claims = select(NotificationLedger.id).where(of_dates)
    own = claims.where(NotificationLedger.rule_id == rule_id)
    register, people = read_register_and_people(session, org, subject_ids)
    return Facts(
        register=register,
        claims=read_rows(session, org, NotificationLedger, ClaimRow, {"obligation_id": open_dates}),
        deliveries=read_rows(session, org, Delivery, DeliveryRow, {"claim_id": own}),
        answers=read_rows(session, org, Acknowledgement, AnswerRow, {"claim_id": claims}),
        people=people,
    )


def too_long(
    session: Session, org: int, rule_id: int, notices: Iterable[str], today: dt.date
) -> Sequence[tuple[str, int]]:
    """The notices that are as long as a deadline lives or longer: it comes again before, and is told of at once."""
    query = select(Subject.recurrence, func.count()).where(reached(org, rule_id), Subject.recurrence.is_not(None))
    counts = session.execute(query.group_by(Subject.recurrence)).all()
    shortest = {recurrence: shortest_life(str(recurrence), today) for recurrence, _ in counts}
    found = []
    for notice in notices:
        length = parse(notice).nominal_fifths * DAY / 5
        entries = sum(count for recurrence, count in counts if length >= shortest[recurrence])
        if entries:
            found.append((notice, entries))
    return found


def shortest_life(recurrence: str, today: dt.date) -> dt.timedelta:
    """The shortest time between two dates of the next year and a bit."""
    dates = [today]
    while dates[-1] < today + 400 * DAY and len(dates) < 30:
        dates.append(recurrences.next_due(today, recurrence, dates[-1]))
    return min(later - earlier for earlier, later in pairwise(dates))


def compared(before: Outlook | None, after: Outlook) -> Difference | None:
    """What a change makes of what is told; None for a new rule, and where it is too much to work out."""
    if before is None or before.alerts is None or after.alerts is None:
        return None
    return difference(before.alerts, after.alerts)


def read_names(session: Session, org: int, alerts: Iterable[Foretold]) -> Named:
    shown = list(alerts)
    subjects = {one.subject_id for one in shown}
    people = {person for one in shown for person in one.people}

    def names(column: object, of: type[Subject] | type[Site] | type[Member], ids: Iterable[int]) -> dict[int, str]:
        rows = session.execute(select(of.id, column).where(of.org_id == org, of.id.in_(list(ids))))  # type: ignore[call-overload]
        return {row[0]: row[1] for row in rows}

    return Named(
        names(Subject.title, Subject, subjects),
        names(Site.name, Site, {one.site_id for one in shown}),
        names(Member.name, Member, people),
    )
