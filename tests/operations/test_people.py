from __future__ import annotations

import datetime as dt

import pytest
from argon2 import PasswordHasher
from sqlalchemy import func, select

from app.database import transaction
from app.domain.errors import Refused, UnusableZone
from app.models import Account, AuditEvent, Kind, Member, MemberSite, Organisation, Site, SitePost
from app.operations import members, passwords, people
from app.trail.act import OPERATOR, Act
from tests import factories
from tests.factories import NOW, Acme
from tests.operations.story import Since, march
from tests.people import INSPECTOR, OFFICER, STAFF


def test_a_new_organisation_has_one_site_the_kind_other_and_its_trail(act: Act) -> None:
    assert act.session.scalars(select(Site.name)).all() == ["Madrid"]
    assert act.session.scalars(select(Kind.name)).all() == ["other"]
    types = act.session.scalars(select(AuditEvent.type).order_by(AuditEvent.id)).all()
    assert types == ["organisation_created", "site_created", "kind_created"]


@pytest.mark.parametrize("slug", ["", "Acme", "-acme", "a" * 64, "a b", "añ", "acme\n", "a/b", "_a"])
def test_a_slug_that_cannot_stand_in_an_address_is_refused(acme: Acme, slug: str) -> None:
    with pytest.raises(Refused, match="cannot stand in an address"), transaction() as session:
        people.add_organisation(session, NOW, OPERATOR, slug, "Acme", "Europe/Madrid")


def test_two_organisations_may_not_have_one_slug(acme: Acme) -> None:
    with pytest.raises(Refused, match="there already"):
        factories.acme("acme")


@pytest.mark.parametrize("slug", ["a", "7", "acme-2", "a" * 63])
def test_a_sound_slug_is_taken(app: object, slug: str) -> None:
    assert factories.acme(slug).org


def test_an_organisation_with_a_made_up_zone_is_refused(acme: Acme) -> None:
    with pytest.raises(UnusableZone, match="Mars/Olympus"):
        factories.acme("mars", timezone="Mars/Olympus")
    with transaction() as session:
        assert session.scalars(select(Organisation.slug)).all() == ["acme"]


def test_a_site_has_its_zone_country_and_region(act: Act, since: Since) -> None:
    site_id = people.add_site(act, " Vitoria\t 1 ", "Europe/Madrid", "es", "PV")
    site = people.find_site(act, "vitoria 1")
    assert (site.id, site.name, site.country, site.region) == (site_id, "Vitoria 1", "ES", "PV")
    assert since.both() == (["site_created"], [(None, None)])


@pytest.mark.parametrize(
    ("name", "zone", "country", "region", "words"),
    [
        ("MADRID", "Europe/Madrid", None, None, "there already"),
        ("  ", "Europe/Madrid", None, None, "is empty"),
        ("x" * 201, "Europe/Madrid", None, None, "201 characters"),
        ("Lab\x00", "Europe/Madrid", None, None, "cannot be kept"),
        ("Lab", "Europe/Nowhere", None, None, "time zone"),
        ("Lab", "", None, None, "time zone"),
        ("Lab", "Europe/Madrid", "ESP", None, "not a country"),
        ("Lab", "Europe/Madrid", "Ñ1", None, "not a country"),
        ("Lab", "Europe/Madrid", "ES", "Atlantis", "no region of ES"),
        ("Lab", "Europe/Madrid", None, "PV", "has no country"),
    ],
)
def test_a_bad_site_is_refused(
    act: Act, since: Since, name: str, zone: str, country: str | None, region: str | None, words: str
) -> None:
    with pytest.raises(Refused, match=words):
        people.add_site(act, name, zone, country, region)
    assert since.both() == ([], [])


