"""Whether this is still the database that recorded what was told. A restored or failed-over one holds everything.

A restore into a new server has another system identifier; a failover, or a restore to a point in time, another
timeline; a dump that was read back into the same server, another number of its table of deliveries. All are compared
with what the database itself says of its past, since hosts come and go. A cold copy of the files that is put back has
the same three, and is not seen.
"""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.wording import later

# The timeline of the log that is written now: the control file would say it only after the next checkpoint.
PRESENT = """
select system_identifier || '/' || cast(cast('delivery' as regclass) as oid) as system_identifier,
       cast(('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32) as bigint) as timeline_id
from pg_control_system()"""

# A provider may keep these from everybody; then nobody can tell, and `onus doctor` says so.
PERMITTED = """
select has_function_privilege('pg_control_system()', 'execute')
   and has_function_privilege('pg_current_wal_lsn()', 'execute')
   and has_function_privilege('pg_walfile_name(pg_lsn)', 'execute')"""

KNOWN = "select system_identifier, timeline_id from database_identity where id = 1"

KEEP = """
insert into database_identity as i (id, system_identifier, timeline_id, noticed_at)
values (1, :system_identifier, :timeline_id, cast(:now as timestamptz))
on conflict (id) do update
set system_identifier = excluded.system_identifier, timeline_id = excluded.timeline_id,
    noticed_at = excluded.noticed_at,
    changed_at = case when :changed then excluded.noticed_at else i.changed_at end"""


class Identity(NamedTuple):
    """`system_identifier` is the server's and, behind a slash, the number of the table."""

    system_identifier: str
    timeline_id: int

    @property
    def server(self) -> str:
        return self.system_identifier.partition("/")[0]

    @property
    def table(self) -> str:
        """Empty for what was kept before tables were looked at."""
        return self.system_identifier.partition("/")[2]


def present(session: Session) -> Identity | None:
    """The identity of this moment; None where the login may not ask for it."""
    if not session.execute(text(PERMITTED)).scalar_one():
        return None
    return Identity(*session.execute(text(PRESENT)).one())


def past(session: Session) -> Identity | None:
    """What it was when it was last kept; None before the first time."""
    row = session.execute(text(KNOWN)).one_or_none()
    return Identity(*row) if row else None


def is_known(session: Session) -> bool:
    known = past(session)
    return known is not None and known.table != ""


def change_of(session: Session) -> str | None:
    """How this database differs from the one that wrote its past, in words; None if it does not, or has no past."""
    known, now = past(session), present(session)
    if known is None or now is None:
        return None
    if known.server != now.server:
        return later("the database was restored into another server")
    if known.table not in ("", now.table):
        return later("the database was restored from a dump")
    if known.timeline_id != now.timeline_id:
        return f"the database was restored or failed over (timeline {known.timeline_id} became {now.timeline_id})"
    return None


def keep(session: Session, now: dt.datetime, *, changed: bool) -> None:
    """Record the present identity; if it has changed, only after every organisation is held."""
    identity = present(session)
    if identity is not None:
        session.execute(text(KEEP), {**identity._asdict(), "now": now, "changed": changed})
