"""Alerts of the next ninety days that would reach nobody, while there is time: everybody away, gone or out of reach.

Judged in plain Python over bare facts, day by day as people come and go. Whoever is away and has a stand-in is reached
by the stand-in; whoever is away and has none is told as ever, and does not read it.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy.orm import Session

from app.domain import calendars
from app.domain.acts import Status
from app.domain.calendars import Calendar
from app.domain.days_off import DayOff, calendar_of
from app.domain.delivery import Channel
from app.domain.errors import UnusableZone
from app.domain.thresholds import alert_day
from app.queries.facts import MemberRow, ObligationRow, People, Register, RuleRow, SiteRow, SubjectRow
from app.queries.settings import mail_faults
from app.queries.watched import Judge

AHEAD = 90 * calendars.DAY


class Unheard(StrEnum):
    """Why an alert would reach nobody. One that has several reasons counts under the first of them."""

    nobody = "nobody"  # Whom the rule means is nobody, or is gone by then, or may not see the entry.
    no_way = "no_way"  # Whoever is there has no address, no login, or mail to them came back.
    away = "away"  # Whoever could be reached is away, and nobody stands in whom the rule reaches.


@dataclass(frozen=True)
class Unreached:
    """The first alert of a deadline by one rule that would reach nobody, and on which day."""

    subject_id: int
    site_id: int
    reference: str
    due_on: dt.date
    rule: str
    threshold: str
    alert_on: dt.date
    why: Unheard


def read_unreached(session: Session, org: int, now: dt.datetime, register: Register, people: People) -> list[Unreached]:
    """The alerts ahead that would reach nobody, the next one first."""
    by_mail = [member.id for member in people.members if member.email]
    lost = set(mail_faults(session, org, by_mail)) if by_mail else set()
    found = unreached(register, people, now, lost)
    return sorted(found, key=lambda row: (row.alert_on, row.reference, row.rule))


def unreached(register: Register, people: People, now: dt.datetime, lost: Collection[int] = ()) -> Iterator[Unreached]:
    """For each open deadline of the next ninety days and each rule. `lost`: members whose mail came back."""
    judge = Judge(register, people, now)
    ahead = Ahead(judge, people, lost)
    thresholds: defaultdict[int, list[str]] = defaultdict(list)
    for row in register.thresholds:
        thresholds[row.rule_id].append(row.threshold)
    subjects = {subject.id: subject for subject in register.subjects}
    calendar_at = {site.id: calendar_of_site(register, site) for site in register.sites}
    for obligation in register.obligations:
        subject = subjects[obligation.subject_id]
        site = judge.sites[subject.site_id]
        if obligation.closed_at is not None or subject.status != Status.watched or site.archived_at is not None:
            continue
        try:
            today = calendars.today(now, site.timezone)
        except UnusableZone:
            continue  # Nobody knows its day; the site is reported as a broken watch.
        if today <= obligation.due_on <= today + AHEAD:
            for rule in judge.reach.rules_for(subject):
                days = alert_days(obligation, thresholds[rule.id], today, calendar_at[site.id])
                yield from ahead.first_of(rule, subject, obligation, days)


def calendar_of_site(register: Register, site: SiteRow) -> Calendar:
    """Public holidays, and what the organisation takes off there or everywhere."""
    own = (row for row in register.days_off if row.site_id in (None, site.id))
    days_off = (DayOff(row.on_day, row.until_day, row.is_yearly) for row in own)
    return calendar_of(site.country, site.region, days_off)


def alert_days(
    obligation: ObligationRow, thresholds: list[str], today: dt.date, calendar: Calendar
) -> list[tuple[dt.date, str]]:
    """The alerts of the deadline that are still to come in these ninety days, the next one first."""
    days = ((alert_day(threshold, obligation.due_on, calendar), threshold) for threshold in thresholds)
    return sorted((day, threshold) for day, threshold in days if today <= day <= today + AHEAD)


class Ahead:
    """Who will be there: between two days on which somebody comes or goes it is always the same."""

    def __init__(self, judge: Judge, people: People, lost: Collection[int]) -> None:
        self.judge, self.lost = judge, lost
        self.turns = sorted(set(turning_days(people)))
        self._why: dict[tuple[int | None, ...], Unheard | None] = {}

    def first_of(
        self, rule: RuleRow, subject: SubjectRow, obligation: ObligationRow, days: list[tuple[dt.date, str]]
    ) -> Iterator[Unreached]:
        for day, threshold in days:
            why = self.why(rule, subject, day)
            if why is not None:
                key = (subject.id, subject.site_id, subject.reference, obligation.due_on)
                yield Unreached(*key, rule.name, threshold, day, why)
                return

    def why(self, rule: RuleRow, subject: SubjectRow, day: dt.date) -> Unheard | None:
        """Why the rule reaches nobody on this day, or None."""
        people = (subject.owner_member_id, subject.owner_post_id, subject.holder_id)
        key = (rule.id, subject.site_id, subject.kind_id, *people, bisect_right(self.turns, day))
        if key not in self._why:
            self._why[key] = self._judged(rule, subject, day)
        return self._why[key]

    def _judged(self, rule: RuleRow, subject: SubjectRow, day: dt.date) -> Unheard | None:
        audience = self.judge.audience
        named = audience.named(rule, subject, day)
        there = {one for one in named if audience.may_be_told_of(one, subject, day)}
        told = {audience.stand_in_of(one, rule.channels, subject, day) for one in there}
        reached = {one for one in told if self.is_reached(audience.members[one], rule)}
        if any(audience.absence_on(one, day) is None for one in reached):
            return None
        return Unheard.away if reached else Unheard.no_way if told else Unheard.nobody

    def is_reached(self, member: MemberRow, rule: RuleRow) -> bool:
        """In the app, or by an address to which the last message came."""
        by_mail = Channel.email in rule.channels and bool(member.email) and member.email_alerts
        in_app = Channel.in_app in rule.channels and member.account_id is not None
        return in_app or (by_mail and member.id not in self.lost)


def turning_days(people: People) -> Iterator[dt.date]:
    """The days from which on somebody is there, or is not."""
    for absence in people.absences:
        yield from (absence.from_on, next_day(absence.until_on))
    for member in people.members:
        if member.left_on is not None:
            yield member.left_on
        if member.valid_until is not None:
            yield next_day(member.valid_until)
    for held in people.site_posts:
        yield held.from_on
        if held.until_on is not None:
            yield next_day(held.until_on)


def next_day(day: dt.date) -> dt.date:
    return day + calendars.DAY if day < dt.date.max else day
