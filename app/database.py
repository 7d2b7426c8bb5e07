"""Transactions: the only commit, and the role and organisation that each one acts with.

The run-time login has no rights of its own. At the start of each transaction it takes one of two roles and names one
organisation, both for this transaction only, so that nothing leaks through a pool (P8). Works behind PgBouncer.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import psycopg
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from app.config import Settings
from app.embedded import EmbeddedPostgres
from app.extensions import db
from app.logins import RUN_TIME, kept_login

WEB = "onus_web"
SCHEDULER = "onus_scheduler"
IDLE_AT_MOST = "60s"  # A paused holder of a transaction is cut off, so that its locks do not stop the others.
RETRYABLE = ("40001", "40P01")  # Serialization failure and deadlock: database work only is tried again.
TRIES = 4
OLDEST_SERVER = 160000  # PostgreSQL 16: memberships that are not inherited.

Result = TypeVar("Result")


class Acting(NamedTuple):
    """Who a transaction acts as: a role, and the organisation whose rows it may see (None: of none)."""

    role: str
    org: int | None
    is_snapshot: bool = False


NOBODY = Acting(WEB, None)
_acting: contextvars.ContextVar[Acting] = contextvars.ContextVar("acting", default=NOBODY)


class Unreachable(Exception):
    """The database cannot be used; the message says why and what to do."""


# What a lost connection looks like, wherever it is noticed.
LOST: tuple[type[Exception], ...] = (Unreachable, OperationalError, InterfaceError)


def engine_options(settings: Settings) -> dict[str, Any]:
    """Flask-SQLAlchemy's configuration. The embedded server is started by the first connection, not before."""
    return {
        "SQLALCHEMY_DATABASE_URI": "postgresql+psycopg://",
        "SQLALCHEMY_ENGINE_OPTIONS": {
            "creator": connector(settings, owner=False),
            "pool_pre_ping": True,
            "pool_size": 10,
        },
    }


def owner_engine(settings: Settings) -> Engine:
    """The engine of migrations: the owner's login, direct, one connection, no role taken."""
    return create_engine("postgresql+psycopg://", creator=connector(settings, owner=True), poolclass=NullPool)


def connector(settings: Settings, *, owner: bool) -> Callable[[], psycopg.Connection[Any]]:
    """A function that opens a connection as the owner, or as the run-time login where one was made and kept."""
    if settings.database_url is None:
        server = EmbeddedPostgres(settings.home)

        def connect_embedded() -> psycopg.Connection[Any]:
            dsn = server.acquire_dsn(user="postgres" if owner else RUN_TIME)
            try:
                return connect(dsn)
            except Unreachable:
                server.revive()
                return connect(dsn)

        return connect_embedded

    def connect_configured() -> psycopg.Connection[Any]:
        given = (owner and settings.owner_url) or settings.database_url
        url = configured_url(str(given))
        return connect(libpq_url(url if owner else kept_login(settings.home, url) or url))

    return connect_configured


def configured_url(given: str) -> URL:
    try:
        url = make_url(given)
    except Exception:
        url = None
    if url is None or not url.drivername.startswith("postgres"):
        raise Unreachable(
            "ONUS_DATABASE_URL (or ONUS_OWNER_URL) is not an address such as postgresql://user:password@host:5432/onus"
        )
    return url


def libpq_url(url: URL) -> str:
    return url.set(drivername="postgresql").render_as_string(hide_password=False)


def connect(dsn: str) -> psycopg.Connection[Any]:
    # PgBouncer in transaction mode knows no prepared statements of the session, hence prepare_threshold=None.
    try:
        connection = psycopg.connect(dsn, prepare_threshold=None, application_name="onus", connect_timeout=10)
    except psycopg.OperationalError as fault:
        reason = " ".join(str(fault).split())
        if f'role "{RUN_TIME}" does not exist' in reason:
            raise Unreachable("the database is new: run `onus db upgrade` first") from None
        raise Unreachable(f"the database cannot be reached: {reason}") from fault
    version = connection.info.server_version
    if version < OLDEST_SERVER:
        connection.close()
        raise Unreachable(f"the database is PostgreSQL {version // 10000}: Onus needs 16 or later")
    return connection


