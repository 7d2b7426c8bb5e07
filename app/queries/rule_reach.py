"""How many alerts the next check would raise at once for one rule: what has come already and was never dealt with.

A figure for the person who has saved a rule, read from its facts; what is told is decided by the scan alone.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, exists, or_, select
from sqlalchemy.orm import Session

from app.domain import calendars
from app.domain.acts import Answer, InForce, OnlyIf, Status
from app.domain.calendars import Calendar
from app.domain.errors import UnusableZone
from app.domain.thresholds import alert_day, follow_up, horizon, parse, sharpest_first
from app.models import Acknowledgement, NotificationLedger, Obligation, Site, Subject
from app.queries.days_off import DayOffLine, calendar_at, days_off
from app.queries.rules import RuleLine
from app.queries.together import together

PENDING = and_(Obligation.filed_on.is_not(None), Obligation.filing_ended_on.is_(None))


@dataclass(frozen=True)
class Day:
    """A site's own date, and its calendar."""

    today: dt.date
    calendar: Calendar


def raised_at_once(session: Session, org: int, now: dt.datetime, rule: RuleLine) -> int:
    """How many alerts of this rule have come that no row of the ledger covers: one a deadline, and follow-ups."""
    days = _days(session, org, now, rule)
    if not rule.is_active or not days:
        return 0
    raised, due, filed = together(session, _known(org, rule.id), _due(org, rule, days), _asked(org, rule, days))
    known = {(row.subject_id, row.due_on, row.threshold) for row in raised}
    tops = ((row.subject_id, row.due_on, _top(rule.notices, row, days[row.site_id])) for row in due)
    asked = (
        (row.subject_id, row.due_on, follow_up(row.ask_again_on))
        for row in filed
        if row.ask_again_on <= days[row.site_id].today
    )
    return sum(top[2] is not None and top not in known for top in (*tops, *asked))


def _days(session: Session, org: int, now: dt.datetime, rule: RuleLine) -> dict[int, Day]:
    query = select(Site.id, Site.timezone, Site.country, Site.region)
    query = query.where(Site.org_id == org, Site.archived_at.is_(None))
    if rule.sites:
        query = query.where(Site.id.in_(rule.sites))
    return dict(_usable(session.execute(query), days_off(session, org), now))


def _usable(rows: Any, off: Sequence[DayOffLine], now: dt.datetime) -> Iterator[tuple[int, Day]]:
    for row in rows:
        try:
            today = calendars.today(now, row.timezone)
        except UnusableZone:
            continue  # Nobody knows its day; nothing is told there until somebody corrects the zone.
        yield row.id, Day(today, calendar_at(off, row.id, row.country, row.region))


def _due(org: int, rule: RuleLine, days: Mapping[int, Day]) -> Any:
    """The open deadlines of the rule's watched entries that some notice has reached, unless a filing covers them."""
    covered = and_(PENDING, Obligation.in_force_meanwhile.is_not_distinct_from(InForce.yes))
    query = _open_deadlines(org, rule, Obligation.due_on, Subject.snoozed_until)
    query = query.where(~covered, or_(*(_reached_at(site_id, day, rule.notices) for site_id, day in days.items())))
    if rule.only_if == OnlyIf.nobody_on_it:
        somebody = or_(*(_somebody_on_it(site_id, day) for site_id, day in days.items()))
        query = query.where(~PENDING, ~somebody)
    return query


def _asked(org: int, rule: RuleLine, days: Mapping[int, Day]) -> Any:
    """The pending filings of the rule's watched entries that have a day to ask again."""
    query = _open_deadlines(org, rule, Obligation.due_on, Obligation.ask_again_on)
    told = rule.only_if == OnlyIf.always
    return query.where(PENDING, Obligation.ask_again_on.is_not(None), Subject.site_id.in_(list(days) if told else []))


def _open_deadlines(org: int, rule: RuleLine, *columns: Any) -> Any:
    query = (
        select(Obligation.subject_id, Subject.site_id, *columns)
        .join(Subject, and_(Subject.org_id == Obligation.org_id, Subject.id == Obligation.subject_id))
        .where(Obligation.org_id == org, Obligation.closed_at.is_(None), Subject.status == Status.watched)
    )
    if rule.kinds:
        query = query.where(Subject.kind_id.in_(rule.kinds))
    if rule.entries:
        query = query.where(Subject.id.in_(rule.entries))
    return query


def _reached_at(site_id: int, day: Day, notices: Sequence[str]) -> Any:
    latest = max((horizon(notice, day.today, day.calendar) for notice in notices), default=dt.date.min)
    return and_(Subject.site_id == site_id, Obligation.due_on <= latest)


def _somebody_on_it(site_id: int, day: Day) -> Any:
    """A standing answer "done", or "on it" until a day that is not over there."""
    answer, claim = Acknowledgement, NotificationLedger
    promised = and_(answer.answer == Answer.on_it, answer.until_on >= day.today)
    return and_(
        Subject.site_id == site_id,
        exists().where(
            claim.org_id == Obligation.org_id,
            claim.obligation_id == Obligation.id,
            answer.org_id == claim.org_id,
            answer.claim_id == claim.id,
            answer.taken_back_at.is_(None),
            answer.sent_back_at.is_(None),
            or_(answer.answer == Answer.done, promised),
        ),
    )


def _top(notices: Sequence[str], row: Any, day: Day) -> str | None:
    """The latest notice that has come for this deadline and is not paused."""
    paused = row.snoozed_until is not None and day.today < row.snoozed_until
    audible = [notice for notice in notices if not (paused and parse(notice).before_due)]
    come = {notice: alert_day(notice, row.due_on, day.calendar) for notice in audible}
    come = {notice: alert_on for notice, alert_on in come.items() if alert_on <= day.today}
    return min(come, key=lambda notice: sharpest_first(notice, come[notice]), default=None)


def _known(org: int, rule_id: int) -> Any:
    """The alerts of open deadlines that this rule has raised or dealt with."""
    claim = NotificationLedger
    query = select(claim.subject_id, claim.due_on, claim.threshold).join(
        Obligation, and_(Obligation.org_id == claim.org_id, Obligation.id == claim.obligation_id)
    )
    return query.where(claim.org_id == org, claim.rule_id == rule_id, Obligation.closed_at.is_(None))
