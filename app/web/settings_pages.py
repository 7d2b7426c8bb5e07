"""Settings: the organisation itself; the pages of its sites, kinds, people and posts stand beside this file."""

from __future__ import annotations

from flask import render_template
from flask.typing import ResponseReturnValue

from app.operations import mail_hours, places, typed
from app.web import (
    people_import,
    settings_days_off,
    settings_kinds,
    settings_leaving,
    settings_people,
    settings_posts,
    settings_ready,
    settings_sites,
)
from app.web.access import MANAGERS, Visit, for_roles
from app.web.hours_texts import rest_words
from app.web.hypermedia import page_or_fragment
from app.web.my_alerts import rest_fields, typed_rest
from app.web.settings_area import ADMINS, back_to, pages
from app.web.typed_form import Form, sent, was_done, whole_number
from app.wording import later

# Each of these modules adds its pages to the one blueprint.
__all__ = [
    "pages",
    "people_import",
    "settings_days_off",
    "settings_kinds",
    "settings_leaving",
    "settings_people",
    "settings_posts",
    "settings_ready",
    "settings_sites",
]


@pages.get("/o/<slug>/settings")
@for_roles(*MANAGERS)
def index(visit: Visit) -> ResponseReturnValue:
    hours = int(visit.place.grace_period.total_seconds()) // 3600
    rest = mail_hours.organisation_rest(visit.act)
    form = Form({"name": visit.place.name, "hours": str(hours), **rest_fields(rest)})
    return render_template("settings/index.html", visit=visit, form=form, hours=hours, rest=rest_words(rest))


@pages.post("/o/<slug>/settings")
@for_roles(*ADMINS)
def change_organisation(visit: Visit) -> ResponseReturnValue:
    form = sent("name", "hours", "rest_from", "rest_until", lists=("rest_days_off",))
    form.check("name", typed.one_line, form.values["name"], later("The name"))
    hours = form.check("hours", whole_number, form.values["hours"])
    if hours is not None:
        form.check("hours", places.check_grace, hours)
    rest = typed_rest(form)

    def deed() -> None:
        places.change_organisation(visit.act, form.values["name"], hours or 0)
        mail_hours.set_organisation_rest(visit.act, rest or mail_hours.NO_REST)

    if was_done(visit.act, form, deed):
        return back_to(visit, "index")
    page = ("settings/index.html", "settings/fragments/_organisation.html")
    return page_or_fragment(*page, form.status, visit=visit, form=form, hours=hours)
