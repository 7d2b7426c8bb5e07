"""The owed check: what should be in the ledger and is not, recomputed from bare facts in plain Python (P4).

An independent oracle, written from the design alone: it shares nothing with the scan but the calendar functions of the
domain, and must never use the predicate of the scan (law 6).
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from app.domain import calendars
from app.domain.acts import Answer, InForce, OnlyIf, Status
from app.domain.calendars import Calendar
from app.domain.delivery import TOLD, Channel, Reason, Standing, State
from app.domain.errors import UnusableZone
from app.domain.thresholds import alert_day, parse, sharpest_first
from app.queries.facts import (
    AnswerRow,
    ClaimRow,
    DayOffRow,
    DeliveryRow,
    Facts,
    ObligationRow,
    RuleRow,
    SiteRow,
    SubjectRow,
)
from app.queries.reach import Reach
from app.queries.watched import Audience, is_reachable

PASSED_ON = frozenset({Answer.not_mine, Answer.help})  # Whoever says so does nothing about it: somebody else must.
FOLLOW_UP = "@"  # In the place of a threshold, before the day to ask again.


@dataclass(frozen=True)
class Debt:
    """One alert that is owed, and why. `claim_id` is None where there is no row at all."""

    rule_id: int
    subject_id: int
    threshold: str
    due_on: dt.date
    claim_id: int | None
    why: str
    rule: str
    reference: str


@dataclass(frozen=True)
class Owed:
    """Three ways to lose an alert. All three are empty right after a scan."""

    missing: list[Debt]
    stalled: list[Debt]
    unaddressed: list[Debt]

    @property
    def count(self) -> int:
        return len(self.missing) + len(self.stalled) + len(self.unaddressed)


@dataclass(frozen=True)
class Family:
    """What one rule says about one due date: the wanted and crossed thresholds, with alert days; and all its rows."""

    rule: RuleRow
    subject: SubjectRow
    due_on: dt.date
    crossed: dict[str, dt.date]
    claims: dict[str, ClaimRow]

    def debt(self, threshold: str, claim: ClaimRow | None, why: str) -> Debt:
        key = (self.rule.id, self.subject.id, threshold, self.due_on)
        return Debt(*key, claim.id if claim else None, why, self.rule.name, self.subject.reference)


def owed(facts: Facts, now: dt.datetime) -> Owed:
    """What is owed at this instant. Nothing is owed at a site whose time zone cannot be used: its day is not known."""
    check = Check(facts, now)
    missing: list[Debt] = []
    stalled: list[Debt] = []
    uncovered: list[Debt] = list(check.waiting_for_the_absent())
    for obligation in facts.register.obligations:
        for family in check.families(obligation):
            missing += missing_of(family)
            stalled += check.stalled_of(family)
            uncovered += check.uncovered_of(family)
            uncovered += check.nobodys_of(family, obligation)
    return Owed(missing, stalled, [*check.unaddressed(), *uncovered])


def missing_of(family: Family) -> Iterator[Debt]:
    for threshold in family.crossed:
        if threshold not in family.claims:
            yield family.debt(threshold, None, "crossed, and not in the ledger")


class Check:
    """The facts, indexed once, and the instant that they are judged at."""

    def __init__(self, facts: Facts, now: dt.datetime) -> None:
        register = facts.register
        self.facts = facts
        self.reach = Reach(register)
        self.sites = {site.id: site for site in register.sites}
        self.days = local_days(facts, now)
        self.calendars = {site.id: calendar_at(site, register.days_off) for site in register.sites}
        self.subjects = {subject.id: subject for subject in register.subjects}
        self.thresholds: defaultdict[int, list[str]] = defaultdict(list)
        for row in register.thresholds:
            self.thresholds[row.rule_id].append(row.threshold)
        self.claims: defaultdict[tuple[int, int, dt.date], dict[str, ClaimRow]] = defaultdict(dict)
        for claim in facts.claims:
            self.claims[claim.rule_id, claim.subject_id, claim.due_on][claim.threshold] = claim
        self.told = {delivery.claim_id for delivery in facts.deliveries if delivery.state in TOLD}
        self.audience = Audience(facts.people)
        self.deliveries: defaultdict[int, list[DeliveryRow]] = defaultdict(list)
        for delivery in facts.deliveries:
            self.deliveries[delivery.claim_id].append(delivery)
        self.promised, self.done = promises(facts)
        self.taken_up = {one.claim_id for one in facts.answers if is_standing(one) and one.answer not in PASSED_ON}
        self.disowned = disowned(facts)

    def families(self, obligation: ObligationRow) -> Iterator[Family]:
        """The families of this obligation in which something is wanted and crossed; a follow-up is one of its own."""
        subject = self.subjects[obligation.subject_id]
        site, today = self.sites[subject.site_id], self.days.get(subject.site_id)
        if today is None or not is_watched(subject, site, obligation):
            return
        for rule in self.reach.rules_for(subject):
            claims = self.claims.get((rule.id, subject.id, obligation.due_on), {})
            asked = {text: claim for text, claim in claims.items() if text.startswith(FOLLOW_UP)}
            told = {text: claim for text, claim in claims.items() if text not in asked}
            for crossed, own in (
                (self.crossed(rule, obligation, site, today, told), told),
                (asked_again(rule, obligation, today, asked), asked),
            ):
                if crossed:
                    yield Family(rule, subject, obligation.due_on, crossed, own)

    def crossed(
        self, rule: RuleRow, obligation: ObligationRow, site: SiteRow, today: dt.date, claims: dict[str, ClaimRow]
    ) -> dict[str, dt.date]:
        """The thresholds of the rule that are wanted and crossed, with their alert days."""
        subject, calendar = self.subjects[obligation.subject_id], self.calendars[site.id]
        crossed: dict[str, dt.date] = {}
        if is_filing_pending(obligation) and obligation.in_force_meanwhile == InForce.yes:
            return crossed
        if rule.only_if == OnlyIf.nobody_on_it and self.is_somebody_on(obligation, today):
            return crossed
        for threshold in self.thresholds[rule.id]:
            if is_silenced(threshold, subject, today):
                continue
            claim = claims.get(threshold)
            alert_on = claim.crossed_on if claim else alert_day(threshold, obligation.due_on, calendar)
            # What was crossed once stays crossed until the date moves, even if the local day runs back.
            if claim or alert_on <= today:
                crossed[threshold] = alert_on
        return crossed

    def is_somebody_on(self, obligation: ObligationRow, today: dt.date) -> bool:
        """A standing done, a standing promise whose last day is not over at the site, or a filing still pending."""
        promised_until = self.promised.get(obligation.id)
        return (
            obligation.id in self.done
            or (promised_until is not None and promised_until >= today)
            or is_filing_pending(obligation)
        )

    def stalled_of(self, family: Family) -> Iterator[Debt]:
        """The top of the family, if it was put aside, told nobody, and nothing sharper speaks for it."""
        top = min(family.crossed, key=lambda threshold: sharpest_first(threshold, family.crossed[threshold]))
        claim = family.claims.get(top)
        if claim is None or claim.id in self.told or not is_put_aside(claim):
            return
        here = sharpest_first(top, claim.crossed_on)
        for other in family.claims.values():
            speaks = other.standing == Standing.open or other.id in self.told
            if speaks and sharpest_first(other.threshold, other.crossed_on) < here:
                return
        yield family.debt(top, claim, f"{claim.standing} ({claim.reason}), but now the sharpest that is wanted")

    def uncovered_of(self, family: Family) -> Iterator[Debt]:
        """What was told to somebody who is away, and not to the stand-in, while nobody has answered."""
        claim = live_of(family)
        if claim is None or claim.id in self.taken_up:
            return
        day, rows = self.days[family.subject.site_id], self.deliveries[claim.id]
        meant = self.audience.named(family.rule, family.subject, day)
        for told in {row.recipient_id for row in rows if row.state in TOLD} & meant:
            other = self.audience.stand_in_of(told, family.rule.channels, family.subject, day)
            known = any(row.state != State.cancelled and row.recipient_id == other for row in rows)
            known = known or any(row.state in TOLD and other in row.in_place_of for row in rows)
            if not known and is_reachable(self.audience.members[other], family.rule.channels):
                yield family.debt(claim.threshold, claim, "told to somebody who is away, and not to the stand-in")

    def nobodys_of(self, family: Family, obligation: ObligationRow) -> Iterator[Debt]:
        """What somebody said a working day ago is not theirs, with nobody on it since, and the post above not told."""
        claim, day, site = live_of(family), self.days[family.subject.site_id], self.sites[family.subject.site_id]
        said = self.disowned.get(claim.id, ()) if claim else ()
        if claim is None or not said or self.is_somebody_on(obligation, day):
            return
        known = {row.recipient_id for row in self.deliveries[claim.id] if row.state != State.cancelled}
        known |= {one for row in self.deliveries[claim.id] if row.state in TOLD for one in row.in_place_of}
        calendar, about = self.calendars[site.id], (family.rule, family.subject)
        over = [one for one, at in said if is_working_day_over(calendars.today(at, site.timezone), day, calendar)]
        above = self.hearing(family.rule, *(self.audience.above(*about, one.member_id, day) for one in over))
        why = "nobody's for a working day, and the post above not told"
        if over and not above:
            above = self.hearing(family.rule, self.audience.administrators(*about, day))
            why = "nobody's for a working day, with nobody above, and the administrators not told"
        for _ in above - known:
            yield family.debt(claim.threshold, claim, why)

    def hearing(self, rule: RuleRow, *people: set[int]) -> set[int]:
        """Those of them whom a channel of the rule reaches."""
        members = self.audience.members
        return {one for some in people for one in some if is_reachable(members[one], rule.channels)}

    def waiting_for_the_absent(self) -> Iterator[Debt]:
        """What waits to leave for somebody who is away, while there is a stand-in."""
        rules = {rule.id: rule for rule in self.facts.register.rules}
        for claim in self.facts.claims:
            subject, rule = self.subjects[claim.subject_id], rules[claim.rule_id]
            day = self.days.get(subject.site_id)
            for row in self.deliveries[claim.id]:
                if day is None or row.state not in (State.pending, State.held):
                    continue
                others = [
                    self.audience.stand_in_of(row.recipient_id, one, subject, day) for one in self.ways(rule, row)
                ]
                if all(other != row.recipient_id for other in others):
                    key = (claim.rule_id, subject.id, claim.threshold, claim.due_on)
                    why = "waits for somebody who is away, and has a stand-in"
                    yield Debt(*key, claim.id, why, rule.name, subject.reference)

    def ways(self, rule: RuleRow, row: DeliveryRow) -> list[Collection[str]]:
        """By which channels it may be told: those of the rule; when a message came back, the app alone, too."""
        has_come_back = any(one.state in (State.failed, State.bounced) for one in self.deliveries[row.claim_id])
        in_app = row.channel == Channel.in_app and has_come_back
        return [rule.channels, *([(Channel.in_app,)] if in_app else [])]

    def unaddressed(self) -> Iterator[Debt]:
        """Open claims that go to nobody and do not say why. A cancelled delivery goes to nobody."""
        addressed = {delivery.claim_id for delivery in self.facts.deliveries if delivery.state != State.cancelled}
        names = {rule.id: rule.name for rule in self.facts.register.rules}
        for claim in self.facts.claims:
            if claim.standing != Standing.open or claim.reason is not None or claim.id in addressed:
                continue
            subject = self.subjects[claim.subject_id]
            if subject.site_id in self.days:
                why = "open, without a delivery and without a reason"
                key = (claim.rule_id, subject.id, claim.threshold, claim.due_on)
                yield Debt(*key, claim.id, why, names[claim.rule_id], subject.reference)


def local_days(facts: Facts, now: dt.datetime) -> dict[int, dt.date]:
    """The date of today at each site whose time zone can be used."""
    days: dict[int, dt.date] = {}
    for site in facts.register.sites:
        try:
            days[site.id] = calendars.today(now, site.timezone)
        except UnusableZone:
            continue
    return days


def calendar_at(site: SiteRow, days_off: Iterable[DayOffRow]) -> Calendar:
    """The business days of the site: public holidays, and what the organisation takes off there or everywhere."""
    dates: set[dt.date] = set()
    yearly: set[tuple[int, int]] = set()
    for row in days_off:
        if row.site_id is not None and row.site_id != site.id:
            continue
        ordinals = range(row.on_day.toordinal(), row.until_day.toordinal() + 1)
        days = {dt.date.fromordinal(ordinal) for ordinal in ordinals}
        if not row.is_yearly:
            dates |= days
            continue
        yearly |= {(day.month, day.day) for day in days}
        if any((day.month, day.day) == (2, 28) for day in days) and any((day.month, day.day) == (3, 1) for day in days):
            yearly.add((2, 29))  # The period goes over the end of February.
    return Calendar(site.country, site.region, frozenset(dates), frozenset(yearly))


def promises(facts: Facts) -> tuple[dict[int, dt.date], set[int]]:
    """By obligation: the last day of the latest standing promise; and which ones somebody has called done."""
    obligation_of = {claim.id: claim.obligation_id for claim in facts.claims}
    promised: dict[int, dt.date] = {}
    done: set[int] = set()
    for answer in facts.answers:
        if not is_standing(answer):
            continue
        obligation_id = obligation_of[answer.claim_id]
        if answer.answer == Answer.done:
            done.add(obligation_id)
        elif answer.answer == Answer.on_it and answer.until_on is not None:
            promised[obligation_id] = max(answer.until_on, promised.get(obligation_id, answer.until_on))
    return promised, done


def is_standing(answer: AnswerRow) -> bool:
    return answer.taken_back_at is None and answer.sent_back_at is None


def disowned(facts: Facts) -> dict[int, list[tuple[AnswerRow, dt.datetime]]]:
    """By claim the standing answers "not mine", each with its instant, after which nobody was handed the entry."""
    subject_of = {claim.id: claim.subject_id for claim in facts.claims}
    handed_over: dict[int, dt.datetime] = {}
    for event in facts.handed_over:
        handed_over[event.subject_id] = max(event.at, handed_over.get(event.subject_id, event.at))
    found: defaultdict[int, list[tuple[AnswerRow, dt.datetime]]] = defaultdict(list)
    for answer in facts.answers:
        at = answer.acknowledged_at
        if at is None or answer.answer != Answer.not_mine or not is_standing(answer):
            continue
        if handed_over.get(subject_of[answer.claim_id], at) <= at:
            found[answer.claim_id].append((answer, at))
    return dict(found)


def is_working_day_over(said_on: dt.date, today: dt.date, calendar: Calendar) -> bool:
    """Whether a business day has come after the day on which it was said."""
    later = range(said_on.toordinal() + 1, today.toordinal() + 1)
    return any(calendar.is_business_day(dt.date.fromordinal(ordinal)) for ordinal in later)


def live_of(family: Family) -> ClaimRow | None:
    """The claim of the family that speaks: the sharpest that stands open, if it is still wanted."""
    standing = [claim for claim in family.claims.values() if claim.standing == Standing.open]
    claim = min(standing, key=lambda one: sharpest_first(one.threshold, one.crossed_on), default=None)
    return claim if claim is not None and claim.threshold in family.crossed else None


def is_watched(subject: SubjectRow, site: SiteRow, obligation: ObligationRow) -> bool:
    """An open obligation of a watched entry of a site in use."""
    return obligation.closed_at is None and subject.status == Status.watched and site.archived_at is None


def asked_again(
    rule: RuleRow, obligation: ObligationRow, today: dt.date, claims: dict[str, ClaimRow]
) -> dict[str, dt.date]:
    """The day on which the authority is to be asked again, once it has come, while it has not answered."""
    day = obligation.ask_again_on
    if day is None or not is_filing_pending(obligation) or rule.only_if != OnlyIf.always:
        return {}
    text = f"{FOLLOW_UP}{day:%Y-%m-%d}"
    return {text: day} if text in claims or day <= today else {}


def is_filing_pending(obligation: ObligationRow) -> bool:
    return obligation.filed_on is not None and obligation.filing_ended_on is None


def is_silenced(threshold: str, subject: SubjectRow, today: dt.date) -> bool:
    """A snooze silences what warns before the due date, and ends at the start of the day `snoozed_until`."""
    return subject.snoozed_until is not None and today < subject.snoozed_until and parse(threshold).before_due


def is_put_aside(claim: ClaimRow) -> bool:
    """Withdrawn, or superseded by a sharper one: both may come back. Superseded at the start is final."""
    return claim.standing == Standing.withdrawn or (
        claim.standing == Standing.superseded and claim.reason == Reason.sharper
    )
