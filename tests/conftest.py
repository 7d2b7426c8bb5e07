"""One real server for the run, one database per worker from a migrated template, one outer transaction per test."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import flask_migrate
import flask_sqlalchemy.session
import psycopg
import pytest
from flask import Flask
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from app import create_app, embedded
from app.config import Settings
from app.embedded import EmbeddedPostgres
from app.extensions import db
from app.logins import RUN_TIME, make_embedded_login
from app.trail.act import Act
from tests import factories
from tests.factories import Acme

# Where this is set, each of the processes that tests start would compile the application anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

HOME = Path(__file__).parent / ".server"
DSN = "ONUS_TEST_DSN"  # Handed to the workers: only the controller owns the server.
RUN = "ONUS_TEST_RUN"  # The controller's process id, in the names of its databases: two runs may share the server.


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes name no test: a ZIP holds the second in which it was made, and workers would not agree on their tests."""
    return argname if isinstance(val, bytes) else None


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "furnished: the tests of the module share one furnished organisation (tests/web)"
    )
    if hasattr(config, "workerinput"):
        return
    config.server = EmbeddedPostgres(HOME)  # type: ignore[attr-defined]
    # Nobody needs these databases after a power cut, and a busy disk would take most of the time.
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(embedded.SETTINGS, "fsync", "off")
        os.environ[DSN] = config.server.acquire_dsn()  # type: ignore[attr-defined]
    os.environ[RUN] = str(os.getpid())
    with psycopg.connect(os.environ[DSN], autocommit=True) as connection:
        drop_databases(connection, lambda run: not Path(f"/proc/{run}").exists())
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(named("template"))))
    with create_app(settings_of("template")).app_context():
        flask_migrate.upgrade()
        db.engine.dispose()
    with psycopg.connect(os.environ[DSN]) as connection:
        make_embedded_login(connection)


def pytest_unconfigure(config: pytest.Config) -> None:
    if hasattr(config, "server"):
        with psycopg.connect(os.environ[DSN], autocommit=True) as connection:
            drop_databases(connection, lambda run: run == os.environ[RUN])
        config.server.release()


def named(database: str) -> str:
    return f"onus_{os.environ[RUN]}_{database}"


def drop_databases(connection: psycopg.Connection[Any], of_run: Callable[[str], bool]) -> None:
    for (name,) in connection.execute("select datname from pg_database where datname ~ '^onus_[0-9]+_'").fetchall():
        if of_run(name.split("_")[1]):
            connection.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


def url_of(database: str, user: str) -> str:
    return f"postgresql://{user}@/{named(database)}?host={quote(str(conninfo_to_dict(os.environ[DSN])['host']))}"


def settings_of(database: str, **given: object) -> Settings:
    """Settings of a test database: the run-time login for everything but migrations."""
    return Settings(
        home=HOME / "home" / named(database),
        env="test",
        database_url=url_of(database, RUN_TIME),
        owner_url=url_of(database, "postgres"),
        **given,  # type: ignore[arg-type]
    )


def create_database(name: str) -> None:
    with psycopg.connect(os.environ[DSN], autocommit=True) as connection:
        connection.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(named(name))))
        connection.execute(
            sql.SQL("create database {} template {}").format(
                sql.Identifier(named(name)), sql.Identifier(named("template"))
            )
        )


@pytest.fixture(scope="session")
def worker(request: pytest.FixtureRequest) -> str:
    return str(getattr(request.config, "workerinput", {}).get("workerid", "main"))


@pytest.fixture(scope="session")
def shared_app(worker: str) -> Iterator[Flask]:
    create_database(worker)
    app = create_app(settings_of(worker))
    yield app
    with app.app_context():
        db.engine.dispose()


@contextlib.contextmanager
def rolled_back(app: Flask) -> Iterator[None]:
    """The application on a real database. Whatever is committed inside is a savepoint, and all is rolled back."""
    with app.app_context(), db.engine.connect() as connection, pytest.MonkeyPatch.context() as patch:
        outer = connection.begin()
        patch.setattr(flask_sqlalchemy.session.Session, "get_bind", lambda *_, **__: connection)
        db.session.remove()
        db.session.configure(join_transaction_mode="create_savepoint")
        yield
        db.session.remove()
        outer.rollback()


@pytest.fixture
def app(shared_app: Flask) -> Iterator[Flask]:
    """The application, in a transaction that ends with the test."""
    with rolled_back(shared_app):
        yield shared_app


@pytest.fixture
def acme(app: Flask) -> Acme:
    """The organisation "acme" with the site Madrid, committed; no transaction is open."""
    return factories.acme()


@pytest.fixture
def act(acme: Acme) -> Iterator[Act]:
    """An open act of the operator for acme at 2027-03-01T11:00Z."""
    with acme.acting() as act:
        yield act


@pytest.fixture
def real_app(worker: str, request: pytest.FixtureRequest) -> Iterator[Flask]:
    """The application on a database of its own where commits are real: for races and processes."""
    name = f"real_{worker}"
    create_database(name)
    app = create_app(settings_of(name))
    with app.app_context():
        yield app
        db.session.remove()
        db.engine.dispose()