def test_the_zone_of_a_site_changes_once(act: Act, since: Since) -> None:
    site_id = factories.site(act)
    assert people.set_site_zone(act, site_id, "Atlantic/Canary")
    assert since.event() == (
        "site_zone_changed",
        {"site_id": site_id, "old": "Europe/Madrid", "new": "Atlantic/Canary"},
    )
    assert not people.set_site_zone(act, site_id, "Atlantic/Canary")
    with pytest.raises(UnusableZone):
        people.set_site_zone(act, site_id, "Mars/Olympus")
    assert since.both() == ([], [])


def test_a_site_is_archived_once(act: Act, since: Since) -> None:
    site_id = factories.site(act)
    assert people.archive_site(act, site_id)
    assert since.both() == (["site_archived"], [(None, None)])
    assert not people.archive_site(act, site_id)
    assert since.both() == ([], [])


def test_a_member_always_has_an_account_and_one_address(act: Act, since: Since) -> None:
    member_id = people.add_member(act, " Ana@ACME.example ", "officer")
    member = people.find_member(act, "ANA@acme.example")
    assert (member.id, member.name, member.email, member.role) == (member_id, "ana", OFFICER, "officer")
    account = act.session.get_one(Account, member.account_id)
    assert (account.email, account.password_hash) == (OFFICER, None)
    assert since.both() == (["member_created"], [(None, None)])


def test_the_trail_names_no_address(act: Act, since: Since) -> None:
    people.add_member(act, OFFICER, "officer", name="Ana Ficticia")
    _, detail = since.event()
    assert "ana" not in str(detail).lower()


@pytest.mark.parametrize(
    ("email", "role", "name", "words"),
    [
        ("ana", "officer", None, "not an e-mail address"),
        (OFFICER, "boss", None, "not a role: write one of admin, officer, staff, inspector"),
        (OFFICER, "", None, "needs a role"),
        (OFFICER, "officer", " ", "The name is empty"),
        (STAFF.upper(), "officer", None, "a member already"),
    ],
)
def test_a_bad_member_is_refused(act: Act, email: str, role: str, name: str | None, words: str) -> None:
    factories.member(act, STAFF, "staff")
    with pytest.raises(Refused, match=words):
        people.add_member(act, email, role, name)


def test_a_member_without_an_account_is_given_one(act: Act, since: Since) -> None:
    act.run("insert into member (org_id, name, email, role) values (:org, 'Cy', 'cy@x.example', 'staff')")
    since.read()
    member_id = people.add_member(act, "CY@x.example", "officer", "Cy Young", "a hash")
    assert since.both() == (["member_account_given", "member_renamed", "member_role_changed"], [(None, None)])
    member = people.find_member(act, "cy@x.example")
    assert (member.id, member.name, member.role) == (member_id, "Cy Young", "officer")
    account = act.session.get_one(Account, member.account_id)
    assert (account.email, account.password_hash) == ("cy@x.example", "a hash")
    with pytest.raises(Refused, match="a member already"):
        people.add_member(act, "cy@x.example", "officer")


def test_an_account_is_given_to_one_member_alone(act: Act) -> None:
    first = people.add_member(act, OFFICER, "officer", "Ana")
    members.change_address(act, first, "ana.new@acme.example")
    act.run("insert into member (org_id, name, email, role) values (:org, 'Cy', :email, 'staff')", {"email": OFFICER})
    with pytest.raises(Refused, match="Somebody else here signs in as"):
        people.add_member(act, OFFICER, "staff")
    act.run("update member set is_active = false where name = 'Cy' and org_id = :org")
    with pytest.raises(Refused, match="enable them if they are disabled"):
        people.add_member(act, OFFICER, "staff")


def test_a_person_of_two_organisations_has_one_account(app: object) -> None:
    first, second = factories.acme("first"), factories.acme("second")
    for one, name in ((first, "Emil Pretend"), (second, None)):
        with one.acting() as act:
            people.add_member(act, OFFICER, "officer", name)
    with transaction() as session:
        assert session.scalar(select(func.count()).select_from(Account)) == 1
    with second.acting() as act:  # What they are called elsewhere is not shown here.
        assert people.find_member(act, OFFICER).name == "ana"


