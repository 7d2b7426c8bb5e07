"""The register: the list of entries, and adding one. The page of an entry and its acts are in entry.py."""

from __future__ import annotations

import datetime as dt
from enum import StrEnum
from typing import TypeVar

from flask import Blueprint, request, url_for
from flask.typing import ResponseReturnValue

from app.domain.errors import Refused
from app.operations.typed import iso
from app.queries.register import NOBODY, Filters, Shown, Sort, read_page
from app.queries.register_choices import read_kinds, read_owners
from app.queries.sight import Sight
from app.web.access import MANAGERS, READERS, Visit, for_roles
from app.web.entry_fields import place, read_form
from app.web.entry_texts import NewEntry
from app.web.hypermedia import go_to, page_or_fragment
from app.web.tags import left_of, tags_of
from app.web.typed_form import Form, day_of, was_done
from app.wording import gettext, later

pages = Blueprint("register", __name__)

Code = TypeVar("Code", bound=StrEnum)

# All of them is what the list shows where none of these is asked for.
SHOWN = (
    (Shown.watched, later("Watched")),
    (Shown.not_watched, later("Not watched")),
    (Shown.overdue, later("Overdue or expired")),
    (Shown.soon, later("Next 30 days")),
    (Shown.filed, later("Pending with the authority")),
    (Shown.paused, later("Paused")),
    (Shown.draft, later("Draft")),
    (Shown.out_of_service, later("Out of service")),
    (Shown.archived, later("Archived")),
    (Shown.no_date, later("No date")),
)


@pages.get("/o/<slug>/register")
@for_roles(*READERS)
def index(visit: Visit) -> ResponseReturnValue:
    """The list. `after` leads to the next page; htmx takes its rows out of the same fragment."""
    sight, filters = visit.sight, read_filters()
    return page_or_fragment(
        "register/index.html",
        "register/fragments/_lines.html",
        visit=visit,
        page=read_page(visit.act.session, sight, filters, request.args.get("after", "")),
        filters=filters,
        asked=asked(filters),
        options=options(visit, sight),
        tags_of=tags_of,
        left_of=left_of,
    )


@pages.get("/o/<slug>/register/new")
@for_roles(*MANAGERS)
def new(visit: Visit) -> ResponseReturnValue:
    """The form of a new entry."""
    return new_form(visit, NewEntry.of(visit, visit.sight), Form({}))


@pages.post("/o/<slug>/register/new")
@for_roles(*MANAGERS)
def added(visit: Visit) -> ResponseReturnValue:
    """Add the entry, with its kind and its first deadline, or nothing of them."""
    wanted = NewEntry.of(visit, visit.sight)
    form, made = read_form(wanted.fields), list[int]()
    add = wanted.check(form)
    if was_done(visit.act, form, lambda: made.append(add()), place):
        return go_to(url_for("register.entry", slug=visit.place.slug, subject_id=made[0]))
    return new_form(visit, wanted, form)


def new_form(visit: Visit, wanted: NewEntry, form: Form) -> ResponseReturnValue:
    fields = wanted.fields
    view = {"visit": visit, "fields": fields, "form": form}
    return page_or_fragment("register/new.html", "register/fragments/_new.html", form.status, **view)


def read_filters() -> Filters:
    """What the address asks for; whatever it says that nobody offers is left out."""
    return Filters(
        text=request.args.get("q", "").replace("\0", "").strip(),
        site_id=number(request.args.get("site", "")),
        kind_id=number(request.args.get("kind", "")),
        responsible=request.args.get("responsible", ""),
        shown=known(Shown, request.args.get("state", ""), Shown.all),
        sort=known(Sort, request.args.get("sort", ""), Sort.due),
        descending=request.args.get("order") == "down",
        due_from=known_day(request.args.get("from", "")),
        due_until=known_day(request.args.get("until", "")),
    )


def asked(filters: Filters) -> dict[str, str]:
    """The filters as they stand in an address, those that ask for nothing left out."""
    said = {
        "q": filters.text,
        "site": str(filters.site_id or ""),
        "kind": str(filters.kind_id or ""),
        "responsible": filters.responsible,
        "state": "" if filters.shown == Shown.all else filters.shown.value,
        "sort": "" if filters.sort == Sort.due else filters.sort.value,
        "order": "down" if filters.descending else "",
        "from": iso(filters.due_from) or "",
        "until": iso(filters.due_until) or "",
    }
    return {name: value for name, value in said.items() if value}


def options(visit: Visit, sight: Sight) -> dict[str, list[tuple[str, str]]]:
    """What the filters offer."""
    session, org = visit.act.session, visit.act.org
    owners = read_owners(session, org)
    people = [(f"member:{one.id}", one.name) for one in owners.members]
    posts = [(f"post:{one.id}", gettext("%(post)s (post)", post=one.name)) for one in owners.posts]
    return {
        "site": [(str(site.id), site.name) for site in sight.sites.values()],
        "kind": [(str(kind.id), kind.name) for kind in read_kinds(session, org)],
        "responsible": [(NOBODY, gettext("Nobody")), *people, *posts],
        "state": [(shown.value, gettext(words)) for shown, words in SHOWN],
    }


def number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None


def known_day(text: str) -> dt.date | None:
    try:
        return day_of(text)
    except Refused:
        return None


def known(codes: type[Code], text: str, otherwise: Code) -> Code:
    return codes(text) if text in set(codes) else otherwise
