"""One tick of the scan, and one of delivery in the app: each organisation in a transaction of its own.

A fault of one organisation is recorded and logged, and stops none of the others (H06). A lost database stops the
tick, and the next one tries again (H23).
"""

from __future__ import annotations

import datetime as dt

import structlog

from app import failpoints
from app.config import settings
from app.database import WEB, borrowed
from app.ledger import holds
from app.ledger.align import Delivered, deliver
from app.ledger.coming import open_coming
from app.ledger.planning import stand_alone
from app.ledger.scan import Scanned, record_failure, scan
from app.ledger.sweep import sweep
from app.operations.departures import hand_on_due
from app.scheduler.heartbeat import silent_after
from app.scheduler.rounds import (
    at_work,
    hold_if_changed,
    in_transaction,
    organisations,
    refuse_a_jump,
    refuse_lost_database,
    worded,
)
from app.trail.act import SCHEDULER as SCHEDULER_ACTOR
from app.trail.act import Act

log = structlog.get_logger()


class DryRun(Exception):
    """Carries the result of a scan that must leave nothing behind."""

    def __init__(self, scanned: Scanned) -> None:
        super().__init__()
        self.scanned = scanned


def scan_tick(
    only: int | None = None, *, trigger: str = "schedule", actor: str = SCHEDULER_ACTOR, dry_run: bool = False
) -> Scanned:
    """Scan all organisations, or only this one. A failing one is an entry of `errors`."""

    def scan_one(act: Act) -> Scanned:
        refuse_a_jump(act, settings())
        if dry_run:
            with borrowed(act.session, WEB):
                open_dates(act)
        scanned = scan(act, trigger=trigger, full=trigger == "command")
        failpoints.reached("scan_before_commit")
        if dry_run:
            raise DryRun(scanned)
        return scanned

    total = Scanned()
    for org, slug in organisations(only):
        if not dry_run:
            total += opened_ahead(org, slug, actor, trigger)
        try:
            total += in_transaction(org, actor, scan_one)
            failpoints.reached("scan_after_commit")
        except DryRun as dry:
            total += dry.scanned
        except Exception as fault:
            refuse_lost_database(fault)
            total += failed(org, slug, actor, trigger, fault)
    return total


def opened_ahead(org: int, slug: str, actor: str, trigger: str) -> Scanned:
    """Open and move dates; a fault of that is an entry of `errors`, and stops no alert of the dates that are there."""
    try:
        in_transaction(org, actor, open_dates, role=WEB)
    except Exception as fault:
        refuse_lost_database(fault)
        return failed(org, slug, actor, trigger, fault)
    return Scanned()


def open_dates(act: Act) -> None:
    """Open what comes again by the calendar, move what follows, hand over what hung on whoever leaves today.

    Committed before the scan judges it. By the rights of the pages: the scheduler's own role may write none of it.
    """
    refuse_a_jump(act, settings())
    open_coming(act)
    hand_on_due(act)


def deliver_tick(
    only: int | None = None, *, actor: str = SCHEDULER_ACTOR
) -> tuple[Delivered, list[dict[str, str | None]]]:
    """Sweep, align and deliver in the app for all organisations, or only this one; and which failed, with the reason.

    E-mail is not sent here but by the senders: a slow mail server holds up nothing in the app.
    """
    hold_if_changed(actor)
    total, errors = Delivered(), []
    for org, slug in organisations(only):
        try:
            total += in_transaction(org, actor, deliver_one)
        except Exception as fault:
            refuse_lost_database(fault)
            log.exception("delivery_failed", org=org)
            errors.append({"org": slug, "site": None, "message": worded(fault)})
    return total, errors


def deliver_one(act: Act) -> Delivered:
    at_work(act, settings())
    stand_alone(act)  # From the first row on: a judge who waits for a row that waits for him is a deadlock.
    lease_time = dt.timedelta(seconds=settings().lease)
    swept = sweep(act, lease_time=lease_time, silent_after=silent_after(settings()))
    if holds.is_held(act):
        holds.hold_open(act)
    return Delivered(retried=swept.retried, failed=swept.failed, in_doubt=swept.in_doubt) + deliver(act)


def failed(org: int, slug: str, actor: str, trigger: str, fault: Exception) -> Scanned:
    log.exception("scan_failed", org=org)
    error = {"org": slug, "site": None, "message": worded(fault)}
    try:
        in_transaction(org, actor, lambda act: record_failure(act, trigger, error))
    except Exception as again:
        refuse_lost_database(again)
        log.exception("failure_not_recorded", org=org)  # What fails for one organisation must not stop the others.
    return Scanned(errors=[error])
