"""What the register said on a past day, and who had been told what by then. A page of Evidence."""

from __future__ import annotations

import datetime as dt
from typing import Any

from flask import request
from flask.typing import ResponseReturnValue

from app.domain.calendars import DAY
from app.queries.alerts import start_of
from app.queries.as_of import read_as_of
from app.web.access import READERS, Visit, for_roles
from app.web.evidence import listing
from app.web.evidence_filters import NOT_A_DATE, own_day, read_day, zone_of
from app.web.listing import asked_after, next_page
from app.web.messages import pages
from app.wording import gettext, later

__all__ = ["pages"]

NOT_YET = later("This day is not over yet: choose an earlier one, or look at the register for today.")


@pages.get("/o/<slug>/evidence/past")
@for_roles(*READERS)
def past(visit: Visit) -> ResponseReturnValue:
    day, fault = asked_day(visit)
    text = request.args.get("q", "").replace("\0", "").strip()
    shown: dict[str, Any] = {"day": day, "fault": fault, "text": text, "typed": request.args.get("on", "").strip()}
    end = start_of(day + DAY, zone_of(visit))
    page = read_as_of(visit.act.session, visit.sight, end, text, asked_after())
    return listing(visit, "past", 422 if fault else 200, page=page, more=next_page(page), end=end, **shown)


def asked_day(visit: Visit) -> tuple[dt.date, str | None]:
    """The day that is asked for, or yesterday and why not: the day of the organisation's own calendar, to its end."""
    yesterday, typed = own_day(visit) - DAY, request.args.get("on", "").strip()
    try:
        day = read_day(typed) if typed else yesterday
    except ValueError:
        return yesterday, gettext(NOT_A_DATE)
    return (day, None) if day <= yesterday else (yesterday, gettext(NOT_YET))
