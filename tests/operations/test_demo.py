"""The demo is made by the real operations: nothing is owed, the trail is whole, and again adds nothing."""

from __future__ import annotations

import datetime as dt

from flask import Flask
from sqlalchemy import select
from sqlalchemy.orm import Session

from app import clock
from app.config import settings
from app.database import transaction
from app.demo import fill
from app.demo.cast import RULES, SITES
from app.models import Member
from app.operations.passwords import matches
from app.queries.absences import away_today, read_summary
from app.queries.answer_files import read_answer_files
from app.queries.facts import read_facts, read_register_and_people
from app.queries.inspectors import kind_ids
from app.queries.leaving import read_load
from app.queries.owed import owed
from app.queries.queues import Queue, read_queue
from app.queries.settings import kind_names, posts
from app.queries.sight import read_sight
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
        register, people = read_register_and_people(session, quimeralia)
        assert len(register.sites) == len(SITES)
        assert len(register.rules) == len(RULES)
        assert len(register.subjects) > 90
        gaps = counts(unwatched(register, people, now))
        assert (gaps["draft"], gaps["no_rule"], gaps["nobody_to_tell"], gaps["paused"]) == (9, 1, 1, 1)
        replaced = """
          select o.number, n.number, a.file_name from document o join document n on n.org_id = :org and
          n.replaces_id = o.id join attachment a on a.org_id = :org and a.document_id = n.id where o.org_id = :org"""
        papers = Act(session, quimeralia, now).run(replaced).all()
        assert [tuple(row) for row in papers] == [("C-1188", "C-1340", "C-1340.txt")]
        untold = """
          select count(*) from notification_ledger l
          where org_id = :org and not exists (select from audit_event e where e.claim_id = l.id)"""
        assert Act(session, quimeralia, now).run(untold).scalar_one() == 0
        look_at_the_people(session, quimeralia, now)


def look_at_the_people(session: Session, org: int, now: dt.datetime) -> None:
    """Answers wait for a decision, one with a photo; people are away, back, gone; the trail says what was done."""
    members = dict(session.execute(select(Member.name, Member.id).where(Member.org_id == org)).all())
    ana, gil, bruno, today = members["Ana Ficticia"], members["Gil Imaginario"], members["Bruno Supuesto"], now.date()
    sight = read_sight(session, org, ana, now)
    (checked,) = read_queue(session, sight, Queue.check).rows
    ((photo,),) = read_answer_files(session, org, [checked.answer_id or 0]).values()
    assert (checked.reference, photo.is_picture) == ("VIT-AV-0417/4.2", True)
    asked = {(row.what, row.reference, row.whose) for row in read_queue(session, sight, Queue.attention).rows}
    assert ("not_mine", "TUC-FP-2", None) in asked
    assert ("not_mine", "VIT-RO-4", "Plant manager") in asked
    assert ("help", "VIT-BT-2", None) in asked
    assert away_today(session, org, today) == {members["Carla Inventada"]: "Adela Modelo"}
    back = read_summary(session, org, bruno, now, today)
    assert back is not None
    assert "VIT-PV-07" in {one.reference for one in back.told}
    left = read_load(session, org, gil, today)
    assert left.is_nothing
    assert left.leaving is not None
    assert (left.leaving.to, left.leaving.is_done) == ("Maintenance", True)
    assert "Training" not in {kind_names(session, org)[one] for one in kind_ids(session, org, members["Dana Madeup"])}
    above = {post.name: post.above for post in posts(session, org, now).lines if post.above}
    assert above == {"EHS coordinator": "Plant manager", "Maintenance": "Plant manager"}
    done = """
      select e.type, count(*) from audit_event e where e.org_id = :org and e.detail ->> 'by_act' like 'Regulation%'
      group by 1 order by 1"""
    assert [tuple(row) for row in Act(session, org, now).run(done)] == [("batch_applied", 1), ("date_moved", 6)]


def test_a_database_with_an_organisation_of_its_own_is_left_alone(real_app: Flask) -> None:
    factories.acme()
    assert fill() is None
    with transaction() as session:
        assert [place.slug for place in places(session)] == ["acme"]
