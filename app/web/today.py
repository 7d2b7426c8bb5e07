"""Today: the first page of officers and admins. Every count on it opens the list behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flask import Blueprint, Response, abort, request
from flask.typing import ResponseReturnValue

from app.config import settings
from app.domain.acts import Answer
from app.queries.answer_files import read_answer_files
from app.queries.keyset import PAGE
from app.queries.missing import read_missing
from app.queries.queues import Queue, Waiting, read_queue
from app.queries.sight import Sight
from app.queries.today import NUMBERED, read_ahead, read_board, read_unwatched
from app.queries.watch import patience
from app.queries.watched import Gap
from app.web.access import MANAGERS, Visit, for_roles
from app.web.entry_fields import Options
from app.web.entry_people import candidates_for, responsibles
from app.web.hypermedia import page_or_fragment
from app.web.listing import asked_after, asked_site, named, next_page
from app.web.queue_acts import acts_on, acts_on_unwatched
from app.web.typed_form import Form
from app.words import word

pages = Blueprint("today", __name__)


@pages.get("/o/<slug>/")
@for_roles(*MANAGERS)
def index(visit: Visit) -> ResponseReturnValue:
    session, sight = visit.act.session, visit.sight
    board = read_board(session, sight, visit.place.name, patience(settings()), visit.frame.stops, visit.today)
    shown: dict[str, Any] = {"board": board, "queues": NUMBERED, "months": board.months}
    return page_or_fragment("today/index.html", "today/fragments/_board.html", visit=visit, **shown)


@pages.get("/o/<slug>/today/missing")
@for_roles(*MANAGERS)
def missing(visit: Visit) -> ResponseReturnValue:
    found = read_missing(visit.act.session, visit.sight)
    return page_or_fragment("today/missing.html", "today/fragments/_missing.html", visit=visit, missing=found)


@pages.get("/o/<slug>/today/unwatched")
@for_roles(*MANAGERS)
def unwatched(visit: Visit) -> ResponseReturnValue:
    sight, asked = visit.sight, request.args.get("why", "")
    if asked and asked not in set(Gap):
        abort(404)
    site_id, gap = asked_site(sight), Gap(asked) if asked else None
    page = read_unwatched(visit.act.session, sight, gap, site_id, asked_after())
    shown: dict[str, Any] = {"page": page, "named_sites": named(sight.sites.values()), "site_id": site_id, "gap": gap}
    return page_or_fragment(
        "today/unwatched.html",
        "today/fragments/_unwatched.html",
        visit=visit,
        named_gaps=[(gap, word(gap, "why_unwatched")) for gap in Gap],
        more=next_page(page),
        acts_on=acts_on_unwatched,
        **shown,
    )


@pages.get("/o/<slug>/today/unreached")
@for_roles(*MANAGERS)
def unreached(visit: Visit) -> ResponseReturnValue:
    sight = visit.sight
    found = read_ahead(visit.act.session, sight)
    shown: dict[str, Any] = {"rows": found[:PAGE], "count": len(found), "sites": sight.sites}
    return page_or_fragment("today/unreached.html", "today/fragments/_unreached.html", visit=visit, **shown)


@pages.get("/o/<slug>/today/<queue>")
@for_roles(*MANAGERS)
def waiting(visit: Visit, queue: str) -> ResponseReturnValue:
    if queue not in set(Queue):
        abort(404)
    return queue_page(visit, Queue(queue))


def queue_page(visit: Visit, queue: Queue, form: Form | None = None, answer_id: int | None = None) -> Response:
    """The list of a queue; after a decision that was refused, with what was typed in the row of that answer."""
    sight = visit.sight
    site_id = asked_site(sight)
    page = read_queue(visit.act.session, sight, queue, site_id, asked_after())
    asked = [row for row in page.rows if row.answer_id is not None]
    shown: dict[str, Any] = {"page": page, "queue": queue, "named_sites": named(sight.in_use), "site_id": site_id}
    shown |= {"acts_on": acts_on, "form": form, "refused_id": answer_id, "owners": owners_at(visit, sight, asked)}
    shown["files"] = read_answer_files(visit.act.session, visit.act.org, [int(row.answer_id or 0) for row in asked])
    more = next_page(page) if form is None else None
    pair = ("today/waiting.html", "today/fragments/_waiting.html")
    return page_or_fragment(*pair, 422 if form else 200, visit=visit, more=more, **shown)


def owners_at(visit: Visit, sight: Sight, rows: Sequence[Waiting]) -> dict[int, Options]:
    """By site, to whom an entry can be handed over, where somebody says that it is not theirs."""
    sites = {row.site_id for row in rows if row.what != Answer.done}
    return {one: responsibles(visit, candidates_for(visit, [sight.sites[one]])) for one in sites}
