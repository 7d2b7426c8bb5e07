"""The processes `onus scheduler` and `onus web`: who ticks, what stops a tick, what does not, and who says so."""

from __future__ import annotations

import datetime as dt
import itertools
import signal
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from app.domain.calendars import today
from app.ledger.queue import changed
from app.operations import people
from app.trail.act import Act
from tests import factories
from tests.chaos.smtp_server import running
from tests.factories import Acme
from tests.scheduler.conftest import (
    ALL_STOPPED_WITHIN,
    Database,
    Onus,
    Running,
    fetch,
    free_port,
    health,
    iso,
    owed_now,
    until,
)

pytestmark = pytest.mark.real_commits

FAST = {"ONUS_SCAN_EVERY": "0.5", "ONUS_DELIVER_EVERY": "0.5"}
SCANNING = FAST | {"ONUS_DELIVER_EVERY": "3600"}
H01 = dt.datetime(2027, 3, 2, 11, tzinfo=dt.UTC)
MADRID = "Europe/Madrid"


def organisation(slug: str = "acme") -> Acme:
    """Ana is told 30 days before, by the real clock, and P-1 is 20 days before its due date."""
    acme = factories.acme(slug, now=dt.datetime.now(dt.UTC))
    with acme.acting() as act:
        people.add_member(act, "ana@acme.example", "officer")
        factories.rule(act, thresholds=("30d",))
        enter(act, "P-1")
    return acme


def enter(act: Act, reference: str, at: str = "Madrid") -> int:
    """An entry due in 20 days, with the queue row that the act of a person would leave."""
    entry = factories.subject(act, reference, today(dt.datetime.now(dt.UTC), MADRID) + dt.timedelta(20), at)
    changed(act, subject_id=entry.id)
    return entry.id


def add(acme: Acme, reference: str, **given: Any) -> int:
    with acme.acting() as act:
        return enter(act, reference, **given)


def claims(database: Database, acme: Acme) -> list[str]:
    rows = database.rows("select reference from notification_ledger where org_id = %s order by 1", acme.org)
    return [reference for (reference,) in rows]


def delivered(database: Database, acme: Acme) -> list[str]:
    """The claims that Ana has in the app, each as often as the trail says that it was delivered."""
    rows = database.rows(
        "select l.reference from audit_event e join notification_ledger l on l.id = e.claim_id "
        "where e.type = 'delivered' and l.org_id = %s order by 1",
        acme.org,
    )
    return [reference for (reference,) in rows]


def heart(database: Database, column: str, scheduler: Running) -> Any:
    """A column of the heartbeat of this process, None also where there is none yet."""
    rows = database.rows(f"select {column} from scheduler_process where pid = %s", scheduler.pid)
    return rows[0][0] if rows else None


def test_h01_of_two_schedulers_and_two_web_servers_only_the_schedulers_scan_and_an_alert_goes_out_once(
    real_app: Flask, onus: Onus, database: Database, tmp_path: Path
) -> None:
    acme = factories.acme("acme", "New York", "America/New_York")
    with acme.acting() as act:
        people.add_member(act, "dana@acme.example", "officer")
        factories.subject(act, "P-1", dt.date(2027, 4, 1), at="New York")
        factories.rule(act, thresholds=("30d",), channels=("email", "in_app"))
    with running(tmp_path) as mail:
        env = {"ONUS_SCAN_EVERY": "0.3", "ONUS_DELIVER_EVERY": "0.2", "ONUS_CLOCK": iso(H01)}
        watch_from_everywhere(onus, database, acme, env | {"ONUS_SMTP_URL": f"smtp://127.0.0.1:{mail.port}?tls=none"})
        assert [message["rcpts"] for message in mail.events("message")] == [["dana@acme.example"]]


