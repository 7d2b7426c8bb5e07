"""`onus scan` and `onus deliver`: one tick of the watch by hand, of all organisations or of one."""

from __future__ import annotations

import sys

import click
from flask.cli import with_appcontext

from app.cli.common import find_org, json_option, org_option, report
from app.database import SCHEDULER, transaction
from app.preflight import refuse_unsound
from app.scheduler.ticks import deliver_tick, scan_tick
from app.trail.act import OPERATOR


def add_to(main: click.Group) -> None:
    main.add_command(scan_command)
    main.add_command(deliver_command)


@click.command("scan")
@click.option("--dry-run", is_flag=True, help="Say what a scan would do, and leave nothing behind.")
@org_option
@json_option
@with_appcontext
def scan_command(dry_run: bool, org: str | None, as_json: bool) -> None:
    """Claim what has crossed a threshold and is not in the ledger. Again adds nothing."""
    done = scan_tick(chosen(org), trigger="command", actor=OPERATOR, dry_run=dry_run)
    words = (
        f"{done.claimed} claimed, {done.superseded} superseded, {done.reopened} reopened, {done.deliveries} deliveries"
    )
    lines = [words] + [f"{error['org']}, {error['site'] or 'no site'}: {error['message']}" for error in done.errors]
    report(as_json, vars(done) | {"dry_run": dry_run}, lines)
    sys.exit(1 if done.errors else 0)


@click.command("deliver")
@org_option
@json_option
@with_appcontext
def deliver_command(org: str | None, as_json: bool) -> None:
    """Deliver what is due, until nothing is. What is still pending waits for its hour, or for its channel."""
    done, errors = deliver_tick(chosen(org), actor=OPERATOR)
    lines = [f"{done.delivered} delivered, {done.cancelled} cancelled, {done.failed} failed, {done.pending} pending"]
    lines += [f"{error['org']}: {error['message']}" for error in errors]
    report(as_json, vars(done) | {"errors": errors}, lines)
    sys.exit(1 if errors else 0)


def chosen(slug: str | None) -> int | None:
    """The organisation that was named, or None for all; after a look that this database may be worked on."""
    with transaction(None, SCHEDULER) as session:
        refuse_unsound(session)
    return find_org(slug) if slug else None
