"""What keeps messages from leaving, as the pages of one organisation say it: a hold, the mail server, the clocks."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import any_, exists, literal, select
from sqlalchemy.orm import Session

from app.config import Settings
from app.domain.delivery import Channel
from app.models import AlertRule, DeliveryHold
from app.queries.guards import MAIL, MailState, mail_of, problems_of_clocks
from app.queries.held import all_held
from app.queries.together import Asked, Found, together
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
    return stops_of(now, settings, *together(session, *stops_asked(org)))


def stops_asked(org: int) -> tuple[Asked, ...]:
    """The selects whose results `stops_of` takes."""
    on = (AlertRule.org_id == org, AlertRule.is_active, literal(str(Channel.email)) == any_(AlertRule.channels))
    holding = select(DeliveryHold.held_at, DeliveryHold.cause, all_held(org).scalar_subquery().label("messages"))
    in_force = holding.where(DeliveryHold.org_id == org, DeliveryHold.released_at.is_(None)).order_by(DeliveryHold.id)
    return MAIL, select(exists().where(*on)), in_force.limit(1)


def stops_of(now: dt.datetime, settings: Settings, mail: Found, uses_email: Found, hold: Found) -> Stops:
    found = hold.one_or_none()
    held = HoldState(found.held_at, gettext(found.cause), found.messages) if found else None
    return Stops(mail_of(mail, settings), uses_email.scalar_one(), held, any(problems_of_clocks(now, settings)))
