"""Who is told while somebody is away: the stand-in instead, by the dates of the site, and nothing twice afterwards."""

from __future__ import annotations

import datetime as dt
import itertools

import pytest

from app.domain.errors import Refused
from app.ledger.scan import Scanned
from app.models import AlertRule, Delivery, Member, Subject
from app.operations import absences, answers, members, people, register
from app.operations.inspectors import limit_to_kinds
from app.queries.absences import read_summary
from app.queries.dispatches import read_dispatches
from app.queries.inbox import read_inbox
from app.queries.owed import Owed
from app.queries.sight import read_sight
from tests import factories
from tests.ledger.conftest import Watch
from tests.ledger.test_mail_hours import Mail

DAY = dt.timedelta(days=1)
NOW = factories.NOW
TODAY = NOW.date()
NOTHING = Owed(missing=[], stalled=[], unaddressed=[])

TOLD = """
select l.threshold, m.name, x.state, x.reason, x.because, c.name from delivery x
join notification_ledger l on l.org_id = x.org_id and l.id = x.claim_id
join member m on m.org_id = x.org_id and m.id = x.recipient_id
left join member c on c.org_id = x.org_id and c.id = x.covers_id
where x.channel = 'in_app' order by l.crossed_on, m.name"""


@pytest.fixture
def crew(watch: Watch) -> dict[str, int]:
    """Bruno is responsible for P-1, due in five days; Carla and Dora stand in; nobody else is told."""
    with watch.acme.acting() as act:
        made = {name: people.add_member(act, f"{name}@acme.example", "staff", name=name) for name in
                ("Bruno", "Carla", "Dora")}  # fmt: skip
        entry = factories.subject(act, due_on=TODAY + 5 * DAY)
        register.assign(act, entry, member_id=made["Bruno"])
        factories.rule(act, thresholds=("7d", "2d", "0d"), to=("owner",))
    return made


def away(watch: Watch, who: int, first: int, last: int, stand_in: int | None = None, now: dt.datetime = NOW) -> int:
    with watch.acme.acting(now) as act:
        return absences.enter_absence(act, who, TODAY + first * DAY, TODAY + last * DAY, stand_in)


def on(watch: Watch, days: int) -> Watch:
    """So many days later."""
    watch.acme.now = NOW + days * DAY
    return watch


def quick(watch: Watch) -> int:
    """A scan by queue and window alone, after which nothing is owed and a full one finds nothing; its deliveries."""
    done = watch.scan(full=False, trigger="schedule")
    assert watch.owed() == NOTHING
    assert watch.scan() == Scanned()
    return done.deliveries


def test_a_holiday_with_a_stand_in(watch: Watch, crew: dict[str, int]) -> None:
    watch.scan()
    watch.deliver()
    only = ("7d", "Bruno", "delivered", None, "owner", None)
    absence = away(watch, crew["Bruno"], 1, 3, crew["Carla"])
    assert quick(watch) == 0
    assert watch.rows(TOLD) == [only], "it has not begun"
    # It begins: what was told and not answered goes to the stand-in, found by the queue alone.
    [debt] = on(watch, 1).owed().unaddressed
    assert debt.why == "told to somebody who is away, and not to the stand-in", "the oracle sees it before the scan"
    assert quick(watch) == 1
    watch.deliver()
    first = [only, ("7d", "Carla", "delivered", None, "cover", "Bruno")]
    assert watch.rows(TOLD) == first
    # What is raised meanwhile goes to the stand-in alone.
    assert quick(on(watch, 3)) == 1
    second = [*first, ("2d", "Carla", "pending", None, "cover", "Bruno")]
    assert watch.rows(TOLD) == second
    # Back before it was delivered: untold, it is the returned person's again; what was told is not told twice.
    with watch.acme.acting() as act:
        assert absences.come_back(act, crew["Bruno"])
        assert not absences.end_absence(act, crew["Bruno"], absence)
    assert quick(watch) == 1
    back = [*first, ("2d", "Bruno", "pending", None, "owner", None),
            ("2d", "Carla", "cancelled", "not_a_recipient", "cover", "Bruno")]  # fmt: skip
    assert watch.rows(TOLD) == back


