"""The hours of e-mail in the ledger: exact instants through a fortnight, and what moves when the facts change.

A stand-in for the sender leases what is due, person by person, and says when: nothing of a network is needed for that.
"""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass, field

import pytest
from sqlalchemy import text

from app.domain.acts import MoveReason
from app.domain.calendars import Calendar
from app.domain.mail_hours import Due, Hours, Rest, plan
from app.ledger.lease import due_people, lease_for
from app.operations import absences, mail_hours, obligations, people, places, register
from app.operations.mail_hours import OwnHours
from app.trail.act import Act
from tests import factories
from tests.ledger.conftest import Watch

ANA, BRUNO = "ana@acme.example", "bruno@acme.example"
NIGHT = Rest(dt.time(20), dt.time(6))
MONDAY = "2027-03-01T09:00"  # 10:00 in Madrid.
MADRID = ("Madrid", "Europe/Madrid", None, None)  # Name, zone, country and region.
LEASE = dt.timedelta(minutes=5)


@dataclass
class Mail:
    """The watch, and a sender that takes what is due: each message is (local time in Madrid, person, references)."""

    watch: Watch
    sent: list[tuple[str, str, str]] = field(default_factory=list)

    def hours(self, email: str, **chosen: object) -> None:
        hours = OwnHours(**chosen)  # type: ignore[arg-type]
        self.watch.do(lambda act: mail_hours.set_hours(act, people.find_member(act, email).id, hours))

    def at(self, local: str) -> Mail:
        """Scan, deliver and send at this local time of Madrid, and once more: nothing may go twice."""
        moment = dt.datetime.fromisoformat(local).replace(tzinfo=dt.timezone(dt.timedelta(hours=1)))
        self.watch.at(moment.isoformat())
        for _ in range(2):
            self.tick(local)
        return self

    def tick(self, local: str) -> None:
        self.watch.scan()
        self.watch.deliver()
        self.send(local)

    def send(self, local: str) -> None:
        with self.watch.acme.watching() as act:
            for member_id in due_people(act):
                found = lease_for(act, member_id, uuid.uuid4(), LEASE, "acme.example")
                assert found is not None
                if found.lease is None:
                    continue
                names = act.run(
                    "select m.name, string_agg(l.reference || ' ' || l.threshold, ', ' order by l.reference, x.id) "
                    "from delivery x join notification_ledger l on l.id = x.claim_id "
                    "join member m on m.id = x.recipient_id where x.lease_token = :token group by m.name",
                    {"token": found.lease.token},
                ).one()
                self.sent.append((local, *names))
                act.run(
                    "update delivery set state = 'delivered', delivered_at = :now, handed_over_at = :now, "
                    "lease_token = null where org_id = :org and lease_token = :token",
                    {"token": found.lease.token},
                )

    def waiting(self) -> list[tuple[object, ...]]:
        return self.watch.rows(
            "select l.reference, to_char(x.next_attempt_at at time zone 'Europe/Madrid', 'YYYY-MM-DD HH24:MI'), "
            "x.timed_by from delivery x join notification_ledger l on l.id = x.claim_id "
            "where x.channel = 'email' and x.state = 'pending' order by l.reference, x.id"
        )

    def taken(self) -> list[tuple[str, str, str]]:
        taken, self.sent = self.sent, []
        return taken


@pytest.fixture
def mail(watch: Watch) -> Mail:
    """Ana, an officer, whom a rule tells by both ways 30 and 7 days before, and on the day."""
    watch.at(MONDAY)
    with watch.acme.acting() as act:
        people.add_member(act, ANA, "officer", name="Ana")
        people.add_member(act, BRUNO, "staff", name="Bruno")
        factories.rule(act, thresholds=("30d", "7d", "0d"), to=(f"member:{ANA}",), channels=("email", "in_app"))
    return Mail(watch)


def enter(mail: Mail, reference: str, due_on: str) -> None:
    mail.watch.do(lambda act: factories.subject(act, reference, dt.date.fromisoformat(due_on)))


