"""The commands of calendars: days off and a site's place, with a dry run; the list of addresses, and revoking one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from click.testing import CliRunner
from flask import Flask

from app.ledger.scan import scan
from app.operations import feeds
from tests import factories
from tests.factories import NOW, Acme
from tests.operations.story import march
from tests.operations.test_commands import Onus
from tests.people import OFFICER


@pytest.fixture
def onus(acme: Acme, app: Flask, monkeypatch: pytest.MonkeyPatch) -> Onus:
    with acme.acting() as act:
        acme.members["Ana"] = factories.member(act, OFFICER, name="Ana")
        factories.subject(act, "P-1", march(16))
        factories.rule(act, thresholds=("10bd",))
    monkeypatch.setitem(app.extensions, "onus_settings", replace(app.extensions["onus_settings"], clock=NOW))
    return Onus(CliRunner())


def test_days_off_are_tried_dry_then_added_listed_and_removed(acme: Acme, onus: Onus) -> None:
    words = ["site", "day-off", "add", "2027-03-08", "--until", "2027-03-09", "--name", "Fair", "--site", "Madrid"]
    dry = onus.json(*words, "--dry-run")
    assert (dry["changed"], dry["dry_run"], dry["day_off_id"], dry["moved"], dry["earlier"]) == (
        False,
        True,
        None,
        1,
        1,
    )
    assert onus.json("site", "day-off", "list") == {"days_off": []}
    made = onus.json(*words)
    (row,) = onus.json("site", "day-off", "list", "--site", "Madrid")["days_off"]
    assert (row["id"], row["name"], row["first"], row["until"], row["yearly"]) == (
        made["day_off_id"], "Fair", "2027-03-08", "2027-03-09", False,
    )  # fmt: skip
    assert made["moves"] == dry["moves"]
    (move,) = made["moves"]
    assert (move["reference"], move["threshold"], move["old"], move["new"]) == (
        "P-1", "10bd", "2027-03-02", "2027-02-26",
    )  # fmt: skip
    with acme.watching() as act:
        assert scan(act).claimed == 1
    assert "P-1" not in onus.run("site", "day-off", "remove", str(row["id"]), "--dry-run").stdout, "it was raised"
    assert onus.changed("site", "day-off", "remove", str(row["id"]))
    assert "no days off with the number" in onus.refusal("site", "day-off", "remove", str(row["id"]))
    assert "before the first day" in onus.refusal(*words[:3], "2027-03-08", "--until", "2027-03-01", "--name", "X")


def test_a_site_is_changed_and_what_is_not_given_stays(acme: Acme, onus: Onus) -> None:
    words = ["site", "change", "Madrid", "--country", "ES", "--region", "MD"]
    dry = onus.json(*words, "--dry-run")
    assert (dry["changed"], dry["moved"]) == (False, 0)
    assert onus.changed(*words)
    assert not onus.changed(*words)
    assert onus.json("site", "change", "Madrid", "--country", "CY")["moved"] == 1
    with acme.acting() as act:
        assert act.run("select name, timezone, country, region from site").one() == (
            "Madrid", "Europe/Madrid", "CY", None,
        )  # fmt: skip
    assert "time zone" in onus.refusal("site", "change", "Madrid", "--timezone", "Mars/Olympus")


def test_addresses_are_listed_and_revoked_by_their_number(acme: Acme, onus: Onus) -> None:
    with acme.acting() as act:
        token = feeds.make_feed(act, acme.members["Ana"], factories.site(act))
    (row,) = onus.json("feed", "list", "--member", OFFICER)["feeds"]
    assert (row["member"], row["email"], row["site"], row["last_read_at"]) == ("Ana", OFFICER, "Madrid", None)
    assert token not in onus.run("feed", "list").stdout
    assert onus.changed("feed", "revoke", str(row["id"]))
    assert not onus.changed("feed", "revoke", str(row["id"]))
    assert onus.json("feed", "list") == {"feeds": []}
    assert "no calendar address" in onus.refusal("feed", "revoke", "999999")
    with acme.acting() as act:
        actors = act.run("select actor from audit_event where type = 'calendar_feed_revoked'").scalars().all()
    assert actors == ["system:operator"]
