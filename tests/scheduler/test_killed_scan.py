"""P4 under kill -9: a scan or delivery that dies leaves nothing half done, and the next one loses and doubles nothing.

Each test has two organisations with the same life. One is disturbed, its twin is not, and in the end nobody can tell.
"""

from __future__ import annotations

import datetime as dt
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from app.ledger.align import deliver
from app.ledger.scan import scan
from app.operations import obligations, people, register, rules
from app.operations.rule_contents import RuleText
from app.trail.act import Act
from tests import factories
from tests.factories import NOW, Acme
from tests.scheduler.conftest import Database, Onus, iso, many_permits, owed_now, until

pytestmark = pytest.mark.real_commits

BEGIN = dt.datetime(2026, 12, 1, 9, tzinfo=dt.UTC)
TOLD = dt.datetime(2027, 1, 5, 9, tzinfo=dt.UTC)
LAST_SCAN = dt.datetime(2027, 3, 1, 12, tzinfo=dt.UTC)
ACTS = LAST_SCAN + dt.timedelta(hours=1)
KILLED = dt.datetime(2027, 3, 2, 11, tzinfo=dt.UTC)  # less than a day after the last full scan: the queue decides

COMMAND = ("-m", "app", "scan")
# The scan of the scheduler, which looks only at what the queue names and what the new day brings.
TICK = (
    "-c",
    """
import sys
from app import create_app
from app.cli.common import find_org
from app.scheduler.ticks import scan_tick
with create_app().app_context():
    scan_tick(find_org(sys.argv[2]) if sys.argv[1:] else None)
""",
)

DUE = {"T-1": "2027-04-01", "S-1": "2027-03-09", "C-1": "2027-03-20", "B-1": "2027-03-22", "H-1": "2027-03-24"}


def a_life(acme: Acme) -> Acme:
    """Up to a scan at KILLED that has everything to do: claim, supersede, withdraw, reopen and route."""

    def do(now: dt.datetime, deed: Callable[[Act], Any]) -> None:
        with acme.watching(now) if deed in (scan, deliver) else acme.acting(now) as act:
            deed(act)

    do(BEGIN, furnish)
    do(TOLD, scan)
    do(TOLD, deliver)  # 90 days before each of them: told
    do(LAST_SCAN, scan)  # 30 days before all but T-1: still to be told
    do(LAST_SCAN, lambda act: move(act, "B-1", "2027-09-01"))
    do(LAST_SCAN, scan)  # … of which B-1 is withdrawn
    do(ACTS, change)
    return acme


def furnish(act: Act) -> None:
    people.add_member(act, "ana@acme.example", "officer", name="Ana")
    for name in ("Bruno", "Carla"):
        people.add_member(act, f"{name.lower()}@acme.example", "staff", name=name)
    for reference, due_on in DUE.items():
        enter(act, reference, due_on)
    register.assign(act, register.find_subject(act, "H-1"), member_id=member(act, "bruno"))
    text = RuleText(
        "Permits", thresholds=("90d", "30d", "7d", "0d"), channels=("in_app",), to=("role:officer", "owner")
    )
    rules.apply(act, [text])


def change(act: Act) -> None:
    """What the killed scan has to see: closed, moved back, handed over, and a late entry."""
    obligations.close(act, open_one(act, "C-1"), "met")
    move(act, "B-1", DUE["B-1"])
    register.assign(act, register.find_subject(act, "H-1"), member_id=member(act, "carla"))
    enter(act, "N-1", "2027-03-05")


def enter(act: Act, reference: str, due_on: str) -> None:
    site_id, kind_id = factories.site(act), factories.kind(act)
    entry = register.Entry(site_id, kind_id, reference=reference, due_on=dt.date.fromisoformat(due_on))
    register.add_subject(act, entry)


def open_one(act: Act, reference: str) -> int:
    return obligations.find_obligation(act, register.find_subject(act, reference)).id


def move(act: Act, reference: str, to: str) -> None:
    obligations.move(act, open_one(act, reference), dt.date.fromisoformat(to), "typing_error")


