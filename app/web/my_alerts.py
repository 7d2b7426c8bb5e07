"""My alerts: when e-mail goes to the person who looks, and whether any does. For every role; nobody else's are here."""

from __future__ import annotations

import datetime as dt
from typing import Any

from flask import Blueprint, Response, request, url_for
from flask.typing import ResponseReturnValue

from app.domain import calendars
from app.domain.acts import Role
from app.domain.mail_hours import Rest
from app.operations import mail_hours, people
from app.operations.mail_hours import OwnHours
from app.queries import settings as queries
from app.queries.untold import without_mail
from app.web.access import Visit, for_roles
from app.web.hours_texts import rest_words, untold_words
from app.web.hypermedia import go_to, page_or_fragment
from app.web.settings_area import or_404
from app.web.settings_sites import zones
from app.web.typed_form import Form, sent, was_done

pages = Blueprint("my_alerts", __name__)

EVERYBODY = tuple(Role)
PAGE = ("my_alerts/index.html", "my_alerts/fragments/_form.html")
TEXTS = ("email_alerts", "mail", "daily_at", "rest", "rest_from", "rest_until", "timezone", "country", "region")
ON, OFF, DAILY, AT_ONCE = "on", "off", "daily", "at_once"
OWN, NONE, OF_ALL = "own", "none", "organisation"
CHOICES = {"email_alerts": (ON, OFF), "mail": (AT_ONCE, DAILY), "rest": (OF_ALL, OWN, NONE)}


@pages.get("/o/<slug>/my-alerts")
@for_roles(*EVERYBODY)
def index(visit: Visit) -> ResponseReturnValue:
    return own_page(visit, Form(present(visit)))


@pages.post("/o/<slug>/my-alerts")
@for_roles(*EVERYBODY)
def save(visit: Visit) -> ResponseReturnValue:
    form = sent(*TEXTS, lists=("rest_days_off", "sure"))
    hours, wants_mail = typed_hours(form), form.values["email_alerts"] != OFF
    if not wants_mail and not form.values["sure"]:
        look_first(visit, form, visit.person.member_id, "email_alerts")

    def deed() -> None:
        mail_hours.set_hours(visit.act, visit.person.member_id, hours)
        people.set_email_alerts(visit.act, visit.person.member_id, wants_mail)

    if was_done(visit.act, form, deed):
        return go_to(url_for("my_alerts.index", slug=visit.place.slug, saved="yes"))
    return own_page(visit, form)


def look_first(visit: Visit, form: Form, member_id: int, beside: str, person: str | None = None) -> None:
    """Say beside the field what would be left untold, before it is: nothing is saved until that was confirmed."""
    untold = without_mail(visit.act.session, visit.act.org, member_id, visit.act.now)
    if untold.is_any:
        form.faults[beside] = f"Nothing is saved yet. {untold_words(untold, person)}"
        form.values["untold"] = True


def present(visit: Visit) -> dict[str, Any]:
    """The form as the person's hours are."""
    hours = mail_hours.hours_of(visit.act, visit.person.member_id)
    line = own_line(visit)
    rest = hours.rest or Rest()
    return {
        "email_alerts": ON if line.email_alerts else OFF,
        "mail": AT_ONCE if hours.daily_at is None else DAILY,
        "daily_at": clock_time(hours.daily_at),
        "rest": OF_ALL if hours.rest is None else NONE if rest.is_none else OWN,
        **rest_fields(rest),
        "timezone": hours.timezone or "",
        "country": hours.country or "",
        "region": hours.region or "",
    }


def own_line(visit: Visit) -> queries.PersonLine:
    return or_404(queries.person(visit.act.session, visit.act.org, visit.act.now, visit.person.member_id))


def own_page(visit: Visit, form: Form) -> Response:
    rest_of_all = rest_words(mail_hours.organisation_rest(visit.act))
    is_saved = "saved" in request.args and not form.is_wrong
    facts = {"visit": visit, "form": form, "saved": is_saved, "email": own_line(visit).email, "zones": zones()}
    return page_or_fragment(*PAGE, form.status, rest_of_all=rest_of_all, **facts)


def typed_hours(form: Form) -> OwnHours:
    """What was typed, each field checked by itself. What is not chosen is not read."""
    values = {name: form.values[name].strip() for name in TEXTS}
    form.faults |= {name: "Choose one of these." for name, codes in CHOICES.items() if values[name] not in codes}
    daily_at = form.check("daily_at", mail_hours.hour, values["daily_at"]) if values["mail"] == DAILY else None
    if values["timezone"]:
        form.check("timezone", calendars.check_zone, values["timezone"])
    if form.check("country", people.place_of, values["country"], None) is not None:
        form.check("region", people.place_of, values["country"], values["region"])
    place = {name: values[name] or None for name in ("timezone", "country", "region")}
    return OwnHours(daily_at, typed_rest(form, values["rest"]), **place)


def typed_rest(form: Form, choice: str = OWN) -> Rest | None:
    """The rest time that was typed, if one's own was chosen: hours, days off or both."""
    if choice != OWN:
        return Rest() if choice == NONE else None
    hours = [
        form.check(name, mail_hours.hour, form.values[name]) if form.values[name].strip() else None
        for name in ("rest_from", "rest_until")
    ]
    if form.faults.keys() & {"rest_from", "rest_until"}:
        return None
    return form.check("rest_until", Rest, *hours, bool(form.values["rest_days_off"]))


def rest_fields(rest: Rest) -> dict[str, Any]:
    days_off = ["yes"] if rest.days_off else []
    return {"rest_from": clock_time(rest.begins), "rest_until": clock_time(rest.ends), "rest_days_off": days_off}


def clock_time(hour: dt.time | None) -> str:
    return f"{hour:%H:%M}" if hour else ""
