"""How the database plans what a page asks right after an import, when its tables have no statistics."""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.orm import Session

# The planner believes in one row, nests loops, and a count of 10,000 entries takes minutes instead of milliseconds.
PLAN_SIMPLY = text("select set_config('enable_nestloop', 'off', true)")
PLANNED = "planned_simply"  # In the session's notes: the transaction for which it was said.


def plan_simply(session: Session) -> None:
    """From here to the end of the transaction no loops are nested. Said once, and again in each savepoint."""
    session.connection()
    transaction = session.get_nested_transaction() or session.get_transaction()
    if session.info.get(PLANNED) is not transaction:
        session.execute(PLAN_SIMPLY)
        session.info[PLANNED] = transaction
