"""Bring a register: a file is uploaded, a person says what its columns are, sees what would become of it, applies it.

The file waits in the database meanwhile. An import reaches all sites, so whoever is limited to some cannot bring one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from flask import abort, request, url_for
from flask.typing import ResponseReturnValue

from app.domain.acts import ImportWish
from app.domain.errors import Refused
from app.imports.choices import Choices, Outcome, bring
from app.imports.findings import Findings
from app.imports.limits import MOST_BYTES_OF_A_BROWSER
from app.imports.look import Look, look_at
from app.operations import uploads, wishes
from app.queries.imports import read_run_of_file, read_runs, read_waiting
from app.web.access import MANAGERS, Visit, for_roles
from app.web.hypermedia import go_to, page_or_fragment
from app.web.import_form import (
    accepted,
    check_complete,
    conflict_options,
    date_options,
    field_options,
    first_choices,
    said,
    sentence,
    typed_choices,
    typed_header_row,
)
from app.web.import_work import findings_of, is_at_work, is_awaited, progress_of, work_of
from app.web.listing import asked_after, next_page
from app.web.papers import pages
from app.web.sent_file import sent_file
from app.web.typed_form import Form, was_done
from app.wording import gettext, later
from app.wording import said as in_language

__all__ = ["pages"]

LIMITED = later(
    "You see some sites only, and an import reaches all of them: ask somebody who sees them all to bring the file."
)

NOT_SEEN = later(
    "The columns were changed since the last check: look at what would become of the file, then bring it in."
)


@pages.get("/o/<slug>/register/import")
@for_roles(*MANAGERS)
def bring_in(visit: Visit) -> ResponseReturnValue:
    """The form of the upload, the files that wait, and the imports there were."""
    return upload_page(visit, Form({}))


@dataclass(frozen=True)
class Sent:
    """The file of the request after the first look at it."""

    name: str
    content: bytes
    look: Look


def look_first() -> Sent | Refused:
    """The file, or why it is not taken: missing, too large or unreadable. No transaction waits for that meanwhile."""
    try:
        name, content = sent_file()
        return Sent(name, content, look_at(content))
    except Refused as refused:
        return refused


@pages.post("/o/<slug>/register/import")
@for_roles(*MANAGERS, ahead=look_first)
def uploaded(visit: Visit, ahead: Sent | Refused) -> ResponseReturnValue:
    """Keep the file as a draft and go on to its columns."""
    form, made = Form({}), list[int]()
    if was_done(visit.act, form, lambda: made.append(keep(visit, ahead)), refuse):
        return go_to(url_for("register.columns", slug=visit.place.slug, upload_id=made[0]))
    return upload_page(visit, form)


def keep(visit: Visit, sent: Sent | Refused) -> int:
    """Keep the file of the request; its id. Raises Refused."""
    if visit.sight.is_limited:
        raise Refused(LIMITED)
    if not isinstance(sent, Sent):
        raise sent or Refused("Choose a file.")
    look, member = sent.look, visit.person.member_id
    return uploads.keep_upload(visit.act, member, sent.name, sent.content, look.as_json(), look.header_key)


def upload_page(visit: Visit, form: Form) -> ResponseReturnValue:
    session, org, limited = visit.act.session, visit.act.org, visit.sight.is_limited
    runs = read_runs(session, org, asked_after())
    view: dict[str, Any] = {"form": form, "most": MOST_BYTES_OF_A_BROWSER // 1_000_000, "runs": runs}
    view |= {
        "more": next_page(runs),
        "waiting": read_waiting(session, org),
        "limited": gettext(LIMITED) if limited else None,
    }
    pair = ("register/import.html", "register/fragments/_upload.html")
    return page_or_fragment(*pair, form.status, visit=visit, accepted=accepted, **view)


@dataclass
class Draft:
    """A file that waits, and what was said of it."""

    upload: Any
    look: Look
    choices: Choices

    @classmethod
    def of(cls, visit: Visit, upload_id: int, *, whole: bool = False) -> Draft:
        """The file of this id; 404 for none, and for whoever does not see all sites. Whole: with its bytes, locked."""
        if visit.sight.is_limited:
            abort(404)
        try:
            find = uploads.find_upload if whole else uploads.see_upload
            upload = find(visit.act, upload_id)
        except LookupError:
            abort(404)
        look = Look.of_json(upload.look)
        return cls(upload, look, first_choices(look, upload.mapping))

    @classmethod
    def to_judge(cls, visit: Visit, upload_id: int) -> Draft:
        """The same, whole unless it is for the scheduler: nobody waits here for whoever works on it."""
        draft = cls.of(visit, upload_id)
        return draft if draft.look.is_large else cls.of(visit, upload_id, whole=True)

    @property
    def is_waiting(self) -> bool:
        return self.upload.import_run_id is None

    @property
    def is_large(self) -> bool:
        return self.look.is_large

    @property
    def digest(self) -> str:
        return self.choices.digest(self.look)

    def bring(self, visit: Visit, *, dry_run: bool) -> Outcome:
        """Raises Refused for what is refused whole."""
        check_complete(self.choices)
        content, name = self.upload.content, self.upload.file_name
        return bring(visit.act, content, name, self.look, self.choices, dry_run=dry_run)

    def keep(self, visit: Visit, checked: str | None = None) -> None:
        """Keep what was said of the columns, and the digest of what was just checked and may be applied."""
        uploads.say(visit.act, self.upload, {**self.choices.as_json(), "checked": checked})


def refuse(form: Form, refused: Refused) -> None:
    form.refusal = said(in_language(refused))


@pages.get("/o/<slug>/register/import/<int:upload_id>")
@for_roles(*MANAGERS)
def columns(visit: Visit, upload_id: int) -> ResponseReturnValue:
    """The columns of the file, each with what it is taken for; the fragment is how far the work on a large one is."""
    draft = Draft.of(visit, upload_id)
    return result_of(visit, draft) or columns_page(visit, draft, Form({}))


def result_of(visit: Visit, draft: Draft) -> ResponseReturnValue | None:
    """The way to the result, once the file is applied."""
    run_id = draft.upload.import_run_id
    return run_id and go_to(url_for("register.import_result", slug=visit.place.slug, import_run_id=run_id))


def columns_page(visit: Visit, draft: Draft, form: Form, found: Findings | None = None) -> ResponseReturnValue:
    earlier = read_run_of_file(visit.act.session, visit.act.org, draft.upload.file_sha256)
    work = work_of(visit, draft.upload.id) if draft.is_large and not form.is_wrong else None
    found = found or findings_of(work)
    view: dict[str, Any] = {"draft": draft, "form": form, "found": found, "earlier": earlier, "work": work}
    view |= {"fields": field_options(), "formats": date_options(), "on_conflict": conflict_options()}
    view |= {"sites": [(site.name, site.name) for site in visit.sight.in_use], "said": said, "sentence": sentence}
    view["progress"] = progress_of(visit, work)
    view["accepted"] = accepted(found.counts) if found else 0
    pair = ("register/import_columns.html", "register/fragments/_found.html")
    response = page_or_fragment(*pair, form.status, visit=visit, **view)
    if work is not None and work.found and work.is_over and not work.fault:
        response.headers["X-Said"] = quote(
            gettext("The check is done.")
        )  # For whoever does not see that the bar is gone.
    return response


@pages.post("/o/<slug>/register/import/<int:upload_id>")
@for_roles(*MANAGERS)
def checked(visit: Visit, upload_id: int) -> ResponseReturnValue:
    """Keep what was said of the columns, and show what would become of each record."""
    draft = Draft.to_judge(visit, upload_id)
    return result_of(visit, draft) or (check_later if draft.is_large else check_now)(visit, draft)


def check_now(visit: Visit, draft: Draft) -> ResponseReturnValue:
    draft.choices = typed_choices(draft.look, visit.sight, draft.choices)
    form, found = Form({}), list[Findings]()

    def check() -> None:
        found.append(Findings.of(draft.bring(visit, dry_run=True).imported, draft.digest))

    was_checked = was_done(visit.act, form, check, refuse)
    draft.keep(visit, draft.digest if was_checked else None)
    return columns_page(visit, draft, form, found[0] if found else None)


def check_later(visit: Visit, draft: Draft) -> ResponseReturnValue:
    """Wish for a check, unless just this one is on its way, or the file is being brought in."""
    work, before = work_of(visit, draft.upload.id), draft.digest
    if is_at_work(visit, work):
        return columns_page(visit, draft, Form({}))
    draft.choices = typed_choices(draft.look, visit.sight, draft.choices)
    if is_awaited(work, lambda: draft.digest == before):
        return columns_page(visit, draft, Form({}))
    return wished(visit, draft, ImportWish.check, draft.choices.check)


def wished(visit: Visit, draft: Draft, wish: ImportWish, rule: Callable[[], None]) -> ResponseReturnValue:
    """Leave the wish if the rule lets it; what is refused leaves none, and nothing that could be applied."""

    def ask() -> None:
        check_complete(draft.choices)
        rule()
        wishes.ask(visit.act, draft.upload.id, visit.person.member_id, wish)

    form = Form({})
    draft.keep(visit)
    if not was_done(visit.act, form, ask, refuse):
        wishes.forget(visit.act, draft.upload.id)
    return columns_page(visit, draft, form)


@pages.post("/o/<slug>/register/import/<int:upload_id>/apply")
@for_roles(*MANAGERS)
def applied(visit: Visit, upload_id: int) -> ResponseReturnValue:
    """Bring the file in: all accepted records or none. Sent twice, it is applied once."""
    draft = Draft.to_judge(visit, upload_id)
    if result := result_of(visit, draft):
        return result
    work = work_of(visit, upload_id)
    if work is not None and work.is_applying:
        return columns_page(visit, draft, Form({}))
    found = findings_of(work)
    seen: str | None = draft.upload.mapping.get("checked")
    if draft.is_large:
        seen = found.digest if found else None
    draft.choices = typed_choices(draft.look, visit.sight, draft.choices)
    if draft.is_large:
        return wished(visit, draft, ImportWish.apply, lambda: check_seen(draft, seen))
    return apply_now(visit, draft, seen)


def apply_now(visit: Visit, draft: Draft, seen: str | None) -> ResponseReturnValue:
    def apply() -> None:
        check_seen(draft, seen)
        found = draft.bring(visit, dry_run=False)
        uploads.settle_upload(visit.act, draft.upload, found.imported.import_run_id, found.left_over.as_json())

    form = Form({})
    if not was_done(visit.act, form, apply, refuse):
        draft.keep(visit, seen if seen == draft.digest else None)
    return result_of(visit, draft) or columns_page(visit, draft, form)


def check_seen(draft: Draft, seen: str | None) -> None:
    """Raise Refused unless what is sent is what the last check was about, and the form shows that check."""
    check_complete(draft.choices)
    if not request.form.get("checked") == seen == draft.digest:
        raise Refused(NOT_SEEN)


@pages.post("/o/<slug>/register/import/<int:upload_id>/table")
@for_roles(*MANAGERS)
def looked_again(visit: Visit, upload_id: int) -> ResponseReturnValue:
    """Look at another sheet, or for the header in another row."""
    draft, form = Draft.of(visit, upload_id), Form({})
    if result_of(visit, draft) or is_at_work(visit, work_of(visit, upload_id)):
        abort(404)
    draft = Draft.of(visit, upload_id, whole=True)
    if was_done(visit.act, form, lambda: look_elsewhere(visit, draft), refuse):
        return go_to(url_for("register.columns", slug=visit.place.slug, upload_id=upload_id))
    return columns_page(visit, draft, form)


def look_elsewhere(visit: Visit, draft: Draft) -> None:
    sheet = request.form.get("sheet", "") or None
    header_row = typed_header_row()
    if sheet != draft.look.sheet and header_row == draft.look.header_row:
        header_row = None  # Another sheet has its header elsewhere, unless a person has said so.
    look = look_at(draft.upload.content, sheet, header_row)
    uploads.look_again(visit.act, draft.upload, look.as_json(), look.header_key)


@pages.post("/o/<slug>/register/import/<int:upload_id>/drop")
@for_roles(*MANAGERS)
def dropped(visit: Visit, upload_id: int) -> ResponseReturnValue:
    """Let the file go."""
    if is_at_work(visit, work_of(visit, upload_id)):
        return go_to(url_for("register.columns", slug=visit.place.slug, upload_id=upload_id))
    draft, form = Draft.of(visit, upload_id, whole=True), Form({})
    was_done(visit.act, form, lambda: uploads.drop_upload(visit.act, draft.upload), refuse)
    return go_to(url_for("register.bring_in", slug=visit.place.slug))
