"""Settings."""

from __future__ import annotations

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from app.web.access import MANAGERS, Visit, for_roles

pages = Blueprint("settings", __name__)


@pages.get("/o/<slug>/settings")
@for_roles(*MANAGERS)
def index(visit: Visit) -> ResponseReturnValue:
    return render_template("settings/index.html", visit=visit)
