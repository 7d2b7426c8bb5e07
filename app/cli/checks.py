"""The commands that look and change nothing: owed, status and doctor. Each exits 1 when it finds something wrong."""

from __future__ import annotations

import datetime as dt
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import click
from flask.cli import with_appcontext
from sqlalchemy import select

from app import clock
from app.channels.channel import open_channel
from app.channels.returns import has_room
from app.cli.common import find_org, json_option, org_option, report
from app.cli.seal import lines_of_seal, seal_checks, seal_status
from app.config import settings
from app.database import WEB, Unreachable, transaction
from app.domain.delivery import State
from app.embedded import Unusable
from app.models import Organisation
from app.queries.facts import read_facts
from app.queries.guards import MailState, problems_of_clocks, problems_of_mail, read_mail
from app.queries.owed import owed
from app.queries.soundness import Check, NotReady, examine_database, examine_host
from app.queries.watch import (
    OrgWatch,
    SchedulerWatch,
    patience,
    problems_of_schedulers,
    read_schedulers,
    watch_organisation,
)
from app.queries.watched import Gap

LARGEST_ORG = 10**6  # Organisations whose ids a return address must have room for.
WAYS_OWED = ("missing", "stalled", "unaddressed")


def add_to(main: click.Group) -> None:
    for command in (show_owed, show_status, doctor):
        main.add_command(command)


def organisations(slug: str | None) -> list[tuple[str, int]]:
    """The one that is named, by slug and id, or all of them. Raises Refused for a slug that does not exist."""
    if slug is not None:
        return [(slug, find_org(slug))]
    with transaction() as session:
        statement = select(Organisation.slug, Organisation.id).order_by(Organisation.slug)
        return [(row.slug, row.id) for row in session.execute(statement)]


