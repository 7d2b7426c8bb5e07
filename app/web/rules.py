"""Rules."""

from __future__ import annotations

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from app.web.access import MANAGERS, Visit, for_roles

pages = Blueprint("rules", __name__)


@pages.get("/o/<slug>/rules")
@for_roles(*MANAGERS)
def index(visit: Visit) -> ResponseReturnValue:
    return render_template("rules/index.html", visit=visit)
