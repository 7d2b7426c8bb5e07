"""The words and numbers of the screens: dates in words, days left, names of codes. English; nothing else knows them.

Never on a screen: claim, crossing, threshold, lease, hand-over, tick, standing, watermark, horizon.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from zoneinfo import ZoneInfo

from flask import Flask

from app.domain.thresholds import parse

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
UNITS = {"d": "day", "w": "week", "m": "month", "bd": "business day"}

OF: Mapping[str, Mapping[str, str]] = {
    "role": {"admin": "Administrator", "officer": "Compliance manager", "staff": "Team member", "inspector": "Inspector"},
    "status": {"draft": "Draft", "watched": "Watched", "out_of_service": "Out of service", "archived": "Archived"},
    "outcome": {
        "met": "Done", "failed": "Failed", "not_required": "Closed without doing it: not required",
        "entered_in_error": "Entered in error",
    },
    "answer": {"seen": "Got it", "on_it": "On it", "done": "Done", "not_mine": "Not mine", "help": "Help needed"},
    "channel": {"in_app": "in the app", "email": "e-mail"},
    "state": {
        "pending": "Waiting", "leased": "Waiting", "handing_over": "Being sent", "delivered": "Delivered",
        "failed": "Refused by the mail server", "in_doubt": "May have been sent, not confirmed", "cancelled": "Not sent",
        "bounced": "Came back", "held": "Held until a person looks",
    },
    "standing": {"open": "Raised", "superseded": "Not sent", "withdrawn": "Stopped"},
    "because": {
        "owner": "responsible for it", "holder": "its holder", "post": "holds a post at the site",
        "role": "has a role that is told", "named": "named in the rule",
    },
    "reason": {
        "sharper": "a later alert covers it", "start": "already past when entered", "nobody_to_tell": "nobody to tell",
        "closed": "done or closed", "moved": "the date was moved", "rule_off": "the rule is off",
        "threshold_off": "the rule no longer has this alert", "no_match": "the rule is no longer about this entry",
        "snoozed": "alerts are paused", "archived": "the entry is archived", "out_of_service": "out of service",
        "draft": "the entry is a draft", "site_archived": "the site is archived", "filed": "pending with the authority",
        "somebody_on_it": "somebody is on it", "not_a_recipient": "no longer told by the rule",
        "channel_off": "the rule no longer uses this channel",
    },
    "move_reason": {
        "authority": "The authority set another date", "typing_error": "The date was typed wrongly",
        "law_change": "The law changed", "agreed": "Agreed with the authority", "other": "Another reason",
    },
    "snooze_reason": {"waiting": "Waiting for somebody", "planned": "Planned already", "other": "Another reason"},
    "archive_reason": {"gone": "No longer exists", "replaced": "Replaced", "sold": "Sold", "other": "Another reason"},
    "close_reason": {
        "not_required": "Not required", "replaced": "Replaced by another", "entered_in_error": "Entered in error",
        "other": "Another reason",
    },
    "reopen_reason": {"not_done": "It was not done after all", "typing_error": "Typing error", "other": "Another reason"},
    "only_if": {"always": "always", "nobody_on_it": "only if nobody acts"},
    "wording": {"expires": "expires (a paper)", "falls_due": "falls due (something to do)"},
    "gap": {
        "site_archived": "the site is archived", "draft": "drafts", "out_of_service": "out of service",
        "no_date": "no open deadline", "no_rule": "no rule for kind and site", "nobody_to_tell": "nobody to tell",
        "paused": "paused",
    },
}  # fmt: skip


def word(code: object, of: str) -> str:
    """The word for a code; the code itself, readable, where there is none."""
    return OF[of].get(str(code), str(code).replace("_", " ").capitalize())


def day(value: dt.date | None) -> str:
    """A date in words, 3 April 2027, never 03/04."""
    return f"{value.day} {MONTHS[value.month - 1]} {value.year}" if value else ""


def weekday(value: dt.date) -> str:
    return WEEKDAYS[value.weekday()]


def moment(value: dt.datetime | None, timezone: str) -> str:
    """An instant in the zone of the site, with the offset, since it is evidence: 3 April 2027, 08:00:04 +02:00."""
    if value is None:
        return ""
    try:
        local = value.astimezone(ZoneInfo(timezone))
    except (LookupError, ValueError, OSError):
        local = value.astimezone(dt.UTC)
    offset = f"{local:%z}"
    return f"{day(local.date())}, {local:%H:%M:%S} {offset[:3]}:{offset[3:]}"


def counted(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def days_left(due_on: dt.date, today: dt.date, wording: str = "falls_due") -> str:
    """How far a due date is away at its site: a paper expires, a task falls due."""
    left = (due_on - today).days
    paper = wording == "expires"
    if left > 0:
        return f"{counted(left, 'day')} left"
    if left == 0:
        return "Expires today" if paper else "Due today"
    return f"{'Expired' if paper else 'Overdue by'} {counted(-left, 'day')}{' ago' if paper else ''}"


def before(threshold: str) -> str:
    """30 days before, on the day, 7 days after."""
    parsed = parse(threshold)
    if parsed.count == 0:
        return "on the day"
    return f"{counted(parsed.count, UNITS[parsed.unit])} {'after' if parsed.after else 'before'}"


def register(app: Flask) -> None:
    filters = {"day": day, "weekday": weekday, "moment": moment, "word": word, "before": before, "days_left": days_left}
    app.jinja_env.filters.update(filters)
    app.jinja_env.globals["counted"] = counted
