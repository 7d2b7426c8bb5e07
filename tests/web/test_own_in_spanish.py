"""What everybody sees, in Spanish: the frame, the inbox, their own pages, the calendar and its feed."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import unquote

import pytest

from app.operations import languages
from app.operations.feeds import make_feed
from app.wording import spoken
from tests.factories import Acme
from tests.people import ADMIN, OFFICER, STAFF
from tests.web.conftest import Browser
from tests.web.furnished import Furnished
from tests.web.markup import read
from tests.web.spanish import english_in

pytestmark = pytest.mark.furnished

SignIn = Callable[[str], Browser]
SPANISH = "es-MX,es;q=0.9,en;q=0.5"
AS_IT_IS = {"email_alerts": "on", "mail": "at_once", "rest": "organisation"}


def speaks(acme: Acme, name: str, language: str = "es") -> None:
    with acme.acting() as act:
        languages.set_language(act, acme.members[name], language)


def seen(page: str) -> str:
    return read(page).text


def test_the_pages_of_a_person_are_all_spanish(own: Furnished, browser: SignIn) -> None:
    speaks(own.acme, "Bruno")
    bruno, home = browser(STAFF), "/o/acme"
    pages = {
        "/inbox": "Me encargo, hasta…",
        f"/inbox/{own.ids['claim_id']}": "Por qué usted",
        "/my-alerts": "Idioma de las páginas y los mensajes",
        "/away": "Quién sustituye",
        "/calendar": "Para su programa de calendario",
        "/calendar/year": "Vencimientos que le afectan, por centro y semana, del 1 de marzo de 2027",
        "/calendar/agenda": "Los próximos 90 días",
    }
    for page, words in pages.items():
        found = bruno.get(home + page)
        assert (found.status_code, found.headers["Content-Language"]) == (200, "es"), page
        assert words in seen(found.text), page
        assert english_in(found.text) == [], page
    for page, words in {"/phones": "Sus teléfonos", "/status": "La vigilancia", "/o/nowhere/": "No encontrado"}.items():
        found = bruno.get(page, Accept_Language=SPANISH).text
        assert words in seen(found), page
        assert english_in(found) == [], page


def test_the_calendar_and_the_banners_of_an_officer_are_spanish(own: Furnished, browser: SignIn) -> None:
    speaks(own.acme, "Ana")
    ana = browser(OFFICER)
    for page, words in {"/calendar/year": "Fuera de plazo o caducado", "/calendar/agenda": "Faltan "}.items():
        found = ana.get(f"/o/acme{page}").text
        assert words in seen(found), page
        assert english_in(found) == [], page


def test_what_is_refused_is_said_in_spanish_and_nothing_is_lost(own: Furnished, browser: SignIn) -> None:
    speaks(own.acme, "Bruno")
    bruno = browser(STAFF)
    bruno.get("/o/acme/inbox")
    answer = f"/o/acme/inbox/{own.ids['claim_id']}/answer"
    tries = [
        (answer, {"answer": "on_it"}, "Elija hasta qué día se encarga."),
        (answer, {"answer": "maybe"}, "Elija una de las respuestas."),
        ("/o/acme/my-alerts", AS_IT_IS | {"mail": "daily", "daily_at": "8"}, "'8' no es una hora"),
        ("/o/acme/away", {"from_on": "soon", "until_on": ""}, "'soon' no es una fecha"),
        ("/o/acme/calendar", {"dates": ""}, "Elija qué fechas."),
    ]
    for address, form, words in tries:
        refused = bruno.post(address, **form)
        assert refused.status_code == 422, address
        assert words in seen(refused.text), address
        assert english_in(refused.text) == [], address
    bruno.get("/o/acme/inbox")
    noted = bruno.post(answer, htmx=True, answer="seen")
    assert unquote(noted.headers["X-Said"]) == "Su respuesta queda anotada."
    assert english_in(noted.text) == []


def test_whoever_is_not_signed_in_is_spoken_to_as_their_browser_prefers(browser: SignIn, own: Furnished) -> None:
    somebody = browser(STAFF)
    somebody.get("/o/acme/inbox")
    somebody.post("/logout")
    page = somebody.get("/login", Accept_Language=SPANISH).text
    assert "Iniciar sesión en Onus" in seen(page)
    assert english_in(page) == []
    assert "Sign in to Onus" in seen(somebody.get("/login").text)
    health = somebody.get("/healthz", Accept_Language=SPANISH).json
    assert all("no " not in problem.split() or "scheduler" in problem for problem in health["problems"])


def test_a_person_chooses_their_language_and_an_administrator_anothers(own: Furnished, browser: SignIn) -> None:
    bruno = browser(STAFF)
    assert "Language of pages and messages" in seen(bruno.get("/o/acme/my-alerts").text)
    assert bruno.post("/o/acme/my-alerts", **AS_IT_IS, language="es").status_code == 303
    assert "Idioma de las páginas" in seen(bruno.get("/o/acme/my-alerts?saved=yes").text)
    assert "Sus teléfonos" in seen(bruno.get("/phones").text)
    # A form without the field leaves it as it is; a language that nobody speaks is refused.
    assert bruno.post("/o/acme/my-alerts", **AS_IT_IS).status_code == 303
    assert "Onus no habla 'pt': elija uno de estos idiomas: en, es." in seen(
        bruno.post("/o/acme/my-alerts", **AS_IT_IS, language="pt").text
    )
    adela, alerts = browser(ADMIN), f"/o/acme/settings/people/{own.acme.members['Bruno']}/alerts"
    assert "Language of pages and messages" in seen(adela.get(alerts).text)
    assert adela.post(alerts, **AS_IT_IS, language="en").status_code == 303
    bruno = browser(STAFF)
    assert "My alerts" in seen(bruno.get("/o/acme/my-alerts").text)
    # What Bruno sees outside the organisation is for Bruno alone to choose.
    assert "Sus teléfonos" in seen(bruno.get("/phones").text)


def test_a_feed_is_in_the_language_of_its_owner(own: Furnished, browser: SignIn) -> None:
    with own.acme.acting() as act:
        token = make_feed(act, own.acme.members["Ana"], own.ids["site_id"])
    ana = browser(OFFICER)
    assert "SUMMARY:Due: " in ana.get(f"/calendar/{token}.ics").get_data(as_text=True)
    speaks(own.acme, "Ana")
    spanish = ana.get(f"/calendar/{token}.ics").get_data(as_text=True)
    assert "SUMMARY:Vence: " in spanish
    assert "SUMMARY:Due: " not in spanish
    with spoken("en"):
        assert "No hay ningún calendario" in ana.get("/calendar/1.x.ics", Accept_Language=SPANISH).text
