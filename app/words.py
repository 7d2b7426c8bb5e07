"""Dates, lengths and distances in words, in the reader's language: for the screens, and for what leaves in a file."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from zoneinfo import ZoneInfo

from app.domain.delivery import Fate
from app.domain.thresholds import asked_on, parse
from app.vocabulary import OF
from app.wording import current, gettext, later, listed, ngettext, plural

DATE = later("d MMMM y")  # 3 April 2027, never 03/04.
WEEKDAY = later("EEEE")
MONTH, SHORT_MONTH = later("LLLL y"), later("LLL")
DAY_OF_THE_YEAR = later("d MMMM")


def word(code: object, of: str) -> str:
    """The word for a code; the code itself, readable, where there is none."""
    return OF.get(of, {}).get(str(code), str(code).replace("_", " ").capitalize())


def day(value: dt.date | None) -> str:
    """A date in words, 3 April 2027, never 03/04."""
    return current().day(value, DATE) if value else ""


def month_name(value: dt.date, form: str = "short") -> str:
    """Mar; or March 2027."""
    return current().day(value, MONTH if form == "long" else SHORT_MONTH)


def weekday(value: dt.date) -> str:
    return current().day(value, WEEKDAY)


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


def moment_in(value: dt.datetime, timezone: str) -> str:
    """The same, with the place that names the zone: 3 April 2027, 08:00:00 +01:00 in Lisbon."""
    place = timezone.rpartition("/")[2].replace("_", " ")
    return gettext("%(moment)s in %(place)s", moment=moment(value, timezone), place=place)


def local_day(value: dt.datetime, timezone: str) -> str:
    """The date in words that an instant has in the zone of the site."""
    return moment(value, timezone).partition(",")[0]


EVERY: Mapping[str, tuple[str, str]] = {
    "d": plural("every day", "every %(number)d days"),
    "w": plural("every week", "every %(number)d weeks"),
    "m": plural("every month", "every %(number)d months"),
    "y": plural("every year", "every %(number)d years"),
}


def every(recurrence: str | None) -> str:
    """Every year, every 3 months; what does not come again is said, too."""
    if not recurrence:
        return gettext("does not come again")
    if "-" in recurrence:
        # A leap year, so that 29 February is a day of it.
        days = [dt.date(2000, int(one[:2]), int(one[3:])) for one in recurrence.split(",")]
        return gettext("every year on %(days)s", days=listed([current().day(one, DAY_OF_THE_YEAR) for one in days]))
    return ngettext(*EVERY[recurrence[-1]], int(recurrence[:-1]))


def next_from(source: str, recurrence: str | None) -> str:
    """Where the next due date comes from: every year, counted from the due date; or the new paper."""
    if source in OF["basis"] and recurrence:
        return gettext("%(every)s, counted %(basis)s", every=every(recurrence), basis=OF["basis"][source])
    return OF["next_from"][source]


def lasting(length: dt.timedelta) -> str:
    """A length of time in its largest whole unit: 24 hours, 3 days, 45 minutes; hours up to two days."""
    minutes = int(length.total_seconds()) // 60
    if minutes >= 2 * 24 * 60:
        return ngettext("%(number)d day", "%(number)d days", minutes // (24 * 60))
    if minutes >= 60:
        return ngettext("%(number)d hour", "%(number)d hours", minutes // 60)
    return ngettext("%(number)d minute", "%(number)d minutes", minutes)


def days_left(due_on: dt.date, today: dt.date, wording: str = "falls_due") -> str:
    """How far a due date is away at its site: a paper expires, a task falls due."""
    left = (due_on - today).days
    paper = wording == "expires"
    if left > 0:
        return ngettext("%(number)d day left", "%(number)d days left", left)
    if left == 0:
        return gettext("Expires today") if paper else gettext("Due today")
    if paper:
        return ngettext("Expired %(number)d day ago", "Expired %(number)d days ago", -left)
    return ngettext("Overdue by %(number)d day", "Overdue by %(number)d days", -left)


BEFORE: Mapping[str, tuple[str, str]] = {
    "d": plural("%(number)d day before", "%(number)d days before"),
    "w": plural("%(number)d week before", "%(number)d weeks before"),
    "m": plural("%(number)d month before", "%(number)d months before"),
    "bd": plural("%(number)d business day before", "%(number)d business days before"),
}
AFTER: Mapping[str, tuple[str, str]] = {
    "d": plural("%(number)d day after", "%(number)d days after"),
    "w": plural("%(number)d week after", "%(number)d weeks after"),
    "m": plural("%(number)d month after", "%(number)d months after"),
    "bd": plural("%(number)d business day after", "%(number)d business days after"),
}


def before(threshold: str) -> str:
    """30 days before, on the day, 7 days after; of a filing that is pending, to ask the authority again."""
    if asked_on(threshold):
        return gettext("to ask the authority again")
    parsed = parse(threshold)
    if parsed.count == 0:
        return gettext("on the day")
    return ngettext(*(AFTER if parsed.after else BEFORE)[parsed.unit], parsed.count)


def noted(reply: str) -> str:
    """What a mail server answered, as it did; what Onus noted in its place, in words."""
    return OF["reason"][reply] if reply in set(Fate) else reply


def unended(words: str) -> str:
    """What a person wrote, quoted within a sentence that goes on: without the stop at its end."""
    return words.strip().removesuffix(".")
