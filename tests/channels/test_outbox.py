"""`file:`: whole files, a mark before the name, and an answer that says what happened."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.channels import outbox
from app.channels.outbox import OutboxChannel
from app.domain.delivery import Outcome
from tests.channels.letters import composed


class Broken(OSError):
    """What a mark raises; a fault of the system's kind, so that the channel may not mistake it for its own."""


def yes() -> bool:
    return True


@pytest.fixture
def channel(tmp_path: Path) -> OutboxChannel:
    return OutboxChannel(tmp_path / "outbox")


def files(channel: OutboxChannel) -> list[str]:
    return sorted(path.name for path in channel.folder.iterdir())


def test_a_message_is_written_and_said_to_be_no_more_than_that(channel: OutboxChannel) -> None:
    message, points, before = composed(), [], []
    reply = channel.send(
        message, lambda: before.extend(files(channel)) is None and points.append("mark") is None, points.append
    )
    (name,) = files(channel)
    assert (reply.outcome, reply.verb) == (Outcome.delivered, "file")
    assert reply.text == f"written to the file {name} in ONUS_HOME/outbox; it did not leave this host"
    assert (channel.folder / name).read_bytes() == message.wire
    assert name.startswith("20270305T070004Z-")
    assert points == ["connected", "body", "mark", "after_hand", "after_dot", "reply"]
    assert [name.endswith(".part") for name in before] == [True]
    channel.close()
    channel.drop()


def test_a_name_is_never_taken_twice(channel: OutboxChannel) -> None:
    for _ in range(3):
        assert channel.send(composed(), yes).outcome is Outcome.delivered
    stem = files(channel)[0].partition(".")[0].removesuffix("-2")
    assert set(files(channel)) == {f"{stem}.eml", f"{stem}-2.eml", f"{stem}-3.eml"}


def test_many_workers_may_write_at_once(channel: OutboxChannel) -> None:
    with ThreadPoolExecutor(8) as workers:
        replies = list(workers.map(lambda _: OutboxChannel(channel.folder).send(composed(), yes), range(40)))
    assert {reply.outcome for reply in replies} == {Outcome.delivered}
    assert len(files(channel)) == 40
    assert {(channel.folder / name).read_bytes() for name in files(channel)} == {composed().wire}


def test_a_lost_lease_leaves_no_file(channel: OutboxChannel) -> None:
    assert channel.send(composed(), lambda: False).outcome is Outcome.lost_lease
    assert files(channel) == []


@pytest.mark.parametrize("at", ["mark", "connected", "body", "after_hand"])
def test_a_fault_before_the_name_goes_on_and_leaves_no_file(at: str, channel: OutboxChannel) -> None:
    def breaks(point: str) -> bool:
        if point == at:
            raise Broken(point)
        return True

    with pytest.raises(Broken):
        channel.send(composed(), lambda: breaks("mark"), breaks)  # type: ignore[arg-type]
    assert files(channel) == []


def test_a_folder_that_cannot_be_made_is_the_transports(tmp_path: Path) -> None:
    (tmp_path / "outbox").write_text("a file is in the way")
    channel = OutboxChannel(tmp_path / "outbox")
    marked: list[int] = []
    reply = channel.send(composed(), lambda: marked.append(1) is None)
    assert (reply.outcome, reply.verb, marked) == (Outcome.transport, "file", [])
    ready = channel.ready()
    assert ready is not None
    assert ready.outcome is Outcome.transport
    assert ready.text == reply.text == "ONUS_HOME/outbox cannot be written: File exists"


@pytest.mark.parametrize(("call", "outcome"), [("link", Outcome.transport), ("open", Outcome.in_doubt)])
def test_a_disk_that_fails_after_the_mark_is_told_as_it_is(
    call: str, outcome: Outcome, channel: OutboxChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its name it is no message; with a name that may be lost it is a doubt."""

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    def marks() -> bool:
        monkeypatch.setattr(outbox.os, call, fails)
        return True

    reply = channel.send(composed(), marks)
    monkeypatch.undo()
    assert reply.outcome is outcome
    assert "No space left on device" in reply.text
    assert len(os.listdir(channel.folder)) == (call == "open")