def watch_from_everywhere(onus: Onus, database: Database, acme: Acme, env: dict[str, str]) -> None:
    """Two schedulers, `onus web` and a debugging `flask run` on one database, and what each of them does."""
    schedulers = [onus.start("scheduler", **env) for _ in range(2)]
    port, other_port = free_port(), free_port()
    web = onus.start("web", "--workers", "4", "--port", str(port), **env)
    other_web = onus.start_python("-m", "flask", "--app", "wsgi", "run", "--debug", "--port", str(other_port), **env)
    for scheduler in schedulers:
        scheduler.until_ticks(3)
    assert health(port)[0] == health(other_port)[0] == 200
    until(lambda: len(delivered(database, acme)) == 2, "both deliveries")
    until(lambda: all(heart(database, "delivered_at", scheduler) for scheduler in schedulers), "both delivered")

    assert [scheduler.stopped().code for scheduler in schedulers] == [0, 0]
    assert [web.gone(), other_web.gone()] == [False, False]
    assert claims(database, acme) == ["P-1"]
    assert database.rows("select channel, state, attempts from delivery order by 1") == [
        ("email", "delivered", 1),
        ("in_app", "delivered", 1),
    ]
    assert delivered(database, acme) == ["P-1", "P-1"]
    # Each scan is counted in the database, quiet ones in the row before them: all are those of the two schedulers.
    assert {pid for (pid,) in database.rows("select pid from scheduler_process")} == {one.pid for one in schedulers}
    scans = database.value("select sum(1 + quiet_scans) from scan_run where org_id = %s", acme.org)
    assert scans == sum(len(scheduler.logged("scanned")) for scheduler in schedulers) >= 6
    # With the schedulers gone nobody scans, and the web says so.
    add(acme, "P-2", at="New York")
    assert health(port)[0] == health(other_port)[0] == 503
    assert claims(database, acme) == ["P-1"]
    assert web.stopped().code == 0


def test_the_web_application_knows_no_scheduler(onus: Onus) -> None:
    looked = onus.start_python("-c", "import sys, wsgi; print(*sys.modules)").ended()
    assert looked.code == 0, looked.err
    modules = looked.out.split()
    assert "app.web.front" in modules
    assert [name for name in modules if name.startswith(("apscheduler", "app.scheduler"))] == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_lets_the_tick_end_that_runs(
    real_app: Flask, onus: Onus, database: Database, number: signal.Signals
) -> None:
    """The scan waits for a lock when the stop comes, gets it then, and commits whole."""
    acme = organisation()
    with database.judging(acme):
        scheduler = onus.start("scheduler", **SCANNING)
        until(lambda: database.waiting("advisory") >= 1, "the scan at the lock")
        scheduler.process.send_signal(number)
        until(lambda: scheduler.logged("scheduler_stopping"), "the stop")
        assert not scheduler.gone()
        assert claims(database, acme) == []
    ended = scheduler.ended(ALL_STOPPED_WITHIN)
    assert ended.code == 0
    assert claims(database, acme) == ["P-1"]
    assert database.rows("select finished_at is not null, claimed from scan_run") == [(True, 1)]
    assert [entry["drained"] for entry in scheduler.logged("scheduler_stopped")] == [True]
    assert heart(database, "stopped_at is not null and scanned_at is not null", scheduler) is True


def test_a_stop_cuts_off_a_tick_that_does_not_end_and_leaves_nothing_of_it(
    real_app: Flask, onus: Onus, database: Database
) -> None:
    acme = organisation()
    with database.other_session() as other:
        # A claim of somebody else, uncommitted: the scan has already written its record and taken the queue's rows.
        other.execute("lock table notification_ledger in exclusive mode")
        scheduler = onus.start("scheduler", **FAST)
        until(lambda: database.waiting("relation") >= 1, "the scan at its first claim")
        ended = scheduler.stopped()
        assert ended.code == 0
        assert [entry["drained"] for entry in scheduler.logged("scheduler_stopped")] == [False]
        assert heart(database, "stopped_at is not null", scheduler) is True
        until(lambda: database.waiting("relation") == 0, "the end of what was cut off")
    assert claims(database, acme) == []
    assert database.value("select count(*) from scan_run") == 0
    assert database.value("select count(*) from scan_queue where subject_id is not null") == 1


