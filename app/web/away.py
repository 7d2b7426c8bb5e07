"""Away, with a stand-in: a person's own page, and the same for compliance managers about anybody."""

from __future__ import annotations

import datetime as dt

from flask import Blueprint, Response, abort, request, url_for
from flask.typing import ResponseReturnValue

from app.domain.acts import Role
from app.domain.errors import Phrase, Refused
from app.operations import absences, typed
from app.queries import settings as queries
from app.queries.absences import absences_of, covered_by
from app.web.access import MANAGERS, Visit, for_roles
from app.web.entry_people import candidates_for
from app.web.hypermedia import go_to, page_or_fragment
from app.web.listing import MOST_DIGITS
from app.web.settings_area import or_404
from app.web.settings_area import pages as settings_pages
from app.web.settings_posts import chosen
from app.web.typed_form import Form, day_of, sent, was_done
from app.wording import later

pages = Blueprint("away", __name__)

ANSWERING = (Role.admin, Role.officer, Role.staff)
FIELDS = ("from_on", "until_on", "stand_in", "note")
OWN, OF_PERSON = "away/index.html", "away/person.html"
FRAGMENT = "away/fragments/_absences.html"


@pages.get("/o/<slug>/away")
@for_roles(*ANSWERING)
def index(visit: Visit) -> ResponseReturnValue:
    return shown(visit, visit.person.member_id, empty())


@pages.post("/o/<slug>/away")
@for_roles(*ANSWERING)
def enter(visit: Visit) -> ResponseReturnValue:
    return entered(visit, visit.person.member_id)


@pages.post("/o/<slug>/away/end")
@for_roles(*ANSWERING)
def end(visit: Visit) -> ResponseReturnValue:
    return ended(visit, visit.person.member_id)


@settings_pages.get("/o/<slug>/settings/people/<int:member_id>/away")
@for_roles(*MANAGERS)
def person_away(visit: Visit, member_id: int) -> ResponseReturnValue:
    return shown(visit, member_id, empty(), found_name(visit, member_id))


@settings_pages.post("/o/<slug>/settings/people/<int:member_id>/away")
@for_roles(*MANAGERS)
def enter_person_away(visit: Visit, member_id: int) -> ResponseReturnValue:
    return entered(visit, member_id, found_name(visit, member_id))


@settings_pages.post("/o/<slug>/settings/people/<int:member_id>/away/end")
@for_roles(*MANAGERS)
def end_person_away(visit: Visit, member_id: int) -> ResponseReturnValue:
    return ended(visit, member_id, found_name(visit, member_id))


def entered(visit: Visit, member_id: int, name: str | None = None) -> ResponseReturnValue:
    form, act = sent(*FIELDS), visit.act
    days = [form.check(field, absence_day, form.values[field], words) for field, words in DAYS]
    stand_in = chosen(form, "stand_in", dict(offered(visit, member_id)), "") or None
    form.faults = {field: words for field, words in form.faults.items() if words}
    note, by = form.values["note"], visit.person.member_id

    def deed() -> None:
        first, last = days
        if first is not None and last is not None:
            absences.enter_absence(act, member_id, first, last, stand_in, note, by)

    return go_to(here(visit, member_id, name)) if was_done(act, form, deed) else shown(visit, member_id, form, name)


def ended(visit: Visit, member_id: int, name: str | None = None) -> ResponseReturnValue:
    try:
        absences.end_absence(visit.act, member_id, asked_absence())
    except LookupError:
        abort(404)
    return go_to(here(visit, member_id, name))


def shown(visit: Visit, member_id: int, form: Form, name: str | None = None) -> Response:
    """The person's own page, or that of somebody else, who has a name."""
    session, org, day = visit.act.session, visit.act.org, visit.today
    view = {
        "lines": absences_of(session, org, member_id, day),
        "covering": covered_by(session, org, member_id, day),
        "people": offered(visit, member_id),
        "here": here(visit, member_id, name),
    }
    page = OWN if name is None else OF_PERSON
    return page_or_fragment(page, FRAGMENT, form.status, visit=visit, form=form, name=name, member_id=member_id, **view)


def here(visit: Visit, member_id: int, name: str | None) -> str:
    if name is None:
        return url_for("away.index", slug=visit.place.slug)
    return url_for("settings.person_away", slug=visit.place.slug, member_id=member_id)


def offered(visit: Visit, member_id: int) -> list[tuple[int, str]]:
    """Who can stand in: the others who are there."""
    return [(one.id, one.name) for one in candidates_for(visit, visit.sight.in_use) if one.id != member_id]


def found_name(visit: Visit, member_id: int) -> str:
    return or_404(queries.person(visit.act.session, visit.act.org, visit.act.now, member_id)).name


def asked_absence() -> int:
    """The absence that the form names; what is no number is not there."""
    named = request.form.get("absence", "")
    return int(named) if named.isascii() and named.isdecimal() and len(named) <= MOST_DIGITS else abort(404)


DAYS = (("from_on", later("Choose the first day.")), ("until_on", later("Choose the last day.")))


def absence_day(text: str, words: str) -> dt.date:
    """Raises Refused for an empty field, for what is no date, and for one outside the years of the register."""
    day = day_of(text)
    if day is None:
        raise Refused(words)
    return typed.register_day(day, Phrase("The day"))


def empty() -> Form:
    return Form(dict.fromkeys(FIELDS, ""))
