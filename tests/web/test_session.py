"""Signing in and out; where `next` may lead (H39); what a session that is over looks like (H26)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import quote

import pytest
from flask import Flask

from app.models import Member, Organisation
from tests import factories
from tests.factories import Acme
from tests.people import INSPECTOR, OFFICER, STAFF
from tests.web.conftest import PASSWORD, Browser

SignIn = Callable[[str], Browser]


@pytest.mark.parametrize(
    ("email", "start"), [(OFFICER, "/o/acme/"), (STAFF, "/o/acme/inbox"), (INSPECTOR, "/o/acme/evidence")]
)
def test_each_role_has_its_first_page(browser: SignIn, email: str, start: str) -> None:
    person = browser(email)
    assert person.get("/").location == start
    assert person.get(start).status_code == 200


def test_a_wrong_password_keeps_what_was_typed_and_says_so(app: Flask, browser: SignIn) -> None:
    stranger = Browser(app.test_client())
    stranger.get("/login")
    refused = stranger.post("/login", email=OFFICER, password="wrong")
    assert refused.status_code == 422
    assert f'value="{OFFICER}"' in refused.text
    assert 'aria-invalid="true"' in refused.text
    assert 'value="wrong"' not in refused.text


def test_refused_sign_ins_are_on_the_trail_once_a_minute(app: Flask, browser: SignIn, staffed: Acme) -> None:
    stranger = Browser(app.test_client())
    stranger.get("/login")
    for email in (OFFICER, OFFICER, "nobody@acme.example", STAFF):
        assert stranger.post("/login", email=email, password="wrong").status_code == 422
    with staffed.acting() as act:
        rows = act.run("select actor, detail from audit_event where type = 'sign_in_refused' order by id").all()
    assert rows == [
        ("system:stranger", {"member_id": staffed.members[name], "path": "/login"}) for name in ("Ana", "Bruno")
    ]


NEXT = [
    "https://evil.example/", "//evil.example", "////evil.example", "/%09/evil.example", "/%5Cevil.example",
    "%20//evil.example", "https:evil.example", "javascript:alert(1)", "/%0A/evil.example", "/login", "/nowhere",
]  # fmt: skip


@pytest.mark.parametrize("wanted", NEXT)
def test_h39_next_leads_nowhere_else(app: Flask, browser: SignIn, wanted: str) -> None:
    stranger = Browser(app.test_client())
    shown = stranger.get(f"/login?next={wanted}")
    given = shown.text.split('name="next" value="')[1].split('"')[0].replace("&#34;", '"').replace("&amp;", "&")
    answer = stranger.post("/login", email=OFFICER, password=PASSWORD, next=given)
    assert (answer.status_code, answer.location) == (303, "/")


def test_h39_next_leads_to_a_page_of_ours(app: Flask, browser: SignIn) -> None:
    stranger = Browser(app.test_client())
    stranger.get("/login")
    answer = stranger.post("/login", email=OFFICER, password=PASSWORD, next="/o/acme/register?page=2")
    assert answer.location == "/o/acme/register?page=2"


def test_h26_a_session_that_is_over_sends_htmx_to_the_login_page(app: Flask, browser: SignIn) -> None:
    headers = {"HX-Request": "true", "HX-Current-URL": "http://localhost/o/acme/register?site=3"}
    answer = app.test_client().get("/o/acme/register?after=9", headers=headers)
    assert answer.status_code == 204
    assert answer.headers["HX-Redirect"] == "/login?next=" + quote("/o/acme/register?site=3", safe="/")
    assert "Location" not in answer.headers
    assert "password" not in answer.text
    foreign = app.test_client().get("/o/acme/register", headers=headers | {"HX-Current-URL": "https://evil.example/x"})
    assert foreign.headers["HX-Redirect"] == "/login?next=/"
    plain = app.test_client().get("/o/acme/register?site=3")
    assert plain.status_code == 302
    assert plain.location == "/login?next=/o/acme/register%3Fsite%3D3"


def test_signing_out_ends_the_session(browser: SignIn) -> None:
    person = browser(OFFICER)
    assert person.post("/logout").location == "/login"
    assert person.get("/o/acme/").status_code == 302


def test_a_form_without_the_token_is_refused(browser: SignIn) -> None:
    person = browser(OFFICER)
    person.token = ""
    answer = person.post("/logout")
    assert answer.status_code == 400
    assert person.get("/o/acme/").status_code == 200


def test_a_sign_in_is_noted_by_the_day_of_the_organisation(
    app: Flask, browser: SignIn, staffed: Acme, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the islands of Midway Bruno's last day is not over, while it is tomorrow in UTC."""
    with staffed.acting() as act:
        act.session.get_one(Organisation, act.org).timezone = "Pacific/Midway"
        act.session.get_one(Member, (act.org, staffed.members["Bruno"])).valid_until = dt.date(2027, 2, 28)
    evening = replace(app.extensions["onus_settings"], clock=factories.NOW - dt.timedelta(hours=2))
    monkeypatch.setitem(app.extensions, "onus_settings", evening)
    assert browser(STAFF).get("/o/acme/inbox").status_code == 200
    with staffed.acting() as act:
        [actor] = act.run("select actor from audit_event where type = 'signed_in'").scalars()
        assert actor == f"member:{staffed.members['Bruno']}"
