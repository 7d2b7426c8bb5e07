"""A calendar feed as text (RFC 5545): one all-day event for each due date, the same bytes until something changes.

Each date is listed, and none by an RRULE: a rule by months would leave out the 31st of a shorter month, where Onus
takes its last day, and a series by the day it was done has no rule at all. No alarm: the alerts are Onus's.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Sequence

from icalendar import Calendar, Event, vDuration, vText

from app.domain.acts import Role
from app.domain.calendars import DAY
from app.queries.feeds import Dated, Feed

PRODUCT = "-//Onus//Register//EN"
LONGEST_LINE = 75  # Octets, without the line break (RFC 5545 section 3.1).
# A text may hold no control character but a tab; line breaks are escaped (section 3.3.11).
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def calendar_of(feed: Feed, dates: Sequence[Dated], address: str) -> bytes:
    """The whole feed. `address` is the start of links into the organisation, without a slash at its end."""
    calendar = Calendar()
    calendar.add("version", "2.0")
    calendar.add("prodid", PRODUCT)
    calendar.add("calscale", "GREGORIAN")
    calendar.add("x-wr-calname", vText(plain(feed.name)))
    calendar.add("refresh-interval", vDuration(dt.timedelta(hours=1)), parameters={"VALUE": "DURATION"})
    calendar.add("x-published-ttl", vText("PT1H"))  # The same hour, for Outlook. What must be in time are the alerts.
    for one in dates:
        calendar.add_component(event_of(feed, one, address))
    # The library folds a line with a letter beyond ASCII an octet too early, and letter by letter, which is slow.
    return b"".join(folded(str(line)) for line in calendar.content_lines(sorted=False) if line)


def event_of(feed: Feed, one: Dated, address: str) -> Event:
    event = Event()
    event.add("uid", f"obligation-{one.obligation_id}@{feed.slug}.onus")
    event.add("dtstamp", one.changed_at.astimezone(dt.UTC).replace(microsecond=0))
    event.add("sequence", one.revision)
    event.add("dtstart", one.due_on)
    event.add("dtend", one.due_on + DAY)  # The end of a whole day is the next one, which it does not hold.
    event.add("summary", plain(f"Due: {one.title}"))
    event.add("description", plain(description(one)))
    event.add("transp", "TRANSPARENT")
    event.add("location", plain(one.site))
    # A team member has no page of an entry; their inbox leads to what they were told.
    event.add("url", f"{address}/inbox" if feed.role == Role.staff else f"{address}/register/{one.subject_id}")
    event.add("comment", plain(said(one)))
    event.add("status", "CANCELLED" if one.is_closed else "CONFIRMED")
    return event


def description(one: Dated) -> str:
    """What to do, and the notes as they were typed; where nobody wrote either, what it is."""
    return "\n\n".join(filter(None, (one.what_to_do, one.notes))) or said(one)


def said(one: Dated) -> str:
    return f"{one.reference}, {one.kind}: {'expires' if one.wording == 'expires' else 'falls due'}"


def plain(text: str) -> str:
    return CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


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
