"""A holiday with a stand-in, and a departure, by commands alone."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest
from flask import Flask

from app.operations import register
from tests import factories
from tests.factories import NOW, Acme
from tests.operations.story import march
from tests.operations.test_commands import Onus, onus

__all__ = ["onus"]
HAL, GIL, IVO = "hal@acme.example", "gil@acme.example", "ivo@acme.example"


def test_a_holiday_and_a_departure_by_commands(
    acme: Acme, onus: Onus, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def on(day: int) -> None:
        settings = replace(app.extensions["onus_settings"], clock=NOW + dt.timedelta(days=day - 1))
        monkeypatch.setitem(app.extensions, "onus_settings", settings)

    def told() -> list[tuple[str, str]]:
        onus.json("scan")
        onus.json("deliver")
        rows = "select m.name, l.threshold from delivery x join notification_ledger l on l.id = x.claim_id "
        rows += "join member m on m.id = x.recipient_id where x.state = 'delivered' order by x.id"
        with acme.watching() as act:
            return [tuple(row) for row in act.run(rows)]

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
