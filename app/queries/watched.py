"""Which entries are not watched: those that no rule in force could ever tell anyone about, and why (P4).

Judged in plain Python over bare facts, like the owed check. Archived entries are not counted: somebody took them off.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from app.domain import calendars
from app.domain.acts import Role, Status
from app.domain.delivery import Channel
from app.domain.errors import UnusableZone
from app.domain.recipients import HOLDER, MEMBER, OWNER, POST, ROLE, Recipient, parse
from app.queries.facts import AbsenceRow, MemberRow, People, Register, RuleRow, SitePostRow, SubjectRow
from app.queries.reach import Reach

DEEPEST = 10  # Stand-ins of stand-ins that are followed.


class Gap(StrEnum):
    """Why an entry is not watched. One that has several counts under the first of them."""

    site_archived = "site_archived"
    draft = "draft"
    out_of_service = "out_of_service"
    no_date = "no_date"
    no_rule = "no_rule"
    nobody_to_tell = "nobody_to_tell"
    paused = "paused"


@dataclass(frozen=True)
class Unwatched:
    """One entry that is not watched."""

    subject_id: int
    site_id: int
    reference: str
    gap: Gap


def unwatched(register: Register, people: People, now: dt.datetime) -> Iterator[Unwatched]:
    """The entries that are not watched at this instant, in the order of the register."""
    judge = Judge(register, people, now)
    for subject in register.subjects:
        gap = None if subject.status == Status.archived else judge.gap_of(subject)
        if gap is not None:
            yield Unwatched(subject.id, subject.site_id, subject.reference, gap)


def counts(entries: Iterable[Unwatched]) -> dict[str, int]:
    """How many there are in all, and for each reason."""
    found = [entry.gap for entry in entries]
    return {"total": len(found), **{gap.value: found.count(gap) for gap in Gap}}


class Judge:
    """The register and its people, indexed once, and the instant that they are judged at."""

    def __init__(self, register: Register, people: People, now: dt.datetime) -> None:
        self.sites = {site.id: site for site in register.sites}
        self.dated = {row.subject_id for row in register.obligations if row.closed_at is None}
        self.with_threshold = {row.rule_id for row in register.thresholds}
        self.reach = Reach(register)
        self.audience = Audience(people)
        self.now = now

    def gap_of(self, subject: SubjectRow) -> Gap | None:
        site = self.sites[subject.site_id]
        if site.archived_at is not None:
            return Gap.site_archived
        if subject.status == Status.draft:
            return Gap.draft
        if subject.status == Status.out_of_service:
            return Gap.out_of_service
        if subject.id not in self.dated:
            return Gap.no_date
        rules = [rule for rule in self.reach.rules_for(subject) if rule.id in self.with_threshold]
        if not rules:
            return Gap.no_rule
        try:
            today = calendars.today(self.now, site.timezone)
        except UnusableZone:
            return None  # Nobody knows its day; the whole site is reported as a broken watch.
        if not any(self.audience.hears(rule, subject, today) for rule in rules):
            return Gap.nobody_to_tell
        if subject.snoozed_until is not None and today < subject.snoozed_until:
            return Gap.paused
        return None


class Audience:
    """Who can be told: the people of the organisation by each route, and what they may see."""

    def __init__(self, people: People) -> None:
        self.accounts = {account.id for account in people.accounts if account.is_active}
        self.members = {member.id: member for member in people.members}
        self.by_name: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for member in people.members:
            self.by_name[ROLE, member.role].append(member.id)
            if member.email:
                self.by_name[MEMBER, member.email.lower()].append(member.id)
        self.limits: defaultdict[int, set[int]] = defaultdict(set)
        for limit in people.member_sites:
            self.limits[limit.member_id].add(limit.site_id)
        self.kinds: defaultdict[int, set[int]] = defaultdict(set)
        for of_kind in people.member_kinds:
            self.kinds[of_kind.member_id].add(of_kind.kind_id)
        self.posts = {post.name.lower(): post.id for post in people.posts}
        self.post_above = {post.id: post.above_id for post in people.posts}
        self.holders: defaultdict[tuple[int, int], list[SitePostRow]] = defaultdict(list)
        for row in people.site_posts:
            self.holders[row.post_id, row.site_id].append(row)
        self.routes: defaultdict[int, list[Recipient]] = defaultdict(list)
        for recipient in people.recipients:
            self.routes[recipient.rule_id].append(parse(recipient.recipient))
        self.absences: defaultdict[int, list[AbsenceRow]] = defaultdict(list)
        for absence in people.absences:
            if absence.cancelled_at is None:
                self.absences[absence.member_id].append(absence)
        self._by_site: dict[tuple[int, int, int], bool] = {}
        self._told_at: dict[tuple[int, int, int], set[int]] = {}

    def hears(self, rule: RuleRow, subject: SubjectRow, today: dt.date) -> bool:
        """Whether the rule finds somebody who is there today, may see the entry, and has a usable channel."""
        # Most routes depend on site and kind alone; the site's day is one, too. They are asked once.
        key = (rule.id, subject.site_id, subject.kind_id)
        if key not in self._by_site:
            self._by_site[key] = self._hears_any(self._at_site(rule, subject.site_id, today), rule, subject, today)
        return self._by_site[key] or self._hears_any(self._of_entry(rule, subject, today), rule, subject, today)

    def _at_site(self, rule: RuleRow, site_id: int, today: dt.date) -> Iterator[int]:
        for recipient in self.routes[rule.id]:
            if recipient.route == POST:
                yield from self._in_post(self.posts.get((recipient.name or "").lower()), site_id, today)
            elif recipient.name is not None:
                yield from self.by_name.get((recipient.route, recipient.name), ())

    def _of_entry(self, rule: RuleRow, subject: SubjectRow, today: dt.date) -> Iterator[int]:
        routes = {recipient.route for recipient in self.routes[rule.id]}
        if HOLDER in routes and subject.holder_id is not None:
            yield subject.holder_id
        if OWNER in routes:
            if subject.owner_member_id is not None:
                yield subject.owner_member_id
            yield from self._in_post(subject.owner_post_id, subject.site_id, today)

    def _in_post(self, post_id: int | None, site_id: int, today: dt.date) -> Iterator[int]:
        """Who holds the post at the site today; its first and its last day are included."""
        for row in self.holders.get((post_id, site_id), ()) if post_id is not None else ():
            if row.from_on <= today and (row.until_on is None or today <= row.until_on):
                yield row.member_id

    def above(self, rule: RuleRow, subject: SubjectRow, said_by: int, day: dt.date) -> set[int]:
        """Who is told, when this person said that the entry is not theirs, as holder of the post above, or for them."""
        meant = {subject.owner_post_id}
        if subject.owner_post_id is None:
            at_site = {post for post, site in self.holders if site == subject.site_id}
            meant = {post for post in at_site if said_by in self._in_post(post, subject.site_id, day)}
        above = [self.post_above[post] for post in meant if post is not None]
        held_by = (one for post in above for one in self._in_post(post, subject.site_id, day))
        return self._there(held_by, rule, subject, day)

    def administrators(self, rule: RuleRow, subject: SubjectRow, day: dt.date) -> set[int]:
        """Who is told, as an administrator or for one."""
        return self._there(self.by_name[ROLE, Role.admin], rule, subject, day)

    def told(self, rule: RuleRow, subject: SubjectRow, today: dt.date) -> set[int]:
        """Whom the rule would tell of the entry today: who is there and may see it, with a usable channel or not."""
        key = (rule.id, subject.site_id, subject.kind_id)
        if key not in self._told_at:
            self._told_at[key] = self._there(self._at_site(rule, subject.site_id, today), rule, subject, today)
        return self._told_at[key] | self._there(self._of_entry(rule, subject, today), rule, subject, today)

    def _there(self, member_ids: Iterable[int], rule: RuleRow, subject: SubjectRow, day: dt.date) -> set[int]:
        """Whoever of them is there and may see the entry; in place of who is away, the stand-in."""
        there = {one for one in member_ids if self.may_be_told_of(one, subject, day)}
        return {self.stand_in_of(one, rule.channels, subject, day) for one in there}

    def named(self, rule: RuleRow, subject: SubjectRow, day: dt.date) -> set[int]:
        """Whom the rule means, whether they are there or away."""
        return {*self._at_site(rule, subject.site_id, day), *self._of_entry(rule, subject, day)}

    def stand_in_of(self, member_id: int, channels: Collection[str], subject: SubjectRow, day: dt.date) -> int:
        """Who is told in the member's place by one of the channels: of those who stand in, in a row, the last one.

        The member, unless they are away and somebody whom a channel reaches stands in.
        """
        last = member_id
        for _ in range(DEEPEST):
            absence = self.absence_on(member_id, day)
            other = None if absence is None else absence.stand_in_id
            if other is None or not all(self.may_be_told_of(one, subject, day) for one in (member_id, other)):
                break
            member_id = other
            if is_reachable(self.members[member_id], channels):
                last = member_id
        return last

    def absence_on(self, member_id: int, day: dt.date) -> AbsenceRow | None:
        of_day = (one for one in self.absences.get(member_id, ()) if one.from_on <= day <= one.until_on)
        return next(of_day, None)

    def is_held(self, post_id: int | None, site_id: int, day: dt.date) -> bool:
        """Whether somebody holds the post at the site on that day who is there, and may see the site."""
        return any(self.may_be_told(one, site_id, day) for one in self._in_post(post_id, site_id, day))

    def may_be_told(self, member_id: int, site_id: int, day: dt.date) -> bool:
        """Whether the member is there on that day and may see the site, whatever the channel."""
        may_see = not self.limits.get(member_id) or site_id in self.limits[member_id]
        return may_see and self._is_present(self.members[member_id], day)

    def may_be_told_of(self, member_id: int, subject: SubjectRow, day: dt.date) -> bool:
        of_kind = not self.kinds.get(member_id) or subject.kind_id in self.kinds[member_id]
        return of_kind and self.may_be_told(member_id, subject.site_id, day)

    def _hears_any(self, member_ids: Iterable[int], rule: RuleRow, subject: SubjectRow, today: dt.date) -> bool:
        told = self._there(member_ids, rule, subject, today)
        return any(is_reachable(self.members[one], rule.channels) for one in told)

    def _is_present(self, member: MemberRow, today: dt.date) -> bool:
        return (
            member.is_active
            and (member.left_on is None or member.left_on > today)
            and (member.valid_until is None or member.valid_until >= today)
            and (member.account_id is None or member.account_id in self.accounts)
        )


def is_reachable(member: MemberRow, channels: Collection[str]) -> bool:
    """E-mail needs an address and the wish to be mailed; in-app needs a login."""
    by_email = Channel.email in channels and bool(member.email) and member.email_alerts
    return by_email or (Channel.in_app in channels and member.account_id is not None)
