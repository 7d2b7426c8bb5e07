"""A batch and an act alone, or two batches, at the same moment, with real commits: each ends right, none half."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest
from flask import Flask

from app.domain.batches import BatchAct
from app.operations import obligations, register
from app.operations.batch_acts import apply, foresee
from app.operations.batch_plan import Order
from app.trail.act import Act
from tests import factories
from tests.factories import Acme
from tests.operations.test_races import at_once, unless_refused

pytestmark = pytest.mark.real_commits

DUE = dt.date(2027, 6, 1)
BATCH = Order(BatchAct.move, "law_change", by="1m")


def furnished(count: int = 40) -> tuple[Acme, list[int]]:
    """Entries with a date each, and a part that follows the date of the first."""
    acme = factories.acme()
    with acme.acting() as act:
        at, kind = factories.site(act), factories.kind(act)
        whole = register.add_subject(act, register.Entry(at, kind, "P-00", due_on=DUE))
        register.add_subject(act, register.Entry(at, kind, "P-00/1", part_of_id=whole, due_from="30d"))
        others = [factories.subject(act, f"P-{number:02}", DUE).id for number in range(1, count)]
    return acme, [whole, *others]


def applying(acme: Acme, ids: list[int], order: Order = BATCH) -> Callable[[], bool]:
    with acme.acting() as act:
        mark = foresee(act, order, ids).plan.mark
    return unless_refused(acme, lambda act: apply(act, order, ids, mark) > 0)


def dates(acme: Acme) -> list[tuple[str, dt.date]]:
    with acme.acting() as act:
        rows = act.run(
            "select s.reference, o.due_on from subject s join obligation o on o.subject_id = s.id order by 1"
        )
        return [(row.reference, row.due_on) for row in rows]


def batches(acme: Acme) -> tuple[int, int]:
    """How many batches the trail has, and how many entries say that they are of one."""
    with acme.acting() as act:
        row = act.run(
            "select count(*) filter (where type = 'batch_applied') as whole, "
            "count(*) filter (where detail ? 'batch') as each from audit_event"
        ).one()
        return row.whole, row.each


@pytest.mark.parametrize("backwards", [False, True])
def test_of_two_batches_of_the_same_entries_exactly_one_is_done(real_app: Flask, backwards: bool) -> None:
    acme, ids = furnished()
    other = ids[::-1] if backwards else ids
    assert at_once(real_app, [applying(acme, ids), applying(acme, other)]) == [False, True]
    assert batches(acme) == (1, 40)
    assert {day for _, day in dates(acme)} == {dt.date(2027, 7, 1), dt.date(2027, 6, 1)}  # The part: 30 days before.


def test_two_batches_of_different_acts_upon_the_same_entries_are_both_done(real_app: Flask) -> None:
    acme, ids = furnished()
    pause = Order(BatchAct.pause, "planned", until=dt.date(2027, 4, 1))
    assert at_once(real_app, [applying(acme, ids), applying(acme, ids[::-1], pause)]) == [True, True]
    assert batches(acme) == (2, 80)


def test_a_date_that_is_moved_alone_at_the_same_moment_is_moved_once(real_app: Flask) -> None:
    """Either the act comes first, and the batch is refused; or the batch, and the act moves the new date on."""
    acme, ids = furnished()
    with acme.acting() as act:
        one = obligations.find_obligation(act, register.get_subject(act, ids[7])).id

    def alone(act: Act) -> bool:
        return obligations.move(act, one, dt.date(2027, 9, 9), "agreed")

    done = at_once(real_app, [applying(acme, ids), unless_refused(acme, alone)])
    assert True in done
    found = dict(dates(acme))
    assert found["P-07"] == dt.date(2027, 9, 9)
    assert found["P-08"] == (dt.date(2027, 7, 1) if done == [True, True] else DUE)
    assert batches(acme) == ((1, 40) if done == [True, True] else (0, 0))


def test_an_entry_that_is_archived_alone_at_the_same_moment(real_app: Flask) -> None:
    acme, ids = furnished()

    def alone(act: Act) -> bool:
        return register.archive(act, register.get_subject(act, ids[5]), "sold")

    done = at_once(real_app, [applying(acme, ids), unless_refused(acme, alone)])
    assert done in ([False, True], [True, True])
    assert batches(acme) == ((1, 40) if done == [True, True] else (0, 0))


def test_a_date_that_is_added_where_the_batch_moves_to_is_not_there_twice(real_app: Flask) -> None:
    acme, ids = furnished()

    def alone(act: Act) -> bool:
        return bool(obligations.add_obligation(act, register.get_subject(act, ids[5]), dt.date(2027, 7, 1)).id)

    done = at_once(real_app, [applying(acme, ids), unless_refused(acme, alone)])
    assert True in done
    days = [day for reference, day in dates(acme) if reference == "P-05"]
    assert days in ([dt.date(2027, 7, 1)], [DUE, dt.date(2027, 7, 1)])
    assert batches(acme) in ((0, 0), (1, 40))
