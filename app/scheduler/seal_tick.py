"""One tick of the seal: each organisation in transactions of its own, until nothing is left to seal.

It moves no alert, so that neither a hold nor a clock that has jumped stops it. A fault of one organisation is logged,
and stops none of the others; what is unsealed shows on Today.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import structlog

from app import clock
from app.config import settings
from app.database import SCHEDULER, transaction
from app.ledger.checkpoint_mails import ask_for_checkpoints
from app.scheduler.rounds import in_transaction, organisations, refuse_lost_database, worded
from app.trail import seal as sealing
from app.trail.act import SCHEDULER as SCHEDULER_ACTOR
from app.trail.notes import Signer
from app.trail.seal import Sealed
from app.trail.signers import open_signer, rotate

log = structlog.get_logger()


@dataclass
class SealTick:
    """What was sealed, and how many events each log has now, by the organisation's slug."""

    sealed: int = 0
    checkpoints: dict[str, Sealed] = field(default_factory=dict)
    errors: list[dict[str, str | None]] = field(default_factory=list)


def seal_tick(only: int | None = None, *, actor: str = SCHEDULER_ACTOR) -> SealTick:
    """Seal all organisations, or only this one. Raises Misconfigured without the key."""
    signer, done = present_signer(), SealTick()
    for org, slug in organisations(only):
        try:
            seal_all(org, slug, actor, signer, done)
        except Exception as fault:
            refuse_lost_database(fault)
            log.exception("seal_failed", org=org)
            done.errors.append({"org": slug, "site": None, "message": worded(fault)})
    return done


def seal_all(org: int, slug: str, actor: str, signer: Signer, done: SealTick) -> None:
    while True:
        made = in_transaction(org, actor, lambda act: sealing.seal(act, signer))
        if made is None:
            return
        done.sealed += made.events
        done.checkpoints[slug] = made
        if made.events < sealing.MOST:
            return


def ask_for_mails() -> int:
    """Ask for today's checkpoints by mail, in every organisation that wants them; how many. Again asks for none.

    Without a mail server nothing is asked for: what waited until one is set up would be too old to be of use.
    """
    if settings().smtp_url is None:
        return 0
    asked = 0
    for org, _ in organisations(None):
        try:
            asked += in_transaction(org, SCHEDULER_ACTOR, ask_for_checkpoints)
        except Exception as fault:
            refuse_lost_database(fault)
            log.exception("checkpoint_mail_failed", org=org)
    return asked


def present_signer() -> Signer:
    with transaction(None, SCHEDULER) as session:
        return open_signer(session, settings(), clock.now(session, settings()))


def rotate_key(*, lost: bool) -> Signer:
    """Let a new key take over. Committed before the file changes hands, so that it can be gone on with."""
    with transaction(None, SCHEDULER) as session:
        rotate(session, settings(), clock.now(session, settings()), lost=lost)
    return present_signer()
