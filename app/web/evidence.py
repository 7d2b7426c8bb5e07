"""Evidence."""

from __future__ import annotations

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from app.web.access import READERS, Visit, for_roles

pages = Blueprint("evidence", __name__)


@pages.get("/o/<slug>/evidence")
@for_roles(*READERS)
def index(visit: Visit) -> ResponseReturnValue:
    return render_template("evidence/index.html", visit=visit)
