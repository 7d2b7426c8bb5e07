"""Security headers on every answer, forms over HTTPS, the session cookie, and what no template may hold (ASVS 3.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from app import create_app
from app.config import Settings, beside
from app.extensions import db
from app.web import assets
from app.web.access import public
from tests.conftest import settings_of
from tests.people import OFFICER
from tests.web.conftest import ADMIN, HTMX, PASSWORD, Browser, forget_request
from tests.web.furnished import Furnished, SignIn, address, routes, undone

POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
    "object-src": "'none'",
}
# Those of the pages: a mail is read elsewhere, where no style sheet of ours is.
TEMPLATES = sorted(path for path in beside("templates").rglob("*.html") if path.parent.name != "mail")
BASE = "https://onus.example"


def check_headers(response: TestResponse, what: str, cached: bool = False) -> None:
    headers = response.headers
    policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
    assert policy == POLICY, what
    assert headers["X-Content-Type-Options"] == "nosniff", what
    assert headers["Referrer-Policy"] == "same-origin", what
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin", what
    expected = "public, max-age=31536000, immutable" if cached else "no-store"
    assert headers["Cache-Control"] == expected, what
    assert "Strict-Transport-Security" not in headers, what


@pytest.mark.parametrize("email", [ADMIN, None])
def test_every_answer_carries_the_headers(app: Flask, browser: SignIn, own: Furnished, email: str | None) -> None:
    person = browser(email) if email else Browser(app.test_client())
    person.get("/status")
    for name, rule in routes(app).items():
        where = address(rule, "acme", own.ids)
        for headers in ({}, HTMX):
            with undone():
                forget_request()
                method, form = name.split(" ")[0], {"csrf_token": person.token}
                response = person.client.open(where, method=method, data=form, headers=headers)
            if response.status_code == 200 and "/files/" in name:  # It has a stricter policy: see test_papers.
                response.headers["Content-Security-Policy"] = "; ".join(map(" ".join, POLICY.items()))
            check_headers(response, name)
    for where, status in ((f"/o/acme/{'x' * 9}", 404), ("/logout", 405), ("/assets/0/../../etc/passwd", 404)):
        response = person.client.get(where)
        assert response.status_code == status
        check_headers(response, where)
    for method in ("OPTIONS", "HEAD", "PUT", "DELETE", "TRACE"):
        check_headers(person.client.open("/login", method=method), method)
    refused = person.client.post("/logout")
    assert refused.status_code == 400
    check_headers(refused, "a form without its token")


@pytest.fixture
def broken(worker: str, app: Flask) -> Iterator[Flask]:
    """An application of its own with a route that breaks, and one that takes what is too large."""
    made = create_app(settings_of(worker))

    @made.get("/broken")
    @public
    def broken_view() -> str:
        raise RuntimeError("a secret of ours")

    made.config["MAX_CONTENT_LENGTH"] = 1000
    yield made
    with made.app_context():
        db.engine.dispose()


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_faults_carry_the_headers_and_tell_nothing(broken: Flask, headers: dict[str, str]) -> None:
    client = broken.test_client()
    fault = client.get("/broken", headers=headers)
    assert fault.status_code == 500
    assert "secret" not in fault.text
    assert "Traceback" not in fault.text
    check_headers(fault, "500")
    client.get("/login")
    large = client.post("/login", data={"email": "x" * 2000}, headers=headers)
    assert large.status_code == 413
    check_headers(large, "413")


@pytest.mark.parametrize("name", assets.TYPES)
def test_assets_are_kept_for_a_year_at_the_address_of_their_content(app: Flask, name: str) -> None:
    client = app.test_client()
    found = client.get(f"/assets/{assets.digest(name)}/{name}")
    assert found.status_code == 200
    assert found.data == assets.content(name)
    assert found.mimetype == assets.TYPES[name]
    assert "Set-Cookie" not in found.headers
    check_headers(found, name, cached=True)
    for stamp, wanted in (("0" * 12, name), (assets.digest(name), "wsgi.py"), (assets.digest(name)[:-1], name)):
        missing = client.get(f"/assets/{stamp}/{wanted}")
        assert missing.status_code == 404
        check_headers(missing, wanted)


def test_the_pages_name_assets_that_are_there(browser: SignIn) -> None:
    person = browser(ADMIN)
    named = re.findall(r'(?:href|src)="(/assets/[^"]+)"', person.get("/o/acme/").text)
    assert len(named) == len(assets.TYPES)
    assert [person.get(one).status_code for one in named] == [200] * len(named)


@pytest.fixture
def production(worker: str, browser: SignIn, app: Flask) -> Iterator[Flask]:
    """The application with the settings of production, on the rows of the test."""
    chosen = settings_of(worker)
    made = create_app(
        Settings(chosen.home, "production", chosen.database_url, chosen.owner_url, "of the tests", base_url=BASE)
    )
    with made.app_context():
        yield made
        db.engine.dispose()


def test_a_form_works_over_https_from_its_own_page_alone(production: Flask, own: Furnished) -> None:
    """Flask-WTF wants a referrer over HTTPS, which Referrer-Policy: same-origin lets the browser send."""
    client = production.test_client()

    def post(referrer: str | None) -> TestResponse:
        forget_request()
        page = client.get("/login", base_url=BASE)
        token = re.search(r'name="csrf_token" value="([^"]+)"', page.text)
        form = {"csrf_token": token[1] if token else "", "email": OFFICER, "password": PASSWORD}
        forget_request()
        return client.post("/login", base_url=BASE, data=form, headers={"Referer": referrer} if referrer else {})

    assert post(None).status_code == 400
    assert post("https://evil.example/login").status_code == 400
    assert post("http://onus.example/login").status_code == 400
    signed = post(f"{BASE}/login")
    assert signed.status_code == 303
    assert signed.headers["Strict-Transport-Security"] == "max-age=31536000; includeSubDomains"
    forget_request()
    assert client.get("/o/acme/register", base_url=BASE).status_code == 200


def cookie(response: TestResponse) -> set[str]:
    """The attributes of the one cookie that is set."""
    (line,) = response.headers.getlist("Set-Cookie")
    return {part.strip() for part in line.split(";")[1:]}


def test_the_session_cookie_is_out_of_reach(production: Flask, app: Flask) -> None:
    assert {"HttpOnly", "SameSite=Lax", "Secure", "Path=/"} <= cookie(
        production.test_client().get("/login", base_url=BASE)
    )
    forget_request()
    plain = cookie(app.test_client().get("/login"))
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= plain
    assert "Secure" not in plain
    assert not any(part.startswith("Domain") for part in plain)


def test_signing_in_makes_a_session_that_was_not_there_before(app: Flask, browser: SignIn) -> None:
    """What somebody else put into the browser before is not what is signed in afterwards (fixation)."""
    client = app.test_client()
    victim = Browser(client)
    victim.get("/login")
    planted = client.get_cookie("onus")
    victim.post("/login", email=OFFICER, password=PASSWORD)
    assert planted is not None
    thief = app.test_client()
    thief.set_cookie("onus", planted.value)
    forget_request()
    assert thief.get("/o/acme/").status_code == 302


FORBIDDEN = {
    "hx-on": r"hx-on",
    "an expression": r"\bjs:|javascript:",
    "a style": r"\sstyle\s*=|<style",
    "a script of its own": r"<script(?![^>]*\ssrc=)",
    "an event attribute": r"\son[a-z]+=[\"']",
    "a trigger filter": r"hx-trigger=\"[^\"]*\[",
    "evaluated values": r"hx-(?:vals|headers|vars)=['\"]?\s*js",
    "unescaped text": r"\|\s*safe\b|autoescape\s+false|Markup\(",
    "an address of another host": r"(?:href|src|action|hx-get|hx-post)=\"(?:https?:)?//",
}


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: str(path.relative_to(beside("templates"))))
def test_no_template_holds_what_the_policy_forbids(template: Path) -> None:
    source = template.read_text()
    assert [what for what, pattern in FORBIDDEN.items() if re.search(pattern, source)] == []
    for form in re.findall(r"<form\b.*?</form>", source, re.DOTALL):
        opening = form.split(">")[0]
        assert " action=" in opening, form
        assert ' method="post"' in opening or ' method="get"' in opening, form
        assert (' method="post"' in opening) == ("token()" in form or 'name="csrf_token"' in form), form
        assert ("hx-post=" not in opening) or ' method="post"' in opening, form
    for link in re.findall(r"<a\b[^>]*>", source):
        assert " href=" in link, link
    for asking in re.findall(r"<(\w+)\b([^>]*\bhx-(?:get|post)=[^>]*)>", source):
        assert asking[0] in ("a", "form") or "hx-trigger=" in asking[1], asking


def test_the_rules_for_templates_can_fail() -> None:
    """Each of the patterns finds what it is there for."""
    bad = '<p style="x"><script>1</script><a onclick="x" href="//evil.example" hx-on:click="js:x"'
    bad += ' hx-vals="js:{}" hx-trigger="click[ctrlKey]">{{ x | safe }}'
    assert [what for what, pattern in FORBIDDEN.items() if not re.search(pattern, bad)] == []
    assert len(TEMPLATES) > 50


def test_htmx_evaluates_nothing_and_keeps_nothing(browser: SignIn) -> None:
    page = browser(ADMIN).get("/o/acme/").text
    for setting in ('"allowEval":false', '"allowScriptTags":false', '"includeIndicatorStyles":false',
                    '"historyCacheSize":0', '"selfRequestsOnly":true'):  # fmt: skip
        assert setting in page
