"""Whether this installation can keep its promises: what `onus doctor` looks at; start-up insists on part of it.

Looks and changes nothing. The login itself is judged, not the role that it borrows: RESET ROLE gives that back.
"""

from __future__ import annotations

import datetime as dt
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alembic.script import ScriptDirectory
from sqlalchemy import Row, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from app import clock
from app.config import Settings, beside
from app.database import OLDEST_SERVER, SCHEDULER, WEB
from app.domain import calendars

ONCE = {
    "notification_once": ("notification_ledger", {"org_id", "rule_id", "subject_id", "threshold", "due_on"}),
    "delivery_once": ("delivery", {"org_id", "claim_id", "channel", "recipient_id", "resend_of"}),
}
NO_SUCH_ROLE, MAY_NOT = "22023", "42501"  # What PostgreSQL answers to a role that cannot be taken.
APART_UNNOTICED = dt.timedelta(seconds=5)  # Hosts that keep time are closer; more than this is worth a word.
# At Vancouver half past midnight by its law of 2026; in older time zone data still the evening before.
CHANGE_OF_LAW = dt.datetime(2027, 1, 15, 7, 30, tzinfo=dt.UTC)

# Relations that Onus made: not the system's, and not an extension's. Each statement below may read from it.
OURS = """
    with ours as (
        select c.oid, c.relname::text as name, c.relkind as kind, c.relowner as owner, c.relrowsecurity as walled,
               c.relforcerowsecurity as forced, c.reloptions as options
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and not exists (
            select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e'))
"""
CONSTRAINT = """
    select c.contype = 'u' and not c.condeferrable and i.indisvalid as is_unique,
           i.indnullsnotdistinct as nulls_count,
           array_agg(a.attname::text order by a.attnum) as columns, bool_and(a.attnotnull) as not_null
    from pg_constraint c
    join pg_index i on i.indexrelid = c.conindid
    join pg_attribute a on a.attrelid = c.conrelid and a.attnum = any (c.conkey)
    where c.conrelid = to_regclass(:table) and c.conname = :name
    group by c.oid, i.indexrelid, is_unique, nulls_count
"""
OPEN_TABLES = """
    select t.name from ours t
    join pg_attribute a on a.attrelid = t.oid and a.attname = 'org_id' and not a.attisdropped
    where t.kind in ('r', 'p') and not (
        t.walled and t.forced and exists (select from pg_policy p where p.polrelid = t.oid)
        and not exists (
            select from pg_policy p where p.polrelid = t.oid and p.polpermissive and not (
                (p.polcmd = 'a' or coalesce(pg_get_expr(p.polqual, t.oid), '') like '%onus.org%')
                and coalesce(pg_get_expr(p.polwithcheck, t.oid), 'onus.org') like '%onus.org%')))
    order by 1
"""
POWERS = """
    select r.rolname as name,
           exists (select from pg_roles s where s.rolsuper and pg_has_role(r.oid, s.oid, 'member')) as superuser,
           exists (select from pg_roles s where s.rolbypassrls and pg_has_role(r.oid, s.oid, 'member')) as bypass,
           array(select t.name from ours t where t.kind in ('r', 'p') and pg_has_role(r.oid, t.owner, 'member')
                 order by 1) as tables,
           exists (select from pg_shdepend d where d.refclassid = 'pg_authid'::regclass and d.refobjid = r.oid
                   and d.deptype = 'o' and d.dbid in (0, b.oid)) as owns_something,
           array(select t.rolname::text from pg_roles t where t.rolname in (:web, :scheduler)
                 and pg_has_role(r.oid, t.oid, 'set')) as takes
    from pg_roles r join pg_database b on b.datname = current_database()
    where r.rolname = coalesce(:role, session_user)
"""
FORBIDDEN = """
    select r.rolname || ' may ' || lower(f.privilege) || ' ' || t.name
    from ours t
    join (values ('audit_event', 'UPDATE'), ('audit_event', 'DELETE'), ('notification_ledger', 'DELETE'),
                 ('audit_leaf', 'UPDATE'), ('audit_leaf', 'DELETE'), ('audit_checkpoint', 'UPDATE'),
                 ('audit_checkpoint', 'DELETE'), (null, 'TRUNCATE')) f (name, privilege)
         on f.name is null or f.name = t.name
    join pg_roles r on r.rolname in (session_user, :web, :scheduler)
    where t.kind in ('r', 'p') and case f.privilege
        when 'UPDATE' then has_any_column_privilege(r.oid, t.oid, 'UPDATE')
        else has_table_privilege(r.oid, t.oid, f.privilege) end
    order by 1
"""
LOOSE_VIEWS = """
    select t.name from ours t
    where t.kind = 'm' or (t.kind = 'v' and not exists (
        select from unnest(t.options) option where lower(option) ~ '^security_invoker=(true|on|yes|1)$'))
    order by 1
"""


