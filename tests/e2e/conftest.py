"""A browser on the real thing: a database with real commits, `onus web` in its own process, Debian's Chromium.

The pages live at the instant of the factories, as everything else in a test does: on a story of the host's own day
Madrid is at tomorrow from 23:00 UTC on.

The watch is poked by hand: insert history, poke the tick, look at the page. No sleeps: Playwright waits for what it
is told to see.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from flask import Flask
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from app.config import settings
from app.ledger.align import deliver
from app.ledger.scan import scan
from tests.conftest import create_database, settings_of
from tests.factories import NOW, Acme

ROOT = Path(__file__).parents[2]
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync"]  # fmt: skip
PATIENCE = 30_000  # ms, for a machine that is busy with other things; nothing waits longer than it has to.
KNOWN = ("422 (UNPROCESSABLE", "Failed to load resource")  # The browser's own line about each refused form.


ABORTED = ["htmx:afterRequest", "htmx:sendAbort"]  # What else goes wrong with a question has other names.


@dataclass
class Site:
    """The running pages and the application on the database behind them; both live at NOW."""

    url: str
    app: Flask

    def __post_init__(self) -> None:
        self.app.extensions["onus_settings"] = dataclasses.replace(settings(), clock=NOW)

    def tick(self, acme: Acme) -> None:
        for deed in (scan, deliver):
            with acme.watching() as act:
                deed(act)


@dataclass
class Tab:
    """A page with an eye on what a person does not see: console errors and violations of the policy."""

    page: Page
    url: str
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda fault: self.faults.append(str(fault)))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not any(known in message.text for known in KNOWN):
            self.faults.append(message.text)

    def heard_of_us(self) -> list[str]:
        """The faults, but for a question that was under way when its page was left: htmx says so in two lines."""
        ours = list(self.faults)
        for number in reversed(range(len(ours) - 1)):
            if ours[number : number + 2] == ABORTED:
                del ours[number : number + 2]
        return ours

    def go(self, path: str) -> Page:
        self.page.goto(self.url + path)
        return self.page


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Chromium of the PATH, else the one that Playwright has installed; `make setup` sees to one of them."""
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def pages(worker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`onus web`, started once: each test gives it a new database of the same name, and it finds its way there."""
    create_database(f"real_{worker}")
    with serving(worker, tmp_path_factory.mktemp("pages")) as url:
        yield url


@pytest.fixture
def site(pages: str, real_app: Flask) -> Site:
    return Site(pages, real_app)


@contextlib.contextmanager
def serving(worker: str, home: Path, **given: str) -> Iterator[str]:
    """`onus web` on a port of its own; several may serve one database, each at an instant of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    chosen = settings_of(f"real_{worker}")
    environment = os.environ | {
        "ONUS_DATABASE_URL": str(chosen.database_url),
        "ONUS_ENV": "test",
        "ONUS_CLOCK": NOW.isoformat(),
        "ONUS_HOME": str(home),
        "ONUS_SECRET_KEY": "of the tests",
        **given,
    }
    command = [sys.executable, "-m", "app", "web", "--port", str(port), "--workers", "1"]
    with subprocess.Popen(command, cwd=ROOT, env=environment) as server:
        try:
            wait_for(port, server)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(15)


def wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    """Until the port answers; the kernel keeps the time."""
    while server.poll() is None:
        with socket.socket() as probe:
            probe.settimeout(5)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
    raise AssertionError(f"onus web ended with {server.returncode}")


@pytest.fixture
def tab(site: Site, chromium: Browser) -> Iterator[Callable[..., Tab]]:
    """`tab()` opens a page; `tab(javascript=False)` one without script. At the end no fault may have been heard."""
    contexts, tabs = [], []

    def opened(javascript: bool = True, width: int = 1280, height: int = 900) -> Tab:
        context = chromium.new_context(java_script_enabled=javascript, viewport={"width": width, "height": height})
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        tabs.append(Tab(context.new_page(), site.url))
        return tabs[-1]

    yield opened
    for context in contexts:
        context.close()
    assert [fault for one in tabs for fault in one.heard_of_us()] == []
