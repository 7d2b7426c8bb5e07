"""An answer as its readers see it: what was said, until when or on which day, with which files, and in which words."""

from __future__ import annotations

from app.queries.inbox import Said
from app.wording import gettext
from app.words import day, word


def answered(said: Said) -> str:
    """On it until 3 April 2027: “the lab comes first”."""
    words = _answer(said)
    if said.files:
        words = gettext("%(answer)s, with %(files)s", answer=words, files=", ".join(said.files))
    return gettext("%(answer)s: “%(note)s”", answer=words, note=said.note) if said.note else words


def _answer(said: Said) -> str:
    if said.until_on:
        return gettext("On it until %(day)s", day=day(said.until_on))
    if said.done_on:
        return gettext("Done on %(day)s", day=day(said.done_on))
    if said.whose:
        return gettext("Not mine, it belongs to %(name)s", name=said.whose)
    return word(said.answer, "answer")
