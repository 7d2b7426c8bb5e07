"""The inbox: what a person was told in the app, and their answers. Phone first; every button works without script."""

from __future__ import annotations

import datetime as dt
from typing import Any

from flask import Blueprint, Response, abort, render_template, request, url_for
from flask.typing import ResponseReturnValue

from app.domain.acts import Role
from app.domain.errors import Refused
from app.operations import answers
from app.queries.absences import read_summary
from app.queries.inbox import Alert, read_inbox
from app.web.access import Visit, for_roles
from app.web.entry_fields import in_words
from app.web.hypermedia import VARY, go_to, page_or_fragment, wants_fragment

pages = Blueprint("inbox", __name__)

ANSWERING = (Role.admin, Role.officer, Role.staff)


@pages.get("/o/<slug>/inbox")
@for_roles(*ANSWERING)
def index(visit: Visit) -> ResponseReturnValue:
    person = (visit.act.session, visit.act.org, visit.person.member_id, visit.act.now)
    found: dict[str, Any] = {"alerts": read_inbox(*person), "summary": read_summary(*person, visit.today)}
    return page_or_fragment("inbox/index.html", "inbox/fragments/_list.html", visit=visit, **found)


@pages.get("/o/<slug>/inbox/unread")
@for_roles(*ANSWERING)
def unread(visit: Visit) -> ResponseReturnValue:
    """The live count; without script the pages show it as they load."""
    return render_template("inbox/fragments/_unread.html", visit=visit)


@pages.get("/o/<slug>/inbox/<int:claim_id>")
@for_roles(*ANSWERING)
def alert(visit: Visit, claim_id: int) -> ResponseReturnValue:
    found = alert_of(visit, claim_id) or abort(404)
    return page_or_fragment("inbox/alert.html", "inbox/fragments/_alert.html", visit=visit, alert=found, typed={})


@pages.post("/o/<slug>/inbox/<int:claim_id>/opened")
@for_roles(*ANSWERING)
def opened(visit: Visit, claim_id: int) -> ResponseReturnValue:
    _ = alert_of(visit, claim_id) or abort(404)
    answers.open_claim(visit.act, visit.person.member_id, claim_id)
    if wants_fragment():
        return render_template("inbox/fragments/_unread.html", visit=visit)
    return go_to(url_for("inbox.alert", slug=visit.place.slug, claim_id=claim_id))


@pages.post("/o/<slug>/inbox/<int:claim_id>/answer")
@for_roles(*ANSWERING)
def answer(visit: Visit, claim_id: int) -> ResponseReturnValue:
    typed = {name: request.form.get(name, "").strip() for name in ("answer", "until_on", "note")}
    try:
        until = dt.date.fromisoformat(typed["until_on"]) if typed["answer"] == "on_it" and typed["until_on"] else None
    except ValueError:
        return refused(visit, claim_id, typed, f"{typed['until_on']} is not a date: write it as 2027-03-31.")
    try:
        with visit.act.session.begin_nested():
            answers.acknowledge_claim(
                visit.act, visit.person.member_id, claim_id, typed["answer"], until_on=until, note=typed["note"]
            )
    except Refused as fault:
        return refused(visit, claim_id, typed, worded(fault))
    except LookupError:
        abort(404)
    return done(visit, claim_id, "Your answer is noted.")


@pages.post("/o/<slug>/inbox/<int:claim_id>/take-back")
@for_roles(*ANSWERING)
def take_back(visit: Visit, claim_id: int) -> ResponseReturnValue:
    try:
        answers.take_back_claim(visit.act, visit.person.member_id, claim_id)
    except (LookupError, Refused):  # At a site out of sight it is not there for this person.
        abort(404)
    return done(visit, claim_id, "Your answer is taken back.")


def alert_of(visit: Visit, claim_id: int) -> Alert | None:
    found = read_inbox(visit.act.session, visit.act.org, visit.person.member_id, visit.act.now, claim_id)
    return found[0] if found else None


def done(visit: Visit, claim_id: int, words: str) -> ResponseReturnValue:
    """For htmx the card as it is now; else the inbox. What is silent by the answer is gone from both."""
    if not wants_fragment():
        return go_to(url_for("inbox.index", slug=visit.place.slug) + f"#alert-{claim_id}")
    found = alert_of(visit, claim_id)
    card = render_template("inbox/fragments/_answered.html", visit=visit, alert=found, typed={})
    return Response(card, headers={"Vary": VARY, "X-Said": words.replace(" ", "%20")})


def refused(visit: Visit, claim_id: int, typed: dict[str, str], fault: str) -> ResponseReturnValue:
    found = alert_of(visit, claim_id) or abort(404)
    view = {"visit": visit, "alert": found, "typed": typed, "fault": fault}
    return page_or_fragment("inbox/alert.html", "inbox/fragments/_alert.html", 422, **view)


def worded(fault: Refused) -> str:
    """The refusal of a command, in the words of the page."""
    said = str(fault)
    if "an answer: write one of" in said:
        return "Choose one of the answers."
    return "Choose the day until which you are on it." if "--until" in said and "needs" in said else in_words(said)
