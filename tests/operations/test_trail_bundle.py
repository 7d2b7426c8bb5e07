"""The bundle of a real trail: good as it is, of a part as of the whole, and convicted by what somebody kept."""

from __future__ import annotations

import datetime as dt
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from tests.factories import Acme
from tests.operations.test_commands import Onus, onus
from tests.operations.test_trail_export import T, read_csv, told

__all__ = ["onus", "told"]


@pytest.fixture(autouse=True)
def afterwards(onus: Onus, app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    """The day after the story: a trail that ran back would not be good."""
    monkeypatch.setitem(
        app.extensions, "onus_settings", replace(app.extensions["onus_settings"], clock=T + dt.timedelta(days=2))
    )


def bundled(onus: Onus, path: Path, *narrowed: str) -> dict[str, Any]:
    return onus.json("export", "trail", "--format", "bundle", "-o", str(path), *narrowed)


def read(path: Path, name: str) -> list[dict[str, Any]]:
    with zipfile.ZipFile(path) as archive:
        return [json.loads(line) for line in archive.read(name).splitlines()]


def test_a_bundle_of_everything_is_good_and_convicts_who_deletes(told: Acme, onus: Onus, tmp_path: Path) -> None:
    """By the keys of this Onus; by the program alone; and the next one with this one kept."""
    path, later = tmp_path / "first.zip", tmp_path / "second.zip"
    made = bundled(onus, path)
    verdict = onus.json("verify", str(path))
    assert (verdict["code"], verdict["scope"], verdict["events"]) == (0, "whole", verdict["size"])
    with told.acting() as act:
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

    bundled(onus, later)
    assert onus.json("verify", str(later), "--checkpoint", str(path))["given"] >= 1
    back = onus.run("verify", str(path), "--checkpoint", str(later), "--json")
    assert (back.exit_code, json.loads(back.stdout)["verdict"]) == (2, "incomplete")


def test_a_part_proves_itself_and_shows_nothing_else(told: Acme, onus: Onus, tmp_path: Path) -> None:
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
