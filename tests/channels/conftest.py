"""One scripted mail server for these tests, in a process of its own; and the channels that talk to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from app.channels.smtp import SmtpChannel
from app.config import mail_server
from tests.channels.certificates import Certificates
from tests.chaos.smtp_server import Running, running

PATIENT = "verb=10&reply=10"  # Seconds: longer than any machine is busy.
QUICK = "verb=0.25&reply=0.25"  # Nobody waits for a server that was told to say nothing.
HANGS = ("stall", "trickle", "slow")  # The deeds that are over only when the client has had enough.

Opening = Callable[..., SmtpChannel]


@pytest.fixture(scope="session")
def mail_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("mail")) as server:
        yield server


@pytest.fixture
def server(mail_process: Running) -> Running:
    """The server, good again, with nothing taken."""
    mail_process.play({})
    mail_process.forget()
    return mail_process


@pytest.fixture
def opened(server: Running) -> Iterator[Opening]:
    """Channels to the server, cut at the end: by the options of the URL, the user and the host."""
    channels: list[SmtpChannel] = []

    def open_one(options: str = PATIENT, user: str = "", host: str = "127.0.0.1") -> SmtpChannel:
        channels.append(SmtpChannel(mail_server(f"smtp://{user}{host}:{server.port}?{options}")))
        return channels[-1]

    yield open_one
    for channel in channels:
        channel.drop()


@pytest.fixture
def channel(opened: Opening) -> SmtpChannel:
    return opened()


def fitting(deed: str) -> str:
    """The options for a channel that meets this deed."""
    return QUICK if deed.startswith(HANGS) else PATIENT


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.made(tmp_path_factory.mktemp("certificates"))
