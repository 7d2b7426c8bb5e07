"""P3: the command `onus scheduler`, killed with an answer in its hand, and asked to stop while it waits for one."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos import invariants
from tests.chaos.scene import MAIL_FROM, Scene, until
from tests.scheduler.conftest import Onus

pytestmark = pytest.mark.real_commits

WHY = "select distinct reason from delivery where channel = 'email' and state = 'in_doubt' order by 1"


@pytest.fixture
def onus(scene: Scene, tmp_path: Path) -> Iterator[Onus]:
    """The command on the scene's database and mail server; no process outlives the test."""
    onus = Onus(
        tmp_path / "home",
        ONUS_DATABASE_URL=str(scene.settings.database_url),
        ONUS_SECRET_KEY=str(scene.settings.secret_key),
        ONUS_MAIL_FROM=MAIL_FROM,
        ONUS_SMTP_URL=scene.smtp_url(verb=5, reply=60),
        ONUS_LEASE="1.5",
        ONUS_SCAN_EVERY="0.5",
        ONUS_DELIVER_EVERY="0.2",
    )
    try:
        yield onus
    finally:
        onus.close()


def test_p3_killed_or_asked_to_stop_each_message_is_a_doubt_and_sent_once(scene: Scene, onus: Onus) -> None:
    acme = scene.organisation("real")
    killed = onus.start("scheduler", ONUS_FAILPOINTS="mail_reply:kill").ended()
    assert killed.code == -signal.SIGKILL, killed.err

    scene.mail.play({"DOT": ["stall after"]})  # Accepted, and never answered.
    hanging = onus.start("scheduler")
    until(lambda: len(scene.mail.events("message")) == 3 or hanging.gone(), "a message to each of the three")
    stopped = hanging.stopped()
    assert stopped.code == 0, stopped.err
    assert ("stopped",) in scene.rows(WHY)

    scene.mail.play({})
    clean = onus.start("scheduler")
    clean.until_ticks(1)
    until(lambda: scene.is_settled(acme), "calm")
    assert clean.stopped().code == 0
    assert scene.rows(WHY) == [("abandoned",), ("stopped",)]
    assert set(scene.states(acme)) == {"in_doubt"}
    assert len(scene.mail.events("message")) == 3
    invariants.check(scene.evidence(acme))
    scene.final_scan(acme)
