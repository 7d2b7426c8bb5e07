"""Mails of no claim, told apart from every alert and sent once: test mails, and checkpoints for whoever keeps them."""

from __future__ import annotations

import datetime as dt

from sqlalchemy import CheckConstraint, Index, UniqueConstraint
from sqlalchemy.orm import Mapped

from app.models.base import Base, OrgId, OwnId, of_org, org_key


class MailTrial(Base):
    """One test mail: whom it went to, and what the mail server said. Handed over without an answer, it is in doubt.

    With a day it is that day's checkpoint: `note` is what it carries, and a member has one a day.
    """

    __tablename__ = "mail_trial"
    __table_args__ = (
        org_key(),
        of_org("member_id", "member"),
        CheckConstraint("(settled_at is null) = (outcome is null)", name="settled_as"),
        CheckConstraint("(checkpoint_on is null) = (note is null)", name="checkpoint_has_note"),
        UniqueConstraint("org_id", "member_id", "checkpoint_on", name="checkpoint_mailed_once"),
        Index("mail_trial_at_idx", "org_id", "asked_at", "id"),  # Serves the last one, on the page of a site.
    )

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    member_id: Mapped[int]
    asked_at: Mapped[dt.datetime]
    sent_to: Mapped[str | None]
    handed_over_at: Mapped[dt.datetime | None]
    settled_at: Mapped[dt.datetime | None]
    outcome: Mapped[str | None]
    reply: Mapped[str | None]
    checkpoint_on: Mapped[dt.date | None]
    note: Mapped[str | None]
