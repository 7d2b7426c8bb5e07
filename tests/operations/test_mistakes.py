"""Entered in error, for a whole import: what is taken back, what is left, and the right file brought afterwards."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text

from app.domain.errors import Refused
from app.imports.register import Imported, Options, import_register, read_register
from app.models import AuditEvent
from app.operations import batches, documents, filings, mistakes, obligations, people, register, releases
from app.operations.kinds import KindText, change_kind
from app.operations.mistake_plan import Plan
from app.trail.act import Act, member_actor
from tests import factories
from tests.factories import Acme
from tests.ledger.conftest import Watch

BEGIN = "2027-03-02T11:00"  # Of the default due date, 31 March, the alert 30 days before has come.


@pytest.fixture
def watch(acme: Acme) -> Watch:
    """Ana, an officer, gets an e-mail 30 and 7 days before; a second site, and a day later than everything else."""
    watch = Watch(acme).at(BEGIN)

    def furnish(act: Act) -> None:
        acme.members["ana"] = people.add_member(act, "ana@acme.example", "officer", name="Ana")
        acme.members["berta"] = people.add_member(act, "berta@acme.example", "staff", name="Berta")
        people.add_site(act, "Yard", "Europe/Madrid")
        factories.rule(act, thresholds=("30d", "7d"), to=("role:officer",), channels=("email",))

    watch.do(furnish)
    return watch


def bring(watch: Watch, lines: str, header: str = "reference,due_on,site", **options: Any) -> Imported:
    asked = Options(**{"site": "Madrid", **options})
    found = read_register(f"{header}\n{lines}\n".encode(), "register.csv", asked)
    imported: Imported = watch.do(lambda act: import_register(act, found, asked))
    return imported


def run_of(imported: Imported) -> int:
    assert imported.import_run_id is not None
    return imported.import_run_id


def take_back(watch: Watch, imported: Imported, note: str = "The wrong file.") -> Plan:
    """Enter the import in error as Ana: what is done was planned, and right after a scan nothing is owed."""
    planned: Plan = watch.do(lambda act: mistakes.preview_mistake(act, run_of(imported)))
    actor = member_actor(watch.acme.members["ana"])
    plan: Plan = watch.do(lambda act: mistakes.enter_in_error(act.by(actor), run_of(imported), note))
    assert plan == planned
    checked(watch)
    return plan


def checked(watch: Watch) -> None:
    watch.scan()
    watch.deliver()
    assert watch.owed().count == 0


def taken(plan: Plan) -> dict[str, int]:
    return {name: count for name, count in plan.counts.items() if count}


def states(watch: Watch) -> dict[str, str]:
    return {str(row[0]): row[1] for row in watch.rows("select reference, status from subject order by 1")}


def dates(watch: Watch, reference: str) -> dict[str, str]:
    """The due dates of an entry: open, or how they were closed."""
    sql = """select due_on::text, coalesce(outcome, 'open') from obligation o join subject s on s.id = o.subject_id
             where s.reference = :reference order by due_on"""
    return {row[0]: row[1] for row in watch.rows(sql, reference=reference)}


def facts(watch: Watch, columns: str) -> list[tuple[Any, ...]]:
    """Columns of all entries, by reference."""
    return watch.rows(f"select {columns} from subject order by reference")


def on_entry(watch: Watch, reference: str, deed: Callable[[Act, Any], object]) -> None:
    watch.do(lambda act: deed(act, register.find_subject(act, reference)))


def deadline(act: Act, subject: Any, deed: Callable[..., object], *given: Any) -> None:
    deed(act, obligations.find_obligation(act, subject).id, *given)


def happened(watch: Watch, of: str) -> dict[str, int]:
    """The events that name an import under this word."""
    sql = "select type, count(*) from audit_event where jsonb_exists(detail, :of) group by 1 order by 1"
    return {row[0]: row[1] for row in watch.rows(sql, of=of)}


def test_drafts_that_nobody_released_are_archived_and_their_dates_closed(watch: Watch) -> None:
    imported = bring(watch, "A-1,2027-03-31,\nA-2,2027-09-30,Yard\nA-3,n/a,", start="draft")
    assert taken(take_back(watch, imported)) == {"archived": 3, "closed": 2}
    assert states(watch) == {"A-1": "archived", "A-2": "archived", "A-3": "archived"}
    assert dates(watch, "A-1") == {"2027-03-31": "entered_in_error"}
    closed = watch.rows("select distinct closed_by, reason, note, met_on from obligation")
    assert closed == [(watch.acme.members["ana"], "entered_in_error", "The wrong file.", None)]
    assert watch.rows("select in_error_at is not null, in_error_by, in_error_note from import_run") == [
        (True, member_actor(watch.acme.members["ana"]), "The wrong file.")
    ]
    assert happened(watch, "import_in_error") == {"obligation_closed": 2, "subject_archived": 3}
    assert watch.rows("select count(*) from notification_ledger") == [(0,)]


def test_each_change_leaves_its_event_and_every_event_is_sealed_later(watch: Watch) -> None:
    imported = bring(watch, "A-1,2027-03-31,")
    watch.do(lambda act: mistakes.enter_in_error(act, run_of(imported), "Wrong year."))

    def read(act: Act) -> None:
        events = act.session.query(AuditEvent).order_by(AuditEvent.id).all()
        closed, archived, whole = events[-3:]
        assert (closed.type, closed.detail["reason"], closed.detail["note"]) == (
            "obligation_closed", "entered_in_error", "Wrong year.",
        )  # fmt: skip
        assert (archived.type, archived.detail["old"], archived.detail["new"], archived.detail["reason"]) == (
            "subject_archived", "watched", "archived", "entered_in_error",
        )  # fmt: skip
        assert (whole.type, whole.detail["counts"]["archived"], whole.detail["note"]) == (
            "import_entered_in_error", 1, "Wrong year.",
        )  # fmt: skip
        unsealed = set(act.session.execute(text("select event_id from audit_unsealed")).scalars())
        assert {closed.id, archived.id, whole.id} <= unsealed

    watch.do(read)


def test_after_a_release_what_was_not_told_is_withdrawn(watch: Watch) -> None:
    imported = bring(watch, "A-1,2027-03-31,", start="draft")
    watch.do(lambda act: releases.release_drafts(act, run_of(imported)))
    watch.scan()
    assert watch.rows("select state from delivery") == [("pending",)]
    assert taken(take_back(watch, imported)) == {"archived": 1, "closed": 1}
    assert watch.rows("select standing, reason from notification_ledger") == [("withdrawn", "closed")]
    assert watch.rows("select state, reason from delivery") == [("cancelled", "closed")]


def test_it_is_done_once_and_only_for_an_import_of_entries(watch: Watch) -> None:
    imported = bring(watch, "A-1,2027-03-31,")
    take_back(watch, imported)
    with pytest.raises(Refused, match="entered in error already"):
        watch.do(lambda act: mistakes.enter_in_error(act, run_of(imported)))
    with pytest.raises(Refused, match="There is no import 987"):
        watch.do(lambda act: mistakes.preview_mistake(act, 987))
    with pytest.raises(Refused, match="entered in error: what is left"):
        watch.do(lambda act: releases.release_drafts(act, run_of(imported)))
    insert = """insert into import_run (org_id, at, actor, file_name, file_sha256, mapping, counts, rows, contents)
                values (:org, :now, :actor, 'p.csv', 'x', '{}', '{}', '[]', 'people') returning id"""
    people_file = watch.do(lambda act: act.run(insert).scalar_one())
    with pytest.raises(Refused, match="Only an import of entries"):
        watch.do(lambda act: mistakes.enter_in_error(act, people_file))


def test_what_was_changed_is_put_back_and_a_date_moves_back(watch: Watch) -> None:
    """An owner by post comes back, too; what Onus keeps beside an entry stays."""

    def furnish(act: Act) -> None:
        post = people.add_post(act, "Keeper")
        given = {"kind": "permit", "notes": "Old.", "recurrence": "1y", "owner_post_id": post}
        factories.subject(act, "P-1", dt.date(2027, 3, 31), title="Old title", **given)
        factories.subject(act, "P-2", None)
        factories.subject(act, "P-3", dt.date(2027, 5, 31), title="Same")

    watch.do(furnish)
    columns = "reference, title, kind_id, owner_member_id, owner_post_id, part_of_id, recurrence, legal_basis, notes"
    before = facts(watch, columns)
    checked(watch)
    header = "reference,due_on,title,kind,owner,recurrence,legal_basis,notes,part_of,fee"
    lines = (
        "p-1,2027-03-30,New title,licence,berta@acme.example,6m,Law 3,New.,P-2,7\n"
        "P-2,2027-06-30,,,,,,,,8\nP-3,2027-05-31,Same,,,,,,,"
    )
    imported = bring(watch, lines, header)
    assert {name: count for name, count in imported.counts.items() if count} == {"changed": 2, "unchanged": 1}
    checked(watch)
    assert taken(take_back(watch, imported)) == {"closed": 1, "moved_back": 1, "put_back": 2}
    assert facts(watch, columns) == before
    assert facts(watch, "status, extra ->> 'fee'") == [("watched", "7"), ("watched", None), ("watched", None)]
    assert dates(watch, "P-1") == {"2027-03-31": "open"}
    assert dates(watch, "P-2") == {"2027-06-30": "entered_in_error"}
    assert happened(watch, "import_in_error") == {"date_moved": 1, "obligation_closed": 1, "subject_changed": 1}
    ledger = "select due_on::text, standing, reason from notification_ledger order by 1"
    assert watch.rows(ledger) == [("2027-03-30", "withdrawn", "moved"), ("2027-03-31", "open", None)]


WORK: list[tuple[str, Callable[[Act, Any], object]]] = [
    ("retitled", lambda act, one: register.retitle(act, one, "Mended")),
    ("assigned", lambda act, one: register.assign(act, one, member_id=_berta(act))),
    ("held", lambda act, one: register.assign_holder(act, one, _berta(act))),
    ("snoozed", lambda act, one: register.snooze(act, one, dt.date(2027, 3, 9), "planned")),
    ("archived", lambda act, one: register.archive(act, one, "gone")),
    ("out of service", register.take_out_of_service),
    ("moved to a site", lambda act, one: register.move_to_site(act, one, factories.site(act, "Yard"))),
    ("date moved", lambda act, one: deadline(act, one, obligations.move, dt.date(2027, 4, 1), "agreed")),
    ("closed", lambda act, one: deadline(act, one, obligations.close, "met")),
    ("filed", lambda act, one: deadline(act, one, filings.file, None, "R-1", "yes")),
    ("given a paper", lambda act, one: documents.add_paper(act, one, documents.Paper("C-1"))),
    ("renewed", lambda act, one: deadline(act, one, documents.renew, documents.Paper("C-1"))),
    ("one more date", lambda act, one: obligations.add_obligation(act, one, dt.date(2027, 8, 1))),
]


def _berta(act: Act) -> int:
    return int(act.run("select id from member where org_id = :org and email = 'berta@acme.example'").scalar_one())


@pytest.mark.parametrize(("name", "work"), WORK, ids=[name for name, _ in WORK])
def test_what_somebody_has_worked_on_is_left_alone(watch: Watch, name: str, work: Callable[[Act, Any], object]) -> None:
    watch.do(lambda act: factories.subject(act, "P-1", dt.date(2027, 4, 30), title="Old"))
    imported = bring(watch, "A-1,2027-03-31,New\nA-2,2027-03-31,New\nP-1,2027-05-31,New", "reference,due_on,title")
    for reference in ("A-1", "P-1"):
        on_entry(watch, reference, work)
    columns = "title, status, site_id, owner_member_id, holder_id, snoozed_until"
    before = [facts(watch, columns)[n] for n in (0, 2)], dates(watch, "A-1"), dates(watch, "P-1")
    plan = take_back(watch, imported)
    assert taken(plan) == {"archived": 1, "closed": 1, "left": 2}
    assert ([facts(watch, columns)[n] for n in (0, 2)], dates(watch, "A-1"), dates(watch, "P-1")) == before
    assert states(watch)["A-2"] == "archived"
    assert happened(watch, "import_in_error")["left_by_mistaken_import"] == 2
    assert all(one.event_id for one in plan.left)


def test_a_later_import_is_work_unless_it_was_taken_back_itself(watch: Watch) -> None:
    first = bring(watch, "A-1,2027-06-30,One\nA-2,2027-06-30,Two", "reference,due_on,title")
    second = bring(watch, "A-1,2027-07-31,Other\nA-2,2027-06-30,Two", "reference,due_on,title")
    planned: Plan = watch.do(lambda act: mistakes.preview_mistake(act, run_of(first)))
    assert taken(planned) == {"archived": 1, "closed": 1, "left": 1}
    assert taken(take_back(watch, second)) == {"moved_back": 1, "put_back": 1}
    assert taken(take_back(watch, first)) == {"archived": 2, "closed": 2}


def test_a_release_alerts_and_answers_are_no_work(watch: Watch) -> None:
    imported = bring(watch, "A-1,2027-03-31,", start="draft")
    watch.do(lambda act: releases.release_drafts(act, run_of(imported), "now"))
    watch.do(lambda act: factories.rule(act, "App", ("30d",), ("member:ana@acme.example",), ("in_app",)))
    checked(watch)
    assert taken(take_back(watch, imported)) == {"archived": 1, "closed": 1}


def test_what_cannot_be_put_back_is_left_and_named(watch: Watch) -> None:
    """A kind that is called otherwise now; a day on which another deadline stands, by a hand that left no event."""

    def furnish(act: Act) -> None:
        factories.subject(act, "P-1", dt.date(2027, 5, 31), kind="permit", title="Same")
        factories.subject(act, "P-2", dt.date(2027, 5, 31), title="Same")

    watch.do(furnish)
    imported = bring(watch, "P-1,2027-05-31,licence\nP-2,2027-06-30,", "reference,due_on,kind")
    watch.do(lambda act: change_kind(act, factories.kind(act, "permit"), KindText("certificate")))
    on_entry(watch, "P-2", lambda act, one: factories.obligation(act, one, dt.date(2027, 5, 31)))
    plan = take_back(watch, imported)
    assert taken(plan) == {"left": 2}
    assert [one.kept for one in plan.left] == [["kind"], ["due_on"]]
    assert dates(watch, "P-2") == {"2027-05-31": "open", "2027-06-30": "open"}


def test_in_pieces_it_is_the_same(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "AT_ONCE", 2)
    lines = "".join(f"P-{number},2027-05-31,Old\n" for number in range(5)).rstrip()
    first = bring(watch, lines, "reference,due_on,title")
    second = bring(watch, lines.replace("Old", "New").replace("05-31", "06-30"), "reference,due_on,title")
    assert taken(take_back(watch, second)) == {"moved_back": 5, "put_back": 5}
    assert set(facts(watch, "title, status")) == {("Old", "watched")}
    assert taken(take_back(watch, first)) == {"archived": 5, "closed": 5}
    assert {name: n for name, n in bring(watch, lines, "reference,due_on,title").counts.items() if n} == {"changed": 5}
    checked(watch)
    assert set(facts(watch, "title, status")) == {("Old", "watched")}


# What the right file does.


@pytest.mark.parametrize("start", ["now", "next", "draft"])
@pytest.mark.parametrize("due_on", ["2027-03-31", "2027-03-25"])
def test_the_right_file_brings_the_entries_back(watch: Watch, start: str, due_on: str) -> None:
    header = "reference,due_on,title,notes,owner,fee"
    wrong = bring(watch, "A-1,2027-03-31,Wrong,Wrong.,berta@acme.example,7\nA-2,2027-03-31,Not ours,,,", header)
    checked(watch)
    take_back(watch, wrong)
    right = bring(watch, f"a-1,{due_on},Right,,,", "reference,due_on,title,notes,owner,place", start=start)
    [row] = right.rows
    assert (row.outcome, row.reason) == ("changed", "brought back: it was archived as entered in error")
    watched = "draft" if start == "draft" else "watched"
    assert facts(watch, "reference, title, notes, owner_member_id, status, extra") == [
        ("A-1", "Right", "", None, watched, {}), ("A-2", "Not ours", "", None, "archived", {}),
    ]  # fmt: skip
    same = due_on == "2027-03-31"
    assert dates(watch, "A-1") == ({due_on: "open"} if same else {due_on: "open", "2027-03-31": "entered_in_error"})
    made = {"subject_restored": 1, "subject_changed": 1, "obligation_reopened" if same else "obligation_opened": 1}
    sql = "select type, count(*) from audit_event where detail ->> 'import_run_id' = :run and subject_id > 0 group by 1"
    assert {row[0]: row[1] for row in watch.rows(sql, run=str(run_of(right)))} == made
    checked(watch)
    raised = {"now": [("open", None)], "next": [("superseded", "start")], "draft": [("withdrawn", "closed")] * same}
    sql = """select l.standing, l.reason from notification_ledger l join subject s on s.id = l.subject_id
             where s.reference = 'A-1' and l.due_on = :day"""
    assert watch.rows(sql, day=due_on) == raised[start]
    assert watch.rows("select count(*) from notification_ledger where standing = 'open'") == [(int(start == "now"),)]


@pytest.mark.parametrize(("start", "standing"), [("now", "open"), ("next", "superseded")])
def test_drafts_that_came_back_are_released_with_the_import(watch: Watch, start: str, standing: str) -> None:
    """Also where their alerts had been raised, and were told to nobody, before the import was taken back."""
    wrong = bring(watch, "A-1,2027-03-31,")
    watch.scan()
    take_back(watch, wrong)
    right = bring(watch, "A-1,2027-03-31,", start="draft")
    assert len(watch.do(lambda act: releases.drafts_of(act, run_of(right)))) == 1
    preview = watch.do(lambda act: releases.preview_release(act, run_of(right)))
    assert [(alert.threshold, alert.people) for alert in preview.alerts] == [("30d", ["Ana"])]
    watch.do(lambda act: releases.release_drafts(act, run_of(right), start))
    checked(watch)
    assert watch.rows("select standing from notification_ledger") == [(standing,)]


def test_one_draft_that_came_back_is_released_with_the_next_alert(watch: Watch) -> None:
    wrong = bring(watch, "A-1,2027-03-31,")
    watch.scan()
    take_back(watch, wrong)
    bring(watch, "A-1,2027-03-31,", start="draft")
    on_entry(watch, "A-1", lambda act, one: register.release(act, one, "next"))
    checked(watch)
    assert watch.rows("select standing, reason from notification_ledger") == [("superseded", "start")]
    watch.at("2027-03-24T11:00")
    checked(watch)
    sql = "select threshold, standing from notification_ledger order by 1"
    assert watch.rows(sql) == [("30d", "superseded"), ("7d", "open")]


def test_a_date_that_was_opened_on_an_entry_is_closed_and_its_alert_withdrawn(watch: Watch) -> None:
    """In the same act, before anything looks: also where nothing else of the entry was changed."""
    watch.do(lambda act: factories.subject(act, "P-1", None))
    imported = bring(watch, "P-1,2027-03-31,")
    watch.scan()
    plan: Plan = watch.do(lambda act: mistakes.enter_in_error(act, run_of(imported)))
    assert taken(plan) == {"closed": 1, "put_back": 1}
    assert watch.rows("select standing, reason from notification_ledger") == [("withdrawn", "closed")]
    assert watch.rows("select state, reason from delivery") == [("cancelled", "closed")]
    assert states(watch) == {"P-1": "watched"}
    checked(watch)


def test_an_alert_that_waits_for_a_site_without_a_day_is_held_back_as_well(watch: Watch) -> None:
    """A time zone that cannot be used withdraws nothing; the next alert is the first all the same."""
    wrong = bring(watch, "A-1,2027-03-31,")
    watch.scan()
    watch.do(lambda act: act.run("update site set timezone = 'Nowhere/Land' where name = 'Madrid'"))
    watch.do(lambda act: mistakes.enter_in_error(act, run_of(wrong)))
    assert watch.rows("select l.standing, d.state from notification_ledger l, delivery d") == [("open", "pending")]
    watch.do(lambda act: act.run("update site set timezone = 'Europe/Madrid' where name = 'Madrid'"))
    bring(watch, "A-1,2027-03-31,", start="next")
    watch.deliver()
    assert watch.rows("select standing, reason from notification_ledger") == [("superseded", "start")]
    assert watch.rows("select state, reason from delivery") == [("cancelled", "start")]
    checked(watch)


def test_the_same_file_again_brings_back_what_it_brought_and_then_changes_nothing(watch: Watch) -> None:
    lines = "A-1,2027-03-31,\nA-2,n/a,\nÑ-3,2027-05-31,Yard\nA-1,2027-05-31,Yard"
    take_back(watch, bring(watch, lines))
    again = bring(watch, lines)
    assert {name: count for name, count in again.counts.items() if count} == {"changed": 3, "no_expiry": 1}
    assert set(states(watch).values()) == {"watched"}
    checked(watch)
    third = bring(watch, lines)
    assert {name: count for name, count in third.counts.items() if count} == {"unchanged": 3, "no_expiry": 1}
    assert taken(take_back(watch, again)) == {"archived": 4, "closed": 3}
    assert set(states(watch).values()) == {"archived"}
    assert bring(watch, lines.lower().replace("yard", "YARD")).counts["changed"] == 3
    checked(watch)


def test_what_was_archived_for_another_reason_stays_so(watch: Watch) -> None:
    """The contract of an import is as ever: a date that was closed otherwise is unchanged."""
    imported = bring(watch, "A-1,2027-03-31,\nA-2,2027-03-31,")
    on_entry(watch, "A-1", lambda act, one: register.archive(act, one, "gone"))
    take_back(watch, imported)
    on_entry(watch, "A-2", register.restore)
    on_entry(watch, "A-2", lambda act, one: register.archive(act, one, "sold"))
    again = bring(watch, "A-1,2027-03-31,\nA-2,2027-03-31,")
    assert again.counts["unchanged"] == 2
    assert set(states(watch).values()) == {"archived"}
    checked(watch)


def test_one_that_was_archived_by_hand_as_entered_in_error_comes_back_without_what_was_beside(watch: Watch) -> None:
    def furnish(act: Act) -> None:
        given = {"owner_post_id": people.add_post(act, "Keeper"), "recurrence": "1y", "recurrence_basis": "done"}
        one = factories.subject(act, "P-1", dt.date(2027, 5, 31), **given, snoozed_until=dt.date(2027, 5, 1))
        obligation = obligations.find_obligation(act, one)
        obligations.close(act, obligation.id, "entered_in_error", reason="entered_in_error")
        obligations.add_obligation(act, one, dt.date(2027, 6, 30))
        register.archive(act, one, "entered_in_error")

    watch.do(furnish)
    conflict = bring(watch, "P-1,2027-05-31,")
    assert [row.reason for row in conflict.rows] == [
        "the entry had the due date 2027-05-31 before, it is closed; open is 2027-06-30"
    ]
    moved = bring(watch, "P-1,2027-07-31,")
    assert moved.counts["changed"] == 1
    columns = "owner_post_id, recurrence, recurrence_basis, due_from, snoozed_until, status"
    assert facts(watch, columns) == [(None, None, None, None, None, "watched")]
    assert dates(watch, "P-1") == {"2027-05-31": "entered_in_error", "2027-07-31": "open"}
    [(old,)] = watch.rows("select detail -> 'old' from audit_event where type = 'subject_changed'")
    assert (old["snoozed_until"], old["recurrence_basis"]) == ("2027-05-01", "done")
    assert taken(take_back(watch, moved)) == {"archived": 1, "moved_back": 1}


def test_wholes_and_parts_may_change_places_in_the_right_file(watch: Watch) -> None:
    header = "reference,due_on,part_of"
    take_back(watch, bring(watch, "A-1,n/a,A-2\nA-2,n/a,", header))
    right = bring(watch, "A-1,n/a,\nA-2,n/a,A-1\nA-3,n/a,A-2", header)
    assert right.counts["rejected"] == 0
    found = "select s.reference, w.reference from subject s left join subject w on w.id = s.part_of_id order by 1"
    assert watch.rows(found) == [("A-1", None), ("A-2", "A-1"), ("A-3", "A-2")]


def test_a_dry_run_says_what_comes_back_and_writes_nothing(watch: Watch) -> None:
    take_back(watch, bring(watch, "A-1,2027-03-31,"))
    before = watch.rows("select count(*) from audit_event"), states(watch), dates(watch, "A-1")
    dry = bring(watch, "A-1,2027-03-31,", dry_run=True)
    assert [(row.outcome, row.reason) for row in dry.rows] == [
        ("changed", "brought back: it was archived as entered in error")
    ]
    assert (watch.rows("select count(*) from audit_event"), states(watch), dates(watch, "A-1")) == before


def test_a_series_goes_with_the_import_and_begins_anew_with_the_right_file(watch: Watch) -> None:
    """What the watch has opened is nobody's work; and a date that comes again is there, whoever closed it in error."""
    weekly = KindText("other", recurrence="1w", recurrence_basis="calendar")
    watch.do(lambda act: change_kind(act, factories.kind(act), weekly))
    imported = bring(watch, "A-1,2027-03-10,")
    checked(watch)
    opened = {"2027-03-10": "open", "2027-03-17": "open", "2027-03-24": "open", "2027-03-31": "open"}
    assert dates(watch, "A-1") == opened
    assert taken(take_back(watch, imported)) == {"archived": 1, "closed": 4}
    assert set(dates(watch, "A-1").values()) == {"entered_in_error"}
    bring(watch, "A-1,2027-03-17,")
    checked(watch)
    assert dates(watch, "A-1") == opened | {"2027-03-10": "entered_in_error"}
    told = watch.rows("select due_on::text, count(*) from notification_ledger where threshold = '30d' group by 1")
    assert dict(told) == dict.fromkeys(opened, 1)  # Told once, also where it was opened twice.
