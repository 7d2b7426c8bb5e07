"""*Print its story*: how it was known that one entry was lapsing, as a page that prints on two. Changes nothing."""

from __future__ import annotations

from typing import Any

from flask import abort, render_template, request
from flask.typing import ResponseReturnValue

from app.exports.report.story import LEGEND, SHOWN_ALERTS, SHOWN_DEEDS, read_story
from app.queries.report.scope import Asked, Scope
from app.web import entry
from app.web.access import READERS, Visit, for_roles
from app.wording import by_own_name, current, gettext, spoken

pages = entry.pages


@pages.get("/o/<slug>/register/<int:subject_id>/story")
@for_roles(*READERS)
def story(visit: Visit, subject_id: int) -> ResponseReturnValue:
    """The story as its reader may see it; 404 for an entry that they do not see."""
    scope = Scope(visit.sight, visit.place.timezone, Asked(subject_id=subject_id))
    with spoken(request.args.get("lang") or current().language):
        found = read_story(visit.act.session, scope) or abort(404)
        legend = {name: gettext(words) for name, words in LEGEND.items()}
        shown: dict[str, Any] = {"story": found.cut(SHOWN_ALERTS, SHOWN_DEEDS), "legend": legend}
        return render_template(
            "register/story.html", visit=visit, subject_id=subject_id, languages=by_own_name(), **shown
        )
