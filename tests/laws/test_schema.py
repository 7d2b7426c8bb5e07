"""The schema that the migrations make: its contract, its keys, and that models and migrations never drift apart."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import flask_migrate
import psycopg
import pytest
from alembic.script import ScriptDirectory
from flask import Flask
from psycopg import sql
from sqlalchemy import create_engine, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.pool import NullPool

from app import create_app
from app.config import beside
from app.domain.acts import (
    Answer,
    Basis,
    Contents,
    FilingResult,
    Held,
    ImportWish,
    InForce,
    OnlyIf,
    Outcome,
    ReportFormat,
    Role,
    Status,
)
from app.domain.delivery import Because, Channel, Fate, Reason, Resolution, Standing, State, TimedBy
from app.domain.thresholds import PATTERN
from app.extensions import db
from app.ledger.scan import scan
from app.models import Base
from tests import factories
from tests.conftest import create_database, settings_of, url_of
from tests.factories import Acme

# DESIGN section 3: the contract for tables and columns; `?` may be empty. Onus may have more columns than these.
CONTRACT = {
    "organisation": "id slug name locale timezone grace_period rest_from? rest_until? rest_days_off",
    "account": "id email name password_hash locale is_active",
    "member": "org_id id account_id? name email? number? role locale is_active valid_until? left_on? email_alerts "
    "daily_checkpoint "
    "timezone? country? region? mail_hour? own_rest rest_from? rest_until? rest_days_off",
    "member_site": "org_id member_id site_id",
    "member_kind": "org_id member_id kind_id",
    "remembered_phone": "id account_id name token_sha256 created_at expires_at forgotten_at?",
    "site": "org_id id name timezone country region alert_from archived_at",
    "day_off": "org_id id site_id? on_day until_day is_yearly name",
    "post": "org_id id name above_id?",
    "site_post": "org_id site_id post_id member_id from_on until_on?",
    "kind": "org_id id name wording what_to_do what_to_do_in recurrence? recurrence_basis? proof_needed "
    "staff_may_close",
    "subject": "org_id id site_id kind_id reference reference_key title owner_member_id? owner_post_id? holder_id? "
    "part_of_id? due_from? recurrence? recurrence_basis? series_from? series_through? series_next? "
    "status snoozed_until? legal_basis notes extra",
    "obligation": "org_id id subject_id due_on first_due_on opened_at met_on? closed_at? closed_by? outcome? reason? "
    "note filed_on? filed_reference? in_force_meanwhile? ask_again_on? filing_ended_on? filing_result? follows_id?",
    "document": "org_id id subject_id obligation_id? number number_key issuer issued_on? valid_from? valid_until? "
    "replaces_id? note added_at added_by? withdrawn_at? withdrawn_by? is_proof disproved_at?",
    "attachment": "org_id id document_id? acknowledgement_id? file_name media_type size sha256 content? added_at "
    "added_by? same_as_id? dropped_at?",
    "alert_rule": "org_id id name channels only_if is_active version archived_at",
    "rule_threshold": "org_id rule_id threshold",
    "rule_kind": "org_id rule_id kind_id",
    "rule_site": "org_id rule_id site_id",
    "rule_subject": "org_id rule_id subject_id",
    "rule_recipient": "org_id rule_id recipient",
    "notification_ledger": "org_id id rule_id rule_version subject_id site_id obligation_id reference title threshold "
    "due_on crossed_on claimed_at delivered_at? acknowledged_at? acknowledged_by? standing reason? scan_run_id",
    "delivery": "org_id id claim_id channel recipient_id because covers_id? also_covers state ready_at? timed_by? "
    "not_before next_attempt_at attempts "
    "lease_token? lease_until? handed_over_at? delivered_at? seen_at? message_id? sent_to? last_reply? reason? "
    "resend_of? resolution? resolved_by? resolved_at?",
    "delivery_attempt": "org_id id delivery_id at verb reply outcome",
    "acknowledgement": "org_id id claim_id member_id acknowledged_at answer until_on? done_on? note taken_back_at? "
    "sent_back_at? sent_back_note? accepted_at? checked_by? whose_member_id? whose_post_id?",
    "scan_run": "org_id id",
    "watermark": "org_id site_id scanned_through scan_run_id",
    "scan_queue": "n org_id subject_id? rule_id? wake_on?",
    "scheduler_process": "id",
    "audit_event": "org_id id",
    "audit_unsealed": "org_id event_id",
    "audit_personal": "org_id event_id name member_id? salt value",
    "audit_leaf": "org_id seq event_id? content? sealed_at hash?",
    "audit_checkpoint": "org_id id at size root frontier note",
    "trail_key": "id vkey since",
    "installation": "id uuid",
    "import_run": "org_id id contents in_error_at? in_error_by? in_error_note",
    "import_upload": "org_id id at member_id file_name file_sha256 content? look header_key mapping import_run_id? "
    "left_over? contents",
    "export_run": "org_id id asked_at asked_by? format language filters site_ids? kind_ids? beat_at? done rows "
    "ended_at? fault? counts? size? sha256? content?",
    "import_work": "org_id upload_id wish asked_at asked_by beat_at? done total ended_at? fault? found?",
    "mail_trial": "org_id id member_id asked_at sent_to? handed_over_at? settled_at? outcome? reply? "
    "checkpoint_on? note?",
    "calendar_feed": "org_id id member_id site_id? token_sha256 created_at revoked_at? last_read_at?",
    "absence": "org_id id member_id stand_in_id? from_on until_on note entered_at entered_by? cancelled_at? seen_at?",
    "departure": "org_id id member_id leaves_on to_member_id? to_post_id? about entered_at entered_by? done_at? "
    "withdrawn_at?",
    "mail_message": "org_id id token message_id recipient_id sent_to subject body sha256 handed_over_at",
    "delivery_hold": "org_id id held_at cause released_at? released_by?",
    "database_identity": "id system_identifier timeline_id noticed_at changed_at?",
    "mail_transport": "id opened_at? retry_at? faults reason? worked_at?",
}
# Of no organisation by their nature.
GLOBAL = {
    "organisation", "account", "remembered_phone", "scheduler_process", "alembic_version", "database_identity",
    "mail_transport", "trail_key", "installation",
}  # fmt: skip
CLAIM_KEY = {"org_id", "rule_id", "subject_id", "threshold", "due_on"}

# Every CHECK that holds a column to words: the enum of the domain, or the words of DESIGN where there is none.
WORDS: dict[str, Iterable[str]] = {
    "acknowledgement_answer_check": Answer,
    "alert_rule_channels_check": Channel,
    "alert_rule_only_if_check": OnlyIf,
    "delivery_because_check": Because,
    "departure_about_check": Held,
    "delivery_channel_check": Channel,
    "delivery_reason_check": (*Reason, *Fate),
    "delivery_resolution_check": Resolution,
    "scheduler_process_kind_check": ("scheduler", "command"),
    "delivery_state_check": State,
    "delivery_timed_by_check": TimedBy,
    "import_run_contents_check": Contents,
    "import_upload_contents_check": Contents,
    "export_run_format_check": ReportFormat,
    "import_work_wish_check": ImportWish,
    "kind_recurrence_basis_check": Basis,
    "kind_wording_check": ("expires", "falls_due"),
    "member_role_check": Role,
    "notification_ledger_reason_check": Reason,
    "notification_ledger_standing_check": Standing,
    "obligation_filing_result_check": FilingResult,
    "obligation_in_force_meanwhile_check": InForce,
    "obligation_outcome_check": Outcome,
    "rule_threshold_threshold_check": (PATTERN,),
    "scan_run_trigger_check": ("schedule", "command", "start"),
    "subject_recurrence_basis_check": Basis,
    "subject_status_check": Status,
}

COLUMNS = """
    select table_name::text, column_name::text, data_type, is_nullable, column_default, identity_generation
    from information_schema.columns where table_schema = 'public'"""
CONSTRAINTS = """
    select conrelid::regclass::text, conname::text, contype::text, pg_get_constraintdef(oid) from pg_constraint
    where connamespace = 'public'::regnamespace and contype <> 'n'"""
INDEXES = "select tablename::text, indexname::text, indexdef from pg_indexes where schemaname = 'public'"
POLICIES = "select tablename::text, policyname::text, qual, with_check from pg_policies"
GRANTS = """
    select table_name::text, column_name::text, grantee::text, privilege_type
    from information_schema.column_privileges where grantee in ('onus_web', 'onus_scheduler')
    union select table_name::text, '', grantee::text, privilege_type
    from information_schema.table_privileges where grantee in ('onus_web', 'onus_scheduler')"""
SHAPE = (COLUMNS, CONSTRAINTS, INDEXES)
LEFT = """
    select relname::text from pg_class where relnamespace = 'public'::regnamespace and relname !~ '^alembic_version'
    union select typname from pg_type where typnamespace = 'public'::regnamespace and typname !~ '^_?alembic_version'
    union select proname from pg_proc where pronamespace = 'public'::regnamespace"""
KEYS = """
    select c.relname || '.' || i.relname,
           array(select pg_get_indexdef(x.indexrelid, n, true) from generate_series(1, x.indnkeyatts) n)
    from pg_index x join pg_class c on c.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
    where x.indisunique and c.relnamespace = 'public'::regnamespace and c.relname <> all (%s)"""
REFERENCES = """
    select f.conrelid::regclass || '.' || f.conname, f.confrelid::regclass::text, array_agg(
             (select attname::text from pg_attribute where attrelid = f.conrelid and attnum = f.conkey[n]) || ' = ' ||
             (select attname::text from pg_attribute where attrelid = f.confrelid and attnum = f.confkey[n]) order by n)
    from pg_constraint f, generate_subscripts(f.conkey, 1) n
    where f.contype = 'f' and f.conrelid::regclass::text <> all (%s) group by f.oid, 1, 2"""

Database = psycopg.Connection[Any]


@pytest.fixture
def database(shared_app: Flask, worker: str) -> Iterator[Database]:
    """The database of this worker, as superuser, to be looked at."""
    with psycopg.connect(url_of(worker, "postgres"), autocommit=True) as connection:
        yield connection


@pytest.fixture
def blank(worker: str) -> str:
    """The name of a database without anything."""
    name = f"blank_{worker}"
    create_database(name)
    with psycopg.connect(url_of(name, "postgres"), autocommit=True) as connection:
        connection.execute("drop schema public cascade; create schema public")
    return name


def columns(database: Database) -> dict[str, dict[str, tuple[str, bool]]]:
    """By table and column: its type, and whether it may be empty."""
    found: dict[str, dict[str, tuple[str, bool]]] = {}
    for table, column, kind, nullable, *_ in database.execute(COLUMNS):
        found.setdefault(table, {})[column] = (kind, nullable == "YES")
    return found


def described(database: Database, *parts: str) -> set[tuple[Any, ...]]:
    rows = {row for part in parts for row in database.execute(part)}
    return {row for row in rows if row[0] != "alembic_version"}


def test_the_tables_and_columns_of_the_contract_exist(database: Database) -> None:
    there = columns(database)
    faults = [
        f"{table}.{name}"
        for table, names in CONTRACT.items()
        for name in names.split()
        if name.rstrip("?") not in there.get(table, {}) or (name[-1] == "?" and not there[table][name[:-1]][1])
    ]
    assert faults == []
    assert there.keys() == CONTRACT.keys() | {"alembic_version"}, "a table that the contract does not know, or lacks"


def test_there_is_one_line_of_migrations_numbered_without_gaps() -> None:
    scripts = ScriptDirectory(str(beside("migrations")))
    assert len(scripts.get_heads()) == 1
    line = [script.revision for script in scripts.walk_revisions()][::-1]
    assert line == [f"{number:04}" for number in range(1, len(line) + 1)]
    assert sorted(file.name[:5] for file in Path(scripts.versions).glob("*.py")) == [f"{number}_" for number in line]


def test_db_check_finds_no_difference(shared_app: Flask) -> None:
    with shared_app.app_context():
        flask_migrate.check()


def test_the_migrations_make_what_the_models_say(database: Database, blank: str) -> None:
    """All of it, CHECKs and defaults too, which `db check` does not compare (H42).

    Primary keys are read off the models: SQLAlchemy's own DDL puts their identity first.
    """
    url = url_of(blank, "postgres").replace("postgresql://", "postgresql+psycopg://")
    Base.metadata.create_all(create_engine(url, poolclass=NullPool))
    with psycopg.connect(url_of(blank, "postgres")) as other:
        right, found = ({row for row in described(seen, *SHAPE) if "pkey" not in row[1]} for seen in (other, database))
    assert found ^ right == set()
    assert len(right) > 300
    keys = {
        (table.name, f"PRIMARY KEY ({', '.join(column.name for column in table.primary_key)})")
        for table in Base.metadata.tables.values()
    }
    assert {(table, key) for table, _, kind, key in described(database, CONSTRAINTS) if kind == "p"} == keys


def test_the_migrations_go_up_and_down_and_up_again(worker: str) -> None:
    name = f"schema_{worker}"
    create_database(name)
    parts = (*SHAPE, POLICIES, GRANTS)
    with (
        psycopg.connect(url_of(name, "postgres"), autocommit=True) as seen,
        create_app(settings_of(name)).app_context(),
    ):
        before = described(seen, *parts)
        flask_migrate.downgrade(revision="base")
        assert described(seen, *parts, LEFT) == set()
        flask_migrate.upgrade()
        assert described(seen, *parts) ^ before == set()
        db.engine.dispose()


def test_a_check_holds_each_column_to_the_words_of_the_domain(database: Database) -> None:
    found = {name: words(definition) for _, name, kind, definition in database.execute(CONSTRAINTS) if kind == "c"}
    lists = re.compile(r"CHECK \(\(\w+ = ANY \(ARRAY")
    listing = {name for _, name, _, definition in database.execute(CONSTRAINTS) if lists.match(definition)}
    assert listing <= WORDS.keys(), "a CHECK that this test does not know"
    for name, right in WORDS.items():
        assert found.get(name) == sorted(right), name
    assert set(found["delivery_lease_check"]) == {State.leased, State.handing_over}


def words(definition: str) -> list[str]:
    return sorted(re.findall(r"'([^']*)'::text", definition))


def test_only_what_belongs_to_no_organisation_lacks_its_id(database: Database) -> None:
    assert {table for table, names in columns(database).items() if "org_id" not in names} == GLOBAL


def test_every_key_of_an_organisations_table_leads_with_it(database: Database) -> None:
    keys = database.execute(KEYS, (list(GLOBAL),)).fetchall()
    assert len(keys) > 25
    assert [key for key in keys if key[1][0] != "org_id" or len(key[1]) < 2] == []
    primary = {table for table, _, kind, _ in database.execute(CONSTRAINTS) if kind == "p"}
    assert columns(database).keys() - primary == set()


def test_no_row_can_point_into_another_organisation(database: Database) -> None:
    references = database.execute(REFERENCES, (list(GLOBAL),)).fetchall()
    assert len(references) > 40
    outside = {("organisation", ("org_id = id",)), ("account", ("account_id = id",))}
    assert [
        name
        for name, table, pairs in references
        if (pairs[0] != "org_id = org_id" or len(pairs) < 2) and (table, tuple(pairs)) not in outside
    ] == []


def test_nothing_cascades_triggers_or_is_lost_in_a_crash(database: Database) -> None:
    acting = "select conname from pg_constraint where contype = 'f' and (confdeltype, confupdtype) <> ('a', 'a')"
    triggers = "select tgname from pg_trigger where not tgisinternal union select evtname from pg_event_trigger"
    rules = "select rulename from pg_rules where schemaname = 'public'"
    unlogged = "select relname from pg_class where relnamespace = 'public'::regnamespace and relpersistence <> 'p'"
    late = "select conname from pg_constraint where condeferrable or not convalidated"
    for statement in (acting, triggers, rules, unlogged, late):
        assert database.execute(statement).fetchall() == [], statement


def test_days_are_dates_and_instants_have_a_zone(database: Database) -> None:
    types = [(f"{t}.{name}", kind) for t, names in columns(database).items() for name, (kind, _) in names.items()]
    days = [(name, kind) for name, kind in types if name.endswith("_on")]
    instants = [(name, kind) for name, kind in types if name.endswith(("_at", ".at"))]
    assert len(days) > 10
    assert len(instants) > 20
    assert [day for day in days if day[1] != "date"] == []
    assert [instant for instant in instants if instant[1] != "timestamp with time zone"] == []
    assert [name for name, kind in types if kind in {"timestamp without time zone", "time with time zone"}] == []


def test_the_key_of_a_claim_is_these_five_columns_none_of_them_empty(database: Database) -> None:
    key = """
        select k.column_name::text, c.is_nullable from information_schema.key_column_usage k
        join information_schema.columns c using (table_schema, table_name, column_name)
        where k.constraint_name = 'notification_once' and k.table_name = 'notification_ledger'"""
    assert set(database.execute(key)) == {(column, "NO") for column in CLAIM_KEY}


@pytest.fixture
def claimed(acme: Acme) -> Acme:
    """One claim of P-1 with one delivery in the app to Ana, made by a scan."""
    with acme.acting() as act:
        factories.member(act)
        factories.subject(act, due_on=dt.date(2027, 3, 20))
        factories.rule(act, thresholds=("30d",))
    with acme.watching() as act:
        assert scan(act).claimed == 1
    return acme


def again(table: str, then: str = "", **changed: str) -> Any:
    """The rows of the table once more, with another id, and what is changed by SQL."""
    names = [column.name for column in Base.metadata.tables[table].columns if column.name != "id"]
    chosen = [f"{changed[name]} as {name}" if name in changed else name for name in names]
    source = f"select {', '.join(chosen)} from {table} where id = :id"
    return text(f"insert into {table} ({', '.join(names)}) {source} {then}")


@pytest.mark.parametrize("change", [{"threshold": "'+7d'"}, {"threshold": "'4w'"}, {"due_on": "due_on + 1"}])
def test_the_same_claim_twice_is_one_row(claimed: Acme, change: dict[str, str]) -> None:
    """H24, also for the threshold after the due date; and P1 by the constraint alone."""
    with claimed.watching() as act:
        found = act.run("select id from notification_ledger").scalar_one()
        nothing = f"on conflict ({', '.join(CLAIM_KEY)}) do nothing"
        for count in (1, 0):
            assert act.session.execute(again("notification_ledger", nothing, **change), {"id": found}).rowcount == count
        with pytest.raises(IntegrityError) as refused, act.session.begin_nested():
            act.session.execute(again("notification_ledger", **change), {"id": found})
        assert diagnosis(refused.value) == ("23505", "notification_once")
        assert act.run("select count(*) from notification_ledger").scalar_one() == 2


def test_a_claim_has_a_threshold(claimed: Acme) -> None:
    with claimed.watching() as act:
        found = act.run("select id from notification_ledger").scalar_one()
        for column in sorted(CLAIM_KEY - {"org_id"}):
            with pytest.raises(IntegrityError) as refused, act.session.begin_nested():
                act.session.execute(again("notification_ledger", **{column: "null"}), {"id": found})
            assert diagnosis(refused.value) == ("23502", None), column


def test_a_claim_goes_to_a_recipient_through_a_channel_once(claimed: Acme) -> None:
    """P2: although no delivery is resent here, so that `resend_of` is empty twice."""
    with claimed.watching() as act:
        first = act.run("select id from delivery where resend_of is null").scalar_one()
        with pytest.raises(IntegrityError) as refused, act.session.begin_nested():
            act.session.execute(again("delivery"), {"id": first})
        assert diagnosis(refused.value) == ("23505", "delivery_once")
        assert act.session.execute(again("delivery", resend_of="id"), {"id": first}).rowcount == 1
        for twice, constraint in (({}, "delivery_once"), ({"channel": "'email'"}, "delivery_resent_once")):
            with pytest.raises(IntegrityError) as refused, act.session.begin_nested():
                act.session.execute(again("delivery", resend_of="id", **twice), {"id": first})
            assert diagnosis(refused.value) == ("23505", constraint)


def diagnosis(fault: IntegrityError) -> tuple[str, str | None]:
    assert isinstance(fault.orig, psycopg.Error)
    return str(fault.orig.sqlstate), fault.orig.diag.constraint_name


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Pacific/Kiritimati"])
def test_a_due_date_stays_the_same_day_whatever_the_zone_of_the_session(acme: Acme, zone: str) -> None:
    """H07, the part of the database: saved five times, read back, and claimed."""
    due_on = dt.date(2027, 2, 28)
    in_zone = sql.SQL("set local timezone to {}").format(sql.Literal(zone)).as_string()
    with acme.acting() as act:
        act.run(in_zone)
        made = factories.subject(act, due_on=due_on)
        factories.rule(act, thresholds=("30d",))
        for _ in range(5):
            act.run("update obligation set due_on = :due where subject_id = :id", {"due": due_on, "id": made.id})
            assert act.run("select due_on, due_on::text from obligation").all() == [(due_on, "2027-02-28")]
    with acme.watching() as act:
        act.run(in_zone)
        scan(act)
        days = act.run("select due_on, due_on::text, crossed_on from notification_ledger").all()
        assert days == [(due_on, "2027-02-28", dt.date(2027, 1, 29))]
