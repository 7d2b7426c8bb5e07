"""A filing that is pending: no alert, one follow-up on the day to ask again, and what comes when it ends (P1-P4)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from app.ledger.align import Delivered
from app.ledger.scan import Scanned
from app.models import Obligation, Subject
from app.operations import documents, filings, people, register, rules
from app.operations.documents import Paper
from app.operations.rule_contents import RuleText
from app.trail.act import Act
from tests import factories
from tests.ledger.conftest import Watch

DUE = dt.date(2027, 4, 1)
ASK = dt.date(2027, 4, 19)
Deed = Callable[[Act], Any]


@pytest.fixture(autouse=True)
def furnished(watch: Watch) -> None:
    """P-1 falls due on 1 April; Ana, an officer, is told by a rule, and Bruno by one for when nobody is on it."""

    def deed(act: Act) -> None:
        people.add_member(act, "ana@acme.example", "officer", name="Ana")
        people.add_member(act, "bruno@acme.example", "staff", name="Bruno")
        place = {"site_id": factories.site(act), "kind_id": factories.kind(act)}
        register.add_subject(act, register.Entry(reference="P-1", due_on=DUE, **place))
        rules.apply(act, [rule("Permits", "role:officer"), rule("Nobody", "role:staff", only_if="nobody_on_it")])

    watch.at("2027-02-20T09:00").do(deed)


def rule(name: str, to: str, *more: str, **given: Any) -> RuleText:
    thresholds = ("30d", "7d", "0d", "+7d", *more)
    return RuleText(name, thresholds=thresholds, channels=("in_app",), to=(to,), **given)


def open_one(act: Act) -> int:
    return int(act.session.query(Obligation.id).filter_by(org_id=act.org, closed_at=None).one()[0])


def file(in_force: str = "yes", ask_again_on: dt.date | None = ASK) -> Deed:
    return lambda act: filings.file(act, open_one(act), dt.date(2027, 2, 18), "R-1", in_force, ask_again_on)


def end(result: str) -> Deed:
    return lambda act: filings.end_filing(act, open_one(act), None, result)


def on(watch: Watch, day: str) -> Scanned:
    """What the scheduler claims on this day, by queue and window; a full scan after it finds nothing more."""
    done = watch.at(f"{day}T09:00").scan(full=False, trigger="schedule")
    assert watch.owed().count == 0
    assert watch.scan() == Scanned()
    return done


def follow_ups(watch: Watch) -> dict[str, str]:
    return {text: standing for text, standing in watch.ledger().items() if "@" in text}


def test_p1_p4_no_alert_while_it_is_in_force_and_one_follow_up_on_its_day(watch: Watch) -> None:
    on(watch, "2027-02-21")
    watch.do(file())
    assert [on(watch, day) for day in ("2027-03-02", "2027-04-02", "2027-04-18")] == [Scanned()] * 3
    assert on(watch, "2027-04-19") == Scanned(claimed=1, deliveries=1)
    assert watch.ledger() == {"@2027-04-19": "open"}
    assert watch.rows("select due_on, crossed_on from notification_ledger") == [(DUE, ASK)]
    assert watch.deliver() == Delivered(delivered=1)
    assert watch.deliveries() == [("@2027-04-19", "Ana", "in_app", "delivered", None)]
    assert on(watch, "2027-05-30") == Scanned()
    assert watch.deliver() == Delivered()


def test_p4_after_an_outage_it_is_told_late_and_once(watch: Watch) -> None:
    on(watch, "2027-02-21")
    watch.do(file())
    watch.at("2027-05-03T09:00")
    assert [debt.threshold for debt in watch.owed().missing] == ["@2027-04-19"]
    assert on(watch, "2027-05-03") == Scanned(claimed=1, deliveries=1)


def test_its_day_is_the_one_of_the_site(watch: Watch) -> None:
    on(watch, "2027-02-21")
    watch.do(file())
    watch.at("2027-04-18T21:59").scan(full=False, trigger="schedule")
    assert watch.ledger() == {}
    watch.at("2027-04-18T22:00").scan(full=False, trigger="schedule")
    assert watch.ledger() == {"@2027-04-19": "open"}


def test_a_day_that_is_moved_is_told_on_the_new_one_and_never_twice(watch: Watch) -> None:
    on(watch, "2027-02-21")
    watch.do(file())
    on(watch, "2027-04-19")
    watch.do(file(ask_again_on=dt.date(2027, 4, 26)))  # Before it was told.
    assert watch.deliver() == Delivered(cancelled=1)
    assert follow_ups(watch) == {"@2027-04-19": "withdrawn (moved)"}
    watch.do(file())
    assert on(watch, "2027-04-20").reopened == 1
    watch.deliver()
    watch.do(file(ask_again_on=dt.date(2027, 4, 26)))  # After it was told.
    assert on(watch, "2027-04-25") == Scanned()
    assert on(watch, "2027-04-26") == Scanned(claimed=1, deliveries=1)
    watch.deliver()
    watch.do(file())
    assert on(watch, "2027-04-28") == Scanned()
    assert follow_ups(watch) == {"@2027-04-19": "open", "@2027-04-26": "open"}
    assert [row[3] for row in watch.deliveries()] == ["delivered", "delivered"]


@pytest.mark.parametrize("in_force", ["no", "unclear"])
def test_not_in_force_the_alerts_go_on_and_the_follow_up_covers_none(watch: Watch, in_force: str) -> None:
    on(watch, "2027-02-21")
    watch.do(file(in_force, dt.date(2027, 3, 28)))
    on(watch, "2027-03-28")
    watch.deliver()
    assert on(watch, "2027-04-02") == Scanned(claimed=1, deliveries=1)
    assert watch.ledger() == {
        "30d": "superseded (sharper)", "7d": "open", "@2027-03-28": "open", "0d": "open",
    }  # fmt: skip
    watch.deliver()
    assert [(row[0], row[1], row[3]) for row in watch.deliveries()] == [
        ("7d", "Ana", "delivered"), ("@2027-03-28", "Ana", "delivered"), ("0d", "Ana", "delivered"),
    ]  # fmt: skip


@pytest.mark.parametrize("result", ["refused", "withdrawn"])
def test_refused_it_is_wanted_again_at_once_and_only_the_sharpest_is_told(watch: Watch, result: str) -> None:
    on(watch, "2027-02-21")
    watch.do(file())
    on(watch, "2027-04-19")
    watch.deliver()
    watch.do(end(result))
    assert len(watch.owed().missing) == 8
    assert on(watch, "2027-04-20") == Scanned(claimed=2, superseded=6, deliveries=2)
    watch.deliver()
    assert [(row[0], row[1], row[3]) for row in watch.deliveries()] == [
        ("+7d", "Ana", "delivered"), ("+7d", "Bruno", "delivered"), ("@2027-04-19", "Ana", "delivered"),
    ]  # fmt: skip


def test_a_follow_up_that_was_not_told_goes_with_the_filing(watch: Watch) -> None:
    on(watch, "2027-02-21")
    watch.do(file())
    on(watch, "2027-04-19")
    watch.do(end("refused"))
    watch.deliver()
    assert follow_ups(watch) == {"@2027-04-19": "withdrawn (closed)"}


def test_a_pause_does_not_silence_it_and_out_of_service_does(watch: Watch) -> None:
    def permit(act: Act) -> Subject:
        return act.session.query(Subject).filter_by(org_id=act.org).one()

    on(watch, "2027-02-21")
    watch.do(file())
    watch.do(lambda act: register.snooze(act, permit(act), dt.date(2027, 6, 1), "planned"))
    on(watch, "2027-04-19")
    assert watch.ledger() == {"@2027-04-19": "open"}
    watch.do(lambda act: register.take_out_of_service(act, permit(act)))
    watch.deliver()
    assert watch.ledger() == {"@2027-04-19": "withdrawn (out_of_service)"}
    watch.do(lambda act: register.restore(act, permit(act)))
    assert on(watch, "2027-04-20").reopened == 1


def test_a_rule_that_begins_with_the_next_alert_does_not_ask_for_the_past(watch: Watch) -> None:
    watch.do(file())
    on(watch, "2027-04-20")
    later = rule("Later", "role:staff", start="next")
    watch.do(lambda act: rules.apply(act, [later]))
    assert on(watch, "2027-04-21") == Scanned()
    assert follow_ups(watch) == {"@2027-04-19": "superseded (start)"}  # Of the new rule; the other one is open.
    rows = "select standing from notification_ledger where threshold = '@2027-04-19' order by rule_id"
    assert watch.rows(rows) == [("open",), ("superseded",)]


def test_a_widened_rule_still_owes_the_follow_up_of_its_entries(watch: Watch) -> None:
    watch.do(file())
    on(watch, "2027-04-18")
    watch.at("2027-04-19T09:00").do(
        lambda act: rules.apply(act, [rule("Permits", "role:officer", "60d", start="next")])
    )
    on(watch, "2027-04-19")
    assert follow_ups(watch) == {"@2027-04-19": "open"}


def test_granted_it_is_renewed_and_the_next_date_is_watched(watch: Watch) -> None:
    on(watch, "2027-02-21")
    watch.do(file())
    on(watch, "2027-04-19")
    watch.deliver()
    paper = Paper("C-1340", valid_until=dt.date(2029, 4, 30))
    made = watch.at("2027-04-22T09:00").do(lambda act: documents.grant(act, open_one(act), dt.date(2027, 4, 21), paper))
    assert made.next.due_on == dt.date(2029, 4, 30)
    closed = "select outcome, met_on, filing_result, filing_ended_on from obligation where closed_at is not null"
    assert watch.rows(closed) == [("met", dt.date(2027, 4, 21), "granted", dt.date(2027, 4, 21))]
    assert on(watch, "2027-05-30") == Scanned()
    assert on(watch, "2029-03-31") == Scanned(claimed=2, deliveries=2)
    assert watch.ledger() == {"2027-04-01 @2027-04-19": "open", "2029-04-30 30d": "open"}
