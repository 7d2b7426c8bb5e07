"""An inspector asks for proof in a real browser, on a phone and without script: the PDF, the bundle, the story."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from pypdf import PdfReader

from app import verifier
from app.operations import export_runs, people
from app.scheduler.export_child import finish
from app.trail.signers import public_keys
from tests import factories
from tests.e2e.conftest import Site, Tab
from tests.factories import NOW, Acme
from tests.operations.story import march
from tests.people import HASH, INSPECTOR, PASSWORD


@pytest.fixture
def acme(site: Site) -> Acme:
    """A boiler permit that Bruno was told of; Dana inspects."""
    made = factories.acme(now=NOW)
    with made.acting() as act:
        people.add_member(act, INSPECTOR, "inspector", "Dana", HASH)
        bruno = factories.member(act, "bruno@acme.example", "staff", name="Bruno")
        factories.subject(act, "P-1", march(20), title="Boiler permit", owner_member_id=bruno)
        factories.rule(act, thresholds=("60d", "30d"), to=("owner",))
    site.tick(made)
    return made


def made_and_taken(page: Page, acme: Acme, format: str) -> Path:
    """Ask for a report, let the scheduler's child make it, and take it."""
    page.get_by_label(format).check()
    page.get_by_role("button", name="Make it").click()
    with acme.acting() as act:
        asked = export_runs.take(act)
    assert asked is not None
    finish(acme.org, asked.id)
    page.get_by_role("link", name="Look again").click()
    with page.expect_download() as download:
        page.get_by_role("link", name=f"Take export {asked.id}").click()
    return Path(download.value.path())


def test_an_inspector_asks_for_proof_and_prints_the_story(
    site: Site, acme: Acme, tab: Callable[..., Tab], tmp_path: Path
) -> None:
    one = tab(javascript=False, width=360)
    page = one.go("/login")
    page.get_by_label("E-mail").fill(INSPECTOR)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    one.go("/o/acme/evidence/exports")
    report = PdfReader(made_and_taken(page, acme, "PDF, to read and to print"))
    assert "Told Bruno in the app" in " ".join(" ".join(part.extract_text() for part in report.pages).split())

    bundle = tmp_path / "bundle.zip"
    bundle.write_bytes(made_and_taken(page, acme, "Bundle (ZIP)").read_bytes())
    with acme.acting() as act:
        key = public_keys(act.session)[-1].text
    alone = tmp_path / "onus_verify.py"
    alone.write_text(Path(verifier.__file__).read_text())
    command = [sys.executable, "-I", str(alone), str(bundle), "--key", key]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr

    one.go("/o/acme/register")
    page.get_by_role("link", name="P-1").click()
    page.get_by_role("link", name="Print its story").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("P-1: Boiler permit")
    expect(page.get_by_text("Not sent: a later alert covers it.")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    printed = PdfReader(io.BytesIO(page.pdf(format="A4")))
    assert len(printed.pages) <= 2
    assert "Nobody has answered." in " ".join(printed.pages[0].extract_text().split())
    page.get_by_role("link", name="Español").click()
    expect(page.get_by_text("Nadie ha respondido.")).to_be_visible()
