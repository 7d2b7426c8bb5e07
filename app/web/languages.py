"""In which language a page is: of the member, once somebody is signed in; before that, what the browser prefers."""

from __future__ import annotations

from flask import Flask, Response, request

from app import wording


def listen() -> None:
    """Each request begins in the language of the browser; whoever is let in is then spoken to in theirs."""
    wording.speak(request.accept_languages.best_match(sorted(wording.languages())) or wording.ENGLISH)


def name_language(response: Response) -> Response:
    if response.mimetype in ("text/html", "text/plain"):
        response.headers.setdefault("Content-Language", language())
    return response


def fall_silent(_: BaseException | None) -> None:
    """The thread serves somebody else next."""
    wording.speak(wording.ENGLISH)


def language() -> str:
    return wording.current().language


def register(app: Flask) -> None:
    app.before_request(listen)
    app.after_request(name_language)
    app.teardown_request(fall_silent)
    pages = app.jinja_env
    pages.add_extension("jinja2.ext.i18n")
    pages.policies["ext.i18n.trimmed"] = True
    pages.install_gettext_callables(  # type: ignore[attr-defined]
        wording.gettext, in_number, newstyle=True, pgettext=wording.pgettext
    )
    pages.globals.update(language=language, listed=wording.listed)


def in_number(one: str, many: str, number: int) -> str:
    """The sentence with its places still in it: Jinja fills them, and makes them safe for a page."""
    return wording.current().translations.ngettext(one, many, number)
