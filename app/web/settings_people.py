"""The people: who is let in, as what, to which sites and until when. Nobody is deleted; somebody may be disabled."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection
from typing import Any

from flask import abort, render_template, request, url_for
from flask.typing import ResponseReturnValue

from app.domain.acts import Role
from app.domain.folding import fold_address
from app.operations import accounts, members, passwords, typed
from app.operations import people as operations
from app.operations.inspectors import limit_to_kinds
from app.operations.mail_hours import organisation_rest
from app.queries import inspectors
from app.queries import settings as queries
from app.queries.absences import away_today
from app.queries.feeds import feeds_of
from app.queries.phones import count_phones
from app.queries.settings import PersonLine
from app.queries.untold import Untold, without_mail
from app.trail.act import Act
from app.web.access import MANAGERS, Visit, for_roles
from app.web.calendar_pages import revoke_asked
from app.web.hours_texts import alerts_words, untold_words
from app.web.hypermedia import go_to
from app.web.listing import asked_number
from app.web.my_alerts import found_person
from app.web.settings_area import ADMINS, back_to, form_page, pages
from app.web.typed_form import Form, day_of, sent, was_done
from app.wording import gettext, later

FIELDS, LISTS = ("name", "role", "valid_until"), ("sites", "kinds")
LOOKS_FOR = dt.timedelta(days=90)  # What an inspector looked at is shown that long; the trail keeps it.
FORM, SWITCH = "settings/fragments/_person_form.html", "settings/fragments/_person_switch.html"


@pages.get("/o/<slug>/settings/people")
@for_roles(*MANAGERS)
def people(visit: Visit) -> ResponseReturnValue:
    after = asked_number("after")
    found = queries.people(visit.act.session, visit.act.org, visit.act.now, after)
    away = away_today(visit.act.session, visit.act.org, visit.today)
    return render_template("settings/people.html", visit=visit, found=found, away=away, today=visit.today)


@pages.get("/o/<slug>/settings/people/new")
@for_roles(*ADMINS)
def new_person(visit: Visit) -> ResponseReturnValue:
    facts: dict[str, Any] = {
        "email": "",
        "name": "",
        "role": Role.staff.value,
        "valid_until": "",
        "sites": [],
        "kinds": [],
    }
    return person_page(visit, Form(facts), None)


@pages.post("/o/<slug>/settings/people")
@for_roles(*ADMINS)
def add_person(visit: Visit) -> ResponseReturnValue:
    form = typed_person("email", "password")
    email, act = form.values["email"], visit.act
    address = form.check("email", fold_address, email)
    if address and queries.is_member(act.session, act.org, address):
        form.faults["email"] = gettext(
            "%(address)s is a member already: open that person, and enable them if they are disabled.", address=address
        )
    hashed = first_password(form)
    site_ids, kind_ids = chosen_sites(visit, form), chosen_kinds(visit, form)
    until = form.check("valid_until", last_day, form.values["valid_until"])

    def deed() -> None:
        member_id = operations.add_member(act, email, form.values["role"], form.values["name"], hashed, until)
        limit(act, member_id, site_ids, kind_ids)

    return back_to(visit, "people") if was_done(act, form, deed) else person_page(visit, form, None)


@pages.get("/o/<slug>/settings/people/<int:member_id>")
@for_roles(*ADMINS)
def person(visit: Visit, member_id: int) -> ResponseReturnValue:
    found = found_person(visit, member_id)
    facts: dict[str, Any] = {
        "email": found.email or "",
        "name": found.name,
        "role": found.role,
        "valid_until": typed.iso(found.valid_until) or "",
        "sites": [str(site) for site in found.site_ids],
        "kinds": [str(kind) for kind in inspectors.kind_ids(visit.act.session, visit.act.org, member_id)],
    }
    return person_page(visit, Form(facts), found)


@pages.post("/o/<slug>/settings/people/<int:member_id>")
@for_roles(*ADMINS)
def change_person(visit: Visit, member_id: int) -> ResponseReturnValue:
    found, act = found_person(visit, member_id), visit.act
    form = typed_person("email", "password", lists=("sign_in",))
    hashed = first_password(form)
    site_ids, kind_ids = chosen_sites(visit, form, found.site_ids), chosen_kinds(visit, form)
    until = form.check("valid_until", last_day, form.values["valid_until"])
    address = request.form.get("email", found.email or "")
    if address:
        form.check("email", fold_address, address)

    def deed() -> None:
        members.change_address(act, member_id, address)
        members.change_member(act, member_id, form.values["name"], form.values["role"], until)
        limit(act, member_id, site_ids, kind_ids)
        if form.values["sign_in"] or hashed:
            accounts.let_in(act, member_id, hashed)

    return back_to(visit, "people") if was_done(act, form, deed) else person_page(visit, form, found)


@pages.post("/o/<slug>/settings/people/<int:member_id>/disable")
@for_roles(*ADMINS)
def disable_person(visit: Visit, member_id: int) -> ResponseReturnValue:
    return switched(visit, member_id, operations.disable_member)


@pages.post("/o/<slug>/settings/people/<int:member_id>/enable")
@for_roles(*ADMINS)
def enable_person(visit: Visit, member_id: int) -> ResponseReturnValue:
    return switched(visit, member_id, operations.enable_member)


@pages.post("/o/<slug>/settings/people/<int:member_id>/phones/forget")
@for_roles(*ADMINS)
def forget_phones(visit: Visit, member_id: int) -> ResponseReturnValue:
    """Sign out every phone of the person, such as a lost one."""
    found_person(visit, member_id)
    accounts.forget_phones(visit.act, member_id)
    return go_to(url_for("settings.person", slug=visit.place.slug, member_id=member_id))


@pages.post("/o/<slug>/settings/people/<int:member_id>/calendar/revoke")
@for_roles(*ADMINS)
def revoke_address(visit: Visit, member_id: int) -> ResponseReturnValue:
    """Let one of the person's calendar addresses lead nowhere."""
    found_person(visit, member_id)
    revoke_asked(visit.act, member_id)
    return go_to(url_for("settings.person", slug=visit.place.slug, member_id=member_id))


