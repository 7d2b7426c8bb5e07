"""P4: a year of an organisation's people: away, on it, wrong, gone. Nothing is owed after any look of the watch.

The watch looks as the scheduler does, by queue and window: in some weeks once a day at some hour, else seldom, as after
outages. Whenever it also looks at everything, nothing may be left to find: each wake-up comes by the fast way, too.
"""

from __future__ import annotations

import datetime as dt
import os
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.domain.acts import Held, MoveReason, SnoozeReason
from app.domain.days_off import DayOff
from app.domain.errors import Refused
from app.domain.hindsight import Entry
from app.domain.mail_hours import Rest
from app.ledger.scan import Scanned
from app.models import Member
from app.operations import (
    absences,
    answer_checks,
    answers,
    days_off,
    departures,
    mail_hours,
    obligations,
    people,
    register,
    rules,
)
from app.operations.mail_hours import OwnHours
from app.operations.rule_contents import RuleText
from app.queries.as_of import entries_at, read_as_of, read_told
from app.queries.owed import Owed
from app.queries.sight import read_sight
from app.trail.act import Act
from tests import factories
from tests.ledger.conftest import Watch
from tests.ledger.test_mail_hours import Mail

FULL = 5  # The seed of a year in which everything happens that FULL_YEAR names.
SEEDS = range(FULL, FULL + int(os.environ.get("ONUS_TEST_YEARS", "1")))  # `make long` lives through more years,
APART = int(os.environ.get("ONUS_TEST_WEEKS_APART", "26"))  # and has more weeks with a look a day.
START = dt.datetime(2027, 1, 4, tzinfo=dt.UTC)
DAYS = 365
DAY = dt.timedelta(days=1)
ENTRIES = 25
CREW = ("Bruno", "Carla", "Dora", "Emil", "Fina", "Gil")
PLACES = (("Suva", "Pacific/Fiji", None), ("Lima", "America/Lima", "PE"))  # Beside Madrid.
OUTAGE = 0.08  # The chance of a day in a busy week that nothing looks; in the other weeks, that something does.
FULL_LOOK = 0.1
NOTHING = Owed(missing=[], stalled=[], unaddressed=[])

# What a year must have seen for its silence to mean anything: see FULL_YEAR.
SEEN = """
select 'trail: ' || type as what, count(*) as times from audit_event group by 1
union all select 'claim: ' || standing || coalesce(', ' || reason, ''), count(*) from notification_ledger group by 1
union all select 'told: ' || because, count(*) from delivery where state = 'delivered' group by 1
union all select 'mail: ' || coalesce(timed_by, 'at once'), count(*) from delivery
          where channel = 'email' and state = 'delivered' group by 1
union all select 'trail: handed over by the watch', count(*) from departure where done_at > entered_at"""

# An alert to whoever acts when nobody does, that came only because a promise had lapsed.
LAPSED = """
select count(distinct l.id) from notification_ledger l
join alert_rule r on r.id = l.rule_id and r.only_if = 'nobody_on_it'
join delivery x on x.claim_id = l.id and x.state = 'delivered'
where exists (select from notification_ledger c join acknowledgement a on a.claim_id = c.id
              where c.obligation_id = l.obligation_id and a.answer = 'on_it' and a.taken_back_at is null
                and a.until_on between l.crossed_on and cast(l.claimed_at as date))"""


REMEMBERED_EVERY = 41  # days
# What the register says, and who was told and has answered, as a recording made at the time has it.
REGISTER = """
select s.id, s.title, s.site_id, s.owner_member_id, s.owner_post_id, s.holder_id, s.status, s.snoozed_until,
       (select array_agg(array[o.id::text, o.due_on::text, o.outcome, o.met_on::text] order by o.id)
        from obligation o where o.subject_id = s.id)
from subject s order by s.id"""
TOLD_THEN = """
select l.subject_id, m.name, x.channel, l.due_on, l.threshold from delivery x
join notification_ledger l on l.id = x.claim_id join member m on m.id = x.recipient_id where x.state = 'delivered'
union all select l.subject_id, m.name, a.answer, l.due_on, l.threshold from acknowledgement a
join notification_ledger l on l.id = a.claim_id join member m on m.id = a.member_id
where a.taken_back_at is null and a.sent_back_at is null"""
MICROSECOND = dt.timedelta(microseconds=1)


