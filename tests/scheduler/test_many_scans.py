"""P1 with real processes: however many scans run at once, what has crossed is claimed exactly once.

The lock of the organisation only saves work: the same holds where it is taken away, and against a claim that another
session has written and not committed yet.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable
from typing import Any

import psycopg
import pytest
from flask import Flask

from app.operations import people
from tests import factories
from tests.factories import NOW, Acme
from tests.scheduler.conftest import Database, Onus, Running, iso, many_permits, owed_now, until

pytestmark = pytest.mark.real_commits

CLOCK = iso(NOW)  # 1 March 2027, noon in Madrid
AT_ONCE, WITHOUT_LOCK = 8, 4  # scans
MANY = int(os.environ.get("ONUS_TEST_OBLIGATIONS", "600"))  # `make long` has more.

COUNTED = ("claimed", "superseded", "reopened", "deliveries", "withdrawn", "cancelled")

Key = tuple[int, int, str, dt.date]


def expected(acme: Acme) -> tuple[set[Key], set[Key]]:
    """The keys that the oracle misses, and those of them that must be open: the last to come, in each family."""
    missing = owed_now(acme, NOW).missing
    keys = {(debt.rule_id, debt.subject_id, debt.threshold, debt.due_on) for debt in missing}
    sharpest: dict[tuple[int, int, dt.date], Key] = {}
    for rule, subject, threshold, due_on in keys:
        family = rule, subject, due_on
        if family not in sharpest or nominal(threshold) < nominal(sharpest[family][2]):
            sharpest[family] = (rule, subject, threshold, due_on)
    return keys, set(sharpest.values())


def nominal(threshold: str) -> int:
    """Days before the due date, all thresholds of this file being in days."""
    return -int(threshold[1:-1]) if threshold.startswith("+") else int(threshold[:-1])


def ledger(database: Database, standing: str = "%") -> list[Key]:
    return database.rows(
        "select rule_id, subject_id, threshold, due_on from notification_ledger where standing like %s", standing
    )


def reports(scans: Iterable[Running]) -> list[dict[str, Any]]:
    ends = [scan.ended() for scan in scans]
    assert [(end.code, end.err) for end in ends] == [(0, "")] * len(ends)
    return [end.json for end in ends]


def assert_each_claimed_once(database: Database, acme: Acme, keys: set[Key], opened: set[Key]) -> None:
    found = ledger(database)
    assert len(found) == len(keys)
    assert set(found) == keys
    assert set(ledger(database, "open")) == opened
    # One delivery for each open claim and each of its recipients, and none besides.
    assert database.rows("""
        select r.name, count(*), count(distinct (x.claim_id, x.recipient_id)), count(distinct x.claim_id)
        from delivery x join notification_ledger l on l.id = x.claim_id join alert_rule r on r.id = l.rule_id
        where l.standing = 'open' group by 1 order by 1""") == [
        ("Ahead", 2 * (ahead := count_of(database, "Ahead", opened)), 2 * ahead, ahead),
        ("Near", (near := count_of(database, "Near", opened)), near, near),
    ]
    assert database.value("select count(*) from delivery") == 2 * ahead + near
    # Each claim has one event of its own in the trail, and each delivery one.
    assert database.rows("select type, count(*) from audit_event where claim_id is not null group by 1 order by 1") == [
        ("claimed", len(opened)),
        ("delivery_due", 2 * ahead + near),
        ("superseded", len(keys) - len(opened)),
    ]
    assert owed_now(acme, NOW).count == 0


def count_of(database: Database, rule: str, keys: set[Key]) -> int:
    (rule_id,) = database.rows("select id from alert_rule where name = %s", rule)[0]
    return sum(key[0] == rule_id for key in keys)


def test_p1_eight_scans_at_once_claim_each_of_many_obligations_once(
    real_app: Flask, onus: Onus, database: Database
) -> None:
    acme = factories.acme()
    many_permits(acme, MANY)
    keys, opened = expected(acme)
    crossed = len({(subject, due_on) for _, subject, _, due_on in keys})
    assert 0.65 < crossed / MANY < 0.75  # Those due until 30 May.
    assert len(keys) > 1.5 * MANY

    with database.judging(acme):
        scans = [onus.start("scan", "--json", ONUS_CLOCK=CLOCK) for _ in range(AT_ONCE)]
        until(lambda: database.waiting("advisory") == AT_ONCE, "all scans at the start")
    done = reports(scans)

    assert sum(report["claimed"] for report in done) == len(opened)
    assert sum(report["superseded"] for report in done) == len(keys) - len(opened)
    assert sum(report["deliveries"] for report in done) == database.value("select count(*) from delivery")
    assert_each_claimed_once(database, acme, keys, opened)
    again, owed = onus.start("scan", "--json", ONUS_CLOCK=CLOCK), onus.start("owed", "--json", ONUS_CLOCK=CLOCK)
    assert reports([again]) == [dict.fromkeys(COUNTED, 0) | {"errors": [], "dry_run": False}]
    assert (owed.ended().code, owed.ended().json["owed"]) == (0, 0)


def test_p1_without_the_lock_the_constraint_alone_lets_a_claim_happen_once(
    real_app: Flask, onus: Onus, database: Database
) -> None:
    """A function of the lock's name that locks nothing stands before PostgreSQL's own in the search path."""
    acme = factories.acme()
    many_permits(acme, 1_000)
    keys, opened = expected(acme)
    take_the_lock_away(database)
    database.rows("delete from scan_queue")  # The rows of the queue would make the scans wait for each other.

    with database.other_session() as barrier:
        # Whoever waits here has read what is missing: all of it. They go on together.
        barrier.execute("lock table notification_ledger in exclusive mode")
        scans = [onus.start("scan", "--json", ONUS_CLOCK=CLOCK) for _ in range(WITHOUT_LOCK)]
        until(lambda: database.waiting("relation") == WITHOUT_LOCK, "all scans before their first claim")
        assert database.locks("advisory") == 0  # None of them has judged under a lock.
        barrier.rollback()
    done = reports(scans)

    assert sum(report["claimed"] for report in done) == len(opened)
    assert sum(report["superseded"] for report in done) == len(keys) - len(opened)
    assert_each_claimed_once(database, acme, keys, opened)


def take_the_lock_away(database: Database) -> None:
    database.rows("create schema without_lock")
    database.rows("grant usage on schema without_lock to public")
    database.rows(
        "create function without_lock.pg_advisory_xact_lock(integer, integer) returns void language sql as ''"
    )
    (name,) = database.rows("select current_database()")[0]
    database.rows(f'alter database "{name}" set search_path = without_lock, pg_catalog, public')


@pytest.mark.parametrize("commits", [True, False], ids=["committed", "rolled back"])
def test_p1_a_scan_waits_for_an_uncommitted_claim_and_goes_by_its_end(
    real_app: Flask, onus: Onus, database: Database, commits: bool
) -> None:
    acme = factories.acme()
    with acme.acting() as act:
        people.add_member(act, "ana@acme.example", "officer")
        factories.rule(act)
        subjects = [factories.subject(act, f"P-{n}", NOW.date() + dt.timedelta(20)).id for n in range(1, 4)]
    with database.other_session() as other:
        claim = insert_by_hand(other, subjects[1])
        scan = onus.start("scan", "--json", ONUS_CLOCK=CLOCK)
        until(lambda: database.waiting("transactionid") == 1, "the scan at the claim of the other")
        assert not scan.gone()
        assert ledger(database) == []
        other.commit() if commits else other.rollback()
    (done,) = reports([scan])

    assert done["claimed"] == (2 if commits else 3)
    claims = dict(database.rows("select subject_id, id from notification_ledger"))
    assert sorted(claims) == subjects
    assert len(ledger(database)) == 3
    assert (claims[subjects[1]] == claim) is commits
    # The claim of the other session has its recipient, too, and once.
    assert database.rows("select claim_id, count(*) from delivery group by 1 order by 1") == [
        (claim, 1) for claim in sorted(claims.values())
    ]
    assert owed_now(acme, NOW).count == 0


def insert_by_hand(session: psycopg.Connection[Any], subject: int) -> int:
    """The claim that a scan would write, from another session, uncommitted."""
    run = session.execute(
        "insert into scan_run (org_id, trigger, actor, started_at) "
        "select id, 'command', 'system:operator', %s from organisation returning id",
        (NOW,),
    ).fetchone()
    (claim,) = session.execute(
        """
        insert into notification_ledger (org_id, rule_id, rule_version, subject_id, site_id, obligation_id, reference,
               title, threshold, due_on, crossed_on, claimed_at, standing, scan_run_id)
        select s.org_id, r.id, r.version, s.id, s.site_id, o.id, s.reference, s.title, '30d', o.due_on, o.due_on - 30,
               %s, 'open', %s
        from subject s join obligation o on o.subject_id = s.id cross join alert_rule r where s.id = %s returning id""",
        (NOW, *(run or ()), subject),
    ).fetchone() or (None,)
    return int(claim)
