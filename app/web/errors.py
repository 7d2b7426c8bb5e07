"""What a person sees when something is refused or fails: a page that says what to do, or for htmx one line.

A session that is over never puts a login form into a cell: htmx is told to go to the login page (H26). An error of
htmx leaves the page as it is (H29); app.js shows the line.
"""

from __future__ import annotations

from urllib.parse import quote

import structlog
from flask import Flask, Response, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_wtf.csrf import CSRFError
from werkzeug.exceptions import HTTPException

from app.database import LOST
from app.extensions import login
from app.web.hypermedia import VARY, current_page, is_htmx
from app.wording import gettext, later

log = structlog.get_logger()

CALENDARS = "/calendar/"  # Whoever knows what follows reads the calendar.

WORDS = {
    400: (
        later("This cannot be read"),
        later("The page sent something that Onus does not understand. Reload it and try again."),
    ),
    403: (
        later("Not for your role"),
        later("Your role does not include this. Ask an administrator of your organisation."),
    ),
    404: (later("Not found"), later("There is nothing at this address, or nothing that you may see.")),
    405: (
        later("Not possible here"),
        later("This address does not do that. Go back and use the buttons of the page."),
    ),
    413: (
        later("Too large"),
        later("What was sent is larger than Onus accepts: a register has at most 10 MB, a paper 20 MB."),
    ),
    500: (
        later("A fault of ours"),
        later("Something went wrong here. Nothing of what you sent was kept; it is safe to try again."),
    ),
    503: (
        later("The database cannot be reached"),
        later("Nothing of what you sent was kept. Try again in a minute."),
    ),
}


def explain(status: int) -> Response:
    title, words = map(gettext, WORDS.get(status, WORDS[400 if status < 500 else 500]))
    if is_htmx():
        return make_response(words, status, {"Content-Type": "text/plain; charset=utf-8", "Vary": VARY})
    return make_response(render_template("errors/error.html", title=title, words=words), status, {"Vary": VARY})


def on_http(fault: HTTPException) -> ResponseReturnValue:
    if fault.response is not None or (fault.code or 500) < 400:
        return fault.get_response()
    return explain(fault.code or 500)


def on_stale_form(fault: CSRFError) -> ResponseReturnValue:
    """The session under a form has changed: the same address again, with a fresh token; the browser keeps the text."""
    return explain(400)


def logged_path() -> str:
    """The path for the log; of a secret address no more than that it was one."""
    return f"{CALENDARS}…" if request.path.startswith(CALENDARS) else request.path


def on_lost_database(fault: Exception) -> ResponseReturnValue:
    log.warning("database_lost", path=logged_path())
    return explain(503)


def on_fault(fault: Exception) -> ResponseReturnValue:
    log.exception("request_failed", path=logged_path())
    return explain(500)


@login.unauthorized_handler  # type: ignore[untyped-decorator]
def on_no_session() -> ResponseReturnValue:
    address = url_for("session.sign_in")
    if is_htmx() or request.method == "GET":
        address += "?next=" + quote(current_page(), safe="/")
    if is_htmx():
        return Response(status=204, headers={"HX-Redirect": address, "Vary": VARY})
    return redirect(address)


def register(app: Flask) -> None:
    app.register_error_handler(HTTPException, on_http)
    app.register_error_handler(CSRFError, on_stale_form)
    for lost in LOST:
        app.register_error_handler(lost, on_lost_database)
    app.register_error_handler(Exception, on_fault)