def test_a_stop_is_not_held_up_by_the_last_heartbeat(real_app: Flask, onus: Onus, database: Database) -> None:
    scheduler = onus.start("scheduler", **FAST)
    scheduler.until_ticks(1)
    with database.other_session() as migration:
        migration.execute("lock table scheduler_process in access exclusive mode")
        assert scheduler.stopped().code == 0


def test_h06_a_site_without_a_usable_zone_stops_only_itself(real_app: Flask, onus: Onus, database: Database) -> None:
    acme, other = organisation("acme"), organisation("other")
    with acme.acting() as act:
        people.add_site(act, "Olympus", MADRID)
        enter(act, "X-1", at="Olympus")
    database.rows("update site set timezone = 'Mars/Olympus' where name = 'Olympus'")
    port = free_port()
    scheduler, web = onus.start("scheduler", **FAST), onus.start("web", "--workers", "1", "--port", str(port), **FAST)
    scheduler.until_ticks(4)
    until(lambda: delivered(database, acme) and delivered(database, other), "the deliveries")

    assert (claims(database, acme), claims(database, other)) == (["P-1"], ["P-1"])
    assert delivered(database, acme) == delivered(database, other) == ["P-1"]
    # It is one error, kept once and not with each scan, and it names the site and the zone.
    errors = database.rows("select org_id, errors from scan_run where errors <> '[]'")
    assert len(errors) == 1
    ((org, (error,)),) = errors
    assert (org, error["org"], error["site"]) == (acme.org, "acme", "Olympus")
    assert "Mars/Olympus" in error["message"]
    # The ticks come on time: at least one within three times its interval, on however busy a machine.
    starts = [dt.datetime.fromisoformat(entry["timestamp"]) for entry in scheduler.logged("scanned")]
    assert min((b - a).total_seconds() for a, b in itertools.pairwise(starts)) < 1.5
    assert {entry["errors"] for entry in scheduler.logged("scanned")} == {1}
    # The watch is broken for that site, for a person; the process is healthy.
    status = onus("status", "--json", **FAST)
    assert status.code == 1
    assert status.json["problems"] == ["acme, Olympus: its time zone cannot be used, so nothing is watched there"]
    assert health(port)[0] == 200
    by_hand = onus("scan", "--json")
    assert (by_hand.code, by_hand.json["errors"]) == (1, [error])

    database.rows("update site set timezone = %s where name = 'Olympus'", MADRID)
    until(lambda: claims(database, acme) == ["P-1", "X-1"], "the claim of the mended site")
    until(lambda: scheduler.logged("scanned")[-1]["errors"] == 0, "a scan without errors")
    assert (scheduler.stopped().code, web.stopped().code) == (0, 0)


def test_h06_a_failing_organisation_does_not_stop_the_others(real_app: Flask, onus: Onus, database: Database) -> None:
    """Its claims are refused by the database; later the records of its scans are, too."""
    failing, other = organisation("failing"), organisation("other")
    refuse(database, "notification_ledger", failing)
    scheduler = onus.start("scheduler", **FAST)
    until(lambda: delivered(database, other) == ["P-1"], "the delivery of the other")
    scheduler.until_ticks(2)
    assert claims(database, failing) == []
    (errors,) = database.rows("select errors from scan_run where org_id = %s order by id desc limit 1", failing.org)[0]
    assert [(error["org"], error["site"]) for error in errors] == [("failing", None)]
    assert "notification_ledger_refused" in errors[0]["message"]
    status = onus("status", "--json", **FAST)
    assert status.code == 1
    assert [problem for problem in status.json["problems"] if "the last scan failed" in problem] == [
        f"failing, all sites: the last scan failed: {errors[0]['message']}"
    ]

    refuse(database, "scan_run", failing)
    scheduler.until_ticks(2, beyond=len(scheduler.logged("scanned")))
    add(other, "P-2")
    until(lambda: delivered(database, other) == ["P-1", "P-2"], "another delivery of the other")
    by_hand = onus("scan", "--json")
    assert (by_hand.code, [error["org"] for error in by_hand.json["errors"]]) == (1, ["failing"])

    for table in ("notification_ledger", "scan_run"):
        database.rows(f"alter table {table} drop constraint {table}_refused")
    until(lambda: delivered(database, failing) == ["P-1"], "the delivery of the mended one")
    assert owed_now(failing, dt.datetime.now(dt.UTC)).count == 0
    assert scheduler.stopped().code == 0


