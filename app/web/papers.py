"""The files of papers and of answers, given back as they came: always to be saved, never shown as a page of ours.

Whoever may see the page of the entry may have its files.
"""

from __future__ import annotations

import unicodedata
from urllib.parse import quote

from flask import Response, abort
from flask.typing import ResponseReturnValue

from app.queries.papers import read_file
from app.web.access import READERS, Visit, for_roles
from app.web.story import pages

__all__ = ["pages"]

# Should a browser open it all the same, it is in a sandbox of its own: nothing runs, loads or submits.
SANDBOX = "sandbox; default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"


@pages.get("/o/<slug>/register/<int:subject_id>/files/<int:attachment_id>")
@for_roles(*READERS)
def file(visit: Visit, subject_id: int, attachment_id: int) -> ResponseReturnValue:
    """One file of the entry; 404 where there is none that the visitor may see."""
    found = read_file(visit.act.session, visit.sight, subject_id, attachment_id) or abort(404)
    response = Response(found.content)
    response.headers["Content-Type"] = found.media_type
    response.headers["Content-Disposition"] = saved_as(found.file_name)
    response.headers["Content-Security-Policy"] = SANDBOX
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def saved_as(file_name: str) -> str:
    """The header that has a file saved under this name, in ASCII and in full (RFC 6266, with RFC 8187)."""
    plain = unicodedata.normalize("NFKD", file_name).encode("ascii", "ignore").decode()
    plain = plain.translate(str.maketrans("", "", '"\\%'))
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(file_name, safe='')}"
