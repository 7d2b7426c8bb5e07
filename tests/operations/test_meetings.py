"""Where recurrences, parts, papers, imports and kinds meet: no date is lost, opened twice, or told of too early."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from datetime import date as D
from typing import Any

import pytest

from app.domain.batches import BatchAct
from app.domain.days_off import DayOff
from app.domain.errors import Refused
from app.operations import (
    batch_acts,
    calendar_changes,
    days_off,
    documents,
    obligations,
    people,
    places,
    register,
    releases,
    reopenings,
    rules,
)
from app.operations.batch_plan import Order
from app.operations.kinds import KindText, change_kind
from app.operations.rule_contents import RuleText
from app.scheduler.ticks import scan_tick
from app.trail.act import Act
from tests import factories
from tests.factories import Acme
from tests.ledger.conftest import Watch
from tests.operations.test_mistakes import bring, dates, on_entry, run_of, take_back

Deed = Callable[[Act, int], object]


@pytest.fixture
def watch(acme: Acme) -> Watch:
    """A second site, and a rule that tells the responsible by e-mail."""
    watch = Watch(acme).at("2027-03-02T11:00")

    def furnish(act: Act) -> None:
        acme.members["ana"] = people.add_member(act, "ana@acme.example", "officer", name="Ana")
        people.add_site(act, "Yard", "Europe/Madrid")
        factories.rule(act, thresholds=("60d", "7d", "0d"), channels=("email",))

    watch.do(furnish)
    return watch


def add(watch: Watch, reference: str, due_on: D | None = None, **given: Any) -> int:
    def deed(act: Act) -> int:
        entry = register.Entry(factories.site(act), factories.kind(act), reference, due_on=due_on, **given)
        return register.add_subject(act, entry)

    subject_id: int = watch.do(deed)
    return subject_id


def more(watch: Watch, reference: str, due_on: D) -> None:
    on_entry(watch, reference, lambda act, s: obligations.add_obligation(act, s, due_on))


def on(watch: Watch, reference: str, due_on: D, deed: Deed) -> None:
    on_entry(watch, reference, lambda act, s: deed(act, obligations.find_obligation(act, s, due_on).id))


def met(act: Act, obligation_id: int) -> None:
    obligations.close(act, obligation_id, "met")


def in_error(act: Act, obligation_id: int) -> None:
    obligations.close(act, obligation_id, "entered_in_error", None, "entered_in_error")


def again(act: Act, obligation_id: int) -> None:
    reopenings.reopen(act, obligation_id, "not_done")


def kind_has(watch: Watch, recurrence: str, basis: str) -> None:
    said = KindText("other", recurrence=recurrence, recurrence_basis=basis)
    watch.do(lambda act: change_kind(act, factories.kind(act), said))


def open_ones(watch: Watch, reference: str) -> list[str]:
    return [day for day, outcome in dates(watch, reference).items() if outcome == "open"]


def months_later(watch: Watch) -> None:
    for day in ("2027-04-15", "2027-05-15", "2027-06-15"):
        watch.at(f"{day}T11:00").scan()


def test_p4_what_no_date_can_be_moved_to_stops_no_watch(watch: Watch) -> None:
    """Two dates of a whole that become one of its part, by the holidays of a country that a site gets later."""
    whole = add(watch, "W", D(2028, 12, 26))
    add(watch, "P", part_of_id=whole, due_from="1bd")
    more(watch, "W", D(2028, 12, 27))
    germany = ("Madrid", "Europe/Madrid", "DE", None, dt.time())
    watch.do(lambda act: places.change_site(act, factories.site(act), *germany))
    add(watch, "OTHER", D(2027, 3, 5))
    assert not scan_tick(watch.acme.org).errors
    assert open_ones(watch, "P") == ["2028-12-22", "2028-12-26"]  # The second stays: its new day is taken.


def test_p4_a_fault_of_dates_to_come_stops_no_alert(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    add(watch, "A", D(2027, 3, 5))

    def broken(act: Act) -> None:
        raise ValueError("dates")

    monkeypatch.setattr("app.scheduler.ticks.open_dates", broken)
    done = scan_tick(watch.acme.org)
    assert [error["message"] for error in done.errors]
    assert watch.rows("select count(*) from watermark") == [(2,)]  # Both sites were looked at all the same.


def test_two_dates_of_a_whole_that_give_one_are_one(watch: Watch) -> None:
    whole = add(watch, "W", D(2027, 4, 3))
    more(watch, "W", D(2027, 4, 4))
    add(watch, "P", part_of_id=whole, due_from="5bd")
    assert open_ones(watch, "P") == ["2027-03-29"]


def test_p4_a_recurrence_that_changes_while_dates_are_open_ahead_loses_none(watch: Watch) -> None:
    add(watch, "S", D(2027, 3, 1), recurrence="1y", recurrence_basis="calendar")

    def monthly(act: Act, s: Any) -> None:
        said = {"recurrence": "1m", "recurrence_basis": "calendar", "legal_basis": "", "notes": ""}
        register.amend(act, s, kind_id=s.kind_id, **said)

    on_entry(watch, "S", monthly)
    months_later(watch)
    assert {"2027-04-01", "2027-05-01", "2027-06-01", "2027-07-01"} <= set(open_ones(watch, "S"))


def test_p4_a_recurrence_that_an_import_changes_loses_none(watch: Watch) -> None:
    add(watch, "S", D(2027, 3, 1), recurrence="1y", recurrence_basis="calendar")
    bring(watch, "S,2027-03-01,1m", "reference,due_on,recurrence")
    months_later(watch)
    assert {"2027-04-01", "2027-05-01", "2027-06-01", "2027-07-01"} <= set(open_ones(watch, "S"))


@pytest.mark.parametrize(("recurrence", "basis"), [("1y", "done"), ("1m", "calendar")])
def test_what_follows_its_whole_has_no_rhythm_of_its_kind(watch: Watch, recurrence: str, basis: str) -> None:
    kind_has(watch, recurrence, basis)
    whole = add(watch, "W", D(2027, 6, 1), recurrence="1y", recurrence_basis="due")
    add(watch, "P", part_of_id=whole, due_from="30d")
    on(watch, "P", D(2027, 5, 2), met)
    on(watch, "W", D(2027, 6, 1), met)
    watch.at("2027-05-03T11:00").scan()
    assert open_ones(watch, "P") == ["2028-05-02"]
    with pytest.raises(Refused, match="leave the recurrence out"):
        add(watch, "Q", part_of_id=whole, due_from="30d", recurrence="1m")


@pytest.mark.parametrize("how", ["import", "release"])
def test_start_next_tells_nothing_of_what_a_series_has_crossed(watch: Watch, how: str) -> None:
    kind_has(watch, "1m", "calendar")
    run = bring(watch, "S,2027-03-05,Madrid", start="next" if how == "import" else "draft")
    if how == "release":
        watch.do(lambda act: releases.release_drafts(act, run_of(run), "next"))
    watch.scan()
    assert watch.rows("select due_on, threshold from notification_ledger where standing = 'open'") == []
    assert watch.owed().count == 0


@pytest.mark.parametrize("how", ["release", "batch"])
def test_start_next_tells_nothing_of_what_parts_get_with_it(watch: Watch, how: str) -> None:
    monthly = {"recurrence": "1m", "recurrence_basis": "calendar"}
    whole = add(watch, "W", D(2027, 3, 5), status="draft", **monthly)
    part = add(watch, "P", part_of_id=whole, due_from="1d", status="draft")
    if how == "batch":
        order = Order(BatchAct.release, start="next")
        seen = watch.do(lambda act: batch_acts.foresee(act, order, [whole, part]))
        watch.do(lambda act: batch_acts.apply(act, order, [whole, part], seen.plan.mark, seen.looked))
    else:
        for reference in ("P", "W"):
            on_entry(watch, reference, lambda act, s: register.release(act, s, "next"))
    watch.scan()
    assert watch.rows("select reference, threshold from notification_ledger where standing = 'open'") == []
    assert open_ones(watch, "P")[-1] == "2027-04-04"
    assert watch.owed().count == 0


def test_start_next_tells_nothing_of_a_part_whose_whole_gets_its_date_by_a_file(watch: Watch) -> None:
    add(watch, "P", part_of_id=add(watch, "W"), due_from="1d")
    bring(watch, "W,2027-03-08", "reference,due_on", start="next")
    watch.scan()
    assert open_ones(watch, "P") == ["2027-03-07"]
    assert watch.rows("select reference, threshold from notification_ledger where standing = 'open'") == []


@pytest.mark.parametrize("name", ["Permits", "Another"])
def test_a_rule_that_starts_with_the_next_alert_tells_nothing_of_what_it_opens_ahead(watch: Watch, name: str) -> None:
    whole = add(watch, "W", D(2027, 3, 30), recurrence="1m", recurrence_basis="calendar")
    add(watch, "P", part_of_id=whole, due_from="1d")
    watch.scan()
    told = watch.rows("select id from notification_ledger where standing = 'open' order by id")
    wide = RuleText(name, thresholds=("120d", "60d", "7d"), channels=("email",), to=("role:officer",), start="next")
    watch.do(lambda act: rules.apply(act, [wide]))
    watch.scan()
    assert watch.rows("select id from notification_ledger where standing = 'open' order by id") == told
    assert len(open_ones(watch, "P")) == 4
    assert watch.owed().count == 0


def test_days_off_foresee_what_a_series_gets_by_them(watch: Watch) -> None:
    ahead = RuleText("Ahead", thresholds=("20bd",), channels=("in_app",), to=("role:officer",))
    watch.do(lambda act: (rules.apply(act, [ahead]), rules.switch(act, "Permits", False)))
    add(watch, "S", D(2027, 3, 1), recurrence="1m", recurrence_basis="calendar")
    watch.scan()
    off = DayOff(D(2027, 3, 8), D(2027, 5, 3), False)
    seen = watch.do(lambda act: calendar_changes.foresee(act, lambda: days_off.add_day_off(act, "Works", off)))
    watch.do(lambda act: days_off.add_day_off(act, "Works", off))
    assert [str(alert.due_on) for alert in seen.alerts] == ["2027-04-01", "2027-05-01"]
    done = watch.at("2027-03-02T11:01").scan()
    assert (done.claimed, done.deliveries) == (len(seen.alerts), seen.messages)


def test_p4_a_next_date_that_is_closed_already_ends_no_recurrence(watch: Watch) -> None:
    add(watch, "S", D(2027, 3, 31), recurrence="1m", recurrence_basis="due")
    more(watch, "S", D(2027, 4, 30))
    on(watch, "S", D(2027, 4, 30), in_error)
    on(watch, "S", D(2027, 3, 31), met)
    assert open_ones(watch, "S") == ["2027-05-31"]


def test_fixed_days_done_early_go_on_with_the_next_one(watch: Watch) -> None:
    add(watch, "S", D(2027, 3, 31), recurrence="03-31,09-30", recurrence_basis="done")
    on(watch, "S", D(2027, 3, 31), lambda act, i: obligations.close(act, i, "met", D(2027, 3, 1)))
    assert open_ones(watch, "S") == ["2027-09-30"]


@pytest.mark.parametrize("who", ["P", "W"])
def test_a_part_and_its_whole_stay_at_one_site(watch: Watch, who: str) -> None:
    whole = add(watch, "W", D(2027, 6, 1))
    add(watch, "P", part_of_id=whole, due_from="30d")
    with pytest.raises(Refused, match="they stay at one site"):
        on_entry(watch, who, lambda act, s: register.move_to_site(act, s, factories.site(act, "Yard")))


def test_what_a_file_puts_into_another_whole_keeps_its_date_as_its_own(watch: Watch) -> None:
    a, _ = add(watch, "A", D(2027, 6, 1)), add(watch, "B", D(2027, 8, 1))
    add(watch, "P", part_of_id=a, due_from="30d")
    bring(watch, "P,2027-05-02,B", "reference,due_on,part_of")
    watch.scan()
    on(watch, "A", D(2027, 6, 1), lambda act, i: obligations.move(act, i, D(2027, 9, 1), "other"))
    assert open_ones(watch, "P") == ["2027-05-02"]
    assert watch.rows("select count(*) from obligation where follows_id is not null") == [(0,)]


@pytest.mark.parametrize("by", ["import", "hand"])
def test_what_followed_a_date_that_never_was_goes_with_it(watch: Watch, by: str) -> None:
    run = bring(watch, "W,2027-06-01,Madrid")
    whole = watch.do(lambda act: register.find_subject(act, "W").id)
    add(watch, "P", part_of_id=whole, due_from="30d")
    if by == "import":
        take_back(watch, run)
        bring(watch, "W,2027-07-01,Madrid")
    else:
        on(watch, "W", D(2027, 6, 1), in_error)
        more(watch, "W", D(2027, 7, 1))
    watch.scan()
    assert open_ones(watch, "P") == ["2027-06-01"]


def test_the_date_of_a_paper_outlives_a_reopening(watch: Watch) -> None:
    add(watch, "S", D(2027, 3, 31), recurrence="1y", recurrence_basis="due")
    paper = documents.Paper("N1", valid_until=D(2029, 6, 30))
    on(watch, "S", D(2027, 3, 31), lambda act, i: documents.renew(act, i, paper))
    on(watch, "S", D(2027, 3, 31), again)
    on(watch, "S", D(2027, 3, 31), met)
    assert open_ones(watch, "S") == ["2029-06-30"]


def test_renewed_three_times_there_is_one_next_date(watch: Watch) -> None:
    add(watch, "S", D(2027, 3, 31))
    for n, year in enumerate((2028, 2029, 2030)):
        if n:
            on(watch, "S", D(2027, 3, 31), again)
        paper, next_on = documents.Paper(str(n)), D(year, 3, 31)
        on(watch, "S", D(2027, 3, 31), lambda act, i, p=paper, d=next_on: documents.renew(act, i, p, d))
        if not n:
            on(watch, "S", D(2028, 3, 31), in_error)
    assert open_ones(watch, "S") == ["2030-03-31"]