@click.command("owed")
@org_option
@json_option
@with_appcontext
def show_owed(org: str | None, as_json: bool) -> None:
    """List the alerts that should be in the ledger and are not. Exit 1 if there are any."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in WAYS_OWED}
    for slug, org_id in organisations(org):
        # By the role of the web, not of the scheduler: the check must not depend on what it checks.
        with transaction(org_id, WEB) as session:
            result = owed(read_facts(session, org_id), clock.now(session, settings()))
        for name, debts in found.items():
            debts.extend({"org": slug, **asdict(debt)} for debt in getattr(result, name))
    count = sum(map(len, found.values()))
    report(as_json, {"owed": count, **found}, owed_lines(count, found))
    sys.exit(1 if count else 0)


def owed_lines(count: int, found: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    yield f"{count} owed" if count else "Nothing is owed."
    for debts in found.values():
        for debt in debts:
            yield "{org}: {reference}, rule {rule}, {threshold}, due {due_on}: {why}".format(**debt)


@click.command("status")
@org_option
@json_option
@with_appcontext
def show_status(org: str | None, as_json: bool) -> None:
    """Show whether the watch is running, and over what. Exit 1 when it is broken."""
    late = patience(settings())
    watches, orgs = {}, dict(organisations(org))
    for slug, org_id in orgs.items():
        with transaction(org_id, WEB) as session:
            watches[slug] = watch_organisation(session, org_id, slug, clock.now(session, settings()), late)
    with transaction() as session:
        now = clock.now(session, settings())
        schedulers = read_schedulers(session, now)
        mail = read_mail(session, settings())
    problems = [
        *problems_of_schedulers(schedulers, now, late),
        *problems_of_clocks(now, settings()),
        *problems_of_mail(mail),
    ]
    for watch in watches.values():
        problems += watch.problems
    result = status_of(schedulers, list(watches.values()), problems, mail, now)
    result["seal"] = seal_status(orgs, now)
    report(as_json, result, status_lines(result))
    sys.exit(1 if problems else 0)


def status_of(
    schedulers: Sequence[SchedulerWatch],
    watches: Sequence[OrgWatch],
    problems: Sequence[str],
    mail: MailState,
    now: dt.datetime,
) -> dict[str, Any]:
    """The watch over all organisations in one object."""
    oldest = min((watch.oldest_pending_at for watch in watches if watch.oldest_pending_at is not None), default=None)
    return {
        "healthy": not problems,
        "problems": list(problems),
        "schedulers": [plain(asdict(scheduler)) for scheduler in schedulers],
        "sites": [plain(asdict(site)) for watch in watches for site in watch.sites],
        "not_watched": summed([watch.not_watched for watch in watches], ["total", *Gap]),
        State.pending: {
            "count": sum(watch.pending for watch in watches),
            "oldest_seconds": None if oldest is None else max(0, int((now - oldest).total_seconds())),
        },
        "deliveries": summed([watch.deliveries for watch in watches], []),
        "undelivered": sum(watch.undelivered for watch in watches),
        "unreached": sum(watch.unreached for watch in watches),
        "email": worded(mail),
        "mail": plain(asdict(mail)),
        State.in_doubt: sum(watch.doubts for watch in watches),
        State.held: sum(watch.deliveries[State.held] for watch in watches),
    }


def worded(mail: MailState) -> str:
    if not mail.is_configured:
        return "not configured"
    return "written to files" if mail.to_files else "configured"


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """Dates and instants as ISO 8601 text."""
    return {name: value.isoformat() if isinstance(value, dt.date) else value for name, value in row.items()}


def summed(counts: Sequence[dict[str, int]], names: Sequence[str]) -> dict[str, int]:
    """The counts added up; the names are there even where nothing was counted."""
    total: Counter[str] = Counter({str(name): 0 for name in names})
    for count in counts:
        total.update(count)
    return dict(total)


def status_lines(result: dict[str, Any]) -> Iterator[str]:
    yield "The watch is running." if result["healthy"] else "The watch is broken:"
    yield from (f"  {problem}" for problem in result["problems"])
    for scheduler in result["schedulers"]:
        state = "alive" if scheduler["alive"] else "silent"
        yield "scheduler {host} process {pid}: {state}, heartbeat {age_seconds} s ago".format(state=state, **scheduler)
    for site in result["sites"]:
        day, through = site["today"] or "unknown", site["scanned_through"] or "nothing yet"
        last = site["last_scan_at"] or "never"
        yield f"{site['org']}, {site['site']}: today {day}, watched up to {through}, last scan {last}"
    gaps = ", ".join(f"{name} {count}" for name, count in result["not_watched"].items() if name != "total" and count)
    yield f"not watched: {result['not_watched']['total']}{f' ({gaps})' if gaps else ''}"
    states = ", ".join(f"{state} {count}" for state, count in result["deliveries"].items() if count)
    yield f"deliveries: {states or 'none'}"
    waiting = result[State.pending]
    if waiting["count"]:
        yield f"oldest pending: {waiting['oldest_seconds']} s"
    yield f"undelivered: {result['undelivered']}"
    if result["unreached"]:
        yield f"alerts of the next 90 days that would reach nobody: {result['unreached']}"
    if result[State.in_doubt]:
        yield f"may have been sent, not confirmed: {result[State.in_doubt]} (`onus doubt list`)"
    yield f"e-mail: {result['email']}"
    yield from lines_of_seal(result["seal"])


@click.command("doctor")
@json_option
@with_appcontext
def doctor(as_json: bool) -> None:
    """Check that this installation can keep its promises. Exit 1, with what to do, if it cannot."""
    checks = database_checks()
    checks += [*(seal_checks() if is_usable(checks) else ()), *examine_host(settings()), *mail_checks()]
    ok = all(check.ok for check in checks)
    report(as_json, {"ok": ok, "checks": [asdict(check) for check in checks]}, doctor_lines(checks))
    sys.exit(0 if ok else 1)


def is_usable(checks: Sequence[Check]) -> bool:
    """Whether the database could be looked at, and has the tables of this version."""
    failed = {check.name for check in checks if not check.ok}
    return not failed & {"database", "migrations"}


def mail_checks() -> Iterator[Check]:
    """Whether the mail server would take a message now, up to the sign-in; nothing is sent."""
    channel = open_channel(settings())
    if channel is None:
        return
    fault = channel.ready()
    channel.close()
    if fault is None:
        yield Check("mail server", True, "it can be reached, and lets us in")
    else:
        yield Check("mail server", False, fault.text, "mend that, or correct ONUS_SMTP_URL; until then e-mail waits")
    sender = settings().mail_sender()[1]
    if not has_room(settings(), LARGEST_ORG):
        yield Check("return address", False, f"{sender} leaves no room for a signature", "shorten ONUS_MAIL_FROM")


def database_checks() -> list[Check]:
    """The checks of the database; a single failed one where it cannot be looked at."""
    try:
        with transaction() as session:
            return examine_database(session, settings(), clock.host_now())
    except NotReady as not_ready:
        return [Check("database", False, str(not_ready), "run `onus db upgrade`")]
    except (Unreachable, Unusable) as unreachable:
        return [
            Check(
                "database",
                False,
                str(unreachable),
                "start it, or correct ONUS_DATABASE_URL; a new one needs `onus db upgrade`",
            )
        ]


def doctor_lines(checks: Sequence[Check]) -> Iterator[str]:
    for check in checks:
        remedy = f"; {check.remedy}" if check.remedy else ""
        yield f"{'ok' if check.ok else 'FAILED':6} {check.name}: {check.found}{remedy}"
