"""Leaving: everything that hangs on a person goes to another, or to a post, on its day, as one batch in the trail."""

from __future__ import annotations

import datetime as dt

import pytest
from sqlalchemy import text

from app.domain.errors import Refused
from app.ledger.align import deliver
from app.ledger.scan import scan
from app.models import Absence, AlertRule, Departure, Member, SitePost, Subject
from app.operations import absences, departures, feeds, members, people, register
from app.trail.act import Act
from tests import factories
from tests.factories import Acme
from tests.operations.story import march

MANY = 60


@pytest.fixture
def gil(acme: Acme) -> dict[str, int]:
    """Gil is responsible for sixty entries, is what two more are about, holds a post, and is named in a rule."""
    with acme.acting() as act:
        made = {name: people.add_member(act, f"{name}@acme.example", role, name=name) for name, role in
                (("Ana", "admin"), ("Gil", "staff"), ("Hal", "staff"), ("Ivo", "staff"))}  # fmt: skip
        made["post"] = people.add_post(act, "manager")
        madrid = made["Madrid"] = factories.site(act)
        for number in range(MANY):
            factories.subject(act, f"G-{number}", march(20), owner_member_id=made["Gil"])
        for number in range(2):
            factories.subject(act, f"T-{number}", march(20), holder_id=made["Gil"], owner_post_id=made["post"])
        people.assign_post(act, made["post"], made["Gil"], madrid, march(1))
        to = ("owner", "holder", "member:gil@acme.example")
        factories.rule(act, thresholds=("30d",), to=to).fallback = "member:gil@acme.example"
        absences.enter_absence(act, made["Ivo"], march(3), march(20), made["Gil"])
        feeds.make_feed(act, made["Gil"])
    return made


def owners(act: Act) -> dict[str, tuple[int | None, int | None, int | None]]:
    rows = act.session.query(Subject).filter_by(org_id=act.org)
    return {row.reference: (row.owner_member_id, row.owner_post_id, row.holder_id) for row in rows}


def recipients_of(act: Act) -> set[str]:
    return set(act.run("select recipient from rule_recipient where org_id = :org").scalars())


def test_a_leaver_with_sixty_entries(acme: Acme, gil: dict[str, int]) -> None:
    """Announced for the fifth; on the fifth all of it goes, and what was told and not answered follows."""
    for deed in (scan, deliver):
        with acme.watching() as act:
            deed(act)
    with acme.acting() as act:
        departures.leave(act, gil["Gil"], march(5), to_member_id=gil["Hal"])
        assert owners(act)["G-7"] == (gil["Gil"], None, None), "not before its day"
        assert departures.hand_on_due(act) == 0
    day = dt.datetime(2027, 3, 4, 23, 0, tzinfo=dt.UTC)  # The first minute of the fifth in Madrid.
    with acme.acting(day) as act:
        assert departures.hand_on_due(act) == 1
        assert departures.hand_on_due(act) == 0
    with acme.acting(day) as act:
        found = owners(act)
        assert {found[f"G-{number}"] for number in range(MANY)} == {(gil["Hal"], None, None)}
        assert found["T-1"] == (None, gil["post"], gil["Hal"])
        assert recipients_of(act) == {"owner", "holder", "member:Hal@acme.example"} or recipients_of(act) == {
            "owner", "holder", "member:hal@acme.example"}  # fmt: skip
        assert act.session.query(AlertRule.fallback).one()[0].lower() == "member:hal@acme.example"
        held = act.session.query(SitePost).order_by(SitePost.from_on).all()
        assert [(one.member_id, one.from_on, one.until_on) for one in held] == [
            (gil["Gil"], march(1), march(4)), (gil["Hal"], march(5), None)]  # fmt: skip
        assert act.session.query(Absence.stand_in_id).one() == (None,)
        assert act.run("select count(*) from calendar_feed where revoked_at is null").scalar_one() == 0
        batches = act.run("select id, detail from audit_event where type = 'batch_applied'").all()
        assert [row.detail["done"] for row in batches] == [MANY + 2]
        of_batch = "select count(*) from audit_event where detail @> jsonb_build_object('batch', cast(:id as bigint))"
        assert act.run(of_batch + " and subject_id is not null", {"id": batches[0].id}).scalar_one() == MANY + 2
        assert act.session.query(Departure.done_at).one()[0] == day
    with acme.watching(day) as act:
        assert scan(act).deliveries == MANY + 2
        again = "select m.name, count(*) from delivery x join member m on m.id = x.recipient_id group by 1 order by 1"
        assert act.session.execute(text(again)).all() == [("Gil", MANY + 2), ("Hal", MANY + 2)]


