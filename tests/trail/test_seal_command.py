"""`onus seal`, the key in its file, and what doctor and the pages say of the seal."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from flask import Flask

from app.cli import main
from app.scheduler.heartbeat import Heartbeat
from app.scheduler.process import seal_once
from app.trail.keys import beside
from app.trail.notes import VerifierKey, opened
from tests import factories
from tests.factories import NOW, Acme
from tests.trail.conftest import NOTES


@pytest.fixture
def key(app: Flask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file of the key, in an ONUS_HOME of this test; the clock stands still."""
    chosen = replace(app.extensions["onus_settings"], clock=NOW, home=tmp_path)
    monkeypatch.setitem(app.extensions, "onus_settings", chosen)
    return tmp_path / "trail.key"


def run(*words: str, exit_code: int = 0) -> dict[str, Any]:
    result = CliRunner().invoke(main, [*words, "--json"])
    assert result.exit_code == exit_code, result.output
    return dict(json.loads(result.stdout))


def refusal(*words: str) -> str:
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    return result.stderr


def keys_of(acme: Acme, *vkeys: str) -> list[list[str]]:
    """For each checkpoint, which of these keys signed it."""
    keys = [VerifierKey.parse(vkey) for vkey in vkeys]
    with acme.watching() as act:
        return [[key.text for key in opened(note, keys)[1]] for note in act.run(NOTES).scalars()]


def test_a_key_is_made_at_the_first_seal_and_rotated_by_command(acme: Acme, key: Path) -> None:
    other = factories.acme("other")
    first = run("seal")
    assert key.exists()
    assert first["sealed"] == sum(log["size"] for log in first["organisations"].values()) > 1
    assert set(first["organisations"]) == {"acme", "other"}
    assert run("seal")["sealed"] == 0
    rotated = run("seal", "--rotate")
    assert (rotated["sealed"], rotated["rotated"]) == (2, True)
    old, new = first["key"], rotated["key"]
    assert old != new
    for one in (acme, other):
        assert keys_of(one, old, new) == [[old], [old, new]]
    with acme.acting() as act:
        act.record("later")
    assert run("seal", "--org", "acme")["organisations"]["acme"]["size"] == rotated["organisations"]["acme"]["size"] + 1
    assert keys_of(acme, old, new)[-1] == [new]


def test_a_rotation_that_is_killed_before_the_file_changes_hands_is_gone_on_with(
    acme: Acme, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = run("seal")["key"]
    with monkeypatch.context() as patch:
        patch.setattr("app.scheduler.seal_tick.present_signer", lambda: 1 / 0)
        assert isinstance(CliRunner().invoke(main, ["seal", "--rotate"]).exception, ZeroDivisionError)
    assert beside(key, "new").exists()
    assert doctor("key of the seal")["ok"]
    new = run("seal")["key"]
    assert new != old
    assert keys_of(acme, old, new) == [[old], [old, new]]
    assert not beside(key, "new").exists()


def test_a_key_that_is_lost_stops_the_seal_until_somebody_says_so(acme: Acme, key: Path) -> None:
    old = run("seal")["key"]
    mine = key.read_bytes()
    key.unlink()
    assert "put it back" in refusal("seal")
    assert "put it back" in refusal("seal", "--rotate")
    assert not doctor("key of the seal", exit_code=1)["ok"]
    assert not key.exists(), "no trail begins anew by itself"
    key.write_bytes(mine)
    assert run("seal")["key"] == old
    key.unlink()
    assert "--rotate" in refusal("seal", "--lost-key")
    new = run("seal", "--rotate", "--lost-key")["key"]
    assert keys_of(acme, old, new) == [[old], [new]]


def test_the_scheduler_seals_and_doctor_says_when_it_does_not(
    acme: Acme, key: Path, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = replace(app.extensions["onus_settings"], clock=NOW.replace(minute=2))
    monkeypatch.setitem(app.extensions, "onus_settings", later)
    assert not doctor("seal", exit_code=1)["ok"]
    seal_once(Heartbeat())
    assert doctor("seal")["ok"]
    assert run("seal")["sealed"] == 0


def doctor(name: str, exit_code: int = 0) -> dict[str, Any]:
    (found,) = (check for check in run("doctor", exit_code=exit_code)["checks"] if check["name"] == name)
    return dict(found)
