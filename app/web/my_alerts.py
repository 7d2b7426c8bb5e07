"""My alerts: when e-mail goes to the person who looks, and whether any does; and the same for administrators about
anybody. What is left untold without e-mail is said before it is switched off, and as long as it is.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from flask import Blueprint, Response, request, url_for
from flask.typing import ResponseReturnValue

from app.domain import calendars
from app.domain.acts import Role
from app.domain.mail_hours import Rest
from app.operations import languages, mail_hours, people
from app.operations.mail_hours import OwnHours
from app.queries import settings as queries
from app.queries.hours_set import set_by_another
from app.queries.settings import PersonLine
from app.queries.untold import Untold, without_mail
from app.queries.untold_entries import untold_entries
from app.web.access import READERS, Visit, for_roles
from app.web.hours_texts import rest_words, untold_words
from app.web.hypermedia import go_to, page_or_fragment
from app.web.settings_area import ADMINS, or_404
from app.web.settings_area import pages as settings_pages
from app.web.settings_sites import zones
from app.web.typed_form import Form, sent, was_done
from app.wording import by_own_name, gettext

pages = Blueprint("my_alerts", __name__)

EVERYBODY = tuple(Role)
OWN_PAGE, PERSONS_PAGE = "my_alerts/index.html", "my_alerts/person.html"
FRAGMENT = "my_alerts/fragments/_form.html"
TEXTS = (
    "language",
    "email_alerts",
    "mail",
    "daily_at",
    "rest",
    "rest_from",
    "rest_until",
    "timezone",
    "country",
    "region",
)
ON, OFF, DAILY, AT_ONCE = "on", "off", "daily", "at_once"
OWN, NONE, OF_ALL = "own", "none", "organisation"
CHOICES = {"email_alerts": (ON, OFF), "mail": (AT_ONCE, DAILY), "rest": (OF_ALL, OWN, NONE)}


@pages.get("/o/<slug>/my-alerts")
@for_roles(*EVERYBODY)
def index(visit: Visit) -> ResponseReturnValue:
    found = found_person(visit, visit.person.member_id)
    return shown(visit, found, Form(present(visit, found)))


@pages.post("/o/<slug>/my-alerts")
@for_roles(*EVERYBODY)
def save(visit: Visit) -> ResponseReturnValue:
    return saved(visit, found_person(visit, visit.person.member_id))


@settings_pages.get("/o/<slug>/settings/people/<int:member_id>/alerts")
@for_roles(*ADMINS)
def person_alerts(visit: Visit, member_id: int) -> ResponseReturnValue:
    found = found_person(visit, member_id)
    return shown(visit, found, Form(present(visit, found)), is_own=False)


@settings_pages.post("/o/<slug>/settings/people/<int:member_id>/alerts")
@for_roles(*ADMINS)
def save_person_alerts(visit: Visit, member_id: int) -> ResponseReturnValue:
    return saved(visit, found_person(visit, member_id), is_own=False)


def saved(visit: Visit, found: PersonLine, *, is_own: bool = True) -> ResponseReturnValue:
    form = sent(*TEXTS, lists=("rest_days_off", "sure"))
    hours, wants_mail = typed_hours(form), form.values["email_alerts"] != OFF
    language = form.check("language", languages.check_language, form.values["language"] or found.locale)
    if found.hears_mail and not wants_mail and not form.values["sure"]:
        look_first(visit, form, found, is_own)

    def deed() -> None:
        mail_hours.set_hours(visit.act, found.id, hours)
        people.set_email_alerts(visit.act, found.id, wants_mail)
        languages.set_language(visit.act, found.id, language or found.locale, everywhere=is_own)

    if was_done(visit.act, form, deed):
        return go_to(f"{here(visit, found.id, is_own)}?saved=yes")
    return shown(visit, found, form, is_own=is_own)


def look_first(visit: Visit, form: Form, found: PersonLine, is_own: bool) -> None:
    """Say beside the field what would be left untold, before it is: nothing is saved until that was confirmed."""
    untold = without_mail(visit.act.session, visit.act.org, found.id, visit.act.now)
    if untold.is_any:
        words = untold_words(untold, None if is_own else found.name)
        form.faults["email_alerts"] = gettext("Nothing is saved yet. %(what)s", what=words)
        form.values["untold"] = True


def present(visit: Visit, found: PersonLine) -> dict[str, Any]:
    """The form as the person's hours are."""
    hours = mail_hours.hours_of(visit.act, found.id)
    rest = hours.rest or Rest()
    return {
        "language": found.locale,
        "email_alerts": ON if found.email_alerts else OFF,
        "mail": AT_ONCE if hours.daily_at is None else DAILY,
        "daily_at": clock_time(hours.daily_at),
        "rest": OF_ALL if hours.rest is None else NONE if rest.is_none else OWN,
        **rest_fields(rest),
        "timezone": hours.timezone or "",
        "country": hours.country or "",
        "region": hours.region or "",
    }


def shown(visit: Visit, found: PersonLine, form: Form, *, is_own: bool = True) -> Response:
    """The person's own page, or that of somebody else, whom it names."""
    session, act = visit.act.session, visit.act
    untold = Untold() if found.hears_mail else without_mail(session, act.org, found.id, act.now)
    name = None if is_own else found.name
    facts = {
        "name": name,
        "here": here(visit, found.id, is_own),
        "saved": "saved" in request.args and not form.is_wrong,
        "email": found.email,
        "zones": zones(),
        "languages": by_own_name(),
        "rest_of_all": rest_words(mail_hours.organisation_rest(act)),
        "set_by": set_by_another(session, act.org, found.id, act.now),
        "untold_words": untold_words(untold, name, is_so=True),
        "untold": untold_entries(session, visit.sight, untold.not_told),
        "opens_entries": visit.person.role in READERS,
    }
    page = OWN_PAGE if is_own else PERSONS_PAGE
    return page_or_fragment(page, FRAGMENT, form.status, visit=visit, form=form, person=found, **facts)


def here(visit: Visit, member_id: int, is_own: bool) -> str:
    if is_own:
        return url_for("my_alerts.index", slug=visit.place.slug)
    return url_for("settings.person_alerts", slug=visit.place.slug, member_id=member_id)


def found_person(visit: Visit, member_id: int) -> PersonLine:
    return or_404(queries.person(visit.act.session, visit.act.org, visit.act.now, member_id))


def typed_hours(form: Form) -> OwnHours:
    """What was typed, each field checked by itself. What is not chosen is not read."""
    values = {name: form.values[name].strip() for name in TEXTS}
    form.faults |= {
        name: gettext("Choose one of these.") for name, codes in CHOICES.items() if values[name] not in codes
    }
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
