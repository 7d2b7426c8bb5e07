"""The delivery machine of DESIGN 5 as a model: all that can happen next. `search.py` looks for a broken promise in it.

One row of e-mail, two workers, a mail server, officers; after every step anything else may happen: a crash, a limit
that runs out, a lost connection at COMMIT, a fail-over. A paused worker is one that takes no step while others do, so
every pause at every point is among the orders searched. Origins and targets come from MOVES; each guard of the code
is a flag here, so that its worth can be shown by taking it away. A resend starts a new row, which is another run of
this same model. Left out: a restore from a backup, which brings back what was before a message left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from app.domain.delivery import MOVES, Move, Outcome, State

NOBODY = 0  # The token of a row that nobody has leased.
LIMITED = {State.leased, State.handing_over}
WITH_TOKEN = {State.leased, State.handing_over, State.in_doubt}
FOR_A_PERSON = {State.in_doubt, State.failed, State.bounced}  # What may be sent again, in a new row.


@dataclass(frozen=True)
class Guards:
    """What keeps a second message from being sent. Each is needed: see `test_model.py`."""

    random_token: bool = True  # Not a counter, which starts again after a fail-over.
    durable_hand_over: bool = True  # The commit before the final dot is synchronous.
    fence: bool = True  # That commit compares token, state and limit.
    handing_over: bool = True  # There is a state for "may have left".
    sweep_leaves_handed_over: bool = True  # What was handed over becomes a doubt, not pending.
    outcome_by_token: bool = True  # An outcome is written only by the one who holds the row.
    outcome_if_undecided: bool = True  # And not over the decision of an officer.
    cancel_by_state: bool = True  # Align compares the state when it writes, not only when it reads.
    decide_by_state: bool = True  # So does an officer.
    resend_in_new_row: bool = True
    silence_is_doubt: bool = True  # No answer to the final dot is not a refusal.
    sweeper: bool = True  # Somebody looks for what was left behind.


@dataclass(frozen=True)
class Machine:
    """What is searched. With `failover`, only the hand-over is durable at once; any other commit may be lost."""

    guards: Guards = field(default_factory=Guards)
    moves: Mapping[str, Move] = field(default_factory=lambda: MOVES)
    tries: int = 2
    failover: bool = False
    officers: int = 2  # Enough to decide at once.


class At(StrEnum):
    """Where a worker stands with its message."""

    idle = "idle"
    writing = "writing"  # It has leased the row and sends everything but the final dot.
    unsure = "unsure"  # No answer to its COMMIT. The server has taken nothing, and it will write no dot.
    handed_over = "handed_over"  # The commit is answered, the dot not yet written.
    waiting = "waiting"  # The dot is written.
    answered = "answered"  # It knows the outcome, and has not recorded it.


class Worker(NamedTuple):
    at: At = At.idle
    token: int = NOBODY
    outcome: Outcome | None = None


class Row(NamedTuple):
    state: State = State.pending
    token: int = NOBODY
    is_over: bool = False  # The limit of the lease or of the hand-over has passed.
    tries: int = 0
    leases: int = 0  # Only a counter needs it; random tokens leave it at 0.
    decisions: int = 0  # How often an officer's decision was written.


class World(NamedTuple):
    row: Row = Row()
    durable: Row = Row()  # What a fail-over brings back.
    workers: tuple[Worker, ...] = (Worker(), Worker())
    looking: int = 0  # Officers who have the row before them.
    unheard: int = 0  # Final dots at the server for whose answer nobody waits any more.
    accepted: int = 0  # Messages that the server took.


Steps = Iterator[tuple[str, World]]


# What the database does.


def matches(machine: Machine, row: Row, move: str) -> bool:
    return row.state in machine.moves[move].origins


def moved(machine: Machine, row: Row, move: str, token: int = NOBODY) -> Row:
    """The row after the move. A token stays while its worker may still have something to say."""
    target = machine.moves[move].target
    return row._replace(state=target, token=token if target in WITH_TOKEN else NOBODY, is_over=False)


def commit(machine: Machine, world: World, row: Row, durably: bool = False) -> World:
    """Commits are in one log: one that is durable makes all before it durable, whoever made them."""
    return world._replace(row=row, durable=row if durably or not machine.failover else world.durable)


def now_at(world: World, who: int, worker: Worker) -> World:
    workers = (worker, world.workers[1]) if who == 0 else (world.workers[0], worker)
    return world._replace(workers=workers)


def new_token(machine: Machine, world: World) -> int:
    """One that nobody has. Tokens are only compared, so an old one may serve again when nobody remembers it."""
    if not machine.guards.random_token:
        return world.row.leases + 1
    known = {world.row.token, world.durable.token, *(worker.token for worker in world.workers)}
    return next(token for token in range(1, 6) if token not in known)


# What a worker does: each takes the machine, the world and which of the two.


def lease(machine: Machine, world: World, who: int) -> Steps:
    row = world.row
    if world.workers[who].at is not At.idle or not matches(machine, row, "lease"):
        return
    token = new_token(machine, world)
    leased = moved(machine, row, "lease", token)._replace(
        tries=min(row.tries + 1, machine.tries), leases=0 if machine.guards.random_token else token
    )
    after = commit(machine, world, leased)
    yield f"leases with token {token}", now_at(after, who, Worker(At.writing, token))
    yield "leases, loses the connection at COMMIT (applied) and leaves it", after


def refused_before_dot(machine: Machine, world: World, who: int) -> Steps:
    worker = world.workers[who]
    if worker.at is At.writing:
        yield "is refused for now before the dot", answered(world, who, Outcome.retry)
        yield "is refused for good before the dot", answered(world, who, Outcome.failed)


def hand_over(machine: Machine, world: World, who: int) -> Steps:
    """All but the dot is sent. Compare token, state and limit, and commit; only then may the dot be written."""
    row, worker, guards = world.row, world.workers[who], machine.guards
    if worker.at is not At.writing:
        return
    handed_over = worker._replace(at=At.handed_over)
    if not guards.handing_over:
        yield "goes on without a mark", now_at(world, who, handed_over)
        return
    if guards.fence and not (matches(machine, row, "hand_over") and row.token == worker.token and not row.is_over):
        yield "may not hand over, and stops", now_at(world, who, Worker())
        return
    marked = moved(machine, row, "hand_over", row.token)
    unsure = now_at(world, who, worker._replace(at=At.unsure))
    done = commit(machine, world, marked, durably=guards.durable_hand_over)
    yield "hands over", now_at(done, who, handed_over)
    yield "hands over, loses the connection at COMMIT (applied)", commit(machine, unsure, marked)
    yield "hands over, loses the connection at COMMIT (not applied)", unsure


def write_dot(machine: Machine, world: World, who: int) -> Steps:
    """However late: it may have stood still since its commit, beyond any limit."""
    worker = world.workers[who]
    if worker.at is At.handed_over:
        yield "writes the dot", now_at(world, who, worker._replace(at=At.waiting))


def move_of(machine: Machine, row: Row, worker: Worker) -> str:
    """What records its outcome. The last try that is refused for now is refused for good."""
    if worker.outcome is Outcome.retry:
        return "retry" if row.tries < machine.tries else "refuse"
    return {Outcome.delivered: "settle", Outcome.failed: "refuse", Outcome.in_doubt: "doubt"}[worker.outcome]


def settle(machine: Machine, world: World, who: int) -> Steps:
    """Record the outcome, by token, also over a doubt of the sweeper, never over a decision."""
    row, worker, guards = world.row, world.workers[who], machine.guards
    if worker.at is not At.answered:
        return
    move = move_of(machine, row, worker)
    is_ours = row.token == worker.token or not guards.outcome_by_token
    is_open = row.decisions == 0 or not guards.outcome_if_undecided
    if not (matches(machine, row, move) and is_ours and is_open):
        yield f"may not record {worker.outcome}", now_at(world, who, Worker())
        return
    after = commit(machine, world, moved(machine, row, move, row.token))
    yield f"records {worker.outcome}", now_at(after, who, Worker())
    yield f"records {worker.outcome}, loses the connection at COMMIT (applied) and tries again", after


def give_back(machine: Machine, world: World, who: int) -> Steps:
    """It knows that nothing was taken, and nobody is to blame: the transport failed, or its own time is up."""
    row, worker, guards = world.row, world.workers[who], machine.guards
    if worker.at not in {At.writing, At.unsure, At.handed_over}:
        return
    is_open = row.decisions == 0 or not guards.outcome_if_undecided
    if not (matches(machine, row, "give_back") and row.token == worker.token and is_open):
        yield "has nothing to give back", now_at(world, who, Worker())
        return
    given = moved(machine, row, "give_back")._replace(tries=max(row.tries - 1, 0))
    after = commit(machine, world, given)
    unsure = worker._replace(at=At.unsure)
    yield "gives back", now_at(after, who, Worker())
    yield "gives back, loses the connection at COMMIT (applied)", now_at(after, who, unsure)
    yield "gives back, loses the connection at COMMIT (not applied)", now_at(world, who, unsure)


def crash(machine: Machine, world: World, who: int) -> Steps:
    """All it knew is gone. A dot that it wrote is still with the server."""
    worker = world.workers[who]
    if worker.at is not At.idle:
        unheard = world.unheard + (worker.at is At.waiting)
        yield "crashes", now_at(world, who, Worker())._replace(unheard=unheard)


# What the mail server does.


def answered(world: World, who: int, outcome: Outcome) -> World:
    return now_at(world, who, world.workers[who]._replace(at=At.answered, outcome=outcome))


def answer_dot(machine: Machine, world: World, who: int) -> Steps:
    if world.workers[who].at is not At.waiting:
        return
    silence = Outcome.in_doubt if machine.guards.silence_is_doubt else Outcome.retry
    taken = world._replace(accepted=world.accepted + 1)
    yield "is told: accepted", answered(taken, who, Outcome.delivered)
    yield "is told: refused for now", answered(world, who, Outcome.retry)
    yield "is told: refused for good", answered(world, who, Outcome.failed)
    yield "is told: no service, nothing taken", now_at(world, who, world.workers[who]._replace(at=At.unsure))
    yield "hears nothing, though accepted", answered(taken, who, silence)
    yield "hears nothing yet", answered(world._replace(unheard=world.unheard + 1), who, silence)


def end_unheard(machine: Machine, world: World) -> Steps:
    if world.unheard:
        fewer = world._replace(unheard=world.unheard - 1)
        yield "the server accepts, and nobody hears it", fewer._replace(accepted=world.accepted + 1)
        yield "the server drops a message, and nobody hears it", fewer


def bounce(machine: Machine, world: World) -> Steps:
    """An accepted message comes back."""
    if world.accepted and matches(machine, world.row, "bounce"):
        yield "the message comes back", commit(machine, world, moved(machine, world.row, "bounce"))


# What the ticks do.


def pass_time(machine: Machine, world: World) -> Steps:
    """A limit runs out, at any moment: early and late clocks, and every pause of a worker, are among these orders."""
    row, durable = (row._replace(is_over=row.state in LIMITED) for row in (world.row, world.durable))
    if row != world.row:
        yield "the limit runs out", world._replace(row=row, durable=durable)


def sweep(machine: Machine, world: World) -> Steps:
    """Whether the worker is dead or only slow, nobody knows for certain: here it is never asked."""
    row, guards = world.row, machine.guards
    if not row.is_over or not guards.sweeper:
        return
    last = row.tries >= machine.tries
    if matches(machine, row, "give_up" if last else "sweep"):
        swept = moved(machine, row, "give_up" if last else "sweep")
        yield "the sweeper gives up" if last else "the sweeper frees the lease", commit(machine, world, swept)
    if matches(machine, row, "doubt"):
        doubt = moved(machine, row, "doubt" if guards.sweep_leaves_handed_over else "sweep", row.token)
        yield f"the sweeper makes what was handed over {doubt.state}", commit(machine, world, doubt)


def cancel(machine: Machine, world: World) -> Steps:
    """Align: the row is wanted no longer."""
    if world.row.decisions == 0 and (matches(machine, world.row, "cancel") or not machine.guards.cancel_by_state):
        yield "align cancels", commit(machine, world, moved(machine, world.row, "cancel"))


def revive(machine: Machine, world: World) -> Steps:
    if matches(machine, world.row, "revive"):
        yield "align revives", commit(machine, world, moved(machine, world.row, "revive"))


def hold(machine: Machine, world: World) -> Steps:
    """Another database was noticed: what has not left waits for a person."""
    if matches(machine, world.row, "hold"):
        yield "the guard holds", commit(machine, world, moved(machine, world.row, "hold"))


# What people do. Between reading and deciding anything may happen, another officer's decision too.


def look(machine: Machine, world: World) -> Steps:
    if world.row.state in FOR_A_PERSON and world.row.decisions == 0 and world.looking < machine.officers:
        yield "an officer reads the row", world._replace(looking=world.looking + 1)


def resolve(machine: Machine, world: World) -> Steps:
    if world.looking:
        for move in ("resolve_delivered", "resolve_failed"):
            if not machine.guards.decide_by_state or (matches(machine, world.row, move) and world.row.decisions == 0):
                yield from decided(machine, world, moved(machine, world.row, move), move)
            else:
                yield from too_late(world)


def resend(machine: Machine, world: World) -> Steps:
    """The old row stays as it is, decided; the new row is made in the same transaction."""
    if not world.looking:
        return
    row = world.row
    if not machine.guards.resend_in_new_row:
        yield (
            "an officer sends the same row again",
            world._replace(row=row._replace(state=State.pending, token=NOBODY), looking=world.looking - 1),
        )
    elif row.state in FOR_A_PERSON and row.decisions == 0:
        yield from decided(machine, world, row, "resend")
    else:
        yield from too_late(world)


def decided(machine: Machine, world: World, row: Row, decision: str) -> Steps:
    after = commit(machine, world, row._replace(decisions=row.decisions + 1))
    yield f"an officer decides {decision}", after._replace(looking=world.looking - 1)


def too_late(world: World) -> Steps:
    yield "an officer is too late", world._replace(looking=world.looking - 1)


def release(machine: Machine, world: World) -> Steps:
    if matches(machine, world.row, "release"):
        yield "an officer releases", commit(machine, world, moved(machine, world.row, "release"))


# What happens to the database.


def become_durable(machine: Machine, world: World) -> Steps:
    if world.durable != world.row:
        yield "what was committed becomes durable", world._replace(durable=world.row)


def fail_over(machine: Machine, world: World) -> Steps:
    if world.durable != world.row:
        yield f"the database fails over, back to {world.durable.state}", world._replace(row=world.durable)


BY_A_WORKER = (lease, refused_before_dot, hand_over, write_dot, answer_dot, settle, give_back)
BY_OTHERS = (end_unheard, pass_time, sweep, bounce, release, look, resolve, resend)
# What must not be needed to get a row settled: faults, and what makes it unwanted.
BESIDE: tuple[Callable[[Machine, World], Steps], ...] = (cancel, revive, hold, become_durable, fail_over)


def steps(machine: Machine, world: World) -> Iterator[tuple[bool, str, World]]:
    """Everything that can happen next: whether it is progress, its words, and the world after it."""
    for who in range(len(world.workers)):
        for by_worker in BY_A_WORKER:
            for words, after in by_worker(machine, world, who):
                yield True, f"worker {who + 1} {words}", after
        for words, after in crash(machine, world, who):
            yield False, f"worker {who + 1} {words}", after
    for step in BY_OTHERS:
        for words, after in step(machine, world):
            yield True, words, after
    for step in BESIDE:
        for words, after in step(machine, world):
            yield False, words, after
