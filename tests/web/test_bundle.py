"""A bundle that can be verified is asked for on the page of exports, and made as any other report."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from flask import Flask

from app.operations import export_runs
from app.scheduler.export_child import finish
from app.trail.signers import public_keys
from app.verifier import judge
from tests.factories import NOW, Acme
from tests.people import INSPECTOR
from tests.web.conftest import Browser

SignIn = Callable[[str], Browser]


def test_an_inspector_asks_for_a_bundle_takes_it_and_verifies_it(
    browser: SignIn, staffed: Acme, app: Flask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(app.extensions["onus_settings"], clock=NOW + dt.timedelta(minutes=1))
    monkeypatch.setitem(app.extensions, "onus_settings", settings)
    dana = browser(INSPECTOR)
    page = dana.get("/o/acme/evidence/exports")
    assert "which can be verified without Onus" in page.text
    blank = dict.fromkeys(("from", "until", "site", "rule", "subject"), "")
    assert dana.post("/o/acme/evidence/exports", format="bundle", **blank).status_code == 303
    with staffed.acting() as act:
        taken = export_runs.take(act)
    assert taken is not None
    finish(staffed.org, taken.id)
    with staffed.acting() as act:
        keys = [key.text for key in public_keys(act.session)]
    file = dana.get(f"/o/acme/evidence/exports/files/{taken.id}")
    assert file.headers["Content-Type"] == "application/zip"
    assert file.headers["Content-Disposition"].endswith(".zip")
    (tmp_path / "bundle.zip").write_bytes(file.data)
    assert judge(str(tmp_path / "bundle.zip"), keys, [])["verdict"] == "good"
