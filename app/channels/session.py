"""A session with the mail server of the settings: greeted, under TLS as required, and signed in.

A password goes out only under TLS, or to this host itself; TLS that is required and not offered is a fault.
"""

from __future__ import annotations

import socket
import ssl
from base64 import b64encode
from dataclasses import dataclass, field

from app.channels.line import Answer, Line, LineFault
from app.config import IMPLICIT, STARTTLS, MailServer


class SessionFault(Exception):
    """No session could be opened: no message is to blame. `verb` is where it ended; the text holds no secret."""

    def __init__(self, verb: str, text: str) -> None:
        super().__init__(text)
        self.verb = verb


@dataclass
class Session:
    """An open session, what its server offers, and how many messages it has carried to their end."""

    line: Line
    offers: dict[str, str] = field(default_factory=dict)
    carried: int = 0


def open_session(server: MailServer) -> Session:
    """Connect, greet, secure and sign in. Raises SessionFault; then the connection is closed."""
    try:
        context = None if server.tls not in (STARTTLS, IMPLICIT) else trusting(server.cafile)
        line = Line(server.host, server.port, server.verb_within, context if server.tls == IMPLICIT else None)
    except LineFault as fault:
        raise SessionFault("connect", str(fault)) from None
    session = Session(line)
    for verb, step in STEPS:
        try:
            step(session, server, context)
        except LineFault as fault:
            line.drop()
            raise SessionFault(verb, str(fault)) from None
    return session


def trusting(cafile: str | None) -> ssl.SSLContext:
    """TLS 1.2 or later, with the authorities of this host, or with those of `cafile` alone."""
    try:
        return ssl.create_default_context(cafile=cafile)
    except (OSError, ssl.SSLError) as fault:
        reason = fault.strerror or type(fault).__name__
        raise LineFault(f"the file of ONUS_SMTP_URL's cafile cannot be used: {reason}") from None


def greeted(session: Session, _server: MailServer, _context: ssl.SSLContext | None) -> None:
    expect(session.line.answer(), "the mail server does not take connections now")


def introduced(session: Session, _server: MailServer, _context: ssl.SSLContext | None) -> None:
    """EHLO, or HELO to a server that does not know it and so offers nothing."""
    name = own_name()
    answer = session.line.ask(f"EHLO {name}")
    if answer.code in (500, 502, 504):
        expect(session.line.ask(f"HELO {name}"), "the mail server refused HELO")
        session.offers = {}
        return
    expect(answer, "the mail server refused EHLO")
    offered = (words.partition(" ") for words in answer.words[1:])
    session.offers = {keyword.upper(): parameters.upper() for keyword, _, parameters in offered}


def secured(session: Session, server: MailServer, context: ssl.SSLContext | None) -> None:
    """STARTTLS where it is required. What was offered in the clear counts for nothing afterwards."""
    if server.tls != STARTTLS or context is None:
        return
    if "STARTTLS" not in session.offers:
        raise LineFault("TLS is required (tls=starttls), and the mail server does not offer STARTTLS")
    expect(session.line.ask("STARTTLS"), "the mail server refused STARTTLS")
    session.line.secure(context)
    introduced(session, server, context)


def signed_in(session: Session, server: MailServer, _context: ssl.SSLContext | None) -> None:
    """AUTH PLAIN, or LOGIN where only that is offered."""
    if server.user is None or server.password is None:
        return
    if not session.line.is_secure and not server.is_loopback:
        raise LineFault("a password is not sent without TLS")
    ways = session.offers.get("AUTH", "").split()
    whole, user, password = map(base64, (f"\0{server.user}\0{server.password}", server.user, server.password))
    session.line.secrets = (whole, password, server.password)
    if "PLAIN" in ways:
        answer = session.line.ask(f"AUTH PLAIN {whole}")
    elif "LOGIN" in ways:
        answer = session.line.ask("AUTH LOGIN")
        for secret in (user, password):
            answer = session.line.ask(secret) if answer.code == 334 else answer
    else:
        raise LineFault("the mail server offers no way of signing in that Onus knows (AUTH PLAIN or LOGIN)")
    expect(answer, "the mail server refused user and password")


def expect(answer: Answer, otherwise: str) -> None:
    if not answer.is_good:
        raise LineFault(f"{otherwise}: {answer.text}")


def base64(text: str) -> str:
    return b64encode(text.encode()).decode()


def own_name() -> str:
    """The name for EHLO: this host's if it has a whole one, else the literal that RFC 5321 section 4.1.4 allows."""
    name = socket.gethostname()
    whole = "." in name and name.isascii() and all(char.isalnum() or char in "-." for char in name)
    return name if whole else "[127.0.0.1]"


STEPS = (("greeting", greeted), ("ehlo", introduced), ("starttls", secured), ("auth", signed_in))
