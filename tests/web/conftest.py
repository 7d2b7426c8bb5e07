"""Pages in tests: a client of the real application, signed in as a person of acme."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import pytest
from flask import Flask, g
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.operations import people
from app.operations.passwords import hashed
from app.trail.act import Act
from tests.factories import NOW, Acme
from tests.people import INSPECTOR, OFFICER, STAFF

ADMIN = "adela@acme.example"  # Adela manages people, sites and settings.
PASSWORD = "correct horse battery"
HASH = hashed(PASSWORD)
HTMX = {"HX-Request": "true"}


def forget_request() -> None:
    """The test's own application context would lend its `g`, with the person and the token, to the next request."""
    for name in list(g):
        g.pop(name)


@dataclass
class Browser:
    """A client that sends the token of the page that it saw last, as a browser does."""

    client: FlaskClient
    token: str = ""
    extra: dict[str, str] = field(default_factory=dict)

    def get(self, address: str, **headers: str) -> TestResponse:
        forget_request()
        return self._seen(
            self.client.get(address, headers=self.extra | {k.replace("_", "-"): v for k, v in headers.items()})
        )

    def post(self, address: str, htmx: bool = False, **form: object) -> TestResponse:
        headers = self.extra | (HTMX if htmx else {})
        forget_request()
        return self._seen(self.client.post(address, data={"csrf_token": self.token, **form}, headers=headers))

    def _seen(self, response: TestResponse) -> TestResponse:
        found = re.search(r'name="csrf_token" value="([^"]+)"', response.text)
        self.token = found.group(1) if found else self.token
        return response

    def sign_in(self, email: str, password: str = PASSWORD) -> Browser:
        self.get("/login")
        assert self.post("/login", email=email, password=password).status_code == 303
        self.get("/status")
        return self


@pytest.fixture
def staffed(acme: Acme) -> Acme:
    """acme with Adela (admin), Ana (officer), Bruno (staff) and Dana (inspector), who all have a password."""
    roles = {ADMIN: "admin", OFFICER: "officer", STAFF: "staff", INSPECTOR: "inspector"}
    with acme.acting() as act:
        for email, role in roles.items():
            name = email.partition("@")[0].capitalize()
            acme.members[name] = people.add_member(act, email, role, name=name, password_hash=HASH)
    return acme


@pytest.fixture
def browser(app: Flask, staffed: Acme, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Browser]]:
    """`browser(OFFICER)` is a browser in which Ana is signed in; the clock stands at 2027-03-01T11:00Z."""
    monkeypatch.setitem(app.extensions, "onus_settings", replace(app.extensions["onus_settings"], clock=NOW))

    def signed_in(email: str) -> Browser:
        return Browser(app.test_client()).sign_in(email)

    return signed_in


def do(acme: Acme, deed: Callable[[Act], object]) -> object:
    with acme.acting() as act:
        return deed(act)
