"""`onus scan` and `onus deliver`: one tick of the watch by hand, of all organisations or of one."""

from __future__ import annotations

import contextlib
import sys
import threading
from dataclasses import replace

import click
from flask import Flask, current_app
from flask.cli import with_appcontext
from sqlalchemy import text

from app.channels.channel import Channel, open_channel
from app.channels.ping import ping
from app.cli.common import find_org, json_option, org_option, report
from app.config import settings
from app.database import LOST, SCHEDULER, transaction
from app.ledger.align import PENDING, Delivered
from app.preflight import refuse_unsound
from app.queries.guards import problems_of_mail, read_mail
from app.scheduler.heartbeat import Heartbeat, beat_every
from app.scheduler.mail_tick import Errors, mail_tick
from app.scheduler.rounds import organisations
from app.scheduler.sender import Sender
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
    url = settings().ping_url
    if url is not None and not done.errors and not dry_run and (fault := ping(url)) is not None:
        click.echo(f"onus: ONUS_PING_URL could not be called: {fault}", err=True)
    report(as_json, vars(done) | {"dry_run": dry_run}, lines)
    sys.exit(1 if done.errors else 0)


@click.command("deliver")
@org_option
@json_option
@with_appcontext
def deliver_command(org: str | None, as_json: bool) -> None:
    """Deliver what is due, until nothing is. What is still pending waits for its hour, or for its channel.

    Exit 1 if an organisation failed, or if the mail server cannot be used.
    """
    only = chosen(org)
    done, errors = deliver_tick(only, actor=OPERATOR)
    channel = open_channel(settings())
    if channel is not None:
        sent, faults = deliver_mail(channel, only)
        faults = faults + stopped()
        # What was pending before the mail went is not any more.
        done, errors = replace(done, pending=0) + sent, errors + faults
        done = replace(done, pending=count_pending(only))
    said = {"put off": done.retried} | {name.replace("_", " "): count for name, count in vars(done).items()}
    del said["retried"]
    lines = [", ".join(f"{count} {name}" for name, count in said.items())]
    lines += [f"{error['org'] or 'all organisations'}: {error['message']}" for error in errors]
    report(as_json, vars(done) | {"errors": errors}, lines)
    sys.exit(1 if errors else 0)


def deliver_mail(channel: Channel, only: int | None) -> tuple[Delivered, Errors]:
    """Send until nothing is due, under a heartbeat of this command's own, so that nobody takes its leases for lost."""
    heartbeat = Heartbeat("command")
    sender = Sender(settings(), channel, heartbeat.id, OPERATOR)
    over = threading.Event()
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    beating = threading.Thread(target=beat_until, args=(app, heartbeat, over), daemon=True)
    beating.start()
    try:
        return mail_tick(sender, only, forced=True)
    finally:
        channel.close()
        over.set()
        beating.join()
        heartbeat.beat(stopped=True)


def stopped() -> Errors:
    """What keeps all e-mail here, after it was tried: this command has not done what it should."""
    with transaction(None, SCHEDULER) as session:
        problems = list(problems_of_mail(read_mail(session, settings())))
    return [{"org": None, "site": None, "message": problem} for problem in problems]


def beat_until(app: Flask, heartbeat: Heartbeat, over: threading.Event) -> None:
    with app.app_context():
        while not over.wait(beat_every(settings())):
            with contextlib.suppress(*LOST):
                heartbeat.beat()


def count_pending(only: int | None) -> int:
    """What is left to deliver, of all organisations or of one."""
    total = 0
    for org, _ in organisations(only):
        with transaction(org, SCHEDULER) as session:
            total += session.execute(text(PENDING), {"org": org}).scalar_one()
    return total


def chosen(slug: str | None) -> int | None:
    """The organisation that was named, or None for all; after a look that this database may be worked on."""
    with transaction(None, SCHEDULER) as session:
        refuse_unsound(session)
    return find_org(slug) if slug else None