def enter(connection: Connection, *savepoint: object) -> None:
    """Take the role and name the organisation that this transaction acts for, until it ends."""
    driver = connection.connection.driver_connection
    if driver is None or driver.autocommit:
        raise RuntimeError("no row-level security outside a transaction")
    role, org, is_snapshot = _acting.get()
    # Compiling takes longer than any statement of ours, and estimates are wrong right after an import.
    if is_snapshot and not savepoint:  # Only before the first look; a savepoint has what its transaction has.
        connection.exec_driver_sql("set transaction isolation level repeatable read")
    connection.exec_driver_sql(
        "select set_config('role', %s, true), set_config('onus.org', %s, true), "
        "set_config('idle_in_transaction_session_timeout', %s, true), set_config('jit', 'off', true)",
        (role, "" if org is None else str(org), IDLE_AT_MOST),
    )


def watch(engine: Engine) -> None:
    """Enter at each BEGIN; and at each SAVEPOINT, since tests run a transaction as a savepoint of an outer one."""
    event.listen(engine, "begin", enter)
    event.listen(engine, "savepoint", enter)


class NotDurable(Exception):
    """The commit was answered with a warning: what it wrote may be lost with this server."""


@contextlib.contextmanager
def durable_transaction(org: int, role: str) -> Iterator[Session]:
    """A transaction whose commit is on disk, and on the synchronous standby, when this returns.

    Whatever the server's default is: a message leaves on the strength of it. A wait for a standby that is cancelled
    answers the commit with success and a warning; that raises NotDurable.
    """
    warnings: list[str] = []

    def note(diagnostic: psycopg.errors.Diagnostic) -> None:
        warnings.append(diagnostic.message_primary or "")

    with contextlib.ExitStack() as stack:
        with transaction(org, role) as session:
            driver: Any = session.connection().connection.driver_connection
            driver.add_notice_handler(note)
            stack.callback(driver.remove_notice_handler, note)
            session.execute(text("select set_config('synchronous_commit', 'on', true)"))
            yield session
            session.flush()
            warnings.clear()  # What was said before the commit says nothing of it.
        if warnings:
            raise NotDurable(warnings[0])


@contextlib.contextmanager
def transaction(org: int | None = None, role: str = WEB, *, snapshot: bool = False) -> Iterator[Session]:
    """The only commit. Commits at the end, rolls back on any exception; refuses to nest.

    With `snapshot` it sees the database as it was at its first look, however long it lasts.
    """
    session: Session = db.session()
    if session.in_transaction():
        raise RuntimeError("a transaction is open already")
    before = _acting.set(Acting(role, org, snapshot))
    try:
        with session.begin():
            yield session
    finally:
        session.expunge_all()
        _acting.reset(before)


@contextlib.contextmanager
def owner_transaction(settings: Settings, org: int) -> Iterator[Session]:
    """A transaction of the login that owns the tables, for one organisation: for what neither role may ever do.

    Raises Unreachable. An owner who is no superuser is bound by row-level security as everybody is.
    """
    with Session(owner_engine(settings)) as session, session.begin():
        session.execute(text("select set_config('onus.org', :org, true)"), {"org": str(org)})
        yield session


@contextlib.contextmanager
def borrowed(session: Session, role: str) -> Iterator[None]:
    """Let the open transaction act by another role for a moment: where a person decides, and the ledger moves.

    So the pages' own role needs no right to move a delivery.
    """
    own = _acting.get()
    session.flush()
    _acting.set(own._replace(role=role))  # So that a savepoint keeps it.
    session.execute(text("select set_config('role', :role, true)"), {"role": role})
    try:
        yield
        session.flush()
        session.execute(text("select set_config('role', :role, true)"), {"role": own.role})
    finally:
        _acting.set(own)


def act_for(session: Session, org: int) -> None:
    """Let the open transaction, which acts for no organisation yet, act for one that it has just made."""
    role, before, _ = _acting.get()
    if before is not None:
        raise RuntimeError("this transaction acts for an organisation already")
    _acting.set(Acting(role, org))  # So that a savepoint keeps it; the end of the transaction takes it back.
    session.execute(text("select set_config('onus.org', :org, true)"), {"org": str(org)})


def tried_again(work: Callable[[], Result]) -> Result:
    """Run database work that holds its own transaction, again after a deadlock or a serialization failure."""
    for _ in range(TRIES - 1):
        try:
            return work()
        except DBAPIError as fault:
            if getattr(fault.orig, "sqlstate", None) not in RETRYABLE:
                raise
    return work()
