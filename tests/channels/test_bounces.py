"""What comes back: reports of several mail systems, automatic answers, and messages that mean harm (RFC 3464)."""

from __future__ import annotations

import base64
from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.channels.bounces import LARGEST_REPORT, Action, Report, read_report
from app.channels.returns import read_return, sign_return
from app.domain.errors import Refused
from tests.channels.letters import SETTINGS

MESSAGE = UUID(int=41)
HERE = sign_return(SETTINGS, 7, MESSAGE)
FAILED = """Final-Recipient: rfc822; bruno@acme.example
Original-Recipient: rfc822;Bruno@acme.example
Action: failed
Status: 5.1.1
Diagnostic-Code: smtp; 550 5.1.1 <bruno@acme.example>: no such
 user here
"""


def report(
    recipients: str = FAILED,
    *,
    to: str = HERE,
    more: str = "",
    kind: str = "delivery-status",
    part: str = "Content-Type: message/delivery-status\n\n",
    about: str = "Reporting-MTA: dns; mx.acme.example\n\n",
    end: str = "\n--edge--\n",
) -> bytes:
    """A report as Postfix writes it; everything that matters by keyword."""
    return f"""Return-Path: <>
{more}To: {to}
From: MAILER-DAEMON@acme.example (Mail Delivery System)
Subject: Undelivered Mail Returned to Sender
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type={kind};
\tboundary="edge"

This is a MIME-encapsulated message.

--edge
Content-Type: text/plain

I'm sorry to have to inform you.

--edge
{part}{about}{recipients}
--edge
Content-Type: message/rfc822

From: onus@onus.acme.example
To: bruno@acme.example
Content-Type: multipart/alternative; boundary="inner"

--inner
Content-Type: message/delivery-status

Action: delivered
--inner--
{end}""".encode()


def read_or_refused(raw: bytes) -> Report | None:
    """Anything else than a report or a refusal fails the test."""
    try:
        return read_report(raw)
    except Refused:
        return None


def test_a_failure_is_read_with_its_reason() -> None:
    found = read_report(report())
    assert (found.is_report, found.is_auto_reply, found.reporting_mta) == (True, False, "mx.acme.example")
    assert found.candidates == (HERE,)
    assert read_return(SETTINGS, found.candidates[0]) == (7, MESSAGE)
    (one,) = found.recipients
    assert found.failure == one
    assert (one.action, one.status) == (Action.failed, "5.1.1")
    assert one.diagnostic == "550 5.1.1 <bruno@acme.example>: no such user here"
    assert (one.final_recipient, one.original_recipient) == ("bruno@acme.example", "Bruno@acme.example")


@pytest.mark.parametrize("action", list(Action))
@pytest.mark.parametrize("case", [str.lower, str.title, str.upper])
def test_every_action_is_known_and_only_a_failure_is_one(action: Action, case: Callable[[str], str]) -> None:
    found = read_report(
        report(f"Final-Recipient: rfc822; b@acme.example\nAction: {case(action)} (odd)\nStatus: 4.4.7\n")
    )
    assert [one.action for one in found.recipients] == [action]
    assert (found.failure is not None) is (action is Action.failed)


def test_several_recipients_are_told_apart() -> None:
    delayed = "Final-Recipient: rfc822; a@acme.example\nAction: delayed\nStatus: 4.0.0\n"
    found = read_report(report(f"{delayed}\n\n{FAILED}"))
    assert [one.action for one in found.recipients] == [Action.delayed, Action.failed]
    assert found.failure is not None
    assert found.failure.final_recipient == "bruno@acme.example"


@pytest.mark.parametrize(
    "raw",
    [
        report().replace(b"\n", b"\r\n"),
        b"From MAILER-DAEMON Fri Mar  5 07:00:00 2027\n" + report(),
        report(kind='"Delivery-Status"'),
        report(part="Content-Type: message/global-delivery-status\n\n", kind="global-delivery-status"),
        report(end=""),
        report(about="Reporting-MTA: dns;mx.acme.example\n \n"),
        report(
            part="Content-Type: message/delivery-status\nContent-Transfer-Encoding: base64\n\n",
            about="",
            recipients=base64.encodebytes(f"Reporting-MTA: dns; mx.acme.example\n\n{FAILED}".encode()).decode(),
        ),
    ],
    ids=["crlf", "mbox", "quoted type", "global", "cut short", "blank line with a space", "base64"],
)
def test_other_spellings_say_the_same(raw: bytes) -> None:
    found = read_report(raw)
    assert found.failure is not None
    assert (found.failure.status, found.candidates, found.reporting_mta) == ("5.1.1", (HERE,), "mx.acme.example")


@pytest.mark.parametrize("name", ["Delivered-To", "X-Original-To", "Envelope-To", "X-Envelope-To", "Cc"])
def test_the_address_is_found_where_mail_systems_write_it(name: str) -> None:
    found = read_report(report(to="somebody@acme.example", more=f"{name}: {HERE.upper()}\n"))
    assert found.candidates == (HERE,)


