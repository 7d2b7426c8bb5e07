"""P3: each guard that is taken away is seen from the outside. What cannot be seen to fail proves nothing.

Every scene is played by Onus as it is, which keeps the promise, and at the same time by a mutant, which breaks it.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from app.domain.delivery import Resolution
from app.ledger import doubts as ledger
from app.operations import doubts
from app.operations.rule_contents import RuleText
from tests.chaos import mutants
from tests.chaos.invariants import (
    Broken,
    Evidence,
    i1_one_message_a_row,
    i2_delivered_is_accepted,
    i10_one_message_a_person,
)
from tests.chaos.scene import Scene, now, settle, until
from tests.chaos.workers import Worker
from tests.factories import Acme

pytestmark = pytest.mark.real_commits

BY_MAIL = RuleText("Permits", thresholds=("30d",), channels=("email",), to=("owner",))
MANY = 10  # Alerts that are due at once.
TRIES = 3  # Once in ten seconds the server writes its log by itself; then there is nothing to forget.


class Play:
    """One organisation with e-mails to one person, and its workers, all of them mutants or none."""

    def __init__(self, scene: Scene, name: str, mutant: str | None, entries: int = 1) -> None:
        self.scene, self.mutant = scene, mutant
        self.acme: Acme = scene.organisation(
            f"{name}-{'mutant' if mutant else 'right'}".replace("_", "-"), entries, BY_MAIL
        )
        self.address = f"bruno@{scene.names[self.acme.org]}.example"

    def worker(self, failpoints: str) -> Worker:
        return self.scene.worker(only=self.acme.org, failpoints=failpoints, once=True, mutant=self.mutant)

    def stopped(self, failpoints: str) -> Worker:
        worker = self.worker(failpoints)
        until(lambda: worker.is_stopped or worker.is_gone, f"the stop at {failpoints}")
        assert worker.is_stopped, worker.said
        return worker

    def killed(self, failpoints: str) -> None:
        worker = self.worker(failpoints)
        assert worker.ended() == -signal.SIGKILL, worker.said

    def go_on(self, worker: Worker) -> None:
        """To the end of what it was doing."""
        worker.signal(signal.SIGCONT)
        assert worker.ended() == 0, worker.said

    def settle(self) -> None:
        settle(self.scene, self.acme, mutant=self.mutant)

    def states(self) -> dict[str, int]:
        return self.scene.states(self.acme)

    def evidence(self) -> Evidence:
        return self.scene.evidence(self.acme)


def overtaken(play: Play) -> None:
    """A worker sleeps before the hand-over; another does the work; it wakes."""
    sleeper = play.stopped("mail_before_hand:stop")
    play.settle()
    assert play.states() == {"delivered": 1}
    play.go_on(sleeper)
    assert len(play.evidence().accepted) == (2 if play.mutant else 1)


def given_back_by_another(play: Play) -> None:
    """Two sleep, one before its hand-over and one after; what the first gives back is the second's."""
    first = play.stopped("mail_before_hand:stop")
    second = play.stopped("mail_after_hand:stop")
    play.go_on(first)
    play.settle()
    play.go_on(second)
    assert len(play.evidence().accepted) == (2 if play.mutant else 1)


def abandoned(play: Play) -> None:
    """A worker is killed when the message was accepted, before that is on record."""
    play.killed("mail_reply:kill")
    play.settle()
    assert play.states() == ({"delivered": 1} if play.mutant else {"in_doubt": 1})


def silent_server(play: Play) -> None:
    """The server accepts the message, and hangs up without a word."""
    others = {play.address.replace(*words) for words in (("mutant", "right"), ("right", "mutant"))}  # The same script.
    play.scene.mail.play({"to": {address: {"DOT": ["drop after", "ok"]} for address in sorted(others)}})
    worker = play.scene.worker(only=play.acme.org, mutant=play.mutant)
    until(lambda: play.scene.pass_time([play.acme.org]) or play.scene.is_settled(play.acme), "calm")
    worker.ask_to_stop()
    assert worker.ended() == 0, worker.said
    assert play.states() == ({"delivered": 1} if play.mutant else {"in_doubt": 1})


