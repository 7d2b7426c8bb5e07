"""The run-time login: made by whoever migrates, if that login may; kept in ONUS_HOME; a plain member of two roles.

It owns nothing, inherits nothing, and is no superuser, so that row-level security binds it.
"""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy.engine import URL

RUN_TIME = "onus_run"  # The login in the embedded server, which only its own account can reach.
MEMBER_OF = ("onus_web", "onus_scheduler")


def address_of(url: URL) -> str:
    return f"{url.host or ''}:{url.port or 5432}/{url.database or ''}"


def kept_login(home: Path, url: URL) -> URL | None:
    """The same database by the run-time login that was made for it from this ONUS_HOME, or None."""
    try:
        kept: dict[str, Any] = json.loads((home / "logins.json").read_text())
    except (OSError, ValueError):
        return None
    login = kept.get(address_of(url))
    return url.set(username=login["user"], password=login["password"]) if login else None


def keep_login(home: Path, url: URL, user: str, password: str) -> None:
    """Write the login down with rights for its owner only; the file is replaced whole."""
    home.mkdir(parents=True, exist_ok=True)
    path = home / "logins.json"
    try:
        kept: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        kept = {}
    kept[address_of(url)] = {"user": user, "password": password}
    draft = path.with_name(f"logins.{secrets.token_hex(4)}")
    draft.touch(mode=0o600)
    draft.write_text(json.dumps(kept, indent=1))
    os.replace(draft, path)


def make_embedded_login(connection: psycopg.Connection[Any]) -> None:
    """The login of the embedded server. Again changes nothing."""
    if connection.execute("select 1 from pg_roles where rolname = %s", (RUN_TIME,)).fetchone() is None:
        connection.execute(sql.SQL("create role {} login noinherit").format(sql.Identifier(RUN_TIME)))
    join_roles(connection, RUN_TIME)


def make_login(connection: psycopg.Connection[Any], home: Path, url: URL) -> bool:
    """Make and keep a login for this database, unless one is kept that still works. False if this login may not."""
    kept = kept_login(home, url)
    if kept is not None and role_exists(connection, str(kept.username)):
        join_roles(connection, str(kept.username))
        return True
    may = connection.execute("select rolcreaterole or rolsuper from pg_roles where rolname = current_user").fetchone()
    if may is None or not may[0]:
        return False
    user, password = f"onus_run_{secrets.token_hex(4)}", secrets.token_urlsafe(32)
    scrambled = connection.pgconn.encrypt_password(password.encode(), user.encode()).decode()
    connection.execute(
        sql.SQL("create role {} login noinherit password {}").format(sql.Identifier(user), sql.Literal(scrambled))
    )
    join_roles(connection, user)
    keep_login(home, url, user, password)
    return True


def role_exists(connection: psycopg.Connection[Any], user: str) -> bool:
    return connection.execute("select 1 from pg_roles where rolname = %s", (user,)).fetchone() is not None


def join_roles(connection: psycopg.Connection[Any], user: str) -> None:
    """Membership that must be taken by SET ROLE: nothing is inherited."""
    for role in MEMBER_OF:
        connection.execute(
            sql.SQL("grant {} to {} with inherit false, set true").format(sql.Identifier(role), sql.Identifier(user))
        )
