"""The last test mail of an organisation, as its pages show it. Read only."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.domain.trials import TrialEnd
from app.models import MailTrial, Member


@dataclass(frozen=True)
class Trial:
    """One test mail: who asked for it and when, how far it came, and what the mail server said."""

    id: int
    person: str
    asked_at: dt.datetime
    sent_to: str | None
    handed_over_at: dt.datetime | None
    settled_at: dt.datetime | None
    outcome: TrialEnd | None
    reply: str | None

    @property
    def is_open(self) -> bool:
        return self.settled_at is None

    @property
    def was_taken(self) -> bool:
        return self.outcome is TrialEnd.taken


def read_address(session: Session, org: int, member_id: int) -> str | None:
    """Where a test mail to this member goes."""
    query = select(Member.email).where(Member.org_id == org, Member.id == member_id)
    return session.execute(query).scalar_one_or_none()


def read_last_trial(session: Session, org: int) -> Trial | None:
    """The test mail that was asked for last, by whomever."""
    query = (
        select(MailTrial, Member.name)
        .join(Member, (Member.org_id == MailTrial.org_id) & (Member.id == MailTrial.member_id))
        .where(MailTrial.org_id == org, MailTrial.note.is_(None))
        .order_by(MailTrial.asked_at.desc(), MailTrial.id.desc())
        .limit(1)
    )
    row = session.execute(query).one_or_none()
    if row is None:
        return None
    found, person = row
    outcome = TrialEnd(found.outcome) if found.outcome else None
    facts = (found.asked_at, found.sent_to, found.handed_over_at, found.settled_at, outcome, found.reply)
    return Trial(found.id, person, *facts)
