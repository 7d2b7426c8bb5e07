"""Which entries are not watched, judged by hand-made facts: each reason, each route to a person, each channel."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

from app.queries.facts import (
    AccountRow,
    MemberKindRow,
    MemberRow,
    MemberSiteRow,
    ObligationRow,
    People,
    PostRow,
    RecipientRow,
    Register,
    RuleKindRow,
    RuleRow,
    SitePostRow,
    SiteRow,
    SubjectRow,
    ThresholdRow,
)
from app.queries.watched import Gap, counts, unwatched
from tests.factories import NOW

TODAY = NOW.date()
DAY = dt.timedelta(days=1)

SITE = SiteRow(1, "Madrid", "Europe/Madrid")
SUBJECT = SubjectRow(10, 1, 100, "P-1", "watched")
RULE = RuleRow(5, "Permits", "always", ["in_app"])
ANA = MemberRow(50, "officer", account_id=500, email="ana@acme.example")
REGISTER = Register(
    sites=[SITE],
    subjects=[SUBJECT],
    obligations=[ObligationRow(1000, 10, TODAY + DAY)],
    rules=[RULE],
    thresholds=[ThresholdRow(5, "7d")],
)
PEOPLE = People(members=[ANA], accounts=[AccountRow(500, True)], recipients=[RecipientRow(5, "role:officer")])


def gaps(register: Register, people: People = PEOPLE) -> list[Gap]:
    return [entry.gap for entry in unwatched(register, people, NOW)]


def test_what_a_rule_can_tell_somebody_about_is_watched() -> None:
    assert gaps(REGISTER) == []


DRAFT = replace(SUBJECT, status="draft")


@pytest.mark.parametrize(
    ("given", "right"),
    [
        pytest.param({"sites": [replace(SITE, archived_at=NOW)]}, [Gap.site_archived], id="site archived"),
        pytest.param({"sites": [replace(SITE, archived_at=NOW)], "subjects": [DRAFT]}, [Gap.site_archived], id="first"),
        pytest.param({"subjects": [DRAFT]}, [Gap.draft], id="draft"),
        pytest.param({"subjects": [DRAFT], "obligations": [], "rules": []}, [Gap.draft], id="draft, counted once"),
        pytest.param(
            {"subjects": [replace(SUBJECT, status="out_of_service")]}, [Gap.out_of_service], id="out of service"
        ),
        pytest.param({"subjects": [replace(SUBJECT, status="archived")]}, [], id="archived: taken off by somebody"),
        pytest.param({"obligations": []}, [Gap.no_date], id="no date"),
        pytest.param({"obligations": [ObligationRow(1, 10, TODAY, closed_at=NOW)]}, [Gap.no_date], id="all closed"),
        pytest.param({"rules": []}, [Gap.no_rule], id="no rule"),
        pytest.param({"rules": [replace(RULE, is_active=False)]}, [Gap.no_rule], id="rule off"),
        pytest.param({"thresholds": []}, [Gap.no_rule], id="a rule without thresholds"),
        pytest.param({"rule_kinds": [RuleKindRow(5, 101)]}, [Gap.no_rule], id="a rule for other kinds"),
        pytest.param({"subjects": [replace(SUBJECT, snoozed_until=TODAY + DAY)]}, [Gap.paused], id="paused"),
        pytest.param({"subjects": [replace(SUBJECT, snoozed_until=TODAY)]}, [], id="paused until today"),
        pytest.param({"sites": [replace(SITE, timezone="Mars/Olympus")]}, [], id="no day: a problem of the watch"),
    ],
)
def test_gaps_of_entries(given: dict[str, Any], right: list[Gap]) -> None:
    assert gaps(replace(REGISTER, **given)) == right


def to(*recipients: str, **given: Any) -> People:
    return replace(PEOPLE, recipients=[RecipientRow(5, text) for text in recipients], **given)


POSTED = {"posts": [PostRow(70, "Plant manager")], "site_posts": [SitePostRow(1, 70, 50, TODAY, TODAY)]}


@pytest.mark.parametrize(
    ("people", "heard"),
    [
        pytest.param(to("role:officer"), True, id="role"),
        pytest.param(to("role:admin"), False, id="a role that nobody has"),
        pytest.param(to("member:ana@acme.example"), True, id="member"),
        pytest.param(to("member:bruno@acme.example"), False, id="another member"),
        pytest.param(to("post:plant manager", **POSTED), True, id="post, in any case, on its first and last day"),
        pytest.param(to("post:Plant manager", posts=POSTED["posts"]), False, id="a post that nobody holds"),
        pytest.param(
            to("post:Plant manager", **POSTED | {"site_posts": [SitePostRow(2, 70, 50, TODAY)]}), False, id="elsewhere"
        ),
        pytest.param(
            to("post:Plant manager", **POSTED | {"site_posts": [SitePostRow(1, 70, 50, TODAY + DAY)]}),
            False,
            id="not yet",
        ),
        pytest.param(
            to("post:Plant manager", **POSTED | {"site_posts": [SitePostRow(1, 70, 50, TODAY - DAY, TODAY - DAY)]}),
            False,
            id="no longer",
        ),
        pytest.param(to("owner"), False, id="an entry without owner"),
        pytest.param(to("owner", "role:officer"), True, id="one of two routes"),
        pytest.param(to(), False, id="no recipient"),
    ],
)
def test_routes(people: People, heard: bool) -> None:
    assert gaps(REGISTER, people) == ([] if heard else [Gap.nobody_to_tell])


@pytest.mark.parametrize(
    ("entry", "people"),
    [
        pytest.param({"owner_member_id": 50}, to("owner"), id="owner"),
        pytest.param({"owner_post_id": 70}, to("owner", **POSTED), id="owner by post"),
        pytest.param({"holder_id": 50}, to("holder"), id="holder"),
    ],
)
def test_the_people_of_the_entry(entry: dict[str, Any], people: People) -> None:
    theirs = replace(REGISTER, subjects=[replace(SUBJECT, **entry)])
    assert gaps(theirs, people) == []
    assert gaps(theirs, to("role:admin", **POSTED)) == [Gap.nobody_to_tell]
    assert gaps(REGISTER, people) == [Gap.nobody_to_tell]


@pytest.mark.parametrize(
    ("ana", "given", "heard"),
    [
        pytest.param({"is_active": False}, {}, False, id="disabled"),
        pytest.param({"left_on": TODAY}, {}, False, id="left"),
        pytest.param({"left_on": TODAY + DAY}, {}, True, id="leaves tomorrow"),
        pytest.param({"valid_until": TODAY}, {}, True, id="valid until today"),
        pytest.param({"valid_until": TODAY - DAY}, {}, False, id="no longer valid"),
        pytest.param({}, {"accounts": [AccountRow(500, False)]}, False, id="login closed"),
        pytest.param({}, {"member_sites": [MemberSiteRow(50, 2)]}, False, id="limited to another site"),
        pytest.param(
            {}, {"member_sites": [MemberSiteRow(50, 2), MemberSiteRow(50, 1)]}, True, id="limited to this site"
        ),
        pytest.param({}, {"member_kinds": [MemberKindRow(50, 98)]}, False, id="limited to another kind"),
        pytest.param({}, {"member_kinds": [MemberKindRow(50, SUBJECT.kind_id)]}, True, id="limited to this kind"),
        pytest.param({"account_id": None}, {}, False, id="in-app without a login"),
    ],
)
def test_only_who_is_there_may_see_it_and_has_a_channel_is_told(
    ana: dict[str, Any], given: dict[str, Any], heard: bool
) -> None:
    people = replace(PEOPLE, members=[replace(ANA, **ana)], **given)
    assert gaps(REGISTER, people) == ([] if heard else [Gap.nobody_to_tell])


@pytest.mark.parametrize(
    ("ana", "heard"),
    [
        ({"account_id": None}, True),
        ({"email": None}, False),
        ({"email_alerts": False}, False),
    ],
)
def test_email_needs_an_address_and_the_wish(ana: dict[str, Any], heard: bool) -> None:
    register = replace(REGISTER, rules=[replace(RULE, channels=["email"])])
    people = replace(PEOPLE, members=[replace(ANA, **ana)])
    assert gaps(register, people) == ([] if heard else [Gap.nobody_to_tell])


def test_counts_name_every_gap() -> None:
    register = replace(REGISTER, subjects=[SUBJECT, replace(DRAFT, id=11), replace(DRAFT, id=12)])
    found = counts(unwatched(register, PEOPLE, NOW))
    assert found == {"total": 2, **{gap.value: 0 for gap in Gap}, "draft": 2}
