"""An answer as it was typed on the page of an alert: kept, with what is wrong beside its field, and ready to be given.

Of the two fields for a file, one opens the camera of a phone and one its folders; one of them is filled in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from flask import request

from app.domain.acts import Answer
from app.domain.errors import Refused
from app.domain.folding import fold_name
from app.domain.media import LARGEST_FILE, check_proof
from app.operations.answers import Said
from app.operations.attachments import SentFile
from app.queries.inbox import Alert
from app.queries.register_choices import read_posts
from app.web.access import Visit
from app.web.entry_fields import in_words, typed_day
from app.web.entry_people import MEMBER, POST, candidates_for
from app.web.typed_form import Form, sent
from app.wording import gettext, said

FILES = ("photo", "file")
TEXTS = ("answer", "until_on", "done_on", "note", "whose")
BESIDE = (
    (re.compile("Until "), "until_on"),
    (re.compile("The day it was done "), "done_on"),
    (re.compile("The note "), "note"),
)
MOST_NAMES = 300  # People and posts that are offered while somebody types; any other words are kept as words.


def typed_answer() -> Form:
    """The fields, without the space around them; of a file its name, which says what to choose again."""
    form = sent(*TEXTS)
    form.values = {name: value.replace("\0", "").strip() for name, value in form.values.items()}
    form.values |= {name: _name_of(name) for name in FILES}
    return form


def _name_of(name: str) -> str:
    file = request.files.get(name)
    return (file.filename or "") if file else ""


def said_in(form: Form, visit: Visit, alert: Alert | None) -> tuple[str, Said]:
    """The answer, and what belongs to it; fields of other answers are left where they were."""
    answer = form.values["answer"]
    if answer not in set(Answer):
        form.refusal = gettext("Choose one of the answers.")
    said: Said = {"note": form.values["note"]}
    if answer == Answer.on_it:
        said["until_on"] = typed_day(form, "until_on", gettext("Choose the day until which you are on it."))
    if answer == Answer.done:
        said |= {"done_on": typed_day(form, "done_on"), "file": _file(form)}
    if answer == Answer.not_mine and form.values["whose"]:
        said |= _whose(visit, alert, form.values["whose"], form.values["note"])
    return answer, said


def _file(form: Form) -> SentFile | None:
    """The one that was chosen, looked at already: nothing larger than the limit is kept in memory."""
    chosen = [name for name in FILES if form.values[name]]
    if len(chosen) > 1:
        form.faults["file"] = gettext("Choose one: the photo, or the file.")
    if len(chosen) != 1:
        return None
    content = request.files[chosen[0]].stream.read(LARGEST_FILE + 1)
    form.check(chosen[0], check_proof, form.values[chosen[0]], content)
    return SentFile(form.values[chosen[0]], content)


def _whose(visit: Visit, alert: Alert | None, typed: str, note: str) -> Said:
    """The person or the post of this name at the site; where none or several are called so, the words are noted."""
    named = whose_at(visit, [alert] if alert else [])
    found = [one for one in named if fold_name(one[0]).casefold() == fold_name(typed).casefold()]
    if len(found) != 1:
        return {"note": f"{typed}. {note}" if note else typed}
    [(_, route, number)] = found
    return {"whose_member_id": number} if route == MEMBER else {"whose_post_id": number}


def whose_at(visit: Visit, alerts: Sequence[Alert]) -> list[tuple[str, str, int]]:
    """Whose it could be: whoever may see one of the sites, and posts; each with name, route and id."""
    sites = {alert.site_id for alert in alerts}
    here = [site for site in visit.sight.in_use if site.id in sites]
    posts = read_posts(visit.act.session, visit.act.org) if here else []
    people = candidates_for(visit, here) if here else []
    return [*((one.name, MEMBER, one.id) for one in people), *((post.name, POST, post.id) for post in posts)]


def names_offered(visit: Visit, alerts: Sequence[Alert]) -> list[str]:
    return sorted({name for name, _, _ in whose_at(visit, alerts)})[:MOST_NAMES]


def place(form: Form, refused: Refused) -> None:
    """Put the words of a refusal beside the field that they are about, else above the form."""
    english, words = str(refused), in_words(said(refused))
    for begins, name in BESIDE:
        if begins.match(english):
            form.faults[name] = words
            return
    form.refusal = words
