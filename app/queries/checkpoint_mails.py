"""The seal as somebody outside may keep it: its newest note, who gets it by mail, and what became of the mails."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import and_, select
from sqlalchemy.orm import Session

from app.domain.trials import TrialEnd
from app.models import AuditCheckpoint, MailTrial, Member

SHOWN = 30  # Mails: of a month to one person; all of them are in the history.


@dataclass(frozen=True)
class Reader:
    """A member who may be chosen; `is_chosen` gets the checkpoint of each day."""

    id: int
    name: str
    email: str | None
    is_active: bool
    is_chosen: bool


@dataclass(frozen=True)
class CheckpointMail:
    """One mail: for which day, to whom, how far it came, and what the mail server said."""

    checkpoint_on: dt.date
    person: str
    sent_to: str | None
    handed_over_at: dt.datetime | None
    outcome: TrialEnd | None
    reply: str | None


def read_newest_note(session: Session, org: int) -> str | None:
    query = select(AuditCheckpoint.note).where(AuditCheckpoint.org_id == org)
    return session.execute(query.order_by(AuditCheckpoint.size.desc()).limit(1)).scalar_one_or_none()


def read_readers(session: Session, org: int) -> Sequence[Reader]:
    """Whoever has an address and is there, and whoever was chosen, by name."""
    one = Member
    query = select(one.id, one.name, one.email, one.is_active, one.daily_checkpoint).where(one.org_id == org)
    query = query.where(one.daily_checkpoint | and_(one.is_active, one.email.is_not(None)))
    return [Reader(*row) for row in session.execute(query.order_by(one.name, one.id))]


def read_checkpoint_mails(session: Session, org: int) -> Sequence[CheckpointMail]:
    """The last ones first."""
    one = MailTrial
    columns = (one.sent_to, one.handed_over_at, one.outcome, one.reply)
    query = (
        select(one.checkpoint_on, Member.name, *columns)
        .join(Member, and_(Member.org_id == one.org_id, Member.id == one.member_id))
        .where(one.org_id == org, one.note.is_not(None))
        .order_by(one.checkpoint_on.desc(), one.id.desc())
        .limit(SHOWN)
    )
    return [
        CheckpointMail(day, person, sent_to, at, TrialEnd(outcome) if outcome else None, reply)
        for day, person, sent_to, at, outcome, reply in session.execute(query)
        if day is not None
    ]
