"""The hand-over on disk, and two at once: real commits, real sessions (P3)."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from dataclasses import replace

import pytest
from flask import Flask
from psycopg import sql
from sqlalchemy import text

from app.database import SCHEDULER, NotDurable, durable_transaction, transaction
from app.domain.delivery import Outcome, Reply
from app.domain.errors import Refused
from app.extensions import db
from app.ledger.align import Delivered
from app.ledger.planning import KEY
from app.ledger.scan import scan
from app.operations import doubts, people
from app.scheduler.sender import Sender
from tests import factories
from tests.factories import Acme
from tests.mail.conftest import BEGIN, permit
from tests.mail.test_late import TAKEN, Scripted
from tests.scheduler.conftest import Database, until

pytestmark = pytest.mark.real_commits

# A commit that is answered with a warning, as it is when the wait for a synchronous standby is cancelled.
WARNING_AT_COMMIT = """
create function warn() returns trigger language plpgsql
as $$ begin raise warning 'canceling wait for synchronous replication'; return null; end $$;
create constraint trigger warn after insert on mail_message deferrable initially deferred
for each row execute function warn()"""


@pytest.fixture
def office(real_app: Flask) -> Acme:
    """Forty alerts for Ana, one for Berta, claimed; nothing has been sent."""
    real_app.extensions["onus_settings"] = replace(
        real_app.extensions["onus_settings"], clock=BEGIN, mail_from="onus@acme.example", secret_key="a secret"
    )
    acme = factories.acme(now=BEGIN)
    with acme.acting() as act:
        for name in ("ana", "berta"):
            address = f"{name}@acme.example"
            acme.members[address] = people.add_member(act, address, "officer", name=name.title())
        factories.rule(act, "Ana", ("30d",), ("member:ana@acme.example",), ("email",))
        many = [permit(act, f"P-{n}") for n in range(40)]
        factories.rule(act, "Berta", ("30d",), ("member:berta@acme.example",), ("email",), subjects=[many[0].id])
    with acme.watching() as act:
        scan(act)
    return acme


def sender(app: Flask, channel: Scripted) -> Sender:
    return Sender(app.extensions["onus_settings"], channel, uuid.uuid4())


def states(database: Database) -> list[str]:
    return [state for (state,) in database.rows("select distinct state from delivery order by 1")]


def test_p3_the_hand_over_is_committed_synchronously_whatever_the_servers_default_is(
    real_app: Flask,
    office: Acme,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = sql.Identifier(database.value("select current_database()"))
    database.connection.execute(sql.SQL("alter database {} set synchronous_commit = off").format(name))
    db.engine.dispose()
    with transaction(None, SCHEDULER) as session:
        assert session.execute(text("show synchronous_commit")).scalar_one() == "off"
    seen: list[str] = []
    monkeypatch.setattr(
        "app.scheduler.sender.hand_over",
        lambda act, *_, **__: seen.append(act.session.execute(text("show synchronous_commit")).scalar_one()),
    )
    worker = sender(real_app, Scripted())
    worker.send_next(office.org)
    assert seen == ["on"]


def test_p3_a_commit_with_a_warning_sends_nothing(
    real_app: Flask,
    office: Acme,
    database: Database,
) -> None:
    database.rows(WARNING_AT_COMMIT)
    line = Scripted()
    worker = sender(real_app, line)
    assert worker.send_next(office.org) == Delivered()
    assert line.marked is None, "mark must raise, so that the line is cut without the dot"
    assert states(database) == ["pending"]
    assert database.rows("select distinct attempts from delivery") == [(0,)]


def test_a_durable_transaction_says_when_it_is_none(real_app: Flask, database: Database) -> None:
    acme = factories.acme(now=BEGIN)
    database.rows(WARNING_AT_COMMIT.replace("mail_message", "audit_event"))
    with pytest.raises(NotDurable, match="replication"), durable_transaction(acme.org, SCHEDULER) as session:
        session.execute(
            text("insert into audit_event (org_id, at, actor, type) values (:org, :now, 'x', 'x')"),
            {"org": acme.org, "now": BEGIN},
        )


def test_p3_no_transaction_is_open_while_the_mail_server_is_spoken_to(
    real_app: Flask,
    office: Acme,
    database: Database,
) -> None:
    """H25c, P5: idle in transaction is nobody, before the mark and after it."""
    seen: list[int] = []

    def look() -> None:
        seen.append(
            database.value(
                "select count(*) from pg_stat_activity "
                "where datname = current_database() and state like 'idle in transaction%%'"
            )
        )

    def answer() -> Reply:
        look()
        return TAKEN

    sender(real_app, Scripted(before_mark=look, after_mark=answer)).send_next(office.org)
    assert seen == [0, 0]


def test_h25_an_outcome_is_written_though_the_session_was_cut(
    real_app: Flask,
    office: Acme,
    database: Database,
) -> None:
    def cut() -> Reply:
        database.rows(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where datname = current_database() and pid <> pg_backend_pid()"
        )
        return TAKEN

    done = sender(real_app, Scripted(after_mark=cut)).send_next(office.org)
    assert done is not None
    assert done.delivered in (1, 40)
    assert states(database) == ["delivered", "pending"]


def both(app: Flask, deeds: list[Callable[[], object]]) -> list[object]:
    """Run them at once, each in a thread with a session of its own; what they returned or raised."""
    barrier, results = threading.Barrier(len(deeds)), [None] * len(deeds)

    def run(n: int, deed: Callable[[], object]) -> None:
        with app.app_context():
            barrier.wait()
            try:
                results[n] = deed()
            except Exception as fault:
                results[n] = fault

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(deeds)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_p3_workers_at_once_make_one_message_a_person(real_app: Flask, office: Acme, database: Database) -> None:
    """Leased by person: forty alerts are one message, however many workers come for them."""
    workers = [sender(real_app, Scripted()) for _ in range(4)]

    def work(worker: Sender) -> Callable[[], object]:
        return lambda: [worker.send_next(office.org) for _ in range(3)]

    faults = [one for one in both(real_app, [work(worker) for worker in workers]) if isinstance(one, Exception)]
    assert faults == []
    while workers[0].send_next(office.org):
        """Whoever found a person locked has left them to the next tick."""
    assert states(database) == ["delivered"]
    assert sum(len(worker.channel.marked or []) for worker in workers) == 2  # type: ignore[attr-defined]
    assert database.rows("select recipient_id, count(distinct lease_token) from delivery group by 1 order by 1") == [
        (office.members["ana@acme.example"], 1),
        (office.members["berta@acme.example"], 1),
    ]


def test_of_two_officers_at_once_one_decides(real_app: Flask, office: Acme, database: Database) -> None:
    line = Scripted(after_mark=lambda: Reply(Outcome.in_doubt, "dot", "the connection was lost"))
    worker = sender(real_app, line)
    while worker.send_next(office.org):
        """Everything is in doubt after this."""
    doubt = database.value("select max(id) from delivery where recipient_id = %s", office.members["ana@acme.example"])
    first = database.value("select min(id) from delivery where recipient_id = %s", office.members["ana@acme.example"])

    def decide(delivery_id: int, as_what: str) -> Callable[[], object]:
        def deed() -> object:
            with office.acting() as act:
                return len(doubts.resolve(act, delivery_id, as_what, seen="in_doubt"))

        return deed

    results = both(real_app, [decide(doubt, "resend"), decide(first, "resend"), decide(doubt, "failed")])
    assert sorted(map(str, results)).count("40") == 1
    assert sum(isinstance(one, Refused) for one in results) == 2
    assert database.value("select count(*) from delivery where resend_of is not null") in (0, 40)


def test_p3_a_judge_and_a_hand_over_do_not_pass_each_other(
    real_app: Flask,
    office: Acme,
    database: Database,
) -> None:
    """While a judge is at work nothing is handed over: it waits, and then sees what the judge has decided."""
    began: list[float] = []

    def judge_comes() -> None:
        began.append(1)

    with database.other_session() as judge:
        judge.execute("select pg_advisory_xact_lock(%s, %s)", (KEY, office.org))
        line = Scripted(before_mark=judge_comes)
        worker = sender(real_app, line)
        thread = threading.Thread(target=lambda: in_context(real_app, lambda: worker.send_next(office.org)))
        thread.start()
        until(lambda: database.waiting("advisory") == 1, "the wait")
        assert line.marked is None
        judge.rollback()
        thread.join()
    assert line.marked == [True]


def test_who_is_to_be_mailed_can_be_changed_while_a_scan_is_at_work(
    real_app: Flask, office: Acme, database: Database
) -> None:
    with database.judging(office):
        worker = sender(real_app, Scripted())
        thread = threading.Thread(target=lambda: in_context(real_app, lambda: worker.send_next(office.org)))
        thread.start()
        until(lambda: database.waiting("advisory") == 1, "the wait")
        database.rows("set lock_timeout = '2s'")
        database.rows("update member set name = 'Anna' where name = 'Ana'")
    thread.join()
    assert worker.channel.marked == [True]  # type: ignore[attr-defined]


def in_context(app: Flask, deed: Callable[[], object]) -> object:
    with app.app_context():
        return deed()