def refuse(database: Database, table: str, acme: Acme, what: str = "true") -> None:
    """From now on the database takes no new row of this organisation in that table, if this holds for the row."""
    database.rows(
        f"alter table {table} add constraint {table}_refused check (not (org_id = {acme.org} and {what})) not valid"
    )


def test_h06_a_failing_delivery_does_not_stop_the_others(real_app: Flask, onus: Onus, database: Database) -> None:
    failing, other = organisation("failing"), organisation("other")
    refuse(database, "delivery", failing, "state = 'delivered'")
    scheduler = onus.start("scheduler", **FAST)
    until(lambda: delivered(database, other) == ["P-1"], "the delivery of the other")
    until(lambda: claims(database, failing) == ["P-1"], "the claim of the failing one")
    by_hand = onus("deliver", "--json")
    assert (by_hand.code, [error["org"] for error in by_hand.json["errors"]]) == (1, ["failing"])
    assert delivered(database, failing) == []
    database.rows("alter table delivery drop constraint delivery_refused")
    until(lambda: delivered(database, failing) == ["P-1"], "the delivery of the mended one")
    assert delivered(database, other) == ["P-1"]
    assert scheduler.stopped().code == 0


def test_the_watch_says_how_old_the_last_scan_is_and_that_the_loop_has_stopped(
    real_app: Flask, onus: Onus, database: Database
) -> None:
    port = free_port()
    web = onus.start("web", "--workers", "1", "--port", str(port), **FAST)
    status, said = health(port)
    assert (status, said["healthy"], said["last_scan_age_seconds"]) == (503, False, None)
    assert said["problems"] == ["no scheduler is running; start `onus scheduler`"]

    scheduler = onus.start("scheduler", **FAST)
    until(lambda: health(port)[0] == 200, "a healthy answer")
    scheduler.until_ticks(1)
    assert health(port)[1]["last_scan_age_seconds"] in range(5)

    # A minute without a sign: the process is stopped, and its last signs are put back by that much.
    scheduler.process.send_signal(signal.SIGSTOP)
    shift(database, "heartbeat_at", "61 seconds")
    status, said = health(port)
    assert (status, said["healthy"]) == (503, False)
    assert said["problems"][0].startswith("no scheduler is running: the last sign of one was at ")
    asked = onus("status", "--json", **FAST)
    assert (asked.code, asked.json["healthy"], asked.json["schedulers"][0]["alive"]) == (1, False, False)
    assert asked.json["problems"] == said["problems"]
    status, page = until(lambda: fetch(port, "/status"), "the page of the watch")
    assert status == 503
    assert "no scheduler is running" in page

    scheduler.process.send_signal(signal.SIGCONT)
    until(lambda: health(port)[0] == 200, "a healthy answer again")
    assert scheduler.stopped().code == 0
    assert health(port)[0] == 503  # At once: it said that it has stopped.
    assert web.stopped().code == 0


def shift(database: Database, column: str, by: str) -> None:
    database.rows(f"update scheduler_process set {column} = {column} - interval '{by}'")


