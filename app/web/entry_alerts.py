"""The alerts of an entry in words: sent, not sent and why, stopped and why, raised late."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain import calendars
from app.domain.delivery import Reason, Standing, State
from app.domain.errors import UnusableZone
from app.domain.thresholds import asked_on, parse
from app.queries.entry_alerts import Alert, AlertPage, Message
from app.queries.held_back import HeldBack
from app.vocabulary import OF
from app.web.tags import GOOD, LATE, NEAR, PLAIN, Tag
from app.wording import gettext, ngettext, plural
from app.words import day, word

COVERED: Mapping[str, tuple[str, str]] = {
    "d": plural("the %(number)d-day alert covers it", "the %(number)d-day alert covers it"),
    "w": plural("the %(number)d-week alert covers it", "the %(number)d-week alert covers it"),
    "m": plural("the %(number)d-month alert covers it", "the %(number)d-month alert covers it"),
    "bd": plural("the %(number)d-business-day alert covers it", "the %(number)d-business-day alert covers it"),
}
COVERED_AFTER: Mapping[str, tuple[str, str]] = {
    "d": plural("the alert %(number)d day after covers it", "the alert %(number)d days after covers it"),
    "w": plural("the alert %(number)d week after covers it", "the alert %(number)d weeks after covers it"),
    "m": plural("the alert %(number)d month after covers it", "the alert %(number)d months after covers it"),
    "bd": plural(
        "the alert %(number)d business day after covers it", "the alert %(number)d business days after covers it"
    ),
}


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
        return gettext("the filing is pending")
    if one.until_on:
        return gettext("%(name)s is on it until %(day)s", name=one.person, day=day(one.until_on))
    return gettext("%(name)s says that it is done", name=one.person)


def tag_of(alert: Alert, held_by: str | None = None) -> Tag:
    """`held_by` says who is on its deadline now, if somebody is."""
    if alert.standing == Standing.withdrawn:
        if alert.reason == Reason.somebody_on_it and held_by:
            return Tag(gettext("Held back: %(why)s", why=held_by))
        return Tag(gettext("Stopped: %(why)s", why=word(alert.reason, "reason")))
    if alert.standing == Standing.superseded:
        why = covering(alert.covered_by) if alert.reason == Reason.sharper else word(alert.reason, "reason")
        return Tag(gettext("Not sent: %(why)s", why=why))
    if alert.has_nobody:
        return Tag(gettext("Nobody to tell"), LATE)
    return of_messages(alert.messages, is_complete=alert.delivered_at is not None)


def of_messages(messages: Sequence[Message], is_complete: bool) -> Tag:
    """What became of the messages of an alert that stands; the worst of them first, about which nobody has decided."""
    states = {one.state for one in messages if not one.is_ended}
    for worst in (State.failed, State.bounced, State.in_doubt, State.held):
        if worst in states:
            return Tag(word(worst, "state"), LATE)
    if is_complete:
        return Tag(gettext("Sent"), GOOD)
    if any(one.left for one in messages):
        return Tag(gettext("Sent in part"), NEAR)
    return Tag(gettext("Not sent yet"), PLAIN)


def covering(threshold: str | None) -> str:
    """The 7-day alert covers it; the alert on the day, 7 days after, or to ask the authority again."""
    if not threshold:
        return OF["reason"][Reason.sharper]
    if asked_on(threshold):
        return gettext("the alert to ask the authority again covers it")
    parsed = parse(threshold)
    if parsed.count == 0:
        return gettext("the alert on the day covers it")
    return ngettext(*(COVERED_AFTER if parsed.after else COVERED)[parsed.unit], parsed.count)


def lateness(alert: Alert, timezone: str) -> str:
    """Raised late (2 days): by the calendar of the site."""
    try:
        raised_on = calendars.today(alert.claimed_at, timezone)
    except UnusableZone:
        return ""
    days = (raised_on - alert.crossed_on) // dt.timedelta(days=1)
    return ngettext("Raised late (%(number)d day)", "Raised late (%(number)d days)", days) if days > 0 else ""
