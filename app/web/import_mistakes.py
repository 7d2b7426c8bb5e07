"""Entered in error, for a whole import: a page shows what would be taken back, and does it."""

from __future__ import annotations

from typing import Any

from flask import url_for
from flask.typing import ResponseReturnValue

from app.domain.errors import Refused
from app.operations import mistakes
from app.operations.mistake_plan import Plan
from app.queries.imports import Run
from app.web.access import MANAGERS, Visit, for_roles
from app.web.entry_fields import Field, place, read_form
from app.web.hypermedia import go_to, page_or_fragment
from app.web.import_results import pages, run_of
from app.web.mistake_view import to_take_back
from app.web.typed_form import Form, was_done
from app.wording import gettext, said

__all__ = ["pages"]


def note() -> Field:
    hint = gettext("What was wrong with the file. It stays with the import, for whoever asks.")
    return Field("note", gettext("Note"), "area", hint=hint)


@pages.get("/o/<slug>/register/imports/<int:import_run_id>/in-error")
@for_roles(*MANAGERS)
def mistake(visit: Visit, import_run_id: int) -> ResponseReturnValue:
    """What taking the import back would do; once that is done, the result says what it came to."""
    run = run_of(visit, import_run_id)
    return result_of(visit, run) if run.in_error_at else mistake_page(visit, run, Form({"note": ""}))


@pages.post("/o/<slug>/register/imports/<int:import_run_id>/in-error")
@for_roles(*MANAGERS)
def mistake_entered(visit: Visit, import_run_id: int) -> ResponseReturnValue:
    """Take the whole import back, once."""
    run, form = run_of(visit, import_run_id), read_form([note()])

    def enter() -> None:
        mistakes.enter_in_error(visit.act, run.id, str(form.values["note"]))

    if was_done(visit.act, form, enter, place):
        return result_of(visit, run)
    return mistake_page(visit, run, form)


def result_of(visit: Visit, run: Run) -> ResponseReturnValue:
    return go_to(url_for("register.import_result", slug=visit.place.slug, import_run_id=run.id))


def mistake_page(visit: Visit, run: Run, form: Form) -> ResponseReturnValue:
    view: dict[str, Any] = {"run": run, "form": form, "fields": [note()], "taken": None}
    try:
        plan: Plan = mistakes.preview_mistake(visit.act, run.id)
        view["taken"] = to_take_back(visit, run, plan)
    except Refused as refused:
        form.refusal = form.refusal or said(refused)
    pair = ("register/import_in_error.html", "register/fragments/_in_error.html")
    return page_or_fragment(*pair, form.status, visit=visit, **view)
