"""A composed message: its words and its bytes, made once, so that what is kept is what is sent.

Everything here is pure: the same parts give the same bytes. Headers and bodies are ASCII (but for an address that
cannot be), lines end with CRLF and stay within 78 octets where words can be folded, so that no server need change them.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import quopri
import re
from base64 import b64encode
from dataclasses import dataclass
from email.utils import format_datetime

LONGEST_LINE = 76  # Octets, without the line end: RFC 2045 section 6.7 and RFC 2047 section 2.
WORD_BYTES = 39  # Octets of text in one encoded word: 52 in base64, 64 with its frame, 74 after `Reply-To: `.
PLAIN = re.compile(r"(?!.*=\?)[ -~]*")  # What may stand in a header as it is.
# Line ends, other control characters and lone surrogates: none of them has a place in a header or a title.
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


def silent(_point: str) -> None:
    """For whoever does not ask where a hand-over stands."""


@dataclass(frozen=True)
class Composed:
    """One message to one recipient. `recipient` and `return_address` are those of the envelope, with IDNA domains."""

    recipient: str
    return_address: str
    message_id: str
    sent_at: dt.datetime
    subject: str
    text: str
    html: str
    wire: bytes

    @property
    def sha256(self) -> str:
        """The fingerprint of the bytes that are handed over."""
        return hashlib.sha256(self.wire).hexdigest()

    @property
    def needs_utf8(self) -> bool:
        """Whether an address has a local part outside ASCII, which only a server with SMTPUTF8 takes."""
        return not (self.recipient + self.return_address).isascii()


def one_line(text: str) -> str:
    """A title as it may stand in a header or a line: each run of line ends and control characters is one space."""
    return UNPRINTABLE.sub(" ", text).strip()


def some_lines(text: str) -> str:
    """A note as it may stand in a body: its lines stay, and nothing else that cannot be printed."""
    return "\n".join(one_line(line) for line in text.strip().splitlines())


def wire(headers: list[tuple[str, str]], text: str, html: str) -> bytes:
    """The message as it is handed over, before dots are doubled. The headers' values are folded and encoded already.

    The boundary comes from the content, so that it is in neither part and the same letter has the same bytes.
    """
    parts = [("plain", quoted_printable(text)), ("html", quoted_printable(html))]
    boundary = "=_" + hashlib.sha256("".join(body for _, body in parts).encode()).hexdigest()[:32]
    lines = [f"{name}: {value}" for name, value in headers]
    lines += ["MIME-Version: 1.0", f'Content-Type: multipart/alternative;\r\n boundary="{boundary}"', ""]
    for kind, body in parts:
        lines += [f"--{boundary}", f"Content-Type: text/{kind}; charset=utf-8"]
        lines += ["Content-Transfer-Encoding: quoted-printable", "", body]
    return "\r\n".join([*lines, f"--{boundary}--", ""]).encode()


def quoted_printable(text: str) -> str:
    """RFC 2045 section 6.7, with CRLF. Reading it back gives the text, its lines ended by newlines."""
    return quopri.encodestring(text.encode(), quotetabs=False).decode().replace("\n", "\r\n")


def encoded(text: str, name: str) -> str:
    """The value of an unstructured header or a display name: as it is where that is possible, else RFC 2047.

    The words are cut between characters, and the spaces stand inside them, since readers drop those in between.
    """
    if PLAIN.fullmatch(text) and len(name) + 2 + len(text) <= LONGEST_LINE:
        return text
    words: list[bytes] = []
    word = b""
    for char in text.encode("utf-8", "replace").decode():
        if len(word) + len(char.encode()) > WORD_BYTES:
            words, word = [*words, word], b""
        word += char.encode()
    return "\r\n ".join(f"=?utf-8?b?{b64encode(chunk).decode()}?=" for chunk in [*words, word])


def mailbox(name: str, address: str, header: str) -> str:
    """A display name and its address, RFC 5322 section 3.4."""
    if not name:
        return address
    shown = encoded(name, header)
    if shown == name:
        shown = '"' + re.sub(r'(["\\])', r"\\\1", name) + '"'
    return f"{shown}\r\n <{address}>"


def date(instant: dt.datetime) -> str:
    return format_datetime(instant.astimezone(dt.UTC))
