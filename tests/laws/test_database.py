"""The one way into the database: transactions, tries after a deadlock, connections, and what a start insists on."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from flask import current_app
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from app import create_app
from app.config import Settings
from app.database import SCHEDULER, TRIES, WEB, Unreachable, act_for, connector, owner_engine, transaction, tried_again
from app.extensions import db
from app.logins import RUN_TIME
from app.models import Kind
from app.preflight import Unsound, refuse_unsound
from tests import factories
from tests.conftest import RUN, create_database, settings_of, url_of
from tests.factories import Acme

pytestmark = pytest.mark.real_commits

NUMBERS = itertools.count(1)
WITHIN = 30.0  # seconds; only a failing test waits so long


@pytest.fixture(scope="module")
def database(worker: str) -> Iterator[str]:
    """A database of real commits, with the application on it; each test makes its own organisations."""
    create_database(f"laws_{worker}")
    with create_app(settings_of(f"laws_{worker}")).app_context():
        yield f"laws_{worker}"
        db.session.remove()
        db.engine.dispose()


@pytest.fixture
def superuser(database: str) -> Iterator[psycopg.Connection[Any]]:
    """Another pair of eyes: it sees what is committed, of everybody."""
    with psycopg.connect(url_of(database, "postgres"), autocommit=True) as connection:
        yield connection
        connection.execute(f"alter database {connection.info.dbname} reset all".encode())
        db.engine.dispose()


@pytest.fixture
def ours(database: str) -> Acme:
    return factories.acme(f"ours-{next(NUMBERS)}")


@pytest.fixture
def theirs(database: str) -> Acme:
    return factories.acme(f"theirs-{next(NUMBERS)}")


def kinds(session: Session) -> list[tuple[int, str]]:
    return [tuple(row) for row in session.execute(text("select org_id, name from kind order by 2"))]


PERMITS = "select from kind where org_id = %s and name = 'permit'"


def test_a_transaction_commits_at_its_end_and_not_before(superuser: psycopg.Connection[Any], ours: Acme) -> None:
    with transaction(ours.org) as session:
        session.add(Kind(org_id=ours.org, name="permit"))
        session.flush()
        assert superuser.execute(PERMITS, (ours.org,)).rowcount == 0
    assert superuser.execute(PERMITS, (ours.org,)).rowcount == 1


@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt, SystemExit])
def test_any_exception_rolls_all_of_it_back(
    superuser: psycopg.Connection[Any], ours: Acme, fault: type[BaseException]
) -> None:
    def work() -> None:
        with transaction(ours.org) as session:
            session.add(Kind(org_id=ours.org, name="permit"))
            session.flush()
            raise fault

    with pytest.raises(fault):
        work()
    assert superuser.execute(PERMITS, (ours.org,)).rowcount == 0
    with transaction() as session:
        assert kinds(session) == [], "the organisation of a failed transaction was kept"


def test_a_transaction_refuses_to_nest_and_goes_on(ours: Acme, theirs: Acme) -> None:
    with transaction(ours.org) as session:
        for org in (ours.org, theirs.org, None):
            with pytest.raises(RuntimeError, match="open already"), transaction(org):
                pass
        assert kinds(session) == [(ours.org, "other")]


def test_what_was_read_stays_as_it_was_and_is_read_afresh_in_the_next_transaction(
    superuser: psycopg.Connection[Any], ours: Acme
) -> None:
    with transaction(ours.org) as session:
        kind = session.query(Kind).one()
    superuser.execute("update kind set what_to_do = 'renew' where org_id = %s", (ours.org,))
    assert (kind.name, kind.what_to_do) == ("other", "")
    with transaction(ours.org) as session:
        assert session.query(Kind).one().what_to_do == "renew"


@pytest.mark.parametrize("by_itself", [True, False])
def test_nothing_of_a_transaction_is_left_on_its_connection(ours: Acme, by_itself: bool) -> None:
    facts = "select pg_backend_pid(), current_user, current_setting('onus.org', true), current_setting(%s)"
    limit = "idle_in_transaction_session_timeout"
    with transaction(ours.org if by_itself else None, SCHEDULER) as session:
        if not by_itself:
            act_for(session, ours.org)
        inside = session.connection().exec_driver_sql(facts, (limit,)).one()
        assert inside[1:] == (SCHEDULER, str(ours.org), "1min")
    with contextlib.closing(db.engine.raw_connection()) as left:
        outside = left.driver_connection.execute(facts, (limit,)).fetchone()
    assert outside[:3] == (inside[0], RUN_TIME, "")
    assert outside[3] != "1min"


def test_a_stray_read_outside_a_transaction_acts_for_nobody(ours: Acme) -> None:
    with transaction(ours.org, SCHEDULER) as session:
        assert kinds(session) == [(ours.org, "other")]
    assert kinds(db.session()) == []
    assert db.session().scalar(text("select current_user")) == WEB
    db.session.remove()


def test_two_organisations_take_turns_on_one_connection(ours: Acme, theirs: Acme) -> None:
    db.engine.dispose()
    servers = set()
    for _ in range(50):
        for mine in (ours, theirs):
            with transaction(mine.org) as session:
                servers.add(session.execute(text("select pg_backend_pid()")).scalar_one())
                assert kinds(session) == [(mine.org, "other")]
    assert len(servers) == 1


def test_no_statement_is_prepared_on_the_server(database: str) -> None:
    """A pooler in transaction mode would run it on another connection."""
    with transaction() as session:
        for _ in range(12):
            session.execute(text("select name from organisation where id = :id"), {"id": 1})
        assert session.execute(text("select count(*) from pg_prepared_statements")).scalar_one() == 0


def test_a_connection_without_transactions_is_refused(database: str) -> None:
    with (
        db.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection,
        pytest.raises(RuntimeError, match="outside a transaction"),
    ):
        connection.execute(text("select 1"))


def test_an_open_transaction_cannot_change_its_organisation(ours: Acme, theirs: Acme) -> None:
    with transaction(ours.org) as session:
        with pytest.raises(RuntimeError, match="acts for an organisation already"):
            act_for(session, theirs.org)
        assert kinds(session) == [(ours.org, "other")]


def test_a_transaction_acts_for_the_organisation_that_it_made_and_for_no_other_after_it(
    ours: Acme, theirs: Acme
) -> None:
    with transaction() as session:
        act_for(session, ours.org)
        with pytest.raises(RuntimeError, match="acts for an organisation already"):
            act_for(session, theirs.org)


def test_a_savepoint_keeps_role_and_organisation(ours: Acme) -> None:
    role = text("select current_user")
    with transaction(ours.org, SCHEDULER) as session, session.begin_nested():
        assert (session.scalar(role), kinds(session)) == (SCHEDULER, [(ours.org, "other")])
    with transaction() as session:
        act_for(session, ours.org)
        with session.begin_nested():
            assert (session.scalar(role), kinds(session)) == (WEB, [(ours.org, "other")])


def test_the_engine_of_migrations_takes_no_role(database: str) -> None:
    with owner_engine(settings_of(database)).connect() as connection:
        assert connection.scalar(text("select current_user::text")) == "postgres"


def test_a_deadlock_is_tried_again_by_the_one_that_lost(superuser: psycopg.Connection[Any], ours: Acme) -> None:
    """Two threads take two rows, each the other way round, and both hold one before they go on; one of them loses.

    It lets the winner finish before it tries again, since at once it might lose once more.
    """
    app, barrier, won, tries = current_app._get_current_object(), threading.Barrier(2), threading.Event(), list[str]()

    def work(names: str) -> None:
        tries.append(names)
        assert tries.count(names) == 1 or won.wait(WITHIN)
        with transaction(ours.org) as session:
            for name in names:
                facts = {"by": names[0], "name": name}
                session.execute(text("update kind set what_to_do = what_to_do || :by where name = :name"), facts)
                if name == names[0] and tries.count(names) == 1:
                    barrier.wait(WITHIN)

    def run(names: str) -> None:
        with app.app_context():
            tried_again(lambda: work(names))
            won.set()
            db.session.remove()

    with ours.acting() as act:
        act.session.add_all(Kind(org_id=ours.org, name=name) for name in "ab")
    superuser.execute(f"alter database {superuser.info.dbname} set deadlock_timeout = '20ms'".encode())
    db.engine.dispose()
    with ThreadPoolExecutor(2) as threads:
        for thread in [threads.submit(run, names) for names in ("ab", "ba")]:
            thread.result(WITHIN)
    assert sorted(tries) in (["ab", "ab", "ba"], ["ab", "ba", "ba"])
    done = superuser.execute("select what_to_do from kind where org_id = %s and name in ('a', 'b')", (ours.org,))
    assert [sorted(by) for (by,) in done] == [["a", "b"]] * 2


def test_a_serialization_failure_is_tried_again(superuser: psycopg.Connection[Any], ours: Acme) -> None:
    isolation = "default_transaction_isolation = 'repeatable read'"
    superuser.execute(f"alter database {superuser.info.dbname} set {isolation}".encode())
    db.engine.dispose()
    tries = []

    def work() -> None:
        with transaction(ours.org) as session:
            tries.append(session.scalar(text("select what_to_do from kind")))
            if len(tries) < TRIES:
                superuser.execute("update kind set what_to_do = what_to_do || '.' where org_id = %s", (ours.org,))
            session.execute(text("update kind set what_to_do = what_to_do || '!'"))

    tried_again(work)
    assert tries == ["", ".", "..", "..."]
    assert superuser.execute("select what_to_do from kind where org_id = %s", (ours.org,)).fetchone() == ("...!",)


@pytest.mark.parametrize(
    ("sqlstate", "tries"), [("40001", TRIES), ("40P01", TRIES), ("23505", 1), ("55P03", 1), ("57014", 1), ("57P01", 1)]
)
def test_work_is_tried_so_often_and_then_fails(database: str, sqlstate: str, tries: int) -> None:
    tried = []

    def work() -> None:
        tried.append(sqlstate)
        with transaction() as session:
            session.execute(text(f"do $$ begin raise exception using errcode = '{sqlstate}'; end $$"))

    with pytest.raises(DBAPIError) as failed:
        tried_again(work)
    assert isinstance(failed.value.orig, psycopg.Error)
    assert failed.value.orig.sqlstate == sqlstate
    assert len(tried) == tries


def test_what_is_no_fault_of_the_database_is_not_tried_again(database: str) -> None:
    tried = []

    def work() -> None:
        tried.append(1)
        raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        tried_again(work)
    assert tried == [1]


UNREACHABLE = [
    ("postgresql://ana:s3cret@127.0.0.1:1/onus", "cannot be reached: .*127.0.0.1"),
    ("postgres://ana:s3cret@/onus?host=/nowhere", "cannot be reached: .*/nowhere"),
    ("postgresql://ana:s3cret@nowhere.invalid/onus", "cannot be reached: .*nowhere.invalid"),
    ("mysql://ana:s3cret@127.0.0.1/onus", "is not an address such as postgresql://"),
    ("sqlite:///onus.db", "is not an address such as postgresql://"),
    ("s3cret", "is not an address such as postgresql://"),
    ("postgresql://ana:s3cret@127.0.0.1:port/onus", "is not an address such as postgresql://"),
]


@pytest.mark.parametrize(("url", "words"), UNREACHABLE)
@pytest.mark.parametrize("owner", [False, True])
def test_a_database_that_cannot_be_used_says_so_in_one_line(url: str, words: str, owner: bool, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, env="test", database_url=url)
    with pytest.raises(Unreachable, match=words) as refused:
        connector(settings, owner=owner)()
    assert_clear(str(refused.value))
    if not owner:
        with create_app(settings).app_context(), pytest.raises(Unreachable, match=words), transaction() as session:
            session.execute(text("select 1"))


@pytest.mark.parametrize(
    ("database", "user", "words"),
    [
        ("nowhere", RUN_TIME, 'cannot be reached: .*database ".*nowhere" does not exist'),
        ("template", "nobody_at_all", 'cannot be reached: .*role "nobody_at_all" does not exist'),
    ],
)
def test_a_server_that_turns_us_away_is_quoted(database: str, user: str, words: str) -> None:
    settings = dataclasses.replace(settings_of("nowhere"), database_url=url_of(database, user))
    with pytest.raises(Unreachable, match=words) as refused:
        connector(settings, owner=False)()
    assert_clear(str(refused.value))


def assert_clear(said: str) -> None:
    """One line without a secret."""
    assert "\n" not in said
    assert "s3cret" not in said
    assert len(said) < 300


def start_up(database: str, user: str) -> str:
    """What a start says that uses the database by this login; nothing if it goes on."""
    given = dataclasses.replace(settings_of(database), database_url=url_of(database, user))
    with create_app(given).app_context():
        try:
            with transaction() as session:
                refuse_unsound(session)
        except Unsound as unsound:
            assert_clear(str(unsound))
            return str(unsound)
        finally:
            db.session.remove()
            db.engine.dispose()
    return ""


@pytest.fixture(scope="module")
def plain(worker: str) -> Iterator[tuple[str, psycopg.Connection[Any]]]:
    """A login that may take both roles and is nobody otherwise; and the superuser of a database to harm."""
    name, login = f"unsound_{worker}", f"onus_{os.environ[RUN]}_start_{worker}"
    create_database(name)
    with psycopg.connect(url_of(name, "postgres"), autocommit=True) as owner:
        owner.execute(f"create role {login} login noinherit; grant onus_web, onus_scheduler to {login}".encode())
        yield login, owner
        owner.execute(f"drop owned by {login} cascade; drop role {login}".encode())


def test_a_start_is_refused_to_a_login_that_the_wall_does_not_bind(
    plain: tuple[str, psycopg.Connection[Any]], worker: str
) -> None:
    login, owner = plain
    database = f"unsound_{worker}"
    assert start_up(database, RUN_TIME) == start_up(database, login) == ""
    assert "postgres is a superuser" in start_up(database, "postgres")
    for deed, undone, words in (
        ("create table mine (); alter table mine owner to {}", "drop table mine", "owns 1 tables, mine"),
        ("alter table subject owner to {}", "alter table subject owner to postgres", "owns 1 tables, subject"),
        ("alter role {} bypassrls", "alter role {} nobypassrls", "has BYPASSRLS"),
        ("alter role {} superuser", "alter role {} nosuperuser", "is a superuser"),
        ("grant postgres to {}", "revoke postgres from {}", "is a superuser"),
        ("revoke onus_web from {}", "grant onus_web to {}", "may not take the role"),
    ):
        owner.execute(deed.format(login).encode())
        said = start_up(database, login)
        owner.execute(undone.format(login).encode())
        assert words in said
    assert start_up(database, login) == ""


def test_a_start_is_refused_where_a_claim_could_happen_twice(
    plain: tuple[str, psycopg.Connection[Any]], worker: str
) -> None:
    login, owner = plain
    once = "constraint notification_once"
    right = f"add {once} unique (org_id, subject_id, rule_id, due_on, threshold)"
    for harm, undone, words in (
        (f"drop {once}", right, f"no {once}"),
        (f"drop {once}, add {once} unique (org_id, id)", f"drop {once}, {right}", "is over org_id, id"),
        (f"drop {once}, {right} deferrable", f"drop {once}, {right}", "not unique, immediate and valid"),
        ("alter threshold drop not null", "alter threshold set not null", "may be empty"),
        ("rename to other", "rename to notification_ledger", "no tables"),
    ):
        owner.execute(f"alter table notification_ledger {harm}".encode())
        said = start_up(f"unsound_{worker}", login)
        table = "other" if harm == "rename to other" else "notification_ledger"
        owner.execute(f"alter table {table} {undone}".encode())
        assert words in said
    assert start_up(f"unsound_{worker}", login) == ""
