"""No one sees another organisation (P8): the second wall, in PostgreSQL, tried by whoever might get through it.

Two organisations fill every table of a database with real commits. Whatever a test tries there is rolled back.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from flask import Flask
from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.orm import Session

from app import create_app
from app.database import SCHEDULER, WEB, transaction
from app.domain.acts import ReportFormat
from app.domain.days_off import DayOff
from app.extensions import db
from app.ledger import holds
from app.ledger.align import deliver
from app.ledger.scan import scan
from app.logins import RUN_TIME, kept_login, make_login
from app.models import (
    Base,
    DeliveryAttempt,
    ImportRun,
    ImportUpload,
    ImportWork,
    MailMessage,
    MailTrial,
    Member,
    MemberKind,
)
from app.models.tenancy import walls
from app.operations import absences, answers, attachments, days_off, departures, documents, export_runs, feeds, people
from app.queries.soundness import check_grants, check_login, check_views, check_walls
from app.trail.notes import Signer
from app.trail.seal import seal
from tests import factories
from tests.conftest import RUN, create_database, settings_of, url_of
from tests.factories import Acme

pytestmark = pytest.mark.real_commits

TENANT = sorted(table.name for table in Base.metadata.tables.values() if "org_id" in table.columns)
EVERY = sorted(Base.metadata.tables)
ROLES = (WEB, SCHEDULER)

MAY_NOT = {
    WEB: (
        "delete from audit_event",
        "update audit_event set actor = 'system:scheduler'",
        "delete from audit_unsealed",
        "insert into audit_leaf select * from audit_leaf",
        "insert into audit_checkpoint select * from audit_checkpoint",
        "delete from notification_ledger",
        "update notification_ledger set standing = 'withdrawn', reason = 'closed'",
        "update notification_ledger set delivered_at = claimed_at",
        "delete from delivery",
        "update delivery set state = 'cancelled'",
        "delete from acknowledgement",
        "delete from scan_run",
        "delete from subject",
        "delete from obligation",
        "delete from document",
        "delete from attachment",
    ),
    SCHEDULER: (
        "delete from audit_event",
        "update audit_event set actor = 'system:operator'",
        "delete from audit_leaf",
        "update audit_leaf set seq = seq",
        "delete from audit_checkpoint",
        "update audit_checkpoint set note = ''",
        "delete from notification_ledger",
        "delete from delivery",
        "delete from scan_run",
        "select password_hash from account",
        "select * from account",
        "update account set is_active = true",
        "update member set role = 'admin'",
        "update obligation set due_on = due_on",
        "update alert_rule set is_active = true",
    ),
}

LEAK = """
create function pg_temp.leak(told text) returns boolean language plpgsql cost 0.0001
as $$ begin raise notice '%', told; return true; end $$"""
POLICIES = """
select c.relname, c.relrowsecurity, c.relforcerowsecurity, p.polcmd::text, p.polpermissive, p.polroles::text,
       pg_get_expr(p.polqual, c.oid), pg_get_expr(p.polwithcheck, c.oid)
from pg_class c left join pg_policy p on p.polrelid = c.oid where c.relname = any (%s) order by 1"""
REFERENCES = """
select f.conrelid::regclass::text, f.confrelid::regclass::text, a.attname
from pg_constraint f join pg_attribute a on a.attrelid = f.conrelid and a.attnum = f.conkey[2]
where f.contype = 'f' and cardinality(f.conkey) = 2 order by 1, 3"""
POWERS = """
select rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication, rolinherit, rolcanlogin,
       exists (select from pg_shdepend where refobjid = r.oid and deptype = 'o'
               and dbid in (0, (select oid from pg_database where datname = current_database())))
