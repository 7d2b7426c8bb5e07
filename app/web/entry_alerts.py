"""The alerts of an entry in words: sent, not sent and why, stopped and why, raised late."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from app.domain import calendars
from app.domain.delivery import Reason, Standing, State
from app.domain.errors import UnusableZone
from app.domain.thresholds import asked_on, parse
from app.queries.entry_alerts import Alert, AlertPage, Message
from app.queries.held_back import HeldBack
from app.vocabulary import OF
from app.web.tags import GOOD, LATE, NEAR, PLAIN, Tag
from app.words import UNITS, before, counted, day, word


@dataclass(frozen=True)
class ShownAlert:
    """An alert with its words. `late` says by how much it was raised after its day, if it was."""

    alert: Alert
    tag: Tag
    late: str


def shown_alerts(page: AlertPage, timezone: str, held: Sequence[HeldBack] = ()) -> Sequence[ShownAlert]:
    by_date = {one.due_on: held_words(one) for one in held}
    return [ShownAlert(one, tag_of(one, by_date.get(one.due_on)), lateness(one, timezone)) for one in page.alerts]


def held_words(one: HeldBack) -> str:
    """Ana is on it until 4 March 2027."""
    if one.person is None:
        return "the filing is pending"
    return f"{one.person} is on it until {day(one.until_on)}" if one.until_on else f"{one.person} says that it is done"


def tag_of(alert: Alert, held_by: str | None = None) -> Tag:
    """`held_by` says who is on its deadline now, if somebody is."""
    if alert.standing == Standing.withdrawn:
        if alert.reason == Reason.somebody_on_it and held_by:
            return Tag(f"Held back: {held_by}")
        return Tag(f"Stopped: {OF['reason'].get(alert.reason or '', word(alert.reason, 'reason'))}")
    if alert.standing == Standing.superseded:
        if alert.reason == Reason.sharper:
            return Tag(f"Not sent: {covering(alert.covered_by)}")
        return Tag(f"Not sent: {word(alert.reason, 'reason')}")
    if alert.has_nobody:
        return Tag("Nobody to tell", LATE)
    return of_messages(alert.messages, is_complete=alert.delivered_at is not None)


def of_messages(messages: Sequence[Message], is_complete: bool) -> Tag:
    """What became of the messages of an alert that stands; the worst of them first, about which nobody has decided."""
    states = {one.state for one in messages if not one.is_ended}
    for worst in (State.failed, State.bounced, State.in_doubt, State.held):
        if worst in states:
            return Tag(word(worst, "state"), LATE)
    if is_complete:
        return Tag("Sent", GOOD)
    return Tag("Sent in part", NEAR) if any(one.left for one in messages) else Tag("Not sent yet", PLAIN)


def covering(threshold: str | None) -> str:
    """The 7-day alert covers it."""
    return f"the {notice(threshold)} covers it" if threshold else OF["reason"][Reason.sharper]


def notice(threshold: str) -> str:
    """The 7-day alert, the alert on the day, the alert 7 days after, the alert to ask the authority again."""
    if asked_on(threshold):
        return f"alert {before(threshold)}"
    parsed = parse(threshold)
    if parsed.count == 0:
        return "alert on the day"
    if parsed.after:
        return f"alert {counted(parsed.count, UNITS[parsed.unit])} after"
    return f"{parsed.count}-{UNITS[parsed.unit].replace(' ', '-')} alert"


def lateness(alert: Alert, timezone: str) -> str:
    """Raised late (2 days): by the calendar of the site."""
    try:
        raised_on = calendars.today(alert.claimed_at, timezone)
    except UnusableZone:
        return ""
    days = (raised_on - alert.crossed_on) // dt.timedelta(days=1)
    return f"Raised late ({counted(days, 'day')})" if days > 0 else ""