def test_in_place_of_who_is_away_it_goes_at_the_hours_of_the_stand_in(mail: Mail) -> None:
    """And what waited for the hours of the one who is away does not wait for them any more; nor does it come back."""
    mail.hours(ANA, daily_at=dt.time(8))
    mail.hours(BRUNO, daily_at=dt.time(17))
    enter(mail, "A", "2027-04-01")
    mail.at("2027-03-02T09:00")
    assert mail.waiting() == [("A", "2027-03-03 08:00", "daily")]

    def go(act: Act) -> None:
        ana, bruno = (people.find_member(act, email).id for email in (ANA, BRUNO))
        absences.enter_absence(act, ana, dt.date(2027, 3, 2), dt.date(2027, 3, 3), bruno)

    mail.watch.do(go)
    mail.at("2027-03-02T10:00")
    assert mail.waiting() == [("A", "2027-03-02 17:00", "daily")]
    for local in ("2027-03-02T17:00", "2027-03-03T08:00", "2027-03-04T08:00"):
        mail.at(local)
    assert mail.taken() == [("2027-03-02T17:00", "Bruno", "A 30d")]


def test_a_fortnight_of_a_daily_message_and_nights_of_rest(mail: Mail) -> None:
    """Two weeks, at each hour at which something is raised or leaves: what left, and when."""
    mail.hours(ANA, daily_at=dt.time(8), rest=NIGHT)
    enter(mail, "A", "2027-04-05")  # 30 days before is a Saturday.
    enter(mail, "B", "2027-03-11")  # 7 days before is Thursday the 4th; the day itself the week after.
    enter(mail, "C", "2027-03-13")  # 7 days before is a Saturday; the day itself, too.
    new = {"2027-03-04T18:00": ("D", "2027-03-08"), "2027-03-04T21:00": ("E", "2027-03-04")}
    for day in range(1, 15):
        for hour in (6, 8, *((18, 21) if day == 4 else ())):
            moment = f"2027-03-{day:02}T{hour:02}:00"
            if moment in new:
                enter(mail, *new[moment])
            mail.watch.at(f"{moment}+01:00")
            mail.tick(moment)
    assert mail.taken() == [
        ("2027-03-01T08:00", "Ana", "B 30d, C 30d"),  # Raised at six.
        ("2027-03-04T08:00", "Ana", "B 7d"),
        ("2027-03-04T18:00", "Ana", "D 7d"),  # Due soon.
        ("2027-03-04T21:00", "Ana", "E 0d"),  # Due today, so the night does not hold it.
        ("2027-03-08T06:00", "Ana", "D 0d"),  # Due today: not at eight, and not at night.
        ("2027-03-08T08:00", "Ana", "A 30d, C 7d"),
        ("2027-03-11T06:00", "Ana", "B 0d"),
        ("2027-03-13T06:00", "Ana", "C 0d"),  # A Saturday.
    ]
    in_app = mail.watch.rows(
        "select count(*), bool_and(x.delivered_at <= l.claimed_at) from delivery x "
        "join notification_ledger l on l.id = x.claim_id where x.channel = 'in_app' and x.state = 'delivered'"
    )
    assert in_app == [(10, True)], "the app waits for no hours"
    assert mail.watch.owed().count == 0


def test_what_waits_follows_a_change_and_says_why(mail: Mail) -> None:
    enter(mail, "A", "2027-03-25")
    mail.hours(ANA, daily_at=dt.time(8))
    mail.at("2027-03-01T10:00")
    assert mail.waiting() == [("A", "2027-03-02 08:00", "daily")]
    mail.hours(ANA, daily_at=dt.time(17, 30))
    assert mail.at("2027-03-01T10:10").waiting() == [("A", "2027-03-01 17:30", "daily")]
    mail.hours(ANA, daily_at=dt.time(9))  # Nine o'clock is past: tomorrow, of now and not of then.
    assert mail.at("2027-03-01T10:20").waiting() == [("A", "2027-03-02 09:00", "daily")]
    mail.hours(ANA, daily_at=dt.time(9), timezone="Atlantic/Canary")
    assert mail.at("2027-03-01T10:30").waiting() == [("A", "2027-03-02 10:00", "daily")]
    mail.hours(ANA, rest=Rest(dt.time(10), dt.time(12)))
    assert mail.at("2027-03-01T10:40").waiting() == [("A", "2027-03-01 12:00", "rest")]
    mail.watch.do(lambda act: mail_hours.set_organisation_rest(act, Rest(dt.time(10), dt.time(13))))
    assert mail.at("2027-03-01T10:45").waiting() == [("A", "2027-03-01 12:00", "rest")], "her own rest wins"
    mail.hours(ANA)
    assert mail.at("2027-03-01T10:50").waiting() == [("A", "2027-03-01 13:00", "rest")], "the organisation's"
    assert mail.taken() == []
    mail.hours(ANA, rest=Rest())
    assert mail.at("2027-03-01T10:55").waiting() == []
    assert mail.taken() == [("2027-03-01T10:55", "Ana", "A 30d")]
    events = mail.watch.rows(
        "select detail ->> 'timed_by', cast(detail ->> 'from' as timestamptz) at time zone 'Europe/Madrid' "
        "from audit_event where type = 'delivery_timed' order by id"
    )
    assert [by for by, _ in events] == ["daily", "daily", "daily", "daily", "rest", "rest", None]
    assert events[0][1] == dt.datetime(2027, 3, 2, 8)  # noqa: DTZ001


