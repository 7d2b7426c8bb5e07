"""A message over SMTP, verb by verb, so that the durable mark falls between the body and the final dot (P3).

One recipient a transaction. Before the mark nothing can have been accepted; after it only the server's answer decides,
and no answer is `in_doubt`, never a retry. The session is kept, and is asked whether it lives before it is trusted.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator

from app.channels.line import Answer, LineFault
from app.channels.message import Composed, silent
from app.channels.refusals import outcome_of
from app.channels.session import Session, SessionFault, open_session
from app.config import MailServer
from app.domain.delivery import Outcome, Reply

CLOSING = 421  # After it the server closes: there is nobody left to say QUIT to.
QUIT_WITHIN = 5.0  # seconds: stopping waits for nothing longer.
NO_UTF8 = "the mail server takes no address outside ASCII (SMTPUTF8), so this one cannot be reached through it"
NOT_OURS = "nothing was sent: the message is no longer this worker's to send"


class SmtpChannel:
    """The line to one mail server. Belongs to one thread; `drop` may be called from another."""

    def __init__(self, server: MailServer) -> None:
        self.server = server
        self.session: Session | None = None

    def send(self, composed: Composed, mark: Callable[[], bool], passed: Callable[[str], None] = silent) -> Reply:
        """See Channel.send.

        1. Everything up to the body, with nothing accepted. 2. The mark: lost or unknown, the line is cut. 3. The dot.
        4. The answer.
        """
        try:
            refusal = self._offer(composed, passed)
            if refusal is not None:
                return refusal
            if not mark():
                self.drop()
                return Reply(Outcome.lost_lease, "mark", NOT_OURS)
            passed("after_hand")
            return self._release(self._unbroken("dot"), passed)
        except SessionFault as fault:
            self.drop()
            return Reply(Outcome.transport, fault.verb, str(fault))
        except BaseException:
            self.drop()
            raise

    @property
    def answer_within(self) -> float:
        return self.server.reply_within

    def ready(self) -> Reply | None:
        try:
            self._living()
        except SessionFault as fault:
            return Reply(Outcome.transport, fault.verb, str(fault))
        return None

    def close(self) -> None:
        session = self.session
        if session is not None:
            session.line.within = min(session.line.within, QUIT_WITHIN)
            with contextlib.suppress(LineFault):
                session.line.ask("QUIT")
        self.drop()

    def drop(self) -> None:
        session, self.session = self.session, None
        if session is not None:
            session.line.drop()

    def _offer(self, composed: Composed, passed: Callable[[str], None]) -> Reply | None:
        """MAIL, RCPT, DATA and the body. A Reply if the server refuses one of them; raises SessionFault."""
        session = self._living()
        passed("connected")
        if composed.needs_utf8 and "SMTPUTF8" not in session.offers:
            return Reply(Outcome.failed, "mail", NO_UTF8)
        session, answer = self._mail(session, composed)
        for verb, command, good in (
            ("mail", "", 2),
            ("rcpt", f"RCPT TO:<{composed.recipient}>", 2),
            ("data", "DATA", 3),
        ):
            answer = asked(session, verb, command) if command else answer
            if answer.is_refusal:
                return self._refused(session, verb, answer)
            if answer.code // 100 != good:
                raise SessionFault(verb, f"the mail server gave an answer out of turn: {answer.text}")
            passed(verb)
        with blaming("body"):
            session.line.write(dot_stuffed(composed.wire))
        self._unbroken("body")
        passed("body")
        return None

    def _unbroken(self, verb: str) -> Session:
        """The session; raises SessionFault rather than have the dot written into a line that is gone, for a doubt."""
        if self.session is None or self.session.line.spoke_out_of_turn():
            raise SessionFault(verb, "the connection ended in the middle of the message")
        return self.session

    def _release(self, session: Session, passed: Callable[[str], None]) -> Reply:
        """The final dot and the answer to it. From here on a fault of the line is no outcome."""
        try:
            session.line.write(b".\r\n")
            passed("after_dot")
            answer = session.line.answer(self.server.reply_within)
        except LineFault as fault:
            self.drop()
            return Reply(Outcome.in_doubt, "dot", f"no answer to the whole message: {fault}")
        passed("reply")
        session.carried += 1
        if answer.is_good:
            return Reply(Outcome.delivered, "dot", answer.text)
        if answer.is_refusal:
            return self._refused(session, "dot", answer)
        self.drop()
        return Reply(Outcome.in_doubt, "dot", f"no answer to the whole message: {answer.text}")

    def _living(self) -> Session:
        """The kept session if it still answers, else a new one: that the old one has ended burns no try."""
        if self.session is not None:
            with contextlib.suppress(LineFault):
                if self.session.line.ask("NOOP").is_good:
                    return self.session
            self.drop()
        self.session = open_session(self.server)
        return self.session

    def _mail(self, session: Session, composed: Composed) -> tuple[Session, Answer]:
        """MAIL. A session that has carried mail may have had enough of it; then a new one is asked, once."""
        command = f"MAIL FROM:<{composed.return_address}>"
        command += " SMTPUTF8 BODY=8BITMIME" if composed.needs_utf8 else ""
        if session.carried:
            with contextlib.suppress(SessionFault):
                answer = asked(session, "mail", command)
                if answer.code // 100 != 4:
                    return session, answer
            self.close()
            session = self._living()
        return session, asked(session, "mail", command)

    def _refused(self, session: Session, verb: str, answer: Answer) -> Reply:
        """The outcome of a refusal. The session goes on, unless the server ends it or we are what it refuses."""
        outcome = outcome_of(verb, answer)
        if answer.code == CLOSING:
            self.drop()
        elif outcome is Outcome.transport:
            self.close()
        else:
            try:
                if not session.line.ask("RSET").is_good:
                    self.drop()
            except LineFault:
                self.drop()
        return Reply(outcome, verb, answer.text)


def asked(session: Session, verb: str, command: str) -> Answer:
    with blaming(verb):
        return session.line.ask(command)


@contextlib.contextmanager
def blaming(verb: str) -> Iterator[None]:
    """A fault of the line in here ends this verb."""
    try:
        yield
    except LineFault as fault:
        raise SessionFault(verb, str(fault)) from None


def dot_stuffed(wire: bytes) -> bytes:
    """RFC 5321 section 4.5.2, without the final dot; the lines end with CRLF, the last one, too."""
    return re.sub(rb"(?m)^\.", b"..", wire)
