"""How a judging transaction is planned, and that an organisation has one judge at a time.

The statements join a dozen small sets to two large tables, written in a good order. Three settings of the transaction:
no nested loops, since a planner without statistics (a first scan, an import) believes in one row and would take cubic
time; no search through all orders of joins, which takes five times as long as the work; no compilation.
"""

from __future__ import annotations

from app.trail.act import Act

PLAN_SIMPLY = """
select set_config('enable_nestloop', 'off', true), set_config('join_collapse_limit', '4', true),
       set_config('from_collapse_limit', '4', true), set_config('jit', 'off', true)"""

# Two scans of one organisation judge one after the other. That a claim happens once does not hang on this lock.
ONE_JUDGE = "select pg_advisory_xact_lock(:key, cast(:org as integer))"
# Hand-overs do not wait for each other, only for a judge, and he for them: what he is about to withdraw is not told in
# the same instant. A mail server does not wait for ever with half a message, hence the limit.
NO_JUDGE = "select set_config('lock_timeout', '20s', true), pg_advisory_xact_lock_shared(:key, cast(:org as integer))"
KEY = 0x6F6E  # "on"; the second key of the lock is the organisation.


def judge_alone(act: Act) -> None:
    """Wait for the other judges of this organisation; until the end of the transaction there is no other."""
    stand_alone(act)
    plan_simply(act)


def stand_alone(act: Act) -> None:
    """The same for whoever moves deliveries by few rows, and is planned as usual."""
    act.run(ONE_JUDGE, {"key": KEY})


def judged_beside(act: Act) -> None:
    """Wait for the judge of this organisation; until the end of the transaction none begins. Raises after 20 s."""
    act.run(NO_JUDGE, {"key": KEY})


def plan_simply(act: Act) -> None:
    act.run(PLAN_SIMPLY)