def test_a_password_is_set_once_and_never_replaced(app: object) -> None:
    first, second, third = (factories.acme(slug) for slug in ("first", "second", "third"))
    with first.acting() as act:
        people.add_member(act, OFFICER, "officer")
    with second.acting() as act:
        people.add_member(act, OFFICER, "officer", password_hash="first hash")
    with pytest.raises(Refused, match="has a password already"), third.acting() as act:
        people.add_member(act, OFFICER, "officer", password_hash="second hash")
    with transaction() as session:
        assert session.scalars(select(Account.password_hash)).one() == "first hash"
    with third.acting() as act:
        assert act.session.scalars(select(Member.id)).all() == []


def test_a_grant_that_ends_wakes_the_scan_on_the_day_after(act: Act, since: Since) -> None:
    people.add_member(act, INSPECTOR, "inspector", valid_until=march(31))
    assert since.both() == (["member_created"], [(None, None), (None, dt.date(2027, 4, 1))])


def test_a_member_is_disabled_and_enabled_once(act: Act, since: Since) -> None:
    member_id = factories.member(act)
    since.read()
    assert people.disable_member(act, member_id)
    assert not people.disable_member(act, member_id)
    assert people.enable_member(act, member_id)
    assert not people.enable_member(act, member_id)
    assert since.both() == (["member_disabled", "member_enabled"], [(None, None)] * 2)


def test_limits_are_replaced_and_lifted(act: Act, since: Since) -> None:
    member_id, madrid = factories.member(act), factories.site(act)
    cork, aveiro = (people.add_site(act, name, "Europe/Lisbon") for name in ("Cork", "Aveiro"))
    since.read()
    assert not people.limit_member(act, member_id, [])
    for sites in ([madrid, cork], [cork, aveiro, cork]):
        assert people.limit_member(act, member_id, sites)
        assert not people.limit_member(act, member_id, sites[::-1])
    assert [people.may_see(act, member_id, site) for site in (madrid, cork, aveiro)] == [False, True, True]
    assert people.limit_member(act, member_id, [])
    assert people.may_see(act, member_id, madrid)
    assert act.session.scalars(select(MemberSite)).all() == []
    assert since.both() == (["member_limited"] * 3, [(None, None)] * 3)


def test_email_alerts_are_switched_once(act: Act, since: Since) -> None:
    member_id = factories.member(act)
    since.read()
    assert not people.set_email_alerts(act, member_id, True)
    assert people.set_email_alerts(act, member_id, False)
    assert since.event() == ("email_alerts_changed", {"member_id": member_id, "old": True, "new": False})


@pytest.mark.parametrize(
    ("find", "words"),
    [
        (lambda act: people.find_site(act, " Cork "), "no such site 'Cork': `onus site add`"),
        (lambda act: people.find_post(act, "EHS"), "no such post 'EHS': `onus post add`"),
        (lambda act: people.find_member(act, STAFF), f"no member '{STAFF}': `onus member add`"),
    ],
)
def test_what_is_not_there_is_refused_with_its_name_and_what_to_do(act: Act, find: object, words: str) -> None:
    with pytest.raises(Refused, match=words):
        find(act)


def test_nobody_of_another_organisation_is_found(app: object) -> None:
    ours, theirs = factories.acme("ours"), factories.acme("theirs", "Cork")
    with theirs.acting() as act:
        factories.member(act)
        people.add_post(act, "EHS")
    for find, name in ((people.find_site, "Cork"), (people.find_post, "EHS"), (people.find_member, OFFICER)):
        with pytest.raises(Refused, match="There is no"), ours.acting() as act:
            find(act, name)


def test_a_post_has_one_name_however_it_is_spelled(act: Act) -> None:
    post_id = people.add_post(act, "Plant  manager")
    assert people.find_post(act, "plant manager").id == post_id
    with pytest.raises(Refused, match="there already"):
        people.add_post(act, "PLANT MANAGER")


