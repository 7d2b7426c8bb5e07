"""One address, page or fragment: what htmx gets, what a reader who goes back gets, and what comes when it fails
(H26, H27, H29)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import quote

import pytest
from flask import Flask
from werkzeug.datastructures import Headers
from werkzeug.test import TestResponse

from app import create_app
from app.database import LOST, Unreachable
from app.extensions import db
from app.web.access import for_roles, public
from app.web.errors import WORDS
from tests.conftest import settings_of
from tests.web.conftest import ADMIN, HTMX, Browser, forget_request
from tests.web.furnished import Furnished, SignIn, address, routes
from tests.web.markup import Element, read

RESTORE = {"HX-Request": "true", "HX-History-Restore-Request": "true"}
BOOSTED = {"HX-Request": "true", "HX-Boosted": "true"}


@pytest.fixture
def adela(browser: SignIn) -> Browser:
    return browser(ADMIN)


def is_page(markup: str) -> bool:
    return markup.lstrip().lower().startswith("<!doctype html>")


def wheres(app: Flask, own: Furnished) -> list[str]:
    """The address of every page of an organisation."""
    return [address(rule, "acme", own.ids) for name, rule in routes(app).items() if name.startswith("GET /o/")]


def vary(headers: Headers) -> set[str]:
    return {name.strip() for name in headers["Vary"].split(",")}


def check_fork(person: Browser, where: str, fragment: TestResponse) -> None:
    """Both say on what they depend; whoever goes back, reloads or comes by a boosted link gets the page."""
    for headers in ({}, RESTORE, BOOSTED):
        forget_request()
        page = person.client.get(where, headers=headers)
        assert page.status_code == 200, where
        assert is_page(page.text), where
        for answer in (page, fragment):
            assert {"HX-Request", "HX-History-Restore-Request", "HX-Boosted", "Cookie"} <= vary(answer.headers), where
            assert answer.headers["Cache-Control"] == "no-store", where


def check_root(page: Element, fragment: Element, where: str) -> None:
    """The fragment is one element with an id, and stands on the page just so."""
    assert len(fragment.elements) == 1, where
    assert not [child for child in fragment.children if isinstance(child, str) and child.strip()], where
    root = fragment.elements[0]
    assert root.get("id"), where
    twins = [one for one in page.walk() if one.get("id") == root.get("id")]
    assert [(one.tag, one.text) for one in twins] == [(root.tag, root.text)], where


def test_h27_page_and_fragment(app: Flask, own: Furnished, adela: Browser) -> None:
    """For every address that gives htmx a fragment, but the count of the inbox, which only ever is one, and files."""
    forked = []
    for where in wheres(app, own):
        fragment = adela.get(where, HX_Request="true")
        never_a_page = where == "/o/acme/inbox/unread" or where.endswith(".csv") or "/files/" in where
        if fragment.status_code == 200 and not is_page(fragment.text) and not never_a_page:
            forked.append(where)
            check_fork(adela, where, fragment)
            check_root(read(adela.get(where).text), read(fragment.text), where)
    assert len(forked) > 25


def test_h27_what_htmx_aims_at_is_on_the_page(app: Flask, own: Furnished, adela: Browser) -> None:
    """And an answer that takes the place of its target has the id of the target again."""
    roots: dict[str, str] = {}
    for where in wheres(app, own):
        page = adela.get(where)
        tree = read(page.text)
        ids = {one.get("id") for one in tree.walk()}
        for asking in tree.walk():
            target, asked = asking.get("hx-target").removeprefix("#"), asking.get("hx-get")
            if not asking.get("hx-target").startswith("#"):
                continue
            assert target in ids, (where, target)
            if asked and asking.get("hx-swap").startswith("outerHTML"):
                if asked not in roots:
                    answer = read(adela.get(asked, HX_Request="true").text)
                    roots[asked] = answer.elements[0].get("id") if answer.elements else "nothing"
                assert roots[asked] == target, (where, asked)
    assert len(roots) > 15


def test_h26_a_session_that_is_over_is_no_form_in_a_cell(app: Flask, own: Furnished, browser: SignIn) -> None:
    stranger, seen = app.test_client(), "http://localhost/o/acme/register?site=3"
    for where in wheres(app, own):
        forget_request()
        answer = stranger.get(where, headers=HTMX | {"HX-Current-URL": seen})
        assert answer.status_code in (200, 204), where
        assert answer.headers["HX-Redirect"] == "/login?next=" + quote("/o/acme/register?site=3", safe="/"), where
        assert "Location" not in answer.headers, where
        assert answer.text == "", where
        assert "HX-Request" in vary(answer.headers), where


@pytest.fixture
def failing(worker: str, own: Furnished, app: Flask) -> Iterator[Flask]:
    """An application on the rows of the test with views that fail: one of anybody, one of an organisation."""
    made = create_app(replace(settings_of(worker), clock=own.acme.now))

    @made.get("/broken")
    @public
    def broken() -> str:
        raise RuntimeError("a secret of ours")

    for number, fault in enumerate(LOST):

        def lost(fault: type[Exception] = fault) -> str:
            raise fault("a secret of ours") if fault is Unreachable else fault("select 1", {}, Exception("a secret"))

        made.add_url_rule(f"/lost/{number}", f"lost{number}", public(lost))

    @made.get("/o/<slug>/broken")
    @for_roles("admin")  # type: ignore[arg-type]
    def broken_inside(visit: object) -> str:
        raise RuntimeError("a secret of ours")

    with made.app_context():
        yield made
        db.engine.dispose()


FAULTS = [("/broken", 500), *((f"/lost/{number}", 503) for number in range(len(LOST)))]


@pytest.mark.parametrize(("where", "status"), FAULTS)
def test_h29_a_fault_is_a_line_for_htmx_and_a_page_for_a_reader(failing: Flask, where: str, status: int) -> None:
    client = failing.test_client()
    line = client.get(where, headers=HTMX)
    assert (line.status_code, line.mimetype) == (status, "text/plain")
    assert line.text == WORDS[status][1]
    page = client.get(where)
    assert (page.status_code, page.mimetype) == (status, "text/html")
    assert is_page(page.text)
    assert WORDS[status][0] in page.text
    for answer in (line, page):
        assert "secret" not in answer.text
        assert {"HX-Request", "HX-History-Restore-Request"} <= vary(answer.headers)


def test_h29_a_fault_inside_an_organisation_is_one_too(failing: Flask, own: Furnished) -> None:
    person = Browser(failing.test_client()).sign_in(ADMIN)
    forget_request()
    line = person.client.get("/o/acme/broken", headers=HTMX)
    assert (line.status_code, line.mimetype, line.text) == (500, "text/plain", WORDS[500][1])
    forget_request()
    assert is_page(person.client.get("/o/acme/broken").text)


def test_h29_a_database_that_is_gone_is_said_and_nothing_hangs(worker: str) -> None:
    """No socket answers there: each page says so, for htmx in one line, and the front door stays open."""
    nowhere = replace(settings_of(worker), database_url="postgresql://onus@/none?host=/nowhere")
    client = create_app(nowhere).test_client()
    assert client.get("/login").status_code == 200
    with client.session_transaction() as session:
        session["_user_id"] = "1"
    for where in ("/", "/o/acme/", "/o/acme/register", "/login"):
        line, page = client.get(where, headers=HTMX), client.get(where)
        assert (line.status_code, line.mimetype, line.text) == (503, "text/plain", WORDS[503][1]), where
        assert page.status_code == 503, where
        assert WORDS[503][0] in page.text, where
    assert client.get("/status").status_code == 503
    assert client.get("/healthz").get_json()["problems"] == ["the database cannot be reached"]


@pytest.mark.parametrize("status", [400, 403, 404, 405])
def test_h29_a_refusal_is_a_line_for_htmx(browser: SignIn, own: Furnished, status: int) -> None:
    person = browser("dana@acme.example")
    where = {400: "/logout", 403: "/o/acme/settings", 404: "/o/acme/nowhere", 405: "/logout"}[status]
    method = "POST" if status == 400 else "GET"
    line = person.client.open(where, method=method, headers=HTMX)
    assert (line.status_code, line.mimetype, line.text) == (status, "text/plain", WORDS[status][1])
    forget_request()
    assert is_page(person.client.open(where, method=method).text)
