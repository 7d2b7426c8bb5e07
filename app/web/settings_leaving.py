"""Leaving: one page with everything that hangs on a person, and one act that hands it over, seen before it is done."""

from __future__ import annotations

import datetime as dt

from flask import Response, abort, request, url_for
from flask.typing import ResponseReturnValue

from app.domain.acts import Held
from app.domain.errors import Refused
from app.operations import departures, typed
from app.queries.leaving import Load, read_load
from app.queries.register_choices import read_posts
from app.web.access import Visit, for_roles
from app.web.entry_people import MEMBER, POST, candidates_for
from app.web.hypermedia import go_to, page_or_fragment
from app.web.my_alerts import found_person
from app.web.settings_area import ADMINS, pages
from app.web.typed_form import Form, day_of, sent, was_done
from app.wording import gettext, later

FIELDS = ("leaves_on", "to", "about")
PAGE = ("settings/leaving.html", "settings/fragments/_leaving.html")
HELD = (
    (Held.hand_over, later("Hand them over, too: they are about the person as the one in charge")),
    (Held.archive, later("Archive them: they are about the person alone, such as a training")),
)


@pages.get("/o/<slug>/settings/people/<int:member_id>/leaving")
@for_roles(*ADMINS)
def leaving(visit: Visit, member_id: int) -> ResponseReturnValue:
    form = Form({"leaves_on": visit.today.isoformat(), "to": "", "about": Held.hand_over.value})
    return leaving_page(visit, member_id, form)


@pages.post("/o/<slug>/settings/people/<int:member_id>/leaving")
@for_roles(*ADMINS)
def leave(visit: Visit, member_id: int) -> ResponseReturnValue:
    """Show what would be handed over; with `sure` do it."""
    found_person(visit, member_id)
    form = sent(*FIELDS)
    day = form.check("leaves_on", leaving_day, form.values["leaves_on"])
    heir = heir_of(visit, member_id, form)

    def look() -> None:
        if day is not None:
            departures.check_heir(visit.act, member_id, day, heir.get("to_member_id"), heir.get("to_post_id"))

    def deed() -> None:
        if day is not None:
            by = visit.person.member_id
            departures.leave(visit.act, member_id, day, **heir, about=form.values["about"], entered_by=by)

    is_sure = "sure" in request.form
    is_fine = was_done(visit.act, form, deed if is_sure else look)
    if is_fine and is_sure:
        return go_to(url_for("settings.leaving", slug=visit.place.slug, member_id=member_id))
    return leaving_page(visit, member_id, form, day if is_fine else None)


@pages.post("/o/<slug>/settings/people/<int:member_id>/staying")
@for_roles(*ADMINS)
def stay(visit: Visit, member_id: int) -> ResponseReturnValue:
    found_person(visit, member_id)
    departures.stay(visit.act, member_id)
    return go_to(url_for("settings.leaving", slug=visit.place.slug, member_id=member_id))


def leaving_page(visit: Visit, member_id: int, form: Form, day: dt.date | None = None) -> Response:
    """With a day, what would happen on it."""
    found = found_person(visit, member_id)
    load: Load = read_load(visit.act.session, visit.act.org, member_id, visit.today)
    heirs = heirs_of(visit, member_id)
    about = [(value, gettext(words)) for value, words in HELD]
    view = {"person": found, "load": load, "heirs": heirs, "about": about, "day": day, "today": visit.today}
    name = dict(heirs).get(form.values["to"])
    return page_or_fragment(*PAGE, form.status, visit=visit, form=form, heir=name, **view)


def heirs_of(visit: Visit, member_id: int) -> list[tuple[str, str]]:
    """Who can take over: the others who are there, and the posts."""
    people = candidates_for(visit, visit.sight.in_use)
    found = [(f"{MEMBER}:{one.id}", one.name) for one in people if one.id != member_id]
    posts = read_posts(visit.act.session, visit.act.org)
    return found + [
        (f"{POST}:{post.id}", gettext("%(post)s (post: whoever holds it)", post=post.name)) for post in posts
    ]


def heir_of(visit: Visit, member_id: int, form: Form) -> dict[str, int]:
    """Who was chosen, as an argument; one that was not on the page is not there: 404."""
    chosen = form.values["to"]
    if not chosen:
        form.faults["to"] = gettext("Choose who takes over.")
        return {}
    if chosen not in dict(heirs_of(visit, member_id)):
        abort(404)
    route, _, number = chosen.partition(":")
    return {"to_member_id" if route == MEMBER else "to_post_id": int(number)}


def leaving_day(text: str) -> dt.date:
    day = day_of(text)
    if day is None:
        raise Refused("Choose the first day on which the person is not there.")
    return typed.register_day(day, later("The day"))
