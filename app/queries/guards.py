"""What stops everything at once, for all organisations: the clocks, the mail server, another database.

Read for `onus status`, the Today page and `/healthz`. What is held is held for each organisation (`watch.py`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from app import clock
from app.config import Settings
from app.models import DatabaseIdentity, MailTransport
from app.queries.together import Found
from app.wording import gettext

MAIL = select(MailTransport.opened_at, MailTransport.reason, MailTransport.retry_at, MailTransport.worked_at).where(
    MailTransport.id == 1
)


@dataclass(frozen=True)
class MailState:
    """Whether e-mail can leave. `open_since` is when the mail server was given up for a while, and why."""

    is_configured: bool
    to_files: bool
    open_since: dt.datetime | None = None
    reason: str | None = None
    retry_at: dt.datetime | None = None
    worked_at: dt.datetime | None = None


def read_mail(session: Session, settings: Settings) -> MailState:
    """The state of the mail server; of one that is not configured (any more) the past says nothing."""
    return mail_of(session.execute(MAIL), settings) if settings.smtp_url else MailState(False, False)


def mail_of(asked: Found, settings: Settings) -> MailState:
    """The same of what MAIL was answered."""
    if settings.smtp_url is None:
        return MailState(False, False)
    return MailState(True, settings.smtp_url.lower().startswith("file:"), *(asked.one_or_none() or ()))


def problems_of_mail(mail: MailState) -> Iterator[str]:
    if mail.open_since is not None:
        yield gettext(
            "no e-mail leaves since %(at)s UTC: %(reason)s; it is tried again, and nothing is lost meanwhile",
            at=mail.open_since.strftime("%Y-%m-%d %H:%M:%S"),
            reason=mail.reason,
        )


def problems_of_clocks(now: dt.datetime, settings: Settings) -> Iterator[str]:
    """The same guard that stops scan and delivery. `now` is the database's, of this moment."""
    try:
        clock.refuse_a_jump(now, None, settings)
    except clock.ClockFault as fault:
        yield str(fault)


def changed_at(session: Session) -> dt.datetime | None:
    """When the database was last seen to be another one: since then organisations may be held."""
    return session.execute(select(DatabaseIdentity.changed_at).where(DatabaseIdentity.id == 1)).scalar()