def member(act: Act, name: str) -> int:
    return people.find_member(act, f"{name}@acme.example").id


# All that a scan writes, in words that are the same for twins.
WRITTEN = {
    "ledger": """
      select l.reference, r.name, l.threshold, l.due_on, l.crossed_on, l.claimed_at, l.delivered_at, l.standing,
             l.reason
      from notification_ledger l join alert_rule r on r.id = l.rule_id where l.org_id = %s order by 1, 2, 3, 4""",
    "deliveries": """
      select l.reference, l.threshold, l.due_on, m.name, x.channel, x.because, x.state, x.reason, x.attempts,
             x.not_before
      from delivery x join notification_ledger l on l.id = x.claim_id join member m on m.id = x.recipient_id
      where x.org_id = %s order by 1, 2, 3, 4, 5""",
    "trail": """
      select l.reference, l.threshold, l.due_on, e.type, e.actor, e.at, count(*), count(u.event_id)
      from audit_event e join notification_ledger l on l.id = e.claim_id
      left join audit_unsealed u on u.org_id = e.org_id and u.event_id = e.id
      where e.org_id = %s group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6""",
    "watermark": "select scanned_through from watermark where org_id = %s",
    "scans": """
      select trigger, actor, started_at, is_full, claimed, superseded, reopened, withdrawn, deliveries, cancelled,
             errors
      from scan_run where org_id = %s and claimed + superseded + reopened + withdrawn > 0 order by started_at, id""",
}
QUEUE = "select count(*), max(n) from scan_queue where org_id = %s"
EMPTY = (0, None)


def written(database: Database, acme: Acme) -> dict[str, list[tuple[Any, ...]]]:
    return {what: database.rows(sql, acme.org) for what, sql in WRITTEN.items()}


def standings(database: Database, acme: Acme) -> dict[str, str]:
    rows = database.rows(
        "select reference || ' ' || threshold, standing, reason from notification_ledger "
        "where org_id = %s and threshold <> '90d' order by 1",
        acme.org,
    )
    return {claim: standing + (f" ({reason})" if reason else "") for claim, standing, reason in rows}


UNDISTURBED = {
    "B-1 30d": "open",  # reopened
    "C-1 30d": "withdrawn (closed)",
    "H-1 30d": "open",
    "N-1 30d": "superseded (sharper)",
    "N-1 7d": "open",
    "S-1 30d": "superseded (sharper)",  # overtaken
    "S-1 7d": "open",
    "T-1 30d": "open",
}


@pytest.mark.parametrize(
    ("way", "point"),
    [
        (COMMAND, "scan_taken"),
        (COMMAND, "scan_claimed"),
        (COMMAND, "scan_before_commit"),
        (COMMAND, "scan_after_commit"),
        (TICK, "scan_taken"),
        (TICK, "scan_before_commit"),
    ],
    ids=lambda given: {COMMAND: "command", TICK: "tick"}.get(given, given),
)
def test_p4_a_killed_scan_leaves_nothing_or_everything_and_the_next_one_makes_it_whole(
    real_app: Flask, onus: Onus, database: Database, way: tuple[str, ...], point: str
) -> None:
    acme, twin = (a_life(factories.acme(slug, now=BEGIN)) for slug in ("acme", "twin"))
    before, queued = written(database, acme), database.rows(QUEUE, acme.org)
    assert before == written(database, twin)
    assert queued[0][0] >= 4  # One for each thing that was changed.

    killed = onus.start_python(*way, "--org", "acme", ONUS_CLOCK=iso(KILLED), ONUS_FAILPOINTS=f"{point}:kill").ended()
    assert (killed.code, killed.out, killed.err) == (-signal.SIGKILL, "", "")
    after = written(database, acme)
    if point == "scan_after_commit":
        assert standings(database, acme) == UNDISTURBED
        assert database.rows(QUEUE, acme.org) == [EMPTY]
    else:
        assert after == before
        assert database.rows(QUEUE, acme.org) == queued

    again = onus.start_python(*way, ONUS_CLOCK=iso(KILLED)).ended()  # both organisations, undisturbed
    assert again.code == 0, again.err
    assert standings(database, twin) == UNDISTURBED
    assert written(database, acme) == written(database, twin)
    if point == "scan_after_commit":
        assert written(database, acme) == after
    for one in (acme, twin):
        assert database.rows(QUEUE, one.org) == [EMPTY]
        assert owed_now(one, KILLED).count == 0


