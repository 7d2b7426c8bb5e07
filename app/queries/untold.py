"""What a person does not hear without alerts by e-mail, judged before it is switched off, and as long as it is.

Plain Python over bare facts, as what is not watched. It counts deadlines that are open, whatever their alerts.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from sqlalchemy.orm import Session

from app.domain import calendars
from app.domain.acts import Status
from app.domain.delivery import Channel
from app.domain.errors import UnusableZone
from app.queries.facts import RuleRow, SiteRow, SubjectRow, read_register_and_people
from app.queries.reach import Reach
from app.queries.watched import Audience, is_reachable


@dataclass(frozen=True)
class Untold:
    """Ids of entries: those of which the person is told in the app alone, is not told, and nobody else is, either.

    `rules` are the names of the rules that tell the person by e-mail only.
    """

    in_app: set[int] = field(default_factory=set)
    not_told: set[int] = field(default_factory=set)
    nobody: set[int] = field(default_factory=set)
    rules: set[str] = field(default_factory=set)

    @property
    def is_any(self) -> bool:
        return bool(self.in_app or self.not_told)


def without_mail(session: Session, org: int, member_id: int, now: dt.datetime) -> Untold:
    """Of the entries that a rule tells this person of by e-mail: what becomes of each without, as if nobody were away.

    Whether e-mail is on plays no part, nor whether there is an address: where it is not, this is what is so now.
    """
    register, people = read_register_and_people(session, org)
    audience = Audience(replace(people, absences=()))
    reach, found = Reach(register), Untold()
    days = dict(todays(register.sites, now))
    dated = {row.subject_id for row in register.obligations if row.closed_at is None}
    for subject in register.subjects:
        if subject.id in dated and subject.status == Status.watched and subject.site_id in days:
            for rule in reach.rules_for(subject):
                add(found, audience, rule, subject, member_id, days[subject.site_id])
    found.in_app.difference_update(found.not_told)
    return found


def todays(sites: Iterable[SiteRow], now: dt.datetime) -> Iterator[tuple[int, dt.date]]:
    """The date of each site in use whose zone can be used."""
    for site in sites:
        if site.archived_at is None:
            try:
                yield site.id, calendars.today(now, site.timezone)
            except UnusableZone:
                continue


def add(found: Untold, audience: Audience, rule: RuleRow, subject: SubjectRow, member_id: int, today: dt.date) -> None:
    """Put the entry where it belongs by this rule; where several rules tell of it, the worst of them counts."""
    member = audience.members[member_id]
    if Channel.email not in rule.channels:
        return
    told = audience.told(rule, subject, today)
    if member_id not in told:
        return
    if Channel.in_app in rule.channels and member.account_id is not None:
        found.in_app.add(subject.id)
        return
    found.not_told.add(subject.id)
    found.rules.add(rule.name)
    if not any(is_reachable(audience.members[one], rule.channels) for one in told - {member_id}):
        found.nobody.add(subject.id)
