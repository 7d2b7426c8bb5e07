"""What a rule is said to tell is what it tells, if nobody does anything meanwhile; and what it will not, says why."""

from __future__ import annotations

import datetime as dt
import random

import pytest
from sqlalchemy import select

from app.domain.delivery import TOLD, Reason
from app.ledger.align import deliver_in_app
from app.ledger.scan import scan
from app.models import Absence, Acknowledgement, AlertRule, Delivery, NotificationLedger
from app.queries.facts import (
    AccountRow,
    AnswerRow,
    ClaimRow,
    DeliveryRow,
    Facts,
    MemberRow,
    ObligationRow,
    People,
    RecipientRow,
    Register,
    RuleRow,
    SiteRow,
    SubjectRow,
    ThresholdRow,
    read_facts,
)  # fmt: skip
from app.queries.foretold import Foretold, difference, foretell
from app.trail.act import Act
from tests import factories
from tests.factories import NOW, Acme

TODAY = NOW.date()
ANA, RULE, ENTRY, DATE = 1, 5, 10, 1000
Line = tuple[str, int, Reason | None]


def day(number: int) -> dt.date:
    return TODAY + dt.timedelta(days=number)


def facts(due_in: int, notices: tuple[str, ...], **given: object) -> tuple[Facts, RuleRow]:
    """One entry of Ana's, with one deadline, and one rule that tells the responsible in the app."""
    entry: dict[str, object] = {"owner_member_id": ANA, "snoozed_until": given.pop("snoozed_until", None)}
    rule = RuleRow(RULE, "Permits", str(given.pop("only_if", "always")), ("in_app",))
    login = given.pop("login", 1)
    ledger = {name: given.pop(name, ()) for name in ("claims", "deliveries", "answers")}
    register = Register(
        sites=[SiteRow(1, "Madrid", "Europe/Madrid", "ES")],
        subjects=[SubjectRow(ENTRY, 1, 100, "P-1", "watched", **entry)],  # type: ignore[arg-type]
        obligations=[ObligationRow(DATE, ENTRY, day(due_in), **given)],  # type: ignore[arg-type]
        rules=[rule],
        thresholds=[ThresholdRow(RULE, notice) for notice in notices],
    )
    people = People(
        members=[MemberRow(ANA, "officer", login)],  # type: ignore[arg-type]
        accounts=[AccountRow(1, True)],
        recipients=[RecipientRow(RULE, "owner")],
    )
    return Facts(register, people=people, **ledger), rule  # type: ignore[arg-type]


def lines(due_in: int, *notices: str, since: int = 0, **given: object) -> list[Line]:
    """Notice, days from now, and why not, of what is foretold."""
    found = foretell(*facts(due_in, notices, **given), NOW, since=since)
    return [(one.threshold, (one.on - TODAY).days, one.why) for one in found]


def claim(number: int, threshold: str, due_in: int, standing: str = "open", reason: str | None = None) -> ClaimRow:
    return ClaimRow(number, RULE, ENTRY, DATE, threshold, day(due_in), day(-1), standing, reason)


def test_each_alert_has_its_day_and_what_comes_too_late_is_covered() -> None:
    assert lines(20, "90d", "30d", "7d", "0d", "+7d") == [
        ("30d", 0, None), ("90d", 0, Reason.sharper), ("7d", 13, None), ("0d", 20, None), ("+7d", 27, None),
    ]  # fmt: skip


def test_nothing_is_foretold_beyond_ninety_days() -> None:
    assert lines(100, "30d", "10d", "9d") == [("30d", 70, None), ("10d", 90, None)]


def test_a_pause_silences_what_comes_before_the_due_date_until_it_ends() -> None:
    assert lines(20, "30d", "7d", "0d", snoozed_until=day(15)) == [
        ("30d", 0, Reason.snoozed), ("7d", 15, None), ("0d", 20, None),
    ]  # fmt: skip


def test_a_filing_in_force_is_followed_up_and_not_told_of() -> None:
    filed = {"filed_on": day(-3), "in_force_meanwhile": "yes", "ask_again_on": day(9)}
    assert lines(5, "7d", "0d", **filed) == [("7d", 0, Reason.filed), ("0d", 5, Reason.filed), ("@2027-03-10", 9, None)]


def test_somebody_on_it_holds_the_rule_back_that_tells_only_then() -> None:
    promise = {
        "claims": [claim(7, "99d", 5)],
        "answers": [AnswerRow(7, "on_it", day(3))],
        "only_if": "nobody_on_it",
    }
    assert lines(5, "10d", "2d", "0d", **promise)[:2] == [("10d", 0, Reason.somebody_on_it), ("2d", 4, None)]
    done = {**promise, "answers": [AnswerRow(7, "done")]}
    assert {why for _, _, why in lines(5, "10d", "2d", "0d", **done)} == {Reason.somebody_on_it}


def test_what_the_ledger_has_told_or_put_aside_is_past() -> None:
    told = {"claims": [claim(7, "30d", 5)], "deliveries": [DeliveryRow(7, "delivered", ANA)]}
    assert lines(5, "30d", "0d", since=7, **told) == [("0d", 5, None)]
    # What the change itself put aside is said.
    start = {"claims": [claim(8, "30d", 5, "superseded", "start")]}
    assert lines(5, "30d", "0d", since=7, **start) == [("30d", 0, Reason.start), ("0d", 5, None)]


def test_an_alert_that_finds_nobody_says_so() -> None:
    assert lines(5, "0d", login=None) == [("0d", 5, Reason.nobody_to_tell)]


