"""Rules and settings as a member reads them whose language is Spanish: every page, and what they refuse."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from flask import Flask
from sqlalchemy import update

from app.models import Member
from tests.people import ADMIN
from tests.web.conftest import Browser
from tests.web.furnished import Furnished, address, routes
from tests.web.markup import read
from tests.web.spanish import english_in

pytestmark = pytest.mark.furnished

SignIn = Callable[[str], Browser]
# What people typed, in English.
TYPED = re.compile(r"people of (this|last) year\.csv|nobody@")
# Pages whose words are those of others: whether mail goes, absences, and why a line of a file was not accepted.
NOT_OURS = ("/alerts", "/away", "/imports/<int:people_import_id>")
OURS = ("GET /o/<slug>/settings", "GET /o/<slug>/rules")
TELLING = {
    "/o/acme/rules": "Una regla dice a quién se avisa, de qué y con cuánta antelación.",
    "/o/acme/rules/new": "Sin marcar ninguno: todos los centros.",
    "/o/acme/settings": "Ajustes de la organización",
    "/o/acme/settings/sites": "Los avisos salen desde las",
    "/o/acme/settings/sites/ready": "¿Están listos los centros?",
    "/o/acme/settings/days-off": "Añadir días libres",
    "/o/acme/settings/kinds": "Tipos, por nombre",
    "/o/acme/settings/people": "Último inicio de sesión",
    "/o/acme/settings/people/import": "Importar personas de un archivo",
    "/o/acme/settings/posts": "Puestos, por nombre",
    "/o/acme/settings/test-mail": "Un correo de prueba muestra si el correo sale de Onus.",
}


@pytest.fixture
def adela(own: Furnished, browser: SignIn) -> Browser:
    with own.acme.acting() as act:
        mine = (Member.org_id == act.org, Member.id == own.acme.members["Adela"])
        act.session.execute(update(Member).where(*mine).values(locale="es"))
    return browser(ADMIN)


def test_every_page_is_spanish(app: Flask, own: Furnished, adela: Browser) -> None:
    own.ids["site_id"] = own.ids["yard_id"]
    ours = {name: rule for name, rule in routes(app).items() if name.startswith(OURS) and not name.endswith(NOT_OURS)}
    people = (own.acme.members[name] for name in ("Bruno", "Dana"))
    pages = {address(rule, "acme", own.ids | {"member_id": one}) for one in people for rule in ours.values()}
    pages.remove(f"/o/acme/settings/people/{own.acme.members['Bruno']}")  # It shows calendar addresses.
    assert pages >= TELLING.keys()
    english = {}
    for where in sorted(pages):
        page = adela.get(where)
        assert page.status_code == 200, where
        if page.mimetype == "text/html":
            assert page.headers["Content-Language"] == "es", where
            assert TELLING.get(where, "") in read(page.text).text, where
            english[where] = english_in(TYPED.sub("", page.text))
    assert {where: found for where, found in english.items() if found} == {}


def test_what_is_refused_is_refused_in_spanish(own: Furnished, adela: Browser) -> None:
    """Beside its field, above the form, and what one refusal quotes of another."""
    rule = {"name": "Permisos", "usual": ["7d"], "channels": ["in_app"], "to": ["owner"]}
    sent = [
        ("rules", {}, "Ponga un nombre a la regla."),
        ("rules", rule | {"notices": "9x"}, "No se puede leer &#39;9x&#39;"),
        ("rules", rule | {"entries": "P-404"}, "No hay ninguna ficha &#39;P-404&#39;: corrija la referencia."),
        ("settings/kinds", {"name": "", "wording": "expires"}, "El nombre del tipo no puede quedar en blanco"),
        ("settings/posts", {"name": "plant manager"}, "El puesto &#39;plant manager&#39; ya existe"),
        ("settings/days-off", {"name": "Cierre", "on_day": "1800-01-01", "site": "all"},
         "El primer día (1800-01-01) está fuera de los años"),
        ("settings/test-mail", {}, "No hay servidor de correo configurado"),
    ]  # fmt: skip
    for where, form, words in sent:
        adela.get("/o/acme/rules/new")
        page = adela.post(f"/o/acme/{where}", **form)
        assert page.status_code == 422, where
        assert words in page.text, where
        assert english_in(TYPED.sub("", page.text)) == [], where
