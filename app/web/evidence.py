"""Evidence: what officers and inspectors look up. It changes nothing; whoever is limited to sites sees these alone.

The messages that need a decision are in `messages.py`, under the same blueprint.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from flask import Blueprint, abort, url_for
from flask.typing import ResponseReturnValue

from app.operations import gaps
from app.queries.alert import read_alert
from app.queries.alerts import AlertState, read_alerts, read_unaddressed, read_undelivered, rules_by_name
from app.queries.evidence import read_overview
from app.queries.missing import read_missing
from app.queries.off_watch import read_taken_off
from app.queries.queues import Queue, read_queue
from app.queries.scans import read_checks, read_silences
from app.web.access import MANAGERS, READERS, Visit, for_roles
from app.web.evidence_filters import asked_alerts, asked_period, last_days
from app.web.hypermedia import go_to, page_or_fragment
from app.web.listing import asked_after, asked_site, named, next_page
from app.web.message_texts import late_because, of_alert
from app.web.typed_form import Form, sent, was_done
from app.words import word

pages = Blueprint("evidence", __name__)


@pages.get("/o/<slug>/evidence")
@for_roles(*READERS)
def index(visit: Visit) -> ResponseReturnValue:
    period = last_days(visit)
    overview = read_overview(visit.act.session, visit.sight, *period.instants)
    return page_or_fragment(
        "evidence/index.html", "evidence/fragments/_overview.html", visit=visit, overview=overview, period=period
    )


@pages.get("/o/<slug>/evidence/undelivered")
@for_roles(*READERS)
def undelivered(visit: Visit) -> ResponseReturnValue:
    page = read_undelivered(visit.act.session, visit.sight, asked_after())
    return listing(visit, "undelivered", page=page, more=next_page(page))


@pages.get("/o/<slug>/evidence/nobody-to-tell")
@for_roles(*READERS)
def unaddressed(visit: Visit) -> ResponseReturnValue:
    page = read_unaddressed(visit.act.session, visit.sight, asked_after())
    return listing(visit, "unaddressed", page=page, more=next_page(page))


@pages.get("/o/<slug>/evidence/missing")
@for_roles(*READERS)
def missing(visit: Visit) -> ResponseReturnValue:
    found = read_missing(visit.act.session, visit.sight)
    return page_or_fragment("evidence/missing.html", "today/fragments/_missing.html", visit=visit, missing=found)


@pages.get("/o/<slug>/evidence/silent")
@for_roles(*READERS)
def silent(visit: Visit) -> ResponseReturnValue:
    sight = visit.sight
    site_id = asked_site(sight)
    page = read_queue(visit.act.session, sight, Queue.silent, site_id, asked_after())
    shown = {"named_sites": named(sight.in_use), "queue": Queue.silent}
    return listing(visit, "silent", 200, page=page, more=next_page(page), site_id=site_id, **shown)


@pages.get("/o/<slug>/evidence/alerts")
@for_roles(*READERS)
def alerts(visit: Visit) -> ResponseReturnValue:
    sight, rules = visit.sight, rules_by_name(visit.act.session, visit.act.org)
    wanted, typed = asked_alerts(sight, rules)
    page = read_alerts(visit.act.session, sight, wanted, visit.place.timezone, asked_after())
    choices = {"named_sites": named(sight.sites.values()), "rules": rules, "states": named_states()}
    shown = {"page": page, "more": next_page(page), "wanted": wanted, "typed": typed}
    return listing(visit, "alerts", 422 if typed.faults else 200, **choices, **shown)


def named_states() -> list[tuple[AlertState, str]]:
    return [(state, word(state, "alert_state")) for state in AlertState]


@pages.get("/o/<slug>/evidence/alerts/<int:claim_id>")
@for_roles(*READERS)
def alert(visit: Visit, claim_id: int) -> ResponseReturnValue:
    found = read_alert(visit.act.session, visit.sight, claim_id)
    if found is None:
        abort(404)
    shown: dict[str, Any] = {
        "alert": found,
        "line": found.line,
        "messages": of_alert(found),
        "late": late_because(found),
    }
    return page_or_fragment("evidence/alert.html", "evidence/fragments/_alert.html", visit=visit, **shown)


@pages.get("/o/<slug>/evidence/checks")
@for_roles(*READERS)
def checks(visit: Visit) -> ResponseReturnValue:
    return checks_page(visit, Form({}))


@pages.post("/o/<slug>/evidence/checks")
@for_roles(*MANAGERS)
def explain_gap(visit: Visit) -> ResponseReturnValue:
    form = sent("since", "note")
    if was_done(visit.act, form, lambda: gaps.explain(visit.act, instant_or_none(form), form.values["note"])):
        return go_to(url_for("evidence.checks", slug=visit.place.slug))
    return checks_page(visit, form)


def instant_or_none(form: Form) -> dt.datetime | None:
    """The hidden field of the form, which only somebody who tampers makes anything else."""
    try:
        found = dt.datetime.fromisoformat(form.values["since"])
    except ValueError:
        return None
    return found if found.tzinfo else None


def checks_page(visit: Visit, form: Form) -> ResponseReturnValue:
    sight, period = visit.sight, last_days(visit)
    page = read_checks(visit.act.session, sight, asked_after())
    shown = {"gaps": read_silences(visit.act.session, sight, period.instants[0]), "period": period, "sight": sight}
    said = {"typed": form.values, "fault": form.refusal}
    return listing(visit, "checks", form.status, page=page, more=next_page(page), **shown, **said)


@pages.get("/o/<slug>/evidence/off-the-watch")
@for_roles(*READERS)
def taken_off(visit: Visit) -> ResponseReturnValue:
    period = asked_period(visit)
    page = read_taken_off(visit.act.session, visit.sight, *period.instants, asked_after())
    status = 422 if period.faults else 200
    return listing(visit, "taken_off", status, page=page, more=next_page(page), period=period)


def listing(visit: Visit, name: str, status: int = 200, **shown: object) -> ResponseReturnValue:
    """The page of a list, or its rows."""
    return page_or_fragment(f"evidence/{name}.html", f"evidence/fragments/_{name}.html", status, visit=visit, **shown)
