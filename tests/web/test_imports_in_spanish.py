"""Bringing in a file as a member reads it whose language is Spanish, from the upload to taking it back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest

from app.domain.errors import Refused
from app.imports.dates import plausible, refuse
from app.web.import_form import said
from app.web.import_reasons import PATTERNS
from app.wording import spoken
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
    assert not any(english.values()), english


@pytest.mark.parametrize(
    ("kept", "shown"),
    [
        ("'sometime' is not a date", "'sometime' no es una fecha"),
        ("'1 is not a date' is not a date", "'1 is not a date' no es una fecha"),
        ("the number 46000 would be 2025-12-09 in a spreadsheet: confirm the date",
         "el número 46000 sería el 9 de diciembre de 2025 en una hoja de cálculo: confirme la fecha"),
        ("no such owner: 'ana%(x)s'", "aquí nadie es conocido como responsable con 'ana%(x)s'"),
        ("nobody has written this yet", "nobody has written this yet"),
    ],
)  # fmt: skip
def test_a_kept_reason_is_retold_in_the_language_of_the_reader(kept: str, shown: str) -> None:
    """What was given stays as it was given."""
    with spoken("es"):
        assert said(kept) == shown


def test_reasons_that_are_read_are_known_again() -> None:
    """Those that a file meets most, as they are made, so that a changed sentence is missed here."""
    for text in ("12.12.27", "46000", "sometime", "2027-04-03 25:00", "1890-01-01"):
        with pytest.raises(Refused) as refused:
            refuse(text, "ymd") if text[:2] != "18" else plausible(dt.date(1890, 1, 1), text)
        assert any(pattern.fullmatch(str(refused.value)) for _, pattern in PATTERNS), refused.value


def test_what_is_asked_of_the_columns_is_spanish(own: Furnished, browser: SignIn) -> None:
    ana = as_spanish(own, browser)
    page = ana.post("/o/acme/register/import/{upload_id}".format(**own.ids), date_format="auto")
    assert "Elija qué columna es la referencia y cuál es la fecha de vencimiento." in page.text
    page = ana.post("/o/acme/register/import/{upload_id}/table".format(**own.ids), header_row="x")
    assert "Escriba la fila de la cabecera como un número" in page.text
    page = ana.post("/o/acme/register/import")
    assert "Elija un archivo." in page.text
    assert english_in(page.text) == []
