"""What an officer does with an answer in its row of Today: accept it, send it back with words, hand the entry over."""

from __future__ import annotations

from flask import Blueprint, abort, url_for
from flask.typing import ResponseReturnValue

from app.operations import answer_checks, register
from app.queries.queues import Queue
from app.web.access import MANAGERS, Visit, for_roles
from app.web.entry_people import candidates_for, owner_of, responsibles
from app.web.hypermedia import go_to
from app.web.today import queue_page
from app.web.typed_form import Form, sent, was_done
from app.wording import gettext

pages = Blueprint("checks", __name__)

ACCEPT, SEND_BACK, HAND_OVER = "accept", "send_back", "hand_over"


@pages.post("/o/<slug>/today/answers/<int:answer_id>")
@for_roles(*MANAGERS)
def decide(visit: Visit, answer_id: int) -> ResponseReturnValue:
    """Two who decide at once: one does, and the other finds the list again, with what has happened above it."""
    form = sent("decision", "note", "responsible", "queue")
    queue = Queue.check if form.values["queue"] == Queue.check else Queue.attention
    site_id = seen_site(visit, answer_id)
    if form.values["decision"] == HAND_OVER:
        check_responsible(visit, form, site_id)
    elif form.values["decision"] not in (ACCEPT, SEND_BACK):
        form.refusal = gettext("Choose what is to be done with the answer.")
    if was_done(visit.act, form, lambda: carry_out(visit, answer_id, form)):
        return go_to(url_for("today.waiting", slug=visit.place.slug, queue=queue))
    return queue_page(visit, queue, form, answer_id)


def seen_site(visit: Visit, answer_id: int) -> int:
    """The site of the entry; an answer at a site out of sight is not there."""
    try:
        site_id = answer_checks.subject_of(visit.act, answer_id).site_id
    except LookupError:
        abort(404)
    return site_id if site_id in visit.sight.sites else abort(404)


def check_responsible(visit: Visit, form: Form, site_id: int) -> None:
    """What is chosen is checked again, not believed."""
    here = [visit.sight.sites[site_id]]
    if form.values["responsible"] not in {value for value, _ in responsibles(visit, candidates_for(visit, here))}:
        form.refusal = gettext("Nobody was chosen: choose who is responsible from now on.")


def carry_out(visit: Visit, answer_id: int, form: Form) -> None:
    """Raises Refused, with what has happened meanwhile."""
    officer = visit.person.member_id
    match form.values["decision"]:
        case "accept":
            answer_checks.accept(visit.act, answer_id, officer)
        case "hand_over":
            subject = answer_checks.subject_of(visit.act, answer_id)
            register.assign(visit.act, subject, **owner_of(form.values["responsible"]))
        case _:
            answer_checks.send_back(visit.act, answer_id, form.values["note"], officer)
