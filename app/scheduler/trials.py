"""Sending test mails, before the alerts: on the same line, with the same mark before the final dot, at most once.

What came of one is never an alert's affair: nothing is counted as delivered, and a server that refuses a test mail
opens no breaker. Only a server that cannot be reached at all does; until it can, a test mail waits.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from app import clock, failpoints
from app.channels.message import Composed
from app.channels.returns import sign_return
from app.channels.trial import compose_trial
from app.database import SCHEDULER, durable_transaction
from app.domain.delivery import Outcome, Reply
from app.domain.letters import Letter
from app.domain.trials import TrialEnd
from app.ledger.trials import DueTrial, due_trials, hand_over_trial, is_any_open, settle_trial
from app.scheduler.rounds import AnotherDatabase, at_work, organisations, refuse_lost_database, worded
from app.scheduler.sender import UNRECORDED, Sender, TransportDown, Unrecorded, passed
from app.trail.act import Act

log = structlog.get_logger()

# Of a lease that was lost nothing is written: the test mail is another sender's, or may not leave any more.
ENDS = {
    Outcome.delivered: TrialEnd.taken,
    Outcome.retry: TrialEnd.put_off,
    Outcome.failed: TrialEnd.refused,
    Outcome.in_doubt: TrialEnd.no_answer,
    Outcome.transport: TrialEnd.broken,
}


def is_filed(reply: Reply) -> bool:
    """Whether a file took it, and no mail server."""
    return reply.outcome is Outcome.delivered and reply.verb == "file"


def send_trials(sender: Sender, only: int | None) -> list[dict[str, str | None]]:
    """Send what was asked for, of all organisations or of one; which of them failed. Raises TransportDown."""
    errors: list[dict[str, str | None]] = []
    for org, slug in organisations(only):
        if sender.stop.is_set():
            break
        try:
            send_trials_of(sender, org)
        except TransportDown:
            raise
        except AnotherDatabase:
            break  # The next tick holds everything first.
        except Exception as fault:
            refuse_lost_database(fault)
            log.exception("test_mail_failed", org=org)
            errors.append({"org": slug, "site": None, "message": worded(fault)})
    return errors


def send_trials_of(sender: Sender, org: int) -> None:
    def due(act: Act) -> list[DueTrial]:
        if not is_any_open(act):
            return []
        at_work(act, sender.settings)
        return due_trials(act, sender.answer_within)

    for trial in sender.within(org, due):
        sender.reach()
        Posting(sender, org, trial).send()


@dataclass
class Posting:
    """One test mail on its way. `is_handed_over` once the mark of this sender is on record."""

    sender: Sender
    org: int
    trial: DueTrial
    is_handed_over: bool = False

    def send(self) -> None:
        """Hand it over and write what came of it, whatever that is: it is not tried again."""
        composed = compose_trial(self.letter(), self.sender.settings, self.trial.note)
        reply = composed if isinstance(composed, Reply) else self.handed_over(composed)
        end = TrialEnd.filed if is_filed(reply) else ENDS.get(reply.outcome)
        if end is not None:
            self.sender.recorded(self.org, self.settling(end, reply))
            log.info("test_mail_settled", org=self.org, outcome=end)

    def settling(self, end: TrialEnd, reply: Reply) -> Callable[[Act], bool]:
        return lambda act: settle_trial(act, self.trial.id, end, reply.text, handed_over=self.is_handed_over)

    def handed_over(self, composed: Composed) -> Reply:
        try:
            return self.sender.channel.send(composed, self.mark, passed)
        except Unrecorded as fault:
            log.warning("hand_over_not_recorded", org=self.org, fault=str(fault))
            return Reply(Outcome.lost_lease, "mark", f"not recorded, so not sent: {fault}")

    def mark(self) -> bool:
        """Record the hand-over durably. False: it is not ours to send. Raises Unrecorded where nobody knows whether
        the commit was made: then the dot is not written, and what may be on record is given up as without an answer."""
        failpoints.reached("mail_before_hand")
        if self.sender.stop.is_set():
            return False
        try:
            with durable_transaction(self.org, SCHEDULER) as session:
                act = Act(session, self.org, clock.now(session, self.sender.settings), self.sender.actor)
                self.is_handed_over = hand_over_trial(act, self.trial)
            failpoints.reached("mail_commit_sent")
        except UNRECORDED as fault:
            raise Unrecorded(type(fault).__name__) from fault
        return self.is_handed_over

    def letter(self) -> Letter:
        trial, token = self.trial, uuid.uuid4()
        domain = self.sender.settings.mail_sender()[1].partition("@")[2]
        return Letter(
            organisation=trial.organisation,
            slug=trial.slug,
            name=trial.name,
            address=trial.address,
            locale=trial.locale,
            notices=(),
            contacts=(),
            message_id=f"<{token.hex}@{domain}>",
            return_address=sign_return(self.sender.settings, self.org, token),
            sent_at=trial.now,
        )
