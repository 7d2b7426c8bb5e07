"""What became of a message, in sentences: what is known of it, what is not, and what follows from a decision."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.delivery import Channel, Fate, Resolution, State, TimedBy
from app.operations.doubts import CHOICES
from app.queries.alert import Alert
from app.queries.dispatches import Dispatch
from app.queries.messages import Message, Part
from app.vocabulary import OF
from app.words import counted, moment, moment_in, word

UNKNOWABLE = "Onus cannot know whether it was read"
BUTTONS = {
    Resolution.delivered: "It arrived",
    Resolution.failed: "It was not sent",
    Resolution.resend: "Send it again",
    Resolution.settled: "Settled otherwise",
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
        return f"{left(sent, timezone)}. A person decided."
    match sent.state:
        case State.delivered:
            return taken(sent, app, timezone)
        case State.in_doubt:
            return f"{left(sent, timezone)}. It may have arrived, or not; {read_in_app(app, timezone)}."
        case State.bounced:
            back = sent.returned
            came = f", and came back on {moment(back.at, timezone)}" if back else ", and came back"
            return f"It was sent on {moment(sent.handed_over_at, timezone)}{came}."
        case State.failed:
            return refused(sent)
        case State.handing_over:
            return (
                f"It is being sent since {moment(sent.handed_over_at, timezone)}; the mail server has not answered yet."
            )
    return waiting(sent, timezone)


def shown(sent: Dispatch, timezone: str) -> str:
    if sent.delivered_at is None or sent.state is not State.delivered:
        return waiting(sent, timezone)
    opened = f"opened on {moment(sent.seen_at, timezone)}" if sent.seen_at else "not opened yet"
    return f"Shown in the app on {moment(sent.delivered_at, timezone)}; {opened}."


def taken(sent: Dispatch, app: InApp, timezone: str) -> str:
    """Taken by the mail server of those who sent it: its domain stands in the number of the message."""
    at, opened = moment(sent.delivered_at, timezone), read_in_app(app, timezone)
    if sent.went_to_a_file:
        return f"It was written to a file of this host on {at} and has not left this host; {opened}."
    domain = (sent.message_id or "").rpartition("@")[2].rstrip(">")
    of = f" of {domain}" if domain else ""
    return f"The mail server{of} took it on {at}; {UNKNOWABLE}; {opened}."


def read_in_app(app: InApp, timezone: str) -> str:
    if app.opened_at is not None:
        return f"in the app it was opened on {moment(app.opened_at, timezone)}"
    return "in the app it has not been opened" if app.is_told else "it was not shown in the app"


def left(sent: Dispatch, timezone: str) -> str:
    """What is known of a message that may have been sent."""
    why = word(sent.reason, "reason") if sent.reason else OF["reason"][Fate.no_answer]
    return f"It was being sent on {moment(sent.handed_over_at, timezone)}, and {why}"


def refused(sent: Dispatch) -> str:
    if sent.reason == Fate.gave_up:
        return f"It was tried {counted(sent.attempts, 'time')} and never taken; it is not tried again by itself."
    if sent.tries and sent.tries[-1].verb == "compose":
        return "It could not be put into words, so nothing was sent."
    return "The mail server refused it for good; it is not tried again by itself."


def waiting(sent: Dispatch, timezone: str) -> str:
    match sent.state:
        case State.cancelled:
            return f"Not sent: {word(sent.reason, 'reason')}." if sent.reason else "Not sent."
        case State.held:
            return "Held until a person lets it go."
    if sent.attempts:
        return f"It waits, and is tried again on {moment(sent.next_attempt_at, timezone)}."
    if sent.timed_by is not None:
        zone = timezone if sent.timed_by == TimedBy.alert_from else sent.person_zone
        return f"It waits until {moment_in(sent.next_attempt_at, zone)}: {word(sent.timed_by, 'waits_for')}."
    return f"It waits, and goes out from {moment(sent.not_before, timezone)} on."


def said_of(sent: Dispatch) -> str:
    """The last answer of the mail server; what Onus noted in its place is in other words already."""
    return "" if sent.last_reply is None or sent.last_reply in set(Fate) else sent.last_reply


def buttons(sent: Dispatch) -> list[tuple[str, str]]:
    """What may be decided about it: each decision and the words on its button."""
    return [(choice.value, BUTTONS[choice]) for choice in CHOICES.get(sent.state, ())] if sent.is_undecided else []


def follows(sent: Dispatch, app: InApp) -> str:
    """What happens next, after the decision."""
    match sent.decision:
        case Resolution.delivered:
            return "Nothing more is sent. Without an answer the deadline appears under Told, no answer."
        case Resolution.failed:
            there = " The alert is in their inbox in the app." if app.is_told else ""
            return f"Nothing more is sent by itself: send it again, or tell {sent.person} in another way.{there}"
        case Resolution.resend if sent.address is None:
            return f"It does not leave while {sent.person} has no e-mail address in use, or e-mail alerts are off."
        case Resolution.resend:
            return (
                f"It goes to {sent.address} with the next round, unless the deadline is done by then. "
                f"{sent.person} may get it twice."
            )
    return "Nothing more is sent, and it is no longer listed as not delivered."
