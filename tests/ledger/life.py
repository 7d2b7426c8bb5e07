"""Random life of an organisation: acts, downtime and ticks, with the owed check and the invariants after each scan.

The oracle is plain Python over bare facts (app/queries/owed.py); it shares nothing with the scan but the calendar.
"""

from __future__ import annotations

import datetime as dt
import itertools
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule
from sqlalchemy import text

from app.domain.acts import ArchiveReason, MoveReason, ReopenReason, SnoozeReason
from app.domain.days_off import DayOff
from app.domain.errors import Refused
from app.ledger.align import deliver
from app.ledger.scan import Scanned, scan
from app.models import Member, Obligation, Subject
from app.operations import (
    absences,
    answers,
    days_off,
    departures,
    filings,
    obligations,
    people,
    register,
    reopenings,
    rules,
)
from app.operations.posts_above import set_post_above
from app.operations.rule_contents import RuleText
from app.queries.facts import read_facts
from app.queries.owed import Owed, owed
from app.trail.act import Act
from tests import factories

NUMBERS = itertools.count(1)
ZONES = ("Pacific/Kiritimati", "Pacific/Pago_Pago", "America/Santiago", "Europe/Madrid", "Australia/Lord_Howe")
THRESHOLDS = ("90d", "1m", "30d", "4w", "10bd", "7d", "1w", "1bd", "0d", "+1d", "+1bd", "+1w", "+7d", "+1m")
START = dt.datetime(2027, 3, 1, 11, 0, tzinfo=dt.UTC)
NOTHING_OWED = Owed(missing=[], stalled=[], unaddressed=[])

some_thresholds = st.lists(st.sampled_from(THRESHOLDS), min_size=1, max_size=6, unique=True).map(tuple)
near = st.integers(-40, 120)

# Whatever is told or cancelled, these hold at every moment. Each query must come back empty.
BROKEN = {
    "two untold claims of one family are open": """
      select subject_id, rule_id, due_on, left(threshold, 1) = '@' as follow_up from notification_ledger l
      where org_id = :org and standing = 'open' and not exists (
        select from delivery x where x.org_id = :org and x.claim_id = l.id and x.state = 'delivered')
      group by 1, 2, 3, 4 having count(*) > 1 and count(*) > (
        select count(*) from notification_ledger s where s.org_id = :org and s.subject_id = l.subject_id
           and s.rule_id = l.rule_id and s.due_on = l.due_on and s.reason = 'start')""",
    "a filing was followed up twice for one day": """
      select subject_id, rule_id, due_on, crossed_on from notification_ledger
      where org_id = :org and left(threshold, 1) = '@' group by 1, 2, 3, 4 having count(*) > 1""",
    "a claim was told and is not open": """
      select l.id from notification_ledger l join delivery x on x.org_id = :org and x.claim_id = l.id
      where l.org_id = :org and x.state = 'delivered' and l.standing <> 'open'""",
    "something waits to leave of a claim that is not open": """
      select l.id from notification_ledger l join delivery x on x.org_id = :org and x.claim_id = l.id
      where l.org_id = :org and x.state = 'pending' and l.standing <> 'open' and l.claimed_at < :scanned_at""",
    "a claim says delivered while something is pending, or the other way round": """
      select l.id from notification_ledger l join delivery x on x.org_id = :org and x.claim_id = l.id
      where l.org_id = :org and l.standing = 'open' group by l.id, l.delivered_at
      having (l.delivered_at is not null)
          <> (bool_and(x.state in ('delivered', 'cancelled')) and bool_or(x.state = 'delivered'))""",
    "a milder alert was told after a sharper one": """
      select a.id from notification_ledger a join notification_ledger b
        on b.org_id = :org and (b.subject_id, b.rule_id, b.due_on) = (a.subject_id, a.rule_id, a.due_on)
       and (left(b.threshold, 1) = '@') = (left(a.threshold, 1) = '@')
      join lateral (select min(delivered_at) as at from delivery where org_id = :org and claim_id = a.id) mild on true
      join lateral (select min(delivered_at) as at from delivery where org_id = :org and claim_id = b.id) sharp on true
      where a.org_id = :org and a.crossed_on < b.crossed_on and mild.at > sharp.at""",
    "a claim came before its alert day": """
      select id from notification_ledger
      where org_id = :org and claimed_at < (crossed_on - time '14:00') at time zone 'UTC'""",
    "an event of the trail is missing": """
      select id from notification_ledger l where org_id = :org and not exists (
        select from audit_event e
        where e.org_id = :org and e.claim_id = l.id and e.type in ('claimed', 'superseded'))""",
}


