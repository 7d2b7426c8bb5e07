"""Today: the first page of officers and admins. Every count on it opens the list behind it."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, abort, request
from flask.typing import ResponseReturnValue

from app.config import settings
from app.queries.keyset import PAGE
from app.queries.missing import read_missing
from app.queries.queues import Queue, read_queue
from app.queries.today import NUMBERED, read_ahead, read_board, read_unwatched
from app.queries.watch import patience
from app.queries.watched import Gap
from app.web.access import MANAGERS, Visit, for_roles
from app.web.hypermedia import page_or_fragment
from app.web.listing import asked_after, asked_site, named, next_page, sight_of
from app.web.navigation import stops_of
from app.web.words import word

pages = Blueprint("today", __name__)

GAPS = [(gap, word(gap, "why_unwatched")) for gap in Gap]


@pages.get("/o/<slug>/")
@for_roles(*MANAGERS)
def index(visit: Visit) -> ResponseReturnValue:
    board = read_board(visit.act.session, sight_of(visit), visit.place.name, patience(settings()), stops_of(visit))
    return page_or_fragment(
        "today/index.html", "today/fragments/_board.html", visit=visit, board=board, queues=NUMBERED
    )


@pages.get("/o/<slug>/today/missing")
@for_roles(*MANAGERS)
def missing(visit: Visit) -> ResponseReturnValue:
    found = read_missing(visit.act.session, sight_of(visit))
    return page_or_fragment("today/missing.html", "today/fragments/_missing.html", visit=visit, missing=found)


@pages.get("/o/<slug>/today/unwatched")
@for_roles(*MANAGERS)
def unwatched(visit: Visit) -> ResponseReturnValue:
    sight, asked = sight_of(visit), request.args.get("why", "")
    if asked and asked not in set(Gap):
        abort(404)
    site_id, gap = asked_site(sight), Gap(asked) if asked else None
    page = read_unwatched(visit.act.session, sight, gap, site_id, asked_after())
    shown: dict[str, Any] = {"page": page, "named_sites": named(sight.sites.values()), "site_id": site_id, "gap": gap}
    return page_or_fragment(
        "today/unwatched.html",
        "today/fragments/_unwatched.html",
        visit=visit,
        named_gaps=GAPS,
        more=next_page(page),
        **shown,
    )


@pages.get("/o/<slug>/today/unreached")
@for_roles(*MANAGERS)
def unreached(visit: Visit) -> ResponseReturnValue:
    sight = sight_of(visit)
    found = read_ahead(visit.act.session, sight)
    shown: dict[str, Any] = {"rows": found[:PAGE], "count": len(found), "sites": sight.sites}
    return page_or_fragment("today/unreached.html", "today/fragments/_unreached.html", visit=visit, **shown)


@pages.get("/o/<slug>/today/<queue>")
@for_roles(*MANAGERS)
def waiting(visit: Visit, queue: str) -> ResponseReturnValue:
    if queue not in set(Queue):
        abort(404)
    sight, chosen = sight_of(visit), Queue(queue)
    site_id = asked_site(sight)
    page = read_queue(visit.act.session, sight, chosen, site_id, asked_after())
    shown: dict[str, Any] = {"page": page, "queue": chosen, "named_sites": named(sight.in_use), "site_id": site_id}
    return page_or_fragment(
        "today/waiting.html", "today/fragments/_waiting.html", visit=visit, more=next_page(page), **shown
    )