def switched(visit: Visit, member_id: int, deed: Callable[..., bool]) -> ResponseReturnValue:
    found, form = found_person(visit, member_id), Form({})
    if was_done(visit.act, form, lambda: deed(visit.act, member_id)):
        return back_to(visit, "people")
    return form_page(visit, SWITCH, found.name, form, person=found)


def person_page(visit: Visit, form: Form, found: PersonLine | None) -> ResponseReturnValue:
    session, org = visit.act.session, visit.act.org
    shown: dict[str, Any] = {
        "sites": list(queries.site_names(session, org, found.site_ids if found else ()).items()),
        "kinds": list(queries.kind_names(session, org).items()),
        **(about(visit, found) if found else {}),
    }
    return form_page(visit, FORM, found.name if found else gettext("Add a person"), form, person=found, **shown)


def about(visit: Visit, found: PersonLine) -> dict[str, Any]:
    """What the page says of a person beside the form."""
    session, org, now = visit.act.session, visit.act.org, visit.act.now
    untold = Untold() if found.hears_mail else without_mail(session, org, found.id, now)
    return {
        "alerts": alerts_words(found, organisation_rest(visit.act)),
        "untold": untold_words(untold, found.name, is_so=True),
        "is_untold": bool(untold.not_told),
        "addresses": feeds_of(session, org, found.id),
        "phones": count_phones(session, org, found.id, now),
        "looks": inspectors.looks(session, org, found.id, now - LOOKS_FOR),
    }


def typed_person(*more: str, lists: tuple[str, ...] = ()) -> Form:
    form = sent(*FIELDS, *more, lists=(*LISTS, *lists))
    form.check("name", typed.one_line, form.values["name"], later("The name"))
    if form.check("role", typed.code, Role, form.values["role"], later("a role")) is None:
        form.faults["role"] = gettext("Choose a role.")
    return form


def first_password(form: Form) -> str | None:
    """The hash of the password that was typed, if any; the password itself is not kept for the page."""
    password = form.values.pop("password")
    return form.check("password", passwords.hashed, password) if password else None


def chosen_sites(visit: Visit, form: Form, present: Collection[int] = ()) -> list[int]:
    """The sites that were ticked; one that was not on the page is not there: 404."""
    return chosen(form, "sites", queries.site_names(visit.act.session, visit.act.org, present))


def chosen_kinds(visit: Visit, form: Form) -> list[int]:
    """The same of the kinds. Somebody made something else than an inspector sees all kinds again."""
    kinds = chosen(form, "kinds", queries.kind_names(visit.act.session, visit.act.org))
    return kinds if form.values["role"] == Role.inspector else []


def limit(act: Act, member_id: int, site_ids: list[int], kind_ids: list[int]) -> None:
    operations.limit_member(act, member_id, site_ids)
    limit_to_kinds(act, member_id, kind_ids)


def chosen(form: Form, name: str, offered: Collection[int]) -> list[int]:
    if not all(one.isdecimal() and int(one) in offered for one in form.values[name]):
        abort(404)
    return sorted({int(one) for one in form.values[name]})


def last_day(text: str) -> dt.date | None:
    """Raises Refused for what is no date, or one outside the years of the register."""
    day = day_of(text)
    return None if day is None else typed.register_day(day, later("The last day"))
