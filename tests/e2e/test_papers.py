"""An entry is renewed with a new paper in a real browser, with script and without, and its file is saved, not shown."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from app.operations import documents, people
from tests import factories
from tests.e2e.conftest import Site, Tab
from tests.factories import NOW, Acme
from tests.web.conftest import ADMIN, HASH, PASSWORD

OpenTab = Callable[..., Tab]
PDF = b"%PDF-1.7\n%%EOF\n"
TODAY = NOW.date()


@pytest.fixture
def acme(site: Site) -> Acme:
    made = factories.acme()
    with made.acting() as act:
        people.add_member(act, ADMIN, "admin", "Adela", HASH)
        vessel = factories.subject(act, "PV-07", TODAY + dt.timedelta(days=9), title="Vessel", recurrence="1y")
        documents.add_paper(act, vessel, documents.Paper("C-1188", "Notified body"))
    return made


def sign_in(page: Page) -> None:
    page.get_by_label("E-mail").fill(ADMIN)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def fill(page: Page, until: str) -> None:
    page.get_by_label("Number").fill("C-1340")
    page.get_by_label("Valid until").fill(until)
    page.get_by_label("File").set_input_files({"name": "scan.pdf", "mimeType": "text/html", "buffer": PDF})


def violations(page: Page) -> list[str]:
    result = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]})
    return [violation["id"] for violation in result.response["violations"]]


@pytest.mark.parametrize(("javascript", "width"), [(True, 1280), (True, 360), (False, 1280)])
def test_an_entry_is_renewed_and_its_paper_is_saved(
    tab: OpenTab, acme: Acme, javascript: bool, width: int, tmp_path: Path
) -> None:
    one = tab(javascript, width)
    page = one.go("/login")
    sign_in(page)
    one.go("/o/acme/register?q=C-1188")
    page.get_by_role("link", name="PV-07", exact=True).click()
    page.get_by_role("link", name="Renew").first.click()
    fill(page, "1999-01-01")
    page.get_by_label("Valid from").fill("2000-01-01")
    page.get_by_role("button", name="Renew", exact=True).click()
    expect(page.get_by_text("is before the first")).to_be_visible()
    expect(page.get_by_text("Choose the file again")).to_be_visible()
    assert violations(page) == [] if javascript else True
    page.get_by_label("Valid from").fill("")
    fill(page, str(TODAY.replace(day=1, year=TODAY.year + 2)))
    page.get_by_role("button", name="Renew", exact=True).click()
    expect(page.get_by_text("Replaced by C-1340").first).to_be_visible()
    expect(page.get_by_text("renewed with C-1340")).to_be_visible()
    assert violations(page) == [] if javascript else True
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth") if javascript else True
    with page.expect_download() as waiting:
        page.get_by_role("link", name="scan.pdf").click()
    waiting.value.save_as(tmp_path / "saved")
    assert waiting.value.suggested_filename == "scan.pdf"
    assert (tmp_path / "saved").read_bytes() == PDF
    assert "/register/" in page.url
    assert one.faults == []
