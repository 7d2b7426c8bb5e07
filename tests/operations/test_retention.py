"""A stated policy of retention: shown first, applied by the owner alone, under a tombstone, and the trail verifies."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from flask import Flask

from app.domain.errors import Refused
from app.domain.retention import Kept, policy_of, reach_of
from app.ledger.align import deliver
from app.ledger.scan import scan
from app.operations import obligations
from app.operations.retention import ranges_of
from app.trail.act import member_actor
from tests import factories
from tests.factories import NOW, Acme
from tests.operations.story import march
from tests.operations.test_commands import Onus
from tests.people import OFFICER

LATER = NOW + dt.timedelta(days=900)
LETTER = """
insert into mail_message (org_id, token, message_id, recipient_id, sent_to, subject, body, sha256, handed_over_at)
select :org, lease_token, message_id, :member, 'a@x', 's', 'Dear Ana', '0', :now
from delivery where lease_token is not null"""
LINES = """
insert into import_run (org_id, at, actor, file_name, file_sha256, mapping, counts, rows)
values (:org, :now, 'system:operator', 'a.csv', '0', '{}', '{"new": 1}', '[{"line": 2, "name": "Bruno"}]')"""
KEPT_FILE = """
insert into export_run (org_id, asked_at, ended_at, format, language, filters, sha256, content)
values (:org, :now, :now, 'csv', 'en', '{}', '0', 'x')"""
POLICY = ("--visits", "2y", "--messages", "1y", "--imports", "1y", "--reports", "90d")


@pytest.fixture
def lived(real_app: Flask, monkeypatch: pytest.MonkeyPatch) -> Acme:
    """900 days ago Ana signed in and looked, was told of P-1 (closed since) and P-2 (open); last week she looked again.
    The clock of the commands stands on the last day."""
    settings = replace(real_app.extensions["onus_settings"], clock=LATER)
    monkeypatch.setitem(real_app.extensions, "onus_settings", settings)
    acme = factories.acme()
    with acme.acting() as act:
        ana = factories.member(act, OFFICER)
        for reference in ("P-1", "P-2"):
            factories.subject(act, reference, march(20), owner_member_id=ana)
        factories.rule(act, thresholds=("30d",), to=("owner",))
        for sql in (LINES, KEPT_FILE):
            act.run(sql)
    with acme.watching() as act:
        assert scan(act).claimed == 2
        deliver(act)
    visit(acme, ana, NOW, "signed_in", "looked", "looked")
    with acme.acting(actor=member_actor(ana)) as act:
        due = act.run("select min(id) from obligation where org_id = :org").scalar_one()
        obligations.close(act, due, "met", met_on=march(1), member_id=ana)
    with acme.watching() as act:
        act.run("update delivery set lease_token = gen_random_uuid(), message_id = '<' || id || '@x>'")
        act.run(LETTER, {"member": ana})
    visit(acme, ana, LATER - dt.timedelta(days=7), "signed_in", "looked")
    acme.members["ana"] = ana
    return acme


def visit(acme: Acme, member: int, at: dt.datetime, *types: str) -> None:
    with acme.acting(at, actor=member_actor(member)) as act:
        for type in types:
            act.record(type, address="/o/acme/")


@pytest.fixture
def onus(lived: Acme) -> Onus:
    return Onus(CliRunner())


def counted(acme: Acme, sql: str) -> int:
    with acme.acting() as act:
        return int(act.run(f"select count(*) from {sql}").scalar_one())


def left(acme: Acme) -> dict[str, int]:
    return {
        "visits": counted(acme, "audit_event where type in ('signed_in', 'looked')"),
        "messages": counted(acme, "mail_message where body <> ''"),
        "imports": counted(acme, "import_run where rows <> '[]'"),
        "reports": counted(acme, "export_run where content is not null"),
    }


@pytest.mark.real_commits
def test_what_goes_is_shown_first_and_its_removal_can_be_verified(lived: Acme, onus: Onus, tmp_path: Path) -> None:
    before, after, part = tmp_path / "before.zip", tmp_path / "after.zip", tmp_path / "part.zip"
    onus.json("export", "trail", "--format", "bundle", "-o", str(before))
    whole = {"visits": 5, "messages": 2, "imports": 1, "reports": 1}
    shown = onus.json("retention", *POLICY)
    assert {lot["kept"]: lot["count"] for lot in shown["lots"]} == whole | {"visits": 3, "messages": 1}
    assert (shown["applied"], shown["lots"][0]["first_on"], shown["removed"]) == (False, "2027-03-01", 0)
    assert left(lived) == whole, "what is only shown stays"
    assert "--policy" in onus.refusal("retention", *POLICY, "--apply", "--confirm", "acme")
    assert "--confirm acme" in onus.refusal("retention", *POLICY, "--policy", "R 7", "--apply", "--confirm", "other")
    events = counted(lived, "audit_event")
    done = onus.json("retention", *POLICY, "--policy", " Rule 7 of\nthe board", "--apply", "--confirm", "acme")
    assert done["removed"] == 6
    assert left(lived) == {"visits": 2, "messages": 1, "imports": 0, "reports": 0}
    assert counted(lived, "audit_event") == events - 3 + 1
    assert counted(lived, "notification_ledger") == counted(lived, "delivery") == 2
    with lived.acting() as act:
        tomb = act.run("select actor, at, detail from audit_event where type = 'retention_applied'").one()
        assert act.run("select counts from import_run").scalar_one() == {"new": 1}
    assert (tomb.actor, tomb.at, tomb.detail["policy"]) == ("system:operator", LATER, "Rule 7 of the board")
    assert (tomb.detail["events"], tomb.detail["types"]) == (3, {"looked": 2, "signed_in": 1})
    assert sum(last - first + 1 for first, last in tomb.detail["ranges"]) == 3
    assert {kept: one["count"] for kept, one in tomb.detail["others"].items()} == {
        "messages": 1, "imports": 1, "reports": 1,
    }  # fmt: skip
    assert onus.json("retention", *POLICY, "--policy", "R 7", "--apply", "--confirm", "acme")["removed"] == 0
    assert counted(lived, "audit_event where type = 'retention_applied'") == 1, "again it leaves no second tombstone"
    onus.json("export", "trail", "--format", "bundle", "-o", str(after))
    verdict = onus.json("verify", str(after), "--checkpoint", str(before))
    assert (verdict["code"], verdict["scope"], verdict["events"]) == (0, "whole", verdict["size"] - 3)
    said = "3 events were removed by retention, last on 2029-08-17 under the policy “Rule 7 of the board”"
    assert said in verdict["sentence"]
    onus.json("export", "trail", "--format", "bundle", "-o", str(part), "--subject", "P-2")
    verdict = onus.json("verify", str(part), "--checkpoint", str(before))
    assert (verdict["code"], verdict["scope"], len(verdict["removed"])) == (0, "part", 1)


@pytest.mark.real_commits
def test_no_login_of_onus_removes_an_event(lived: Acme, onus: Onus, real_app: Flask, monkeypatch: Any) -> None:
    """The run-time login is all that this command is given: nothing goes, and nothing is left half done."""
    settings = real_app.extensions["onus_settings"]
    monkeypatch.setitem(real_app.extensions, "onus_settings", replace(settings, owner_url=settings.database_url))
    before = left(lived)
    said = onus.refusal("retention", *POLICY, "--policy", "R 7", "--apply", "--confirm", "acme")
    assert "ONUS_OWNER_URL" in said
    assert left(lived) == before


@pytest.mark.parametrize(
    ("ages", "said"),
    [
        ({}, "--visits 2y"),
        ({Kept.visits: "89d"}, "too young"),
        ({Kept.visits: "2"}, "is no age"),
        ({Kept.visits: "0y"}, "is no age"),
        ({Kept.visits: "99999y"}, "longer than there are dates"),
    ],
)
def test_a_policy_that_says_nothing_or_too_much_is_refused(ages: dict[Kept, str], said: str) -> None:
    with pytest.raises(Refused, match=said):
        policy_of(ages, "R 7").before(NOW)


def test_ages_go_by_the_calendar_and_ranges_are_runs_of_neighbours() -> None:
    assert reach_of("1y", dt.datetime(2028, 2, 29, tzinfo=dt.UTC)) == dt.datetime(2027, 2, 28, tzinfo=dt.UTC)
    assert reach_of("3m", NOW) == dt.datetime(2026, 12, 1, 11, tzinfo=dt.UTC)
    assert ranges_of([3, 4, 5, 9, 11, 12]) == [[3, 5], [9, 9], [11, 12]]
    with pytest.raises(Refused, match="300 at most"):
        policy_of({Kept.visits: "2y"}, "x" * 301)
