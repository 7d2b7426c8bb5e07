"""Bring people from a file: it is uploaded, an administrator says what its columns are, sees what becomes of each line,
and applies it. By the same way as a register, but all of it in the request: lists of people are short.

An import reaches all sites, so whoever is limited to some cannot bring one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flask import Response, abort, request, url_for
from flask.typing import ResponseReturnValue

from app.domain.acts import Contents
from app.domain.errors import Refused
from app.imports.left_over import LEFT, LeftOver, as_csv
from app.imports.limits import MOST_BYTES_OF_A_BROWSER, MOST_RECORDS
from app.imports.look import Look, look_at
from app.imports.people_choices import MOST_LINES, SHOWN, Brought, Choices, bring
from app.imports.people_headers import EMAIL, NAME, NUMBER, OFFERED, PEOPLE
from app.operations import uploads
from app.queries.imports import Run, read_left_over, read_run, read_run_of_file, read_runs, read_waiting
from app.queries.people_imports import count_people, read_lines
from app.web.access import Visit, for_roles
from app.web.hypermedia import go_to, page_or_fragment
from app.web.import_form import sentence, typed_header_row
from app.web.import_pages import LIMITED, refuse
from app.web.listing import asked_after, next_page
from app.web.sent_file import sent_file
from app.web.settings_area import ADMINS, pages
from app.web.typed_form import Form, was_done
from app.wording import gettext, later
from app.words import word

NOT_SEEN = later(
    "The columns were changed since the last check: look at what would become of the file, then bring it in."
)
# By the groups of fields of which no column is one.
MISSING = {
    ((NAME,),): later("Choose which column is the name."),
    ((NUMBER, EMAIL),): later("Choose which column is the number (of the employee) or the e-mail."),
    ((NAME,), (NUMBER, EMAIL)): later(
        "Choose which column is the name and which is the number (of the employee) or the e-mail."
    ),
}
CHECKED = "checked"  # In what is kept of the choices: that somebody has seen what they lead to.


@pages.get("/o/<slug>/settings/people/import")
@for_roles(*ADMINS)
def bring_people(visit: Visit) -> ResponseReturnValue:
    """The form of the upload, the files that wait, and the imports there were."""
    return upload_page(visit, Form({}))


@pages.post("/o/<slug>/settings/people/import")
@for_roles(*ADMINS)
def people_uploaded(visit: Visit) -> ResponseReturnValue:
    """Keep the file as a draft and go on to its columns."""
    form, made = Form({}), list[int]()
    if was_done(visit.act, form, lambda: made.append(keep(visit)), refuse):
        return go_to(url_for("settings.people_columns", slug=visit.place.slug, people_file_id=made[0]))
    return upload_page(visit, form)


def keep(visit: Visit) -> int:
    """Keep the file of the request; its id. Raises Refused for one that is missing, too large or unreadable."""
    if visit.sight.is_limited:
        raise Refused(LIMITED)
    name, content = sent_file()
    look, member = look_at(content, vocabulary=PEOPLE), visit.person.member_id
    return uploads.keep_upload(visit.act, member, name, content, look.as_json(), look.header_key, Contents.people)


def upload_page(visit: Visit, form: Form) -> ResponseReturnValue:
    session, org, limited = visit.act.session, visit.act.org, visit.sight.is_limited
    runs = read_runs(session, org, asked_after(), Contents.people)
    view: dict[str, Any] = {"form": form, "most": MOST_BYTES_OF_A_BROWSER // 1_000_000, "most_lines": MOST_LINES}
    view |= {"runs": runs, "more": next_page(runs), "waiting": read_waiting(session, org, Contents.people)}
    pair = ("settings/people_import.html", "settings/fragments/_people_upload.html")
    return page_or_fragment(*pair, form.status, visit=visit, limited=gettext(LIMITED) if limited else None, **view)


@dataclass
class Draft:
    """A file of people that waits, and what was said of it."""

    upload: Any
    look: Look
    choices: Choices

    @classmethod
    def of(cls, visit: Visit, people_file_id: int) -> Draft:
        """The file of this id, locked; 404 for none, and for whoever does not see all sites."""
        if visit.sight.is_limited:
            abort(404)
        try:
            upload = uploads.find_upload(visit.act, people_file_id, Contents.people)
        except LookupError:
            abort(404)
        look = Look.of_json(upload.look)
        return cls(upload, look, Choices.first(look, upload.mapping))

    def say(self, visit: Visit, was_checked: bool) -> None:
        uploads.say(visit.act, self.upload, {**self.choices.as_json(), CHECKED: was_checked})

    def bring(self, visit: Visit, *, dry_run: bool) -> Brought:
        """Raises Refused for what is refused whole."""
        if missing := self.choices.missing():
            raise Refused(MISSING[tuple(missing)])
        content, name = self.upload.content, self.upload.file_name
        return bring(visit.act, content, name, self.look, self.choices, dry_run=dry_run)


@pages.get("/o/<slug>/settings/people/import/<int:people_file_id>")
@for_roles(*ADMINS)
def people_columns(visit: Visit, people_file_id: int) -> ResponseReturnValue:
    """The columns of the file, each with what it is taken for."""
    draft = Draft.of(visit, people_file_id)
    return result_of(visit, draft) or columns_page(visit, draft, Form({}))


def result_of(visit: Visit, draft: Draft) -> ResponseReturnValue | None:
    """The way to the result, once the file is applied."""
    run_id = draft.upload.import_run_id
    return run_id and go_to(url_for("settings.people_result", slug=visit.place.slug, people_import_id=run_id))


def columns_page(visit: Visit, draft: Draft, form: Form, found: Brought | None = None) -> ResponseReturnValue:
    earlier = read_run_of_file(visit.act.session, visit.act.org, draft.upload.file_sha256, Contents.people)
    view: dict[str, Any] = {"draft": draft, "form": form, "found": found, "earlier": earlier}
    view |= {"fields": [(name, word(name, "people_field")) for name in OFFERED], "sentence": sentence}
    view["sites"] = [(site.name, site.name) for site in visit.sight.in_use]
    pair = ("settings/people_columns.html", "settings/fragments/_people_found.html")
    return page_or_fragment(*pair, form.status, visit=visit, **view)


@pages.post("/o/<slug>/settings/people/import/<int:people_file_id>")
@for_roles(*ADMINS)
def people_checked(visit: Visit, people_file_id: int) -> ResponseReturnValue:
    """Keep what was said of the columns, and show what would become of each line."""
    draft = Draft.of(visit, people_file_id)
    return result_of(visit, draft) or judged(visit, draft, lambda: draft.bring(visit, dry_run=True))


def judged(visit: Visit, draft: Draft, deed: Callable[[], Brought]) -> ResponseReturnValue:
    draft.choices = typed_choices(visit, draft.look)
    form, found = Form({}), list[Brought]()
    was_done(visit.act, form, lambda: found.append(deed()), refuse)
    draft.say(visit, bool(found))
    return result_of(visit, draft) or columns_page(visit, draft, form, found[0] if found else None)


def typed_choices(visit: Visit, look: Look) -> Choices:
    """What the form says. What nobody offers is left out; what is chosen is checked again by the reader."""
    fields = {place: request.form.get(f"column-{place}", "") for place in range(len(look.columns))}
    site, sites = request.form.get("site", ""), {site.name for site in visit.sight.in_use}
    known = {place: name for place, name in fields.items() if name in OFFERED}
    return Choices(known, site if site in sites else "")


@pages.post("/o/<slug>/settings/people/import/<int:people_file_id>/apply")
@for_roles(*ADMINS)
def people_applied(visit: Visit, people_file_id: int) -> ResponseReturnValue:
    """Bring the people in: all accepted lines or none. Sent twice, it is applied once."""
    draft = Draft.of(visit, people_file_id)
    seen = draft.choices if draft.upload.mapping.get(CHECKED) else None

    def apply() -> Brought:
        if draft.choices != seen and not draft.choices.missing():
            raise Refused(NOT_SEEN)
        found = draft.bring(visit, dry_run=False)
        uploads.settle_upload(visit.act, draft.upload, found.imported.import_run_id, found.left_over.as_json())
        return found

    return result_of(visit, draft) or judged(visit, draft, apply)


@pages.post("/o/<slug>/settings/people/import/<int:people_file_id>/table")
@for_roles(*ADMINS)
def people_looked_again(visit: Visit, people_file_id: int) -> ResponseReturnValue:
    """Look at another sheet, or for the header in another row."""
    draft, form = Draft.of(visit, people_file_id), Form({})
    if result_of(visit, draft):
        abort(404)
    if was_done(visit.act, form, lambda: look_elsewhere(visit, draft), refuse):
        return go_to(url_for("settings.people_columns", slug=visit.place.slug, people_file_id=people_file_id))
    return columns_page(visit, draft, form)


def look_elsewhere(visit: Visit, draft: Draft) -> None:
    sheet, header_row = request.form.get("sheet", "") or None, typed_header_row()
    if sheet != draft.look.sheet and header_row == draft.look.header_row:
        header_row = None  # Another sheet has its header elsewhere, unless a person has said so.
    look = look_at(draft.upload.content, sheet, header_row, PEOPLE)
    uploads.look_again(visit.act, draft.upload, look.as_json(), look.header_key)


@pages.post("/o/<slug>/settings/people/import/<int:people_file_id>/drop")
@for_roles(*ADMINS)
def people_dropped(visit: Visit, people_file_id: int) -> ResponseReturnValue:
    """Let the file go."""
    draft, form = Draft.of(visit, people_file_id), Form({})
    was_done(visit.act, form, lambda: uploads.drop_upload(visit.act, draft.upload), refuse)
    return go_to(url_for("settings.bring_people", slug=visit.place.slug))


def run_of(visit: Visit, people_import_id: int) -> Run:
    """The import; 404 for none, and for whoever does not see all sites."""
    session, org = visit.act.session, visit.act.org
    run = None if visit.sight.is_limited else read_run(session, org, people_import_id, Contents.people)
    return run or abort(404)


@pages.get("/o/<slug>/settings/people/imports/<int:people_import_id>")
@for_roles(*ADMINS)
def people_result(visit: Visit, people_import_id: int) -> ResponseReturnValue:
    """The counts, and what is left to mend."""
    run, session = run_of(visit, people_import_id), visit.act.session
    view: dict[str, Any] = {"run": run, "people": count_people(session, visit.act.org, run)}
    view["sentence"] = sentence
    kept = {line: (reason, cells) for line, reason, cells in cells_left(visit, run).rows}
    found = read_lines(session, visit.act.org, run.id, LEFT, SHOWN)
    view["left"] = [(one, *kept.get(one.line, (one.reason, []))) for one in found]
    view["count_left"] = sum(run.counts.get(one, 0) for one in LEFT)
    pair = ("settings/people_result.html", "settings/fragments/_people_result.html")
    return page_or_fragment(*pair, visit=visit, **view)


@pages.get("/o/<slug>/settings/people/imports/<int:people_import_id>/left-over.csv")
@for_roles(*ADMINS)
def people_left_over(visit: Visit, people_import_id: int) -> ResponseReturnValue:
    """What was not accepted, as a file to mend and bring again."""
    run = run_of(visit, people_import_id)
    left = cells_left(visit, run)
    if not left.header:  # The cells are not kept, or no more: the lines with their reasons take their place.
        found = read_lines(visit.act.session, visit.act.org, run.id, LEFT, MOST_RECORDS)
        left = LeftOver([], [(one.line, one.reason, []) for one in found])
    response = Response(as_csv(left), mimetype="text/csv")
    response.headers.set("Content-Disposition", "attachment", filename=f"people-left-over-{run.id}.csv")
    return response


def cells_left(visit: Visit, run: Run) -> LeftOver:
    """The lines that were not accepted, as they stood in the file; nothing of an import by a command, or a late one."""
    kept = read_left_over(visit.act.session, visit.act.org, run.id)
    return LeftOver.of_json(kept) if kept else LeftOver([], [])
