"""Every row of the table of standings again, as an operator sees it: by the commands of the contract alone."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from flask import Flask

from app.cli import main
from tests.factories import Acme
from tests.ledger.conftest import Watch

ALL = ["90d", "30d", "7d", "0d", "+7d"]
CROSSED_30 = "2027-03-02T09:00:00+00:00"
CROSSED_7 = "2027-03-25T09:00:00+00:00"

PERMITS = """
[[rule]]
name = "Permits"
kinds = {kinds}
thresholds = {thresholds}
channels = ["in_app"]
to = ["role:officer"]
only_if = "{only_if}"
start = "{start}"
"""


@dataclass
class Shell:
    """The command line in an organisation of its own, at an instant that the test chooses."""

    app: Flask
    folder: Path
    set_clock: Callable[[dt.datetime], None]
    watch: Watch

    def at(self, instant: str) -> Shell:
        self.set_clock(dt.datetime.fromisoformat(instant))
        return self

    def __call__(self, *words: str, code: int = 0) -> dict[str, Any]:
        result = CliRunner().invoke(main, [*words, "--json"])
        assert result.exit_code == code, (words, result.stdout, result.stderr, result.exception)
        return dict(json.loads(result.stdout))

    def rules(
        self, thresholds: list[str] = ALL, kinds: str = "[]", only_if: str = "always", start: str = "now"
    ) -> dict[str, Any]:
        path = self.folder / "rules.toml"
        path.write_text(
            PERMITS.format(thresholds=json.dumps(thresholds), kinds=kinds, only_if=only_if, start=start).replace(
                "kinds = []\n", ""
            )
        )
        return self("rules", "apply", str(path))

    def ledger(self) -> dict[str, str]:
        return self.watch.ledger()


@pytest.fixture
def onus(app: Flask, acme: Acme, watch: Watch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Ana is an officer; P-1 falls due on 1 April 2027; the rule tells officers in the app."""

    def set_clock(instant: dt.datetime) -> None:
        monkeypatch.setitem(app.extensions, "onus_settings", replace(app.extensions["onus_settings"], clock=instant))
        acme.now = instant

    shell = Shell(app, tmp_path, set_clock, watch).at("2026-12-01T09:00:00+00:00")
    shell("member", "add", "ana@acme.example", "--role", "officer", "--name", "Ana")
    register = tmp_path / "register.csv"
    register.write_text("reference,title,due_on,kind\nP-1,Boiler permit,2027-04-01,permit\n")
    assert shell("import", "register", str(register))["new"] == 1
    shell.rules()
    return shell


def test_the_top_one_is_claimed_the_milder_ones_are_superseded_and_again_adds_nothing(onus: Shell) -> None:
    first = onus.at(CROSSED_7)("scan")
    assert {name: first[name] for name in ("claimed", "superseded", "reopened", "deliveries", "errors")} == {
        "claimed": 1, "superseded": 2, "reopened": 0, "deliveries": 1, "errors": [],
    }  # fmt: skip
    again = onus("scan")
    assert (again["claimed"], again["superseded"], again["reopened"], again["deliveries"]) == (0, 0, 0, 0)
    assert onus("owed")["owed"] == 0
    assert onus("deliver")["delivered"] == 1
    assert onus("deliver") == {
        "delivered": 0, "retried": 0, "failed": 0, "cancelled": 0, "in_doubt": 0, "pending": 0, "errors": [],
    }  # fmt: skip


def test_a_dry_run_says_it_and_leaves_nothing(onus: Shell) -> None:
    assert onus.at(CROSSED_7)("scan", "--dry-run")["claimed"] == 1
    assert onus.ledger() == {}
    assert onus("owed", code=1)["owed"] == 3


def test_open_and_untold_it_is_overtaken_by_a_sharper_one(onus: Shell) -> None:
    onus.at(CROSSED_30)("scan")
    onus.at(CROSSED_7)("scan")
    assert onus.ledger()["30d"] == "superseded (sharper)"


def test_told_it_stays_open(onus: Shell) -> None:
    onus.at(CROSSED_30)("scan")
    onus("deliver")
    onus.at(CROSSED_7)("scan")
    assert onus.ledger()["30d"] == "open"


