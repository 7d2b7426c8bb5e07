"""The inbox: what a person was told in the app, and their answers. Phone first; every button works without script."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from flask import Blueprint, Response, abort, render_template, request, url_for
from flask.typing import ResponseReturnValue

from app.domain.acts import Role
from app.domain.errors import Refused
from app.operations import absences, answers
from app.queries.absences import read_summary
from app.queries.inbox import Alert, read_inbox
from app.web.access import Visit, for_roles
from app.web.answer_form import names_offered, place, said_in, typed_answer
from app.web.away import asked_absence
from app.web.hypermedia import VARY, go_to, page_or_fragment, wants_fragment
from app.web.typed_form import Form, was_done
from app.wording import gettext

pages = Blueprint("inbox", __name__)

ANSWERING = (Role.admin, Role.officer, Role.staff)


@pages.get("/o/<slug>/inbox")
@for_roles(*ANSWERING)
def index(visit: Visit) -> ResponseReturnValue:
    alerts = read_inbox(visit.act.session, visit.sight, visit.person.member_id)
    view: dict[str, Any] = {"visit": visit, "alerts": alerts, "whose": names_offered(visit, alerts)}
    view["summary"] = read_summary(visit.act.session, visit.act.org, visit.person.member_id, visit.act.now, visit.today)
    is_closed = request.args.get("closed") == "yes"
    return page_or_fragment("inbox/index.html", "inbox/fragments/_list.html", is_closed=is_closed, **view)


@pages.get("/o/<slug>/inbox/unread")
@for_roles(*ANSWERING)
def unread(visit: Visit) -> ResponseReturnValue:
    """The live count; without script the pages show it as they load."""
    return render_template("inbox/fragments/_unread.html", visit=visit)


@pages.get("/o/<slug>/inbox/<int:claim_id>")
@for_roles(*ANSWERING)
def alert(visit: Visit, claim_id: int) -> ResponseReturnValue:
    found = alert_of(visit, claim_id) or abort(404)
    view: dict[str, Any] = {"visit": visit, "alert": found, "form": None, "whose": names_offered(visit, [found])}
    return page_or_fragment("inbox/alert.html", "inbox/fragments/_alert.html", **view)


@pages.post("/o/<slug>/inbox/summary/read")
@for_roles(*ANSWERING)
def summary_read(visit: Visit) -> ResponseReturnValue:
    """Put the summary of an absence away; it is part of the inbox, and so may a remembered phone."""
    try:
        absences.put_summary_away(visit.act, visit.person.member_id, asked_absence())
    except LookupError:
        abort(404)
    return go_to(url_for("inbox.index", slug=visit.place.slug))


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
    form, given = typed_answer(), []
    answer, said = said_in(form, visit, alert_of(visit, claim_id))

    def give() -> None:
        given.append(answers.acknowledge_claim(visit.act, visit.person.member_id, claim_id, answer, **said))

    try:
        was_done(visit.act, form, give, place)
    except LookupError:
        abort(404)
    return (
        done(visit, claim_id, gettext("Your answer is noted."), given[0].is_closed)
        if given
        else refused(visit, claim_id, form)
    )


@pages.post("/o/<slug>/inbox/<int:claim_id>/take-back")
@for_roles(*ANSWERING)
def take_back(visit: Visit, claim_id: int) -> ResponseReturnValue:
    try:
        answers.take_back_claim(visit.act, visit.person.member_id, claim_id)
    except (LookupError, Refused):  # It is at a site out of sight, or closed with the answer: it is not there any more.
        abort(404)
    return done(visit, claim_id, gettext("Your answer is taken back."))


def alert_of(visit: Visit, claim_id: int) -> Alert | None:
    found = read_inbox(visit.act.session, visit.sight, visit.person.member_id, claim_id)
    return found[0] if found else None


def done(visit: Visit, claim_id: int, words: str, is_closed: bool = False) -> ResponseReturnValue:
    """For htmx the card as it is now; else the inbox. What is silent by the answer is gone from both."""
    if not wants_fragment():
        closed = "yes" if is_closed else None
        return go_to(url_for("inbox.index", slug=visit.place.slug, closed=closed) + f"#alert-{claim_id}")
    view: dict[str, Any] = {"visit": visit, "alert": alert_of(visit, claim_id), "form": None, "is_closed": is_closed}
    card = render_template("inbox/fragments/_answered.html", **view)
    return Response(card, headers={"Vary": VARY, "X-Said": quote(words)})


def refused(visit: Visit, claim_id: int, form: Form) -> ResponseReturnValue:
    found = alert_of(visit, claim_id) or abort(404)
    view: dict[str, Any] = {"visit": visit, "alert": found, "form": form, "whose": names_offered(visit, [found])}
    return page_or_fragment("inbox/alert.html", "inbox/fragments/_alert.html", 422, **view)