def sent_again(play: Play) -> None:
    """An officer has a message in doubt sent again; it had been accepted."""
    play.killed("mail_reply:kill")
    settle(play.scene, play.acme)
    (delivery,) = (row.id for row in play.evidence().mails())
    with pytest.MonkeyPatch.context() as patch, play.scene.app.app_context():
        for statement in ("RESOLVE_IN_PLACE", "RESEND"):
            patch.setattr(ledger, statement, getattr(ledger, statement))  # So that it is as before when this ends.
        mutants.apply(play.mutant)
        with play.acme.acting(now()) as act:
            assert doubts.resolve(act, delivery, Resolution.resend) == [delivery]
    play.settle()
    assert len(play.evidence().accepted) == 2
    assert play.states() == ({"delivered": 1} if play.mutant else {"in_doubt": 1, "delivered": 1})


def many_at_once(play: Play) -> None:
    """Many alerts are due for one person at once."""
    play.settle()
    assert play.states() == {"delivered": MANY}
    assert len(play.evidence().accepted) == (MANY if play.mutant else 1)


def both(name: str, scene: Scene, scenario: Callable[[Play], Any], entries: int = 1) -> tuple[Evidence, Evidence]:
    """What the scene comes to, rightly and by the mutant; the two are played at once."""

    def played(mutant: str | None) -> Evidence:
        play = Play(scene, name, mutant, entries)
        scenario(play)
        return play.evidence()

    with ThreadPoolExecutor(2) as pool:
        right, wrong = pool.map(played, (None, name))
    return right, wrong


@pytest.mark.parametrize(
    ("mutant", "scenario"),
    [
        ("no_fence_at_hand_over", overtaken),
        ("no_fence_at_settling", given_back_by_another),
        ("sweep_to_pending", abandoned),
        ("silence_is_retry", silent_server),
    ],
)
def test_p3_i1_sees_a_second_message(scene: Scene, mutant: str, scenario: Callable[[Play], None]) -> None:
    right, wrong = both(mutant, scene, scenario)
    i1_one_message_a_row(right)
    with pytest.raises(Broken, match="I1: a delivery row is in two accepted messages"):
        i1_one_message_a_row(wrong)


def test_p2_p3_i1_sees_a_resend_in_the_same_row(scene: Scene) -> None:
    for mutant in (None, "resend_in_the_same_row"):  # In this process, one after the other.
        play = Play(scene, "resend", mutant)
        sent_again(play)
        if mutant is None:
            i1_one_message_a_row(play.evidence())
        else:
            with pytest.raises(Broken, match="I1: a delivery row is in two accepted messages"):
                i1_one_message_a_row(play.evidence())


def test_p3_i10_sees_many_messages_to_one_person(scene: Scene) -> None:
    right, wrong = both("lease_by_row", scene, many_at_once, MANY)
    i10_one_message_a_person(right)
    with pytest.raises(Broken, match="I10"):
        i10_one_message_a_person(wrong)


def test_p3_i2_sees_a_hand_over_that_a_crash_forgets(scene: Scene) -> None:
    """The server is told to forget, and only the hand-over's own word keeps it. Without it a second message leaves."""
    for attempt in range(TRIES):
        right, wrong = (Play(scene, f"crash-{attempt}", mutant) for mutant in (None, "asynchronous_hand_over"))
        crash_after_acceptance(scene, right, wrong)
        assert right.states() == {"handing_over": 1}
        if wrong.states() == {"leased": 1}:
            break
    assert wrong.states() == {"leased": 1}, "the mutant's hand-over was not forgotten"
    for play in (right, wrong):
        play.settle()
    assert (right.states(), wrong.states()) == ({"in_doubt": 1}, {"delivered": 1})
    assert (len(right.evidence().accepted), len(wrong.evidence().accepted)) == (1, 2)
    i2_delivered_is_accepted(right.evidence())
    with pytest.raises(Broken, match="I2: the server accepted what the database never handed over"):
        i2_delivered_is_accepted(wrong.evidence())


def crash_after_acceptance(scene: Scene, *plays: Play) -> None:
    """Killed once the answer was read; then the database crashes, too. Everything up to the lease is on disk.

    The mutant comes last, since whatever is made durable takes along what was committed before it.
    """
    workers = [play.stopped("mail_before_hand:stop,mail_reply:kill") for play in plays]
    scene.write_down()
    for worker in workers:
        worker.signal(signal.SIGCONT)
        assert worker.ended() == -signal.SIGKILL, worker.said
    scene.cluster.crash()