AWAY_AND_BACK = {
    "closed": (
        ("obligation", "close", "P-1", "--met-on", "2027-03-01"),
        ("obligation", "reopen", "P-1", "--due-on", "2027-04-01", "--reason", "not_done"),
    ),
    "moved": (
        ("obligation", "move", "P-1", "--to", "2027-09-01", "--reason", "authority"),
        ("obligation", "move", "P-1", "--to", "2027-04-01", "--reason", "typing_error"),
    ),
    "rule_off": (("rules", "off", "Permits"), ("rules", "on", "Permits")),
    "snoozed": (
        ("subject", "snooze", "P-1", "--until", "2027-03-20", "--reason", "planned"),
        ("subject", "snooze", "P-1", "--take-back"),
    ),
    "archived": (("subject", "archive", "P-1", "--reason", "gone"), ("subject", "restore", "P-1")),
    "out_of_service": (("subject", "out-of-service", "P-1"), ("subject", "restore", "P-1")),
    "filed": (
        ("obligation", "file", "P-1", "--filed-on", "2027-03-01", "--in-force-meanwhile", "yes"),
        ("obligation", "file-end", "P-1", "--outcome", "refused", "--ended-on", "2027-03-02"),
    ),
}


@pytest.mark.parametrize("reason", AWAY_AND_BACK)
def test_untold_and_unwanted_it_is_withdrawn_and_wanted_again_it_is_open(onus: Shell, reason: str) -> None:
    away, back = AWAY_AND_BACK[reason]
    onus.at(CROSSED_30)("scan")
    assert onus(*away)["changed"] is True
    assert onus("deliver")["cancelled"] == 1
    assert f"withdrawn ({reason})" in onus.ledger().values()
    assert onus("scan")["reopened"] == 0
    assert onus(*back)["changed"] is True
    assert onus("owed", code=1)["owed"] == 1
    done = onus("scan")
    assert (done["claimed"], done["reopened"], done["deliveries"]) == (0, 1, 1)
    assert onus("owed")["owed"] == 0
    assert onus("deliver")["delivered"] == 1


@pytest.mark.parametrize("reason", AWAY_AND_BACK)
def test_told_and_unwanted_the_standing_stays_and_nothing_is_told_twice(onus: Shell, reason: str) -> None:
    away, back = AWAY_AND_BACK[reason]
    onus.at(CROSSED_30)("scan")
    onus("deliver")
    for act in (away, back):
        onus(*act)
        onus("scan")
    assert onus.watch.rows("select standing from notification_ledger where threshold = '30d'") == [("open",)]
    assert onus("deliver")["delivered"] == 0


def test_a_threshold_taken_out_and_put_in_again(onus: Shell) -> None:
    onus.at(CROSSED_7)("scan")
    onus.rules(["90d", "30d"])
    onus("scan")
    assert onus.ledger() == {"90d": "superseded (sharper)", "30d": "open", "7d": "withdrawn (threshold_off)"}
    onus.rules()
    onus("scan")
    assert onus.ledger() == {"90d": "superseded (sharper)", "30d": "superseded (sharper)", "7d": "open"}


def test_somebody_on_it_and_the_promise_lapsed(onus: Shell) -> None:
    onus.at(CROSSED_30)("scan")
    onus("deliver")
    onus("acknowledge", "P-1", "--as", "ana@acme.example", "--answer", "on_it", "--until", "2027-03-26")
    onus.rules(only_if="nobody_on_it")
    assert onus.at(CROSSED_7)("scan")["claimed"] == 0
    assert onus.at("2027-03-27T09:00:00+00:00")("scan")["claimed"] == 1


def test_start_next_is_silent_about_what_has_crossed_and_final(onus: Shell) -> None:
    onus("rules", "off", "Permits")
    onus.at(CROSSED_30)
    path = onus.folder / "next.toml"
    path.write_text(
        PERMITS.format(thresholds=ALL, kinds='["permit"]', only_if="always", start="next").replace("Permits", "N")
    )
    onus("rules", "apply", str(path))
    assert onus.ledger() == {"90d": "superseded (start)", "30d": "superseded (start)"}
    assert onus("scan")["claimed"] == 0
    assert onus.at(CROSSED_7)("scan")["claimed"] == 1


