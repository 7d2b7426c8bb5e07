"""Today."""

from __future__ import annotations

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from app.web.access import MANAGERS, Visit, for_roles

pages = Blueprint("today", __name__)


@pages.get("/o/<slug>/")
@for_roles(*MANAGERS)
def index(visit: Visit) -> ResponseReturnValue:
    return render_template("today/index.html", visit=visit)
