"""The pages. Thin views: parse, authorise, call one function, render."""

from __future__ import annotations

import datetime as dt

from flask import Flask

from app.config import settings
from app.domain.media import LARGEST_FILE
from app.extensions import csrf, login
from app.web import (
    answer_checks,
    assets,
    away,
    calendar_feed,
    calendar_pages,
    checkpoints,
    errors,
    front,
    headers,
    import_mistakes,
    inbox,
    languages,
    my_alerts,
    phones,
    rule_preview,
    session,
    settings_pages,
    today,
    word_filters,
)
from app.web.access import refuse_unmarked_routes
from app.web.cookies import Cookies
from app.web.hours_texts import hours_words
from app.web.listing import RowId
from app.web.navigation import own_pages_for, pages_for, stops_of, unread_count

SIGNED_IN_FOR = dt.timedelta(hours=12)  # ASVS 7.3.2: then a person signs in again, whatever they did meanwhile.
LARGEST_REQUEST = LARGEST_FILE + 1_000_000  # Bytes: the largest file of a paper, and the form around it.


def serve(app: Flask) -> None:
    """Everything of the web: sessions, CSRF, headers, errors, filters, pages."""
    with app.app_context():
        chosen = settings()
    app.config.update(
        MAX_CONTENT_LENGTH=LARGEST_REQUEST,
        PERMANENT_SESSION_LIFETIME=SIGNED_IN_FOR,
        SESSION_COOKIE_NAME="onus",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        SESSION_COOKIE_SECURE=chosen.env == "production",
        WTF_CSRF_TIME_LIMIT=None,  # The session bounds it; an hour would swallow what somebody typed (H28).
    )
    app.session_interface = Cookies(chosen)
    app.url_map.converters["int"] = RowId
    csrf.init_app(app)
    # No page asks who is signed in, and the page that says that the database is gone could not ask it.
    login.init_app(app, add_context_processor=False)
    headers.register(app)
    errors.register(app)
    languages.register(app)
    word_filters.register(app)
    app.jinja_env.globals.update(hours_words=hours_words)
    app.jinja_env.globals.update(asset=assets.asset, pages_for=pages_for, own_pages_for=own_pages_for)
    app.jinja_env.globals.update(stops_of=stops_of, unread_count=unread_count)
    for module in (
        assets, front, session, today, answer_checks, import_mistakes, rule_preview, inbox, checkpoints, phones,
        calendar_pages, calendar_feed, away, my_alerts, settings_pages,
    ):  # fmt: skip
        app.register_blueprint(module.pages)
    refuse_unmarked_routes(app)
