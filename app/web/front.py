"""`/status` says to anybody whether the watch runs, `/healthz` says it to machines; nothing of an organisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from app import clock
from app.config import settings
from app.database import LOST, transaction
from app.domain.delivery import State
from app.queries.guards import MailState, changed_at, problems_of_clocks, problems_of_mail, read_mail
from app.queries.seal import is_sealing
from app.queries.visitors import places
from app.queries.watch import SchedulerWatch, patience, problems_of_schedulers, read_hold, read_schedulers
from app.version import VERSION
from app.web.access import public
from app.wording import ENGLISH, gettext, later, ngettext, spoken

pages = Blueprint("front", __name__)

CLOCKS_APART = later(
    "the clocks of the database and of this host are apart: nothing is raised or sent until one is set right"
)


@dataclass(frozen=True)
class Pulse:
    """Whether the watch runs. `problems` are sentences; the database's own comes alone.

    `held` is how many organisations wait for a person since the database was restored; none is named. `last_seal_age`
    are the seconds since a scheduler has sealed all that there was; that it is late is no fault of the watch.
    """

    version: str
    schedulers: list[SchedulerWatch]
    last_scan_age: int | None
    problems: list[str]
    last_seal_age: int | None = None
    is_sealing: bool = False
    mail: MailState | None = None
    held: int = 0

    @property
    def is_healthy(self) -> bool:
        return not self.problems


def read_pulse() -> Pulse:
    try:
        with transaction() as session:
            now = clock.now(session, settings())
            schedulers, mail = read_schedulers(session, now), read_mail(session, settings())
            may_be_held = places(session) if changed_at(session) is not None else []
        held = sum(is_held(place.org) for place in may_be_held)
    except LOST:
        return Pulse(VERSION, [], None, [gettext("the database cannot be reached")])
    seals = [row.sealed_at for row in schedulers if row.sealed_at]
    seal_age = int((now - max(seals)).total_seconds()) if seals else None
    scans = [row.scanned_at for row in schedulers if row.alive and row.scanned_at]
    age = int((now - max(scans)).total_seconds()) if scans else None
    problems = [
        *problems_of_schedulers(schedulers, now, patience(settings())),
        *(gettext(CLOCKS_APART) for _ in problems_of_clocks(now, settings())),
        *problems_of_mail(mail),
        *([words_of_held(held)] if held else []),
    ]
    return Pulse(VERSION, schedulers, age, problems, seal_age, is_sealing(seals, now), mail, held)


def words_of_held(organisations: int) -> str:
    return ngettext(
        "since the database was restored all messages of %(number)d organisation are held",
        "since the database was restored all messages of %(number)d of the organisations are held",
        organisations,
    )


def is_held(org: int) -> bool:
    """Asked of each organisation by itself, since none may look into another (P8)."""
    with transaction(org) as session:
        return read_hold(session, org) is not None


def worded(mail: MailState | None) -> dict[str, Any] | None:
    """What machines are told of e-mail; None while the database cannot be asked."""
    if mail is None:
        return None
    state = "files" if mail.to_files else "stopped" if mail.open_since else "working"
    since, retry = mail.open_since, mail.retry_at if mail.open_since else None
    return {
        "state": state if mail.is_configured else "not configured",
        "stopped_since": since.isoformat() if since else None,
        "tried_again_at": retry.isoformat() if retry else None,
    }


@pages.get("/status")
@public
def index() -> ResponseReturnValue:
    pulse = read_pulse()
    return render_template("front/index.html", pulse=pulse), 200 if pulse.is_healthy else 503


@pages.get("/healthz")
@public
def healthz() -> ResponseReturnValue:
    with spoken(ENGLISH):  # Whoever it is that watches over machines looks for the same words.
        pulse = read_pulse()
    shown: dict[str, Any] = {
        "healthy": pulse.is_healthy,
        "problems": pulse.problems,
        "last_scan_age_seconds": pulse.last_scan_age,
        "version": pulse.version,
        "mail": worded(pulse.mail),
        State.held: pulse.held,
        "seal": {"last_age_seconds": pulse.last_seal_age, "late": not pulse.is_sealing},
    }
    return shown, 200 if pulse.is_healthy else 503
