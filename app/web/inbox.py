"""Inbox."""

from __future__ import annotations

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from app.domain.acts import Role
from app.web.access import Visit, for_roles

pages = Blueprint("inbox", __name__)


@pages.get("/o/<slug>/inbox")
@for_roles(Role.admin, Role.officer, Role.staff)
def index(visit: Visit) -> ResponseReturnValue:
    return render_template("inbox/index.html", visit=visit)
