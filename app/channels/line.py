"""One connection to a mail server: lines out, answers in, each within its time. Knows no mail.

Nothing in a fault's words comes from a secret: what the server says is cleared of what was sent to sign in.
"""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass

from app.channels.message import one_line
from app.clock import monotonic

LONGEST_ANSWER = 65_536  # Octets of one answer, all of its lines: more is no answer, and would fill the memory.
LONGEST_SHOWN = 500  # Characters of an answer that are kept.
ONE_READ = 4096  # Octets.
ANSWER = re.compile(rb"([2-5][0-9][0-9])(?:([ -])(.*))?\r?", re.DOTALL)
ENHANCED = re.compile(r"([245])\.(\d{1,3})\.(\d{1,3})\b")  # RFC 3463.


class LineFault(Exception):
    """The connection failed, or what came was no answer. The text says which; nothing was accepted by it."""


@dataclass(frozen=True)
class Answer:
    """What the server said to one verb."""

    code: int
    words: tuple[str, ...]

    @property
    def is_good(self) -> bool:
        return self.code // 100 == 2

    @property
    def is_refusal(self) -> bool:
        return self.code // 100 in (4, 5)

    @property
    def text(self) -> str:
        return f"{self.code} {' '.join(self.words)}".strip()[:LONGEST_SHOWN]

    @property
    def status(self) -> tuple[int, int] | None:
        """Subject and detail of the enhanced status code, if there is one: (7, 1) of 5.7.1."""
        found = ENHANCED.match(self.words[0]) if self.words else None
        return (int(found[2]), int(found[3])) if found else None


class Line:
    """An open connection. Every fault is a LineFault; after one, the line is of no more use."""

    def __init__(self, host: str, port: int, within: float, context: ssl.SSLContext | None = None) -> None:
        self.host, self.within = host, within
        self.secrets: tuple[str, ...] = ()
        self.waiting = b""
        with faults_in_words(f"could not connect to {host}, port {port}"):
            self.socket = socket.create_connection((host, port), timeout=within)
        try:
            # Without it the lone dot waits 40 ms for a delayed ACK.
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if context is not None:
                self.secure(context)
        except BaseException:
            self.drop()
            raise

    def secure(self, context: ssl.SSLContext) -> None:
        """Go on under TLS, with a certificate for this very host."""
        if self.waiting:
            raise LineFault("the mail server, or somebody in between, spoke before TLS began")
        with faults_in_words("TLS could not be set up"):
            self.socket = context.wrap_socket(self.socket, server_hostname=self.host)

    @property
    def is_secure(self) -> bool:
        return isinstance(self.socket, ssl.SSLSocket)

    def ask(self, command: str) -> Answer:
        """One verb, and the answer to it."""
        if "\r" in command or "\n" in command:
            raise LineFault("a command with a line end was not sent")
        self.write(f"{command}\r\n".encode())
        return self.answer()

    def write(self, octets: bytes) -> None:
        with faults_in_words("the connection was lost"):
            self.socket.settimeout(self.within)
            self.socket.sendall(octets)

    def spoke_out_of_turn(self) -> bool:
        """Whether the other side has said something, or gone away, while it was our turn. Waits for nothing."""
        try:
            self.socket.settimeout(0)
            self.waiting += self.socket.recv(ONE_READ)
        except (BlockingIOError, ssl.SSLWantReadError):  # Under TLS octets may come that say nothing.
            return bool(self.waiting)
        except (OSError, ValueError):
            pass
        return True

    def answer(self, within: float | None = None) -> Answer:
        """The next answer, whole, within this many seconds in all, however slowly it trickles in."""
        until, codes, words, size = monotonic() + (within or self.within), set(), [], 0
        while True:
            line = self.line(until)
            size += len(line)
            found = ANSWER.fullmatch(line)
            if found is None or size > LONGEST_ANSWER:
                raise LineFault(f"the mail server gave no answer that SMTP knows: {self.cleared(line)[:80]!r}")
            codes.add(int(found[1]))
            words.append(self.cleared(found[3] or b""))
            if found[2] != b"-":
                break
        if len(codes) > 1:
            raise LineFault(f"the mail server gave two answers at once: {sorted(codes)}")
        return Answer(codes.pop(), tuple(words))

    def line(self, until: float) -> bytes:
        """One line without its newline. Raises LineFault at the end of the connection, of the time, or of patience."""
        while b"\n" not in self.waiting:
            left = until - monotonic()
            if left <= 0:
                raise LineFault("the mail server did not answer in time")
            with faults_in_words("the connection was lost"):
                self.socket.settimeout(left)
                more = self.socket.recv(ONE_READ)
            if not more:
                raise LineFault("the mail server closed the connection")
            self.waiting += more
            if len(self.waiting) > LONGEST_ANSWER:
                raise LineFault("the mail server gave an answer without an end")
        line, _, self.waiting = self.waiting.partition(b"\n")
        return line

    def cleared(self, words: bytes) -> str:
        """What the server said, printable, without what was sent to sign in, should it repeat that."""
        shown = one_line(words.decode("utf-8", "replace"))
        for secret in self.secrets:
            shown = shown.replace(secret, "…")
        return shown

    def drop(self) -> None:
        """Cut the connection; whoever reads it in another thread is woken."""
        with contextlib.suppress(OSError, ValueError):
            self.socket.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError, ValueError):
            self.socket.close()


@contextlib.contextmanager
def faults_in_words(what: str) -> Iterator[None]:
    """Whatever goes wrong with the socket in here is a LineFault that begins with `what`."""
    try:
        yield
    except ssl.SSLCertVerificationError as fault:
        raise LineFault(f"{what}: the certificate is not trusted ({one_line(fault.verify_message)})") from None
    except ssl.SSLError as fault:
        raise LineFault(f"{what}: {fault.reason or 'no TLS'}") from None
    except TimeoutError:
        raise LineFault(f"{what}: no answer in time") from None
    except (OSError, ValueError) as fault:
        raise LineFault(f"{what}: {getattr(fault, 'strerror', None) or type(fault).__name__}") from None