def test_a_change_adds_drops_and_moves() -> None:
    def told(threshold: str, on: int, *people: int) -> Foretold:
        return Foretold(ENTRY, 1, "P-1", day(20), threshold, day(on), on, frozenset(people))

    before = [told("30d", 0, ANA), told("7d", 13, ANA), told("0d", 20, ANA)]
    after = [told("14d", 6, ANA), told("7d", 13, ANA, 2), told("0d", 20, ANA)]
    found = difference(before, after)
    assert [one.threshold for one in found.added] == ["14d"]
    assert [one.threshold for one in found.dropped] == ["30d"]
    assert [(old.people, new.people) for old, new in found.moved] == [(frozenset({ANA}), frozenset({ANA, 2}))]
    assert difference(before, before).is_nothing


AHEAD = 24
NOTICES = ("20d", "3w", "10d", "7bd", "3d", "0d", "+2d", "+3bd")


def furnish(act: Act, chance: random.Random) -> list[int]:
    """A few entries in all sorts of states, people who come and go, and two rules."""
    members = [factories.member(act, f"{name}@acme.example", "staff") for name in ("ana", "bo", "cy")]
    kinds = ("permit", "training")
    for number in range(8):
        entry = factories.subject(
            act,
            f"E-{number}",
            day(chance.randint(-12, 40)),
            kind=chance.choice(kinds),
            owner_member_id=chance.choice([*members, None]),
            snoozed_until=chance.choice([None, None, day(chance.randint(-3, 20))]),
            status=chance.choice(["watched", "watched", "watched", "out_of_service"]),
        )
        if chance.random() < 0.3:
            open_one = act.session.query(factories.Obligation).filter_by(subject_id=entry.id).one()
            open_one.filed_on, open_one.filed_entered_on = day(-5), day(-5)
            open_one.in_force_meanwhile = chance.choice(["yes", "no", "unclear"])
            open_one.ask_again_on = chance.choice([None, day(chance.randint(-2, 30))])
    away, other = chance.sample(members, 2)
    first = chance.randint(-3, 12)
    act.session.add(
        Absence(
            org_id=act.org,
            member_id=away,
            from_on=day(first),
            until_on=day(first + chance.randint(1, 9)),
            stand_in_id=chance.choice([other, None]),
            entered_by=away,
            entered_at=act.now,
        )
    )
    made = [
        factories.rule(
            act, f"Rule {number}", chance.sample(NOTICES, 4), to=["owner"], kinds=chance.choice([(), kinds[:1]]),
            only_if=only_if,
        ).id
        for number, only_if in enumerate(("always", "nobody_on_it"))
    ]  # fmt: skip
    act.session.flush()
    return made


def answered(act: Act, chance: random.Random) -> None:
    """Some of those who were told are on it for a while, or say that it is done."""
    rows = select(Delivery.claim_id, Delivery.recipient_id).where(Delivery.org_id == act.org, Delivery.state.in_(TOLD))
    for claim_id, member_id in act.session.execute(rows).all():
        if chance.random() < 0.4:
            answer, until = chance.choice([("on_it", day(chance.randint(1, 15))), ("done", None), ("seen", None)])
            act.session.add(
                Acknowledgement(
                    org_id=act.org,
                    claim_id=claim_id,
                    member_id=member_id,
                    answer=answer,
                    until_on=until,
                    acknowledged_at=act.now,
                )
            )
    act.session.flush()


def watched(acme: Acme, number: int) -> None:
    """One day of the watch."""
    with acme.watching(NOW + dt.timedelta(days=number)) as act:
        scan(act)
        deliver_in_app(act)


def told_since(act: Act, rule_id: int, since: int) -> dict[tuple[int, dt.date, str], tuple[dt.date, frozenset[int]]]:
    """What the watch has told since: the day on which each alert was told first, and whom."""
    told: dict[tuple[int, dt.date, str], tuple[dt.date, frozenset[int]]] = {}
    ledger = NotificationLedger
    query = select(ledger, Delivery.recipient_id, Delivery.delivered_at).join(
        Delivery, (Delivery.org_id == ledger.org_id) & (Delivery.claim_id == ledger.id)
    )
    query = query.where(ledger.org_id == act.org, ledger.rule_id == rule_id, Delivery.state.in_(TOLD))
    query = query.where(Delivery.delivered_at > NOW + dt.timedelta(hours=1) * since).order_by(Delivery.delivered_at)
    for one, person, at in act.session.execute(query):
        on, people = told.setdefault((one.subject_id, one.due_on, one.threshold), (at.date(), frozenset()))
        if on == at.date():
            told[one.subject_id, one.due_on, one.threshold] = (on, people | {person})
    return told


@pytest.mark.parametrize("seed", range(6))
def test_p4_what_is_foretold_is_what_the_watch_then_tells(acme: Acme, seed: int) -> None:
    chance = random.Random(seed)
    with acme.acting() as act:
        rule_ids = furnish(act, chance)
    if seed % 2:
        watched(acme, 0)
        with acme.acting() as act:
            answered(act, chance)
    with acme.acting() as act:
        facts = read_facts(act.session, act.org)
        last = max((one.id for one in facts.claims), default=0)
    rules = [rule for rule in facts.register.rules if rule.id in rule_ids]
    foretold = {rule.id: foretell(facts, rule, NOW, since=last, ahead=AHEAD) for rule in rules}
    for number in range(AHEAD + 1):
        watched(acme, number)
    with acme.acting() as act:
        assert act.session.query(AlertRule).count() == 2
        for rule_id, found in foretold.items():
            said = {one.key: (one.on, one.people) for one in found if one.people}
            assert said == told_since(act, rule_id, 0 if seed % 2 else -1), seed
