"""Twelve pages of the demo as pictures, on a phone and on a desk, for whoever judges how they look: `make screenshots`.

It starts the demo in a folder of its own, signs in as its people, takes the pictures and stops what it started.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

WITHIN = 300  # Seconds for the demo to be made, on a loaded machine.
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync"]  # fmt: skip
WIDTHS = {360: 800, 1280: 900}  # Pixels: width and height of the first view; a picture is as long as its page.
SLUG = "/o/quimeralia/"
ANA, BRUNO = "ana@quimeralia.example", "bruno@quimeralia.example"
# By name: whose page it is, and its address; or, without a slash, a word in the first link of the page before it that
# ends in a number.
PAGES: dict[str, tuple[str, str]] = {
    "01-sign-in": ("", "/login"),
    "02-today": (ANA, SLUG),
    "03-silent": (ANA, f"{SLUG}today/silent"),
    "04-not-watched": (ANA, f"{SLUG}today/unwatched"),
    "05-register": (ANA, f"{SLUG}register"),
    "06-entry": (ANA, "register"),
    "07-rules": (ANA, f"{SLUG}rules"),
    "08-rule": (ANA, "rules"),
    "09-evidence": (ANA, f"{SLUG}evidence"),
    "10-exports": (ANA, f"{SLUG}evidence/exports"),
    "11-people": (ANA, f"{SLUG}settings/people"),
    "12-inbox-in-spanish": (BRUNO, f"{SLUG}inbox"),
}
DARK = ("02-today", "06-entry", "12-inbox-in-spanish")


@contextlib.contextmanager
def demo(home: Path) -> Iterator[str]:
    """The address of the demo, running until the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "app", "up", "--demo", "--port", str(port)]
    with subprocess.Popen(command, env=os.environ | {"ONUS_HOME": str(home)}, stdout=subprocess.DEVNULL) as running:
        try:
            address = f"http://127.0.0.1:{port}"
            wait_for(f"{address}/status", home / "demo.json", running)
            yield address
        finally:
            running.terminate()
            running.wait(60)


def wait_for(address: str, made: Path, running: subprocess.Popen[bytes]) -> None:
    """Until the demo is made and its pages answer. Raises RuntimeError where they never do."""
    until = time.monotonic() + WITHIN
    while time.monotonic() < until and running.poll() is None:
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            if made.is_file() and urllib.request.urlopen(address, timeout=5):
                return
        time.sleep(1)
    raise RuntimeError(f"the demo did not start within {WITHIN} seconds: try `onus up --demo` by hand")


def sign_in(page: Page, address: str, email: str, password: str) -> None:
    page.goto(f"{address}/login")
    page.locator("[name=email]").fill(email)
    page.locator("[name=password]").fill(password)
    page.locator("main button").click()
    page.wait_for_url("**/o/**")


def take(browser: Browser, address: str, password: str, into: Path, width: int) -> None:
    """All pages at one width, and some of them in the dark."""
    tabs: dict[str, Page] = {}
    for name, (who, where) in PAGES.items():
        if who not in tabs:
            tabs[who] = browser.new_context(viewport={"width": width, "height": WIDTHS[width]}).new_page()
            if who:
                sign_in(tabs[who], address, who, password)
        page = tabs[who]
        if where.startswith("/"):
            page.goto(address + where)
        else:
            links = page.locator("main a").evaluate_all("links => links.map(link => link.href)")
            page.goto(next(link for link in links if link.rsplit("/", 1)[-1].isdigit() and f"/{where}/" in link))
        page.screenshot(path=into / f"{name}-{width}.png", full_page=True)
        if name in DARK:
            page.emulate_media(color_scheme="dark")
            page.screenshot(path=into / f"{name}-{width}-dark.png", full_page=True)
            page.emulate_media(color_scheme="light")
    for page in tabs.values():
        page.context.close()


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--into", type=Path, default=Path("var/screenshots"), help="the folder of the pictures")
    into: Path = asked.parse_args().into
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="onus-shots-") as folder, sync_playwright() as playwright:
        home = Path(folder)
        home.chmod(0o755)  # As root the server of the database runs as nobody.
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGS)
        with demo(home) as address:
            password = json.loads((home / "demo.json").read_text())["password"]
            for width in WIDTHS:
                take(browser, address, password, into, width)
        browser.close()
    sys.stdout.write(f"{len(list(into.glob('*.png')))} pictures are in {into}\n")


if __name__ == "__main__":
    main()