def test_a_moved_date_moves_the_hour(mail: Mail) -> None:
    mail.hours(ANA, daily_at=dt.time(8), rest=NIGHT)
    enter(mail, "A", "2027-03-25")
    mail.at("2027-03-01T10:00")

    def move(act: object) -> None:
        found = act.run("select id from obligation where org_id = :org").scalar_one()  # type: ignore[attr-defined]
        obligations.move(act, found, dt.date(2027, 3, 3), MoveReason.authority)  # type: ignore[arg-type]

    mail.watch.do(move)
    mail.at("2027-03-01T10:05")
    assert mail.taken() == [("2027-03-01T10:05", "Ana", "A 7d")]
    by = mail.watch.rows("select timed_by from delivery where channel = 'email' and state = 'delivered'")
    assert by == [("due_soon",)]


def test_whoever_takes_over_is_mailed_at_their_own_hour(mail: Mail) -> None:
    def furnish(act: object) -> None:
        factories.rule(act, "Own", ("30d",), ("owner",), ("email",))  # type: ignore[arg-type]
        made = factories.subject(act, "A", dt.date(2027, 3, 25))  # type: ignore[arg-type]
        register.assign(act, made, member_id=people.find_member(act, ANA).id)  # type: ignore[arg-type]

    mail.watch.do(furnish)
    mail.hours(ANA, daily_at=dt.time(8))
    mail.hours(BRUNO, daily_at=dt.time(18))
    mail.at("2027-03-01T10:00")
    mail.watch.do(
        lambda act: register.assign(
            act, act.session.query(factories.Subject).one(), member_id=people.find_member(act, BRUNO).id
        )
    )
    mail.at("2027-03-01T10:05")
    mail.at("2027-03-01T18:00")
    assert mail.taken() == [("2027-03-01T18:00", "Bruno", "A 30d")]


def test_what_leaves_late_waits_for_the_end_of_a_rest_time_and_is_late_all_the_same(mail: Mail) -> None:
    """The mail server was away: a rest time holds the message, but since when it waits stays as it was."""
    mail.hours(ANA, rest=NIGHT)
    enter(mail, "A", "2027-03-25")
    enter(mail, "B", "2027-03-01")
    mail.watch.at(MONDAY).scan()
    late = "2027-03-01T22:00"
    mail.at(late)
    assert mail.taken() == [(late, "Ana", "B 0d")], "it is due before the rest time is over"
    assert mail.waiting() == [("A", "2027-03-02 06:00", "rest")]
    held = "select distinct not_before <= claimed_at from delivery x join notification_ledger l on l.id = x.claim_id"
    assert mail.watch.rows(f"{held} where x.state = 'pending'") == [(True,)]
    mail.hours(ANA, rest=Rest(dt.time(20), dt.time(7)))
    assert mail.at("2027-03-01T23:00").waiting() == [("A", "2027-03-02 07:00", "rest")]
    mail.at("2027-03-02T07:00")
    assert mail.taken() == [("2027-03-02T07:00", "Ana", "A 30d")]
    by = mail.watch.rows(
        "select l.reference, x.timed_by from delivery x join notification_ledger l on l.id = x.claim_id "
        "where x.channel = 'email' and x.state = 'delivered' order by 1"
    )
    assert by == [("A", "rest"), ("B", "despite_rest")]


