"""The register as a file: the entries of the page, or all that match, for whoever may read all of it.

By POST, since it leaves its event. The file is written while the database is read, and sent when both are done: what
goes wrong halfway is a page that says so, and never half a register.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from typing import Any

from flask import request, send_file
from flask.typing import ResponseReturnValue

from app.exports.tables import MEDIA_TYPES, WRITERS, Format
from app.operations.exports import note_register
from app.queries.register_export import read_exported
from app.queries.sight import Sight
from app.web import register_batch
from app.web.access import READERS, Visit, for_roles
from app.web.exported import header_of, row_of
from app.web.register import asked, known, number, read_filters

pages = register_batch.pages

ALL, PAGE = "all", "page"


@pages.post("/o/<slug>/register/export")
@for_roles(*READERS)
def export(visit: Visit) -> ResponseReturnValue:
    """The file, for a spreadsheet. What the button does not say is CSV, and all that match."""
    scope, _, wanted = request.form.get("export", "").partition(".")
    format, sight = known(Format, wanted, Format.csv), visit.sight
    ids = shown_ids() if scope == PAGE else None
    file = written(visit, sight, format, ids)
    day = visit.act.now.date().isoformat()
    name = f"{visit.place.slug}-register-{day}.{format}"
    return send_file(file, MEDIA_TYPES[format], as_attachment=True, download_name=name, max_age=0)


def written(visit: Visit, sight: Sight, format: Format, ids: Collection[int] | None) -> Any:
    filters, file = read_filters(), tempfile.NamedTemporaryFile()  # noqa: SIM115  It is closed when it is sent.
    rows = map(row_of, read_exported(visit.act.session, sight, filters, ids))
    count = WRITERS[format](file, header_of(format), rows)
    note_register(visit.act, format, ALL if ids is None else PAGE, asked(filters), count)
    file.seek(0)
    return file


def shown_ids() -> list[int]:
    """The entries of the page, as it was shown; those that the visitor does not see are left out by the list."""
    return [found for text in request.form.getlist("shown") if (found := number(text)) is not None]
