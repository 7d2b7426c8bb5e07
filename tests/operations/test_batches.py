"""One act upon many entries: what it would do is named before, what is done is one batch, and all of it or nothing."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from sqlalchemy import event

from app.domain.acts import Status
from app.domain.batches import BatchAct, Left, Several
from app.domain.errors import Refused
from app.extensions import db
from app.ledger.align import deliver
from app.ledger.scan import scan
from app.operations import batch_acts, documents, filings, obligations, people, register
from app.operations.attachments import SentFile
from app.operations.batch_acts import Foresight, apply, foresee
from app.operations.batch_plan import Order
from app.operations.documents import Paper
from app.queries.facts import read_facts
from app.queries.owed import owed
from app.trail.act import Act
from tests import factories
from tests.factories import Acme

D = dt.date
LAW = "Royal Decree 12/2027"


def moved(**given: Any) -> Order:
    return Order(BatchAct.move, **{"reason": "law_change", "by_act": LAW, **given})


def ids_of(act: Act) -> list[int]:
    return [row.id for row in act.run("select id from subject where org_id = :org order by id")]


def do(act: Act, order: Order, ids: list[int] | None = None) -> tuple[int, Foresight]:
    """What a person does: look, and apply what was seen."""
    ids = ids or ids_of(act)
    seen = foresee(act, order, ids)
    return apply(act, order, ids, seen.plan.mark, seen.looked), seen


def dates(act: Act) -> dict[str, list[D]]:
    found: dict[str, list[D]] = {}
    rows = act.run(
        "select s.reference, o.due_on from subject s join obligation o on o.subject_id = s.id order by 1, o.due_on"
    )
    for row in rows:
        found.setdefault(row.reference, []).append(row.due_on)
    return found


def events(act: Act, type: str) -> list[Any]:
    facts = {"type": type}
    sql = "select id, subject_id, detail from audit_event where org_id = :org and type = :type order by id"
    return list(act.run(sql, facts))


def left(seen: Foresight) -> dict[str, str]:
    return {step.reference: str(step.left) for step in seen.plan.leaving}


def rows(act: Act) -> list[str]:
    """Everything that a preview must not change."""
    return [
        str(row)
        for table in ("subject", "obligation", "audit_event", "audit_unsealed", "scan_queue", "notification_ledger",
                      "delivery", "scan_run")
        for row in act.run(f"select t::text from {table} t order by 1")
    ]  # fmt: skip


def test_forty_dates_moved_by_a_law_change_are_one_batch_with_the_collisions_named_before(act: Act) -> None:
    for number in range(42):
        one = factories.subject(act, f"P-{number:02}", D(2027, 6, 1) + dt.timedelta(days=number))
        if number in (3, 7):  # One has the new day open, the other has it closed.
            there = factories.obligation(act, one, D(2028, 1, 1))
            if number == 7:
                obligations.close(act, there.id, "not_required", reason="replaced")
    before = rows(act)
    order = moved(to=D(2028, 1, 1), several=Several.next)

    seen = foresee(act, order, ids_of(act))
    assert rows(act) == before
    assert left(seen) == {"P-03": Left.taken, "P-07": Left.taken}
    assert [(step.old, step.new) for step in seen.plan.doing][:2] == [
        ("2027-06-01", "2028-01-01"), ("2027-06-02", "2028-01-01"),
    ]  # fmt: skip

    batch_id = apply(act, order, ids_of(act), seen.plan.mark, seen.looked)
    after = dates(act)
    assert [reference for reference, days in after.items() if days == [D(2028, 1, 1)]] == [
        f"P-{number:02}" for number in range(42) if number not in (3, 7)
    ]
    assert after["P-03"] == [D(2027, 6, 4), D(2028, 1, 1)]
    assert after["P-07"] == [D(2027, 6, 8), D(2028, 1, 1)]
    (batch,) = events(act, "batch_applied")
    assert batch.id == batch_id
    assert (batch.detail["done"], batch.detail["by_act"], batch.detail["reason"]) == (40, LAW, "law_change")
    assert {why: len(ids) for why, ids in batch.detail["left"].items()} == {"taken": 2}
    of_entries = events(act, "date_moved")
    assert len(of_entries) == 40
    assert {(one.detail["batch"], one.detail["others"], one.detail["by_act"]) for one in of_entries} == {
        (batch_id, 39, LAW)
    }
    firsts = act.run("select distinct first_due_on from obligation where due_on = '2028-01-01'").all()
    assert len(firsts) == 41  # The first date stays on record.


@pytest.mark.parametrize(
    ("by", "is_earlier", "old", "new"),
    [
        ("1m", False, D(2027, 1, 31), D(2027, 2, 28)),
        ("1m", False, D(2028, 1, 31), D(2028, 2, 29)),
        ("1m", True, D(2027, 3, 31), D(2027, 2, 28)),
        ("1y", False, D(2028, 2, 29), D(2029, 2, 28)),
        ("6w", False, D(2027, 6, 1), D(2027, 7, 13)),
        ("30d", True, D(2027, 6, 1), D(2027, 5, 2)),
    ],
)
def test_dates_move_by_a_length_of_time(act: Act, by: str, is_earlier: bool, old: D, new: D) -> None:
    factories.subject(act, "P-1", old)
    do(act, moved(by=by, is_earlier=is_earlier))
    assert dates(act) == {"P-1": [new]}


def test_what_a_move_leaves_is_named_with_its_reason(act: Act) -> None:
    factories.subject(act, "GOES", D(2027, 6, 1))
    factories.subject(act, "GONE", D(2027, 6, 1), status=Status.archived)
    factories.subject(act, "NONE")
    shut = factories.subject(act, "SHUT", D(2027, 6, 1))
    obligations.close(act, obligations.find_obligation(act, shut).id, "met")
    many = factories.subject(act, "MANY", D(2027, 6, 1))
    factories.obligation(act, many, D(2027, 7, 1))
    factories.subject(act, "LAST", D(2079, 12, 1))
    order = moved(by="2m")
    _, seen = do(act, order)
    assert left(seen) == {
        "GONE": Left.archived, "NONE": Left.no_date, "SHUT": Left.closed, "MANY": Left.several, "LAST": Left.beyond,
    }  # fmt: skip
    assert dates(act)["GOES"] == [D(2027, 8, 1)]
    assert dates(act)["MANY"] == [D(2027, 6, 1), D(2027, 7, 1)]


def test_of_several_open_dates_the_next_one_moves_where_that_is_said(act: Act) -> None:
    many = factories.subject(act, "MANY", D(2027, 6, 1))
    factories.obligation(act, many, D(2027, 7, 1))
    do(act, moved(by="10d", several=Several.next))
    assert dates(act) == {"MANY": [D(2027, 6, 11), D(2027, 7, 1)]}
    assert left(foresee(act, moved(by="20d", several=Several.next), [many.id])) == {"MANY": Left.taken}


def test_parts_that_follow_move_with_their_whole_and_are_left_themselves(act: Act) -> None:
    at, kind = factories.site(act), factories.kind(act)
    whole = register.add_subject(act, register.Entry(at, kind, "W", due_on=D(2027, 12, 31)))
    register.add_subject(act, register.Entry(at, kind, "W/1", part_of_id=whole, due_from="30d"))
    _, seen = do(act, moved(by="10d"))
    assert left(seen) == {"W/1": Left.follows}
    assert seen.parts == 1
    assert dates(act) == {"W": [D(2028, 1, 10)], "W/1": [D(2027, 12, 11)]}


@pytest.fixture
def told(acme: Acme) -> Acme:
    """Ana is told 30 days before of anything; P-1 has been, S-1 is raised and not told."""
    with acme.acting() as act:
        acme.members["Ana"] = factories.member(act, name="Ana")
        factories.rule(act, thresholds=("30d",), channels=("in_app",))
        factories.subject(act, "P-1", D(2027, 3, 20))
    watch(acme)
    return acme


def watch(acme: Acme, and_tell: bool = True) -> None:
    with acme.watching() as act:
        scan(act, trigger="command")
        if and_tell:
            deliver(act)


def nothing_owed(acme: Acme) -> bool:
    with acme.watching() as act:
        return owed(read_facts(act.session, act.org), act.now).count == 0


def test_what_would_be_told_and_what_is_stopped_is_seen_before_and_comes_true(told: Acme) -> None:
    with told.acting() as act:
        factories.subject(act, "FAR", D(2027, 9, 1))
        factories.subject(act, "NEAR", D(2027, 3, 25))
        act.run("insert into scan_queue (org_id) values (:org)")
    watch(told, and_tell=False)  # NEAR is raised, and has told nobody yet.
    with told.acting() as act:
        ids = [one.id for one in (register.find_subject(act, "FAR"), register.find_subject(act, "NEAR"))]
        before = rows(act)
        seen = foresee(act, moved(to=D(2027, 3, 28)), ids)
        assert rows(act) == before
        assert [(one.reference, one.people) for one in seen.alerts] == [("FAR", ["Ana"]), ("NEAR", ["Ana"])]
        assert [(one.reference, one.due_on) for one in seen.stopped] == [("NEAR", D(2027, 3, 25))]
        apply(act, moved(to=D(2027, 3, 28)), ids, seen.plan.mark)
    watch(told)
    assert nothing_owed(told)
    with told.watching() as act:
        assert scan(act, trigger="command").claimed == 0


def test_hand_over_leaves_whom_the_new_responsible_may_not_see(act: Act) -> None:
    yard = people.add_site(act, "Yard", "Europe/Madrid")
    ana, bruno = factories.member(act, name="Ana"), factories.member(act, "bruno@acme.example", "staff", name="Bruno")
    people.limit_member(act, bruno, [yard])
    factories.subject(act, "HERE")
    factories.subject(act, "THERE", at="Yard", owner_member_id=ana)
    factories.subject(act, "HIS", at="Yard", owner_member_id=bruno)
    factories.subject(act, "OLD", at="Yard", status=Status.archived)
    _, seen = do(act, Order(BatchAct.assign, member_id=bruno))
    assert left(seen) == {"HERE": Left.out_of_sight, "HIS": Left.same, "OLD": Left.archived}
    assert [(step.reference, step.owner) for step in seen.plan.doing] == [("THERE", "Ana")]
    assert register.find_subject(act, "THERE").owner_member_id == bruno
    post = people.add_post(act, "plant manager")
    do(act, Order(BatchAct.assign, post_id=post))
    assert {register.find_subject(act, name).owner_post_id for name in ("HERE", "THERE", "HIS")} == {post}
    assert register.find_subject(act, "THERE").owner_member_id is None


def test_pause_and_end_of_the_pause(act: Act) -> None:
    people.add_site(act, "Auckland", "Pacific/Auckland")
    factories.subject(act, "P-1")
    factories.subject(act, "A-1", at="Auckland")  # There it is the second of March already.
    _, seen = do(act, Order(BatchAct.pause, reason="planned", until=D(2027, 3, 2)))
    assert left(seen) == {"A-1": Left.day_over}
    assert register.find_subject(act, "P-1").snoozed_until == D(2027, 3, 2)
    assert act.run("select count(*) from scan_queue where wake_on = '2027-03-02'").scalar_one() == 1
    _, seen = do(act, Order(BatchAct.resume, note="Back to work."))
    assert left(seen) == {"A-1": Left.not_paused}
    assert register.find_subject(act, "P-1").snoozed_until is None
    assert events(act, "snooze_ended")[0].detail["note"] == "Back to work."


@pytest.mark.parametrize("start", [register.NOW, register.NEXT])
def test_drafts_are_released_as_one_alone_is(told: Acme, start: str) -> None:
    with told.acting() as act:
        factories.subject(act, "D-1", D(2027, 3, 10), status=Status.draft)
        series = {"recurrence": "1m", "recurrence_basis": "calendar", "series_from": D(2026, 1, 5)}
        factories.subject(act, "D-2", status=Status.draft, **series)
        _, seen = do(act, Order(BatchAct.release, start=start))
        assert left(seen) == {"P-1": Left.no_draft}
        assert {one.reference for one in seen.alerts} == ({"D-1", "D-2"} if start == register.NOW else set())
        assert dates(act)["D-2"][0] == D(2027, 3, 5)  # What lay before the watch is not opened.
    watch(told)
    assert nothing_owed(told)
    with told.acting() as act:
        opened = act.run("select distinct reference from notification_ledger where standing = 'open' order by 1")
        assert [row.reference for row in opened] == (["D-1", "D-2", "P-1"] if start == register.NOW else ["P-1"])


def test_out_of_service_and_archived(told: Acme) -> None:
    with told.acting() as act:
        factories.subject(act, "P-2", D(2027, 3, 21))
        _, seen = do(act, Order(BatchAct.out_of_service, note="Shut down.", by_act=LAW))
        assert not seen.alerts
        assert {register.find_subject(act, name).status for name in ("P-1", "P-2")} == {Status.out_of_service}
        do(act, Order(BatchAct.archive, reason="sold"))
        assert {register.find_subject(act, name).status for name in ("P-1", "P-2")} == {Status.archived}
        assert left(foresee(act, Order(BatchAct.archive, reason="sold"), ids_of(act))) == {
            "P-1": Left.same, "P-2": Left.same,
        }  # fmt: skip
        assert [one.detail["old"] for one in events(act, "subject_archived")] == ["out_of_service"] * 2
    watch(told)
    assert nothing_owed(told)


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (moved(to=D(2028, 1, 1), reason=None), "a reason"),
        (moved(), "give one of the two"),
        (moved(to=D(2028, 1, 1), by="1m"), "give one of the two"),
        (moved(by="01-31"), "no length of time"),
        (moved(to=D(1980, 1, 1)), "outside the years"),
        (moved(by="1m", note="x" * 4001), "The note"),
        (moved(by="1m", by_act="x" * 401), "The name of the act"),
        (Order(BatchAct.assign), "choose one of the list"),
        (Order(BatchAct.assign, member_id=987654), "not there any more"),
        (Order(BatchAct.assign, post_id=987654), "no such post"),
        (Order(BatchAct.pause, reason="planned"), "is missing"),
        (Order(BatchAct.release, start="soon"), "needs a start"),
    ],
)
def test_an_order_that_is_wrong_is_refused_whatever_the_entries(act: Act, order: Order, words: str) -> None:
    factories.subject(act, "P-1", D(2027, 6, 1))
    for deed in (lambda: foresee(act, order, ids_of(act)), lambda: apply(act, order, ids_of(act), "")):
        with pytest.raises(Refused, match=words):
            deed()


def test_what_is_done_is_what_was_seen_or_nothing_and_who_changed_is_named(act: Act) -> None:
    for name in ("P-1", "P-2"):
        factories.subject(act, name, D(2027, 6, 1))
    order, ids = moved(by="1m"), ids_of(act)
    seen = foresee(act, order, ids)
    one = obligations.find_obligation(act, register.find_subject(act, "P-2"))
    obligations.move(act, one.id, D(2027, 6, 2), "agreed")
    with pytest.raises(Refused, match=r"P-2 has changed since you looked\. Nothing was done"):
        apply(act, order, ids, seen.plan.mark, seen.looked)
    with pytest.raises(Refused, match="Nothing was done"):
        apply(act, moved(by="2m"), ids, foresee(act, order, ids).plan.mark)
    assert dates(act) == {"P-1": [D(2027, 6, 1)], "P-2": [D(2027, 6, 2)]}
    assert not events(act, "batch_applied")
    do(act, order)
    assert dates(act) == {"P-1": [D(2027, 7, 1)], "P-2": [D(2027, 7, 2)]}


def test_a_batch_has_a_size(act: Act, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_acts, "MOST", 1)
    for name in ("P-1", "P-2"):
        factories.subject(act, name, D(2027, 6, 1))
    with pytest.raises(Refused, match="one batch takes 1 at most"):
        foresee(act, moved(by="1m"), ids_of(act))
    with pytest.raises(Refused, match="No entry is chosen"):
        apply(act, moved(by="1m"), [], "")
    factories.subject(act, "P-3", status=Status.archived)
    gone = [register.find_subject(act, "P-3").id]
    seen = foresee(act, moved(by="1m"), gone)
    with pytest.raises(Refused, match="nothing to do"):
        apply(act, moved(by="1m"), gone, seen.plan.mark)


def test_it_takes_as_many_statements_for_forty_entries_as_for_three(told: Acme) -> None:
    def count(entries: int, day: D) -> int:
        asked: list[str] = []

        def note(*given: Any) -> None:
            asked.append(given[2])

        with told.acting() as act:
            ids = [factories.subject(act, f"N-{entries}-{n}", D(2027, 9, 1)).id for n in range(entries)]
            event.listen(db.engine, "before_cursor_execute", note)
            try:
                done, seen = do(act, moved(to=day), ids)
            finally:
                event.remove(db.engine, "before_cursor_execute", note)
        assert (done, len(seen.alerts)) != (0, 0)
        return len(asked)

    few = count(3, D(2027, 3, 20))
    assert count(40, D(2027, 3, 20)) <= few + 2  # Long lists are written in parts.


def renewed(**given: Any) -> Order:
    said = {name: given.pop(name) for name in ("note", "met_on", "several") if name in given}
    return Order(BatchAct.renew, paper=Paper(**{"number": "C-7", "issuer": "Authority", **given}), **said)


def test_many_are_renewed_with_one_proof_that_is_kept_once(act: Act) -> None:
    ana = factories.member(act)
    factories.rule(act, thresholds=("30d",), channels=("in_app",))
    own = factories.subject(act, "OWN", D(2027, 3, 20))
    old = documents.add_paper(act, own, Paper("C-6"))
    factories.subject(act, "DONE", D(2027, 3, 20), recurrence="1y", recurrence_basis="done")
    calendar = factories.subject(act, "CAL", D(2027, 3, 20), recurrence="1y", recurrence_basis="calendar")
    calendar.series_from, calendar.series_through = D(2026, 3, 20), D(2028, 1, 1)
    whole = factories.subject(act, "W", D(2027, 3, 31))
    place = {"part_of_id": whole.id, "due_from": "30d"}
    part = register.add_subject(act, register.Entry(whole.site_id, whole.kind_id, "W/1", **place))
    many = factories.subject(act, "MANY", D(2027, 3, 20))
    factories.obligation(act, many, D(2027, 4, 1))
    filed = factories.subject(act, "FILED", D(2027, 3, 20))
    filings.file(act, obligations.find_obligation(act, filed).id, D(2027, 2, 1), "R-1", "yes")
    taken = factories.subject(act, "TAKEN", D(2027, 3, 20))
    obligations.close(act, factories.obligation(act, taken, D(2029, 6, 30)).id, "not_required", reason="replaced")
    has = factories.subject(act, "HAS", D(2027, 3, 20))
    documents.add_paper(act, has, Paper("c-7", issued_on=D(2027, 2, 26), valid_until=D(2029, 6, 30)))
    factories.subject(act, "GONE", D(2027, 3, 20), status=Status.archived)
    factories.subject(act, "NONE")
    proof = Paper("C-7", "Authority", D(2027, 2, 26), valid_until=D(2029, 6, 30), file=SentFile("a.txt", b"Proof"))
    order = Order(BatchAct.renew, paper=proof, met_on=D(2027, 2, 28), note="All of them")
    before = rows(act)

    seen = foresee(act, order, ids_of(act))
    assert rows(act) == before
    assert left(seen) == {
        "W/1": Left.follows, "MANY": Left.several, "FILED": Left.filed, "TAKEN": Left.taken, "HAS": Left.has_paper,
        "GONE": Left.archived, "NONE": Left.no_date,
    }  # fmt: skip
    assert {one.reference: (one.new, one.next_from) for one in seen.plan.doing} == {
        "OWN": ("2029-06-30", "paper"), "DONE": ("2029-06-30", "paper"), "W": ("2029-06-30", "paper"),
        "CAL": ("2028-03-20", "calendar"),
    }  # fmt: skip
    assert seen.parts == 1

    acting = act.by(f"member:{ana}")
    batch_id = apply(acting, order, ids_of(act), seen.plan.mark, seen.looked)
    assert dates(act)["OWN"] == [D(2027, 3, 20), D(2029, 6, 30)]
    assert dates(act)["CAL"] == [D(2027, 3, 20)]  # The watch opens the next one in its time.
    assert dates(act)["W/1"] == [D(2027, 3, 1), D(2029, 5, 31)]
    met = act.run("select met_on, closed_by, outcome from obligation where closed_at is not null and outcome = 'met'")
    assert {tuple(row) for row in met} == {(D(2027, 2, 28), ana, "met")}
    papers = act.run("select subject_id, replaces_id, obligation_id from document where number = 'C-7'").all()
    assert len(papers) == 4
    assert [one.replaces_id for one in papers if one.subject_id == own.id] == [old]
    files = act.run("select content is not null as has_it, sha256 from attachment order by id").all()
    assert [one.has_it for one in files] == [True, False, False, False]
    assert len({one.sha256 for one in files}) == 1
    (batch,) = events(act, "batch_applied")
    assert (batch.id, batch.detail["done"], batch.detail["met_on"]) == (batch_id, 4, "2027-02-28")
    assert batch.detail["paper"]["number"] == "C-7"
    for type in ("paper_added", "obligation_closed"):
        of = [one for one in events(act, type) if one.id > batch_id]
        assert {(one.detail["batch"], one.detail["others"]) for one in of} == {(batch_id, 3)}
        assert len(of) == 4
    assert part not in {one.subject_id for one in events(act, "obligation_closed")}
    again = foresee(act, order, ids_of(act))
    assert not again.plan.doing


def test_without_a_last_day_each_is_renewed_by_its_recurrence_or_left(act: Act) -> None:
    for reference, recurrence, basis in (("DUE", "1y", "due"), ("DONE", "6m", "done"), ("ONCE", None, None)):
        factories.subject(act, reference, D(2027, 3, 20), recurrence=recurrence, recurrence_basis=basis)
    order = renewed(met_on=D(2027, 2, 28))
    _, seen = do(act, order)
    assert left(seen) == {"ONCE": Left.nothing_next}
    assert {one.reference: one.new for one in seen.plan.doing} == {"DUE": "2028-03-20", "DONE": "2027-08-28"}
    assert dates(act)["DONE"] == [D(2027, 3, 20), D(2027, 8, 28)]


def test_a_renewal_that_cannot_be_is_refused_whole(act: Act) -> None:
    first, second = factories.subject(act, "P-1", D(2027, 3, 20)), factories.subject(act, "P-2", D(2027, 3, 20))
    ids = [first.id, second.id]
    for order, why in (
        (renewed(number=" "), "number of the paper"),
        (renewed(valid_from=D(2027, 5, 1), valid_until=D(2027, 4, 1)), "before the first"),
        (renewed(valid_until=D(2085, 1, 1)), "outside the years"),
        (Order(BatchAct.renew), "number of the paper"),
    ):
        with pytest.raises(Refused, match=why):
            foresee(act, order, ids)
    ahead = foresee(act, renewed(valid_until=D(2028, 1, 1), met_on=D(2027, 3, 2)), ids)
    assert set(left(ahead).values()) == {Left.day_ahead}
    page = SentFile("scan.pdf", b"<html>")
    order = renewed(valid_until=D(2028, 1, 1), file=page)
    seen = foresee(act, renewed(valid_until=D(2028, 1, 1)), ids)
    before = rows(act)
    with pytest.raises(Refused, match="file"), act.session.begin_nested():
        apply(act, order, ids, seen.plan.mark, seen.looked)
    assert rows(act) == before
    with pytest.raises(Refused, match="one batch takes 200 at most"):
        foresee(act, order, list(range(201)))
