"""`file:`: a message written to ONUS_HOME/outbox instead of leaving this host. For trying Onus, and for the demo.

It keeps the order of the real thing: the whole file under another name, then the mark, then the name that counts.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable
from itertools import count
from pathlib import Path
from threading import get_ident

from app.channels.message import Composed, silent
from app.domain.delivery import Outcome, Reply

WRITTEN = "written to the file {name} in ONUS_HOME/outbox; it did not leave this host"
WRITTEN_WITHIN = 30.0  # seconds that a disk may take.
UNWRITTEN = "ONUS_HOME/outbox cannot be written: {reason}"
NOT_OURS = "nothing was written: the message is no longer this worker's to send"


class OutboxChannel:
    """The folder of messages. Any number of workers may write into it at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def send(self, composed: Composed, mark: Callable[[], bool], passed: Callable[[str], None] = silent) -> Reply:
        """See Channel.send; a file that has its name counts as delivered, and the answer says what that means."""
        try:
            draft = self._drafted(composed)
        except OSError as fault:
            return Reply(Outcome.transport, "file", UNWRITTEN.format(reason=fault.strerror))
        try:
            passed("connected")
            passed("body")
            if not mark():
                return Reply(Outcome.lost_lease, "mark", NOT_OURS)
            passed("after_hand")
            reply = self._released(draft, composed)
            passed("after_dot")
            passed("reply")
            return reply
        finally:
            draft.unlink(missing_ok=True)

    @property
    def answer_within(self) -> float:
        return WRITTEN_WITHIN

    def ready(self) -> Reply | None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            return Reply(Outcome.transport, "file", UNWRITTEN.format(reason=fault.strerror))
        return None

    def close(self) -> None:
        """Nothing is kept open."""

    def drop(self) -> None:
        """Nothing is kept open."""

    def _drafted(self, composed: Composed) -> Path:
        """The whole message on the disk, under a name that nobody takes for a message."""
        self.folder.mkdir(parents=True, exist_ok=True)
        draft = self.folder / f".{os.getpid()}-{get_ident()}-{composed.sha256[:16]}.part"
        try:
            with draft.open("wb") as file:
                file.write(composed.wire)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        return draft

    def _released(self, draft: Path, composed: Composed) -> Reply:
        """The name by which it counts: by time, and never one that is taken."""
        stem = f"{composed.sent_at.astimezone(dt.UTC):%Y%m%dT%H%M%SZ}-{composed.sha256[:12]}"
        for number in count(1):
            name = f"{stem}.eml" if number == 1 else f"{stem}-{number}.eml"
            try:
                os.link(draft, self.folder / name)
                break
            except FileExistsError:
                continue
            except OSError as fault:
                return Reply(Outcome.transport, "file", UNWRITTEN.format(reason=fault.strerror))
        try:
            kept_on_disk(self.folder)
        except OSError as fault:
            return Reply(
                Outcome.in_doubt, "file", f"the file {name} may be lost when the power fails: {fault.strerror}"
            )
        return Reply(Outcome.delivered, "file", WRITTEN.format(name=name))


def kept_on_disk(folder: Path) -> None:
    """The names in a folder survive a loss of power only after this."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
