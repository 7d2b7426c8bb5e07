"""One tick: each organisation in a transaction of its own, at an instant taken afresh from the database.

A fault of one organisation is recorded and logged, and stops none of the others (H06). A lost database stops the
tick, and the next one tries again (H23).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import structlog
from sqlalchemy import select
from sqlalchemy.exc import InterfaceError, OperationalError

from app import clock, failpoints
from app.config import settings
from app.database import SCHEDULER, Unreachable, transaction, tried_again
from app.ledger.align import Delivered, deliver
from app.ledger.scan import Scanned, record_failure, scan
from app.models import Organisation
from app.trail.act import SCHEDULER as SCHEDULER_ACTOR
from app.trail.act import Act

log = structlog.get_logger()

Result = TypeVar("Result")

# The clock's own past: scans that were made. What failed, and perhaps because of the clock, says nothing of it.
HIGH_WATER = """
select max(greatest(started_at, quiet_until)) from scan_run
where org_id = :org and trigger <> 'start' and not errors @> '[{"site": null}]'"""


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
        clock.refuse_a_jump(act.now, act.run(HIGH_WATER).scalar_one(), settings())
        scanned = scan(act, trigger=trigger, full=trigger == "command")
        failpoints.reached("scan_before_commit")
        if dry_run:
            raise DryRun(scanned)
        return scanned

    total = Scanned()
    for org, slug in organisations(only):
        try:
            total += in_transaction(org, actor, scan_one)
            failpoints.reached("scan_after_commit")
        except DryRun as dry:
            total += dry.scanned
        except Exception as fault:
            refuse_lost_database(fault)
            total += failed(org, slug, actor, trigger, fault)
    return total


def deliver_tick(
    only: int | None = None, *, actor: str = SCHEDULER_ACTOR
) -> tuple[Delivered, list[dict[str, str | None]]]:
    """Align and deliver for all organisations, or only this one; and which of them failed, with the reason."""
    total, errors = Delivered(), []
    for org, slug in organisations(only):
        try:
            total += in_transaction(org, actor, deliver)
        except Exception as fault:
            refuse_lost_database(fault)
            log.exception("delivery_failed", org=org)
            errors.append({"org": slug, "site": None, "message": worded(fault)})
    return total, errors


def organisations(only: int | None) -> Iterator[tuple[int, str]]:
    with transaction(None, SCHEDULER) as session:
        rows = session.execute(select(Organisation.id, Organisation.slug).order_by(Organisation.id)).all()
    return ((id, slug) for id, slug in rows if only in (None, id))


def in_transaction(org: int, actor: str, deed: Callable[[Act], Result]) -> Result:
    """Database work for one organisation, tried again after a deadlock."""

    def work() -> Result:
        with transaction(org, SCHEDULER) as session:
            return deed(Act(session, org, clock.now(session, settings()), actor))

    return tried_again(work)


def refuse_lost_database(fault: Exception) -> None:
    """A database that cannot be reached is no fault of the organisation that noticed it."""
    if isinstance(fault, Unreachable | InterfaceError) or (
        isinstance(fault, OperationalError) and fault.connection_invalidated
    ):
        raise Unreachable("the connection to the database was lost: the next tick tries again") from fault


def failed(org: int, slug: str, actor: str, trigger: str, fault: Exception) -> Scanned:
    log.exception("scan_failed", org=org)
    error = {"org": slug, "site": None, "message": worded(fault)}
    try:
        in_transaction(org, actor, lambda act: record_failure(act, trigger, error))
    except Exception as again:
        refuse_lost_database(again)
        log.exception("failure_not_recorded", org=org)  # What fails for one organisation must not stop the others.
    return Scanned(errors=[error])


def worded(fault: Exception) -> str:
    """The first line says what is wrong; the rest is in the log."""
    return f"{type(fault).__name__}: {fault}".splitlines()[0][:500]
