"""What became of a message, in sentences: what is known of it, what is not, and what follows from a decision."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.delivery import Channel, Fate, Resolution, State, TimedBy
from app.operations.doubts import CHOICES
from app.queries.alert import Alert
from app.queries.dispatches import Dispatch
from app.queries.lateness import Cause
from app.queries.messages import Message, Part
from app.vocabulary import OF
from app.wording import gettext, later, ngettext
from app.words import moment, moment_in, word

BUTTONS = {
    Resolution.delivered: later("It arrived"),
    Resolution.failed: later("It was not sent"),
    Resolution.resend: later("Send it again"),
    Resolution.settled: later("Settled otherwise"),
}


@dataclass(frozen=True)
class InApp:
    """What the app knows of the person to whom the message went: whether it told them of it, and when they looked."""

    is_told: bool
    opened_at: dt.datetime | None


@dataclass(frozen=True)
class Shown:
    """A message with its words. Of one that was read by itself `parts` are its alerts, and `unseen` how many more."""

    sent: Dispatch
    app: InApp
    timezone: str
    parts: Sequence[Part] = ()
    unseen: int = 0

    @property
    def is_in_doubt(self) -> bool:
        return self.sent.state is State.in_doubt

    @property
    def became(self) -> str:
        return became(self.sent, self.app, self.timezone)

    @property
    def said(self) -> str:
        return said_of(self.sent)

    @property
    def buttons(self) -> Sequence[tuple[str, str]]:
        return buttons(self.sent)

    @property
    def follows(self) -> str:
        return follows(self.sent, self.app)


def of_message(one: Message) -> Shown:
    return Shown(one.sent, InApp(one.is_in_app, one.opened_at), one.timezone, one.parts, one.unseen)


def of_alert(alert: Alert) -> Sequence[Shown]:
    """The messages of an alert."""
    return [
        Shown(one, InApp(alert.is_in_app(one.recipient_id), alert.opened_at(one.recipient_id)), alert.line.timezone)
        for one in alert.messages
    ]


def became(sent: Dispatch, app: InApp, timezone: str) -> str:
    """What is on record of it, and what set its hour if it has left. It claims nothing that is not on record."""
    said = came_of(sent, app, timezone)
    is_out = sent.handed_over_at is not None and sent.timed_by is not None
    return f"{said} {word(sent.timed_by, 'timed_by')}." if is_out else said


def came_of(sent: Dispatch, app: InApp, timezone: str) -> str:
    if sent.channel is Channel.in_app:
        return shown(sent, timezone)
    if sent.decision in (Resolution.delivered, Resolution.failed) and sent.state is not State.bounced:
        return gettext("%(left)s. A person decided.", left=left(sent, timezone))
    match sent.state:
        case State.delivered:
            return taken(sent, app, timezone)
        case State.in_doubt:
            facts = {"left": left(sent, timezone), "opened": read_in_app(app, timezone)}
            return gettext("%(left)s. It may have arrived, or not; %(opened)s.", **facts)
        case State.bounced:
            return returned(sent, timezone)
        case State.failed:
            return refused(sent)
        case State.handing_over:
            at = moment(sent.handed_over_at, timezone)
            return gettext("It is being sent since %(at)s; the mail server has not answered yet.", at=at)
    return waiting(sent, timezone)


def returned(sent: Dispatch, timezone: str) -> str:
    at, back = moment(sent.handed_over_at, timezone), sent.returned
    if back is None:
        return gettext("It was sent on %(at)s, and came back.", at=at)
    return gettext("It was sent on %(at)s, and came back on %(back)s.", at=at, back=moment(back.at, timezone))


def shown(sent: Dispatch, timezone: str) -> str:
    if sent.delivered_at is None or sent.state is not State.delivered:
        return waiting(sent, timezone)
    at = moment(sent.delivered_at, timezone)
    if sent.seen_at is None:
        return gettext("Shown in the app on %(at)s; not opened yet.", at=at)
    return gettext("Shown in the app on %(at)s; opened on %(opened)s.", at=at, opened=moment(sent.seen_at, timezone))


def taken(sent: Dispatch, app: InApp, timezone: str) -> str:
    """Taken by the mail server of those who sent it: its domain stands in the number of the message."""
    at, opened = moment(sent.delivered_at, timezone), read_in_app(app, timezone)
    if sent.went_to_a_file:
        written = later("It was written to a file of this host on %(at)s and has not left this host; %(opened)s.")
        return gettext(written, at=at, opened=opened)
    domain = (sent.message_id or "").rpartition("@")[2].rstrip(">")
    took = later("The mail server took it on %(at)s; Onus cannot know whether it was read; %(opened)s.")
    if domain:
        took = later(
            "The mail server of %(domain)s took it on %(at)s; Onus cannot know whether it was read; %(opened)s."
        )
    return gettext(took, at=at, opened=opened, domain=domain)


def read_in_app(app: InApp, timezone: str) -> str:
    if app.opened_at is not None:
        return gettext("in the app it was opened on %(at)s", at=moment(app.opened_at, timezone))
    return gettext("in the app it has not been opened") if app.is_told else gettext("it was not shown in the app")


def left(sent: Dispatch, timezone: str) -> str:
    """What is known of a message that may have been sent."""
    why = word(sent.reason, "reason") if sent.reason else OF["reason"][Fate.no_answer]
    return gettext("It was being sent on %(at)s, and %(why)s", at=moment(sent.handed_over_at, timezone), why=why)


def refused(sent: Dispatch) -> str:
    if sent.reason == Fate.gave_up:
        return ngettext(
            "It was tried %(number)d time and never taken; it is not tried again by itself.",
            "It was tried %(number)d times and never taken; it is not tried again by itself.",
            sent.attempts,
        )
    if sent.tries and sent.tries[-1].verb == "compose":
        return gettext("It could not be put into words, so nothing was sent.")
    return gettext("The mail server refused it for good; it is not tried again by itself.")


def waiting(sent: Dispatch, timezone: str) -> str:
    match sent.state:
        case State.cancelled:
            reason = sent.reason and word(sent.reason, "reason")
            return gettext("Not sent: %(reason)s.", reason=reason) if reason else gettext("Not sent.")
        case State.held:
            return gettext("Held until a person lets it go.")
    if sent.attempts:
        return gettext("It waits, and is tried again on %(at)s.", at=moment(sent.next_attempt_at, timezone))
    if sent.timed_by is not None:
        zone = timezone if sent.timed_by == TimedBy.alert_from else sent.person_zone
        at, why = moment_in(sent.next_attempt_at, zone), word(sent.timed_by, "waits_for")
        return gettext("It waits until %(at)s: %(why)s.", at=at, why=why)
    return gettext("It waits, and goes out from %(at)s on.", at=moment(sent.not_before, timezone))


def said_of(sent: Dispatch) -> str:
    """The last answer of the mail server; what Onus noted in its place is in other words already."""
    return "" if sent.last_reply is None or sent.last_reply in set(Fate) else sent.last_reply


def buttons(sent: Dispatch) -> list[tuple[str, str]]:
    """What may be decided about it: each decision and the words on its button."""
    choices = CHOICES.get(sent.state, ()) if sent.is_undecided else ()
    return [(choice.value, gettext(BUTTONS[choice])) for choice in choices]


def follows(sent: Dispatch, app: InApp) -> str:
    """What happens next, after the decision."""
    match sent.decision:
        case Resolution.delivered:
            return gettext("Nothing more is sent. Without an answer the deadline appears under Told, no answer.")
        case Resolution.failed:
            tell = gettext(
                "Nothing more is sent by itself: send it again, or tell %(name)s in another way.", name=sent.person
            )
            return f"{tell} {gettext('The alert is in their inbox in the app.')}" if app.is_told else tell
        case Resolution.resend if sent.address is None:
            return gettext(
                "It does not leave while %(name)s has no e-mail address in use, or e-mail alerts are off.",
                name=sent.person,
            )
        case Resolution.resend:
            return gettext(
                "It goes to %(address)s with the next round, unless the deadline is done by then. "
                "%(name)s may get it twice.",
                address=sent.address,
                name=sent.person,
            )
    return gettext("Nothing more is sent, and it is no longer listed as not delivered.")


def late_because(alert: Alert) -> str:
    """By how much an alert was raised late, what made it so and when; nothing of one that was not late."""
    late = alert.lateness
    if late is None:
        return ""
    facts = {"cause": word(late.cause, "cause"), "moment": moment(late.at, alert.line.timezone)}
    if late.at is None:
        return ngettext("%(number)d day, because %(cause)s", "%(number)d days, because %(cause)s", late.days, **facts)
    if late.cause is Cause.no_check:
        return ngettext(
            "%(number)d day, because nobody had checked since %(moment)s",
            "%(number)d days, because nobody had checked since %(moment)s",
            late.days,
            **facts,
        )
    return ngettext(
        "%(number)d day, because %(cause)s on %(moment)s",
        "%(number)d days, because %(cause)s on %(moment)s",
        late.days,
        **facts,
    )
