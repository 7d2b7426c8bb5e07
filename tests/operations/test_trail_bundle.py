"""The bundle of a real trail: good as it is, of a part as of the whole, and convicted by what somebody kept."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from flask import Flask

from app.domain.acts import ReportFormat
from app.operations import export_runs, kinds, people
from app.operations.export_runs import Limits, Order
from app.operations.inspectors import limit_to_kinds
from app.scheduler.exporting import make
from app.trail.act import member_actor
from app.trail.notes import Signer
from tests import factories
from tests.conftest import url_of
from tests.factories import Acme
from tests.operations.test_commands import Onus, onus
from tests.operations.test_trail_export import T, read_csv, told

__all__ = ["onus", "told"]


def later(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    """The day after the story: a trail that runs back is not good."""
    settings = replace(app.extensions["onus_settings"], clock=T + dt.timedelta(days=2))
    monkeypatch.setitem(app.extensions, "onus_settings", settings)


@pytest.fixture
def told_before(told: Acme, onus: Onus, app: Flask, monkeypatch: pytest.MonkeyPatch) -> Acme:
    later(app, monkeypatch)
    return told


def bundled(onus: Onus, path: Path, *narrowed: str) -> dict[str, Any]:
    return onus.json("export", "trail", "--format", "bundle", "-o", str(path), *narrowed)


def read(path: Path, name: str) -> list[dict[str, Any]]:
    with zipfile.ZipFile(path) as archive:
        return [json.loads(line) for line in archive.read(name).splitlines()]


def test_a_bundle_of_everything_is_good_and_the_next_one_agrees(told_before: Acme, onus: Onus, tmp_path: Path) -> None:
    """By the keys of this Onus; by the program alone; and the next one with this one kept."""
    path, second = tmp_path / "first.zip", tmp_path / "second.zip"
    onus.json("acknowledge", "P-2", "--as", "ana@acme.example", "--answer", "help", "--note", "José knows")
    made = bundled(onus, path)
    verdict = onus.json("verify", str(path))
    assert (verdict["code"], verdict["scope"], verdict["events"]) == (0, "whole", verdict["size"])
    with told_before.acting() as act:
        types = [row.type for row in act.run("select type from audit_event order by id")]
        kept = act.run("select detail from audit_event where type = 'exported'").scalar_one()
    events = read(path, "events.jsonl")
    assert [event["event"]["type"] for event in events] == types[:-1]  # The last one says that it was exported.
    assert kept["sealed"] == verdict["size"]
    rows = read(path, "report.jsonl")
    assert {row["section"] for row in rows} == {"cover", *(name for name, count in made["counts"].items() if count)}
    with zipfile.ZipFile(path) as archive:
        (tmp_path / "report.csv").write_bytes(archive.read("report.csv"))
        recipe = archive.read("RECIPE.txt").decode()
        assert archive.read("report.pdf").startswith(b"%PDF-")
    assert verdict["root"] in recipe
    table = read_csv(tmp_path / "report.csv")
    assert [row["Title"] for row in table["Alerts"]] == [
        "'=1+1 boiler" if row["cells"]["title"] == "=1+1 boiler" else row["cells"]["title"]
        for row in rows if row["section"] == "alerts"
    ]  # fmt: skip

    assert [value["value"] for value in read(path, "personal.jsonl")] == ["José knows"]
    assert "José" not in str(events)
    onus.json("member", "disable", "ana@acme.example")
    onus.json("erase-person", "ana@acme.example")
    bundled(onus, second)
    assert read(second, "personal.jsonl") == []
    assert onus.json("verify", str(second), "--checkpoint", str(path))["given"] >= 1
    back = onus.run("verify", str(path), "--checkpoint", str(second), "--json")
    assert (back.exit_code, json.loads(back.stdout)["verdict"]) == (2, "incomplete")


def test_a_part_proves_itself_and_shows_nothing_else(told_before: Acme, onus: Onus, tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.zip", tmp_path / "part.zip"
    bundled(onus, whole)
    for narrowed in (("--site", "Madrid"), ("--subject", "P-2"), ("--from", "2027-03-02", "--to", "2027-03-02")):
        bundled(onus, part, *narrowed)
        verdict = onus.json("verify", str(part), "--checkpoint", str(whole))
        assert (verdict["code"], verdict["scope"]) == (0, "part")
        assert 0 < verdict["events"] < verdict["size"]
        if "--from" not in narrowed:
            with zipfile.ZipFile(part) as archive:
                text = archive.read("events.jsonl") + archive.read("report.jsonl")
            assert b"P-1" not in text
            assert b"boiler" not in text


def test_whoever_is_limited_gets_what_they_may_see(told_before: Acme, onus: Onus, tmp_path: Path) -> None:
    """By site, and by kind: no event, no row and no value of another entry; and still every event is proven."""
    with told_before.acting() as act:
        dana = factories.member(act, "dana@acme.example", "inspector", name="Dana")
        madrid = factories.site(act)
        people.limit_member(act, dana, [madrid])
        asked = export_runs.ask(act.by(member_actor(dana)), ReportFormat.bundle, "en", {}, Limits())
    order, path = Order(asked, dana, ReportFormat.bundle, "en", {}), tmp_path / "part.zip"
    made = make(told_before.org, order, path, lambda *_: None, keeps=True)
    assert made.content == path.read_bytes()
    verdict = onus.json("verify", str(path))
    assert (verdict["scope"], verdict["size"]) == ("part", made.sealed)
    shown = str(read(path, "events.jsonl")) + str(read(path, "report.jsonl")) + str(read(path, "personal.jsonl"))
    assert "P-2" in shown
    assert not [word for word in ("P-1", "boiler", "New York") if word in shown]

    with told_before.acting() as act:
        limit_to_kinds(act, dana, [kinds.find_or_make(act, ["Radiation source"]).ids["radiation source"]])
    make(told_before.org, order, path, lambda *_: None, keeps=False)
    assert onus.json("verify", str(path))["code"] == 0
    shown = str(read(path, "events.jsonl")) + str(read(path, "report.jsonl"))
    assert not [word for word in ("P-1", "P-2") if word in shown]


def test_verifying_asks_only_whom_it_is_told_to(told_before: Acme, onus: Onus, tmp_path: Path) -> None:
    """A key that is named is trusted alone; the program that is written out comes to the same verdict."""
    path, program = tmp_path / "whole.zip", tmp_path / "onus_verify.py"
    bundled(onus, path)
    stranger = Signer("onus/other", Ed25519PrivateKey.generate()).key.text
    refused = onus.run("verify", str(path), "--key", stranger)
    assert (refused.exit_code, refused.stdout) == (1, "Altered: manifest.note is signed by no key you trust.\n")
    assert onus.run("verify", str(tmp_path / "none.zip")).exit_code == 3
    good = onus.run("verify", str(path))
    assert (good.exit_code, "Keep this bundle" in good.stdout) == (0, True)
    written = onus.json("verifier", "-o", str(program))
    assert written["sha256"] == hashlib.sha256(program.read_bytes()).hexdigest()
    with zipfile.ZipFile(path) as archive:
        key = archive.read("keys.txt").decode().strip()
    alone = subprocess.run(
        [sys.executable, "-I", program, path, "--key", key], capture_output=True, text=True, env={}, cwd=tmp_path
    )
    assert (alone.returncode, alone.stdout.splitlines()) == (0, good.stdout.splitlines()[:1])
    assert "cannot be written" in onus.refusal("verifier", "-o", str(tmp_path / "no" / "x.py"))


@pytest.mark.real_commits
def test_what_a_superuser_takes_away_is_seen_against_what_was_kept(
    real_app: Flask, worker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trail is written anew without one event, and sealed with the right key: only what was kept convicts it."""
    factories.acme()
    later(real_app, monkeypatch)
    onus, kept, forged = Onus(CliRunner()), tmp_path / "kept.zip", tmp_path / "forged.zip"
    bundled(onus, kept)
    with psycopg.connect(url_of(f"real_{worker}", "postgres"), autocommit=True) as superuser:
        superuser.execute("set session_replication_role = replica")
        superuser.execute("delete from audit_event where id = (select min(id) from audit_event)")
        superuser.execute("truncate audit_leaf, audit_checkpoint")
        superuser.execute("insert into audit_unsealed select org_id, id from audit_event on conflict do nothing")
    bundled(onus, forged)
    assert onus.json("verify", str(forged))["code"] == 0
    found = onus.run("verify", str(forged), "--checkpoint", str(kept))
    assert found.exit_code == 1
    assert "that are not the first of the bundle: some were changed, or removed" in found.stdout
