"""A PostgreSQL for what breaks it: it crashes at once, and forgets every commit that nobody asked to be durable.

It is the embedded server, with two settings turned against Onus: commits are asynchronous by default, and the log is
written late. So whatever outlives a crash does so because the code that committed it said so.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import quote

import flask_migrate
import psycopg
from psycopg import sql

from app import create_app, embedded
from app.config import Settings
from app.embedded import EmbeddedPostgres
from app.extensions import db
from app.logins import RUN_TIME, make_embedded_login
from tests.scheduler.conftest import until

# On the server's command line, where they outrank every file. What the system has written survives the server's crash;
# fsync would only matter if the machine went down, and takes most of the time on a busy disk.
FORGETFUL = {"synchronous_commit": "off", "wal_writer_delay": "10s", "fsync": "off"}
TEMPLATE = "chaos_template"
OWNER = "postgres"


class Cluster:
    """The server and its databases, each a copy of one that was migrated once."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="onus-chaos-"))
        self.home.chmod(0o711)  # As root the server runs as nobody, who must pass.
        self.server = EmbeddedPostgres(self.home)
        with forgetful():
            self.server.acquire_dsn()
        with self.owner(OWNER) as connection:
            connection.execute(sql.SQL("create database {}").format(sql.Identifier(TEMPLATE)))
        with create_app(self.settings(TEMPLATE)).app_context():
            flask_migrate.upgrade()
            db.engine.dispose()
        with self.owner(OWNER) as connection:
            make_embedded_login(connection)
            connection.execute("checkpoint")  # So that no crash comes before it.

    def url(self, database: str, user: str) -> str:
        return f"postgresql://{user}@/{database}?host={quote(str(self.server.sockets))}"

    def settings(self, database: str, **given: Any) -> Settings:
        urls = {"database_url": self.url(database, RUN_TIME), "owner_url": self.url(database, OWNER)}
        return Settings(home=self.home / "onus", env="test", secret_key="chaos", **urls, **given)

    @contextlib.contextmanager
    def owner(self, database: str) -> Iterator[psycopg.Connection[Any]]:
        """A session of the owner, who sees all organisations; each statement commits by itself."""
        with psycopg.connect(self.url(database, OWNER), autocommit=True) as connection:
            yield connection

    def create_database(self, name: str) -> None:
        copy = sql.SQL("create database {} template {}").format(sql.Identifier(name), sql.Identifier(TEMPLATE))
        with self.owner(OWNER) as connection:
            connection.execute(copy)

    def crash(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """End the server at once, as `pg_ctl -m immediate` does (or by kill -9), and start it again."""
        with self.away(how):
            """Nobody waits."""

    @contextlib.contextmanager
    def away(self, how: signal.Signals = signal.SIGQUIT) -> Iterator[None]:
        """Without the server, which is ended at once, and started again at the end."""
        postmaster = self.server._postmaster()
        assert postmaster is not None
        os.kill(postmaster, how)
        until(lambda: is_gone(postmaster), "the end of the server")
        try:
            yield
        finally:
            with forgetful():
                self.server.revive()

    def sessions(self, database: str) -> list[int]:
        """The server's processes that work for Onus on this database."""
        found = "select pid from pg_stat_activity where datname = %s and application_name = 'onus' order by pid"
        with self.owner(database) as connection:
            return [pid for (pid,) in connection.execute(found, (database,))]

    def close(self) -> None:
        self.server.release()
        shutil.rmtree(self.home, ignore_errors=True)


def forgetful() -> contextlib.AbstractContextManager[Any]:
    return mock.patch.dict(embedded.SETTINGS, FORGETFUL)


def state_of(pid: int) -> str:
    """The letter of the process's state: T is stopped, Z has ended and is not buried yet; empty if it is not there."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return ""


def is_gone(pid: int) -> bool:
    return state_of(pid) in ("", "Z", "X")
