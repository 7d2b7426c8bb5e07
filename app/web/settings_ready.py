"""Is this site ready? The checks of one site and of all of them, and the test mail that shows whether mail leaves.

Each page looks; only the button writes, and what it writes is a wish: the scheduler speaks to the mail server.
"""

from __future__ import annotations

from typing import Any

from flask import Response, abort, render_template
from flask.typing import ResponseReturnValue

from app.config import settings
from app.operations.trials import ask_for_trial
from app.queries.readiness import Readiness, read_readiness
from app.queries.trials import read_address, read_last_trial
from app.queries.watch import patience
from app.web.access import MANAGERS, Visit, for_roles
from app.web.hypermedia import is_htmx, page_or_fragment
from app.web.navigation import stops_of
from app.web.settings_area import back_to, pages
from app.web.typed_form import Form, was_done

SETTLED = "test-mail-settled"  # The event at which the checks of the page look again.


@pages.get("/o/<slug>/settings/sites/ready")
@for_roles(*MANAGERS)
def ready_sites(visit: Visit) -> ResponseReturnValue:
    """One row for each site that the visitor sees: ready, or what is open."""
    return render_template("settings/ready_sites.html", visit=visit, sites=readiness_of(visit))


@pages.get("/o/<slug>/settings/sites/<int:site_id>/ready")
@for_roles(*MANAGERS)
def ready_site(visit: Visit, site_id: int) -> ResponseReturnValue:
    found = readiness_of(visit, site_id)
    if not found:
        abort(404)
    pair = ("settings/ready_site.html", "settings/fragments/_checks.html")
    return page_or_fragment(*pair, visit=visit, found=found[0], **mail_view(visit, Form({})))


@pages.get("/o/<slug>/settings/test-mail")
@for_roles(*MANAGERS)
def test_mail(visit: Visit) -> ResponseReturnValue:
    """What became of the last test mail; asked every two seconds while that is open."""
    return mail_page(visit, Form({}))


@pages.post("/o/<slug>/settings/test-mail")
@for_roles(*MANAGERS)
def ask_test_mail(visit: Visit) -> ResponseReturnValue:
    """Ask for a test mail to the visitor's own address."""
    form = Form({})
    asked = was_done(visit.act, form, lambda: ask_for_trial(visit.act, visit.person.member_id, settings()))
    return back_to(visit, "test_mail") if asked and not is_htmx() else mail_page(visit, form)


def readiness_of(visit: Visit, site_id: int | None = None) -> list[Readiness]:
    """Of the sites in use that the visitor sees; none for a site that is not among them."""
    sight = visit.sight
    if site_id is not None and site_id not in sight.sites:
        return []
    return read_readiness(visit.act.session, sight, visit.place.name, patience(settings()), stops_of(visit), site_id)


def mail_view(visit: Visit, form: Form) -> dict[str, Any]:
    """What the part of the test mail shows, wherever it stands."""
    session, org = visit.act.session, visit.act.org
    address = read_address(session, org, visit.person.member_id)
    return {"trial": read_last_trial(session, org), "address": address, "stops": stops_of(visit), "form": form}


def mail_page(visit: Visit, form: Form) -> Response:
    view = mail_view(visit, form)
    pair = ("settings/test_mail.html", "settings/fragments/_test_mail.html")
    answer = page_or_fragment(*pair, form.status, visit=visit, **view)
    if is_htmx() and not (view["trial"] and view["trial"].is_open):
        answer.headers["HX-Trigger"] = SETTLED
    return answer
