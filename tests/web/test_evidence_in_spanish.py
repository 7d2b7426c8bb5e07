"""Today and Evidence as a member reads them whose language is Spanish: no page falls back into English."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import update

from app.domain.delivery import State
from app.models import Member
from app.queries.queues import Queue
from tests.people import OFFICER
from tests.web.conftest import Browser
from tests.web.furnished import Furnished
from tests.web.spanish import english_in

pytestmark = pytest.mark.furnished
SignIn = Callable[[str], Browser]

# The telling words of each page, and its address below the organisation.
PAGES = {
    "": "Cada centro, con su propia fecha",
    "/today/missing": "Avisos que faltan",
    "/today/unwatched": "Por qué no se vigila",
    "/today/unreached": "No llegaría a nadie",
    **{f"/today/{queue}": "Responsable" for queue in Queue},
    "/evidence": "Envíos retenidos",
    "/evidence/undelivered": "Sin entregar desde hace más de",
    "/evidence/nobody-to-tell": "Traspase la ficha o cambie la regla",
    "/evidence/missing": "Avisos que faltan",
    "/evidence/silent": "Avisado, sin respuesta",
    "/evidence/alerts": "Generado desde",
    "/evidence/alerts/{claim_id}": "Qué ha sido de él",
    "/evidence/checks": "Todas las comprobaciones",
    "/evidence/doubts": "Envío sin confirmar",
    "/evidence/returned": "Rechazado o devuelto",
    "/evidence/messages/{delivery_id}": "Dirección utilizada",
    "/evidence/held": "Envíos retenidos",
    "/evidence/off-the-watch": "Retirado de la vigilancia",
    "/evidence/off-the-watch?from=x": "Escriba una fecha de los años 1990 a 2079",
    "/evidence/past": "A quién se había avisado y qué había respondido",
    "/evidence/past?on=2077-01-01": "Ese día aún no ha terminado",
    "/evidence/exports": "PDF, para leer e imprimir",
}


def as_spanish(own: Furnished, browser: SignIn) -> Browser:
    with own.acme.acting() as act:
        act.session.execute(update(Member).where(Member.email == OFFICER).values(locale="es"))
    return browser(OFFICER)


def test_the_finder_finds_english() -> None:
    """So that the tests below can fail."""
    page = '<p title="Nobody">Nada <b>of the kind</b><code>and not this</code></p>'
    assert english_in(page) == ["Nobody", "of the kind"]


def test_every_page_of_today_and_evidence_is_spanish(own: Furnished, browser: SignIn) -> None:
    ana = as_spanish(own, browser)
    english = {}
    for address, telling in PAGES.items():
        page = ana.get(f"/o/acme{address or '/'}".format(**own.ids))
        assert telling in page.text, address
        english[address] = english_in(page.text)
    assert {address: texts for address, texts in english.items() if texts} == {}


def test_what_is_refused_and_decided_is_said_in_spanish(own: Furnished, browser: SignIn) -> None:
    ana = as_spanish(own, browser)
    page = ana.post("/o/acme/evidence/checks", since="x", note="")
    assert "La explicación está vacía" in page.text
    page = ana.post("/o/acme/evidence/exports", format="doc", until="x")
    assert "Elija uno de los formatos." in page.text
    address = "/o/acme/evidence/messages/{delivery_id}".format(**own.ids)
    page = ana.post(address, decision="settled", seen=State.in_doubt)
    assert "Elija uno de los botones." in page.text
    assert english_in(page.text) == []
