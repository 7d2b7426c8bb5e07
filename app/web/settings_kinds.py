"""The kinds of entries: whether one expires or falls due, and what is to be done about it."""

from __future__ import annotations

from typing import Any

from flask import render_template
from flask.typing import ResponseReturnValue

from app.domain.folding import clean_text
from app.operations import kinds as operations
from app.operations import typed
from app.operations.kinds import KindText
from app.queries import settings as queries
from app.queries.settings import KindLine
from app.web.access import MANAGERS, Visit, for_roles
from app.web.entry_texts import EVERY, bases
from app.web.listing import asked_number
from app.web.settings_area import ADMINS, back_to, form_page, or_404, pages
from app.web.typed_form import Form, beside, sent, was_done
from app.wording import gettext

FIELDS = ("name", "wording", "what_to_do", "what_to_do_es", "recurrence", "recurrence_basis")
SWITCHES = ("proof_needed", "staff_may_close")
FORM = "settings/fragments/_kind_form.html"
NEW: dict[str, Any] = (
    dict.fromkeys(FIELDS, "") | {"wording": operations.NEW_KIND_WORDING} | {name: [] for name in SWITCHES}
)


@pages.get("/o/<slug>/settings/kinds")
@for_roles(*MANAGERS)
def kinds(visit: Visit) -> ResponseReturnValue:
    found = queries.kinds(visit.act.session, visit.act.org, asked_number("after"))
    return render_template("settings/kinds.html", visit=visit, found=found)


@pages.get("/o/<slug>/settings/kinds/new")
@for_roles(*ADMINS)
def new_kind(visit: Visit) -> ResponseReturnValue:
    return kind_page(visit, Form(NEW), None)


@pages.post("/o/<slug>/settings/kinds")
@for_roles(*ADMINS)
def add_kind(visit: Visit) -> ResponseReturnValue:
    form = typed_kind()
    if was_done(visit.act, form, lambda: operations.add_kind(visit.act, said_of(form)), beside("name")):
        return back_to(visit, "kinds")
    return kind_page(visit, form, None)


@pages.get("/o/<slug>/settings/kinds/<int:kind_id>")
@for_roles(*ADMINS)
def kind(visit: Visit, kind_id: int) -> ResponseReturnValue:
    found = found_kind(visit, kind_id)
    switches = {name: ["yes"] if getattr(found, name) else [] for name in SWITCHES}
    return kind_page(visit, Form({name: getattr(found, name) or "" for name in FIELDS} | switches), found)


@pages.post("/o/<slug>/settings/kinds/<int:kind_id>")
@for_roles(*ADMINS)
def change_kind(visit: Visit, kind_id: int) -> ResponseReturnValue:
    found, form = found_kind(visit, kind_id), typed_kind()
    if was_done(visit.act, form, lambda: operations.change_kind(visit.act, kind_id, said_of(form)), beside("name")):
        return back_to(visit, "kinds")
    return kind_page(visit, form, found)


def found_kind(visit: Visit, kind_id: int) -> KindLine:
    return or_404(queries.kind(visit.act.session, visit.act.org, kind_id))


def kind_page(visit: Visit, form: Form, found: KindLine | None) -> ResponseReturnValue:
    title = f"Kind {found.name}" if found else "Add a kind"
    return form_page(visit, FORM, title, form, kind=found, bases=bases(), every=gettext(EVERY))


def typed_kind() -> Form:
    form = sent(*FIELDS, lists=SWITCHES)
    form.check("name", typed.one_line, form.values["name"], "The name of the kind")
    if form.check("wording", operations.check_wording, form.values["wording"]) is None:
        form.faults["wording"] = "Choose one of the two."
    for name in ("what_to_do", "what_to_do_es"):
        form.check(name, clean_text, form.values[name], "What to do", typed.LONGEST_NOTE)
    form.check("recurrence", typed.rhythm, form.values["recurrence"].strip(), "")
    form.check("recurrence_basis", typed.rhythm, "", form.values["recurrence_basis"])
    return form


def said_of(form: Form) -> KindText:
    said = {name: form.values[name].strip() for name in FIELDS}
    return KindText(
        said["name"], said["wording"], said["what_to_do"], {"es": said["what_to_do_es"]},
        said["recurrence"], said["recurrence_basis"], *(bool(form.values[name]) for name in SWITCHES),
    )  # fmt: skip
