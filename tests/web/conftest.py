"""Pages in tests: a client of the real application, signed in as a person of acme."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import pytest
from flask import Flask, g
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.operations import people
from app.trail.act import Act
from tests import factories
from tests.conftest import rolled_back
from tests.factories import NOW, Acme
from tests.people import ADMIN, HASH, INSPECTOR, OFFICER, PASSWORD, STAFF
from tests.web.furnished import Furnished, furnish, other, undone

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
        markup = response.text if response.mimetype.startswith("text/") else ""
        found = re.search(r'name="csrf_token" value="([^"]+)"', markup)
        self.token = found.group(1) if found else self.token
        return response

    def sign_in(self, email: str, password: str = PASSWORD) -> Browser:
        self.get("/login")
        assert self.post("/login", email=email, password=password).status_code == 303
        self.get("/status")
        return self


@pytest.fixture(scope="module")
def ground(shared_app: Flask) -> Iterator[tuple[Furnished, Furnished]]:
    """acme and other, furnished once for a module that is marked `furnished`."""
    with rolled_back(shared_app):
        acme = factories.acme()
        add_people(acme)
        yield furnish(acme, "acme", "Bruno"), other()


@pytest.fixture
def app(request: pytest.FixtureRequest, shared_app: Flask) -> Iterator[Flask]:
    """The application, in a transaction that ends with the test; on the ground of its module, in a savepoint."""
    if is_furnished(request):
        request.getfixturevalue("ground")
        forget_request()
        with undone():
            yield shared_app
    else:
        with rolled_back(shared_app):
            yield shared_app


def is_furnished(request: pytest.FixtureRequest) -> bool:
    return request.node.get_closest_marker("furnished") is not None


@pytest.fixture
def own(request: pytest.FixtureRequest, app: Flask) -> Furnished:
    """acme with something on every page."""
    if is_furnished(request):
        return copy.deepcopy(request.getfixturevalue("ground")[0])
    return furnish(request.getfixturevalue("staffed"), "acme", "Bruno")


@pytest.fixture
def foreign(app: Flask, ground: tuple[Furnished, Furnished]) -> Furnished:
    """The organisation of other people, of a module that is marked `furnished`."""
    return copy.deepcopy(ground[1])


@pytest.fixture
def acme(request: pytest.FixtureRequest, app: Flask) -> Acme:
    return request.getfixturevalue("own").acme if is_furnished(request) else factories.acme()


@pytest.fixture
def staffed(request: pytest.FixtureRequest, acme: Acme) -> Acme:
    """acme with Adela (admin), Ana (officer), Bruno (staff) and Dana (inspector), who all have a password."""
    if not is_furnished(request):
        add_people(acme)
    return acme


def add_people(acme: Acme) -> None:
    roles = {ADMIN: "admin", OFFICER: "officer", STAFF: "staff", INSPECTOR: "inspector"}
    with acme.acting() as act:
        for email, role in roles.items():
            name = email.partition("@")[0].capitalize()
            acme.members[name] = people.add_member(act, email, role, name=name, password_hash=HASH)


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