def delivered(database: Database) -> list[tuple[Any, ...]]:
    """How many deliveries are in which state, after how many attempts, with how many events of their delivery."""
    return database.rows("""
        select x.state, x.attempts, e.events, count(*) from delivery x
        cross join lateral (select count(*) as events from audit_event e
                            where e.delivery_id = x.id and e.type = 'delivered') e
        group by 1, 2, 3 order by 1""")


def test_p3_a_killed_delivery_is_delivered_whole_and_once_by_the_next(
    real_app: Flask, onus: Onus, database: Database
) -> None:
    acme = factories.acme()
    many_permits(acme, 400)
    with acme.watching() as act:
        count = scan(act, trigger="command", full=True).deliveries
    assert count > 400
    nothing, everything = [("pending", 0, 0, count)], [("delivered", 1, 1, count)]

    killed = onus("deliver", ONUS_CLOCK=iso(NOW), ONUS_FAILPOINTS="deliver_in_app:kill")
    assert killed.code == -signal.SIGKILL
    assert delivered(database) == nothing

    # Another one hangs with all of it done and nothing committed; a third waits for it, until it is killed.
    hung = onus.start("deliver", ONUS_CLOCK=iso(NOW), ONUS_FAILPOINTS="deliver_in_app:stop")
    until(lambda: " T " in Path(f"/proc/{hung.pid}/stat").read_text(), "the stop at the failpoint")
    third = onus.start("deliver", "--json", ONUS_CLOCK=iso(NOW))
    until(lambda: database.waiting("advisory") == 1, "the third")
    assert delivered(database) == nothing
    assert hung.killed().code == -signal.SIGKILL
    done = third.ended()
    assert (done.code, done.json["delivered"], done.json["pending"]) == (0, count, 0)
    assert delivered(database) == everything

    again = onus("deliver", "--json", ONUS_CLOCK=iso(NOW))
    assert (again.code, again.json["delivered"]) == (0, 0)
    assert delivered(database) == everything
    assert database.rows("select 1 from notification_ledger where standing = 'open' and delivered_at is null") == []


def test_p4_a_scan_that_fails_is_one_error_and_kept_as_evidence(
    real_app: Flask, onus: Onus, database: Database
) -> None:
    acme, twin = (a_life(factories.acme(slug, now=BEGIN)) for slug in ("acme", "twin"))
    before = written(database, acme)
    failing = {"ONUS_CLOCK": iso(KILLED), "ONUS_FAILPOINTS": "scan_before_commit:raise"}
    error = {"org": "acme", "site": None, "message": "Failed: scan_before_commit"}

    one = onus("scan", "--org", "acme", "--json", **failing)
    assert (one.code, one.json["errors"], one.json["claimed"]) == (1, [error], 0)
    assert written(database, acme) == before
    evidence = "select trigger, finished_at, claimed, errors from scan_run where org_id = %s and errors <> '[]'"
    assert database.rows(evidence, acme.org) == [("command", KILLED, 0, [error])]
    assert database.rows(evidence, twin.org) == []

    # Where all fail, each is tried: the first one's fault did not end the scan.
    both = onus("scan", "--json", **failing)
    assert (both.code, both.json["errors"]) == (1, [error, error | {"org": "twin"}])
    assert len(database.rows(evidence, acme.org)) == 2

    sound = onus("scan", "--json", ONUS_CLOCK=iso(KILLED))
    assert (sound.code, sound.json["errors"], sound.json["claimed"]) == (0, [], 6)
    assert standings(database, acme) == standings(database, twin) == UNDISTURBED
    assert [owed_now(one, KILLED).count for one in (acme, twin)] == [0, 0]
