"""Onus: a register of things that lapse, and a ledger that makes each alert happen once and only once.

The factory binds settings, extensions and pages together. It starts nothing and connects to nothing.
"""

from __future__ import annotations

from flask import Flask

from app import clock as clock  # First of all: the time zone data that it chooses must be in force.
from app import database, failpoints, logs, web
from app.config import Settings, beside
from app.extensions import db, htmx, migrate


def create_app(given: Settings | None = None) -> Flask:
    """The application. Raises Misconfigured for an unusable setting."""
    chosen = given or Settings.from_env()
    logs.configure()
    failpoints.arm(chosen.failpoints, chosen.home / "failpoints.log" if chosen.failpoints else None)
    app = Flask("onus", template_folder=str(beside("templates")), static_folder=None)
    app.config.update(database.engine_options(chosen))
    app.extensions["onus_settings"] = chosen
    db.init_app(app)
    migrate.init_app(app, db, directory=str(beside("migrations")))
    htmx.init_app(app)
    with app.app_context():
        database.watch(db.engine)
    web.serve(app)
    return app
