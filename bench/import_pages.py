"""The same file brought in by the pages: uploaded, checked and applied by the scheduler's child, while people read.

The child's memory at its peak is read from /proc while it works; without /proc it is not told.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path

from bench.house import Browser, House
from bench.pages import Answers, while_reading

UPLOAD = "/o/acme/register/import"
WITHIN = 600.0  # Seconds for one step.
LOOK_EVERY = 0.2  # Seconds.
CHOSEN = re.compile(r'<select name="([^"]+)"(.*?)</select>|<select id="[^"]+" name="([^"]+)"(.*?)</select>', re.DOTALL)
SELECTED = re.compile(r'<option value="([^"]*)" selected>')
CHECKED = re.compile(r'name="checked" value="([^"]+)"')


@dataclass
class Walk:
    """One walk through the wizard, with the seconds of its steps and the memory of the child."""

    house: House
    browser: Browser
    where: str = ""
    checked: float = 0.0
    applied: float = 0.0
    megabytes: float = 0.0

    def bring(self, path: Path) -> None:
        self.where = self.browser.post(UPLOAD, {}, UPLOAD, (path.name, path.read_bytes()))
        self.where = self.where.removeprefix(self.house.address)
        form = chosen(self.browser.get(self.where))
        began = time.monotonic()
        self.browser.post(self.where, form, self.where)
        page = self.until(lambda page: CHECKED.search(page) is not None)
        self.checked = time.monotonic() - began
        form["checked"] = CHECKED.findall(page)[0]
        began = time.monotonic()
        self.browser.post(f"{self.where}/apply", form, self.where)
        self.until(lambda page: "What became of the file" in page)
        self.applied = time.monotonic() - began

    def until(self, is_there: object) -> str:
        deadline = time.monotonic() + WITHIN
        while time.monotonic() < deadline:
            self.megabytes = max(self.megabytes, peak_of_child())
            page = self.browser.get(self.where)
            if is_there(page):  # type: ignore[operator]
                return page
            time.sleep(LOOK_EVERY)
        raise RuntimeError(f"{self.where} did not come to an end within {WITHIN:.0f} s")


def chosen(page: str) -> dict[str, str]:
    """What the form about the columns holds."""
    found = {first or second: one or other for first, one, second, other in CHOSEN.findall(page)}
    return {name: (SELECTED.findall(options) or [""])[0] for name, options in found.items() if name != "sheet"}


def peak_of_child() -> float:
    """Megabytes of the child that works on a file, at its peak so far; 0 where there is none."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"import-work" in (process / "cmdline").read_bytes():
                found = re.search(r"VmHWM:\s+(\d+) kB", (process / "status").read_text())
                return int(found[1]) / 1024 if found else 0.0
        except OSError:
            continue
    return 0.0


def bring_by_pages(house: House, path: Path) -> tuple[Walk, Answers]:
    walk = Walk(house, Browser(house))
    return walk, while_reading(house, lambda: walk.bring(path))