def test_what_the_returned_person_has_taken_up_leaves_the_inbox_of_the_stand_in(
    watch: Watch, crew: dict[str, int]
) -> None:
    """Not before both: until somebody has taken it up, whoever was told keeps it; and what the stand-in said, too."""
    away(watch, crew["Bruno"], 0, 1, crew["Carla"])
    watch.scan()
    watch.deliver()

    def seen(says: str | None = None, who: str = "Bruno") -> int:
        with watch.acme.acting() as act:
            if says:
                member = act.session.get_one(Member, (act.org, crew[who]))
                answers.acknowledge(act, member, register.find_subject(act, "P-1"), says)
            return len(read_inbox(act.session, read_sight(act.session, act.org, crew["Carla"], act.now), crew["Carla"]))

    assert seen() == 1
    assert seen("seen") == 1, "said from afar, while away"
    watch = on(watch, 2)
    assert seen("not_mine") == 1
    assert seen("help", "Carla") == 1
    assert seen("seen") == 1, "the stand-in's own answer can be taken back there"
    with watch.acme.acting() as act:
        answers.take_back(act, people.find_member(act, "carla@acme.example"), register.find_subject(act, "P-1"))
    assert seen() == 0


def test_what_was_told_in_the_absence_is_not_told_again_when_it_ends(watch: Watch, crew: dict[str, int]) -> None:
    away(watch, crew["Bruno"], 0, 1, crew["Carla"])
    watch.scan()
    for day in range(3):
        quick(on(watch, day))
        watch.deliver()
    assert watch.rows(TOLD) == [("7d", "Carla", "delivered", None, "cover", "Bruno")]
    quick(on(watch, 3))
    assert watch.rows(TOLD)[1:] == [("2d", "Bruno", "pending", None, "owner", None)]


def test_a_stand_in_of_a_stand_in_and_one_who_is_a_recipient_anyway(watch: Watch, crew: dict[str, int]) -> None:
    with watch.acme.acting() as act:
        factories.rule(act, "Crew", thresholds=("7d",), to=("owner", "member:dora@acme.example"))
    away(watch, crew["Bruno"], 0, 3, crew["Carla"])
    away(watch, crew["Carla"], 0, 1, crew["Dora"])
    watch.scan()
    told = [row[1:] for row in watch.rows(TOLD)]
    assert told == [("Dora", "pending", None, "cover", "Bruno")] * 2, "one message a rule, for the first in the row"
    assert watch.owed() == NOTHING


def test_without_a_stand_in_who_can_be_told_the_person_is_told_as_ever(watch: Watch, crew: dict[str, int]) -> None:
    away(watch, crew["Bruno"], 0, 3)
    watch.scan()
    assert watch.rows(TOLD) == [("7d", "Bruno", "pending", None, "owner", None)]
    with watch.acme.acting() as act:
        absences.come_back(act, crew["Bruno"])
    away(watch, crew["Bruno"], 0, 3, crew["Carla"])
    watch.scan()
    assert [row[1:4] for row in watch.rows(TOLD)] == [("Bruno", "cancelled", "away"), ("Carla", "pending", None)]
    with watch.acme.acting() as act:
        people.disable_member(act, crew["Carla"])
    watch.scan()
    assert [row[1:3] for row in watch.rows(TOLD)] == [("Bruno", "pending"), ("Carla", "cancelled")]
    assert watch.owed() == NOTHING


def test_a_stand_in_who_sees_only_some_kinds_by_now_stands_in_for_these(watch: Watch, crew: dict[str, int]) -> None:
    """What Carla may not see stays with Bruno; what Bruno may not see goes to nobody, whoever stands in for him."""
    with watch.acme.acting() as act:
        lift = factories.subject(act, "L-1", TODAY + 5 * DAY, kind="lift")
        register.assign(act, lift, member_id=crew["Bruno"])
    away(watch, crew["Bruno"], 0, 3, crew["Carla"])

    def inspects(name: str, kind: str) -> None:
        with watch.acme.acting() as act:
            members.change_member(act, crew[name], name, "inspector", None)
            limit_to_kinds(act, crew[name], [factories.kind(act, kind)])

    named = "select l.reference, m.name from delivery x join notification_ledger l on l.id = x.claim_id "
    named += "join member m on m.id = x.recipient_id where x.state <> 'cancelled' order by 1, 2"
    inspects("Carla", "lift")
    watch.scan()
    assert watch.rows(named) == [("L-1", "Carla"), ("P-1", "Bruno")]
    assert watch.owed() == NOTHING
    inspects("Bruno", "other")
    watch.scan()
    assert watch.rows(named) == [("P-1", "Bruno")]
    assert watch.owed() == NOTHING


