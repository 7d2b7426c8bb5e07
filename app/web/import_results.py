"""What became of an import: its result, what is left to mend as a file, and releasing its drafts."""

from __future__ import annotations

from typing import Any

from flask import Response, abort, url_for
from flask.typing import ResponseReturnValue

from app.imports.findings import SHOWN
from app.imports.left_over import LEFT, LeftOver, as_csv
from app.operations import register, releases, uploads
from app.queries.import_work import has_left_over
from app.queries.imports import Run, count_touched, read_left_over, read_records, read_run
from app.web.access import MANAGERS, Visit, for_roles
from app.web.entry_acts import STARTS
from app.web.entry_fields import Field, offered, read_form, told
from app.web.hypermedia import go_to, page_or_fragment
from app.web.import_form import said
from app.web.import_pages import pages
from app.web.mistake_view import taken_back
from app.web.typed_form import Form, was_done
from app.wording import gettext
from app.words import word

__all__ = ["pages"]

MOST_ALERTS = 200  # Alerts that the page of a release lists; the figures count all of them.
MOST_LEFT = 200_000  # Records of the largest file that is read.


def start_field() -> Field:
    return Field("start", gettext("Alerts begin"), "radio", told(STARTS))


def run_of(visit: Visit, import_run_id: int) -> Run:
    """The import; 404 for none, and for whoever does not see all sites."""
    run = None if visit.sight.is_limited else read_run(visit.act.session, visit.act.org, import_run_id)
    return run or abort(404)


@pages.get("/o/<slug>/register/imports/<int:import_run_id>")
@for_roles(*MANAGERS)
def import_result(visit: Visit, import_run_id: int) -> ResponseReturnValue:
    """The counts, what is left to mend, and the drafts that wait to be released."""
    run, session = run_of(visit, import_run_id), visit.act.session
    left = read_records(session, visit.act.org, run.id, LEFT, SHOWN)
    drafts = len(releases.drafts_of(visit.act, run.id))
    view: dict[str, Any] = {"run": run, "left": left, "drafts": drafts, "said": said}
    view |= {"touched": count_touched(session, visit.act.org, run), "taken": taken_back(visit, run)}
    view["kept_until"] = run.at + uploads.LEFT_OVER_KEPT_FOR if has_left_over(session, visit.act.org, run.id) else None
    pair = ("register/import_result.html", "register/fragments/_import_result.html")
    return page_or_fragment(*pair, visit=visit, count_left=sum(run.counts[one] for one in LEFT), **view)


@pages.get("/o/<slug>/register/imports/<int:import_run_id>/left-over.csv")
@for_roles(*MANAGERS)
def left_over(visit: Visit, import_run_id: int) -> ResponseReturnValue:
    """What was not accepted, as a file to mend and bring again."""
    run = run_of(visit, import_run_id)
    kept = read_left_over(visit.act.session, visit.act.org, run.id)
    left = LeftOver.of_json(kept) if kept else records_left(visit, run)
    name = f"left-over-{run.id}.csv"
    response = Response(as_csv(left), mimetype="text/csv")
    response.headers.set("Content-Disposition", "attachment", filename=name)
    return response


@pages.post("/o/<slug>/register/imports/<int:import_run_id>/left-over/drop")
@for_roles(*MANAGERS)
def left_over_dropped(visit: Visit, import_run_id: int) -> ResponseReturnValue:
    """Let the cells of the lines go that were not accepted, before their time."""
    run = run_of(visit, import_run_id)
    uploads.drop_left_over(visit.act, run.id)
    return go_to(url_for("register.import_result", slug=visit.place.slug, import_run_id=run.id))


def records_left(visit: Visit, run: Run) -> LeftOver:
    """Of an import by a command the cells are not kept, nor for ever: what is known of the records is there instead."""
    found = read_records(visit.act.session, visit.act.org, run.id, LEFT, MOST_LEFT)
    rows = [(one.line, one.reason, [one.reference, one.title, one.site, str(one.due_on or "")]) for one in found]
    return LeftOver([word(name, "import_field") for name in ("reference", "title", "site", "due_on")], rows)


@pages.get("/o/<slug>/register/imports/<int:import_run_id>/release")
@for_roles(*MANAGERS)
def import_release(visit: Visit, import_run_id: int) -> ResponseReturnValue:
    """Whom the release of the drafts would tell now; the result, for an import that was entered in error."""
    run = run_of(visit, import_run_id)
    if run.in_error_at:
        return go_to(url_for("register.import_result", slug=visit.place.slug, import_run_id=run.id))
    return release_page(visit, run, Form({"start": register.NOW}))


@pages.post("/o/<slug>/register/imports/<int:import_run_id>/release")
@for_roles(*MANAGERS)
def import_released(visit: Visit, import_run_id: int) -> ResponseReturnValue:
    """Put all drafts of the import on the watch."""
    run, form = run_of(visit, import_run_id), read_form([start_field()])
    start = offered(form, "start", STARTS)
    if not start:
        form.faults["start"] = gettext("Choose from when on alerts are sent.")
    if was_done(visit.act, form, lambda: releases.release_drafts(visit.act, run.id, start)):
        return go_to(url_for("register.import_result", slug=visit.place.slug, import_run_id=run.id))
    return release_page(visit, run, form)


def release_page(visit: Visit, run: Run, form: Form) -> ResponseReturnValue:
    view: dict[str, Any] = {"run": run, "form": form, "start": start_field(), "most": MOST_ALERTS}
    view["preview"] = releases.preview_release(visit.act, run.id)
    pair = ("register/import_release.html", "register/fragments/_release.html")
    return page_or_fragment(*pair, form.status, visit=visit, **view)
