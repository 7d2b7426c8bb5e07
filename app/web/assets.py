"""Script and style: known names only, at an address that holds their hash, so that a browser may keep them."""

from __future__ import annotations

import functools
import hashlib
from importlib import resources

from flask import Blueprint, Response, abort, url_for

from app.config import beside
from app.web.access import public

pages = Blueprint("assets", __name__)

TYPES = {
    "app.css": "text/css",
    "app.js": "text/javascript",
    "htmx.min.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}


@functools.cache
def content(name: str) -> bytes:
    """htmx comes from the static files of a wheel; the rest is ours."""
    if name == "htmx.min.js":
        return resources.files("js_lib_htmx").joinpath("static", "htmx", name).read_bytes()
    return (beside("static") / name).read_bytes()


@functools.cache
def digest(name: str) -> str:
    return hashlib.sha256(content(name)).hexdigest()[:12]


def asset(name: str) -> str:
    """The address of a file, for templates."""
    return url_for("assets.show", stamp=digest(name), name=name)


@pages.get("/assets/<stamp>/<name>")
@public
def show(stamp: str, name: str) -> Response:
    if name not in TYPES or stamp != digest(name):
        abort(404)
    response = Response(content(name), content_type=f"{TYPES[name]}; charset=utf-8")
    response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    return response
