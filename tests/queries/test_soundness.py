"""What doctor finds and what start-up refuses, each on a real database that has been broken in that one way."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from flask import Flask
from sqlalchemy import text
from sqlalchemy.engine import make_url

from app import clock, create_app
from app.config import Settings
from app.database import SCHEDULER, WEB, owner_engine, transaction
from app.extensions import db
from app.preflight import Unsound, refuse_unsound
from app.queries.soundness import (
    Check,
    NotReady,
    check_clocks,
    check_email,
    check_home,
    check_role,
    check_secrets,
    check_time_zones,
    examine_database,
    examine_host,
    refuse_unready,
)

Owner = Callable[[str], None]


def settings_of(app: Flask) -> Settings:
    given: Settings = app.extensions["onus_settings"]
    return given


@pytest.fixture
def owner(real_app: Flask) -> Owner:
    """Runs statements as the owner, for good, in a database of its own."""

    def execute(statements: str) -> None:
        engine = owner_engine(settings_of(real_app))
        with engine.begin() as connection:
            connection.execute(text(statements))
        engine.dispose()

    return execute


def failing(app: Flask) -> dict[str, str]:
    """What each failed check of the database found."""
    with transaction() as session:
        checks = examine_database(session, settings_of(app), clock.host_now())
    return {check.name: check.found for check in checks if not check.ok}


def test_a_migrated_database_is_sound(real_app: Flask) -> None:
    assert failing(real_app) == {}
    with transaction() as session:
        refuse_unsound(session)
    with transaction(role=SCHEDULER) as session:
        refuse_unsound(session)


ONCE = "alter table notification_ledger drop constraint notification_once; "
AGAIN = "alter table notification_ledger add constraint notification_once "


@pytest.mark.parametrize(
    ("broken", "check", "words"),
    [
        pytest.param(ONCE, "constraint notification_once", "there is no constraint", id="dropped"),
        pytest.param(
            ONCE + "create unique index notification_once on notification_ledger"
            " (org_id, subject_id, rule_id, due_on, threshold)",
            "constraint notification_once", "there is no constraint", id="only an index",
        ),
        pytest.param(
            ONCE + AGAIN + "unique (org_id, subject_id, rule_id, due_on)",
            "constraint notification_once", "is over org_id, rule_id, subject_id, due_on", id="four columns",
        ),
        pytest.param(
            ONCE + AGAIN + "unique (org_id, subject_id, rule_id, due_on, threshold, id)",
            "constraint notification_once", "is over", id="six columns",
        ),
        pytest.param(
            ONCE + AGAIN + "unique (org_id, subject_id, rule_id, due_on, threshold) deferrable",
            "constraint notification_once", "is not unique, immediate and valid", id="deferrable",
        ),
        pytest.param(
            ONCE + AGAIN + "check (due_on is not null)",
            "constraint notification_once", "there is no constraint", id="a check of that name",
        ),
        pytest.param(
            "alter table notification_ledger alter due_on drop not null",
            "constraint notification_once", "may be empty", id="a column that may be empty",
        ),
        pytest.param(
            "alter table delivery drop constraint delivery_once",
            "constraint delivery_once", "there is no constraint", id="delivery: dropped",
        ),
        pytest.param(
            "alter table delivery drop constraint delivery_once; alter table delivery add constraint delivery_once"
            " unique (org_id, claim_id, channel, recipient_id, resend_of)",
            "constraint delivery_once", "may be empty", id="delivery: empty ones differ",
        ),
        pytest.param("alter table site no force row level security", "row-level security", ": site", id="not forced"),
        pytest.param("alter table site disable row level security", "row-level security", ": site", id="not enabled"),
        pytest.param("drop policy of_organisation on site", "row-level security", ": site", id="no policy"),
        pytest.param(
            "create policy hole on site using (true)",
            "row-level security", ": site", id="a policy that lets all through",
        ),
        pytest.param(
            "create policy hole on site using (org_id = current_setting('onus.org')::bigint) with check (true)",
            "row-level security", ": site", id="a policy that lets all in",
        ),
        pytest.param("create table extra (org_id bigint)", "row-level security", ": extra", id="a table with no wall"),
        pytest.param(
            "grant update on audit_event to onus_web",
            "grants", "onus_web may update audit_event", id="update the trail",
        ),
        pytest.param(
            "grant update (detail) on audit_event to onus_web",
            "grants", "onus_web may update audit_event", id="update a column of the trail",
        ),
        pytest.param(
            "grant delete on audit_event to onus_scheduler",
            "grants", "onus_scheduler may delete audit_event", id="delete from the trail",
        ),
        pytest.param(
            "grant delete on notification_ledger to onus_scheduler",
            "grants", "onus_scheduler may delete notification_ledger", id="delete from the ledger",
        ),
        pytest.param("grant truncate on kind to public", "grants", "onus_run may truncate kind", id="truncate"),
        pytest.param("create view seen as select * from site", "views", ": seen", id="a view of its owner"),
        pytest.param("create materialized view seen as select 1", "views", ": seen", id="a materialised view"),
        pytest.param("update alembic_version set version_num = '0001'", "migrations", "is at 0001", id="behind"),
        pytest.param("delete from alembic_version", "migrations", "is at nothing", id="nowhere"),
    ],
)  # fmt: skip
def test_each_fault_is_found_by_its_check_alone(
    real_app: Flask, owner: Owner, broken: str, check: str, words: str
) -> None:
    owner(broken)
    found = failing(real_app)
    assert list(found) == [check]
    assert words in found[check]


def test_a_view_that_reads_by_the_rights_of_its_reader_is_sound(real_app: Flask, owner: Owner) -> None:
    owner("create view seen with (security_invoker = on) as select * from site")
    assert failing(real_app) == {}


def test_a_role_that_owns_something_is_found(real_app: Flask, owner: Owner) -> None:
    owner(f"create table extra (id bigint); alter table extra owner to {WEB}")
    found = failing(real_app)
    assert found[f"role {WEB}"] == f"{WEB} owns something"
    # The login may become onus_web, so that it owns the table, too; and an owner may truncate.
    assert set(found) == {f"role {WEB}", "run-time login", "grants"}


@contextmanager
def logged_in(app: Flask, owner: Owner, made: str) -> Iterator[Flask]:
    """The application with another login, made by this statement from the name {login}."""
    login = f"onus_test_{uuid4().hex[:8]}"
    owner(made.format(login=login))
    settings = settings_of(app)
    url = make_url(str(settings.database_url)).set(username=login)
    other = create_app(replace(settings, database_url=url.render_as_string(hide_password=False)))
    try:
        with other.app_context():
            yield other
            db.session.remove()
            db.engine.dispose()
    finally:
        owner(f"reassign owned by {login} to postgres; drop owned by {login}; drop role {login}")


PLAIN = "create role {login} login noinherit"
MEMBER = f"; grant {WEB}, {SCHEDULER} to {{login}} with inherit false, set true"


@pytest.mark.parametrize(
    ("made", "words"),
    [
        pytest.param("create role {login} login superuser", "is a superuser", id="superuser"),
        pytest.param("create role {login} login bypassrls" + MEMBER, "has BYPASSRLS", id="bypass"),
        pytest.param(PLAIN + MEMBER + "; grant postgres to {login}", "is a superuser", id="may become a superuser"),
        pytest.param(
            PLAIN + MEMBER + "; create table own (id bigint); alter table own owner to {login}",
            "owns 1 tables, own among them", id="owner",
        ),
    ],
)  # fmt: skip
def test_a_login_that_row_level_security_does_not_bind_is_refused(
    real_app: Flask, owner: Owner, made: str, words: str
) -> None:
    with logged_in(real_app, owner, made) as app:
        with transaction() as session, pytest.raises(Unsound, match=words) as refusal:
            refuse_unsound(session)
        assert "\n" not in str(refusal.value)
        assert words in failing(app)["run-time login"]


def test_a_plain_login_of_ones_own_is_sound(real_app: Flask, owner: Owner) -> None:
    with logged_in(real_app, owner, PLAIN + MEMBER) as app:
        assert failing(app) == {}


def test_a_login_that_may_take_only_one_role_is_found(real_app: Flask, owner: Owner) -> None:
    with logged_in(real_app, owner, PLAIN + f"; grant {WEB} to {{login}} with set true") as app:
        assert f"may not take {SCHEDULER}" in failing(app)["run-time login"]
        with transaction(role=SCHEDULER) as session, pytest.raises(Unsound, match="may not take the role"):
            refuse_unsound(session)


def test_start_up_refuses_a_ledger_without_its_constraint(real_app: Flask, owner: Owner) -> None:
    owner(ONCE)
    with transaction() as session, pytest.raises(Unsound, match="an alert could go out twice"):
        refuse_unsound(session)


def test_a_database_without_tables_says_what_to_do(real_app: Flask, owner: Owner) -> None:
    owner("drop schema public cascade; create schema public")
    with transaction() as session, pytest.raises(Unsound, match="no tables yet: run `onus db upgrade`"):
        refuse_unsound(session)
    with pytest.raises(NotReady, match="no tables yet"):
        failing(real_app)


@pytest.mark.usefixtures("real_app")
def test_a_server_without_the_roles_has_no_tables_yet() -> None:
    with pytest.raises(NotReady, match="no tables yet"), transaction(role="onus_nobody") as session:
        refuse_unready(session)


def test_an_all_powerful_role_is_found(real_app: Flask) -> None:
    with transaction() as session:
        check = check_role(session, "postgres")
    assert check.found == "postgres is a superuser and has BYPASSRLS and owns something"
    assert check.remedy


@pytest.mark.parametrize(
    ("apart", "ok", "advised"),
    [
        pytest.param(dt.timedelta(0), True, False, id="together"),
        pytest.param(dt.timedelta(seconds=-30), True, True, id="half a minute"),
        pytest.param(dt.timedelta(hours=1, seconds=30), False, True, id="more than an hour"),
        pytest.param(dt.timedelta(hours=-1, seconds=-30), False, True, id="more than an hour, the other way"),
    ],
)
def test_clocks(app: Flask, apart: dt.timedelta, ok: bool, advised: bool) -> None:
    with transaction() as session:
        check = check_clocks(session, settings_of(app), clock.host_now() + apart)
    assert (check.ok, bool(check.remedy)) == (ok, advised)


def test_a_stopped_clock_is_not_compared(app: Flask) -> None:
    stopped = replace(settings_of(app), clock=dt.datetime(2027, 3, 1, 11, tzinfo=dt.UTC))
    with transaction() as session:
        assert check_clocks(session, stopped, clock.host_now()) == Check(
            "clocks", True, "stopped by ONUS_CLOCK at 2027-03-01T11:00:00Z"
        )


def test_time_zones_are_new_enough() -> None:
    check = check_time_zones()
    assert check.ok
    assert "2027-01-15T07:30Z is on 2027-01-15" in check.found


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, Check("e-mail", True, "not configured: e-mail stays pending", "set ONUS_SMTP_URL")),
        ({"smtp_url": "smtp://relay:587"}, Check("e-mail", True, "configured")),
        (
            {"smtp_url": "file:", "env": "production"},
            Check(
                "e-mail",
                True,
                "written to files in ONUS_HOME/outbox; none leaves this host",
                "set ONUS_SMTP_URL to a mail server",
            ),
        ),
    ],
)
def test_email_is_never_a_failure(tmp_path: Path, given: dict[str, str], found: Check) -> None:
    assert check_email(Settings(home=tmp_path, **given)) == found  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("env", "key", "ok"),
    [("production", None, False), ("production", "k", True), ("development", None, True), ("test", "k", True)],
)
def test_secrets(tmp_path: Path, env: str, key: str | None, ok: bool) -> None:
    assert check_secrets(Settings(home=tmp_path, env=env, secret_key=key)).ok is ok


def test_a_home_that_cannot_be_made_is_found(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert not check_home(tmp_path / "file" / "home").ok
    assert check_home(tmp_path / "not" / "yet" / "there").ok
    assert check_home(tmp_path).ok


def test_the_host_checks_need_no_database(tmp_path: Path) -> None:
    names = [check.name for check in examine_host(Settings(home=tmp_path))]
    assert names == ["time zones", "e-mail", "secrets", "ONUS_HOME"]
