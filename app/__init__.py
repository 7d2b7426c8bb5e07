"""Onus: a register of things that lapse, and a ledger that makes each alert happen once and only once.

The factory binds settings, extensions and pages together. It starts nothing and connects to nothing.
"""

from __future__ import annotations

from flask import Flask, current_app

from app import clock, database, web
from app.config import Settings, beside
from app.extensions import db, htmx, migrate

__all__ = ["clock", "create_app", "settings"]


def create_app(given: Settings | None = None) -> Flask:
    """The application. Raises Misconfigured for an unusable setting."""
    chosen = given or Settings.from_env()
    app = Flask("onus", template_folder=str(beside("templates")), static_folder=None)
    app.config.update(database.engine_options(chosen))
    app.extensions["onus_settings"] = chosen
    db.init_app(app)
    migrate.init_app(app, db, directory=str(beside("migrations")))
    htmx.init_app(app)
    with app.app_context():
        database.watch(db.engine)
    web.register(app)
    return app


def settings() -> Settings:
    """The settings of the current application."""
    chosen: Settings = current_app.extensions["onus_settings"]
    return chosen
