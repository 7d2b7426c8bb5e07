"""What keeps messages from leaving, as the pages of one organisation say it: a hold, the mail server, the clocks."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import any_, literal, select
from sqlalchemy.orm import Session

from app.config import Settings
from app.domain.delivery import Channel
from app.models import AlertRule
from app.queries.guards import MailState, problems_of_clocks, read_mail
from app.queries.held import count_held
from app.queries.watch import read_hold
from app.wording import gettext


@dataclass(frozen=True)
class HoldState:
    """Since when and why everything is held, and how many messages that are."""

    since: dt.datetime
    cause: str
    messages: int


@dataclass(frozen=True)
class Stops:
    """What holds messages up at this instant."""

    mail: MailState
    uses_email: bool
    hold: HoldState | None
    clocks_apart: bool

    @property
    def lacks_mail(self) -> bool:
        """Whether rules tell by e-mail, and there is no way for it."""
        return self.uses_email and not self.mail.is_configured

    @property
    def only_files(self) -> bool:
        return self.uses_email and self.mail.to_files

    @property
    def is_said(self) -> bool:
        """Whether there is anything to say."""
        return self.lacks_mail or self.only_files or any(self.problems)

    @property
    def problems(self) -> Iterator[str]:
        """In short, for the board of the Today page; the banners say what is to be done."""
        if self.mail.open_since is not None:
            yield gettext("no e-mail leaves, since the mail server cannot be used")
        yield from self.halts

    @property
    def halts(self) -> Iterator[str]:
        """Those that stop more than e-mail."""
        if self.hold is not None:
            yield gettext("all messages are held until a person lets them go")
        if self.clocks_apart:
            yield gettext("nothing is raised or sent, since the clocks are apart")


def read_stops(session: Session, org: int, now: dt.datetime, settings: Settings) -> Stops:
    """`now` is the database's, of this moment."""
    mail = read_mail(session, settings)
    on = (AlertRule.org_id == org, AlertRule.is_active, literal(str(Channel.email)) == any_(AlertRule.channels))
    uses_email = session.execute(select(AlertRule.id).where(*on).limit(1)).first() is not None
    found = read_hold(session, org)
    hold = HoldState(found.held_at, gettext(found.cause), count_held(session, org)) if found else None
    return Stops(mail, uses_email, hold, any(problems_of_clocks(now, settings)))
