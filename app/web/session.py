"""Signing in and out, and where a person goes from there."""

from __future__ import annotations

import datetime as dt
from urllib.parse import urlsplit

from flask import Blueprint, current_app, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_login import current_user, login_user, logout_user
from werkzeug.exceptions import HTTPException
from werkzeug.routing import RequestRedirect
from werkzeug.wrappers import Response

from app import clock
from app.config import settings
from app.database import transaction
from app.domain.acts import Role
from app.domain.errors import Refused
from app.operations import phones
from app.operations.passwords import matches
from app.queries.visitors import Login, Place, find_login, find_person, places
from app.web.access import Principal, public, record_everywhere, refused_everywhere, signed_in
from app.web.phones import forget_on, remember_on
from app.web.typed_form import Form, sent
from app.wording import gettext, later, said

pages = Blueprint("session", __name__)

NOBODY = 0  # The number of no account.
WRONG = later(
    "This e-mail address and this password do not belong together. Check both; a password knows capital letters."
)


@pages.get("/login")
@public
def sign_in() -> ResponseReturnValue:
    if current_user.is_authenticated and not current_user.only_answers:
        return redirect(safe_next())
    return sign_in_page(Form({"next": request.args.get("next", ""), "email": ""}))


@pages.post("/login")
@public
def signed() -> ResponseReturnValue:
    form = sent("next", "email", "phone", lists=("remember",))
    form.values["email"] = form.values["email"].replace("\0", "").strip()
    found = who_signs_in(form)
    if form.values["remember"]:
        form.check("phone", phones.checked_name, form.values["phone"])
    if found is None or form.faults:
        return sign_in_page(form)
    answer = redirect(safe_next(), 303)
    if form.values["remember"] and not was_remembered(form, answer, found.account_id):
        return sign_in_page(form)
    login_user(Principal(found.account_id, found.name))
    record_everywhere(found.account_id, "signed_in")
    return answer


def sign_in_page(form: Form) -> Response:
    return make_response(render_template("session/sign_in.html", form=form), form.status)


def who_signs_in(form: Form) -> Login | None:
    """The login of the address, if this is its password; else the form says that it is not."""
    email, password = form.values["email"], request.form.get("password", "")
    with transaction() as session:
        found = find_login(session, email=email) if email else None
    # The password of nobody is checked, too, so that the time taken does not tell whether the address is known.
    if matches(found.password_hash if found else None, password) and found is not None:
        return found
    refused_everywhere(found.account_id if found else NOBODY)
    form.faults["email"] = gettext(WRONG)
    return None


def was_remembered(form: Form, answer: Response, account_id: int) -> bool:
    try:
        remember_on(answer, account_id, form.values["phone"])
    except Refused as refused:
        form.faults["phone"] = said(refused)
    return not form.faults


@pages.post("/logout")
@signed_in
def sign_out() -> ResponseReturnValue:
    logout_user()
    answer = redirect(url_for("session.sign_in"), 303)
    forget_on(answer)
    return answer


@pages.get("/")
@signed_in
def home() -> ResponseReturnValue:
    """The one organisation of the person, or a list to choose from."""
    mine = memberships(current_user.id)
    if len(mine) == 1:
        place, role = mine[0]
        return redirect(url_for(start_of(role), slug=place.slug))
    starts = [(place, url_for(start_of(role), slug=place.slug)) for place, role in mine]
    return render_template("session/choose.html", mine=starts)


def start_of(role: Role) -> str:
    """The first page of a role: what needs a person, what is in one's inbox, or the evidence."""
    if role == Role.staff or current_user.only_answers:
        return "inbox.index"
    return "evidence.index" if role == Role.inspector else "today.index"


def memberships(account_id: int) -> list[tuple[Place, Role]]:
    """Asked of each organisation by itself, since none may look into another (P8)."""
    with transaction() as session:
        everywhere, now = places(session), clock.now(session, settings())
    found = [(place, role_in(place, account_id, now)) for place in everywhere]
    return [(place, role) for place, role in found if role is not None]


def role_in(place: Place, account_id: int, now: dt.datetime) -> Role | None:
    with transaction(place.org) as session:
        person = find_person(session, place.org, account_id, now.date())
    return person.role if person else None


def safe_next() -> str:
    """The page that was asked for, if it is one of ours; else the front page (H39).

    Only a plain path that a known page answers to, with its query: whatever a browser could read as another host, or
    Werkzeug would repair, is not that.
    """
    wanted = request.values.get("next", "")
    home_page = url_for("session.home")
    if (
        not wanted.startswith("/")
        or wanted.startswith("//")
        or any(c in wanted for c in "\\\t\r\n\0")
        or not wanted.isprintable()
    ):
        return home_page
    parts = urlsplit(wanted)
    if parts.scheme or parts.netloc or parts.path in ("/login", "/logout"):
        return home_page
    try:
        current_app.url_map.bind(request.host).match(parts.path, method="GET")
    except (HTTPException, RequestRedirect):
        return home_page
    return wanted
