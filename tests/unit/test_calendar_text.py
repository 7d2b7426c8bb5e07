"""A calendar feed to the byte (H35): dates, escapes, line breaks, and lines of at most 75 octets."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from icalendar import Calendar

from app.domain.acts import Role
from app.queries.feeds import Dated, Feed
from app.web.calendar_text import calendar_of, folded

ANA = Feed(1, 1, "acme", "Acme, S.A.", 7, "Ana", "en", Role.officer, None, None)
LAMP = Dated(
    obligation_id=42,
    subject_id=9,
    due_on=dt.date(2028, 2, 29),
    is_closed=False,
    reference="L-9",
    title="Lámpara; sala nº 3, sótano – Ibáñez",
    notes="Folder D:\\lamps; ask Íñigo, then call.\nBring the key.\r\nÑandú.",
    site="Sevilla; Triana",
    kind="inspection",
    wording="falls_due",
    what_to_do="",
    revision=2,
    changed_at=dt.datetime(2027, 3, 1, 11, 0, 5, 999, tzinfo=dt.UTC),
)
GOLDEN = (
    "BEGIN:VCALENDAR\r\n"
    "VERSION:2.0\r\n"
    "PRODID:-//Onus//Register//EN\r\n"
    "CALSCALE:GREGORIAN\r\n"
    "X-WR-CALNAME:Acme\\, S.A.: Ana\r\n"
    "REFRESH-INTERVAL;VALUE=DURATION:PT1H\r\n"
    "X-PUBLISHED-TTL:PT1H\r\n"
    "BEGIN:VEVENT\r\n"
    "UID:obligation-42@acme.onus\r\n"
    "DTSTAMP:20270301T110005Z\r\n"
    "SEQUENCE:2\r\n"
    "DTSTART;VALUE=DATE:20280229\r\n"
    "DTEND;VALUE=DATE:20280301\r\n"
    "SUMMARY:Due: Lámpara\\; sala nº 3\\, sótano – Ibáñez\r\n"
    "DESCRIPTION:Folder D:\\\\lamps\\; ask Íñigo\\, then call.\\nBring the key.\\nÑ\r\n"
    " andú.\r\n"
    "TRANSP:TRANSPARENT\r\n"
    "LOCATION:Sevilla\\; Triana\r\n"
    "URL:https://onus.example/o/acme/register/9\r\n"
    "COMMENT:L-9\\, inspection: falls due\r\n"
    "STATUS:CONFIRMED\r\n"
    "END:VEVENT\r\n"
    "END:VCALENDAR\r\n"
).encode()
ADDRESS = "https://onus.example/o/acme"
A_PARAGRAPH = "x" * 60 + "😀é" * 40


def calendar(*dates: Dated, feed: Feed = ANA) -> bytes:
    return calendar_of(feed, dates, ADDRESS)


def test_h35_the_whole_feed_to_the_byte() -> None:
    assert calendar(LAMP) == GOLDEN


def test_h35_a_reader_finds_what_was_typed() -> None:
    (event,) = Calendar.from_ical(calendar(LAMP)).walk("VEVENT")
    assert event["summary"] == "Due: Lámpara; sala nº 3, sótano – Ibáñez"
    assert event["description"] == "Folder D:\\lamps; ask Íñigo, then call.\nBring the key.\nÑandú."
    assert (event["dtstart"].dt, event["dtend"].dt) == (dt.date(2028, 2, 29), dt.date(2028, 3, 1))


@pytest.mark.parametrize(("due_on", "end"), [("2027-02-28", "20270301"), ("2027-12-31", "20280101")])
def test_h35_a_date_has_no_zone_and_ends_before_the_next_one(due_on: str, end: str) -> None:
    lines = calendar(replace(LAMP, due_on=dt.date.fromisoformat(due_on))).decode().split("\r\n")
    assert f"DTSTART;VALUE=DATE:{due_on.replace('-', '')}" in lines
    assert f"DTEND;VALUE=DATE:{end}" in lines
    assert not any("TZID" in line or line.startswith(("RRULE", "BEGIN:VALARM", "BEGIN:VTIMEZONE")) for line in lines)


def test_what_is_closed_is_called_off() -> None:
    assert b"\r\nSTATUS:CANCELLED\r\n" in calendar(replace(LAMP, is_closed=True))


def test_what_to_do_stands_before_the_notes_and_without_both_it_says_what_it_is() -> None:
    both = calendar(replace(LAMP, what_to_do="Take the sample.", notes="Blue folder."))
    assert b"\r\nDESCRIPTION:Take the sample.\\n\\nBlue folder.\r\n" in both
    assert b"\r\nDESCRIPTION:L-9\\, permit: expires\r\n" in calendar(
        replace(LAMP, notes="", kind="permit", wording="expires")
    )


def test_a_team_member_is_led_to_the_inbox_since_they_have_no_page_of_an_entry() -> None:
    assert b"\r\nURL:https://onus.example/o/acme/inbox\r\n" in calendar(LAMP, feed=replace(ANA, role=Role.staff))


def test_a_feed_without_dates_is_a_calendar_still() -> None:
    assert Calendar.from_ical(calendar()).walk("VEVENT") == []
    assert calendar(feed=replace(ANA, site="Madrid")).splitlines()[4] == b"X-WR-CALNAME:Acme\\, S.A.: Madrid"


def test_no_control_character_and_no_line_of_its_own_can_be_smuggled_in() -> None:
    raw = calendar(replace(LAMP, title="a\x00\x1b\x85b\nSTATUS:CANCELLED", notes="c\rEND:VEVENT\r\nd\te\x7f"))
    assert b"\r\nSUMMARY:Due: ab\\nSTATUS:CANCELLED\r\n" in raw
    assert b"\r\nDESCRIPTION:c\\nEND:VEVENT\\nd\te\r\n" in raw
    assert raw.count(b"\n") == raw.count(b"\r") == raw.count(b"\r\n")


def test_a_backslash_before_any_letter_is_a_backslash() -> None:
    """The N of a path is no line break (H35)."""
    raw = calendar(replace(LAMP, notes="C:\\Notes\\new, \\; \\\\"))
    assert b"\r\nDESCRIPTION:C:\\\\Notes\\\\new\\, \\\\\\; \\\\\\\\\r\n" in raw


@pytest.mark.parametrize("extra", range(8))
def test_a_line_is_folded_at_75_octets_and_never_within_a_letter(extra: int) -> None:
    lines = folded("x" * extra + A_PARAGRAPH).split(b"\r\n")
    assert lines.pop() == b""
    assert all(len(line) <= 75 for line in lines)
    assert all(len(line) > 75 - 4 for line in lines[:-1])  # No shorter than a letter of four octets makes it.
    assert all(line.startswith(b" ") for line in lines[1:])
    assert "".join([lines[0].decode(), *(line.decode()[1:] for line in lines[1:])]) == "x" * extra + A_PARAGRAPH


def test_a_line_of_75_octets_is_not_folded() -> None:
    assert folded("x" * 75) == b"x" * 75 + b"\r\n"
    assert folded("x" * 76) == b"x" * 75 + b"\r\n x\r\n"
    assert folded("x" * 149) == b"x" * 75 + b"\r\n " + b"x" * 74 + b"\r\n"
    assert folded("x" * 150) == b"x" * 75 + b"\r\n " + b"x" * 74 + b"\r\n x\r\n"


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=300))
def test_whatever_was_typed_is_read_back(title: str) -> None:
    raw = calendar(replace(LAMP, title=title, notes=""))
    assert all(len(line) <= 75 and line.decode() is not None for line in raw.split(b"\r\n"))
    (event,) = Calendar.from_ical(raw).walk("VEVENT")
    assert str(event["summary"]) == f"Due: {title}"
