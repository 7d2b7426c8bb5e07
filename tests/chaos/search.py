"""A complete search of the model, nearest worlds first, for the shortest way to a broken promise (P3, P4)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from app.domain.delivery import State
from tests.chaos.model import NOBODY, At, Machine, Row, Worker, World, matches, move_of, steps

TOO_MANY = 200_000  # Worlds: more means that something is counted without end.
NOT_LEFT = {State.pending, State.leased, State.held, State.failed, State.cancelled}
ON_ITS_WAY = {State.pending, State.leased, State.handing_over, State.held, State.cancelled}
SETTLED = {State.delivered, State.failed, State.cancelled, State.bounced}

TWICE = "two messages were accepted for one row"
FALSE_DELIVERED = "delivered, and never accepted"
FALSE_UNSENT = "accepted, and at rest in a state that says it has not left"
DECIDED_TWICE = "two officers decided"
UNDECIDED = "decided by an officer, and on its way again"
UNRECORDED = "the worker that holds the row may not record the outcome"
STUCK = "can never be settled"
UNTOLD = "pending, and can never be delivered"
PROMISES = (TWICE, FALSE_DELIVERED, FALSE_UNSENT, DECIDED_TWICE, UNDECIDED, UNRECORDED, STUCK, UNTOLD)


def broken_promise(machine: Machine, world: World) -> str | None:
    row = world.row
    if world.accepted > 1:
        return TWICE
    if row.decisions:  # From here on its state is a person's word.
        return DECIDED_TWICE if row.decisions > 1 else UNDECIDED if row.state in ON_ITS_WAY else None
    if row.state in {State.delivered, State.bounced} and not world.accepted:
        return FALSE_DELIVERED
    if any(holds(row, worker) and not may_record(machine, row, worker) for worker in world.workers):
        return UNRECORDED
    at_rest = not world.unheard and all(worker.at is At.idle for worker in world.workers)
    return FALSE_UNSENT if at_rest and world.accepted and row.state in NOT_LEFT else None


def holds(row: Row, worker: Worker) -> bool:
    return worker.at is At.answered and worker.token == row.token


def may_record(machine: Machine, row: Row, worker: Worker) -> bool:
    """Or need not, since the sweeper has called it in doubt before."""
    move = move_of(machine, row, worker)
    return matches(machine, row, move) or row.state is machine.moves[move].target


def is_settled(world: World) -> bool:
    return world.row.state in SETTLED or world.row.decisions > 0


def is_pending(world: World) -> bool:
    return world.row.state is State.pending


def is_delivered(world: World) -> bool:
    return world.row.state is State.delivered and not world.row.decisions


def is_anything(world: World) -> bool:
    return True


# Wherever the first holds, progress must be able to lead to where the second holds.
REACHABLE = {STUCK: (is_anything, is_settled), UNTOLD: (is_pending, is_delivered)}


Key = tuple[object, ...]


class Came(NamedTuple):
    """A world that was reached, from where, and by what."""

    world: World
    before: Key | None
    words: str


@dataclass(frozen=True)
class Verdict:
    """How many worlds were seen and where the row was in them; what was broken, if anything, and the way to it."""

    worlds: int
    states: frozenset[State]
    broken: str | None = None
    trace: tuple[str, ...] = ()

    def __str__(self) -> str:
        """What a failing test shows."""
        told = [f"{number:2}. {words}" for number, words in enumerate(self.trace, 1)]
        return "\n".join([f"{self.broken or 'no promise is broken'} ({self.worlds} worlds seen)", *told])


def search(machine: Machine, promises: Collection[str] = PROMISES) -> Verdict:
    """Every world once, nearest first: what is found broken has the shortest trace. Then what cannot be reached."""
    first = World()
    came_by: dict[Key, Came] = {key(machine, first): Came(first, None, "")}
    comes_from: dict[Key, list[Key]] = {key(machine, first): []}  # By progress only.
    waiting = deque(came_by)
    while waiting:
        here = waiting.popleft()
        for is_progress, words, after in steps(machine, came_by[here].world):
            there = key(machine, after)
            if there not in came_by:
                came_by[there] = Came(after, here, words)
                comes_from[there] = []
                if (broken := broken_promise(machine, after)) in promises:
                    return verdict(came_by, broken, there)
                waiting.append(there)
            if is_progress:
                comes_from[there].append(here)
        assert len(came_by) < TOO_MANY, "something is counted without end"
    for promise in promises:
        if promise in REACHABLE and (lost := first_lost(came_by, comes_from, *REACHABLE[promise])):
            return verdict(came_by, promise, lost)
    return verdict(came_by)


def key(machine: Machine, world: World) -> Key:
    """The same for worlds that differ only in which worker is which and in what the tokens are called."""
    one, other = world.workers
    if other < one:
        one, other = other, one
    parts: tuple[Row | Worker, ...] = (world.row, world.durable, one, other)
    if not machine.guards.random_token:  # What a counter is called is what it is.
        return *parts, world[3:]
    names = {NOBODY: NOBODY}
    for part in parts:
        names.setdefault(part.token, len(names))
    return *[(part[0], names[part.token], *part[2:]) for part in parts], world[3:]


def first_lost(
    came_by: Mapping[Key, Came],
    comes_from: Mapping[Key, list[Key]],
    starts: Callable[[World], bool],
    ends: Callable[[World], bool],
) -> Key | None:
    """The nearest start from which no progress leads to an end."""
    good = {there for there, came in came_by.items() if ends(came.world)}
    waiting = list(good)
    while waiting:
        for here in comes_from[waiting.pop()]:
            if here not in good:
                good.add(here)
                waiting.append(here)
    return next((there for there, came in came_by.items() if there not in good and starts(came.world)), None)


def verdict(came_by: Mapping[Key, Came], broken: str | None = None, there: Key | None = None) -> Verdict:
    states = frozenset(came.world.row.state for came in came_by.values())
    return Verdict(len(came_by), states, broken, trace_to(there, came_by) if there else ())


def trace_to(there: Key, came_by: Mapping[Key, Came]) -> tuple[str, ...]:
    trace: list[str] = []
    came = came_by[there]
    while came.before is not None:
        row, accepted = came.world.row, came.world.accepted
        token = f", token {row.token}" if row.token else ""
        trace.append(f"{came.words:<75} → {row.state}{token}, accepted {accepted}")
        came = came_by[came.before]
    return tuple(reversed(trace))
