"""Messages that need a person: may have been sent, refused, came back, held. Readers look; managers decide, once."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from flask import Response, abort, request, url_for
from flask.typing import ResponseReturnValue

from app.domain.delivery import State
from app.domain.errors import Refused
from app.operations import doubts
from app.queries.held import read_held
from app.queries.messages import Message, read_message, read_stuck
from app.web.access import MANAGERS, READERS, Visit, for_roles
from app.web.evidence import listing, pages
from app.web.hypermedia import go_to, page_or_fragment, wants_fragment
from app.web.listing import asked_after, next_page
from app.web.message_texts import buttons, of_message
from app.web.navigation import stops_of
from app.web.typed_form import Form, was_done
from app.wording import gettext, later

__all__ = ["pages"]

NOTED = later("Your decision is noted.")
UNCHOSEN = later("Choose one of the buttons.")
NOTHING = later("There is nothing to decide about this message any more: see what became of it.")


@pages.get("/o/<slug>/evidence/doubts")
@for_roles(*READERS)
def in_doubt(visit: Visit) -> ResponseReturnValue:
    return stuck(visit, "doubts", State.in_doubt)


@pages.get("/o/<slug>/evidence/returned")
@for_roles(*READERS)
def returned(visit: Visit) -> ResponseReturnValue:
    return stuck(visit, "returned", State.failed, State.bounced)


def stuck(visit: Visit, name: str, *states: State) -> ResponseReturnValue:
    page = read_stuck(visit.act.session, visit.sight, states, asked_after())
    return listing(visit, name, rows=[of_message(one) for one in page.rows], more=next_page(page))


@pages.get("/o/<slug>/evidence/messages/<int:delivery_id>")
@for_roles(*READERS)
def message(visit: Visit, delivery_id: int) -> ResponseReturnValue:
    return message_page(visit, found_message(visit, delivery_id), Form({}))


@pages.post("/o/<slug>/evidence/messages/<int:delivery_id>")
@for_roles(*MANAGERS)
def decide(visit: Visit, delivery_id: int) -> ResponseReturnValue:
    """One decision counts for the whole message. Of two at once the second is told what the first decided."""
    sent, form = found_message(visit, delivery_id).sent, Form({})
    decision, offered = request.form.get("decision", ""), dict(buttons(sent))

    def deed() -> None:
        if sent.decision is None and decision not in offered:
            raise Refused(UNCHOSEN if offered else NOTHING)
        doubts.resolve(visit.act, delivery_id, decision, visit.person.member_id, request.form.get("seen"))

    is_done = was_done(visit.act, form, deed)
    if is_done and not wants_fragment():
        return go_to(url_for("evidence.message", slug=visit.place.slug, delivery_id=delivery_id))
    page = message_page(visit, found_message(visit, delivery_id), form)
    page.headers["X-Said"] = quote(gettext(NOTED) if is_done else "")
    return page


def found_message(visit: Visit, delivery_id: int) -> Message:
    return read_message(visit.act.session, visit.sight, delivery_id) or abort(404)


def message_page(visit: Visit, found: Message, form: Form) -> Response:
    """The message as it is now. A decision that came too late is not the refusal of a form: it says who was first."""
    too_late = bool(form.refusal) and found.sent.decision is not None
    view: dict[str, Any] = {"one": of_message(found), "fault": form.refusal, "too_late": too_late}
    page = ("evidence/message.html", "evidence/fragments/_message.html")
    return page_or_fragment(*page, form.status, visit=visit, **view)


@pages.get("/o/<slug>/evidence/held")
@for_roles(*READERS)
def held(visit: Visit) -> ResponseReturnValue:
    return held_page(visit, Form({}))


@pages.post("/o/<slug>/evidence/held/release")
@for_roles(*MANAGERS)
def release(visit: Visit) -> ResponseReturnValue:
    form = Form({})
    if was_done(visit.act, form, lambda: doubts.release(visit.act, visit.person.member_id)):
        return go_to(url_for("evidence.held", slug=visit.place.slug))
    return held_page(visit, form)


def held_page(visit: Visit, form: Form) -> ResponseReturnValue:
    page = read_held(visit.act.session, visit.sight, asked_after())
    view: dict[str, Any] = {"page": page, "stops": stops_of(visit), "fault": form.refusal}
    return listing(visit, "hold", form.status, more=next_page(page), **view)