from pg_roles r where rolname = %s"""
MEMBERSHIPS = """
select roleid::regrole::text, inherit_option, set_option, admin_option from pg_auth_members
where member = %s::regrole order by 1"""
SURPLUS = """
select r.name, t.name, p.name from unnest(%s::text[]) t(name), unnest(%s::text[]) p(name), unnest(%s::text[]) r(name)
where has_table_privilege(r.name, t.name, p.name)"""


class Walled(NamedTuple):
    """A database with two organisations in every table."""

    database: str
    ours: Acme
    theirs: Acme

    @contextlib.contextmanager
    def superuser(self) -> Iterator[psycopg.Connection[Any]]:
        with psycopg.connect(url_of(self.database, "postgres"), autocommit=True) as connection:
            yield connection


@pytest.fixture(scope="module")
def walled(worker: str) -> Iterator[Walled]:
    name = f"walled_{worker}"
    create_database(name)
    with create_app(settings_of(name)).app_context():
        yield Walled(name, filled("ours"), filled("theirs"))
        db.session.remove()
        db.engine.dispose()


def filled(slug: str) -> Acme:
    """An organisation with a row in every table; its entry's reference is its slug."""
    acme = factories.acme(slug)
    with acme.acting() as act:
        ana, site = factories.member(act, f"ana@{slug}.example"), factories.site(act)
        people.limit_member(act, ana, [site])
        act.session.add(MemberKind(org_id=act.org, member_id=ana, kind_id=factories.kind(act)))
        people.assign_post(act, people.add_post(act, "manager"), ana, site)
        entry = factories.subject(act, slug, dt.date(2027, 3, 20))
        factories.rule(act, kinds=["other"], sites=["Madrid"], subjects=[entry.id])
        proof = attachments.SentFile("a.txt", b"proof")
        documents.add_paper(act, entry, documents.Paper("C-1", file=proof), member_id=ana)
        facts = {"file_name": "a.csv", "file_sha256": "0", "mapping": {}, "counts": {}, "rows": []}
        act.session.add(ImportRun(org_id=act.org, at=act.now, actor=act.actor, **facts))
        kept = {"file_name": "a.csv", "file_sha256": "0", "content": b"", "look": {}, "header_key": "", "mapping": {}}
        upload = ImportUpload(org_id=act.org, at=act.now, member_id=ana, **kept)
        act.session.add_all([upload, MailTrial(org_id=act.org, member_id=ana, asked_at=act.now)])
        act.session.flush()
        wish = {"upload_id": upload.id, "wish": "check", "asked_at": act.now, "asked_by": ana}
        act.session.add(ImportWork(org_id=act.org, **wish))
        export_runs.ask(act, ReportFormat.csv, "en", {}, export_runs.Limits())
        feeds.make_feed(act, ana, site)
        days_off.add_day_off(act, "Patron saint", DayOff(dt.date(2027, 5, 17), dt.date(2027, 5, 17)), site)
        bo = people.add_member(act, f"bo@{slug}.example", "staff")
        absences.enter_absence(act, bo, dt.date(2027, 3, 20), dt.date(2027, 3, 21))
        departures.leave(act, bo, dt.date(2027, 9, 1), to_member_id=ana)
    with acme.watching() as act:
        scan(act)
        deliver(act)
        holds.hold(act, "restored")
        seal(act, Signer("onus/here", Ed25519PrivateKey.generate()))
        told = act.run("select id from delivery").scalar_one()
        act.session.add(
            MailMessage(
                org_id=act.org, token=uuid.uuid4(), message_id="<1@x>", recipient_id=ana, sent_to="a@x.example",
                subject="s", body="b", sha256="0", handed_over_at=act.now,
            )
        )  # fmt: skip
        act.session.add(
            DeliveryAttempt(org_id=act.org, delivery_id=told, at=act.now, verb="DATA", reply="250", outcome="ok")
        )
    with acme.acting() as act:
        answers.acknowledge(act, act.session.get_one(Member, (act.org, ana)), entry, "seen", note="x")
    return acme


def driver_of(session: Session) -> psycopg.Connection[Any]:
    """The connection inside the open transaction, for what SQLAlchemy must not see."""
    driver = session.connection().connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    return driver


def attempt(session: Session, statement: str, *given: object) -> str:
    """What becomes of a statement, which is undone: the rows that it touched, or why it was refused."""
    driver = driver_of(session)
    try:
        with driver.transaction(force_rollback=True):
            return f"{driver.execute(statement.encode(), given or None).rowcount} rows"
    except psycopg.Error as fault:
        return f"{fault.sqlstate} {fault}"


def references(session: Session, table: str = "subject") -> list[str]:
    return list(session.execute(text(f"select reference from {table} order by 1")).scalars())


