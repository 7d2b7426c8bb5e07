"""The mail server from the outside: what it has accepted, for which delivery rows, and which faults it has made.

It runs in a process of its own, which chaos never touches: its log is the one witness of what was accepted.
"""

from __future__ import annotations

import contextlib
import email
import email.policy
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from app.channels.returns import read_return
from app.config import Settings
from tests.chaos.smtp_server import ROOT, Running


@dataclass(frozen=True)
class Accepted:
    """One message that the server has taken. Organisation and token come from its signed return address."""

    org: int
    token: UUID
    message_id: str
    recipient: str
    sha256: str
    raw: str

    @property
    def text(self) -> str:
        """What a person reads of it, in both forms, and its subject."""
        found = email.message_from_string(self.raw, policy=email.policy.default)
        parts = [part.get_content() for part in found.walk() if not part.is_multipart()]
        return "\n".join([found["subject"], *parts])


class MailServer(Running):
    """The server, from the outside."""

    def accepted(self, settings: Settings) -> list[Accepted]:
        return [
            Accepted(
                *signed,
                message_id=event["message_id"],
                recipient=recipient,
                sha256=event["sha256"],
                raw=event["raw"],
            )
            for event in self.events("message")
            for recipient in event["rcpts"]
            if (signed := read_return(settings, event["sender"])) is not None
        ]

    def unsigned(self, settings: Settings) -> int:
        """How many messages have a return address that Onus did not sign: none should."""
        return sum(read_return(settings, event["sender"]) is None for event in self.events("message"))

    def faults(self) -> Counter[tuple[str, str]]:
        """How often each deed was done at each point."""
        return Counter((event["point"], event["deed"]) for event in self.log_events("fault"))

    def log_events(self, name: str) -> list[dict[str, str]]:
        return [event for event in self.events() if event["event"] == name]


@contextlib.contextmanager
def mail_server(folder: Path) -> Iterator[MailServer]:
    """A server of its own in `folder`, until the block ends."""
    folder.mkdir(parents=True, exist_ok=True)
    server = MailServer(0, folder / "smtp.jsonl", folder / "script.json", forgotten=-1)
    server.log.touch()
    server.play({})
    command = [sys.executable, "-m", "tests.chaos.noting", "--log", str(server.log), "--script", str(server.script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True) as started:
        try:
            assert started.stdout is not None
            server.port = int(started.stdout.readline())
            yield server
        finally:
            started.kill()
