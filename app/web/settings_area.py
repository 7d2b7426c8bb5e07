"""What the pages of the settings share: the blueprint, who may change something, and the page around a form."""

from __future__ import annotations

from typing import TypeVar

from flask import Blueprint, Response, abort, url_for
from flask.typing import ResponseReturnValue

from app.domain.acts import Role
from app.web.access import Visit
from app.web.hypermedia import go_to, page_or_fragment
from app.web.typed_form import Form

Found = TypeVar("Found")

pages = Blueprint("settings", __name__)

# People, sites and settings are the administrators' (DESIGN section 7); compliance managers read them.
ADMINS = (Role.admin,)


def form_page(visit: Visit, part: str, heading: str, form: Form, **view: object) -> Response:
    """The page of a form, or the form alone for htmx; 422 while something is wrong with it."""
    facts = {"visit": visit, "heading": heading, "form": form, "part": part, **view}
    return page_or_fragment("settings/form.html", part, form.status, **facts)


def or_404(found: Found | None) -> Found:
    return abort(404) if found is None else found


def back_to(visit: Visit, view: str) -> ResponseReturnValue:
    """The list, which shows what has changed."""
    return go_to(url_for(f"settings.{view}", slug=visit.place.slug))