def test_the_days_are_those_of_the_site(watch: Watch, crew: dict[str, int]) -> None:
    """At 11:00 UTC it is the next day already in Kiritimati."""
    with watch.acme.acting() as act:
        far = people.add_site(act, "Far", "Pacific/Kiritimati")
        entry = factories.subject(act, "P-2", TODAY + 5 * DAY, "Far")
        register.assign(act, entry, member_id=crew["Bruno"])
        assert people.site_today(act, far) == TODAY + DAY
    away(watch, crew["Bruno"], 1, 1, crew["Carla"])
    watch.scan()
    named = "select l.reference, m.name from delivery x join notification_ledger l on l.id = x.claim_id "
    named += "join member m on m.id = x.recipient_id order by 1, 2"
    assert watch.rows(named) == [("P-1", "Bruno"), ("P-2", "Carla")]


def test_what_cannot_be_an_absence_is_refused_with_words(watch: Watch, crew: dict[str, int]) -> None:
    bruno, carla, dora = crew.values()
    away(watch, bruno, 1, 5, carla)
    away(watch, carla, 4, 9, dora)
    cases = [
        (bruno, 5, 8, None, "is away from"),
        (dora, 2, 1, None, "before the first day"),
        (dora, -9, -3, None, "over already"),
        (dora, 1, 2, dora, "Nobody stands in for themselves"),
        (dora, 3, 4, bruno, "choose somebody else"),  # Dora, Bruno, Carla, Dora: all of them away on the fourth day.
    ]
    for who, first, last, stand_in, words in cases:
        with pytest.raises(Refused, match=words):
            away(watch, who, first, last, stand_in)
    away(watch, dora, 1, 3, bruno)  # On these days Carla is there, so that it is no circle.
    with watch.acme.acting() as act:
        nadia = Member(org_id=act.org, name="Nadia", role="staff", email="n@acme.example", email_alerts=False)
        act.session.add(nadia)
        act.session.flush()
    with pytest.raises(Refused, match="Nadia has neither a login nor e-mail alerts"):
        away(watch, bruno, 20, 22, nadia.id)
    with watch.acme.acting() as act:
        people.add_site(act, "Yard", "Europe/Madrid")
        people.limit_member(act, dora, [factories.site(act, "Yard")])
    with pytest.raises(Refused, match="Dora may not see Madrid, where something hangs on Bruno"):
        away(watch, bruno, 20, 22, dora)


MAILED = "select m.name, x.state, x.because from delivery x join member m on m.id = x.recipient_id order by x.id"


def test_p4_a_stand_in_whom_the_rule_cannot_reach_takes_nothing_from_the_absent(
    watch: Watch, crew: dict[str, int]
) -> None:
    """By e-mail alone: who has switched it off stands in for nobody; the last in the row who reads it is told."""
    with watch.acme.acting() as act:
        act.session.query(AlertRule).update({"channels": ["email"]})
    watch.do(lambda act: people.set_email_alerts(act, crew["Carla"], False))
    away(watch, crew["Bruno"], 0, 9, crew["Carla"])
    watch.scan()
    assert watch.rows(MAILED) == [("Bruno", "pending", "owner")], "nothing goes silent"
    assert watch.owed() == NOTHING
    away(watch, crew["Carla"], 0, 3, crew["Dora"])
    quick(watch)
    assert watch.rows(MAILED) == [("Bruno", "cancelled", "owner"), ("Dora", "pending", "cover")]
    watch.do(lambda act: people.set_email_alerts(act, crew["Dora"], False))
    quick(watch)
    assert watch.rows(MAILED) == [("Bruno", "pending", "owner"), ("Dora", "cancelled", "cover")]
    Mail(watch).send("")
    assert quick(watch) == 0
    watch.do(lambda act: people.set_email_alerts(act, crew["Carla"], True))
    assert [debt.why for debt in watch.owed().unaddressed] == ["told to somebody who is away, and not to the stand-in"]
    assert quick(watch) == 1, "whom it reaches again, takes the duty over"


