"""A calendar feed as text (RFC 5545): one all-day event for each due date, the same bytes until something changes.

Each date is listed, and none by an RRULE: a rule by months would leave out the 31st of a shorter month, where Onus
takes its last day, and a series by the day it was done has no rule at all. No alarm: the alerts are Onus's.

The lines are written here. The library icalendar makes a line break of the first two characters of `\\Notes`, folds
lines with letters beyond ASCII an octet early (H35), and takes half a millisecond an event, which is seconds for a
large site. The tests read by it what was written without it.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Sequence

from app.domain.acts import Role
from app.domain.calendars import DAY
from app.queries.feeds import Dated, Feed
from app.wording import gettext

PRODUCT = "-//Onus//Register//EN"
LONGEST_LINE = 75  # Octets, without the line break (RFC 5545 section 3.1).
ESCAPES = str.maketrans({"\\": r"\\", ";": r"\;", ",": r"\,", "\n": r"\n"})
# Beside these a text may hold no control character but a tab (section 3.3.11).
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def calendar_of(feed: Feed, dates: Sequence[Dated], address: str) -> bytes:
    """The whole feed. `address` is the start of links into the organisation, without a slash at its end."""
    head = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        f"PRODID:{PRODUCT}",
        "CALSCALE:GREGORIAN",
        text("X-WR-CALNAME", feed.name),
    ]
    # Look again in an hour, the second line for Outlook. What must be in time are the alerts.
    head += ["REFRESH-INTERVAL;VALUE=DURATION:PT1H", "X-PUBLISHED-TTL:PT1H"]
    events = (line for one in dates for line in event_of(feed, one, address))
    return b"".join(map(folded, [*head, *events, "END:VCALENDAR"]))


def event_of(feed: Feed, one: Dated, address: str) -> Iterator[str]:
    yield "BEGIN:VEVENT"
    yield text("UID", f"obligation-{one.obligation_id}@{feed.slug}.onus")
    yield f"DTSTAMP:{one.changed_at.astimezone(dt.UTC):%Y%m%dT%H%M%SZ}"
    yield f"SEQUENCE:{one.revision}"
    yield f"DTSTART;VALUE=DATE:{one.due_on:%Y%m%d}"
    yield f"DTEND;VALUE=DATE:{one.due_on + DAY:%Y%m%d}"  # The first day that is no more of it (section 3.6.1).
    yield text("SUMMARY", gettext("Due: %(title)s", title=one.title))
    yield text("DESCRIPTION", description(one))
    yield "TRANSP:TRANSPARENT"
    yield text("LOCATION", one.site)
    # A team member has no page of an entry; their inbox leads to what they were told.
    yield f"URL:{address}/inbox" if feed.role == Role.staff else f"URL:{address}/register/{one.subject_id}"
    yield text("COMMENT", said(one))
    yield f"STATUS:{'CANCELLED' if one.is_closed else 'CONFIRMED'}"
    yield "END:VEVENT"


def text(name: str, value: str) -> str:
    """A content line with a text, into which no control character and no line of its own can be smuggled."""
    one_line = CONTROL.sub("", value.replace("\r\n", "\n").replace("\r", "\n"))
    return f"{name}:{one_line.translate(ESCAPES)}"


def description(one: Dated) -> str:
    """What to do, and the notes as they were typed; where nobody wrote either, what it is."""
    return "\n\n".join(filter(None, (one.what_to_do, one.notes))) or said(one)


def said(one: Dated) -> str:
    if one.wording == "expires":
        return gettext("%(reference)s, %(kind)s: expires", reference=one.reference, kind=one.kind)
    return gettext("%(reference)s, %(kind)s: falls due", reference=one.reference, kind=one.kind)


def folded(line: str) -> bytes:
    """The content line as octets, broken into lines of at most 75, never within a letter; each ends with CRLF."""
    return b"\r\n ".join(pieces(line)) + b"\r\n"


def pieces(line: str) -> Iterator[bytes]:
    octets, most = line.encode(), LONGEST_LINE
    while len(octets) > most:
        cut = most
        while octets[cut] & 0xC0 == 0x80:  # The first octet that is left out goes on with a letter.
            cut -= 1
        yield octets[:cut]
        octets, most = octets[cut:], LONGEST_LINE - 1  # The space that follows a break counts.
    yield octets
