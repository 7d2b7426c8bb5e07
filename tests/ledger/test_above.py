"""What is nobody's: a working day after "not mine" the post above is told, once, and nobody is before that day."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from app.domain.days_off import DayOff
from app.domain.errors import Refused
from app.ledger.scan import Scanned
from app.models import Member, Subject
from app.operations import absences, answer_checks, answers, days_off, filings, people, register
from app.operations.posts_above import set_post_above
from app.queries.leaving import read_load
from app.queries.owed import Owed
from app.queries.queues import Queue, read_queue
from app.queries.sight import read_sight
from app.trail.act import Act
from tests import factories
from tests.ledger.conftest import Watch

DUE = dt.date(2027, 6, 1)
NOTHING = Owed(missing=[], stalled=[], unaddressed=[])

TOLD = """
select m.name, x.state, x.because, c.name from delivery x
join member m on m.org_id = x.org_id and m.id = x.recipient_id
left join member c on c.org_id = x.org_id and c.id = x.covers_id
where x.org_id = :org order by x.id"""

BRUNO = ("Bruno", "delivered", "owner", None)
PILAR = ("Pilar", "delivered", "above", None)


class Plant:
    """Bruno, a fitter, is responsible for P-1; Pilar manages the plant, Dora directs it, Carla holds nothing."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.people: dict[str, int] = {}
        watch.at("2027-05-03T09:00").do(self.furnish)

    def furnish(self, act: Act) -> None:
        for name in ("Bruno", "Pilar", "Dora", "Carla"):
            self.people[name] = people.add_member(act, f"{name}@acme.example", "staff", name=name)
        self.posts = [people.add_post(act, name) for name in ("fitter", "manager", "director")]
        for post, name in zip(self.posts, self.people, strict=False):
            people.assign_post(act, post, self.people[name], factories.site(act), dt.date(2027, 1, 1))
        set_post_above(act, self.posts[0], self.posts[1])
        set_post_above(act, self.posts[1], self.posts[2])
        register.assign(act, factories.subject(act, due_on=DUE), member_id=self.people["Bruno"])
        factories.rule(act, thresholds=("30d", "7d"), to=("owner",))

    def at(self, instant: str) -> list[tuple[Any, ...]]:
        """Who is told by then, by queue and window alone; a full scan and a second delivery add nothing to it."""
        self.watch.at(instant).scan(full=False, trigger="schedule")
        assert self.watch.owed() == NOTHING
        assert self.watch.scan() == Scanned()
        self.watch.deliver()
        assert self.watch.scan(full=False, trigger="schedule") == Scanned()
        return self.watch.rows(TOLD)

    def says(self, instant: str, answer: str = "not_mine", who: str = "Bruno", **said: Any) -> None:
        def deed(act: Act) -> None:
            member = act.session.query(Member).filter_by(org_id=act.org, id=self.people[who]).one()
            answers.acknowledge(act, member, entry(act), answer, **said)

        self.watch.at(instant).do(deed)


def entry(act: Act) -> Subject:
    return act.session.query(Subject).filter_by(org_id=act.org, reference="P-1").one()


@pytest.fixture
def plant(watch: Watch) -> Plant:
    made = Plant(watch)
    assert made.at("2027-05-03T09:00") == [BRUNO]
    return made


@pytest.mark.parametrize(
    ("said", "not_yet", "told"),
    [
        pytest.param("2027-05-04T09:00", "2027-05-04T21:59", "2027-05-04T22:00", id="on a Tuesday: by midnight there"),
        pytest.param("2027-05-04T22:30", "2027-05-05T21:00", "2027-05-05T22:00", id="on a Wednesday at the site"),
        pytest.param("2027-05-07T09:00", "2027-05-09T21:00", "2027-05-09T22:00", id="on a Friday: on Monday"),
        pytest.param("2027-05-08T09:00", "2027-05-09T21:00", "2027-05-09T22:00", id="on a Saturday: on Monday"),
        pytest.param("2027-05-13T09:00", "2027-05-17T21:00", "2027-05-17T22:00", id="before two days off: on Tuesday"),
    ],
)
def test_a_working_day_of_the_site_later_the_post_above_is_told(
    plant: Plant, said: str, not_yet: str, told: str
) -> None:
    bridge = DayOff(dt.date(2027, 5, 14), dt.date(2027, 5, 17), False)
    plant.watch.do(lambda act: days_off.add_day_off(act, "Bridge", bridge, None))
    plant.says(said)
    assert plant.at(not_yet) == [BRUNO]
    [debt] = plant.watch.at(told).owed().unaddressed
    assert debt.why == "nobody's for a working day, and the post above not told"
    assert plant.at(told) == [BRUNO, PILAR]
    later = dt.datetime.fromisoformat(told) + dt.timedelta(days=2)
    assert plant.at(later.isoformat()) == [BRUNO, PILAR], "once, and nobody above her"


