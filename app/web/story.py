"""*Print its story*: how it was known that one entry was lapsing, as a page that prints on two. Changes nothing."""

from __future__ import annotations

from flask import abort, render_template
from flask.typing import ResponseReturnValue

from app.exports.report.story import LEGEND, SHOWN_ALERTS, SHOWN_DEEDS, read_story
from app.queries.report.scope import Asked, Scope
from app.web import entry
from app.web.access import READERS, Visit, for_roles
from app.web.listing import sight_of

pages = entry.pages


@pages.get("/o/<slug>/register/<int:subject_id>/story")
@for_roles(*READERS)
def story(visit: Visit, subject_id: int) -> ResponseReturnValue:
    """The story as its reader may see it; 404 for an entry that they do not see."""
    scope = Scope(sight_of(visit), visit.place.timezone, Asked(subject_id=subject_id))
    found = read_story(visit.act.session, scope) or abort(404)
    shown = found.cut(SHOWN_ALERTS, SHOWN_DEEDS)
    return render_template("register/story.html", visit=visit, story=shown, legend=LEGEND, subject_id=subject_id)
