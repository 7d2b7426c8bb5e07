"""The demo is made by the real operations: nothing is owed, the trail is whole, and again adds nothing."""

from __future__ import annotations

from flask import Flask

from app import clock
from app.config import settings
from app.database import transaction
from app.demo import fill
from app.demo.cast import RULES, SITES
from app.operations.passwords import matches
from app.queries.facts import read_facts, read_people, read_register
from app.queries.owed import owed
from app.queries.visitors import find_login, places
from app.queries.watched import counts, unwatched
from app.trail.act import Act
from tests import factories


def test_the_demo_fills_an_empty_database_and_again_adds_nothing(real_app: Flask) -> None:
    first = fill()
    assert first is not None
    assert fill() == first
    with transaction() as session:
        everywhere, now = places(session), clock.now(session, settings())
        ana = find_login(session, email="ana@quimeralia.example")
    assert [place.slug for place in everywhere] == ["quimeralia", "umbrosa"]
    assert ana is not None
    assert matches(ana.password_hash, first.password)
    for place in everywhere:
        with transaction(place.org) as session:
            assert owed(read_facts(session, place.org), now).count == 0
    quimeralia = everywhere[0].org
    with transaction(quimeralia) as session:
        register = read_register(session, quimeralia)
        assert len(register.sites) == len(SITES)
        assert len(register.rules) == len(RULES)
        assert len(register.subjects) > 90
        gaps = counts(unwatched(register, read_people(session, quimeralia), now))
        assert (gaps["draft"], gaps["no_rule"], gaps["paused"]) == (9, 1, 1)
        replaced = """
          select o.number, n.number, a.file_name from document o join document n on n.org_id = :org and
          n.replaces_id = o.id join attachment a on a.org_id = :org and a.document_id = n.id where o.org_id = :org"""
        papers = Act(session, quimeralia, now).run(replaced).all()
        assert [tuple(row) for row in papers] == [("C-1188", "C-1340", "C-1340.txt")]
        untold = """
          select count(*) from notification_ledger l
          where org_id = :org and not exists (select from audit_event e where e.claim_id = l.id)"""
        assert Act(session, quimeralia, now).run(untold).scalar_one() == 0


def test_a_database_with_an_organisation_of_its_own_is_left_alone(real_app: Flask) -> None:
    factories.acme()
    assert fill() is None
    with transaction() as session:
        assert [place.slug for place in places(session)] == ["acme"]