def test_a_day_off_that_is_entered_afterwards_moves_the_day(plant: Plant) -> None:
    plant.says("2027-05-04T09:00")
    wednesday = DayOff(dt.date(2027, 5, 5), dt.date(2027, 5, 5), False)
    plant.watch.do(lambda act: days_off.add_day_off(act, "Feast", wednesday, None))
    assert plant.at("2027-05-05T09:00") == [BRUNO]
    assert plant.at("2027-05-06T09:00") == [BRUNO, PILAR]


def test_whoever_acts_before_the_day_spares_the_post_above(plant: Plant) -> None:
    plant.says("2027-05-04T09:00")
    plant.watch.do(
        lambda act: answers.take_back(
            act, act.session.query(Member).filter_by(org_id=act.org, name="Bruno").one(), entry(act)
        )
    )
    assert plant.at("2027-05-05T09:00") == [BRUNO], "taken back"
    plant.says("2027-05-05T10:00")
    [(answer,)] = plant.watch.rows("select max(id) from acknowledgement where org_id = :org")
    plant.watch.do(lambda act: answer_checks.send_back(act, answer, "It is yours."))
    assert plant.at("2027-05-06T09:00") == [BRUNO], "sent back"
    plant.says("2027-05-06T10:00")
    plant.watch.at("2027-05-06T10:01").do(lambda act: register.assign(act, entry(act), member_id=plant.people["Carla"]))
    handed_over = [BRUNO, ("Carla", "delivered", "owner", None)]
    assert plant.at("2027-05-07T09:00") == handed_over, "whoever is responsible now, and nobody above"


def test_a_promise_holds_it_back_until_it_lapses_and_a_filing_until_it_ends(plant: Plant) -> None:
    plant.watch.do(lambda act: people.add_member(act, "olga@acme.example", "officer", name="Olga"))
    plant.people["Olga"] = plant.watch.rows("select id from member where name = 'Olga'")[0][0]
    plant.says("2027-05-04T09:00")
    plant.says("2027-05-04T10:00", "on_it", "Olga", until_on=dt.date(2027, 5, 6))
    assert plant.at("2027-05-06T21:00") == [BRUNO]
    plant.watch.do(lambda act: filings.file(act, one(act), dt.date(2027, 5, 6), "R-1", "no", None))
    assert plant.at("2027-05-07T09:00") == [BRUNO]
    plant.watch.do(lambda act: filings.end_filing(act, one(act), None, "refused"))
    assert plant.at("2027-05-07T10:00") == [BRUNO, PILAR]


def one(act: Act) -> int:
    return int(act.run("select id from obligation where org_id = :org").scalar_one())


def test_what_waits_for_her_is_stopped_and_what_she_was_told_stays(plant: Plant) -> None:
    plant.says("2027-05-04T09:00")
    plant.watch.at("2027-05-05T09:00").scan(full=False, trigger="schedule")
    assert plant.watch.rows(TOLD)[1] == ("Pilar", "pending", "above", None)
    plant.says("2027-05-05T09:01", "seen")
    assert plant.at("2027-05-05T09:02")[1] == ("Pilar", "cancelled", "above", None)
    plant.says("2027-05-05T09:03")
    assert plant.at("2027-05-06T09:00")[1] == PILAR
    plant.says("2027-05-06T09:01", "done", done_on=dt.date(2027, 5, 6))
    assert plant.at("2027-05-07T09:00") == [BRUNO, PILAR]


def test_it_goes_up_from_the_responsible_post_and_from_each_who_disowns_it(plant: Plant) -> None:
    """Not from the posts of whoever answers: the manager's post is responsible, so that the director is told."""
    plant.says("2027-05-04T09:00")
    assert plant.at("2027-05-05T09:00") == [BRUNO, PILAR]
    plant.says("2027-05-05T10:00", who="Pilar")
    assert plant.at("2027-05-06T09:00")[2:] == [("Dora", "delivered", "above", None)]
    plant.watch.do(lambda act: register.assign(act, entry(act), post_id=plant.posts[1]))
    plant.at("2027-05-25T09:00")
    plant.says("2027-05-25T10:00", who="Pilar", threshold="7d")
    told = plant.at("2027-05-26T09:00")[3:]
    assert told == [("Pilar", "delivered", "owner", None), ("Dora", "delivered", "above", None)]


