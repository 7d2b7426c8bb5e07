"""One tick of one sender: message after message, one organisation after the other, until nothing is due.

The breaker stands before it: while the mail server cannot be used nothing is leased, but for one try now and then.
"""

from __future__ import annotations

import structlog

from app import clock
from app.config import settings
from app.database import SCHEDULER, transaction
from app.ledger.align import Delivered
from app.scheduler import breaker
from app.scheduler.rounds import AnotherDatabase, hold_if_changed, organisations, refuse_lost_database, worded
from app.scheduler.sender import Sender, TransportDown

log = structlog.get_logger()

Errors = list[dict[str, str | None]]


def mail_tick(sender: Sender, only: int | None = None, *, forced: bool = False) -> tuple[Delivered, Errors]:
    """Send what is due. `forced` tries a mail server at once that is being left alone."""
    hold_if_changed(sender.actor)
    with transaction(None, SCHEDULER) as session:
        was_open = breaker.is_open(session)
        if not breaker.may_send(session, clock.now(session, settings()), forced=forced):
            return Delivered(), []
    try:
        if was_open:
            sender.reach()  # Even where nothing is due: else the banner would stay.
        done = send_all(sender, only)
    except TransportDown as down:
        trip(str(down))
        return down.done, []
    if was_open:
        close()
    return done


def send_all(sender: Sender, only: int | None) -> tuple[Delivered, Errors]:
    """Round after round, one message for each organisation. Raises TransportDown with what was done before."""
    total = Delivered()
    errors: Errors = []
    waiting = list(organisations(only))
    while waiting and not sender.stop.is_set():
        for place in list(waiting):
            try:
                done = sender.send_next(place[0])
            except TransportDown as down:
                raise TransportDown(str(down), total) from down
            except AnotherDatabase:
                return total, errors  # The next tick holds everything first.
            except Exception as fault:
                refuse_lost_database(fault)
                errors.append(failed(place, fault))
                done = None
            if done is None:
                waiting.remove(place)
            else:
                total += done
    return total, errors


def trip(reason: str) -> None:
    log.warning("mail_transport_failed", reason=reason)
    with transaction(None, SCHEDULER) as session:
        breaker.trip(session, clock.now(session, settings()), reason)


def close() -> None:
    with transaction(None, SCHEDULER) as session:
        breaker.close(session, clock.now(session, settings()))


def failed(place: tuple[int, str], fault: Exception) -> dict[str, str | None]:
    org, slug = place
    log.exception("mail_failed", org=org)
    return {"org": slug, "site": None, "message": worded(fault)}
