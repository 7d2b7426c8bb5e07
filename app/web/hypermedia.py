"""Page or fragment: the one fork between a whole page and the piece of it that htmx swaps in.

The same address answers with both, so both say on what that depends; whoever goes back, reloads, or comes by a boosted
link gets the page (H27). A fragment is a file under `fragments/` that its page includes, with one root and one id.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import Response, make_response, redirect, render_template
from flask.typing import ResponseReturnValue
from htmx_flask import request

VARY = "HX-Request, HX-Boosted, HX-History-Restore-Request, Cookie"


def is_htmx() -> bool:
    return bool(request.htmx)


def wants_fragment() -> bool:
    return is_htmx() and not request.htmx.boosted and not request.htmx.history_restore_request


def page_or_fragment(page: str, fragment: str, /, status: int = 200, **view: object) -> Response:
    """The page, or its fragment for htmx. A refused form is 422, with the words beside the field."""
    response = make_response(render_template(fragment if wants_fragment() else page, **view), status)
    response.headers["Vary"] = VARY
    return response


def go_to(address: str) -> ResponseReturnValue:
    """After an act: to this address, as a page, for htmx too (which would swap a redirect's page into its target)."""
    if is_htmx():
        return Response(status=204, headers={"HX-Redirect": address, "Vary": VARY})
    return redirect(address, 303)


def current_page() -> str:
    """The path and query of the page that the person sees, which htmx names; a foreign one is the front page."""
    if not is_htmx():
        return str(request.full_path).rstrip("?")
    seen, own = urlsplit(str(request.htmx.current_url or "")), urlsplit(request.host_url)
    if seen.netloc and seen.netloc != own.netloc:
        return "/"
    return (seen.path or "/") + (f"?{seen.query}" if seen.query else "")
