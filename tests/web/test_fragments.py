"""One address, page or fragment: what htmx gets, what a reader who goes back gets, and what comes when it fails
(H26, H27, H29)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import quote

import pytest
from flask import Flask

from app import create_app
from app.database import LOST, Unreachable
from app.extensions import db
from app.web.access import for_roles, public
from app.web.entry import DEADLINE_DEEDS, ENTRY_DEEDS
from app.web.errors import WORDS
from tests.conftest import settings_of
from tests.factories import Acme
from tests.web.conftest import ADMIN, HTMX, Browser, forget_request
from tests.web.furnished import Furnished, SignIn, address, furnish, routes
from tests.web.markup import Element, read

RESTORE = {"HX-Request": "true", "HX-History-Restore-Request": "true"}
BOOSTED = {"HX-Request": "true", "HX-Boosted": "true"}


@pytest.fixture
def own(staffed: Acme) -> Furnished:
    return furnish(staffed, "acme", "Bruno")


@pytest.fixture
def adela(browser: SignIn) -> Browser:
    return browser(ADMIN)


def is_page(markup: str) -> bool:
    return markup.lstrip().lower().startswith("<!doctype html>")


def wheres(app: Flask, own: Furnished) -> list[str]:
    """The address of every page of an organisation, with every act on an entry and on a deadline."""
    gets = [rule for name, rule in routes(app).items() if name.startswith("GET /o/")]
    entry = f"/o/acme/register/{own.ids['subject_id']}"
    acts = [f"{entry}/{deed}" for deed in ENTRY_DEEDS]
    acts += [f"{entry}/deadlines/{own.ids['obligation_id']}/{deed}" for deed in DEADLINE_DEEDS]
    return [address(rule, "acme", own.ids) for rule in gets] + acts + [f"{entry}?history={10**9}"]


@pytest.fixture
def forked(app: Flask, own: Furnished, adela: Browser) -> list[str]:
    """The addresses that give htmx a fragment. Those that only ever are one have no page around it."""
    found = []
    for where in wheres(app, own):
        by_htmx = adela.client.get(where, headers=HTMX)
        forget_request()
        if by_htmx.status_code == 200 and not is_page(by_htmx.text):
            found.append(where)
    assert len(found) > 30
    return [where for where in found if where != "/o/acme/inbox/unread"]


def vary(headers: object) -> set[str]:
    return {name.strip() for name in str(headers).split(",")}


def test_h27_page_and_fragment_say_on_what_they_depend(adela: Browser, forked: list[str]) -> None:
    for where in forked:
        for headers in ({}, HTMX, RESTORE):
            forget_request()
            response = adela.client.get(where, headers=headers)
            named = vary(response.headers["Vary"])
            assert {"HX-Request", "HX-History-Restore-Request", "HX-Boosted", "Cookie"} <= named, where
            assert response.headers["Cache-Control"] == "no-store", where


@pytest.mark.parametrize("headers", [{}, RESTORE, BOOSTED])
def test_h27_whoever_goes_back_gets_the_page(adela: Browser, forked: list[str], headers: dict[str, str]) -> None:
    for where in forked:
        forget_request()
        response = adela.client.get(where, headers=headers)
        assert response.status_code == 200, where
        assert is_page(response.text), where
        assert response.text.count("<h1") == 1, where


def test_h27_a_fragment_has_one_root_that_its_page_has_too(adela: Browser, forked: list[str]) -> None:
    for where in forked:
        page, fragment = adela.get(where).text, read(adela.get(where, HX_Request="true").text)
        assert len(fragment.elements) == 1, where
        assert not [child for child in fragment.children if isinstance(child, str) and child.strip()], where
        root = fragment.elements[0]
        twin = [one for one in read(page).walk() if one.get("id") == root.get("id")]
        assert root.get("id"), where
        assert len(twin) == 1, where
        assert twin[0].tag == root.tag, where
        assert twin[0].text == root.text, where


def targets(asking: Element) -> str | None:
    """The id into which an answer goes, if it is named by id."""
    target = asking.get("hx-target")
    return target[1:] if target.startswith("#") else None


def test_h27_what_htmx_aims_at_is_on_the_page(app: Flask, own: Furnished, adela: Browser) -> None:
    """And an answer that takes the place of its target has the id of the target again."""
    for where in wheres(app, own):
        page = adela.get(where)
        if page.status_code != 200 or not is_page(page.text):
            continue
        tree = read(page.text)
        ids = {one.get("id") for one in tree.walk()}
        for asking in tree.walk():
            target = targets(asking)
            assert target is None or target in ids, (where, target)
            address_of = asking.get("hx-get")
            if address_of and target and asking.get("hx-swap").startswith("outerHTML"):
                answer = read(adela.get(address_of, HX_Request="true").text)
                assert answer.elements[0].get("id") == target, (where, address_of)


def test_h26_a_session_that_is_over_is_no_form_in_a_cell(app: Flask, own: Furnished, browser: SignIn) -> None:
    stranger, seen = app.test_client(), "http://localhost/o/acme/register?site=3"
    for where in wheres(app, own):
        forget_request()
        answer = stranger.get(where, headers=HTMX | {"HX-Current-URL": seen})
        assert answer.status_code in (200, 204), where
        assert answer.headers["HX-Redirect"] == "/login?next=" + quote("/o/acme/register?site=3", safe="/"), where
        assert "Location" not in answer.headers, where
        assert answer.text == "", where
        assert "HX-Request" in vary(answer.headers["Vary"]), where


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
        assert {"HX-Request", "HX-History-Restore-Request"} <= vary(answer.headers["Vary"])


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
