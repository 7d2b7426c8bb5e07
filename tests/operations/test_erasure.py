"""A person is forgotten: what names them is gone everywhere, what happened is there, and the trail still verifies."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import text

from app.exports.event_words import told_history
from app.ledger.scan import scan
from app.models import Account, AuditEvent, AuditPersonal, ImportRun, ImportUpload, Member
from app.operations import absences, answers, people
from app.operations.mentions import Person, without
from app.queries.entry_history import read_history
from app.trail.act import Act
from app.trail.personal import hashed
from tests import factories
from tests.factories import Acme
from tests.operations.story import march
from tests.operations.test_commands import Onus
from tests.operations.test_commands import onus as onus
from tests.people import OFFICER, STAFF
from tests.trail.conftest import sealed, signer_of, verified

SIGNER = signer_of(1)
WORDS = "I am at the hospital until Friday"
SENT = """
insert into mail_message (org_id, token, message_id, recipient_id, sent_to, subject, body, sha256, handed_over_at)
values (:org, gen_random_uuid(), '<1@x>', :member, :email, 's', 'Dear Bruno', '0', :now)"""
TRIED = """
insert into delivery_attempt (org_id, delivery_id, at, verb, reply, outcome)
select org_id, id, :now, 'RCPT', '550 <' || cast(:email as text) || '> unknown', 'refused' from delivery"""

KEPT = """
insert into export_run (org_id, asked_at, ended_at, format, language, filters, sha256, content)
values (:org, :now, :now, 'csv', 'en', '{}', '0', convert_to('Bruno', 'UTF8'))"""


@pytest.fixture
def told(acme: Acme, onus: Onus) -> int:
    """Bruno was told of P-1 by e-mail, and has answered with words of his own; his id."""
    with acme.acting() as act:
        factories.member(act, OFFICER)
        bruno = people.add_member(act, STAFF, "staff", name="Bruno Sanz")
        act.session.get_one(Member, (act.org, bruno)).number = "0042"
        entry = factories.subject(act, "P-1", march(20), owner_member_id=bruno)
        factories.rule(act, thresholds=("30d",), to=("owner",), channels=("in_app", "email"))
        absences.enter_absence(act, bruno, march(5), march(6), note=WORDS)
    with acme.watching() as act:
        assert scan(act).claimed == 1
        act.run(SENT, {"member": bruno, "email": STAFF})
        act.run(TRIED, {"email": STAFF})
        act.run("update delivery set sent_to = :email, last_reply = '550 ' || :email", {"email": STAFF})
    with acme.acting(actor=f"member:{bruno}") as act:
        answers.acknowledge(act, act.session.get_one(Member, (act.org, bruno)), entry, "help", note=WORDS)
    return bruno


def bring_files(act: Act, member: int) -> None:
    """An import of people that was applied, with lines that were not; three files that wait, of which one may stay."""
    line = {"line": 2, "name": "Bruno Sanz", "number": "0042", "email": STAFF, "reason": "the number 0042 is taken"}
    rows = [line, {"line": 3, "name": "Eva", "number": "0043"}]
    kept = {"file_name": "a.csv", "file_sha256": "0", "mapping": {}, "counts": {}, "contents": "people"}
    run = ImportRun(org_id=act.org, at=act.now, actor=act.actor, rows=rows, **kept)
    act.session.add(run)
    act.session.flush()
    file = {"file_name": "a.csv", "file_sha256": "0", "look": {}, "header_key": "", "mapping": {}}
    files = ({"import_run_id": run.id, "left_over": [["Bruno Sanz", "0042"]]}, {"content": b"name\nBRUNO SANZ\n"},
             {"content": b"PK\x03\x04"}, {"content": b"name\nEva\n"})  # fmt: skip
    act.session.add_all(ImportUpload(org_id=act.org, at=act.now, member_id=member, **file, **one) for one in files)
    act.session.flush()


def everything(acme: Acme) -> str:
    """Every row of the organisation, and every login, as text."""
    with acme.watching() as act:
        names = act.session.scalars(text("select tablename from pg_tables where schemaname = 'public'")).all()
    with acme.acting() as act:
        rows = [act.session.scalars(text(f"select t::text from {name} t")).all() for name in names]
        leaves = act.run("select convert_from(content, 'UTF8') from audit_leaf").scalars().all()
    return "\n".join(str(row) for found in (*rows, leaves) for row in found)


def notes(acme: Acme) -> list[str]:
    """What the history of P-1 shows of words."""
    with acme.acting() as act:
        history = read_history(act.session, act.org, act.run("select id from subject").scalar_one())
    return [one.note for one in told_history(history, "Europe/Madrid") if one.note]


def test_words_of_a_person_are_not_in_the_event_but_can_be_proven_from_it(acme: Acme, told: int) -> None:
    with acme.acting() as act:
        event = act.session.query(AuditEvent).filter_by(type="acknowledged").one()
        kept = act.session.query(AuditPersonal).one()
        assert (kept.event_id, kept.name, kept.member_id, kept.value) == (event.id, "note", told, WORDS)
        assert event.detail["note"] == {"sha256": hashed(kept.salt, WORDS)}
        assert event.detail["answer"] == "help"
    assert notes(acme) == [WORDS]


def test_a_person_is_erased_and_the_trail_still_verifies(acme: Acme, told: int, onus: Onus) -> None:
    sealed(acme, SIGNER)
    assert "is a member still" in onus.refusal("erase-person", STAFF)
    assert WORDS in everything(acme)
    onus.json("member", "disable", STAFF)
    with acme.acting() as act:
        factories.rule(act, "His own", to=(f"member:{STAFF}",))
        act.run(KEPT)
        bring_files(act, told)
    assert "A rule names this person" in onus.refusal("erase-person", STAFF)
    with acme.acting() as act:
        act.run("delete from rule_recipient where recipient = :to", {"to": f"member:{STAFF}"})
    erased = onus.json("erase-person", STAFF)
    assert {name: erased[name] for name in ("member_id", "values", "messages", "login")} == {
        "member_id": told, "values": 1, "messages": 1, "login": True,
    }  # fmt: skip
    assert (erased["imports"], erased["named_in"]) == (4, {})
    left = everything(acme)
    for gone in (STAFF, "Bruno", "0042", WORDS):
        assert gone not in left, gone
    assert f"Erased person {told}" in left
    assert notes(acme) == ["erased"]
    sealed(acme, SIGNER)
    with acme.watching() as act:
        events = verified(act, SIGNER)
        assert [event["type"] for event in events if event["actor"] == f"member:{told}"] == ["acknowledged"]
        assert events[-1]["type"] == "person_erased"
        assert act.run("select count(*) from acknowledgement where member_id = :id", {"id": told}).scalar_one() == 1
        assert act.run("select count(*) from delivery").scalar_one() == 2
        assert act.run("select content from export_run").scalar_one() is None, "a report that is kept names people"
        run = act.session.query(ImportRun).one()
        assert [row["name"] for row in run.rows] == [f"Erased person {told}", "Eva"]
        assert act.run("select content from import_upload where import_run_id is null").scalars().all() == [
            b"name\nEva\n"
        ]
    assert "no member" in onus.refusal("erase-person", STAFF)


def test_what_is_left_to_edit_is_said_before(acme: Acme, told: int, onus: Onus) -> None:
    with acme.acting() as act:
        factories.subject(act, "T-1", title="First aid, Bruno Sanz")
        factories.subject(act, "T-2", title="Brunotti crane", notes=f"ask {STAFF.upper()}")
        factories.subject(act, "T-3", title="Form 00421")
    onus.json("member", "disable", STAFF)
    shown = onus.json("erase-person", STAFF, "--dry-run")
    assert (shown["changed"], shown["named_in"]) == (False, {"notes": ["T-2"], "titles": ["T-1"]})
    assert onus.json("erase-person", STAFF)["named_in"] == shown["named_in"]


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ({"title": "Aid of Ana Gil"}, {"title": "Aid of X"}),
        ({"reference": "0042", "title": "Form 0042"}, {"reference": "0042", "title": "Form 0042"}),
        ({"number": " 0042 ", "line": 42}, {"number": "X", "line": 42}),
        ({"reason": "nobody has the number 0042"}, {"reason": "nobody has the number X"}),
        ({"cells": ["ANA@x.example", "Ana Gilmore"]}, {"cells": ["X", "Ana Gilmore"]}),
    ],
)
def test_a_line_names_a_person_only_where_it_surely_does(line: dict[str, Any], left: dict[str, Any]) -> None:
    assert without(line, Person("Ana Gil", "ana@x.example", "0042"), "X") == left


def test_a_login_that_another_organisation_has_stays_theirs(app: Flask, acme: Acme, told: int, onus: Onus) -> None:
    with factories.acme("other").acting() as act:
        people.add_member(act, STAFF, "staff")
    onus.json("member", "disable", STAFF, "--org", "acme")
    assert onus.json("erase-person", STAFF, "--org", "acme")["login"] is False
    with acme.acting() as act:
        login: Any = act.session.query(Account).filter_by(email=STAFF).one()
        assert login.is_active
        member = act.session.get_one(Member, (act.org, told))
        assert (member.account_id, member.email, member.number) == (None, None, None)
        assert json.dumps(member.name) == f'"Erased person {told}"'