def test_a_message_that_was_put_off_keeps_its_next_try(mail: Mail) -> None:
    """A refusal for now is answered by waiting: new hours may lengthen that, and never shorten it."""
    enter(mail, "A", "2027-03-25")
    mail.watch.at(MONDAY).scan()
    with mail.watch.acme.watching() as act:
        act.run("update delivery set attempts = 1, next_attempt_at = :now + interval '4 hours' where channel = 'email'")
    mail.hours(ANA, daily_at=dt.time(10, 30))
    assert mail.at("2027-03-01T10:00").waiting() == [("A", "2027-03-01 14:00", "daily")]
    mail.hours(ANA, daily_at=dt.time(9))
    assert mail.at("2027-03-01T10:00").waiting() == [("A", "2027-03-02 09:00", "daily")]


def test_an_unusable_zone_of_a_person_stops_nothing(mail: Mail) -> None:
    mail.hours(ANA, daily_at=dt.time(8))
    enter(mail, "A", "2027-03-25")
    mail.watch.do(lambda act: act.session.execute(text("update member set timezone = 'Mars/Olympus'")))
    mail.at("2027-03-01T10:00")
    assert mail.taken() == [("2027-03-01T10:00", "Ana", "A 30d")]


def test_the_hour_of_the_site_and_those_of_the_person_hold_together(mail: Mail) -> None:
    mail.watch.do(lambda act: act.session.execute(text("update site set alert_from = '07:00'")))
    mail.hours(ANA, rest=Rest(dt.time(7), dt.time(9)))
    enter(mail, "A", "2027-03-31")
    mail.at("2027-03-01T02:00")
    assert mail.waiting() == [("A", "2027-03-01 09:00", "rest")]
    in_app = "select to_char(not_before at time zone 'Europe/Madrid', 'HH24:MI'), timed_by from delivery"
    assert mail.watch.rows(f"{in_app} where channel = 'in_app'") == [("07:00", "alert_from")]


def test_what_waits_for_the_hour_of_the_site_follows_it(mail: Mail) -> None:
    def goes_from(hour: int) -> None:
        mail.watch.do(lambda act: places.change_site(act, factories.site(act), *MADRID, dt.time(hour)))

    def hours() -> list[tuple[object, ...]]:
        sql = "select x.channel, to_char(x.not_before at time zone 'Europe/Madrid', 'HH24:MI'), x.timed_by, x.state "
        return mail.watch.rows(f"{sql} from delivery x order by 1")

    goes_from(9)
    mail.hours(ANA, rest=Rest(dt.time(20), dt.time(8)))
    enter(mail, "A", "2027-03-31")
    mail.at("2027-03-01T05:00")
    goes_from(11)
    mail.at("2027-03-01T05:10")
    assert hours() == [(channel, "11:00", "alert_from", "pending") for channel in ("email", "in_app")]
    goes_from(7)
    mail.at("2027-03-01T05:20")
    assert hours() == [("email", "08:00", "rest", "pending"), ("in_app", "07:00", "alert_from", "pending")]
    goes_from(0)
    mail.at("2027-03-01T05:30")
    assert hours() == [("email", "08:00", "rest", "pending"), ("in_app", "05:30", None, "delivered")]
    goes_from(23)
    mail.at("2027-03-01T08:00")
    assert mail.taken() == [("2027-03-01T08:00", "Ana", "A 30d")], "what was ready before goes when its reader reads"
    events = "select count(*) from audit_event where type = 'delivery_timed' and detail->>'channel' = 'in_app'"
    assert mail.watch.rows(events) == [(3,)]


def test_the_ledger_says_what_the_plan_says(mail: Mail) -> None:
    """Many due dates at once: the row of each is the pure function's answer."""
    mail.hours(ANA, daily_at=dt.time(8), rest=Rest(dt.time(9), dt.time(11), days_off=True), country="ES")
    for day in range(26):
        enter(mail, f"P-{day:02}", f"{dt.date(2027, 3, 1) + dt.timedelta(days=day)}")
    mail.watch.at(MONDAY).scan()
    hours = Hours("Europe/Madrid", Calendar("ES"), dt.time(8), Rest(dt.time(9), dt.time(11), days_off=True))
    found = mail.watch.rows(
        "select l.due_on, x.not_before, x.ready_at, x.timed_by from delivery x join notification_ledger l "
        "on l.id = x.claim_id where x.channel = 'email'"
    )
    assert len(found) == 26
    for due_on, not_before, ready_at, timed_by in found:
        assert (not_before, timed_by) == plan(ready_at, Due(due_on, "Europe/Madrid"), hours)