def test_what_one_message_says_for_several_is_in_the_summary_of_each(watch: Watch, crew: dict[str, int]) -> None:
    """Carla stands in for Bruno and Dora; Ana, who is told as herself, for Olga: the others are not forgotten."""
    with watch.acme.acting() as act:
        ana, olga = (people.add_member(act, f"{name}@acme.example", "officer", name=name) for name in ("Ana", "Olga"))
        entry = act.session.query(Subject).one()
        register.assign_holder(act, entry, crew["Dora"])
        factories.rule(act, "More", thresholds=("7d", "2d"), to=("owner", "holder", "role:officer"))
        act.session.query(AlertRule).filter_by(name="Permits").update({"is_active": False})
    watch.scan()
    away(watch, olga, 0, 3, ana)
    quick(watch)
    watch.deliver()
    away(watch, crew["Bruno"], 1, 3, crew["Carla"])
    away(watch, crew["Dora"], 1, 3, crew["Carla"])
    quick(on(watch, 3))
    watch.deliver()
    told = [row for row in watch.rows(TOLD) if row[0] == "2d"]
    assert told == [
        ("2d", "Ana", "delivered", None, "role", None),
        ("2d", "Carla", "delivered", None, "cover", "Bruno"),
    ]
    quick(on(watch, 4))
    assert [row for row in watch.rows(TOLD) if row[0] == "2d"] == told, "back, and nobody is told once more"

    def summary(who: int) -> list[tuple[str, list[str]]]:
        with watch.acme.acting() as act:
            found = read_summary(act.session, act.org, who, act.now, act.now.date())
            return [(line.threshold, list(line.people)) for line in found.told] if found else []

    assert summary(crew["Bruno"]) == summary(crew["Dora"]) == [("2d", ["Carla"])]
    stopped = ("7d", ["Ana", "Bruno", "Dora"])
    assert summary(olga) == [stopped, ("2d", ["Ana"])], "also what was stopped as she went, and whom it told"
    assert summary(ana) == summary(crew["Carla"]) == []
    with watch.acme.acting() as act:
        [two] = act.session.query(Delivery).filter_by(because="cover", covers_id=crew["Bruno"]).where(
            Delivery.also_covers != []).all()  # fmt: skip
        assert {row.covers for row in read_dispatches(act.session, act.org, Delivery.id == two.id)} == {"Bruno, Dora"}


def test_a_row_of_stand_ins_ends_where_it_is_followed_to_at_both_ends(watch: Watch, crew: dict[str, int]) -> None:
    with watch.acme.acting() as act:
        row = [people.add_member(act, f"{number}@acme.example", "staff") for number in range(12)]
    for who, stand_in in itertools.pairwise(row[1:]):
        away(watch, who, 1, 9, stand_in)
    too_long = "More than 10 people would stand in for each other in a row"
    with pytest.raises(Refused, match=too_long):
        away(watch, row[0], 9, 12, row[1])
    away(watch, row[0], 10, 12, row[1])  # On these days the others are there.
    with pytest.raises(Refused, match=too_long):
        away(watch, row[11], 1, 3, crew["Dora"])
    away(watch, row[11], 10, 12, crew["Dora"])


def test_whoever_is_disabled_is_on_nothing_any_more(watch: Watch, crew: dict[str, int]) -> None:
    """What the promise held back comes, by the fast look and by the full one."""
    watch.scan()
    watch.deliver()
    [(claim,)] = watch.rows("select claim_id from delivery")
    with watch.acme.acting() as act:
        answers.acknowledge_claim(act, crew["Bruno"], claim, "on_it", until_on=TODAY + 9 * DAY)
        factories.rule(act, "Dora", ("7d",), ("member:dora@acme.example",), only_if="nobody_on_it")
    assert quick(watch) == 0
    watch.do(lambda act: people.disable_member(act, crew["Bruno"]))
    assert [debt.rule for debt in watch.owed().missing] == ["Dora"]
    assert quick(watch) == 1
    said = "select detail->>'answer' from audit_event where type = 'answer_taken_back'"
    assert watch.rows(said) == [("on_it",)]