class Year:
    """A seeded life: `chance` alone decides what happens, so that a year that fails can be lived through again."""

    def __init__(self, watch: Watch, seed: int) -> None:
        self.watch, self.chance = watch, random.Random(seed)
        self.mail = Mail(watch)
        self.hired = 0
        self.recordings: dict[dt.datetime, tuple[list[Any], list[Any]]] = {}
        watch.acme.now = START
        watch.do(self.furnish)

    @property
    def today(self) -> dt.date:
        return self.watch.acme.now.date()

    def soon(self, most: int) -> dt.date:
        return self.today + self.chance.randint(1, most) * DAY

    def furnish(self, act: Act) -> None:
        self.sites = [factories.site(act)] + [people.add_site(act, name, zone, land) for name, zone, land in PLACES]
        self.ana = people.add_member(act, "ana@acme.example", "admin", "Ana")
        self.crew = [people.add_member(act, f"{name}@acme.example", "staff", name) for name in CREW]
        self.post = people.add_post(act, "Plant manager")
        for site, holder in zip(self.sites, self.crew, strict=False):
            people.assign_post(act, self.post, holder, site)
        both = ("in_app", "email")
        told = {"channels": both, "to": ("owner", "holder"), "thresholds": ("1m", "10bd", "3d", "0d", "+1w")}
        above = {"channels": ("in_app",), "to": ("post:Plant manager", "role:admin"), "only_if": "nobody_on_it"}
        rules.apply(act, [RuleText("All", **told), RuleText("Nobody", thresholds=("7d", "2bd", "+1d"), **above)])
        mail_hours.set_organisation_rest(act, Rest(dt.time(20), dt.time(6), days_off=True))
        mail_hours.set_hours(act, self.crew[0], OwnHours(dt.time(8), None, None))
        for number in range(ENTRIES):
            self.enter(act, number)

    def enter(self, act: Act, number: int) -> None:
        """Every fifth is the duty of a post, every sixth is about somebody; most come again."""
        owner = {"owner_post_id": self.post} if number % 5 == 0 else {"owner_member_id": self.chance.choice(self.crew)}
        about = self.chance.choice(self.crew) if number % 6 == 0 else None
        facts = {"due_on": self.soon(150), "recurrence": ("2m", "3m", None)[number % 3], "holder_id": about, **owner}
        place = {"site_id": self.sites[number % 3], "kind_id": factories.kind(act)}
        register.add_subject(act, register.Entry(reference=f"Y-{number}", **place, **facts))

    def live(self) -> None:
        """What people do on one day. What the application refuses is not done."""
        for _ in range(self.chance.choice((0, 0, 0, 1, 1, 2))):
            deed = self.chance.choices(list(DEEDS), list(DEEDS.values()))[0]
            try:
                self.watch.do(lambda act, deed=deed: deed(self, act))
            except Refused:
                continue

    def look(self) -> None:
        """The fast look of the scheduler; now and then one at everything, which must find nothing."""
        self.watch.acme.now += dt.timedelta(seconds=1)
        self.watch.scan(full=False, trigger="schedule")
        assert self.watch.owed() == NOTHING, self.today
        if self.chance.random() < FULL_LOOK:
            assert self.watch.scan() == Scanned(), self.today
        self.watch.deliver()
        self.mail.send("")

    def pass_by(self) -> None:
        for number in range(DAYS):
            self.watch.acme.now = START + number * DAY + dt.timedelta(hours=self.chance.randint(0, 23))
            self.live()
            is_busy = number // 7 % APART == 0
            if is_busy != (self.chance.random() < OUTAGE):
                self.look()
            if number % REMEMBERED_EVERY == 0:
                self.recordings[self.watch.acme.now + MICROSECOND] = self.recorded()
        self.look()

    def recorded(self) -> tuple[list[Any], list[Any]]:
        return self.watch.rows(REGISTER), sorted(self.watch.rows(TOLD_THEN))

    def remembered(self, instant: dt.datetime) -> tuple[list[Any], list[Any]]:
        """What the view of a past instant says, in the form of a recording."""
        with self.watch.acme.acting() as act:
            sight = read_sight(act.session, act.org, self.ana, act.now)
            ids = [row.subject_id for row in read_as_of(act.session, sight, instant).rows]
            then, told = entries_at(act.session, act.org, ids, instant), read_told(act.session, act.org, ids, instant)
        rows = [(id, *row_of(then[id])) for id in ids]
        return rows, sorted((id, t.person, t.how, t.due_on, t.threshold) for id in told for t in told[id])

    def somebody(self) -> int:
        return self.chance.choice(self.crew)

    def told(self, act: Act) -> tuple[int, int] | None:
        """An alert of an open deadline that somebody was told of, and who."""
        rows = act.run(
            "select x.recipient_id, x.claim_id from delivery x join notification_ledger l on l.id = x.claim_id "
            "join obligation o on o.id = l.obligation_id and o.closed_at is null "
            "where x.org_id = :org and x.state = 'delivered' order by x.id"
        ).all()
        return tuple(self.chance.choice(rows)) if rows else None

    def answer(self, act: Act) -> None:
        said = self.chance.choice(("seen", "on_it", "on_it", "on_it", "done", "done", "not_mine", "help"))
        given: dict[str, Any] = {"until_on": self.soon(20)} if said == "on_it" else {}
        if found := self.told(act):
            answers.acknowledge_claim(act, *found, said, **given)

    def take_back(self, act: Act) -> None:
        standing = "select member_id, claim_id from acknowledgement where org_id = :org and taken_back_at is null "
        if rows := act.run(standing + "order by id desc limit 5").all():
            answers.take_back_claim(act, *self.chance.choice(rows))

    def decide(self, act: Act) -> None:
        """The officer looks at what is said to be done and is open."""
        waits = "select a.id from acknowledgement a join notification_ledger l on l.id = a.claim_id join obligation o "
        waits += "on o.id = l.obligation_id and o.closed_at is null where a.org_id = :org and a.answer = 'done' "
        waits += "and a.taken_back_at is null and a.sent_back_at is null order by a.id desc limit 1"
        for answer_id in act.run(waits).scalars():
            if self.chance.random() < 0.5:
                answer_checks.send_back(act, answer_id, "It cannot be read.", self.ana)
            else:
                answer_checks.accept(act, answer_id, self.ana)

    def close(self, act: Act) -> None:
        """What is overdue the longest is done at last; and what has no date is entered anew."""
        rows = act.run("select id from obligation where org_id = :org and closed_at is null order by due_on limit 2")
        for one in rows.scalars():
            obligations.close(act, one, "met")
        none = "select id from subject s where org_id = :org and not exists (select from obligation o "
        none += "where o.org_id = :org and o.subject_id = s.id and o.closed_at is null) order by id limit 1"
        for one in act.run(none).scalars():
            obligations.add_obligation(act, register.get_subject(act, one), self.soon(90))

    def move(self, act: Act) -> None:
        rows = act.run("select id from obligation where org_id = :org and closed_at is null order by id").scalars()
        obligations.move(act, self.chance.choice(rows.all()), self.soon(90), MoveReason.authority)

    def snooze(self, act: Act) -> None:
        ids = act.run("select id from subject where org_id = :org order by id").scalars().all()
        register.snooze(act, register.get_subject(act, self.chance.choice(ids)), self.soon(20), SnoozeReason.planned)

    def go_away(self, act: Act) -> None:
        first = self.soon(6) - DAY
        stand_in = self.chance.choice([*self.crew, self.ana, None])
        absences.enter_absence(act, self.somebody(), first, first + self.chance.randint(0, 21) * DAY, stand_in)

    def come_back(self, act: Act) -> None:
        absences.come_back(act, self.somebody())

    def leave(self, act: Act) -> None:
        """From a day to come on, to a person or a post; and somebody new comes, for whom there is work at once."""
        heir = self.chance.choice(({"to_post_id": self.post}, {"to_member_id": self.somebody()}))
        about = self.chance.choice((Held.hand_over, Held.archive))
        departures.leave(act, one := self.somebody(), self.soon(12), about=about, **heir)
        self.hired += 1
        name = f"New {self.hired}"
        self.crew.append(people.add_member(act, f"new{self.hired}@acme.example", "staff", name))
        self.crew.remove(one)
        ids = act.run("select id from subject where org_id = :org and status = 'watched' order by id").scalars().all()
        for subject_id in self.chance.sample(ids, 5):
            register.assign(act, register.get_subject(act, subject_id), member_id=self.crew[-1])

    def stay(self, act: Act) -> None:
        row = act.run("select id from member where org_id = :org and left_on > :day", {"day": self.today}).first()
        if row:
            departures.stay(act, row.id)
            self.crew.append(row.id)

    def change_hands(self, act: Act) -> None:
        """The post is somebody else's from a day to come on; whoever holds it now, holds it until the day before."""
        site, day = self.chance.choice(self.sites), self.soon(15)
        held = "select member_id, from_on from site_post where org_id = :org and site_id = :site and until_on is null"
        for row in act.run(held, {"site": site}).all():
            people.end_post(act, self.post, row.member_id, site, row.from_on, max(row.from_on, day - DAY))
        people.assign_post(act, self.post, self.somebody(), site, day)

    def take_off(self, act: Act) -> None:
        first = self.soon(40)
        period = DayOff(first, first + self.chance.randint(0, 6) * DAY, self.chance.random() < 0.3)
        days_off.add_day_off(act, "Shutdown", period, self.chance.choice([*self.sites, None]))

    def choose_hours(self, act: Act) -> None:
        at = self.chance.choice((None, dt.time(8), dt.time(17, 30)))
        rest = self.chance.choice((None, Rest(), Rest(dt.time(18), dt.time(7))))
        mail_hours.set_hours(act, self.somebody(), OwnHours(at, rest, self.chance.choice((None, "Asia/Tokyo"))))

    def go_silent(self, act: Act) -> None:
        who = act.session.get_one(Member, (act.org, self.somebody()))
        people.set_email_alerts(act, who.id, not who.email_alerts)


