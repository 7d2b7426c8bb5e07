"""Two or more people who do the same at the same moment, with real commits: exactly one of them does it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from flask import Flask
from sqlalchemy import func, select

from app.domain.errors import Refused
from app.imports.people import Options, import_people, read_people
from app.ledger import start
from app.ledger.scan import scan
from app.models import Account, AuditEvent, Obligation
from app.operations import attachments, documents, obligations, people, register, rules
from app.operations.rule_contents import RuleText
from app.trail.act import Act
from tests import factories
from tests.factories import Acme
from tests.operations.story import march
from tests.people import OFFICER

pytestmark = pytest.mark.real_commits


def at_once(app: Flask, deeds: list[Callable[[], bool]]) -> list[bool]:
    """Do all of it at the same moment, each in a transaction of its own."""
    barrier, results = threading.Barrier(len(deeds)), []

    def run(deed: Callable[[], bool]) -> None:
        with app.app_context():
            barrier.wait()
            results.append(deed())

    threads = [threading.Thread(target=run, args=(deed,)) for deed in deeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(results)


def unless_refused(acme: Acme, deed: Callable[[Act], bool]) -> Callable[[], bool]:
    def run() -> bool:
        try:
            with acme.acting() as act:
                return deed(act)
        except Refused:
            return False

    return run


def test_h12_of_many_who_complete_it_at_once_exactly_one_does(real_app: Flask) -> None:
    acme = factories.acme()
    with acme.acting() as act:
        subject = factories.subject(act, "I-1", march(5), recurrence="1w")
        due_id = obligations.find_obligation(act, subject).id

    def complete() -> bool:
        with acme.acting() as act:
            return obligations.close(act, due_id, "met")

    assert at_once(real_app, [complete] * 6) == [False] * 5 + [True]
    with acme.acting() as act:
        rows = act.session.scalars(select(Obligation).order_by(Obligation.due_on))
        assert [(row.due_on, row.outcome) for row in rows] == [(march(5), "met"), (march(12), None)]
        types = act.session.scalars(select(AuditEvent.type).where(AuditEvent.subject_id == subject.id)).all()
        assert sorted(types) == ["obligation_closed", "obligation_opened"]


def test_of_two_deadlines_moved_onto_one_day_at_once_exactly_one_moves(real_app: Flask) -> None:
    acme = factories.acme()
    with acme.acting() as act:
        subject = factories.subject(act, "P-1", march(20))
        ids = [obligations.find_obligation(act, subject).id, obligations.open_obligation(act, subject, march(21)).id]

    moves = [unless_refused(acme, lambda act, one=one: obligations.move(act, one, march(25), "agreed")) for one in ids]
    assert at_once(real_app, moves) == [False, True]


def test_of_two_entries_moved_to_where_one_reference_fits_exactly_one_moves(real_app: Flask) -> None:
    acme = factories.acme()
    with acme.acting() as act:
        cork = people.add_site(act, "Cork", "Europe/Dublin")
        people.add_site(act, "Aveiro", "Europe/Lisbon")
        for site in ("Madrid", "Aveiro"):
            factories.subject(act, "P-1", at=site)

    def moving(site: str) -> Callable[[Act], bool]:
        return lambda act: register.move_to_site(act, register.find_subject(act, "P-1", site), cork)

    moves = [unless_refused(acme, moving(site)) for site in ("Madrid", "Aveiro")]
    assert at_once(real_app, moves) == [False, True]


def test_an_entry_that_is_snoozed_by_many_at_once_is_snoozed_once(real_app: Flask) -> None:
    acme = factories.acme()
    with acme.acting() as act:
        factories.subject(act, "P-1")

    def snooze(act: Act) -> bool:
        return register.snooze(act, register.find_subject(act, "P-1"), march(10), "waiting")

    assert at_once(real_app, [unless_refused(acme, snooze)] * 6) == [False] * 5 + [True]


def test_a_member_who_is_added_by_two_at_once_is_there_once(real_app: Flask) -> None:
    acme = factories.acme()
    adding = unless_refused(acme, lambda act: people.add_member(act, OFFICER, "officer") > 0)
    assert at_once(real_app, [adding] * 4) == [False] * 3 + [True]
    with acme.acting() as act:
        assert act.session.scalar(select(func.count()).select_from(Account)) == 1


def test_p4_an_entry_made_while_a_rule_is_widened_with_start_next_is_told(
    real_app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rule had its threshold before, and the entry is there by another's act: nothing is held back of it."""
    acme = factories.acme()
    with acme.acting() as act:
        people.add_member(act, OFFICER, "officer")
        rules.apply(act, [RuleText("Permits", thresholds=("30d",), channels=("in_app",), to=("role:officer",))])
    asked = start.before_change

    def enter() -> bool:
        with acme.acting() as act:
            factories.subject(act, "P-1", march(20))
        return True

    def before_change(act: Act, rule_id: int) -> start.Before:
        found = asked(act, rule_id)
        assert at_once(real_app, [enter]) == [True]
        return found

    monkeypatch.setattr(start, "before_change", before_change)
    wider = RuleText("Permits", thresholds=("90d", "30d"), channels=("in_app",), to=("role:officer",), start="next")
    with acme.acting() as act:
        rules.apply(act, [wider])
    with acme.watching() as act:
        scan(act)
        ledger = act.run("select threshold, standing, reason from notification_ledger order by 1").all()
    assert [tuple(row) for row in ledger] == [("30d", "open", None), ("90d", "superseded", "sharper")]


