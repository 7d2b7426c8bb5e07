"""A phone that stays signed in, to answer: its cookie, and the page where a person sees and forgets their phones."""

from __future__ import annotations

from flask import Blueprint, Request, current_app, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_login import current_user
from werkzeug.wrappers import Response

from app import clock
from app.config import settings
from app.database import transaction
from app.extensions import login
from app.operations import phones
from app.queries.phones import owner_of, phones_of
from app.queries.visitors import find_place
from app.web.access import Principal, record_everywhere, signed_in_in_full, slug_of_address
from app.wording import speak

pages = Blueprint("phones", __name__)

COOKIE = "onus_phone"


@login.request_loader  # type: ignore[untyped-decorator]  # Flask-Login carries no types.
def load_phone(asked: Request) -> Principal | None:
    """Asked where nobody is signed in: whose phone it is, if it is remembered."""
    token = asked.cookies.get(COOKIE)
    if not token:
        return None
    with transaction() as session:
        found = owner_of(session, phones.hashed(token), clock.now(session, settings()))
        place = find_place(session, slug_of_address())
    if found is None:
        return None
    account_id, name, locale = found
    speak(locale)
    return Principal(account_id, name, only_answers=True, place=place)


def remember_on(response: Response, account_id: int, name: str) -> None:
    """Let the phone that gets this response stay signed in, in place of what it was before. Raises Refused."""
    with transaction() as session:
        now = clock.now(session, settings())
        phones.forget_token(session, now, request.cookies.get(COOKIE, ""))
        made = phones.remember(session, now, account_id, name)
    secure = bool(current_app.config["SESSION_COOKIE_SECURE"])
    lasts = int(phones.REMEMBERED_FOR.total_seconds())
    response.set_cookie(COOKIE, made.token, max_age=lasts, httponly=True, secure=secure, samesite="Lax")
    record_everywhere(account_id, "phone_remembered", phone_id=made.phone_id)


def forget_on(response: Response) -> None:
    """Sign the phone out that gets this response, if it is a remembered one."""
    token = request.cookies.get(COOKIE)
    if token:
        with transaction() as session:
            phones.forget_token(session, clock.now(session, settings()), token)
        response.delete_cookie(COOKIE)


@pages.get("/phones")
@signed_in_in_full
def index() -> ResponseReturnValue:
    with transaction() as session:
        found = phones_of(session, current_user.id, clock.now(session, settings()))
    return render_template("session/phones.html", phones=found)


@pages.post("/phones/forget")
@signed_in_in_full
def forget() -> ResponseReturnValue:
    """Sign out the phone that the form names; one that is not theirs, or gone already, changes nothing."""
    named = request.form.get("phone", "")
    phone_id = int(named) if named.isascii() and named.isdecimal() and len(named) <= 18 else 0
    with transaction() as session:
        forgotten = phones.forget(session, clock.now(session, settings()), current_user.id, phone_id)
    if forgotten:
        record_everywhere(current_user.id, "phones_forgotten", phone_ids=forgotten)
    return redirect(url_for("phones.index"), 303)