def test_a_scan_that_hangs_is_a_broken_watch_although_the_process_beats(
    real_app: Flask, onus: Onus, database: Database
) -> None:
    acme = organisation()
    scheduler = onus.start("scheduler", **SCANNING)
    until(lambda: heart(database, "least(scanned_at, delivered_at)", scheduler), "both ticks")
    with database.judging(acme):
        until(lambda: database.waiting("advisory") == 1, "the scan at the lock")
        assert_not_scanning(onus, database, "scanned_at")
    assert scheduler.stopped().code == 0


def test_a_scheduler_that_hangs_in_its_first_scan_is_a_broken_watch(
    real_app: Flask, onus: Onus, database: Database
) -> None:
    acme = organisation()
    with database.judging(acme):
        scheduler = onus.start("scheduler", **SCANNING)
        until(lambda: database.waiting("advisory") == 2, "scan and delivery at the lock")
        assert_not_scanning(onus, database, "started_at")
    assert scheduler.stopped().code == 0


def assert_not_scanning(onus: Onus, database: Database, since: str) -> None:
    """Two scan intervals, and a minute at least, may pass without a scan. Five minutes have, and a person hears so."""
    shift(database, since, "5 minutes")
    status = onus("status", "--json", **FAST)
    assert (status.code, status.json["schedulers"][0]["alive"]) == (1, True)
    found = [problem for problem in status.json["problems"] if problem.startswith("the scheduler is running, but")]
    assert len(found) == 1, status.json["problems"]


def test_cut_connections_do_not_end_the_loop(real_app: Flask, onus: Onus, database: Database) -> None:
    acme = organisation()
    scheduler = onus.start("scheduler", **FAST)
    until(lambda: delivered(database, acme) == ["P-1"], "the first delivery")
    with database.judging(acme):  # Some of them are cut while they wait in the middle of a transaction.
        until(lambda: database.waiting("advisory") >= 2, "scan and delivery at the lock")
        assert cut(database) >= 2
    add(acme, "P-2")
    until(lambda: delivered(database, acme) == ["P-1", "P-2"], "the next delivery")
    cut(database)
    add(acme, "P-3")
    until(lambda: delivered(database, acme) == ["P-1", "P-2", "P-3"], "the delivery after that")
    scheduler.until_ticks(2, beyond=len(scheduler.logged("scanned")))
    assert claims(database, acme) == delivered(database, acme) == ["P-1", "P-2", "P-3"]
    assert scheduler.logged("database_lost") != []
    until(lambda: heart(database, "fault is null", scheduler), "a heartbeat without a fault")
    assert owed_now(acme, dt.datetime.now(dt.UTC)).count == 0
    assert scheduler.stopped().code == 0


def cut(database: Database) -> int:
    """Terminate every session of the run-time login in this database; their number."""
    return len(
        database.rows(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where datname = current_database() and usename = 'onus_run' and application_name = 'onus'"
        )
    )


def test_the_heartbeat_shows_the_fault_of_a_tick_as_long_as_it_fails(
    real_app: Flask, onus: Onus, database: Database
) -> None:
    acme = organisation()
    scheduler = onus.start("scheduler", **FAST)
    until(lambda: delivered(database, acme) == ["P-1"], "the first delivery")
    database.rows("revoke select on organisation from onus_scheduler")
    faults = "; ".join(f"{tick}_once: ProgrammingError" for tick in ("deliver", "export", "import", "scan", "seal"))
    until(lambda: heart(database, "fault", scheduler) == faults, "the faults in the heartbeat")
    status = onus("status", "--json", **FAST)
    assert status.code == 1
    reported = [problem.partition(" reports: ")[2] for problem in status.json["problems"] if " reports: " in problem]
    assert reported == [faults]  # Beside it, a scan that was at work when this began may have failed.
    database.rows("grant select on organisation to onus_scheduler")
    add(acme, "P-2")
    until(lambda: delivered(database, acme) == ["P-1", "P-2"], "the next delivery")
    until(lambda: heart(database, "fault is null", scheduler), "the end of the faults")
    assert scheduler.stopped().code == 0
