"""A holiday with a stand-in, a departure, and whoever acts when nobody does, by commands alone."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pytest
from flask import Flask

from app.operations import register
from tests import factories
from tests.factories import NOW, Acme
from tests.operations.story import march
from tests.operations.test_commands import Onus, onus

__all__ = ["onus"]
HAL, GIL, IVO = "hal@acme.example", "gil@acme.example", "ivo@acme.example"
RULES = """
[[rule]]
name = "Permits"
thresholds = ["7d"]
channels = ["in_app"]
to = ["owner"]

[[rule]]
name = "Above"
thresholds = ["5d"]
channels = ["in_app"]
to = ["post:Plant manager"]
only_if = "nobody_on_it"
"""
TOLD = """
select m.name, l.threshold from delivery x join notification_ledger l on l.id = x.claim_id
join member m on m.id = x.recipient_id where x.state = 'delivered' order by x.id"""


class Days:
    """The watch by commands, on the day of March that is named last."""

    def __init__(self, acme: Acme, onus: Onus, app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
        self.acme, self.onus, self.app, self.monkeypatch = acme, onus, app, monkeypatch

    def on(self, day: int) -> None:
        settings = replace(self.app.extensions["onus_settings"], clock=NOW + dt.timedelta(days=day - 1))
        self.monkeypatch.setitem(self.app.extensions, "onus_settings", settings)

    def told(self) -> list[tuple[str, str]]:
        """After a scan and a delivery: who was told so far, and of what, in this order."""
        self.onus.json("scan")
        self.onus.json("deliver")
        with self.acme.watching() as act:
            return [tuple(row) for row in act.run(TOLD)]


@pytest.fixture
def days(acme: Acme, onus: Onus, app: Flask, monkeypatch: pytest.MonkeyPatch) -> Days:
    return Days(acme, onus, app, monkeypatch)


def test_a_holiday_and_a_departure_by_commands(acme: Acme, onus: Onus, days: Days) -> None:
    on, told = days.on, days.told
    with acme.acting() as act:
        factories.member(act, "ana@acme.example", "admin")
        gil = factories.member(act, GIL, "staff", name="Gil")
        for email in (HAL, IVO):
            factories.member(act, email, "staff", name=email[:3].capitalize())
        register.assign(act, factories.subject(act, "P-1", march(9)), member_id=gil)
        factories.rule(act, thresholds=("7d", "5d", "3d"), to=("owner",))
    away = ("member", "away", GIL, "--from", "2027-03-03", "--until", "2027-03-04")
    assert onus.json(*away, "--stand-in", HAL)["changed"]
    assert "is away from 2027-03-03 until 2027-03-04 already" in onus.refusal(*away)
    circle = ("member", "away", HAL, "--from", "2027-03-04", "--until", "2027-03-09", "--stand-in", GIL)
    assert "choose somebody else" in onus.refusal(*circle)
    on(2)
    assert told() == [("Gil", "7d")]
    on(3)
    assert told() == [("Gil", "7d"), ("Hal", "7d")]
    on(4)
    assert told()[2:] == [("Hal", "5d")]
    assert onus.changed("member", "back", GIL)
    assert not onus.changed("member", "back", GIL)
    on(5)
    assert told()[3:] == [], "nothing is told twice"
    assert "There is no such post" in onus.refusal("member", "leaving", GIL, "--on", "2027-03-06", "--to", "post:boss")
    assert onus.changed("member", "leaving", GIL, "--on", "2027-03-06", "--to", IVO)
    on(6)
    assert told()[3:] == [("Ivo", "3d")], "the sharpest speaks for the others"
    assert onus.json("owed")["owed"] == 0
    assert onus.json("member", "away", IVO, "--from", "2027-03-07", "--until", "2027-03-20")["stand_in_id"] is None
    assert onus.changed("member", "staying", GIL)


def test_a_plant_manager_is_told_only_because_nobody_acted(acme: Acme, onus: Onus, days: Days, tmp_path: Path) -> None:
    """A promise holds the alert back through its last day; on the day after its last day the alert comes, once."""
    with acme.acting() as act:
        gil = factories.member(act, GIL, "staff", name="Gil")
        factories.member(act, IVO, "staff", name="Ivo")
        register.assign(act, factories.subject(act, "P-1", march(9)), member_id=gil)
    (tmp_path / "rules.toml").write_text(RULES)
    onus.json("post", "add", "Plant manager")
    onus.json("post", "assign", "Plant manager", IVO, "--site", "Madrid")
    onus.json("rules", "apply", str(tmp_path / "rules.toml"))
    days.on(2)
    assert days.told() == [("Gil", "7d")]
    answered = ("acknowledge", "P-1", "--as", GIL, "--answer", "on_it", "--until")
    assert "is over already" in onus.refusal(*answered, "2027-03-01")
    assert onus.changed(*answered, "2027-03-05")
    for day in (4, 5):
        days.on(day)
        assert days.told() == [("Gil", "7d")], "Gil is on it"
        assert onus.json("owed")["owed"] == 0
    days.on(6)
    assert onus.run("owed").exit_code == 1, "the promise has lapsed"
    for _ in range(2):
        assert days.told() == [("Gil", "7d"), ("Ivo", "5d")]
    assert onus.json("owed")["owed"] == 0
