"""The page of an entry, and the acts of a person on it. Each act is a page of its own, and so works without script."""

from __future__ import annotations

from dataclasses import replace

from flask import abort, request
from flask.typing import ResponseReturnValue

from app.exports.event_words import told_history
from app.queries.entry import Entry, read_entry
from app.queries.entry_alerts import read_alerts
from app.queries.entry_history import read_history
from app.queries.held_back import held_back
from app.queries.sight import Sight
from app.web import register_export
from app.web.access import MANAGERS, READERS, Visit, for_roles
from app.web.deadline_acts import ADDING
from app.web.deadline_acts import DEADLINE_DEEDS as OTHER_DEADLINE_DEEDS
from app.web.entry_acts import DEEDS, Call, Deed
from app.web.entry_alerts import held_words, shown_alerts
from app.web.entry_fields import place, read_form
from app.web.entry_parts import BELONGING
from app.web.entry_texts import EDITING
from app.web.filing_acts import FILING
from app.web.hypermedia import go_to, page_or_fragment
from app.web.listing import asked_number
from app.web.paper_acts import PAPER_DEEDS, RENEWING
from app.web.queue_acts import asked_back, way_back
from app.web.tags import WHY_NOT, left_of, tags_of
from app.web.typed_form import Form, was_done
from app.wording import gettext

pages = register_export.pages  # The register and its entries are one part of the product, and of the menu.

ENTRY_DEEDS = {**EDITING, **ADDING, **PAPER_DEEDS, **BELONGING, **DEEDS}
DEADLINE_DEEDS = {**RENEWING, **OTHER_DEADLINE_DEEDS, **FILING}


@pages.get("/o/<slug>/register/<int:subject_id>")
@for_roles(*READERS)
def entry(visit: Visit, subject_id: int) -> ResponseReturnValue:
    """Everything about one entry. `alerts` and `history` lead to older ones of each."""
    one = entry_of(visit, visit.sight, subject_id)
    alerts = read_alerts(visit.act.session, visit.act.org, subject_id, asked_number("alerts"))
    held = held_back(visit.act.session, visit.act.org, subject_id, one.site.today) if one.site.today else []
    history = read_history(visit.act.session, visit.act.org, subject_id, asked_number("history"))
    return page_or_fragment(
        "register/entry.html",
        "register/fragments/_history.html" if "history" in request.args else "register/fragments/_alerts.html",
        visit=visit,
        entry=one,
        tags=tags_of(one.line),
        left=left_of(one.line),
        why_not=gettext(WHY_NOT[one.gap]) if one.gap else None,
        alerts=shown_alerts(alerts, one.site.timezone, held),
        held=[(one.due_on, held_words(one)) for one in held],
        older_alerts=alerts.before,
        history=told_history(history, one.site.timezone),
        older_history=history.before,
        deeds=[(name, deed) for name, deed in ENTRY_DEEDS.items() if visit.is_manager and deed.fits(one, None)],
        deadline_deeds=deadline_deeds(visit, one),
    )


def entry_of(visit: Visit, sight: Sight, subject_id: int) -> Entry:
    """The entry, or 404: what is foreign, what is at a site out of sight and what does not exist look the same."""
    return read_entry(visit.act.session, sight, subject_id) or abort(404)


def deadline_deeds(visit: Visit, one: Entry) -> dict[int, list[tuple[str, Deed]]]:
    """By deadline, what can be done to it."""
    deeds = DEADLINE_DEEDS.items() if visit.is_manager else ()
    return {
        deadline.id: [(name, deed) for name, deed in deeds if deed.fits(one, deadline)] for deadline in one.deadlines
    }


@pages.get("/o/<slug>/register/<int:subject_id>/<deed>")
@pages.get("/o/<slug>/register/<int:subject_id>/deadlines/<int:obligation_id>/<deed>")
@for_roles(*MANAGERS)
def act(visit: Visit, subject_id: int, deed: str, obligation_id: int | None = None) -> ResponseReturnValue:
    """The form of an act; where there is nothing to do any more, the entry as it is now."""
    wanted, call = called(visit, subject_id, deed, obligation_id)
    if not wanted.fits(call.entry, call.deadline):
        return go_to(way_back(visit, subject_id))
    return act_form(wanted, deed, replace(call, form=Form(dict(wanted.holds(call)))))


@pages.post("/o/<slug>/register/<int:subject_id>/<deed>")
@pages.post("/o/<slug>/register/<int:subject_id>/deadlines/<int:obligation_id>/<deed>")
@for_roles(*MANAGERS)
def done(visit: Visit, subject_id: int, deed: str, obligation_id: int | None = None) -> ResponseReturnValue:
    """Do it. What somebody else has done meanwhile is not done twice, and is no error (H12)."""
    wanted, call = called(visit, subject_id, deed, obligation_id)
    call = replace(call, form=read_form(wanted.fields(call)))
    if was_done(visit.act, call.form, wanted.do(call), place):
        return go_to(way_back(visit, subject_id))
    return act_form(wanted, deed, call)


def called(visit: Visit, subject_id: int, name: str, obligation_id: int | None) -> tuple[Deed, Call]:
    """The act of this name on this entry, or on a deadline of it; 404 for what is none."""
    sight = visit.sight
    one = entry_of(visit, sight, subject_id)
    deadline = None if obligation_id is None else one.deadline(obligation_id) or abort(404)
    deeds = ENTRY_DEEDS if deadline is None else DEADLINE_DEEDS
    return deeds.get(name) or abort(404), Call(visit, sight, one, deadline)


def act_form(wanted: Deed, name: str, call: Call) -> ResponseReturnValue:
    return page_or_fragment(
        "register/act.html",
        "register/fragments/_act.html",
        call.form.status,
        visit=call.visit,
        entry=call.entry,
        deed=wanted,
        name=name,
        deadline=call.deadline,
        fields=wanted.fields(call),
        form=call.form,
        says=wanted.says(call),
        back=asked_back(),
        there=way_back(call.visit, call.entry.id),
    )