class Life(RuleBasedStateMachine):
    """Each rule is one act in one transaction; what an operation refuses is no act."""

    entries = Bundle("entries")

    def __init__(self) -> None:
        super().__init__()
        number = next(NUMBERS)
        self.acme = factories.acme(f"life-{number}", now=START)
        self.now = START
        self.scanned_at = START
        self.references = itertools.count(1)

    def do(self, deed: Any) -> Any:
        """The deed's result, or None if it was refused."""
        try:
            with self.acme.acting(self.now) as act:
                return deed(act)
        except Refused:
            return None

    @initialize(thresholds=some_thresholds, others=some_thresholds)
    def furnish(self, thresholds: tuple[str, ...], others: tuple[str, ...]) -> None:
        def deed(act: Act) -> None:
            self.sites = [factories.site(act)] + [people.add_site(act, zone, zone) for zone in ZONES[:3]]
            self.members = [
                people.add_member(act, f"{name}@example.org", role, name=name)
                for name, role in (("Ana", "officer"), ("Bruno", "staff"), ("Carla", "staff"))
            ]
            people.limit_member(act, self.members[2], self.sites[:2])
            self.posts = [people.add_post(act, name) for name in ("manager", "director", "owner of all")]
            self.post = self.posts[0]
            people.assign_post(act, self.post, self.members[1], self.sites[0])
            people.assign_post(act, self.posts[1], self.members[0], self.sites[0])
            set_post_above(act, self.post, self.posts[1])
            rules.apply(act, [self.text("first", thresholds), self.text("second", others, only_if="nobody_on_it")])

        self.do(deed)
        self.tick()

    def text(self, name: str, thresholds: tuple[str, ...], start: str = "now", only_if: str = "always") -> RuleText:
        to = ("owner", "post:manager") if name == "first" else ("role:officer", "holder")
        return RuleText(name=name, thresholds=thresholds, channels=("in_app",), to=to, only_if=only_if, start=start)

    @rule(
        target=entries,
        days=near,
        site=st.integers(0, 3),
        owner=st.integers(0, 2),
        recurrence=st.sampled_from((None, "1m")),
    )
    def enter(self, days: int, site: int, owner: int, recurrence: str | None) -> int | None:
        def deed(act: Act) -> int:
            entry = register.Entry(
                reference=f"P-{next(self.references)}",
                site_id=self.sites[site],
                kind_id=factories.kind(act),
                due_on=self.now.date() + dt.timedelta(days=days),
                recurrence=recurrence,
            )
            made = register.add_subject(act, entry)
            if owner != 2 or site <= 1:
                register.assign(act, self.subject(act, made), member_id=self.members[owner])
            return made

        return self.do(deed)

    @rule(entry=entries, days=near)
    def move(self, entry: int | None, days: int) -> None:
        to = self.now.date() + dt.timedelta(days=days)
        self.do(lambda act: [obligations.move(act, o, to, MoveReason.authority) for o in self.open_of(act, entry)[:1]])

    @rule(entry=entries, outcome=st.sampled_from(("met", "met", "not_required")))
    def close(self, entry: int | None, outcome: str) -> None:
        reason = None if outcome == "met" else "not_required"
        self.do(lambda act: [obligations.close(act, o, outcome, reason=reason) for o in self.open_of(act, entry)[:1]])

    @rule(entry=entries)
    def reopen(self, entry: int | None) -> None:
        def deed(act: Act) -> None:
            closed = act.session.query(Obligation.id).filter_by(org_id=act.org, subject_id=entry)
            for (found,) in closed.filter(Obligation.closed_at.is_not(None)).order_by(Obligation.id).limit(1):
                reopenings.reopen(act, found, ReopenReason.typing_error)

        self.do(deed)

    @rule(entry=entries, days=st.integers(-2, 40))
    def snooze(self, entry: int | None, days: int) -> None:
        until = self.now.date() + dt.timedelta(days=days)
        self.with_subject(entry, lambda act, s: register.snooze(act, s, until, SnoozeReason.planned))

    @rule(entry=entries)
    def end_snooze(self, entry: int | None) -> None:
        self.with_subject(entry, register.end_snooze)

    @rule(entry=entries)
    def archive(self, entry: int | None) -> None:
        self.with_subject(entry, lambda act, s: register.archive(act, s, ArchiveReason.gone))

    @rule(entry=entries)
    def take_out_of_service(self, entry: int | None) -> None:
        self.with_subject(entry, register.take_out_of_service)

    @rule(entry=entries)
    def restore(self, entry: int | None) -> None:
        self.with_subject(entry, register.restore)

    @rule(entry=entries, owner=st.integers(0, 2))
    def assign(self, entry: int | None, owner: int) -> None:
        self.with_subject(entry, lambda act, s: register.assign(act, s, member_id=self.members[owner]))

    @rule(entry=entries, site=st.integers(0, 3))
    def move_to_site(self, entry: int | None, site: int) -> None:
        self.with_subject(entry, lambda act, s: register.move_to_site(act, s, self.sites[site]))

    @rule(entry=entries, number=st.integers(1, 9))
    def retitle(self, entry: int | None, number: int) -> None:
        self.with_subject(entry, lambda act, s: register.retitle(act, s, f"Title {number}"))

    @rule(entry=entries, in_force=st.sampled_from(("yes", "no")), again_in=st.none() | st.integers(1, 40))
    def file(self, entry: int | None, in_force: str, again_in: int | None) -> None:
        day = self.now.date() - dt.timedelta(days=2)
        again = day + dt.timedelta(days=again_in) if again_in else None
        filing: Any = (day, "R-1", in_force, again)
        self.do(lambda act: [filings.file(act, o, *filing) for o in self.open_of(act, entry)[:1]])

    @rule(entry=entries)
    def end_filing(self, entry: int | None) -> None:
        day = self.now.date() - dt.timedelta(days=1)
        self.do(lambda act: [filings.end_filing(act, o, day, "refused") for o in self.open_of(act, entry)[:1]])

    @rule(
        entry=entries, who=st.integers(0, 2), answer=st.sampled_from(("seen", "on_it", "done", "not_mine", "not_mine")),
        days=st.integers(0, 20),
    )  # fmt: skip
    def acknowledge(self, entry: int | None, who: int, answer: str, days: int) -> None:
        until = self.now.date() + dt.timedelta(days=1 + days) if answer == "on_it" else None
        self.with_subject(
            entry, lambda act, s: answers.acknowledge(act, self.member(act, who), s, answer, until_on=until)
        )

    @rule(entry=entries, who=st.integers(0, 2))
    def take_back(self, entry: int | None, who: int) -> None:
        self.with_subject(entry, lambda act, s: answers.take_back(act, self.member(act, who), s))

    @rule(thresholds=some_thresholds, name=st.sampled_from(("first", "second")), start=st.sampled_from(("now", "next")))
    def change_rule(self, thresholds: tuple[str, ...], name: str, start: str) -> None:
        only_if = "always" if name == "first" else "nobody_on_it"
        self.do(lambda act: rules.apply(act, [self.text(name, thresholds, start, only_if)]))

    @rule(name=st.sampled_from(("first", "second")), on=st.booleans())
    def switch_rule(self, name: str, on: bool) -> None:
        self.do(lambda act: rules.switch(act, name, on))

    @rule(site=st.integers(0, 3), zone=st.sampled_from(ZONES))
    def change_zone(self, site: int, zone: str) -> None:
        self.do(lambda act: people.set_site_zone(act, self.sites[site], zone))

    @rule(site=st.integers(0, 4), days=near, length=st.integers(0, 9), yearly=st.booleans())
    def take_off(self, site: int, days: int, length: int, yearly: bool) -> None:
        first = self.now.date() + dt.timedelta(days=days)
        period = DayOff(first, first + dt.timedelta(days=length), yearly)
        self.do(lambda act: days_off.add_day_off(act, "Off", period, [*self.sites, None][site]))

    @rule()
    def work_again(self) -> None:
        oldest = "select coalesce(min(id), 0) from day_off where org_id = :org"
        self.do(lambda act: days_off.remove_day_off(act, act.run(oldest).scalar_one()))

    @rule(who=st.integers(0, 2), present=st.booleans())
    def come_and_go(self, who: int, present: bool) -> None:
        turn = people.enable_member if present else people.disable_member
        self.do(lambda act: turn(act, self.members[who]))

    @rule(post=st.integers(0, 2), who=st.integers(0, 2), site=st.integers(0, 3), days=st.integers(0, 30))
    def hold_post(self, post: int, who: int, site: int, days: int) -> None:
        until = self.now.date() + dt.timedelta(days=days)
        held = (self.posts[post], self.members[who], self.sites[site])
        self.do(lambda act: people.assign_post(act, *held, None, until))

    @rule(post=st.integers(0, 2), above=st.integers(0, 3))
    def put_above(self, post: int, above: int) -> None:
        """Of four posts the last is none."""
        self.do(lambda act: set_post_above(act, self.posts[post], [*self.posts, None][above]))

    @rule(entry=entries, post=st.integers(0, 2))
    def make_a_post_responsible(self, entry: int | None, post: int) -> None:
        self.with_subject(entry, lambda act, s: register.assign(act, s, post_id=self.posts[post]))

    @rule(who=st.integers(0, 2), stand_in=st.integers(0, 3), first=st.integers(-2, 8), days=st.integers(0, 20))
    def go_away(self, who: int, stand_in: int, first: int, days: int) -> None:
        """Of four stand-ins the last is nobody."""
        first_day = self.now.date() + dt.timedelta(days=first)
        last_day = first_day + dt.timedelta(days=days)
        other = [*self.members, None][stand_in]
        self.do(lambda act: absences.enter_absence(act, self.members[who], first_day, last_day, other))

    @rule(who=st.integers(0, 2))
    def come_back(self, who: int) -> None:
        self.do(lambda act: absences.come_back(act, self.members[who]))

    @rule(who=st.integers(0, 2), heir=st.integers(0, 3), days=st.integers(-1, 10))
    def leave(self, who: int, heir: int, days: int) -> None:
        """To another member, or to the post."""
        day = self.now.date() + dt.timedelta(days=days)
        to = {"to_member_id": self.members[heir]} if heir < 3 else {"to_post_id": self.post}
        self.do(lambda act: departures.leave(act, self.members[who], day, **to))

    @rule(who=st.integers(0, 2))
    def stay(self, who: int) -> None:
        self.do(lambda act: departures.stay(act, self.members[who]))

    @rule(hours=st.one_of(st.integers(1, 30), st.integers(24, 24 * 40)))
    def time_passes(self, hours: int) -> None:
        """Downtime: nothing ticks meanwhile."""
        self.now += dt.timedelta(hours=hours)

    @rule()
    def deliver(self) -> None:
        with self.acme.watching(self.now) as act:
            deliver(act)

    @rule()
    def tick(self) -> None:
        """A scan as the scheduler does it, by queue and window; the oracle; a second scan, which must add nothing."""
        self.now += dt.timedelta(seconds=1)
        self.do(departures.hand_on_due)
        with self.acme.watching(self.now) as act:
            scan(act)
        self.scanned_at = self.now
        with self.acme.watching(self.now) as act:
            assert owed(read_facts(act.session, act.org), self.now) == NOTHING_OWED
            again = scan(act, trigger="command", full=True)
            assert again == Scanned(), "a full scan found what the queue and the window had missed"
        self.check()

    def check(self) -> None:
        with self.acme.watching(self.now) as act:
            for what, sql in BROKEN.items():
                found = act.session.execute(text(sql), {"org": act.org, "scanned_at": self.scanned_at}).all()
                assert not found, f"{what}: {found}"

    def with_subject(self, entry: int | None, deed: Any) -> None:
        if entry is not None:
            self.do(lambda act: deed(act, self.subject(act, entry)))

    def subject(self, act: Act, entry: int) -> Subject:
        return act.session.query(Subject).filter_by(org_id=act.org, id=entry).one()

    def member(self, act: Act, who: int) -> Member:
        return act.session.query(Member).filter_by(org_id=act.org, id=self.members[who]).one()

    def open_of(self, act: Act, entry: int | None) -> list[int]:
        rows = act.session.query(Obligation.id).filter_by(org_id=act.org, subject_id=entry, closed_at=None)
        return [found for (found,) in rows.order_by(Obligation.id)]

    def teardown(self) -> None:
        if hasattr(self, "sites"):
            self.tick()
