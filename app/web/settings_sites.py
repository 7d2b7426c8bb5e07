"""The sites: places with their own calendar. A change of zone, country or hour decides when something is told."""

from __future__ import annotations

import functools
import zoneinfo
from typing import Any

from flask import render_template
from flask.typing import ResponseReturnValue

from app.domain import calendars
from app.operations import people, places, typed
from app.operations.calendar_changes import Foresight
from app.queries import settings as queries
from app.queries.settings import SiteLine
from app.web.access import MANAGERS, Visit, for_roles
from app.web.foreseen import foreseen
from app.web.listing import asked_number
from app.web.settings_area import ADMINS, back_to, form_page, or_404, pages
from app.web.typed_form import Form, beside, sent, time_of, was_done
from app.wording import gettext

FIELDS = ("name", "timezone", "country", "region", "alert_from")
FORM, ARCHIVE = "settings/fragments/_site_form.html", "settings/fragments/_site_archive.html"


@functools.cache
def zones() -> list[str]:
    """The names that a person may choose from; others of the zone database are understood, too."""
    return sorted(name for name in zoneinfo.available_timezones() if "/" in name and not name.startswith("Etc/"))


@pages.get("/o/<slug>/settings/sites")
@for_roles(*MANAGERS)
def sites(visit: Visit) -> ResponseReturnValue:
    after = asked_number("after")
    found = queries.sites(visit.act.session, visit.act.org, visit.act.now, after)
    return render_template("settings/sites.html", visit=visit, found=found, seen=visit.sight.sites)


@pages.get("/o/<slug>/settings/sites/new")
@for_roles(*ADMINS)
def new_site(visit: Visit) -> ResponseReturnValue:
    form = Form(dict.fromkeys(FIELDS, "") | {"timezone": visit.place.timezone, "alert_from": "00:00"})
    return site_page(visit, form, None)


@pages.post("/o/<slug>/settings/sites")
@for_roles(*ADMINS)
def add_site(visit: Visit) -> ResponseReturnValue:
    form, facts = typed_site()
    if was_done(visit.act, form, lambda: places.add_site(visit.act, **facts), beside("name")):
        return back_to(visit, "sites")
    return site_page(visit, form, None)


@pages.get("/o/<slug>/settings/sites/<int:site_id>")
@for_roles(*ADMINS)
def site(visit: Visit, site_id: int) -> ResponseReturnValue:
    found = found_site(visit, site_id)
    facts = {name: getattr(found, name) or "" for name in FIELDS[:4]}
    return site_page(visit, Form(facts | {"alert_from": f"{found.alert_from:%H:%M}"}), found)


@pages.post("/o/<slug>/settings/sites/<int:site_id>")
@for_roles(*ADMINS)
def change_site(visit: Visit, site_id: int) -> ResponseReturnValue:
    """Save it; or, where another zone, country or region would move something, show that first."""
    found, (form, facts), foresight = found_site(visit, site_id), typed_site(), None

    def change() -> bool:
        return places.change_site(visit.act, site_id, **facts)

    place = {name: facts[name] for name in ("timezone", "country", "region")}
    if any(getattr(found, name) != value for name, value in place.items()):
        foresight = foreseen(visit.act, form, change, *place.values(), place=beside("name"))
    if foresight is None and was_done(visit.act, form, change, beside("name")):
        return back_to(visit, "sites")
    return site_page(visit, form, found, foresight)


@pages.post("/o/<slug>/settings/sites/<int:site_id>/archive")
@for_roles(*ADMINS)
def archive_site(visit: Visit, site_id: int) -> ResponseReturnValue:
    found, form = found_site(visit, site_id), Form({})
    if was_done(visit.act, form, lambda: people.archive_unwatched_site(visit.act, site_id)):
        return back_to(visit, "sites")
    return form_page(visit, ARCHIVE, gettext("Archive %(name)s", name=found.name), form, site=found)


def found_site(visit: Visit, site_id: int) -> SiteLine:
    return or_404(queries.site(visit.act.session, visit.act.org, visit.act.now, site_id))


def site_page(
    visit: Visit, form: Form, found: SiteLine | None, foresight: Foresight | None = None
) -> ResponseReturnValue:
    heading = gettext("Site %(name)s", name=found.name) if found else gettext("Add a site")
    return form_page(visit, FORM, heading, form, site=found, zones=zones(), foresight=foresight)


def typed_site() -> tuple[Form, dict[str, Any]]:
    """What was typed, each field checked by itself, and the facts for the operation."""
    form = sent(*FIELDS)
    typed_values = {name: value.strip() for name, value in form.values.items()}
    form.check("name", typed.one_line, typed_values["name"], people.SITE_NAME)
    form.check("timezone", calendars.check_zone, typed_values["timezone"])
    if form.check("country", people.place_of, typed_values["country"], None) is not None:
        form.check("region", people.place_of, typed_values["country"], typed_values["region"])
    alert_from = form.check("alert_from", time_of, typed_values["alert_from"])
    places_of = {name: typed_values[name] or None for name in ("country", "region")}
    return form, {
        **places_of,
        "name": typed_values["name"],
        "timezone": typed_values["timezone"],
        "alert_from": alert_from,
    }