def test_every_candidate_is_named_once_and_only_where_it_was_addressed_to() -> None:
    other = sign_return(SETTINGS, 8, UUID(int=1))
    found = read_report(report(to=f'"x" <{HERE}>, {other}', more=f"Delivered-To: {HERE}\nReferences: <{other}>\n"))
    assert found.candidates == (HERE, other)
    assert read_report(report(to="a@acme.example", more=f"Subject: {HERE}\n")).candidates == ()


AWAY = f"To: {HERE}\nSubject: I am away\n"


@pytest.mark.parametrize(
    ("more", "is_auto_reply"),
    [
        ("Auto-Submitted: auto-replied\n", True),
        ("Auto-Submitted: Auto-Replied (vacation)\n", True),
        ("Precedence: auto_reply\n", True),
        ("X-Autoreply: yes\n", True),
        ("Auto-Submitted: auto-generated\n", False),
        ("Auto-Submitted: no\n", False),
        ("", False),
        ("Content-Type: multipart/report; report-type=disposition-notification; boundary=x\n", False),
    ],
)
def test_an_automatic_answer_is_no_report(more: str, is_auto_reply: bool) -> None:
    found = read_report(f"{AWAY}{more}\nBack on Monday.\n".encode())
    assert (found.is_report, found.is_auto_reply, found.recipients, found.failure) == (False, is_auto_reply, (), None)
    assert found.candidates == (HERE,)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "no message"),
        (b"\n\n", "no message"),
        (b"\x00\xff" * 40, "no message"),
        (b"nothing but words\n", "no message"),
        (b"x" * (LARGEST_REPORT + 1), "larger than 5 MB"),
        (b"A: " + b"x" * 300_000 + b"\n\n", "no end"),
        (b"Content-Type: multipart/report; report-type=delivery-status\n\nno boundary", "no boundary"),
        (report(part="Content-Type: text/plain\n\n"), "no part that says"),
        (report(recipients="nothing: here\n"), "of no recipient"),
        (report(recipients="Action: vanished\nStatus: 5.0.0\n"), "of no recipient"),
        (report(recipients=""), "of no recipient"),
        (report(about=""), "of no recipient"),
        (report(part="A: b\n\n--edge\n" * 30 + "Content-Type: message/delivery-status\n\n"), "no part that says"),
        (b'Content-Type: multipart/report; x="' + b'";' * 100_000 + b'"\n\nx', "no end"),
    ],
)
def test_what_is_no_report_is_refused_in_a_sentence(raw: bytes, reason: str) -> None:
    with pytest.raises(Refused, match=reason) as refusal:
        read_report(raw)
    assert str(refusal.value).isprintable()
    assert str(refusal.value).endswith(".")


@pytest.mark.parametrize(
    "raw",
    [
        b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(20_000)),
        b"Content-Type: message/rfc822\n\n" * 50_000,
        report(recipients="Action: failed\n\n" * 200_000),
        report(part="Content-Type: message/delivery-status\n\n" + "\n" * 500_000),
        report(part="--edge\nA: b\n\n" * 200_000 + "Content-Type: message/delivery-status\n\n"),
        b"To: " + b"(" * 100_000 + b"\n\nx",
        b"To: " + b"+" * 100_000 + b"\n\nx",
        b"To: =?utf-8?b?" + b"!" * 100_000 + b"?=\n\nx",
        b"Content-Type: multipart/report; report-type*0*=x'y'%ff; boundary*=utf-9''edge\n\n--edge\n",
        b"Content-Type: multipart/report; report-type=delivery-status; boundary*=utf-9''%ff\n\n--edge\n",
        b"Content-Type: multipart/report; report-type=delivery-status; boundary=\xff\n\n--\xff\nContent-Type: x\n\n",
    ],
    ids=[
        "nested",
        "rfc822",
        "blocks",
        "blank lines",
        "edges",
        "comments",
        "pluses",
        "words",
        "2231",
        "charset",
        "8 bit",
    ],
)
def test_a_message_that_means_harm_is_read_or_refused_in_no_time(raw: bytes) -> None:
    found = read_or_refused(raw)
    assert found is None or len(found.recipients) <= 100


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 1200), st.integers(0, 40), st.binary(max_size=40))
def test_a_damaged_report_never_ends_in_a_traceback(start: int, length: int, damage: bytes) -> None:
    raw = report()
    found = read_or_refused(raw[:start] + damage + raw[start + length :])
    assert found is None or all(one.diagnostic.isprintable() and one.status.isascii() for one in found.recipients)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=400))
def test_octets_that_are_anything_never_end_in_a_traceback(raw: bytes) -> None:
    read_or_refused(raw)


def test_what_is_shown_is_short_and_printable() -> None:
    found = read_report(report(FAILED.replace("no such", "no\x00such \x1b[31m" + "x" * 5000)))
    assert found.failure is not None
    assert len(found.failure.diagnostic) <= 500
    assert found.failure.diagnostic.isprintable()