MAY_BE_KNOWN = "select has_function_privilege('pg_control_system()', 'execute')"


class NotReady(Exception):
    """The database cannot even be looked at: it has no tables, or this login may not act for Onus."""


@dataclass(frozen=True)
class Check:
    """One check. A remedy beside `ok` is advice; without `ok` it is what to do."""

    name: str
    ok: bool
    found: str
    remedy: str = ""


def judged(name: str, fault: str | None, fine: str, remedy: str) -> Check:
    return Check(name, True, fine) if fault is None else Check(name, False, fault, remedy)


def examine_database(session: Session, settings: Settings, host_now: dt.datetime) -> list[Check]:
    """All checks of the database. Raises NotReady. `host_now` is the host's own clock at this moment."""
    refuse_unready(session)
    return [
        *(check_constraint(session, name) for name in ONCE),
        check_walls(session),
        check_login(session),
        check_role(session, WEB),
        check_role(session, SCHEDULER),
        check_grants(session),
        check_views(session),
        check_migrations(session),
        check_clocks(session, settings, host_now),
        check_identity(session),
        check_server(session),
    ]


def examine_host(settings: Settings) -> list[Check]:
    """All checks that need no database."""
    return [check_time_zones(), check_email(settings), check_secrets(settings), check_home(settings.home)]


def refuse_unready(session: Session) -> None:
    """Raise NotReady unless the roles can be taken and the tables are there. Must be the session's first statement."""
    without_tables = "the database has no tables yet: run `onus db upgrade`"
    try:
        ledger = session.execute(text("select to_regclass('notification_ledger')")).scalar_one()
    except DBAPIError as fault:
        sqlstate = getattr(fault.orig, "sqlstate", None)
        if sqlstate == NO_SUCH_ROLE:
            raise NotReady(without_tables) from None
        if sqlstate == MAY_NOT:
            raise NotReady(f"this login may not take the role {WEB} or {SCHEDULER}: run `onus db upgrade`") from None
        raise
    if ledger is None:
        raise NotReady(without_tables)


def fault_of_login(session: Session) -> str | None:
    """Why row-level security would not bind the run-time login, or None. Its own rights count: a role is borrowed."""
    login = powers(session)
    if login.superuser:
        return f"the login {login.name} is a superuser"
    if login.bypass:
        return f"the login {login.name} has BYPASSRLS"
    if login.tables:
        return f"the login {login.name} owns {len(login.tables)} tables, {login.tables[0]} among them"
    return None


def fault_of_constraint(session: Session, name: str) -> str | None:
    """Why the constraint does not make something happen once, or None."""
    table, columns = ONCE[name]
    found = session.execute(text(CONSTRAINT), {"table": table, "name": name}).one_or_none()
    if found is None:
        return f"there is no constraint {name} on {table}"
    if not found.is_unique:
        return f"the constraint {name} on {table} is not unique, immediate and valid"
    if set(found.columns) != columns:
        return f"the constraint {name} on {table} is over {', '.join(found.columns)}"
    # An empty column equals nothing, so that a key with one could stand twice. The ledger's key has none at all (P1).
    if not found.not_null and (name == "notification_once" or not found.nulls_count):
        return f"a column of the constraint {name} on {table} may be empty"
    return None


def check_constraint(session: Session, name: str) -> Check:
    fine, remedy = f"{name} is unique on {ONCE[name][0]}", "scan nothing; make it as the migrations do"
    return judged(f"constraint {name}", fault_of_constraint(session, name), fine, remedy)


def check_walls(session: Session) -> Check:
    tables = ", ".join(names(session, OPEN_TABLES))
    fault = f"not walled off by organisation: {tables}" if tables else None
    remedy = "enable and force row-level security on them, with the one policy of_organisation"
    return judged("row-level security", fault, "every table of an organisation is walled off", remedy)


def check_login(session: Session) -> Check:
    login = powers(session)
    missing = sorted({WEB, SCHEDULER} - set(login.takes))
    fault = f"the login {login.name} may not take {' and '.join(missing)}" if missing else None
    remedy = f"name a plain member of {WEB} and {SCHEDULER} in ONUS_DATABASE_URL; `onus db upgrade` makes one"
    fine = f"{login.name} is a plain member of both roles"
    return judged("run-time login", fault_of_login(session) or fault, fine, remedy)


def check_role(session: Session, name: str) -> Check:
    role = powers(session, name)
    wrong = {
        "is a superuser": role.superuser,
        "has BYPASSRLS": role.bypass,
        "owns something": bool(role.owns_something or role.tables),
    }
    fault = " and ".join(words for words, holds in wrong.items() if holds)
    fine = f"{name} is plain and owns nothing"
    return judged(f"role {name}", f"{name} {fault}" if fault else None, fine, f"take that away from {name}")