def test_an_import_with_start_next_is_silent_about_what_has_crossed(onus: Shell) -> None:
    onus.at(CROSSED_30)("scan")
    path = onus.folder / "more.csv"
    path.write_text("reference,due_on\nP-2,2027-03-20\nP-3,2027-06-30\n")
    onus("import", "register", str(path), "--start", "next")
    assert onus("scan")["claimed"] == 0
    assert onus("owed")["owed"] == 0
    assert onus.at("2027-04-01T09:00:00+00:00")("scan")["claimed"] == 3  # P-1 0d, P-2 +7d, P-3 90d.


def test_the_only_recipient_is_disabled(onus: Shell) -> None:
    """H13: nothing is told, nothing is burnt, and the audit view need not wait."""
    onus.at(CROSSED_30)("scan")
    onus("member", "disable", "ana@acme.example")
    assert onus("deliver")["cancelled"] == 1
    assert onus.ledger()["30d"] == "open (nobody_to_tell)"
    assert onus("status", code=1)["undelivered"] == 1
    onus("member", "enable", "ana@acme.example")
    assert onus("deliver")["delivered"] == 1


def test_h15_a_date_moved_away_by_mistake_and_back_is_told_once_a_threshold(onus: Shell) -> None:
    onus.at(CROSSED_30)("scan")
    onus("deliver")
    onus.at("2027-03-05T09:00:00+00:00")("obligation", "move", "P-1", "--to", "2027-09-01", "--reason", "other")
    onus("scan")
    onus.at("2027-03-06T09:00:00+00:00")("obligation", "move", "P-1", "--to", "2027-04-01", "--reason", "typing_error")
    told = 1
    for day in range(6, 27):
        onus.at(f"2027-03-{day:02}T09:00:00+00:00")("scan")
        told += onus("deliver")["delivered"]
    assert told == 2  # 30d on 2 March and 7d on 25 March, none on 6 March.


def test_h15_moved_before_it_was_told_the_next_comes_on_the_new_alert_day(onus: Shell) -> None:
    onus.at(CROSSED_30)("scan")
    onus("obligation", "move", "P-1", "--to", "2027-09-01", "--reason", "authority")
    assert onus("deliver")["delivered"] == 0
    onus.rules(["30d"])
    assert onus.at("2027-08-01T20:00:00+00:00")("scan")["claimed"] == 0
    assert onus.at("2027-08-01T22:00:00+00:00")("scan")["claimed"] == 1  # 2 August in Madrid.


def test_h04_down_over_the_alert_day(onus: Shell) -> None:
    onus.at("2027-01-01T09:00:00+00:00")("scan")
    onus("deliver")
    onus.at("2027-03-01T18:00:00+00:00")("scan")
    first = onus.at("2027-03-04T09:00:00+00:00")("scan")
    assert (first["claimed"], onus("scan")["claimed"]) == (1, 0)
    late = "select crossed_on, claimed_at::date from notification_ledger where threshold = '30d'"
    assert onus.watch.rows(late) == [(dt.date(2027, 3, 2), dt.date(2027, 3, 4))]
    assert onus.watch.rows("select scanned_through from watermark") == [(dt.date(2027, 3, 4),)]


def test_h05_forty_lapsed_entries_at_first_sight(onus: Shell) -> None:
    path = onus.folder / "old.csv"
    lines = [f"O-{n},{dt.date(2025, 1, 1) + dt.timedelta(days=17 * n)}" for n in range(40)]
    path.write_text("reference,due_on\n" + "\n".join(lines) + "\n")
    onus.at("2027-03-01T18:00:00+00:00")("scan")
    onus("import", "register", str(path))
    done = onus("scan")
    assert (done["claimed"], done["superseded"]) == (40, 160)
    assert (onus("scan")["claimed"], onus("deliver")["delivered"]) == (0, 41)


def test_h14_done_after_the_claim_and_before_the_delivery(onus: Shell) -> None:
    onus.at("2027-03-25T08:00:00+00:00")("scan")
    onus.at("2027-03-25T08:00:20+00:00")("obligation", "close", "P-1")
    done = onus.at("2027-03-25T08:00:30+00:00")("deliver")
    assert (done["delivered"], done["cancelled"]) == (0, 1)
    assert onus.watch.deliveries()[-1][3:] == ("cancelled", "closed")
