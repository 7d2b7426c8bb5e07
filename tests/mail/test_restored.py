"""A database that was really dumped and read back: it has forgotten what was told since, and tells nothing."""

from __future__ import annotations

import subprocess
import uuid
from dataclasses import replace

import psycopg
import pytest
from flask import Flask

from app.embedded import programs
from app.extensions import db
from app.ledger.scan import scan
from app.operations import people
from app.scheduler.mail_tick import mail_tick
from app.scheduler.sender import Sender
from app.scheduler.ticks import deliver_tick
from tests import factories
from tests.mail.conftest import BEGIN, permit
from tests.mail.test_late import Scripted
from tests.scheduler.conftest import Database

pytestmark = pytest.mark.real_commits


def test_p3_a_dump_that_is_read_back_into_the_same_server_holds_everything(real_app: Flask, database: Database) -> None:
    settings = replace(real_app.extensions["onus_settings"], clock=BEGIN, mail_from="onus@acme.example", secret_key="s")
    real_app.extensions["onus_settings"] = settings
    acme = factories.acme(now=BEGIN)
    with acme.acting() as act:
        people.add_member(act, "ana@acme.example", "officer", name="Ana")
        factories.rule(act, "Ana", ("30d",), ("member:ana@acme.example",), ("email",))
        permit(act)
    with acme.watching() as act:
        scan(act)
    deliver_tick()
    command = [programs() / "pg_dump", "--inserts", database.url]
    dumped = subprocess.run(command, check=True, capture_output=True, text=True)
    dump = "\n".join(line for line in dumped.stdout.splitlines() if not line.startswith("\\"))

    line = Scripted()
    assert mail_tick(Sender(settings, line, uuid.uuid4()))[0].delivered == 1
    db.engine.dispose()
    database.rows("drop schema public cascade; create schema public; grant usage on schema public to public")
    with psycopg.connect(database.url) as restoring:
        restoring.execute(dump.encode())
    assert database.value("select state from delivery") == "pending", "the dump does not know that it was told"

    deliver_tick()
    mail_tick(Sender(settings, line, uuid.uuid4()))
    assert database.rows("select state, reason from delivery") == [("held", "restored")]
    assert database.rows("select cause from delivery_hold") == [("the database was restored from a dump",)]
    assert line.marked == [True]