def row_of(entry: Entry) -> tuple[Any, ...]:
    facts = entry.facts
    until = facts["snoozed_until"]
    dates = [
        [str(id), str(one.due_on), one.outcome, str(one.met_on) if one.met_on else None]
        for id, one in sorted(entry.deadlines.items())
    ]
    plain = [facts[name] for name in ("title", "site_id", "owner_member_id", "owner_post_id", "holder_id", "status")]
    return (*plain, dt.date.fromisoformat(until) if isinstance(until, str) else until, dates or None)


DEEDS: dict[Callable[[Year, Act], None], int] = {
    Year.answer: 14, Year.take_back: 2, Year.decide: 5, Year.close: 4, Year.move: 1, Year.snooze: 1, Year.go_away: 4,
    Year.come_back: 2, Year.leave: 1, Year.stay: 1, Year.change_hands: 1, Year.take_off: 1, Year.choose_hours: 1,
    Year.go_silent: 1,
}  # fmt: skip

FULL_YEAR = (
    "claim: after a promise", "claim: open", "claim: superseded, sharper", "mail: at once", "mail: daily", "mail: rest",
    "told: cover", "told: holder", "told: owner", "told: post", "trail: absence_ended", "trail: absence_entered",
    "trail: answer_accepted", "trail: answer_sent_back", "trail: answer_taken_back", "trail: batch_applied",
    "trail: day_off_added", "trail: handed over by the watch", "trail: mail_hours_changed", "trail: post_assigned",
)  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_p4_nothing_is_owed_through_a_year_of_absences_promises_and_leavers(watch: Watch, seed: int) -> None:
    year = Year(watch, seed)
    with capture_logs() as logs:
        year.pass_by()
    assert [line for line in logs if line["log_level"] == "error"] == [], "the fast way missed what everything has"
    for instant, recording in year.recordings.items():
        assert year.remembered(instant) == recording, instant
    seen = Counter(dict(watch.rows(SEEN)))
    [(seen["claim: after a promise"],)] = watch.rows(LAPSED)
    missing = [what for what in FULL_YEAR if not seen[what]]
    assert seed != FULL or not missing, (
        "the first year proves nothing about these"
    )  # Of the others chance alone decides.
