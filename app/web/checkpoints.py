"""The seal, for whoever keeps it outside: its newest note as text, and who gets that of each day by mail."""

from __future__ import annotations

from flask import Response, abort, render_template, url_for
from flask.typing import ResponseReturnValue

from app.config import settings
from app.operations import checkpoint_readers
from app.queries.checkpoint_mails import Reader, read_checkpoint_mails, read_newest_note, read_readers
from app.queries.seal import read_seal
from app.web.access import MANAGERS, READERS, Visit, for_roles
from app.web.hypermedia import go_to
from app.web.trail_exports import pages
from app.web.typed_form import Form, sent, was_done
from app.wording import gettext, listed


@pages.get("/o/<slug>/evidence/seal")
@for_roles(*READERS)
def seal(visit: Visit) -> ResponseReturnValue:
    return seal_page(visit, Form({}))


@pages.post("/o/<slug>/evidence/seal")
@for_roles(*MANAGERS)
def choose_readers(visit: Visit) -> ResponseReturnValue:
    """Only the chosen ones get it from now on."""
    form = sent(lists=("readers",))
    ids = [int(one) for one in form.values["readers"] if one.isdecimal() and len(one) < 19]
    if len(ids) < len(form.values["readers"]):
        abort(404)
    if was_done(visit.act, form, lambda: chosen(visit, ids)):
        return go_to(url_for("evidence.seal", slug=visit.place.slug))
    return seal_page(visit, form)


def chosen(visit: Visit, member_ids: list[int]) -> None:
    try:
        checkpoint_readers.choose(visit.act, member_ids)
    except LookupError:
        abort(404)


def seal_page(visit: Visit, form: Form) -> Response:
    session, org = visit.act.session, visit.act.org
    readers = read_readers(session, org)
    page = render_template(
        "evidence/seal.html",
        visit=visit,
        form=form,
        seal=read_seal(session, org),
        note=read_newest_note(session, org),
        mails=read_checkpoint_mails(session, org),
        options=[(one.id, words_of(one)) for one in readers],
        picked=form.values.get("readers", [one.id for one in readers if one.is_chosen]),
        chosen=listed([one.name for one in readers if one.is_chosen]),
        has_server=settings().smtp_url is not None,
    )
    return Response(page, form.status)


def words_of(one: Reader) -> str:
    if not one.email:
        return gettext("%(name)s, without an address", name=one.name)
    if not one.is_active:
        return gettext("%(name)s, %(email)s, no longer active: nothing is sent", name=one.name, email=one.email)
    return gettext("%(name)s, %(email)s", name=one.name, email=one.email)