def test_two_organisations_fill_every_table(walled: Walled) -> None:
    """Without which nothing below would prove anything. A superuser sees all of it."""
    with walled.superuser() as seen:
        for table in TENANT:
            orgs = {org for (org,) in seen.execute(f"select org_id from {table}".encode())}
            assert orgs == {walled.ours.org, walled.theirs.org}, table


def test_every_table_of_an_organisation_is_walled_off_by_one_policy(walled: Walled) -> None:
    with walled.superuser() as seen:
        rows = seen.execute(POLICIES, (TENANT,)).fetchall()
    assert [row[0] for row in rows] == TENANT, "one policy for each table"
    assert {row[1:6] for row in rows} == {(True, True, "*", True, "{0}")}
    (using,) = {row[6] for row in rows}
    assert {row[7] for row in rows} == {using}
    assert "NULLIF(current_setting('onus.org'::text, true), ''::text)" in using
    with transaction() as session:
        assert check_walls(session).ok


@pytest.mark.parametrize("role", ROLES)
def test_a_transaction_sees_all_of_its_own_organisation_and_nothing_else(walled: Walled, role: str) -> None:
    with walled.superuser() as seen:
        for mine in (walled.ours, walled.theirs):
            with transaction(mine.org, role) as session:
                for table in TENANT:
                    found = session.execute(text(f"select org_id from {table}")).scalars().all()
                    right = seen.execute(f"select org_id from {table} where org_id = {mine.org}".encode()).fetchall()
                    assert found == [org for (org,) in right], table


@pytest.mark.parametrize("role", ROLES)
def test_without_an_organisation_no_row_is_seen_at_first_or_later(walled: Walled, role: str) -> None:
    """In a fresh session the setting is NULL, in a second transaction it is '', which casts to no number."""
    with psycopg.connect(url_of(walled.database, RUN_TIME)) as login:
        for org, unset in ((None, None), (walled.ours.org, None), (None, "")):
            assert login.execute("select current_setting('onus.org', true)").fetchone() == (unset,)
            login.execute("select set_config('role', %s, true)", (role,))
            if org is not None:
                login.execute("select set_config('onus.org', %s, true)", (str(org),))
            for table in TENANT:
                seen = login.execute(f"select count(*) from {table}".encode()).fetchone()
                assert seen is not None
                assert (seen[0] > 0) == (org is not None), table
            login.rollback()
    with transaction(None, role) as session:
        assert [table for table in TENANT if attempt(session, f"select from {table}") != "0 rows"] == []


def test_nothing_can_be_inserted_for_another_organisation(walled: Walled) -> None:
    row = "(jsonb_populate_record(x, jsonb_build_object('org_id', %s::bigint))).*"
    may = "select has_table_privilege(:role, :table, 'insert')"
    tried = set()
    for role in ROLES:
        with transaction(walled.ours.org, role) as session:
            for table in TENANT:
                answer = attempt(session, f"insert into {table} select {row} from {table} x limit 1", walled.theirs.org)
                allowed = session.execute(text(may), {"role": role, "table": table}).scalar_one()
                assert answer.startswith("42501 "), table
                assert ("row-level security" in answer) == allowed, table
                tried |= {table} if allowed else set()
    assert tried == set(TENANT)


@pytest.mark.parametrize("role", ROLES)
def test_no_row_can_be_moved_into_another_organisation_or_touched_there(walled: Walled, role: str) -> None:
    may = "select has_column_privilege(:role, :table, 'org_id', 'update')"
    tried = 0
    with transaction(walled.ours.org, role) as session:
        for table in TENANT:
            answer = attempt(session, f"update {table} set org_id = %s", walled.theirs.org)
            allowed = session.execute(text(may), {"role": role, "table": table}).scalar_one()
            assert answer.startswith("42501 "), table
            assert ("row-level security" in answer) == allowed, table
            tried += allowed
            for deed in (f"update {table} set org_id = org_id", f"delete from {table}"):
                assert attempt(session, f"{deed} where org_id = %s", walled.theirs.org)[:6] in {"0 rows", "42501 "}
    assert tried > 3


# What a row must give up so that nothing but the foreign key stands in the way.
ALSO = {("attachment", "same_as_id"): ", content = null"}


