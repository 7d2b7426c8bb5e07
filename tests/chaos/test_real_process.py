"""P3: the command `onus scheduler`, killed with an answer in its hand, and asked to stop while it waits for one."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos import invariants
from tests.chaos.cluster import Cluster
from tests.chaos.scene import MAIL_FROM, Scene, until
from tests.scheduler.conftest import Onus, free_port, health

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


def test_h23_the_database_restarts_under_the_loop_and_nothing_else_does(
    scene: Scene, cluster: Cluster, onus: Onus
) -> None:
    """The same process goes on, each message leaves once, and the web says 503 meanwhile and 200 after."""
    scheduler = onus.start("scheduler", ONUS_DELIVER_EVERY="5")  # So that messages wait when the server goes.
    port = free_port()
    onus.start("web", "--port", str(port), "--workers", "1")
    scheduler.until_ticks(1)
    until(lambda: health(port)[0] == 200, "health")
    acme = scene.organisation("restarted")
    until(lambda: scene.states(acme), "messages that wait")
    scene.write_down()
    with cluster.away():
        until(lambda: health(port)[0] == 503, "the web's word")
        assert "the database cannot be reached" in str(health(port)[1])
    until(lambda: scene.is_settled(acme), "calm")
    until(lambda: health(port)[0] == 200, "health again")
    assert set(scene.states(acme)) == {"delivered"}
    assert len(scene.mail.events("message")) == 3
    assert scheduler.stopped().code == 0
    invariants.check(scene.evidence(acme))
