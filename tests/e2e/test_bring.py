"""A register is brought in a real browser, with the live preview, and without script; then its drafts are released."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from sqlalchemy import text

from app.imports.limits import MOST_LINES_AT_ONCE
from app.operations import people
from app.scheduler import import_tick
from app.scheduler.heartbeat import Heartbeat
from app.scheduler.import_tick import Imports
from tests import factories
from tests.conftest import settings_of
from tests.e2e.conftest import Site, Tab
from tests.factories import NOW, Acme
from tests.web.conftest import ADMIN, HASH, PASSWORD

OpenTab = Callable[..., Tab]

# A title above the table, a code page, a semicolon, dates that only the whole column explains, a formula.
NASTY = (
    "Control de vencimientos;;;\n\nCódigo;Descripción;Vence;Número\n0017;Grúa;05/04/2027;7\n"
    "0018;=1+1;pronto;8\n0019;Extintor;14/04/2027;9\n"
).encode("cp1252")


@pytest.fixture
def acme(site: Site) -> Acme:
    made = factories.acme()
    with made.acting() as act:
        people.add_member(act, ADMIN, "admin", "Adela", HASH)
    return made


@pytest.mark.parametrize("javascript", [True, False])
def test_a_register_is_brought_and_released(tab: OpenTab, acme: Acme, javascript: bool) -> None:
    page = tab(javascript).go("/login")
    page.get_by_label("E-mail").fill(ADMIN)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Register").first.click()
    page.get_by_role("link", name="Bring a register").first.click()
    page.get_by_label("File").set_input_files({"name": "a.csv", "mimeType": "text/csv", "buffer": NASTY})
    page.get_by_role("button", name="Upload and look at it").click()
    page.get_by_label("Column 4, Número, is").select_option(label="Leave it out")
    if javascript:
        page.get_by_label("How dates are written").select_option(label="Year, month, day")
        expect(page.get_by_text("3 lines")).to_be_visible()
        page.get_by_label("How dates are written").select_option(label="As the whole column proves")
    else:
        page.get_by_role("button", name="Check").click()
    expect(page.get_by_text("2 lines")).to_be_visible()
    look_closely(page, javascript)
    page.get_by_role("button", name="Bring it in").click()
    expect(page.get_by_text("2 entries of it are drafts and tell nobody yet.")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Take these lines as a file").click()
    assert "'=1+1" in download.value.path().read_text("utf-8-sig")
    page.get_by_role("link", name="See whom a release tells, and release").click()
    look_closely(page, javascript)
    page.get_by_role("button", name="Put all of them on the watch").click()
    expect(page.get_by_text("No draft of this import waits.")).to_be_visible()
    with acme.acting() as act:
        found = act.session.execute(text("select reference, status, extra from subject order by 1"))
        assert [tuple(row) for row in found] == [("0017", "watched", {}), ("0019", "watched", {})]


@pytest.fixture
def scheduler(site: Site, worker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Imports:
    """A scheduler that is there, whose ticks the test pokes; its children find the database of the test."""
    for name, word in {
        "DATABASE_URL": settings_of(f"real_{worker}").database_url,
        "ENV": "test",
        "CLOCK": NOW.isoformat(),
        "HOME": tmp_path,
    }.items():
        monkeypatch.setenv(f"ONUS_{name}", str(word))
    monkeypatch.setattr(import_tick, "BEAT_EVERY", 0.1)
    Heartbeat()
    return Imports()


@pytest.mark.parametrize("javascript", [True, False])
def test_a_large_register_is_brought_in_beside_the_pages(
    tab: OpenTab, acme: Acme, scheduler: Imports, javascript: bool
) -> None:
    """By script the page follows by itself; without, the link looks again. Numbers are confirmed on the way."""
    page = tab(javascript).go("/login")
    page.get_by_label("E-mail").fill(ADMIN)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.goto(page.url.rstrip("/") + "/register/import")
    rows = "".join(f"A-{n},{'46388' if n == 7 else '2027-05-05'},Boiler {n}\n" for n in range(MOST_LINES_AT_ONCE + 1))
    content = f"Reference,Due date,Title\n{rows}".encode()
    page.get_by_label("File").set_input_files({"name": "a.csv", "mimeType": "text/csv", "buffer": content})
    page.get_by_role("button", name="Upload and look at it").click()
    if not javascript:
        page.get_by_role("button", name="Check").click()
    expect(page.get_by_text("Waiting for its turn")).to_be_visible()
    look_closely(page, javascript)
    assert scheduler.tick() == 1
    look_again(page, javascript)
    expect(page.get_by_text("New 2000 lines")).to_be_visible()
    look_closely(page, javascript)
    page.get_by_label("Line 9 is due on 1 January 2027").check()
    if not javascript:
        page.get_by_role("button", name="Check again with these dates").click()
    expect(page.get_by_text("The file is being checked")).to_be_visible()
    assert scheduler.tick() == 1
    look_again(page, javascript)
    expect(page.get_by_text("New 2001 lines")).to_be_visible()
    page.get_by_role("button", name="Bring it in").click()
    expect(page.get_by_text("The file is being brought in")).to_be_visible()
    assert scheduler.tick() == 1
    look_again(page, javascript)
    expect(page.get_by_text("2001 entries of it are drafts and tell nobody yet.")).to_be_visible()


def look_again(page: Page, javascript: bool) -> None:
    if not javascript:
        page.get_by_role("link", name="Look again").click()


def look_closely(page: Page, javascript: bool) -> None:
    if javascript:
        results = Axe().run(page)
        assert results.violations_count == 0, results.generate_report()
