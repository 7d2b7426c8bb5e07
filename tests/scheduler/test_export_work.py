"""A report that a person asked for is made by a child of the scheduler, and a child that is killed says so."""

from __future__ import annotations

import hashlib

import pytest
from flask import Flask

from app.domain.acts import ReportFormat
from app.operations import export_runs
from app.operations.export_runs import Limits
from app.scheduler.export_tick import KILLED, Exports, fault_of
from app.scheduler.leash import OUT_OF_MEMORY
from app.trail.act import member_actor
from tests import factories
from tests.scheduler.conftest import Database, Onus

pytestmark = pytest.mark.real_commits


def test_a_report_is_made_by_a_child(
    real_app: Flask, onus: Onus, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, word in onus.env.items():
        if name.startswith("ONUS_"):
            monkeypatch.setenv(name, word)
    acme = factories.acme()
    with acme.acting() as act:
        ana = factories.member(act)
        factories.subject(act, "P-1")
    with acme.acting(actor=member_actor(ana)) as act:
        export_runs.ask(act, ReportFormat.xlsx, "en", {}, Limits())
    assert Exports().tick() == 1
    ((content, sha256, fault),) = database.rows("select content, sha256, fault from export_run")
    assert (hashlib.sha256(content).hexdigest(), fault) == (sha256, None)
    assert database.value("select actor from audit_event where type = 'exported'") == member_actor(ana)
    assert Exports().tick() == 0


def test_how_a_child_came_to_no_end_is_said() -> None:
    assert fault_of(-9) == KILLED
    assert len({fault_of(code) for code in (-9, -24, OUT_OF_MEMORY, 1)}) == 4
