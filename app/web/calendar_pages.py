"""The person's own calendar addresses: made, shown once, listed, revoked."""

from __future__ import annotations

from flask import Response, abort, request, url_for
from flask.typing import ResponseReturnValue

from app.config import settings
from app.operations import feeds
from app.queries.feeds import feeds_of
from app.trail.act import Act
from app.web import calendar_year
from app.web.access import Visit, for_roles
from app.web.calendar_area import EVERYBODY, pages
from app.web.hypermedia import go_to, page_or_fragment
from app.web.typed_form import Form, sent, was_done
from app.wording import gettext

# The other pages of the calendar add themselves to the one blueprint.
__all__ = ["calendar_year", "pages"]

MINE = "mine"
PAGE = ("calendar/index.html", "calendar/fragments/_calendar.html")


@pages.get("/o/<slug>/calendar")
@for_roles(*EVERYBODY)
def index(visit: Visit) -> ResponseReturnValue:
    return calendar_page(visit, Form({"dates": MINE}))


@pages.post("/o/<slug>/calendar")
@for_roles(*EVERYBODY)
def make(visit: Visit) -> ResponseReturnValue:
    """The page with the new address, which nobody can show again."""
    form, made = sent("dates"), list[str]()
    site_id = chosen_site(visit, form)
    if not was_done(visit.act, form, lambda: made.append(feeds.make_feed(visit.act, visit.person.member_id, site_id))):
        return calendar_page(visit, form)
    path = url_for("calendar_feed.feed", token=made[0])
    return calendar_page(visit, form, settings().links_to() + path)


@pages.post("/o/<slug>/calendar/revoke")
@for_roles(*EVERYBODY)
def revoke(visit: Visit) -> ResponseReturnValue:
    revoke_asked(visit.act, visit.person.member_id)
    return go_to(url_for("calendar.index", slug=visit.place.slug))


def revoke_asked(act: Act, member_id: int) -> None:
    """Revoke the member's feed that the form names; one that is not theirs is not there: 404."""
    named = request.form.get("feed", "")
    if not (named.isascii() and named.isdecimal() and len(named) <= 18):
        abort(404)
    try:
        feeds.revoke_feed(act, member_id, int(named))
    except LookupError:
        abort(404)


def chosen_site(visit: Visit, form: Form) -> int | None:
    """The site whose dates are wanted, or None for the person's own; a site that was not offered is not there: 404."""
    chosen = form.values["dates"]
    if not chosen:
        form.faults["dates"] = gettext("Choose which dates.")
    if chosen in ("", MINE):
        return None
    return int(chosen) if chosen in {str(site_id) for site_id, _ in sites_of(visit)} else abort(404)


def calendar_page(visit: Visit, form: Form, address: str | None = None) -> Response:
    addresses = feeds_of(visit.act.session, visit.act.org, visit.person.member_id)
    facts = {"visit": visit, "form": form, "address": address, "addresses": addresses, "sites": sites_of(visit)}
    return page_or_fragment(*PAGE, form.status, **facts)


def sites_of(visit: Visit) -> list[tuple[int, str]]:
    """The sites that the person may choose."""
    return [(site.id, site.name) for site in visit.sight.in_use]
