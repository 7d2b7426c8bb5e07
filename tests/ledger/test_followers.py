"""Parts whose due date follows that of their whole: opened with it, moved with it, told like any other."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from app.domain.errors import Refused
from app.operations import obligations, parts, people, register, rules
from app.operations.rule_contents import RuleText
from app.trail.act import Act
from tests import factories
from tests.ledger.conftest import Watch

DUE = dt.date(2027, 12, 31)
EARLY = dt.date(2027, 7, 4)  # 180 days before.


def add(watch: Watch, reference: str, **given: Any) -> int:
    def deed(act: Act) -> int:
        entry = register.Entry(factories.site(act), factories.kind(act), reference, **given)
        return register.add_subject(act, entry)

    subject_id: int = watch.do(deed)
    return subject_id


def dates(watch: Watch, subject_id: int, which: str = "closed_at is null") -> list[dt.date]:
    found = watch.rows(f"select due_on from obligation where subject_id = :id and {which} order by 1", id=subject_id)
    return [day for (day,) in found]


def whole_and_part(watch: Watch, due_from: str = "180d", **given: Any) -> tuple[int, int]:
    whole = add(watch, "0417", due_on=DUE, **given)
    return whole, add(watch, "0417/4.2", part_of_id=whole, due_from=due_from)


def on(act: Act, subject_id: int, day: dt.date | None = None) -> int:
    return obligations.find_obligation(act, register.get_subject(act, subject_id), day).id


@pytest.mark.parametrize(
    ("due_from", "due_on"),
    [("180d", EARLY), ("+30d", dt.date(2028, 1, 30)), ("6m", dt.date(2027, 6, 30)), ("0d", DUE),
     ("2w", dt.date(2027, 12, 17))],
)  # fmt: skip
def test_a_part_takes_its_date_from_its_whole(watch: Watch, due_from: str, due_on: dt.date) -> None:
    _, part = whole_and_part(watch, due_from)
    assert dates(watch, part) == [due_on]


def test_it_moves_with_its_whole_and_the_trail_says_so(watch: Watch) -> None:
    whole, part = whole_and_part(watch)
    watch.do(lambda act: obligations.move(act, on(act, whole), DUE + dt.timedelta(10), "authority"))
    assert dates(watch, part) == [EARLY + dt.timedelta(10)]
    moved = watch.rows("select subject_id, detail from audit_event where type = 'date_moved' order by id")
    assert [subject for subject, _ in moved] == [whole, part]
    assert moved[1][1] | {"obligation_id": 0} == {
        "obligation_id": 0, "old": "2027-07-04", "new": "2027-07-14", "reason": "other", "note": "", "source": "whole",
    }  # fmt: skip


def test_the_next_date_of_the_whole_brings_the_next_one_of_the_part(watch: Watch) -> None:
    whole, part = whole_and_part(watch, recurrence="1y")
    watch.do(lambda act: obligations.close(act, on(act, part), "met"))
    assert dates(watch, part) == []
    watch.do(lambda act: obligations.close(act, on(act, whole), "met"))
    assert dates(watch, part) == [dt.date(2028, 7, 4)]


def test_what_was_closed_stays_closed_and_what_stands_alone_stays(watch: Watch) -> None:
    whole, part = whole_and_part(watch)
    watch.do(lambda act: obligations.close(act, on(act, part), "met"))
    watch.do(lambda act: obligations.move(act, on(act, whole), DUE + dt.timedelta(10), "authority"))
    watch.scan()
    assert (dates(watch, part), dates(watch, part, "closed_at is not null")) == ([], [EARLY])


def test_an_import_or_a_series_moves_it_by_the_next_scan(watch: Watch) -> None:
    """Whatever moved the date of the whole: the watch looks at how it is."""
    whole, part = whole_and_part(watch)
    watch.do(lambda act: act.run("update obligation set due_on = '2027-12-01' where subject_id = :id", {"id": whole}))
    watch.scan()
    assert dates(watch, part) == [dt.date(2027, 6, 4)]
    assert watch.owed().count == 0


def test_an_alert_that_was_told_is_withdrawn_or_told_anew_by_the_table(watch: Watch) -> None:
    def furnish(act: Act) -> None:
        people.add_member(act, "ana@acme.example", "officer")
        rules.apply(act, [RuleText("All", thresholds=("0d",), channels=("in_app",), to=("role:officer",))])

    watch.do(furnish)
    whole, part = whole_and_part(watch)
    watch.at("2027-07-04T12:00").scan()
    watch.deliver()
    watch.do(lambda act: obligations.move(act, on(act, whole), DUE + dt.timedelta(1), "authority"))
    watch.at("2027-07-05T12:00").scan()
    rows = watch.rows("select due_on, standing from notification_ledger where subject_id = :id order by 1", id=part)
    assert rows == [(EARLY, "open"), (EARLY + dt.timedelta(1), "open")]
    assert watch.owed().count == 0


def test_a_day_that_the_part_has_already_is_not_taken_twice(watch: Watch) -> None:
    whole, part = whole_and_part(watch)
    watch.do(lambda act: obligations.add_obligation(act, register.get_subject(act, part), EARLY + dt.timedelta(10)))
    watch.do(lambda act: obligations.move(act, on(act, whole), DUE + dt.timedelta(10), "authority"))
    assert dates(watch, part) == [EARLY, EARLY + dt.timedelta(10)]


def test_an_entry_that_is_there_is_put_into_another_and_taken_out(watch: Watch) -> None:
    whole, part = add(watch, "0417", due_on=DUE), add(watch, "4.2", due_on=EARLY)

    def place(part_of: int | None, due_from: str | None) -> bool:
        return bool(watch.do(lambda act: parts.put_into(act, register.get_subject(act, part), part_of, due_from)))

    assert place(whole, "180d")
    assert not place(whole, "180d")
    assert dates(watch, part) == [EARLY]  # It was there already, and follows from now on.
    assert place(whole, "170d")
    assert dates(watch, part) == [EARLY + dt.timedelta(10)]
    assert place(None, None)
    watch.do(lambda act: obligations.move(act, on(act, whole), DUE + dt.timedelta(50), "authority"))
    assert dates(watch, part) == [EARLY + dt.timedelta(10)]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"due_from": "180d"}, "needs a whole"),
        ({"due_from": "180d", "part_of": "part"}, "is a part itself"),
        ({"due_from": "halfway", "part_of": "whole"}, "not a threshold"),
        ({"due_from": "180d", "part_of": "elsewhere"}, "at another site"),
        ({"due_from": "180d", "part_of": "whole", "due_on": DUE}, "leave one of the two out"),
        ({"part_of": "archived"}, "restore it first"),
    ],
)
def test_what_cannot_be_part_of_another_is_refused(watch: Watch, given: dict[str, Any], words: str) -> None:
    whole, part = whole_and_part(watch)
    site = watch.do(lambda act: people.add_site(act, "Bilbao", "Europe/Madrid"))
    elsewhere = watch.do(lambda act: register.add_subject(act, register.Entry(site, factories.kind(act), "E")))
    archived = add(watch, "Old")
    watch.do(lambda act: register.archive(act, register.get_subject(act, archived), "gone"))
    ids = {"whole": whole, "part": part, "elsewhere": elsewhere, "archived": archived}
    named = {"part_of_id": ids[given.pop("part_of")]} if "part_of" in given else {}
    with pytest.raises(Refused, match=words):
        add(watch, "New", **given, **named)


def test_a_whole_becomes_no_part(watch: Watch) -> None:
    whole, _ = whole_and_part(watch)
    other = add(watch, "1000")
    with pytest.raises(Refused, match="has parts itself"):
        watch.do(lambda act: parts.put_into(act, register.get_subject(act, whole), other, None))


def test_two_conditions_due_on_one_day_are_two_alerts(watch: Watch) -> None:
    def furnish(act: Act) -> None:
        people.add_member(act, "ana@acme.example", "officer")
        rules.apply(act, [RuleText("All", thresholds=("30d",), channels=("in_app",), to=("role:officer",))])

    watch.do(furnish)
    whole, _ = whole_and_part(watch)
    add(watch, "0417/4.3", part_of_id=whole, due_from="180d")
    watch.at(f"{EARLY - dt.timedelta(30)}T12:00").scan()
    rows = watch.rows("select reference, due_on from notification_ledger order by 1")
    assert rows == [("0417/4.2", EARLY), ("0417/4.3", EARLY)]


def test_a_part_that_cannot_follow_is_said_once_and_follows_when_the_day_is_free(watch: Watch) -> None:
    whole, part = whole_and_part(watch)
    later = EARLY + dt.timedelta(10)
    watch.do(lambda act: obligations.add_obligation(act, register.get_subject(act, part), later))
    watch.do(lambda act: obligations.move(act, on(act, whole), DUE + dt.timedelta(10), "authority"))
    watch.scan()
    assert dates(watch, part) == [EARLY, later]
    told = "select subject_id, detail ->> 'old', detail ->> 'new' from audit_event where type = 'part_left_behind'"
    assert watch.rows(told) == [(part, "2027-07-04", "2027-07-14")]
    watch.do(lambda act: obligations.move(act, on(act, part, later), later + dt.timedelta(1), "other"))
    assert dates(watch, part) == [later, later + dt.timedelta(1)]
