"""The demo: a believable organisation with a past, made by the real operations with a moving clock.

Only into a database that has no organisation yet. Nothing here writes a table by itself: what the demo shows is what
Onus would have done.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from app import clock
from app.config import settings
from app.database import SCHEDULER, act_for, transaction
from app.demo.cast import NAME, PEOPLE, SLUG, ZONE, address_of, furnish
from app.demo.mail import Postman, come_back, send_due
from app.demo.story import Deed, Story
from app.demo.turns import DOWN, FIRST, deeds
from app.ledger.align import deliver
from app.ledger.coming import open_coming
from app.ledger.scan import scan
from app.operations import kinds, people, register, rules
from app.operations.departures import hand_on_due
from app.operations.passwords import hashed
from app.operations.rule_contents import RuleText
from app.queries.visitors import places
from app.trail.act import OPERATOR, Act
from app.trail.act import SCHEDULER as SCHEDULER_ACTOR

TICKS_AT = dt.time(6)  # UTC, before anybody works.
ACTS_AT = dt.time(9)
AFTER_ACTS = dt.timedelta(minutes=3)  # The watch looks again: what somebody took back at once is among the acts.
OTHER_SLUG, OTHER_NAME = "umbrosa", "Umbrosa Logistics (demo)"
WORDS = [
    "amber",
    "basil",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heron",
    "islet",
    "jetty",
    "kiosk",
    "larch",
    "maple",
    "nacre",
    "ochre",
    "pearl",
]


@dataclass(frozen=True)
class Logins:
    """What the demo prints: everybody's address, and the one password that was made for this installation."""

    password: str
    people: list[tuple[str, str]]


def fill() -> Logins | None:
    """Fill an empty database; None if there is an organisation already that is not the demo's."""
    with transaction() as session:
        everywhere, now = places(session), clock.now(session, settings())
    kept = settings().home / "demo.json"
    if everywhere:
        known = any(place.slug == SLUG for place in everywhere) and kept.is_file()
        return logins(json.loads(kept.read_text())["password"]) if known else None
    password = "-".join(secrets.choice(WORDS) for _ in range(4))
    tell(password, now)
    tell_of_another(now)
    keep(kept, password)
    return logins(password)


def logins(password: str) -> Logins:
    return Logins(password, [(address_of(name), role) for name, role, _ in PEOPLE if not name.startswith("Gil")])


def keep(path: Path, password: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump({"password": password}, file)


def tell(password: str, now: dt.datetime) -> None:
    """Live through the story: every day the watch ticks, people act, and it ticks again."""
    today = now.date()
    at = dt.datetime.combine(today + dt.timedelta(days=FIRST - 1), ACTS_AT, dt.UTC)
    with transaction() as session:
        org = people.add_organisation(session, at, OPERATOR, SLUG, NAME, ZONE)
        act_for(session, org)
        story = Story(furnish(Act(session, org, at), hashed(password), today), today)
    happens, postman = deeds(story), Postman(now)
    for offset in range(FIRST, 1):
        day = today + dt.timedelta(days=offset)
        if offset not in DOWN:
            tick(org, min(dt.datetime.combine(day, TICKS_AT, dt.UTC), now), postman)
        at = min(dt.datetime.combine(day, ACTS_AT, dt.UTC), now)
        live(org, at, happens.get(offset, []), None if offset in DOWN else postman)
    tick(org, now, postman)
    come_back(org, now)
    tick(org, now, postman)


def tell_of_another(now: dt.datetime) -> None:
    """A second, small organisation, in which the consultant Emil works, too: two tabs, two worlds."""
    at = now - dt.timedelta(days=1)
    with transaction() as session:
        org = people.add_organisation(session, at, OPERATOR, OTHER_SLUG, OTHER_NAME, ZONE)
        act_for(session, org)
        act = Act(session, org, at)
        site = people.furnish(act, "Zaragoza", ZONE, "ES", "AR")
        people.add_member(act, "emil@quimeralia.example", "officer", "Emil Pretend")
        permit = kinds.find_or_make(act, ["Permit"]).ids[kinds.key_of("Permit")]
        for number, due in enumerate((4, 20, 33, 75, 140, 210), 1):
            due_on = now.date() + dt.timedelta(days=due)
            register.add_subject(act, register.Entry(site, permit, f"ZAZ-{number}", f"Fleet permit {number}", due_on))
        rules.apply(act, [RuleText("Permits", thresholds=("60d", "7d"), channels=("in_app",), to=("role:officer",))])
    tick(org, now, Postman(now))


def live(org: int, at: dt.datetime, acts: list[Deed], postman: Postman | None) -> None:
    if acts:
        with transaction(org) as session:
            for deed in acts:
                deed(Act(session, org, at))
    if acts and postman is not None:
        tick(org, at + AFTER_ACTS, postman)


def tick(org: int, at: dt.datetime, postman: Postman) -> None:
    with transaction(org) as session:
        opening = Act(session, org, at, SCHEDULER_ACTOR)
        open_coming(opening)
        hand_on_due(opening)
    with transaction(org, SCHEDULER) as session:
        scan(Act(session, org, at, SCHEDULER_ACTOR))
    with transaction(org, SCHEDULER) as session:
        deliver(Act(session, org, at, SCHEDULER_ACTOR))
    send_due(org, at, postman)
