"""What every way of handing a message over can do, and which of them the settings choose.

A message is composed first (`composing.compose`), so that the ledger can keep its words before anything is sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from app.channels.composing import prepare
from app.channels.message import Composed, silent
from app.channels.outbox import OutboxChannel
from app.channels.smtp import SmtpChannel
from app.config import Outbox, Settings
from app.domain.delivery import Reply


class Channel(Protocol):
    """One line to whatever takes messages; it belongs to one thread. Only `drop` may be called from another one."""

    def send(self, composed: Composed, mark: Callable[[], bool], passed: Callable[[str], None] = silent, /) -> Reply:
        """Hand one message to one recipient, and say what came of it. Never raises for what the other side does.

        `mark` is called once, when the whole body has been sent and nothing can have been accepted yet. It records the
        hand-over durably; only if it returns True is the message released. If it returns False (the lease is lost) or
        raises (the exception goes on to the caller), the line is dropped and nothing has been accepted.

        `passed` is told, in this order, of: connected, mail, rcpt, data, body, [mark], after_hand, after_dot, reply. If
        it raises, the line is dropped and the exception goes on; from after_dot on the message may have left.
        """

    def ready(self) -> Reply | None:
        """Open the line, or see that the kept one still answers. None if it may be used, else the transport's fault.

        Asked before anything is leased for the line, so that a mail server that is down burns no try.
        """

    @property
    def answer_within(self) -> float:
        """Seconds that the answer to a whole message may take."""

    def close(self) -> None:
        """End the line politely, within a few seconds. Sending again opens a new one."""

    def drop(self) -> None:
        """Cut the line without a word. A send that waits on it ends at once: before the dot as `transport`, after it
        as `in_doubt`."""


def open_channel(settings: Settings) -> Channel | None:
    """The channel of ONUS_SMTP_URL; None while that is unset. Opens no connection yet: the first message does.

    Raises Misconfigured for a setting, and at once for templates or translations that are missing or broken.
    """
    route = settings.mail_route()
    if route is None:
        return None
    prepare()
    return OutboxChannel(route.folder) if isinstance(route, Outbox) else SmtpChannel(route)
