"""What every tick shares: organisations one after the other, a transaction for each, and what stops only one of them.

Before anything leaves, the clock and the database are looked at: a clock that has jumped, or a database that is not the
one that recorded what was told, stops what could do harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import structlog
from sqlalchemy import select
from sqlalchemy.exc import InterfaceError, OperationalError

from app import clock
from app.config import Settings, settings
from app.database import SCHEDULER, Unreachable, transaction, tried_again
from app.ledger import holds
from app.models import Organisation
from app.scheduler import identity
from app.trail.act import Act

log = structlog.get_logger()

Result = TypeVar("Result")

# The clock's own past: scans that were made. What failed, and perhaps because of the clock, says nothing of it.
HIGH_WATER = """
select max(greatest(started_at, quiet_until)) from scan_run
where org_id = :org and trigger <> 'start' and not errors @> '[{"site": null}]'"""


class AnotherDatabase(Exception):
    """The database is not the one that recorded what was told; everything must be held first."""


def organisations(only: int | None) -> Iterator[tuple[int, str]]:
    with transaction(None, SCHEDULER) as session:
        rows = session.execute(select(Organisation.id, Organisation.slug).order_by(Organisation.id)).all()
    return ((id, slug) for id, slug in rows if only in (None, id))


def in_transaction(
    org: int, actor: str, deed: Callable[[Act], Result], chosen: Settings | None = None, role: str = SCHEDULER
) -> Result:
    """Database work for one organisation, tried again after a deadlock; at the instant of these settings."""

    def work() -> Result:
        with transaction(org, role) as session:
            return deed(Act(session, org, clock.now(session, chosen or settings()), actor))

    return tried_again(work)


def refuse_a_jump(act: Act, chosen: Settings) -> None:
    """Raise ClockFault unless the clocks agree with each other and with their past."""
    clock.refuse_a_jump(act.now, act.run(HIGH_WATER).scalar_one(), chosen)


def at_work(act: Act, chosen: Settings) -> None:
    """Raise ClockFault or AnotherDatabase before anything leaves in this transaction."""
    refuse_a_jump(act, chosen)
    if identity.change_of(act.session) is not None:
        raise AnotherDatabase


def hold_if_changed(actor: str) -> str | None:
    """Hold all organisations if this is another database than before, and remember it; why, or None."""
    with transaction(None, SCHEDULER) as session:
        cause = identity.change_of(session)
        if cause is None:
            if not identity.is_known(session):
                identity.keep(session, clock.now(session, settings()), changed=False)
            return None
    log.error("database_changed", cause=cause)
    for org, _ in organisations(None):
        in_transaction(org, actor, lambda act: holds.hold(act, cause))
    with transaction(None, SCHEDULER) as session:
        identity.keep(session, clock.now(session, settings()), changed=True)
    return cause


def refuse_lost_database(fault: Exception) -> None:
    """A database that cannot be reached is no fault of the organisation that noticed it."""
    if isinstance(fault, Unreachable | InterfaceError) or (
        isinstance(fault, OperationalError) and fault.connection_invalidated
    ):
        raise Unreachable("the connection to the database was lost: the next tick tries again") from fault


def worded(fault: Exception) -> str:
    """The first line says what is wrong; the rest is in the log."""
    return f"{type(fault).__name__}: {fault}".splitlines()[0][:500]