def test_to_a_post_at_once_and_entries_about_the_person_archived(acme: Acme, gil: dict[str, int]) -> None:
    with acme.acting() as act:
        to = {"to_post_id": gil["post"]}
        with pytest.raises(Refused, match="Nobody else holds the post manager at Madrid on 2027-03-01"):
            departures.leave(act, gil["Gil"], march(1), **to)
        people.assign_post(act, gil["post"], gil["Hal"], gil["Madrid"], march(1))
        departures.leave(act, gil["Gil"], march(1), **to, about="archive")
    with acme.acting() as act:
        assert owners(act)["G-7"] == (None, gil["post"], None)
        assert register.find_subject(act, "T-1").status == "archived"
        assert recipients_of(act) == {"owner", "holder", "post:manager"}
        assert act.session.query(AlertRule.fallback).one()[0] == "post:manager"
        assert departures.stay(act, gil["Gil"])
        assert not departures.stay(act, gil["Gil"])
        assert act.session.get_one(Member, (act.org, gil["Gil"])).left_on is None


def test_who_cannot_leave_or_take_over_is_said(acme: Acme, gil: dict[str, int]) -> None:
    with acme.acting() as act:
        people.limit_member(act, gil["Ivo"], [people.add_site(act, "Yard", "Europe/Madrid")])
        people.disable_member(act, gil["Hal"])
        nameless = Member(org_id=act.org, name="Nadia", role="staff")
        act.session.add(nameless)
        act.session.flush()
        cases = [
            ("Ana", {"to_member_id": gil["Gil"]}, "only administrator"),
            ("Gil", {}, "Choose who takes over"),
            ("Gil", {"to_member_id": gil["Gil"]}, "cannot take over"),
            ("Gil", {"to_member_id": gil["Hal"]}, "Hal is disabled"),
            ("Gil", {"to_member_id": gil["Ivo"]}, "Ivo may not see Madrid"),
            ("Gil", {"to_member_id": nameless.id}, "Nadia has no e-mail address"),
            ("Gil", {"to_member_id": gil["Ana"], "about": "burn"}, "is not what becomes of entries"),
        ]
        for who, to, words in cases:
            with pytest.raises(Refused, match=words):
                departures.leave(act, gil[who], march(9), **to)
        departures.leave(act, gil["Gil"], march(9), to_member_id=gil["Ana"])
        departures.leave(act, gil["Gil"], march(8), to_member_id=gil["Ana"])
        assert act.session.query(Departure).filter_by(withdrawn_at=None).one().leaves_on == march(8)


def test_a_departure_that_is_refused_half_way_stops_no_other_and_leaves_nothing(
    acme: Acme, gil: dict[str, int]
) -> None:
    """Gil holds his post at a site whose day nobody knows by now."""
    with acme.acting() as act:
        far = people.add_site(act, "Far", "Europe/Madrid")
        people.assign_post(act, gil["post"], gil["Gil"], far, march(1))
        for who in ("Gil", "Ivo"):
            departures.leave(act, gil[who], march(5), to_member_id=gil["Hal"])
        act.run("update site set timezone = 'No/Where' where org_id = :org and id = :far", {"far": far})
    with acme.acting(dt.datetime(2027, 3, 5, 12, tzinfo=dt.UTC)) as act:
        assert departures.hand_on_due(act) == 1
        assert owners(act)["G-7"] == (gil["Gil"], None, None)
        open_now = act.session.query(Departure).filter_by(done_at=None).one()
        assert open_now.member_id == gil["Gil"]


def test_posts_of_a_leaver_at_sites_in_use_and_never_shorter_than_the_heir_has_them(
    acme: Acme, gil: dict[str, int]
) -> None:
    with acme.acting() as act:
        yard = people.add_site(act, "Yard", "Europe/Madrid")
        people.limit_member(act, gil["Hal"], [gil["Madrid"]])
        people.assign_post(act, gil["post"], gil["Gil"], yard, march(1))
        people.archive_site(act, yard)
        people.assign_post(act, gil["post"], gil["Gil"], gil["Madrid"], march(1), march(10))
        people.assign_post(act, gil["post"], gil["Hal"], gil["Madrid"], march(8))
        departures.leave(act, gil["Gil"], march(5), to_member_id=gil["Hal"])
    with acme.acting(dt.datetime(2027, 3, 5, 12, tzinfo=dt.UTC)) as act:
        assert departures.hand_on_due(act) == 1
        held = act.session.query(SitePost).order_by(SitePost.member_id, SitePost.site_id).all()
        assert [(one.member_id, one.site_id, one.from_on, one.until_on) for one in held] == [
            (gil["Gil"], gil["Madrid"], march(1), march(4)),
            (gil["Gil"], yard, march(1), march(4)),
            (gil["Hal"], gil["Madrid"], march(5), None),
        ]


def test_somebody_administers_it_for_good(acme: Acme, gil: dict[str, int]) -> None:
    """Whoever leaves one day is no reason to let the last one who stays go."""
    with acme.acting() as act:
        bea = people.add_member(act, "bea@acme.example", "admin", name="Bea")
        departures.leave(act, bea, march(5), to_member_id=gil["Hal"])
        for deed in (
            lambda: departures.leave(act, gil["Ana"], march(9), to_member_id=gil["Hal"]),
            lambda: people.disable_member(act, gil["Ana"]),
            lambda: members.change_member(act, gil["Ana"], "Ana", "admin", march(9)),
        ):
            with pytest.raises(Refused, match="Ana is the only administrator who stays"):
                deed()
        assert people.disable_member(act, bea)