def test_absences_sites_and_holdings_count_as_for_any_route(plant: Plant) -> None:
    plant.says("2027-05-04T09:00")
    plant.watch.do(
        lambda act: absences.enter_absence(
            act, plant.people["Pilar"], dt.date(2027, 5, 5), dt.date(2027, 5, 6), plant.people["Carla"]
        )
    )
    covered = ("Carla", "delivered", "cover", "Pilar")
    assert plant.at("2027-05-05T09:00") == [BRUNO, covered]
    assert plant.at("2027-05-07T09:00") == [BRUNO, covered], "back, and not told once more"
    with plant.watch.acme.acting() as act:
        elsewhere = people.add_site(act, "Porto", "Europe/Lisbon")
        people.limit_member(act, plant.people["Dora"], [elsewhere])
        set_post_above(act, plant.posts[0], plant.posts[2])
    assert plant.at("2027-05-07T10:00") == [BRUNO, covered], "who may not see the site is told nothing"
    with plant.watch.acme.acting() as act:
        people.limit_member(act, plant.people["Dora"], [])
    assert plant.at("2027-05-07T11:00")[2:] == [("Dora", "delivered", "above", None)]


def test_the_chain_of_posts_has_an_end(plant: Plant) -> None:
    fitter, manager, director = plant.posts
    with plant.watch.acme.acting() as act:
        with pytest.raises(Refused, match="'fitter' cannot be above itself: choose another post"):
            set_post_above(act, fitter, fitter)
        with pytest.raises(
            Refused, match="'fitter' is under 'manager', which is under 'director', so it cannot be above it"
        ):
            set_post_above(act, director, fitter)
        assert not set_post_above(act, fitter, manager)
        assert set_post_above(act, manager, None)
        assert set_post_above(act, director, fitter)
    events = "select detail from audit_event where type = 'post_above_set' order by id desc limit 2"
    assert [row[0] for row in plant.watch.rows(events)] == [
        {"post_id": director, "old": None, "new": fitter},
        {"post_id": manager, "old": director, "new": None},
    ]


def test_where_nobody_is_above_the_administrators_are_told(plant: Plant) -> None:
    plant.watch.do(lambda act: people.add_member(act, "adela@acme.example", "admin", name="Adela"))
    plant.says("2027-05-04T09:00")
    plant.watch.do(lambda act: people.disable_member(act, plant.people["Pilar"]))
    why = "nobody's for a working day, with nobody above, and the administrators not told"
    assert [debt.why for debt in plant.watch.at("2027-05-05T09:00").owed().unaddressed] == [why]
    adela = ("Adela", "delivered", "nobody_above", None)
    assert plant.at("2027-05-05T09:00") == [BRUNO, adela]
    plant.watch.do(lambda act: people.enable_member(act, plant.people["Pilar"]))
    assert plant.at("2027-05-06T09:00") == [BRUNO, adela, PILAR], "who is there again after all"


def test_whoever_is_made_responsible_and_is_silent_is_seen_to_be(plant: Plant) -> None:
    """Not mine is an officer's; handed over, it is the new one's, whom the old answer does not answer for."""
    plant.watch.do(lambda act: people.add_member(act, "olga@acme.example", "officer", name="Olga"))

    def waiting(queue: Queue) -> list[str]:
        with plant.watch.acme.acting() as act:
            olga = people.find_member(act, "olga@acme.example").id
            rows = read_queue(act.session, read_sight(act.session, act.org, olga, act.now), queue).rows
        return [row.reference for row in rows]

    def to_follow(name: str) -> int:
        with plant.watch.acme.acting() as act:
            return read_load(act.session, act.org, plant.people[name], act.now.date()).unanswered

    plant.says("2027-05-04T09:00")
    assert (waiting(Queue.silent), waiting(Queue.attention), to_follow("Bruno")) == ([], ["P-1"], 1)
    plant.watch.at("2027-05-04T09:30").do(lambda act: register.assign(act, entry(act), member_id=plant.people["Carla"]))
    assert plant.at("2027-05-04T10:00") == [BRUNO, ("Carla", "delivered", "owner", None)]
    assert (waiting(Queue.silent), waiting(Queue.attention), to_follow("Carla")) == (["P-1"], [], 1)
    plant.says("2027-05-05T09:00", "on_it", "Carla", until_on=dt.date(2027, 5, 6))
    assert (waiting(Queue.silent), to_follow("Carla"), to_follow("Bruno")) == ([], 1, 0), "a promise goes with her"
    plant.says("2027-05-05T10:00", "seen", "Carla")
    assert (waiting(Queue.silent), waiting(Queue.attention), to_follow("Carla")) == ([], [], 0)
