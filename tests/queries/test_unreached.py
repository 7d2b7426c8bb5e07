"""An alert that would reach nobody is known before it is due: everybody away, gone, without an address, or bounced."""

from __future__ import annotations

import datetime as dt

import pytest
from sqlalchemy import update

from app.domain.delivery import State
from app.ledger.scan import scan
from app.models import Delivery
from app.operations import members, people
from app.queries.facts import (
    AbsenceRow,
    AccountRow,
    DayOffRow,
    MemberRow,
    MemberSiteRow,
    ObligationRow,
    People,
    PostRow,
    RecipientRow,
    Register,
    RuleRow,
    SitePostRow,
    SiteRow,
    SubjectRow,
    ThresholdRow,
    read_register_and_people,
)  # fmt: skip
from app.queries.unreached import Unheard, read_unreached, unreached
from tests import factories
from tests.factories import Acme

NOW = dt.datetime(2027, 3, 1, 11, tzinfo=dt.UTC)
ANA, BO = 1, 2
BOTH = [AccountRow(1, True), AccountRow(2, True)]


def day(number: int) -> dt.date:
    """So many days after the first of March."""
    return NOW.date() + dt.timedelta(days=number)


def member(number: int, **given: object) -> MemberRow:
    facts = {"account_id": number, "email": f"{number}@acme.example", **given}
    return MemberRow(number, "staff", **facts)  # type: ignore[arg-type]


def found(
    due_in: int = 40, channels: tuple[str, ...] = ("email", "in_app"), lost: tuple[int, ...] = (), **people: object
) -> list[tuple[str, int, Unheard]]:
    """Threshold, days from now and reason of what would reach nobody, of an entry of Ana's with alerts 30d and 7d."""
    register = Register(
        sites=[SiteRow(1, "Madrid", "Europe/Madrid", "ES")],
        subjects=[SubjectRow(10, 1, 100, "P-1", "watched", owner_member_id=ANA)],
        obligations=[ObligationRow(1000, 10, day(due_in))],
        rules=[RuleRow(5, "Permits", "always", channels)],
        thresholds=[ThresholdRow(5, "30d"), ThresholdRow(5, "7d")],
    )
    given = {"members": [member(ANA), member(BO)], "accounts": BOTH, "recipients": [RecipientRow(5, "owner")], **people}
    rows = unreached(register, People(**given), NOW, lost)  # type: ignore[arg-type]
    return [(row.threshold, (row.alert_on - NOW.date()).days, row.why) for row in rows]


def away(first: int, last: int, stand_in: int | None = None, who: int = ANA, **given: object) -> AbsenceRow:
    return AbsenceRow(who, day(first), day(last), stand_in, **given)  # type: ignore[arg-type]


POSTED = {
    "recipients": [RecipientRow(5, "post:Manager")],
    "posts": [PostRow(7, "manager")],
    "site_posts": [SitePostRow(1, 7, BO, day(-9), day(32))],
}

MUTE = [member(ANA), member(BO, account_id=None, email=None)]  # Bo, who stands in, cannot be told.
MAILED = {"channels": ("email",), "absences": [away(0, 20, BO)]}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, []),
        ({"absences": [away(0, 20)]}, [("30d", 10, Unheard.away)]),
        ({"absences": [away(0, 9)]}, []),
        ({"absences": [away(11, 33)]}, [("7d", 33, Unheard.away)]),
        ({"absences": [away(0, 20, BO)]}, []),
        ({"absences": [away(0, 20, BO), away(5, 20, who=BO)]}, [("30d", 10, Unheard.away)]),
        ({"absences": [away(0, 20, BO)], "members": MUTE}, [("30d", 10, Unheard.away)]),
        ({**MAILED, "members": [member(ANA), member(BO, email_alerts=False)]}, [("30d", 10, Unheard.away)]),
        ({**MAILED, "lost": (BO,)}, [("30d", 10, Unheard.no_way)]),
        ({"absences": [away(0, 20, cancelled_at=NOW)]}, []),
        ({"members": [member(ANA, left_on=day(20))]}, [("7d", 33, Unheard.nobody)]),
        ({"members": [member(ANA, valid_until=day(9))]}, [("30d", 10, Unheard.nobody)]),
        ({"members": [member(ANA, account_id=None, email=None)]}, [("30d", 10, Unheard.no_way)]),
        ({"members": [member(ANA, account_id=None)], "lost": (ANA,)}, [("30d", 10, Unheard.no_way)]),
        ({"channels": ("email",), "lost": (ANA,)}, [("30d", 10, Unheard.no_way)]),
        ({"lost": (ANA,)}, []),
        ({"member_sites": [MemberSiteRow(ANA, 99)]}, [("30d", 10, Unheard.nobody)]),
        (POSTED, [("7d", 33, Unheard.nobody)]),
        ({"due_in": 100, "absences": [away(0, 200)]}, []),
        ({"due_in": 5, "absences": [away(0, 200)]}, []),
    ],
)  # fmt: skip
def test_what_would_reach_nobody(facts: dict[str, object], expected: list[tuple[str, int, Unheard]]) -> None:
    assert found(**facts) == expected  # type: ignore[arg-type]


def test_the_days_are_worked_out_with_the_days_off() -> None:
    """Ana is away on the day on which the alert comes since the works are closed for a week."""
    register = Register(
        sites=[SiteRow(1, "Madrid", "Europe/Madrid", None)],
        subjects=[SubjectRow(10, 1, 100, "P-1", "watched", owner_member_id=ANA)],
        obligations=[ObligationRow(1000, 10, day(21))],
        rules=[RuleRow(5, "Permits", "always", ("in_app",))],
        thresholds=[ThresholdRow(5, "5bd")],
        days_off=[DayOffRow(1, day(14), day(18), False), DayOffRow(2, day(7), day(11), False)],
    )
    people = People([member(ANA)], BOTH, recipients=[RecipientRow(5, "owner")], absences=[away(7, 8)])
    [row] = unreached(register, people, NOW)
    assert (row.alert_on, row.why) == (day(7), Unheard.away)


@pytest.mark.parametrize("state", [State.bounced, State.failed])
def test_an_address_from_which_the_last_mail_came_back_reaches_nobody(acme: Acme, state: State) -> None:
    """As the readiness of the site judges it, and only while it is the address that they have."""
    with acme.acting() as act:
        ana = people.add_member(act, "ana@acme.example", "officer")
        factories.rule(act, thresholds=("30d", "7d"), channels=("email",))
        factories.subject(act, due_on=day(20))

    def foretold() -> list[tuple[str, Unheard]]:
        with acme.acting() as act:
            facts = read_register_and_people(act.session, act.org)
            return [(row.threshold, row.why) for row in read_unreached(act.session, act.org, act.now, *facts)]

    with acme.watching() as act:
        scan(act)
    assert foretold() == []
    with acme.watching() as act:
        act.session.execute(update(Delivery).values(state=state, sent_to="Ana@acme.example"))
    assert foretold() == [("7d", Unheard.no_way)]
    with acme.acting() as act:
        members.change_address(act, ana, "ana.new@acme.example")
    assert foretold() == []
