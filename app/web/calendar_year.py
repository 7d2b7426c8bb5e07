"""The calendar of the register: a year by week and site, and an agenda day by day. Team members see what is theirs."""

from __future__ import annotations

import datetime as dt
from typing import Any

from flask import render_template, request, url_for
from flask.typing import ResponseReturnValue

from app.domain.acts import Role
from app.domain.calendars import DAY, FIRST_DAY, LAST_DAY
from app.domain.errors import Refused
from app.queries.calendar import AGENDA, Cell, Urgency, Viewer, read_agenda, read_year
from app.queries.register_choices import read_kinds
from app.web.access import READERS, Visit, for_roles
from app.web.calendar_area import EVERYBODY, pages
from app.web.listing import asked_after, asked_number, asked_site, named, next_page
from app.web.tags import GOOD, LATE, NEAR, PLAIN
from app.web.typed_form import day_of
from app.wording import gettext, later

# Word, colour, and the sign that stands beside the number of a cell.
STATES = {
    Urgency.overdue: (later("Overdue or expired"), LATE, "!"),
    Urgency.soon: (later("Within 30 days"), NEAR, "•"),
    Urgency.later: (later("Later"), GOOD, ""),
    Urgency.in_force: (later("In force meanwhile"), PLAIN, "="),
    Urgency.off_watch: (later("Draft or out of service: not watched"), PLAIN, "?"),
}


@pages.get("/o/<slug>/calendar/year")
@for_roles(*EVERYBODY)
def year(visit: Visit) -> ResponseReturnValue:
    found = read_year(visit.act.session, viewer_of(visit))

    def where(cell: Cell) -> str:
        return address_of(visit, cell, found.weeks[0].monday)

    return render_template("calendar/year.html", visit=visit, year=found, where=where, states=states())


@pages.get("/o/<slug>/calendar/agenda")
@for_roles(*EVERYBODY)
def agenda(visit: Visit) -> ResponseReturnValue:
    """By day; of what cannot be read as a date, the usual one is taken."""
    viewer, session = viewer_of(visit), visit.act.session
    first = asked_day("from", viewer.today)
    last = asked_day("until", min(max(first, viewer.today) + AGENDA, LAST_DAY))
    chosen = {"site": asked_site(viewer.sight), "kind": asked_number("kind")}
    found = read_agenda(session, viewer, first, last, chosen["site"], chosen["kind"], asked_after())
    kinds = [(kind.id, kind.name) for kind in read_kinds(session, visit.act.org)]
    options = {"site": named(viewer.sight.in_use), "kind": kinds}
    facts = {"found": found, "chosen": chosen, "options": options, "first": first, "last": last, "states": states()}
    reads = visit.person.role in READERS
    return render_template("calendar/agenda.html", visit=visit, reads=reads, next_page=next_page(found), **facts)


def states() -> dict[Urgency, tuple[str, str, str]]:
    return {urgency: (gettext(words), colour, sign) for urgency, (words, colour, sign) in STATES.items()}


def viewer_of(visit: Visit) -> Viewer:
    return Viewer(visit.person.member_id, visit.sight, visit.person.role == Role.staff)


def address_of(visit: Visit, cell: Cell, monday: dt.date) -> str:
    """The entries of a cell: in the register for who reads it, else in the agenda."""
    first, last = (cell.week.monday, cell.week.sunday) if cell.week else (FIRST_DAY, monday - DAY)
    asked: dict[str, Any] = {"site": cell.site.id, "from": first.isoformat(), "until": last.isoformat()}
    page = "register.index" if visit.person.role in READERS else "calendar.agenda"
    return url_for(page, slug=visit.place.slug, **asked)


def asked_day(name: str, usual: dt.date) -> dt.date:
    try:
        return day_of(request.args.get(name, "")) or usual
    except Refused:
        return usual
