"""`onus site ready` and `onus mail test`: whether sites are ready, and a test mail that the scheduler sends."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import click
from flask.cli import with_appcontext
from sqlalchemy import select

from app.cli.common import acting, json_option, org_option, report
from app.cli.people import site_group
from app.config import settings
from app.domain.errors import Refused, quoted
from app.models import Organisation
from app.operations import people
from app.operations.trials import ask_for_trial
from app.queries.readiness import Readiness, read_readiness
from app.queries.readiness_checks import Check
from app.queries.sight import Sight, read_sight
from app.queries.stops import read_stops
from app.queries.watch import patience

EVERYBODY = 0  # No member has this id, so that nothing is left out by the limits of one.


def add_to(main: click.Group) -> None:
    site_group.add_command(show_ready)
    main.add_command(mail_group)


@click.command("ready")
@click.argument("site", required=False)
@org_option
@json_option
@with_appcontext
def show_ready(site: str | None, org: str | None, as_json: bool) -> None:
    """Say whether SITE is ready, or each site in use. Exit 1 if one is not, or none is in use."""
    with acting(org) as act:
        sight = read_sight(act.session, act.org, EVERYBODY, act.now)
        site_id = None if site is None else site_in_use(sight, site)
        name = act.session.execute(select(Organisation.slug).where(Organisation.id == act.org)).scalar_one()
        stops = read_stops(act.session, act.org, act.now, settings())
        found = read_readiness(act.session, sight, name, patience(settings()), stops, site_id)
    ready = bool(found) and all(one.is_ready for one in found)
    report(as_json, {"ready": ready, "sites": [as_row(one) for one in found]}, lines_of(found))
    sys.exit(0 if ready else 1)


def site_in_use(sight: Sight, name: str) -> int:
    for site in sight.in_use:
        if site.name == name:
            return site.id
    raise Refused(f"there is no site {quoted(name)} in use: `onus site ready` without a name shows all of them")


def as_row(one: Readiness) -> dict[str, Any]:
    checks = [asdict(check) for check in one.checks]
    gaps = {str(gap): count for gap, count in one.gaps.items()}
    return {"site": one.site.name, "ready": one.is_ready, "checks": checks, "not_watched": gaps}


def lines_of(found: Sequence[Readiness]) -> Iterator[str]:
    for one in found:
        yield f"{one.site.name}: {'ready' if one.is_ready else f'not ready, {len(one.open)} open'}"
        for check in one.checks:
            yield from check_lines(check)
    if not found:
        yield "No site is in use: `onus site add` makes one."


def check_lines(check: Check) -> Iterator[str]:
    yield f"  {'ok' if check.is_fine else 'OPEN':5} {check.about}: {check.sentence}"
    yield from (f"          {point.text}" for point in check.points)


@click.group("mail")
def mail_group() -> None:
    """Mail that is no alert."""


@mail_group.command("test")
@click.option("--to", "email", required=True, metavar="EMAIL", help="A member, who is sent the test mail.")
@org_option
@json_option
@with_appcontext
def ask_test_mail(email: str, org: str | None, as_json: bool) -> None:
    """Ask for a test mail to a member. The scheduler sends it within seconds, or `onus deliver` does; once, and only
    within an hour. `onus site ready` says what became of it."""
    with acting(org) as act:
        trial_id = ask_for_trial(act, people.find_member(act, email).id, settings())
    report(as_json, {"trial_id": trial_id, "to": email}, [f"A test mail to {email} waits for the scheduler."])
