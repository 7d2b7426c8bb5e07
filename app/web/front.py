"""`/status` says to anybody whether the watch runs, `/healthz` says it to machines; nothing of an organisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from app import clock
from app.config import settings
from app.database import LOST, transaction
from app.queries.watch import SchedulerWatch, patience, problems_of_schedulers, read_schedulers
from app.version import VERSION
from app.web.access import public

pages = Blueprint("front", __name__)


@dataclass(frozen=True)
class Pulse:
    """Whether the watch runs. `problems` are sentences; the database's own comes alone."""

    version: str
    schedulers: list[SchedulerWatch]
    last_scan_age: int | None
    problems: list[str]

    @property
    def is_healthy(self) -> bool:
        return not self.problems


def read_pulse() -> Pulse:
    try:
        with transaction() as session:
            now = clock.now(session, settings())
            schedulers = read_schedulers(session, now)
    except LOST:
        return Pulse(VERSION, [], None, ["the database cannot be reached"])
    scans = [row.scanned_at for row in schedulers if row.alive and row.scanned_at]
    age = int((now - max(scans)).total_seconds()) if scans else None
    return Pulse(VERSION, schedulers, age, list(problems_of_schedulers(schedulers, now, patience(settings()))))


@pages.get("/status")
@public
def index() -> ResponseReturnValue:
    pulse = read_pulse()
    return render_template("front/index.html", pulse=pulse), 200 if pulse.is_healthy else 503


@pages.get("/healthz")
@public
def healthz() -> ResponseReturnValue:
    pulse = read_pulse()
    shown: dict[str, Any] = {
        "healthy": pulse.is_healthy,
        "problems": pulse.problems,
        "last_scan_age_seconds": pulse.last_scan_age,
        "version": pulse.version,
    }
    return shown, 200 if pulse.is_healthy else 503
