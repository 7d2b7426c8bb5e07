"""What one rule will tell in the next ninety days if nobody does anything meanwhile; what it will not tell, and why.

Judged in plain Python over bare facts: between two days on which something is due, begins or ends, nothing changes. The
scan decides when the day has come; tests hold this to what it does.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.domain import calendars
from app.domain.acts import Answer, InForce, OnlyIf, Status
from app.domain.calendars import DAY, Calendar
from app.domain.delivery import TOLD, Reason, Standing
from app.domain.errors import UnusableZone
from app.domain.thresholds import alert_day, asked_on, follow_up, parse, sharpest_first
from app.queries.facts import ClaimRow, Facts, ObligationRow, RuleRow, SubjectRow
from app.queries.unreached import calendar_of_site, turning_days
from app.queries.watched import Judge, is_reachable

AHEAD = 90  # Days.

Key = tuple[int, dt.date, str]  # Entry, due date and notice: what one rule says once.


@dataclass(frozen=True)
class Foretold:
    """One alert of the rule: on which day it is told, and whom; or why it is not."""

    subject_id: int
    site_id: int
    reference: str
    due_on: dt.date
    threshold: str
    on: dt.date
    days: int  # From now on, in the calendar of the site.
    people: frozenset[int] = frozenset()
    why: Reason | None = None

    @property
    def key(self) -> Key:
        return self.subject_id, self.due_on, self.threshold


def foretell(facts: Facts, rule: RuleRow, now: dt.datetime, *, since: int = 0, ahead: int = AHEAD) -> list[Foretold]:
    """The alerts of the rule from today on, the next one first. Those that the ledger has told are past, and not named.

    `since` is the last claim before what is being tried: what was put aside before it is past, too.
    """
    teller = Teller(facts, rule, now, since, ahead)
    found = (alert for obligation in facts.register.obligations for alert in teller.of_deadline(obligation))
    return sorted(found, key=lambda one: (one.on, one.reference, one.due_on, one.threshold))


class Teller:
    """The facts, indexed once, and the instant from which it is looked ahead."""

    def __init__(self, facts: Facts, rule: RuleRow, now: dt.datetime, since: int, ahead: int) -> None:
        register = facts.register
        self.rule, self.since, self.ahead = rule, since, ahead * DAY
        self.judge = Judge(register, facts.people, now)
        self.thresholds = [row.threshold for row in register.thresholds if row.rule_id == rule.id]
        self.subjects = {subject.id: subject for subject in register.subjects}
        self.calendar_at = {site.id: calendar_of_site(register, site) for site in register.sites}
        self.today_at = dict(self._todays(now))
        self.claims: defaultdict[tuple[int, dt.date], list[ClaimRow]] = defaultdict(list)
        for claim in facts.claims:
            if claim.rule_id == rule.id:
                self.claims[claim.subject_id, claim.due_on].append(claim)
        self.told = {delivery.claim_id for delivery in facts.deliveries if delivery.state in TOLD}
        self.promised = dict(promises(facts))
        self.turns = sorted(set(turning_days(facts.people)))
        self._heard: dict[tuple[int | None, ...], frozenset[int]] = {}

    def _todays(self, now: dt.datetime) -> Iterator[tuple[int, dt.date]]:
        for site in self.judge.sites.values():
            try:
                yield site.id, calendars.today(now, site.timezone)
            except UnusableZone:
                continue  # Nobody knows its day; nothing is told there until somebody corrects the zone.

    def of_deadline(self, obligation: ObligationRow) -> Iterator[Foretold]:
        subject = self.subjects[obligation.subject_id]
        site, today = self.judge.sites[subject.site_id], self.today_at.get(subject.site_id)
        watched = subject.status == Status.watched and site.archived_at is None and obligation.closed_at is None
        if not watched or today is None or self.rule not in self.judge.reach.rules_for(subject):
            return
        yield from Deadline(self, subject, obligation, today).alerts()
        yield from self.asked_again(subject, obligation, today)

    def asked_again(self, subject: SubjectRow, obligation: ObligationRow, today: dt.date) -> Iterator[Foretold]:
        """The follow-up of a filing that is pending, by rules that tell whoever is on it."""
        ask = obligation.ask_again_on
        if ask is None or not is_pending(obligation) or self.rule.only_if != OnlyIf.always:
            return
        known = {claim.threshold for claim in self.claims[subject.id, obligation.due_on]}
        day = max(ask, today)
        if day <= today + self.ahead and follow_up(ask) not in known:
            yield self.alert(subject, obligation, follow_up(ask), day)

    def alert(self, subject: SubjectRow, obligation: ObligationRow, threshold: str, day: dt.date) -> Foretold:
        people = self.heard_by(subject, day)
        days = (day - self.today_at[subject.site_id]).days
        what = (subject.id, subject.site_id, subject.reference, obligation.due_on, threshold, day, days)
        return Foretold(*what, people, None if people else Reason.nobody_to_tell)

    def heard_by(self, subject: SubjectRow, day: dt.date) -> frozenset[int]:
        """Who is told on that day, by the rule and one of its ways; in place of who is away, the stand-in."""
        people = (subject.owner_member_id, subject.owner_post_id, subject.holder_id)
        key = (subject.site_id, subject.kind_id, *people, bisect_right(self.turns, day))
        if key not in self._heard:
            audience, channels = self.judge.audience, self.rule.channels
            there = (
                one for one in audience.named(self.rule, subject, day) if audience.may_be_told_of(one, subject, day)
            )
            told = {audience.stand_in_of(one, channels, subject, day) for one in there}
            self._heard[key] = frozenset(one for one in told if is_reachable(audience.members[one], channels))
        return self._heard[key]


class Deadline:
    """What the rule will say about one due date of one entry."""

    def __init__(self, teller: Teller, subject: SubjectRow, obligation: ObligationRow, today: dt.date) -> None:
        self.teller, self.subject, self.obligation, self.today = teller, subject, obligation, today
        claims = [claim for claim in teller.claims[subject.id, obligation.due_on] if asked_on(claim.threshold) is None]
        self.claims = {claim.threshold: claim for claim in claims}
        calendar = teller.calendar_at[subject.site_id]
        self.alert_on = {one: self.alert_day(one, calendar) for one in teller.thresholds}

    def alert_day(self, threshold: str, calendar: Calendar) -> dt.date:
        """What was crossed once keeps its day."""
        claim = self.claims.get(threshold)
        return claim.crossed_on if claim else alert_day(threshold, self.obligation.due_on, calendar)

    def alerts(self) -> Iterator[Foretold]:
        """Those that are told, each on its day, and those whose day comes and that are not."""
        said: dict[str, Foretold] = {}
        for day in self.days():
            wanted = [one for one in self.alert_on if self.alert_on[one] <= day and not self.silenced_by(one, day)]
            top = min(wanted, key=self.sharpness, default=None)
            # What has found nobody is told as soon as somebody is there.
            is_new = top is not None and (top not in said or not said[top].people)
            if top is not None and is_new and not self.is_settled(top, said):
                said[top] = self.teller.alert(self.subject, self.obligation, top, day)
        yield from said.values()
        yield from self.unsaid(said)

    def days(self) -> list[dt.date]:
        """Today, and the days on which something comes due, a silence ends, or somebody comes or goes."""
        ends = [self.subject.snoozed_until, self.promise_over()]
        turns = {*self.alert_on.values(), *self.teller.turns, *(day for day in ends if day is not None)}
        return sorted({self.today, *(day for day in turns if self.today < day <= self.last)})

    @property
    def last(self) -> dt.date:
        return self.today + self.teller.ahead

    def promise_over(self) -> dt.date | None:
        until = self.teller.promised.get(self.obligation.id)
        return until + DAY if until is not None and until < dt.date.max else None

    def silenced_by(self, threshold: str, day: dt.date) -> Reason | None:
        """Why this one is not wanted on that day."""
        if is_pending(self.obligation) and self.obligation.in_force_meanwhile == InForce.yes:
            return Reason.filed
        if self.teller.rule.only_if == OnlyIf.nobody_on_it and self.is_somebody_on_it(day):
            return Reason.somebody_on_it
        paused = self.subject.snoozed_until is not None and day < self.subject.snoozed_until
        return Reason.snoozed if paused and parse(threshold).before_due else None

    def is_somebody_on_it(self, day: dt.date) -> bool:
        until = self.teller.promised.get(self.obligation.id)
        return is_pending(self.obligation) or (until is not None and day <= until)

    def sharpness(self, threshold: str) -> tuple[int, int, str]:
        return sharpest_first(threshold, self.alert_on[threshold])

    def is_settled(self, top: str, said: Mapping[str, Foretold]) -> bool:
        """Whether it was told or put aside for good, or something sharper speaks for it."""
        own = self.claims.get(top)
        if own is not None and (self.speaks(own) or own.reason == Reason.start):
            return True
        here = self.sharpness(top)
        sharper = [one for one in self.claims.values() if sharpest_first(one.threshold, one.crossed_on) < here]
        return any(map(self.speaks, sharper)) or any(self.sharpness(one) < here for one in said)

    def speaks(self, claim: ClaimRow) -> bool:
        return claim.standing == Standing.open or claim.id in self.teller.told

    def unsaid(self, said: Mapping[str, Foretold]) -> Iterator[Foretold]:
        """Whose day has come or comes, and that is not told: the first reason that holds."""
        what = (self.subject.id, self.subject.site_id, self.subject.reference, self.obligation.due_on)
        for threshold, alert_on in self.alert_on.items():
            claim = self.claims.get(threshold)
            if threshold in said or alert_on > self.last or (claim is not None and claim.id <= self.teller.since):
                continue
            day = max(alert_on, self.today)
            start = claim is not None and claim.reason == Reason.start
            why = Reason.start if start else self.silenced_by(threshold, day) or Reason.sharper
            yield Foretold(*what, threshold, day, (day - self.today).days, why=why)


def is_pending(obligation: ObligationRow) -> bool:
    return obligation.filed_on is not None and obligation.filing_ended_on is None


def promises(facts: Facts) -> Iterator[tuple[int, dt.date]]:
    """Until when somebody is on each obligation: for ever, if somebody says that it is done."""
    obligation_of = {claim.id: claim.obligation_id for claim in facts.claims}
    latest: dict[int, dt.date] = {}
    for answer in facts.answers:
        stands = answer.taken_back_at is None and answer.sent_back_at is None and answer.claim_id in obligation_of
        until = dt.date.max if answer.answer == Answer.done else answer.until_on
        if stands and answer.answer in (Answer.done, Answer.on_it) and until is not None:
            of = obligation_of[answer.claim_id]
            latest[of] = max(until, latest.get(of, until))
    yield from latest.items()


@dataclass(frozen=True)
class Difference:
    """What a change of a rule adds, drops, and tells on another day or to other people (before, after)."""

    added: Sequence[Foretold]
    dropped: Sequence[Foretold]
    moved: Sequence[tuple[Foretold, Foretold]]

    @property
    def is_nothing(self) -> bool:
        return not (self.added or self.dropped or self.moved)


def difference(before: Iterable[Foretold], after: Iterable[Foretold]) -> Difference:
    """Of what is told; what is not told before or after it makes no difference to anybody."""
    old, new = ({one.key: one for one in some if one.people} for some in (before, after))
    return Difference(
        [one for key, one in new.items() if key not in old],
        [one for key, one in old.items() if key not in new],
        [
            (old[key], one)
            for key, one in new.items()
            if key in old and (old[key].people, old[key].on) != (one.people, one.on)
        ],
    )