@pytest.fixture
def holding(act: Act) -> dict[str, int]:
    return {
        "post_id": people.add_post(act, "EHS"),
        "member_id": factories.member(act),
        "site_id": factories.site(act),
    }


def periods(act: Act) -> list[tuple[dt.date, dt.date | None]]:
    rows = act.session.scalars(select(SitePost).order_by(SitePost.member_id, SitePost.from_on))
    return [(row.from_on, row.until_on) for row in rows]


def test_a_post_is_held_from_the_sites_own_today(act: Act, holding: dict[str, int], since: Since) -> None:
    people.set_site_zone(act, holding["site_id"], "Pacific/Kiritimati")  # There it is the second of March already.
    since.read()
    assert people.assign_post(act, **holding)
    assert periods(act) == [(march(2), None)]
    assert since.both() == (["post_assigned"], [(None, None)])
    assert not people.assign_post(act, **holding)
    assert since.both() == ([], [])


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (march(5), march(20), (march(5), march(20))),  # The same.
        (march(10), march(15), (march(5), march(15))),  # Ended earlier.
        (march(10), None, (march(5), None)),  # Prolonged.
        (march(1), march(20), (march(1), march(20))),  # Begun earlier.
        (march(20), march(25), (march(5), march(25))),  # They meet on the last day.
    ],
)
def test_periods_of_one_person_that_overlap_are_one(
    act: Act, holding: dict[str, int], first: dt.date, last: dt.date | None, expected: tuple[dt.date, dt.date | None]
) -> None:
    people.assign_post(act, **holding, from_on=march(5), until_on=march(20))
    is_new = expected != (march(5), march(20))
    assert people.assign_post(act, **holding, from_on=first, until_on=last) is is_new
    assert periods(act) == [expected]


def test_apart_they_are_two_and_several_people_may_hold_a_post(act: Act, holding: dict[str, int]) -> None:
    people.assign_post(act, **holding, from_on=march(10))
    assert people.assign_post(act, **holding, until_on=march(4))
    holding["member_id"] = factories.member(act, STAFF, "staff")
    assert people.assign_post(act, **holding)
    assert periods(act) == [(march(1), march(4)), (march(10), None), (march(1), None)]


def test_a_post_wakes_the_scan_when_it_begins_and_after_it_ends(
    act: Act, holding: dict[str, int], since: Since
) -> None:
    since.read()
    people.assign_post(act, **holding, from_on=march(5), until_on=march(20))
    assert since.both()[1] == [(None, None), (None, march(5)), (None, march(21))]


def test_a_post_cannot_end_before_it_begins(act: Act, holding: dict[str, int]) -> None:
    with pytest.raises(Refused, match="before the first day"):
        people.assign_post(act, **holding, from_on=march(5), until_on=march(4))


def test_a_post_at_a_site_that_the_person_may_not_see_is_refused(act: Act, holding: dict[str, int]) -> None:
    people.limit_member(act, holding["member_id"], [people.add_site(act, "Cork", "Europe/Dublin")])
    with pytest.raises(Refused, match="ana may not see site Madrid"):
        people.assign_post(act, **holding)


@pytest.mark.parametrize("length", [0, 11, 129])
def test_a_password_too_short_or_too_long_is_refused(length: int) -> None:
    with pytest.raises(Refused, match="use 12 to 128"):
        passwords.hashed("x" * length)


@pytest.mark.parametrize("password", ["twelve chars", "ñ" * 128])
def test_a_password_is_kept_as_a_hash_that_verifies(password: str) -> None:
    kept = passwords.hashed(password)
    assert kept.startswith("$argon2id$")
    assert PasswordHasher().verify(kept, password)


def test_an_organisation_is_made_whole_or_not_at_all(app: object) -> None:
    with pytest.raises(Refused, match="The name of the organisation is empty"):
        factories.acme("half", name=" ")
    with transaction() as session:
        assert session.scalars(select(Organisation.slug)).all() == []
