"""The commands owed, status and doctor: one JSON object alone, and the exit that a person or a monitor relies on."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from flask import Flask

from app import create_app
from app.cli import checks
from app.config import Settings
from app.database import SCHEDULER, transaction
from app.queries.watch import patience, watch_organisation
from tests import factories
from tests.factories import NOW, Acme
from tests.queries.test_watch import ARRIVED, DAY, HOUR, LATE, MINUTE, TODAY, beating, told
from tests.trail.conftest import sealed, signer_of


def run(*words: str) -> tuple[int, dict[str, Any]]:
    main = click.Group()
    checks.add_to(main)
    result = CliRunner().invoke(main, [*words, "--json"])
    return result.exit_code, json.loads(result.stdout)


@pytest.fixture
def stopped_clock(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The commands of this test run at NOW."""
    given = replace(app.extensions["onus_settings"], clock=NOW)
    monkeypatch.setitem(app.extensions, "onus_settings", given)
    return given


@pytest.mark.usefixtures("stopped_clock")
def test_status_of_a_running_watch(acme: Acme) -> None:
    told(acme, {"delivered_at": NOW}, [ARRIVED, {"channel": "email", "not_before": NOW - HOUR}])
    with acme.acting() as act:
        factories.subject(act, "D-1", status="draft")
    with acme.watching() as act:
        beating(act, dt.timedelta(seconds=3))
    code, status = run("status")
    assert (code, status["healthy"], status["problems"]) == (0, True, [])
    assert status["schedulers"][0]["alive"] is True
    assert status["schedulers"][0]["age_seconds"] == 3
    assert status["sites"] == [{
        "org": "acme", "site": "Madrid", "today": "2027-03-01", "scanned_through": "2027-03-01",
        "last_scan_at": "2027-03-01T11:00:00+00:00", "up_to_date": True,
    }]  # fmt: skip
    assert status["not_watched"]["total"] == status["not_watched"]["draft"] == 1
    assert status["pending"] == {"count": 1, "oldest_seconds": 3600}
    assert (status["deliveries"]["pending"], status["deliveries"]["delivered"]) == (1, 1)
    assert (status["undelivered"], status["email"]) == (0, "not configured")
    seal = status["seal"]
    assert (seal["oldest_unsealed_seconds"], seal["late"], seal["key_fault"]) == (0, False, None)
    assert [(log["org"], log["size"], log["at"]) for log in seal["logs"]] == [("acme", 0, None)]
    assert sealed(acme, signer_of(1)) is not None
    with acme.acting(NOW - dt.timedelta(seconds=90)) as act:
        act.record("moved")
    code, status = run("status")
    (log,) = status["seal"]["logs"]
    assert (code, status["healthy"]) == (0, True), "alerts are raised and sent without the seal"
    assert (status["seal"]["late"], log["unsealed_seconds"], log["at"]) == (True, 90, "2027-03-01T11:00:00+00:00")


@pytest.mark.usefixtures("stopped_clock")
def test_status_of_a_broken_watch_covers_all_organisations(acme: Acme) -> None:
    factories.acme("other", "Berlin", "Europe/Berlin")
    code, status = run("status")
    assert (code, status["healthy"]) == (1, False)
    assert status["problems"] == [
        "no scheduler is running; start `onus scheduler`",
        "acme, Madrid: not scanned yet",
        "other, Berlin: not scanned yet",
    ]
    assert run("status", "--org", "other")[1]["sites"][0]["site"] == "Berlin"


@pytest.mark.usefixtures("stopped_clock")
def test_owed_is_found_in_every_organisation_and_names_what_a_person_needs(acme: Acme) -> None:
    assert run("owed") == (0, {"owed": 0, "missing": [], "stalled": [], "unaddressed": []})
    other = factories.acme("other", "Berlin", "Europe/Berlin")
    with other.acting() as act:
        factories.subject(act, "B-7", TODAY + 5 * DAY, at="Berlin")
        factories.rule(act, "Permits", thresholds=["7d", "0d"])
    code, result = run("owed")
    assert (code, result["owed"]) == (1, 1)
    (debt,) = result["missing"]
    assert (debt["org"], debt["reference"], debt["rule"]) == ("other", "B-7", "Permits")
    assert (debt["threshold"], debt["due_on"], debt["claim_id"]) == ("7d", "2027-03-06", None)
    assert run("owed", "--org", "acme")[0] == 0


def test_patience_is_two_scan_intervals_and_never_less_than_a_minute(app: Flask) -> None:
    given: Settings = app.extensions["onus_settings"]
    assert patience(replace(given, scan_every=300.0)) == LATE
    assert patience(replace(given, scan_every=1.0)) == MINUTE


def test_the_scheduler_role_may_read_all_of_it(acme: Acme) -> None:
    with transaction(acme.org, SCHEDULER) as session:
        assert watch_organisation(session, acme.org, "acme", NOW, LATE).not_watched["total"] == 0


@pytest.mark.usefixtures("app")
def test_doctor_of_a_sound_installation() -> None:
    code, found = run("doctor")
    assert (code, found["ok"]) == (0, True)
    names = [check["name"] for check in found["checks"]]
    assert {"constraint notification_once", "row-level security", "run-time login", "e-mail", "secrets"} <= set(names)
    assert all(check["ok"] for check in found["checks"])


def test_doctor_says_what_to_do_where_the_database_cannot_be_reached(tmp_path: Path) -> None:
    nowhere = Settings(home=tmp_path, env="test", database_url=f"postgresql://onus@/onus?host={tmp_path}")
    with create_app(nowhere).app_context():
        code, found = run("doctor")
    assert (code, found["ok"]) == (1, False)
    broken = found["checks"][0]
    assert broken["name"] == "database"
    assert "ONUS_DATABASE_URL" in broken["remedy"]
    assert broken["found"].startswith("the database cannot be reached")
