"""The days off that an organisation has of its own, and the calendar that counts at a site."""

from __future__ import annotations

import datetime as dt
from typing import Any

from flask import abort, render_template
from flask.typing import ResponseReturnValue

from app.domain.calendars import known_country
from app.domain.days_off import DayOff
from app.domain.errors import Refused
from app.operations import days_off as operations
from app.operations import typed
from app.operations.calendar_changes import Foresight
from app.queries import days_off as queries
from app.queries import settings
from app.web.access import MANAGERS, Visit, for_roles
from app.web.foreseen import SEEN, foreseen
from app.web.hypermedia import page_or_fragment
from app.web.settings_area import ADMINS, back_to, form_page, or_404, pages
from app.web.settings_sites import found_site
from app.web.typed_form import Form, beside, day_of, sent, was_done
from app.wording import gettext, later

FIELDS = ("name", "on_day", "until_day", "site", "yearly")
PAGE = ("settings/days_off.html", "settings/fragments/_day_off_form.html")
REMOVE = "settings/fragments/_day_off_remove.html"
ALL_SITES = "all"


@pages.get("/o/<slug>/settings/days-off")
@for_roles(*MANAGERS)
def days_off(visit: Visit) -> ResponseReturnValue:
    return days_off_page(visit, Form(dict.fromkeys(FIELDS, "") | {"site": ALL_SITES}))


@pages.post("/o/<slug>/settings/days-off")
@for_roles(*ADMINS)
def add_day_off(visit: Visit) -> ResponseReturnValue:
    """Add it, or show first what it would move."""
    form, facts = typed_day_off(visit)

    def add() -> int:
        return operations.add_day_off(visit.act, **facts)

    foresight = foreseen(visit.act, form, add, facts["period"], facts["site_id"], place=beside("on_day"))
    if foresight is None and was_done(visit.act, form, add, beside("on_day")):
        return back_to(visit, "days_off")
    return days_off_page(visit, form, foresight)


@pages.post("/o/<slug>/settings/days-off/<int:day_off_id>/remove")
@for_roles(*ADMINS)
def remove_day_off(visit: Visit, day_off_id: int) -> ResponseReturnValue:
    """Remove it, or show first what that would move."""
    found, form = or_404(queries.day_off(visit.act.session, visit.act.org, day_off_id)), sent(SEEN)

    def remove() -> bool:
        return operations.remove_day_off(visit.act, day_off_id)

    foresight = foreseen(visit.act, form, remove, day_off_id)
    if foresight is None and was_done(visit.act, form, remove):
        return back_to(visit, "days_off")
    return form_page(
        visit, REMOVE, gettext("Work again: %(name)s", name=found.name), form, found=found, foresight=foresight
    )


@pages.get("/o/<slug>/settings/sites/<int:site_id>/calendar")
@for_roles(*MANAGERS)
def site_calendar(visit: Visit, site_id: int) -> ResponseReturnValue:
    """The days of the next year that Onus does not count as others of their name."""
    site = found_site(visit, site_id)
    lines = queries.at_site(queries.days_off(visit.act.session, visit.act.org), site_id)
    calendar = queries.calendar_at(lines, site_id, site.country, site.region)
    days = queries.special_days(calendar, lines, site.today) if site.today else []
    is_known = bool(site.country and known_country(site.country))
    return render_template("settings/site_calendar.html", visit=visit, site=site, days=days, is_known=is_known)


def days_off_page(visit: Visit, form: Form, foresight: Foresight | None = None) -> ResponseReturnValue:
    session, org = visit.act.session, visit.act.org
    offered = [(ALL_SITES, gettext("All sites")), *settings.site_names(session, org).items()]
    facts = {"found": queries.days_off(session, org), "offered": offered, "foresight": foresight}
    return page_or_fragment(*PAGE, form.status, visit=visit, form=form, **facts)


def typed_day_off(visit: Visit) -> tuple[Form, dict[str, Any]]:
    """What was typed, each field checked by itself, and the facts for the operation."""
    form = sent(*FIELDS)
    form.check("name", typed.one_line, form.values["name"], later("The name of the days off"))
    first = form.check("on_day", first_day, form.values["on_day"])
    last = form.check("until_day", day_of, form.values["until_day"]) or first
    period = DayOff(first or dt.date.min, last or dt.date.min, bool(form.values["yearly"]))
    if not form.is_wrong:
        form.check("until_day" if form.values["until_day"] else "on_day", operations.check_period, period)
    return form, {"name": form.values["name"], "period": period, "site_id": chosen_site(visit, form)}


def first_day(text: str) -> dt.date:
    day = day_of(text)
    if day is None:
        raise Refused("Choose the first day.")
    return day


def chosen_site(visit: Visit, form: Form) -> int | None:
    """The site, or None for all of them; one that was not offered is not there: 404."""
    chosen = form.values["site"]
    if not chosen:
        form.faults["site"] = gettext("Choose a site, or all sites.")
    if chosen in ("", ALL_SITES):
        return None
    offered = settings.site_names(visit.act.session, visit.act.org)
    return int(chosen) if chosen in {str(site_id) for site_id in offered} else abort(404)