def test_of_two_files_of_the_same_people_at_once_the_second_finds_them_there(real_app: Flask) -> None:
    acme = factories.acme()
    lines = b"name,number,email,site,post\nIda,7,ida@x.example,Madrid,Cook\nIvo,8,,Madrid,Cook\n"

    def bring() -> bool:
        with acme.acting() as act:
            return import_people(act, read_people(lines, "people.csv", Options()), Options()).counts["new"] == 2

    assert at_once(real_app, [bring] * 3) == [False, False, True]
    with acme.acting() as act:
        counted = act.run("select count(*), count(distinct number) from member where org_id = :org").one()
        assert counted == (2, 2)
        assert act.run("select count(*) from site_post where org_id = :org").scalar_one() == 2


def test_of_a_file_and_a_person_who_is_added_at_once_one_address_is_one_member(real_app: Flask) -> None:
    acme = factories.acme()
    lines = b"name,email\nIda,ida@x.example\n"
    file = unless_refused(
        acme, lambda act: bool(import_people(act, read_people(lines, "people.csv", Options()), Options()).counts["new"])
    )
    adding = unless_refused(acme, lambda act: bool(people.add_member(act, "ida@x.example", "staff", "Ida")))
    assert any(at_once(real_app, [file, adding]))
    with acme.acting() as act:
        assert act.run("select count(*) from member where org_id = :org").scalar_one() == 1


def test_of_two_who_renew_at_once_one_does_and_there_is_one_paper(real_app: Flask) -> None:
    acme = factories.acme()
    with acme.acting() as act:
        subject = factories.subject(act, "P-1", march(5), recurrence="1w")
        due_id = obligations.find_obligation(act, subject).id
        documents.add_paper(act, subject, documents.Paper("C-0"))

    def renew(number: str) -> Callable[[], bool]:
        paper = documents.Paper(number, valid_until=march(20), file=attachments.SentFile("a.txt", number.encode()))
        return unless_refused(acme, lambda act: documents.renew(act, due_id, paper) is not None)

    def complete() -> bool:
        with acme.acting() as act:
            return obligations.close(act, due_id, "met")

    assert at_once(real_app, [renew(f"C-{number}") for number in range(1, 5)]) == [False] * 3 + [True]
    assert at_once(real_app, [complete, renew("C-9")]) == [False, False]
    with acme.acting() as act:
        rows = act.session.scalars(select(Obligation).order_by(Obligation.due_on))
        assert [(row.due_on, row.outcome) for row in rows] == [(march(5), "met"), (march(20), None)]
        assert act.run("select count(*), count(replaces_id) from document").one() == (2, 1)
        assert act.run("select count(*) from attachment").scalar_one() == 1


def test_of_one_who_closes_and_one_who_renews_at_once_one_does(real_app: Flask) -> None:
    acme = factories.acme()
    with acme.acting() as act:
        subject = factories.subject(act, "P-1", march(5), recurrence="1w")
        due_id = obligations.find_obligation(act, subject).id
    paper = documents.Paper("C-1", valid_until=march(20))
    deeds: list[Callable[[Act], bool]] = [
        lambda act: documents.renew(act, due_id, paper) is not None,
        lambda act: obligations.close(act, due_id, "met"),
    ]
    assert at_once(real_app, [unless_refused(acme, deed) for deed in deeds]) == [False, True]
    with acme.acting() as act:
        assert act.run("select count(*) from obligation where closed_at is null").scalar_one() == 1


def test_one_paper_is_replaced_once_and_added_once_by_many_at_once(real_app: Flask) -> None:
    acme = factories.acme()
    with acme.acting() as act:
        subject_id = factories.subject(act, "P-1").id
        old = documents.add_paper(act, register.get_subject(act, subject_id), documents.Paper("A"))

    def add(number: str, replaces_id: int | None) -> Callable[[], bool]:
        def deed(act: Act) -> bool:
            subject = register.get_subject(act, subject_id)
            return documents.add_paper(act, subject, documents.Paper(number), replaces_id) > 0

        return unless_refused(acme, deed)

    assert at_once(real_app, [add(f"B{number}", old) for number in range(4)]) == [False] * 3 + [True]
    assert at_once(real_app, [add("C", None)] * 4) == [False] * 3 + [True]
