"""P3, P4: killed or stopped at every named point of the watch, one by one, as RELIABILITY's crash table says.

Each cell is an organisation of its own. A worker is armed with one point; what it leaves behind is for a clean one. All
cells run in one cluster, some at once. The last word is what the mail server has accepted.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from app.failpoints import POINTS
from tests.chaos import invariants
from tests.chaos.scene import Scene, hits_of, settle, until
from tests.factories import Acme

pytestmark = pytest.mark.real_commits

AT_ONCE = 8  # Cells; most of their time they wait for a lease to run out.
PACE = {"lease": 1.5, "deliver_every": 0.4}  # Seconds.

# Where a message may have left: what the mail server may have accepted of it, and that is a doubt for a person.
DOUBT_AFTER_A_KILL = {
    "mail_commit_sent": {0},
    "mail_after_hand": {0},
    "mail_after_dot": {0, 1},
    "mail_reply": {1},
}
GIVEN_BACK, LATE = (
    ["delivery_in_doubt", "delivery_given_back", "handed_over", "delivered"],
    ["delivery_in_doubt", "delivered"],
)
AFTER_A_STOP = {
    "mail_commit_sent": GIVEN_BACK,  # It has not written the dot, and knows that it stood still for too long.
    "mail_after_hand": LATE,
    "mail_after_dot": LATE,
    "mail_reply": LATE,
}


@dataclass(frozen=True)
class Cell:
    point: str
    deed: str

    @property
    def slug(self) -> str:
        return f"{self.point}-{self.deed}".replace("_", "-")


CELLS = [Cell(point, deed) for deed in ("stop", "kill") for point in POINTS] + [Cell("mail_commit_sent", "raise")]


def play(scene: Scene, cell: Cell) -> Acme:
    """One disturbed delivery, until all is calm."""
    acme = scene.organisation(cell.slug)
    armed = scene.worker(only=acme.org, failpoints=f"{cell.point}:{cell.deed}", once=True, **PACE)
    until(lambda: armed.is_gone or armed.is_stopped, f"{cell}: the hit")
    if cell.deed == "stop":
        assert armed.is_stopped, f"{cell} was never met: {armed.said}"
        clean = scene.worker(only=acme.org, **PACE)
        until(lambda: scene.is_settled(acme) or scene.is_waiting(acme), f"{cell}: what another does meanwhile")
        armed.signal(signal.SIGCONT)
        clean.ask_to_stop()
        assert clean.ended() == 0, clean.said
    assert armed.ended() == (-signal.SIGKILL if cell.deed == "kill" else 0), armed.said
    assert hits_of(armed, cell.point) == 1, f"{cell} was never met"
    settle(scene, acme, f"{cell}: calm", **PACE)
    return acme


def judge(scene: Scene, cell: Cell, acme: Acme) -> None:
    evidence = scene.evidence(acme)
    invariants.check(evidence)
    scene.final_scan(acme)
    may_be_accepted = DOUBT_AFTER_A_KILL.get(cell.point, set()) if cell.deed == "kill" else set()
    doubts = {row.token for row in evidence.mails() if row.state == "in_doubt"}
    assert len(doubts) == (1 if may_be_accepted else 0), f"{cell}: {len(doubts)} messages in doubt"
    accepted = {one.token for one in evidence.accepted}
    people = {row.recipient for row in evidence.mails()}
    assert len(people) == 3
    assert len(accepted - doubts) == len(people) - len(doubts), f"{cell}: {len(accepted)} messages"
    assert not doubts or len(accepted & doubts) in may_be_accepted, f"{cell}: {accepted & doubts}"
    assert {row.state for row in evidence.rows.values() if row.token not in doubts} == {"delivered"}, cell
    if cell.deed == "stop" and cell.point in AFTER_A_STOP:
        found = [[event.type for event in evidence.trail[row.id]] for row in evidence.mails()]
        assert any(in_order(AFTER_A_STOP[cell.point], events) for events in found), f"{cell}: {found}"


def in_order(wanted: Sequence[str], events: Sequence[str]) -> bool:
    """Whether these events are among those, in this order; a busy machine may put a lost lease between them."""
    rest = iter(events)
    return all(event in rest for event in wanted)


def test_p3_p4_at_every_point_nothing_is_lost_or_doubled(scene: Scene) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        played = list(pool.map(lambda cell: attempt(scene, cell), CELLS))
    faults = [fault for fault in played if isinstance(fault, str)]
    for cell, acme in zip(CELLS, played, strict=True):
        if isinstance(acme, Acme):
            try:
                judge(scene, cell, acme)
            except AssertionError as fault:
                faults.append(f"{cell}: {fault}")
    assert not faults, "\n".join(faults)


def attempt(scene: Scene, cell: Cell) -> Acme | str:
    try:
        return play(scene, cell)
    except AssertionError as fault:
        return f"{cell}: {fault}"