def check_grants(session: Session) -> Check:
    granted = "; ".join(names(session, FORBIDDEN, web=WEB, scheduler=SCHEDULER))
    return judged("grants", granted or None, "ledger and trail can only grow", "revoke these rights")


def check_views(session: Session) -> Check:
    loose = ", ".join(names(session, LOOSE_VIEWS))
    fault = f"these read with the rights of their owner: {loose}" if loose else None
    remedy = "drop them, or make views with (security_invoker = true)"
    return judged("views", fault, "no view looks over the wall", remedy)


def check_migrations(session: Session) -> Check:
    there = sorted(names(session, "select version_num from alembic_version"))
    heads = sorted(ScriptDirectory(str(beside("migrations"))).get_heads())
    found = f"the database is at {', '.join(there) or 'nothing'}, this version of Onus at {', '.join(heads)}"
    fits = there == heads and len(heads) == 1
    return judged("migrations", None if fits else found, found, "run `onus db upgrade` of the newest version in use")


def check_clocks(session: Session, settings: Settings, host_now: dt.datetime) -> Check:
    """Some seconds apart are worth advice; more than the guard of the scan allows fails."""
    if settings.clock is not None:
        return Check("clocks", True, f"stopped by ONUS_CLOCK at {settings.clock:%Y-%m-%dT%H:%M:%SZ}")
    apart = abs(clock.now(session, settings) - host_now)
    advice = "" if apart <= APART_UNNOTICED else "let both hosts keep time (NTP)"
    found = f"the database and this host are {apart.total_seconds():.1f} s apart"
    return Check("clocks", apart <= clock.APART_AT_MOST, found, advice)


def check_identity(session: Session) -> Check:
    """Never a failure: a provider may forbid to ask. Then a restore is not noticed, and a person must hold it."""
    known = session.execute(text(MAY_BE_KNOWN)).scalar_one()
    if known:
        return Check("identity", True, "a restore or a failover would be noticed")
    advice = (
        "grant execute on pg_control_system() to the login, or look at what is due before you start after a restore"
    )
    return Check("identity", True, "a restore or a failover would not be noticed", advice)


def check_server(session: Session) -> Check:
    version = int(session.execute(text("show server_version_num")).scalar_one())
    found = f"PostgreSQL {version // 10000}.{version % 10000}"
    return judged("PostgreSQL", None if version >= OLDEST_SERVER else found, found, "use PostgreSQL 16 or later")


def check_time_zones() -> Check:
    version = clock.tzdata_version()
    day = calendars.today(CHANGE_OF_LAW, "America/Vancouver")
    found = f"tzdata {version}; at Vancouver {CHANGE_OF_LAW:%Y-%m-%dT%H:%MZ} is on {day}"
    right = version >= clock.TZDATA_AT_LEAST and day == dt.date(2027, 1, 15)
    remedy = f"install the Python package tzdata, {clock.TZDATA_AT_LEAST} or later"
    return judged("time zones", None if right else found, found, remedy)


def check_email(settings: Settings) -> Check:
    """Never a failure: without a mail server in-app alerts arrive, and what waits is shown."""
    if settings.smtp_url is None:
        return Check("e-mail", True, "not configured: e-mail stays pending", "set ONUS_SMTP_URL")
    if settings.smtp_url.startswith("file:"):
        advice = "set ONUS_SMTP_URL to a mail server" if settings.env == "production" else ""
        return Check("e-mail", True, "written to files in ONUS_HOME/outbox; none leaves this host", advice)
    return Check("e-mail", True, "configured")


def check_secrets(settings: Settings) -> Check:
    if settings.secret_key is not None:
        return Check("secrets", True, "ONUS_SECRET_KEY is set")
    fault = "ONUS_SECRET_KEY is not set" if settings.env == "production" else None
    return judged("secrets", fault, "made and kept in ONUS_HOME", "set ONUS_SECRET_KEY")


def check_home(home: Path) -> Check:
    nearest = next(path for path in (home, *home.parents) if path.exists())
    writable = nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)
    fault = None if writable else f"{home} cannot be written"
    return judged("ONUS_HOME", fault, f"{home} can be written", "make it writable for this account, or set ONUS_HOME")


def powers(session: Session, role: str | None = None) -> Row[Any]:
    """What a role may do, also by becoming another one; of the login itself if none is named."""
    return session.execute(text(OURS + POWERS), {"role": role, "web": WEB, "scheduler": SCHEDULER}).one()


def names(session: Session, sql: str, **given: str) -> list[str]:
    return list(session.execute(text(OURS + sql), given).scalars())
