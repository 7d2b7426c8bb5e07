"""The calendar feed itself: for whoever has the address, without signing in, and without a cookie.

An address that is unknown, revoked, or of somebody who is let in no more is answered with the same bytes.
"""

from __future__ import annotations

from flask import Blueprint, Response

from app import clock
from app.config import settings
from app.database import WEB, transaction
from app.operations import feeds
from app.queries.feeds import find_feed, read_dates
from app.trail.act import Act
from app.web.access import public
from app.web.calendar_text import calendar_of
from app.wording import gettext, later, spoken

pages = Blueprint("calendar_feed", __name__)

NOT_THERE = later("There is no calendar at this address. Make a new address in Onus, under Calendar.")
HEADERS = {
    "Content-Disposition": 'inline; filename="onus.ics"',
    "X-Robots-Tag": "noindex",  # Should the address ever stand on a page of somebody's.
}


@pages.get("/calendar/<token>.ics")
@public
def feed(token: str) -> Response:
    org = feeds.organisation_of(token)
    found = None if org is None else read(org, token)
    if found is None:
        return Response(f"{gettext(NOT_THERE)}\n", 404, HEADERS, content_type="text/plain; charset=utf-8")
    return Response(found, headers=HEADERS, content_type="text/calendar; charset=utf-8")


def read(org: int, token: str) -> bytes | None:
    """The feed of this address as it is now, or None."""
    with transaction(org, WEB) as session:
        now = clock.now(session, settings())
        found = find_feed(session, org, feeds.hashed(token), now)
        if found is None:
            return None
        dates = read_dates(session, found, now)
        feeds.note_reading(Act(session, org, now), found.id)
    with spoken(found.locale):
        return calendar_of(found, dates, f"{settings().links_to()}/o/{found.slug}")
