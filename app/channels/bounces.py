"""What comes back: a delivery status notification (RFC 3464), read from the bytes of one message. Pure.

Only the outer message and its own parts are looked at, without recursion: what somebody has nested or forwarded inside
says nothing about us, and cannot cost more than it weighs. Whether an address is signed is for `returns` to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesHeaderParser
from enum import StrEnum, auto

from app.channels.message import one_line
from app.channels.returns import SIGNED
from app.domain.errors import Refused, quoted

LARGEST_REPORT = 5 * 1024 * 1024  # Octets: what returns is a notice with at most one message of ours.
LARGEST_HEAD = 256 * 1024  # Octets of one block of headers.
PARTS_AT_MOST = 20  # A report has two or three.
RECIPIENTS_AT_MOST = 100  # A message of ours has one.
LONGEST_TYPE = 2000  # Characters of a Content-Type; the library reads parameters in quadratic time.
LONGEST_SHOWN = 500  # Characters of one field.
# Where mail systems write the address that a message came to, the surest first.
ADDRESSED = ("Delivered-To", "X-Original-To", "Envelope-To", "X-Envelope-To", "X-Delivered-To", "X-Rcpt-To", "To", "Cc")
STATUS = re.compile(r"[245]\.\d{1,3}\.\d{1,3}")
BLANK_LINE = re.compile(rb"\r?\n[ \t]*\r?\n")
FAULTS = (ValueError, LookupError, TypeError, AttributeError)  # What the library's header reading is known to raise.


class Action(StrEnum):
    """What the reporting server did with the message; RFC 3464 section 2.3.3."""

    failed = auto()
    delayed = auto()
    delivered = auto()
    relayed = auto()
    expanded = auto()


@dataclass(frozen=True)
class ReportedRecipient:
    """One recipient of a report. Texts are printable and short; `status` is such as 5.1.1, or empty."""

    action: Action
    status: str
    diagnostic: str
    final_recipient: str
    original_recipient: str


@dataclass(frozen=True)
class Report:
    """What one message is. `candidates` look like signed return addresses and stood where it was addressed to."""

    candidates: tuple[str, ...]
    is_report: bool
    is_auto_reply: bool
    recipients: tuple[ReportedRecipient, ...] = ()
    reporting_mta: str = ""

    @property
    def failure(self) -> ReportedRecipient | None:
        """The first recipient whom the message has not reached and will not reach."""
        return next((one for one in self.recipients if one.action is Action.failed), None)


def read_report(raw: bytes) -> Report:
    """Read one message. Raises Refused for what is no message, too large, or a report that says nothing."""
    if len(raw) > LARGEST_REPORT:
        raise Refused(f"The message is larger than {LARGEST_REPORT // 1024 // 1024} MB: it is no report.")
    head, body = divided(raw)
    try:
        headers = headers_of(head)
        candidates = tuple(dict.fromkeys(signed_addresses(headers)))
        if not is_report(headers):
            return Report(candidates, is_report=False, is_auto_reply=is_auto_reply(headers))
        blocks = status_blocks(headers, body)
        recipients = tuple(filter(None, map(recipient_of, blocks[1:])))
        mta = typed(blocks[0], "Reporting-MTA") if blocks else ""
    except FAULTS:
        raise Refused("The message is broken, so that it cannot be read as a report.") from None
    if not recipients:
        raise Refused("The report says of no recipient what became of the message.")
    return Report(candidates, is_report=True, is_auto_reply=False, recipients=recipients, reporting_mta=mta)


def divided(raw: bytes) -> tuple[bytes, bytes]:
    """Headers and body, at the first blank line."""
    if raw.startswith((b"\n", b"\r\n")):
        return b"", raw
    found = BLANK_LINE.search(raw)
    return (raw[: found.start()], raw[found.end() :]) if found else (raw, b"")


def headers_of(head: bytes) -> Message:
    """The headers; the library passes over the `From ` line that a mailbox file puts before them."""
    if len(head) > LARGEST_HEAD:
        raise Refused("The headers of the message have no end: it is no report.")
    headers = BytesHeaderParser().parsebytes(head.strip(b"\r\n") + b"\n\n")
    if len(str(headers.get("Content-Type", ""))) > LONGEST_TYPE:
        raise Refused("A Content-Type of the message has no end: it is no report.")
    if not headers.keys():
        raise Refused(f"This is no message: it begins with {quoted(one_line(head[:40].decode('ascii', 'replace')))}.")
    return headers


def signed_addresses(headers: Message) -> Iterator[str]:
    for name in ADDRESSED:
        for value in headers.get_all(name, []):
            for found in SIGNED.finditer(str(value)):
                yield found[0].lower()


def is_report(headers: Message) -> bool:
    """RFC 3464 section 2.1, and RFC 6533 for addresses outside ASCII."""
    kind = str(headers.get_param("report-type", "")).lower()
    return headers.get_content_type() == "multipart/report" and kind in ("delivery-status", "global-delivery-status")


def is_auto_reply(headers: Message) -> bool:
    """An absence note or the like: RFC 3834, and what was usual before it."""
    submitted = str(headers.get("Auto-Submitted", "")).strip().lower()
    asked = str(headers.get("Precedence", "")).strip().lower()
    old = any(name in headers for name in ("X-Autoreply", "X-Autorespond", "X-Auto-Response"))
    return submitted.startswith("auto-replied") or asked == "auto_reply" or old


def status_blocks(headers: Message, body: bytes) -> list[Message]:
    """The blocks of the part that machines read: one about the message, then one for each recipient."""
    boundary = headers.get_boundary()
    if not boundary:
        raise Refused("The report has no boundary between its parts.")
    edge = rb"(?:\A|\r?\n)--" + re.escape(boundary.encode("ascii", "replace")) + rb"(?:--)?[ \t]*(?:\r?\n|\Z)"
    for part in re.split(edge, body, maxsplit=PARTS_AT_MOST)[1:]:
        head, inside = divided(part)
        if not head.strip():
            continue
        own = headers_of(head)
        if own.get_content_type() in ("message/delivery-status", "message/global-delivery-status"):
            blocks = BLANK_LINE.split(decoded(own, inside), maxsplit=RECIPIENTS_AT_MOST + 1)[: RECIPIENTS_AT_MOST + 1]
            return [headers_of(block) for block in blocks if block.strip()]
    raise Refused("The report has no part that says what became of the message.")


def decoded(own: Message, inside: bytes) -> bytes:
    """The part as it was meant: RFC 3464 wants it plain, and some servers encode it all the same."""
    if str(own.get("Content-Transfer-Encoding", "7bit")).strip().lower() not in ("base64", "quoted-printable"):
        return inside
    carrier = Message()
    carrier["Content-Transfer-Encoding"] = own["Content-Transfer-Encoding"]
    carrier.set_payload(inside.decode("ascii", "replace"))
    payload = carrier.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def recipient_of(block: Message) -> ReportedRecipient | None:
    """One recipient's block; None for a block that does not say what was done."""
    action = shown(block, "Action").lower().split(" ")[0]
    if action not in set(Action):
        return None
    status = STATUS.match(shown(block, "Status"))
    return ReportedRecipient(
        action=Action(action),
        status=status[0] if status else "",
        diagnostic=typed(block, "Diagnostic-Code"),
        final_recipient=typed(block, "Final-Recipient"),
        original_recipient=typed(block, "Original-Recipient"),
    )


def typed(block: Message, name: str) -> str:
    """A field such as `rfc822; ana@example.org`, without its type."""
    kind, semicolon, value = shown(block, name).partition(";")
    return value.strip() if semicolon else kind


def shown(block: Message, name: str) -> str:
    return " ".join(one_line(str(block.get(name, ""))).split())[:LONGEST_SHOWN]
