"""Bringing a database up to date, and making the login that the other commands use (DESIGN section 9)."""

from __future__ import annotations

import logging

import flask_migrate

from app.config import Settings, settings
from app.database import configured_url, connector
from app.logins import make_embedded_login, make_login


def upgrade(revision: str = "head") -> bool:
    """Migrate, and make the run-time login. False if this login may not make one, which docs/operating.md explains."""
    logging.getLogger("alembic").setLevel(logging.WARNING)
    flask_migrate.upgrade(revision=revision)
    return make_run_time_login(settings())


def make_run_time_login(chosen: Settings) -> bool:
    with connector(chosen, owner=True)() as connection:
        if chosen.database_url is None:
            make_embedded_login(connection)
            return True
        return make_login(connection, chosen.home, configured_url(chosen.database_url))
