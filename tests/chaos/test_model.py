"""P3, P4: the machine of MOVES keeps its promises in every order of events, and each guard of it is needed.

What is asserted of a mutant is that the search finds the promise broken: a model that finds nothing proves nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pytest

from app.domain.delivery import MOVES, Move, State
from tests.chaos import model
from tests.chaos.model import NOBODY, Guards, Machine, Row
from tests.chaos.search import (
    DECIDED_TWICE,
    FALSE_DELIVERED,
    FALSE_UNSENT,
    STUCK,
    TWICE,
    UNDECIDED,
    UNRECORDED,
    UNTOLD,
    search,
)


class Edit(NamedTuple):
    """A wrong table: one move that is also made from a state, or not from one, or goes to another."""

    move: str
    also: State | None = None
    no: State | None = None
    to: State | None = None

    def moves(self) -> dict[str, Move]:
        right = MOVES[self.move]
        origins = {*right.origins, *({self.also} if self.also else ())} - {self.no}
        return MOVES | {self.move: Move(frozenset(origins), self.to or right.target)}


@pytest.mark.parametrize(
    "machine",
    [
        pytest.param(Machine(), id="plain"),
        pytest.param(Machine(tries=3), id="three tries"),
        pytest.param(Machine(failover=True, officers=1), id="fail-over, only the hand-over durable"),
        pytest.param(Machine(moves=Edit("cancel", no=State.leased).moves()), id="what is leased is not cancelled"),
    ],
)
def test_p3_p4_the_machine_keeps_its_promises(machine: Machine) -> None:
    verdict = search(machine)
    assert verdict.broken is None, str(verdict)
    assert verdict.states == set(State), "the search has not been everywhere"


def test_the_table_allows_no_more_than_the_machine_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each move is made from each of its origins. Only `tell` is outside: in-app delivery meets no network."""
    made = set()
    real = model.moved

    def moved(machine: Machine, row: Row, move: str, token: int = NOBODY) -> Row:
        made.add((move, row.state))
        return real(machine, row, move, token)

    monkeypatch.setattr(model, "moved", moved)
    search(Machine())
    assert made == {(name, state) for name, move in MOVES.items() if name != "tell" for state in move.origins}


# Without the guard, the promise that is broken. A counter as token and a commit that is not durable need a fail-over.
NEEDED = [
    ("random_token", FALSE_UNSENT),
    ("durable_hand_over", TWICE),
    ("fence", TWICE),
    ("handing_over", TWICE),
    ("sweep_leaves_handed_over", TWICE),
    ("outcome_by_token", TWICE),
    ("outcome_if_undecided", UNDECIDED),
    ("cancel_by_state", FALSE_UNSENT),
    ("resend_in_new_row", TWICE),
    ("decide_by_state", DECIDED_TWICE),
    ("silence_is_doubt", TWICE),
    ("sweeper", STUCK),
]


@pytest.mark.parametrize(("guard", "promise"), NEEDED)
def test_p3_p4_each_guard_is_needed(guard: str, promise: str) -> None:
    failover = guard in {"random_token", "durable_hand_over"}
    mutant = Machine(guards=replace(Guards(), **{guard: False}), tries=3, failover=failover)
    verdict = search(mutant, {promise})
    assert verdict.broken == promise, f"the model accepts the machine without {guard}: {verdict}"


def test_each_guard_of_the_model_is_taken_away_once() -> None:
    assert {guard for guard, _ in NEEDED} == set(vars(Guards()))


@pytest.mark.parametrize(
    ("edit", "promise"),
    [
        (Edit("lease", also=State.handing_over), TWICE),
        (Edit("lease", also=State.in_doubt), TWICE),
        (Edit("lease", also=State.failed), UNDECIDED),
        (Edit("lease", no=State.pending), STUCK),
        (Edit("hand_over", no=State.leased), UNTOLD),
        (Edit("hand_over", to=State.delivered), FALSE_DELIVERED),
        (Edit("settle", no=State.handing_over), UNRECORDED),
        (Edit("settle", no=State.in_doubt), UNRECORDED),
        (Edit("retry", no=State.leased), UNRECORDED),
        (Edit("retry", to=State.delivered), FALSE_DELIVERED),
        (Edit("refuse", no=State.handing_over), UNRECORDED),
        (Edit("refuse", to=State.delivered), FALSE_DELIVERED),
        (Edit("doubt", to=State.pending), TWICE),
        (Edit("doubt", to=State.failed), FALSE_UNSENT),
        (Edit("doubt", no=State.handing_over), STUCK),
        (Edit("give_back", to=State.delivered), FALSE_DELIVERED),
        (Edit("sweep", also=State.handing_over), TWICE),
        (Edit("sweep", no=State.leased), STUCK),
        (Edit("give_up", also=State.handing_over), FALSE_UNSENT),
        (Edit("give_up", no=State.leased), STUCK),
        (Edit("cancel", also=State.handing_over), FALSE_UNSENT),
        (Edit("cancel", also=State.in_doubt), FALSE_UNSENT),
        (Edit("cancel", also=State.delivered), FALSE_UNSENT),
        (Edit("revive", also=State.delivered), TWICE),
        (Edit("revive", also=State.failed), UNDECIDED),
        (Edit("hold", also=State.handing_over), TWICE),
        (Edit("release", no=State.held), STUCK),
        (Edit("release", also=State.in_doubt), TWICE),
        (Edit("resolve_failed", to=State.pending), UNDECIDED),
        (Edit("bounce", to=State.failed), FALSE_UNSENT),
    ],
    ids=str,
)
def test_p3_p4_a_wrong_table_is_found(edit: Edit, promise: str) -> None:
    verdict = search(Machine(moves=edit.moves()), {promise})
    assert verdict.broken == promise, f"the model accepts {edit}: {verdict}"