def test_no_row_of_one_can_point_at_a_row_of_the_other(walled: Walled) -> None:
    """Not even where row-level security does not bind: by the composite foreign keys."""
    with walled.superuser() as seen:
        found = seen.execute(REFERENCES).fetchall()
        assert len(found) > 35
        for table, target, column in found:
            theirs = f"(select id from {target} where org_id = %s limit 1)"
            mine = f"ctid = (select ctid from {table} where org_id = %s limit 1)"
            also = ALSO.get((table, column), "")
            statement = f"update {table} set {column} = {theirs}{also} where {mine}".encode()
            with pytest.raises(psycopg.errors.ForeignKeyViolation), seen.transaction():
                seen.execute(statement, (walled.theirs.org, walled.ours.org))


@pytest.mark.parametrize("role", ROLES)
def test_ledger_and_trail_only_grow_and_passwords_stay_with_the_web(walled: Walled, role: str) -> None:
    with transaction(walled.ours.org, role) as session:
        for statement in (*MAY_NOT[role], *(f"truncate {table} cascade" for table in EVERY)):
            assert attempt(session, statement).startswith("42501 permission denied"), statement
        assert check_grants(session).ok
        assert session.execute(text("select email from account")).all()


def test_nobody_else_may_anything(walled: Walled) -> None:
    """Neither the login itself, nor PUBLIC; and the roles no more than rows of tables."""
    schema = "select has_schema_privilege(r, 'public', 'create') from unnest(%s::text[]) r"
    definer = "select proname from pg_proc where prosecdef and pronamespace = 'public'::regnamespace"
    views = "select relname from pg_class where relkind in ('v', 'm') and relnamespace = 'public'::regnamespace"
    tables = [*EVERY, "alembic_version"]
    with walled.superuser() as seen:
        rows = ["select", "insert", "update", "delete"]
        assert seen.execute(SURPLUS, (tables, rows, ["public", RUN_TIME])).fetchall() == []
        more = ["truncate", "references", "trigger"]
        assert seen.execute(SURPLUS, (tables, more, ["public", RUN_TIME, *ROLES])).fetchall() == []
        assert set(seen.execute(schema, (["public", RUN_TIME, *ROLES],))) == {(False,)}
        assert seen.execute(definer).fetchall() == seen.execute(views).fetchall() == []


@pytest.mark.parametrize("made_by", ["the embedded server", "db upgrade"])
def test_the_login_is_a_plain_member_that_inherits_nothing(walled: Walled, made_by: str, tmp_path: Path) -> None:
    url = make_url(url_of(walled.database, "postgres"))
    with psycopg.connect(url_of(walled.database, "postgres")) as seen:
        login: str | None = RUN_TIME
        if made_by == "db upgrade":
            assert make_login(seen, tmp_path, url)
            login = (kept_login(tmp_path, url) or url).username
        assert seen.execute(POWERS, (login,)).fetchall() == [(False,) * 6 + (True, False)]
        assert seen.execute(MEMBERSHIPS, (login,)).fetchall() == [(role, False, True, False) for role in sorted(ROLES)]
        for role in ROLES:
            assert seen.execute(POWERS, (role,)).fetchall() == [(False,) * 8]
            assert seen.execute(MEMBERSHIPS, (role,)).fetchall() == []
        seen.rollback()
    with transaction() as session:
        assert check_login(session).ok


@pytest.mark.parametrize("role", ROLES)
def test_outside_its_role_the_login_may_not_even_look(walled: Walled, role: str) -> None:
    with transaction(walled.ours.org, role) as session:
        assert attempt(session, "set role postgres").startswith("42501 ")
        assert attempt(session, "set session authorization postgres").startswith("42501 ")
        assert attempt(session, "set row_security = off; select from subject").startswith("42501 ")
        session.execute(text("reset role"))
        for table in EVERY:
            assert attempt(session, f"select from {table}").startswith("42501 permission denied"), table


def test_a_copy_out_holds_only_our_rows_and_a_copy_in_is_refused(walled: Walled) -> None:
    with transaction(walled.ours.org) as session:
        driver = driver_of(session)
        with driver.cursor() as cursor:
            with cursor.copy("copy subject (org_id, reference) to stdout") as copied:
                assert list(copied.rows()) == [(str(walled.ours.org), "ours")]
            rejected = pytest.raises(psycopg.errors.FeatureNotSupported)
            with rejected, driver.transaction(), cursor.copy("copy post (org_id, name) from stdin") as copying:
                copying.write_row((walled.ours.org, "guard"))


