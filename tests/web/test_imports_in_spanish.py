"""Bringing in a file as a member reads it whose language is Spanish, from the upload to taking it back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.web.conftest import Browser
from tests.web.furnished import Furnished
from tests.web.spanish import english_in
from tests.web.test_evidence_in_spanish import as_spanish

pytestmark = pytest.mark.furnished
SignIn = Callable[[str], Browser]

PAGES = {
    "/register/import": "No se cambia nada antes",
    "/register/import/{upload_id}": "Qué es cada columna",
    "/register/imports/{import_run_id}": "Huella del archivo",
    "/register/imports/{import_run_id}/in-error": "Deshacer toda la importación",
    "/register/imports/{import_run_id}/release": "borrador",
}


def test_every_page_of_an_import_is_spanish(own: Furnished, browser: SignIn) -> None:
    ana = as_spanish(own, browser)
    english = {}
    for address, telling in PAGES.items():
        page = ana.get(f"/o/acme{address}".format(**own.ids))
        assert telling in page.text, address
        english[address] = english_in(page.text)
    # Why a line was not accepted is kept in the words in which it was found.
    assert english.pop("/register/imports/{import_run_id}") == ["'sometime' is not a date"]
    assert not any(english.values()), english


def test_what_is_asked_of_the_columns_is_spanish(own: Furnished, browser: SignIn) -> None:
    ana = as_spanish(own, browser)
    page = ana.post("/o/acme/register/import/{upload_id}".format(**own.ids), date_format="auto")
    assert "Elija qué columna es la referencia y cuál es la fecha de vencimiento." in page.text
    page = ana.post("/o/acme/register/import/{upload_id}/table".format(**own.ids), header_row="x")
    assert "Escriba la fila de la cabecera como un número" in page.text
    page = ana.post("/o/acme/register/import")
    assert "Elija un archivo." in page.text
    assert english_in(page.text) == []
