"""The breaker of the mail server: one for all processes, in the database, so that the pages can show it.

When connection, TLS or sign-in fail, no delivery is to blame: none is burnt, and nothing is sent until the server has
been tried again. The waits grow; of several processes one tries. The first message that gets an answer closes it.
"""

from __future__ import annotations

import datetime as dt

from sqlalchemy import text
from sqlalchemy.orm import Session

FIRST_WAIT = dt.timedelta(seconds=15)
LONGEST_WAIT = dt.timedelta(minutes=5)

STATE = "select opened_at from mail_transport where id = 1"

# Whoever moves the hour of the next try makes this one.
PROBE = """
update mail_transport set retry_at = :later
where id = 1 and opened_at is not null and (retry_at <= :now or :forced)"""

OPEN = """
insert into mail_transport as t (id, opened_at, retry_at, faults, reason)
values (1, :now, cast(:now as timestamptz) + cast(:first as interval), 1, :reason)
on conflict (id) do update
set opened_at = coalesce(t.opened_at, excluded.opened_at), faults = t.faults + 1, reason = excluded.reason,
    retry_at = cast(:now as timestamptz)
               + least(cast(:first as interval) * power(2, least(t.faults, 10)), cast(:longest as interval))"""

CLOSE = """
insert into mail_transport as t (id, worked_at) values (1, :now)
on conflict (id) do update
set opened_at = null, retry_at = null, faults = 0, reason = null, worked_at = excluded.worked_at"""


def is_open(session: Session) -> bool:
    state = session.execute(text(STATE)).one_or_none()
    return state is not None and state.opened_at is not None


def may_send(session: Session, now: dt.datetime, *, forced: bool) -> bool:
    """Whether the mail server may be used now: the breaker is closed, or this is its one try, at once if `forced`."""
    if not is_open(session):
        return True
    probe = session.execute(text(PROBE), {"now": now, "later": now + FIRST_WAIT, "forced": forced})
    return bool(probe.rowcount)  # type: ignore[attr-defined]


def trip(session: Session, now: dt.datetime, reason: str) -> None:
    """The transport failed: nothing is sent until the next try."""
    session.execute(text(OPEN), {"now": now, "reason": reason, "first": FIRST_WAIT, "longest": LONGEST_WAIT})


def close(session: Session, now: dt.datetime) -> None:
    """The server has answered to a message: it works."""
    session.execute(text(CLOSE), {"now": now})