def test_a_leaky_function_is_not_called_on_their_rows(walled: Walled) -> None:
    def heard(connection: psycopg.Connection[Any], query: str) -> set[str | None]:
        said: set[str | None] = set()
        hear: Callable[[Any], None] = lambda notice: said.add(notice.message_primary)  # noqa: E731
        connection.add_notice_handler(hear)
        connection.execute(LEAK)
        connection.execute(query.encode())
        connection.remove_notice_handler(hear)
        return said

    with walled.superuser() as seen:  # A filter of the query itself would not keep it from them.
        mine = f"select from subject where org_id + 0 = {walled.ours.org} and pg_temp.leak(reference)"
        assert heard(seen, mine) == {"ours", "theirs"}
    with transaction(walled.ours.org) as session:
        assert heard(driver_of(session), "select from subject where pg_temp.leak(reference)") == {"ours"}


def test_what_the_planner_knows_of_their_rows_is_not_shown(walled: Walled) -> None:
    with walled.superuser() as seen:
        seen.execute("analyze subject")
        assert seen.execute("select from pg_stats where tablename = 'subject'").rowcount > 0
    with transaction(walled.ours.org) as session:
        assert attempt(session, "select from pg_stats where tablename = 'subject'") == "0 rows"


def test_a_view_looks_over_the_wall_unless_it_asks_as_its_caller(walled: Walled) -> None:
    """By the rights of its owner, who is a superuser here. Doctor finds the bad one, and any materialised one."""

    def seen_and_judged() -> tuple[list[str], bool]:
        with transaction(walled.ours.org) as session:
            check = check_views(session)
            assert check.ok or "every_subject" in check.found
            return references(session, "every_subject"), check.ok

    with walled.superuser() as owner:
        try:
            owner.execute("create view every_subject as select * from subject")
            owner.execute("grant select on every_subject to onus_web")
            assert seen_and_judged() == (["ours", "theirs"], False)
            owner.execute("alter view every_subject set (security_invoker = true)")
            assert seen_and_judged() == (["ours"], True)
            owner.execute("drop view every_subject; create materialized view every_subject as select * from subject")
            owner.execute("grant select on every_subject to onus_web")
            assert seen_and_judged() == (["ours", "theirs"], False)
        finally:
            kind = owner.execute("select relkind from pg_class where relname = 'every_subject'").fetchone()
            owner.execute(f"drop {'materialized ' if kind == ('m',) else ''}view every_subject".encode())


@pytest.fixture
def plain(walled: Walled, worker: str) -> Iterator[str]:
    """A login that may take both roles, and is nobody otherwise."""
    login = f"onus_{os.environ[RUN]}_plain_{worker}"
    with walled.superuser() as owner:
        owner.execute(f"create role {login} login noinherit; grant onus_web, onus_scheduler to {login}".encode())
        yield login
        owner.execute(f"drop owned by {login} cascade; drop role {login}".encode())


def test_force_binds_even_the_owner_of_a_table(walled: Walled, plain: str) -> None:
    with walled.superuser() as owner:
        owner.execute("create table copied (like subject including all); insert into copied select * from subject")
        owner.execute(f"grant create on schema public to {plain}; alter table copied owner to {plain}".encode())
    with psycopg.connect(url_of(walled.database, plain), autocommit=True) as login:
        seen = "select reference from copied order by 1"
        assert login.execute(seen).fetchall() == [("ours",), ("theirs",)]
        for statement in walls({"copied": ("select", "select")}):
            login.execute(statement.encode())
        assert login.execute(seen).fetchall() == []
        login.execute("select set_config('onus.org', %s, false)", (str(walled.theirs.org),))
        assert login.execute(seen).fetchall() == [("theirs",)]
        login.execute("alter table copied no force row level security")
        assert login.execute(seen).fetchall() == [("ours",), ("theirs",)]


def test_the_lane_of_tests_is_behind_the_same_wall(app: Flask) -> None:
    """Its transactions are savepoints of one outer transaction."""
    one, other = factories.acme("one"), factories.acme("other")
    for mine in (one, other, one):
        with transaction(mine.org) as session:
            assert session.execute(text("select org_id from site")).scalars().all() == [mine.org]
    with transaction() as session:
        assert session.execute(text("select org_id from site")).scalars().all() == []
