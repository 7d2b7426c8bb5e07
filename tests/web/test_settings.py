"""The settings: the organisation, its sites, kinds, people and posts; who may change them, and what is refused."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from app.database import transaction
from app.models import AlertRule, AuditEvent, Kind, Member, Organisation, RuleRecipient, ScanQueue, Site, SitePost
from app.operations import people
from tests import factories
from tests.factories import Acme
from tests.people import INSPECTOR, OFFICER, STAFF
from tests.web.conftest import ADMIN, HTMX, Browser

SignIn = Callable[[str], Browser]

HOME = "/o/acme/settings"
SITE = {"name": "Arinaga", "timezone": "Atlantic/Canary", "country": "es", "region": "CN", "alert_from": "08:00"}
KIND = {"name": "Radiation source", "wording": "falls_due", "what_to_do": "Ask the\r\ncouncil."}
PERSON: dict[str, Any] = {"email": "fay@acme.example", "name": "Fay Notreal", "role": "inspector", "password": ""}
LISTS = ("", "/sites", "/kinds", "/people", "/posts")


@pytest.fixture
def admin(browser: SignIn) -> Browser:
    person = browser(ADMIN)
    person.get(HOME)
    return person


def event(acme: Acme, kind: str) -> dict[str, Any]:
    """The detail of the one event of this type, which Adela has done."""
    with acme.acting() as act:
        found = act.session.scalars(select(AuditEvent).where(AuditEvent.type == kind)).one()
        assert found.actor == f"member:{acme.members['Adela']}"
        return dict(found.detail)


def one(acme: Acme, table: Any, own_id: int) -> Any:
    with acme.acting() as act:
        row = act.session.get_one(table, (act.org, own_id))
        return {column.name: getattr(row, column.name) for column in table.__table__.columns}


def fault(page: str, field: str) -> str:
    assert f'id="{field}"' in page
    return page.split(f'id="{field}-fault"')[1].split("</p>")[0]


def refusal(page: str) -> str:
    return page.split('class="refusal"')[1].split("</div>")[0]


@pytest.mark.parametrize("place", LISTS)
def test_compliance_managers_read_the_settings_and_change_nothing(browser: SignIn, staffed: Acme, place: str) -> None:
    with staffed.acting() as act:
        people.add_post(act, "Plant manager")
    page = browser(OFFICER).get(HOME + place)
    assert page.status_code == 200
    assert "<button>" not in page.text.split("<main")[1]
    assert f'href="{HOME}{place}" aria-current="page"' in page.text
    assert ">Madrid</th>" in page.text or place != "/sites"


def test_what_belongs_to_administrators_is_refused_to_all_others(browser: SignIn, staffed: Acme) -> None:
    with staffed.acting() as act:
        site, kind, post = factories.site(act), factories.kind(act), people.add_post(act, "EHS")
    ana = staffed.members["Ana"]
    posts = ["", "/sites", f"/sites/{site}", f"/sites/{site}/archive", "/kinds", f"/kinds/{kind}", "/people",
             f"/people/{ana}", f"/people/{ana}/disable", f"/people/{ana}/enable", "/posts", f"/posts/{post}/assign",
             f"/posts/{post}/above", f"/posts/{post}/end"]  # fmt: skip
    forms = ["/sites/new", f"/sites/{site}", "/kinds/new", f"/kinds/{kind}", "/people/new", f"/people/{ana}"]
    for email in (OFFICER, STAFF, INSPECTOR):
        person = browser(email)
        person.get("/o/acme/inbox" if email != INSPECTOR else "/o/acme/evidence")
        assert {person.post(HOME + place, name="Mine").status_code for place in posts} == {403}
        assert {person.get(HOME + place).status_code for place in forms} == {403}
        if email != OFFICER:
            assert {person.get(HOME + place).status_code for place in LISTS} == {403}
    assert one(staffed, Member, ana)["is_active"]
    assert one(staffed, Site, site)["name"] == "Madrid"


def test_h38_what_belongs_to_others_is_not_there(admin: Browser, staffed: Acme) -> None:
    other = factories.acme("other", "Porto", "Europe/Lisbon")
    with other.acting() as act:
        site, kind, post = factories.site(act, "Porto"), factories.kind(act), people.add_post(act, "EHS")
        omar = factories.member(act, "omar@other.example", "admin")
    with staffed.acting() as act:
        ours = people.add_post(act, "EHS")
    unknown = admin.get(f"{HOME}/sites/999999").text.split("<main")[1]
    for place in (f"/sites/{site}", f"/kinds/{kind}", f"/people/{omar}", f"/posts/{post}"):
        answer = admin.get(HOME + place)
        assert (answer.status_code, answer.text.split("<main")[1]) == (404, unknown)
    forged = [(f"/sites/{site}", SITE), (f"/sites/{site}/archive", {}), (f"/kinds/{kind}", KIND),
              (f"/people/{omar}/disable", {}), (f"/people/{omar}", PERSON), (f"/posts/{post}/assign", {}),
              (f"/posts/{post}/end", {}), ("/people", PERSON | {"sites": [site]}),
              (f"/posts/{post}/above", {}), (f"/posts/{ours}/above", {"above": post}),
              (f"/posts/{ours}/assign", {"site": site, "member": omar})]  # fmt: skip
    for place, form in forged:
        assert (admin.post(HOME + place, **form).status_code, place) == (404, place)
    assert one(other, Member, omar)["is_active"]
    assert one(other, Site, site)["archived_at"] is None


def test_name_and_patience_of_the_organisation(admin: Browser, staffed: Acme) -> None:
    assert admin.post(HOME, name=" Acme  Glass ", hours="48").location == HOME
    page = admin.get(HOME).text
    assert 'value="Acme Glass"' in page
    assert 'name="hours" type="text" value="48"' in page
    with transaction() as session:
        assert session.scalars(select(Organisation.grace_period)).one() == dt.timedelta(hours=48)
    assert event(staffed, "organisation_changed") == {
        "old": {"name": "Madrid", "grace_hours": 24},
        "new": {"name": "Acme Glass", "grace_hours": 48},
    }


@pytest.mark.parametrize("hours", ["", "soon", "0", "721", "1.5", "٣"])
def test_patience_that_is_no_number_of_hours_is_refused(admin: Browser, staffed: Acme, hours: str) -> None:
    answer = admin.post(HOME, htmx=True, name="Acme Glass", hours=hours)
    assert answer.status_code == 422
    assert answer.text.strip().startswith('<form id="organisation-form"')
    assert fault(answer.text, "hours")
    assert 'value="Acme Glass"' in answer.text
    assert "Acme Glass" not in admin.get(HOME).text


def test_a_site_is_added_with_its_own_today(admin: Browser, staffed: Acme) -> None:
    assert 'value="Europe/Madrid"' in admin.get(f"{HOME}/sites/new").text
    assert admin.post(f"{HOME}/sites", **SITE | {"name": "Kiritimati", "timezone": "Pacific/Kiritimati"}).location
    page = admin.get(f"{HOME}/sites").text
    row = page.split(">Kiritimati</a>")[1].split("</tr>")[0]
    assert "Tuesday, 2 March 2027" in row
    assert "ES, CN" in row
    assert "08:00" in row
    assert event(staffed, "site_changed") == {
        "site_id": event(staffed, "site_changed")["site_id"],
        "old": {"alert_from": "00:00"},
        "new": {"alert_from": "08:00"},
    }


def test_a_site_is_changed_and_its_zone_explained(admin: Browser, staffed: Acme) -> None:
    with staffed.acting() as act:
        site = factories.site(act)
        queued = len(act.session.scalars(select(ScanQueue)).all())
    page = admin.get(f"{HOME}/sites/{site}").text
    assert "A change may change the day at the site, where it is Monday, 1 March 2027 now" in page
    assert admin.post(f"{HOME}/sites/{site}", **SITE).location == f"{HOME}/sites"
    facts = one(staffed, Site, site)
    assert (facts["name"], facts["timezone"], facts["country"], facts["region"], facts["alert_from"]) == (
        "Arinaga", "Atlantic/Canary", "ES", "CN", dt.time(8),
    )  # fmt: skip
    assert event(staffed, "site_zone_changed")["new"] == "Atlantic/Canary"
    assert event(staffed, "site_changed")["old"]["name"] == "Madrid"
    with staffed.acting() as act:
        assert len(act.session.scalars(select(ScanQueue)).all()) == queued + 2
    assert admin.post(f"{HOME}/sites/{site}", **SITE).location
    with staffed.acting() as act:  # Again changes nothing.
        assert len(act.session.scalars(select(ScanQueue)).all()) == queued + 2


WRONG_SITES = [
    ({"name": ""}, "name", "is empty"),
    ({"name": "MADRID"}, "name", "choose another name"),
    ({"timezone": "Mars/Olympus"}, "timezone", "cannot be used"),
    ({"country": "Spain"}, "country", "not a country"),
    ({"region": "Atlantis"}, "region", "no region of ES"),
    ({"country": ""}, "region", "has no country"),
    ({"alert_from": "25:00"}, "alert_from", "no time of day"),
]


@pytest.mark.parametrize(("wrong", "field", "words"), WRONG_SITES)
@pytest.mark.parametrize("is_new", [True, False])
def test_a_site_that_cannot_be_is_refused_beside_its_field(
    admin: Browser, staffed: Acme, wrong: dict[str, str], field: str, words: str, is_new: bool
) -> None:
    with staffed.acting() as act:
        site = people.add_site(act, "Cork", "Europe/Dublin")
    typed = SITE | wrong
    answer = admin.post(f"{HOME}/sites" if is_new else f"{HOME}/sites/{site}", **typed)
    assert answer.status_code == 422
    assert words in fault(answer.text, field)
    assert answer.text.count('aria-invalid="true"') == 1
    for name, value in typed.items():
        assert f'id="{name}" name="{name}" type="{"time" if name == "alert_from" else "text"}" value="{value}"' in (
            answer.text
        )
    assert one(staffed, Site, site)["timezone"] == "Europe/Dublin"
    with staffed.acting() as act:
        assert set(act.session.scalars(select(Site.name))) == {"Madrid", "Cork"}


def test_a_site_is_archived_only_once_nothing_is_watched_there(admin: Browser, staffed: Acme) -> None:
    with staffed.acting() as act:
        site = factories.site(act)
        entry = factories.subject(act)
    admin.get(f"{HOME}/sites/{site}")
    answer = admin.post(f"{HOME}/sites/{site}/archive", htmx=True)
    assert answer.status_code == 422
    assert "1 entry is watched at this site: move or archive it first." in refusal(answer.text)
    assert one(staffed, Site, site)["archived_at"] is None
    with staffed.acting() as act:
        act.session.merge(entry).status = "archived"
    assert admin.post(f"{HOME}/sites/{site}/archive").location == f"{HOME}/sites"
    assert ">Archived<" in admin.get(f"{HOME}/sites").text
    assert one(staffed, Site, site)["archived_at"] == staffed.now
    assert event(staffed, "site_archived") == {"site_id": site}


def test_a_kind_asks_for_proof(admin: Browser, staffed: Acme) -> None:
    assert admin.post(f"{HOME}/kinds", **KIND, proof_needed="yes").location == f"{HOME}/kinds"
    line = admin.get(f"{HOME}/kinds").text.split(">Radiation source</a>")[1].split("</tr>")[0]
    assert ">needed<" in line
    with staffed.acting() as act:
        kind_id = act.session.scalars(select(Kind.id).where(Kind.name == KIND["name"])).one()
    assert 'name="proof_needed" value="yes" checked' in admin.get(f"{HOME}/kinds/{kind_id}").text
    assert admin.post(f"{HOME}/kinds/{kind_id}", **KIND).location
    assert one(staffed, Kind, kind_id)["proof_needed"] is False


def test_a_kind_is_added_and_changed(admin: Browser, staffed: Acme) -> None:
    assert admin.post(f"{HOME}/kinds", **KIND).location == f"{HOME}/kinds"
    page = admin.get(f"{HOME}/kinds").text
    assert "falls due (something to do)" in page.split(">Radiation source</a>")[1].split("</tr>")[0]
    with staffed.acting() as act:
        kind = act.session.scalars(select(Kind).where(Kind.name == KIND["name"])).one()
        kind_id, what = kind.id, kind.what_to_do
    assert what == "Ask the\ncouncil."
    changed = {"name": "Source", "wording": "expires", "what_to_do": ""}
    assert admin.post(f"{HOME}/kinds/{kind_id}", **changed).location
    assert {part: one(staffed, Kind, kind_id)[part] for part in changed} == changed
    with staffed.acting() as act:
        events = act.session.scalars(
            select(AuditEvent.detail).where(AuditEvent.type == "kind_changed").order_by(AuditEvent.id)
        )
        assert events.all()[-1]["old"] == KIND | {"what_to_do": "Ask the\ncouncil."}


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [("source", "Permit", "there already"), ("source", "", "is empty"), ("other", "Rest", "keeps its name")],
)
def test_a_kind_that_cannot_be_is_refused(admin: Browser, staffed: Acme, kind: str, name: str, words: str) -> None:
    with staffed.acting() as act:
        factories.kind(act, "permit")
        other = factories.kind(act, kind)
    answer = admin.post(f"{HOME}/kinds/{other}", **KIND | {"name": name})
    assert answer.status_code == 422
    assert words in fault(answer.text, "name")
    assert ">Ask the\ncouncil.</textarea>" in answer.text.replace("\r", "")
    assert 'value="falls_due" checked' in answer.text
    assert one(staffed, Kind, other)["wording"] == "expires"


def test_people_are_listed_with_what_they_may_and_when_they_came(
    app: Flask, browser: SignIn, admin: Browser, staffed: Acme
) -> None:
    browser(STAFF)
    with staffed.acting() as act:
        people.limit_member(act, staffed.members["Dana"], [factories.site(act)])
        people.add_member(act, "gil@acme.example", "staff", "Gil", valid_until=dt.date(2027, 2, 28))
    page = admin.get(f"{HOME}/people").text
    bruno, dana, gil = (page.split(f">{name}</a>")[1].split("</tr>")[0] for name in ("Bruno", "Dana", "Gil"))
    assert "1 March 2027, 12:00:00 +01:00" in bruno
    assert "Team member" in bruno
    assert ">Madrid<" in dana
    assert "none in 90 days" in dana
    assert "Access is over" in gil
    assert "28 February 2027" in gil
    assert "has no password" in gil


def test_a_person_is_added_and_can_sign_in(app: Flask, admin: Browser, staffed: Acme) -> None:
    with staffed.acting() as act:
        site = factories.site(act)
    form = PERSON | {"password": "a long enough sentence", "sites": [site], "valid_until": "2027-03-31"}
    assert admin.post(f"{HOME}/people", **form).location == f"{HOME}/people"
    assert "Fay Notreal" in admin.get(f"{HOME}/people").text
    with staffed.acting() as act:
        fay = people.find_member(act, "fay@acme.example")
        assert (fay.role, fay.valid_until, people.may_see(act, fay.id, site)) == (
            "inspector", dt.date(2027, 3, 31), True,
        )  # fmt: skip
    Browser(app.test_client()).sign_in("fay@acme.example", "a long enough sentence")


WRONG_PEOPLE = [
    ({"email": "fay"}, "email", "not an e-mail address"),
    ({"email": STAFF.upper()}, "email", "a member already"),
    ({"name": " "}, "name", "is empty"),
    ({"role": "boss"}, None, "Choose a role."),
    ({"password": "short"}, "password", "use 12 to 128"),
    ({"valid_until": "31/03/2027"}, "valid_until", "no date"),
    ({"valid_until": "2127-03-31"}, "valid_until", "outside the years"),
]


@pytest.mark.parametrize(("wrong", "field", "words"), WRONG_PEOPLE)
def test_a_person_who_cannot_be_added_is_refused_and_no_password_is_shown(
    admin: Browser, staffed: Acme, wrong: dict[str, str], field: str | None, words: str
) -> None:
    with staffed.acting() as act:
        site = factories.site(act)
    typed = PERSON | {"password": "a long enough sentence", "sites": [site]} | wrong
    answer = admin.post(f"{HOME}/people", htmx=True, **typed)
    assert answer.status_code == 422
    assert words in (fault(answer.text, field) if field else answer.text.split('id="role-fault"')[1])
    assert str(typed["password"]) not in answer.text.replace(words, "")
    assert f'name="sites" value="{site}" checked' in answer.text
    for name in ("email", "name"):
        assert f'value="{typed[name]}"' in answer.text
    with staffed.acting() as act:
        assert len(act.session.scalars(select(Member)).all()) == 4


def test_a_person_is_changed(admin: Browser, staffed: Acme) -> None:
    bruno = staffed.members["Bruno"]
    with staffed.acting() as act:
        site = factories.site(act)
    changed = {"name": "Bruno Supuesto", "role": "officer", "valid_until": "2027-06-30", "sites": [site]}
    assert admin.post(f"{HOME}/people/{bruno}", **changed).location == f"{HOME}/people"
    facts = one(staffed, Member, bruno)
    assert (facts["name"], facts["role"], facts["valid_until"], facts["email_alerts"]) == (
        "Bruno Supuesto", "officer", dt.date(2027, 6, 30), True,
    )  # fmt: skip
    assert event(staffed, "member_role_changed") == {"member_id": bruno, "old": "staff", "new": "officer"}
    assert event(staffed, "member_renamed") == {"member_id": bruno}
    assert event(staffed, "member_limited")["new"] == [site]
    assert event(staffed, "member_access_changed")["new"] == "2027-06-30"
    with staffed.acting() as act:
        assert dt.date(2027, 7, 1) in act.session.scalars(select(ScanQueue.wake_on)).all()


def test_a_persons_address_is_corrected_and_rules_go_on_naming_them(admin: Browser, staffed: Acme) -> None:
    bruno = staffed.members["Bruno"]
    with staffed.acting() as act:
        rule = factories.rule(act, "Named", to=(f"member:{STAFF}",))
        rule.fallback = f"member:{STAFF}"
        rule_id = rule.id
    form = {"name": "Bruno", "role": "staff"}
    assert admin.post(f"{HOME}/people/{bruno}", **form, email="Bruno.S@acme.example").location
    assert one(staffed, Member, bruno)["email"] == "bruno.s@acme.example"
    assert event(staffed, "member_address_changed") == {"member_id": bruno, "has_address": True}
    with staffed.acting() as act:
        named = act.session.scalars(select(RuleRecipient.recipient).where(RuleRecipient.rule_id == rule_id)).all()
        assert named == ["member:bruno.s@acme.example"]
    assert one(staffed, AlertRule, rule_id)["fallback"] == "member:bruno.s@acme.example"

    assert admin.post(f"{HOME}/people/{bruno}", **form).location, "a form without the field leaves it"
    assert one(staffed, Member, bruno)["email"] == "bruno.s@acme.example"
    for wrong, words in ((OFFICER, "another member"), ("bruno", "not an e-mail"), ("", "A rule names this person")):
        answer = admin.post(f"{HOME}/people/{bruno}", htmx=True, **form, email=wrong)
        assert answer.status_code == 422
        assert words in answer.text


def test_a_person_is_disabled_and_enabled(admin: Browser, browser: SignIn, staffed: Acme) -> None:
    dana, visitor = staffed.members["Dana"], browser(INSPECTOR)
    assert admin.post(f"{HOME}/people/{dana}/disable").location == f"{HOME}/people"
    assert ">Disabled<" in admin.get(f"{HOME}/people").text
    assert visitor.get("/o/acme/evidence").status_code == 404
    assert "Enable Dana" in admin.get(f"{HOME}/people/{dana}").text
    assert admin.post(f"{HOME}/people/{dana}/enable").location
    assert visitor.get("/o/acme/evidence").status_code == 200


def test_the_last_administrator_stays(admin: Browser, staffed: Acme) -> None:
    adela = staffed.members["Adela"]
    answers = [
        admin.post(f"{HOME}/people/{adela}/disable"),
        admin.post(f"{HOME}/people/{adela}", name="Adela", role="staff"),
        admin.post(f"{HOME}/people/{adela}", name="Adela", role="admin", valid_until="2027-03-02"),
    ]
    for answer in answers:
        assert answer.status_code == 422
        assert "Adela is the only administrator" in refusal(answer.text)
        assert answer.text.count('class="refusal"') == 1
    assert (one(staffed, Member, adela)["is_active"], one(staffed, Member, adela)["role"]) == (True, "admin")
    with staffed.acting() as act:
        people.add_member(act, "emil@acme.example", "admin", "Emil")
    assert admin.post(f"{HOME}/people/{adela}", name="Adela", role="staff").status_code == 303
    assert admin.get(f"{HOME}/people").status_code == 403


def test_a_post_is_added_assigned_and_ended(admin: Browser, staffed: Acme) -> None:
    with staffed.acting() as act:
        site = factories.site(act)
    assert admin.post(f"{HOME}/posts", name="Plant manager").location == f"{HOME}/posts"
    page = admin.get(f"{HOME}/posts").text
    assert ">Nobody<" in page.split(">Plant manager</a>")[1]
    with staffed.acting() as act:
        post = people.find_post(act, "plant manager").id
    where, bruno = f"{HOME}/posts/{post}", staffed.members["Bruno"]
    assert "Nobody holds it" in admin.get(where).text
    assert admin.post(f"{where}/assign", site=site, member=bruno, from_on="2027-02-01").location == where
    assert "Madrid: Bruno, since 1 February 2027" in admin.get(f"{HOME}/posts").text
    key = {"site": site, "member": bruno, "from_on": "2027-02-01"}
    early = admin.post(f"{where}/end", htmx=True, **key, until_on="2027-01-31")
    assert early.status_code == 422
    assert "before the first day" in refusal(early.text)
    assert admin.post(f"{where}/end", **key, until_on="2027-03-31").location == where
    assert "31 March 2027" in admin.get(where).text
    assert admin.post(f"{where}/end", **key | {"from_on": "2027-02-02"}, until_on="2027-03-31").status_code == 404
    with staffed.acting() as act:
        assert act.session.scalars(select(SitePost.until_on)).all() == [dt.date(2027, 3, 31)]
        events = act.session.scalars(select(AuditEvent.detail).where(AuditEvent.type == "post_assigned")).all()
        assert events[-1]["old"] == ["2027-02-01", None]
        assert dt.date(2027, 4, 1) in act.session.scalars(select(ScanQueue.wake_on)).all()


def test_a_post_is_put_above_another_and_never_in_a_loop(admin: Browser, browser: SignIn, staffed: Acme) -> None:
    with staffed.acting() as act:
        fitter, manager = people.add_post(act, "Fitter"), people.add_post(act, "Plant manager")
    lower, upper = f"{HOME}/posts/{fitter}", f"{HOME}/posts/{manager}"
    page = admin.get(lower).text
    assert f'<option value="{manager}">Plant manager</option>' in page
    assert ">Fitter</option>" not in page
    assert admin.post(f"{lower}/above", above=manager).location == lower
    assert f'<option value="{manager}" selected>' in admin.get(lower).text
    loop = admin.post(f"{upper}/above", htmx=True, above=fitter)
    assert loop.status_code == 422
    assert "&#39;Fitter&#39; is under &#39;Plant manager&#39;, so it cannot be above it: choose another post" in fault(
        loop.text, "above"
    )
    assert f'<option value="{fitter}" selected>Fitter</option>' in loop.text
    assert ">Plant manager</td>" in admin.get(f"{HOME}/posts").text
    assert "Plant manager</a> is told." in browser(OFFICER).get(lower).text
    assert admin.post(f"{lower}/above", above="").location == lower
    with staffed.acting() as act:
        events = act.session.scalars(select(AuditEvent.detail).where(AuditEvent.type == "post_above_set"))
        assert [(one["old"], one["new"]) for one in events] == [(None, manager), (manager, None)]


def test_a_post_that_cannot_be_assigned_so_is_refused(admin: Browser, staffed: Acme) -> None:
    with staffed.acting() as act:
        post, site = people.add_post(act, "EHS"), factories.site(act)
        people.limit_member(act, staffed.members["Bruno"], [people.add_site(act, "Cork", "Europe/Dublin")])
    where, bruno = f"{HOME}/posts/{post}", staffed.members["Bruno"]
    taken = admin.post(f"{HOME}/posts", name=" ehs ")
    assert taken.status_code == 422
    assert "choose another name" in fault(taken.text, "name")
    nobody = admin.post(f"{where}/assign", site="", member=bruno, from_on="tomorrow")
    assert nobody.status_code == 422
    assert "Choose the site." in fault(nobody.text, "site")
    assert "no date" in fault(nobody.text, "from_on")
    assert f'<option value="{bruno}" selected>' in nobody.text
    unseen = admin.post(f"{where}/assign", htmx=True, site=site, member=bruno)
    assert unseen.status_code == 422
    assert "Bruno may not see site Madrid" in refusal(unseen.text)
    assert "onus" not in refusal(unseen.text)
    with staffed.acting() as act:
        assert act.session.scalars(select(SitePost)).all() == []


def test_lists_are_pages_in_the_order_of_names(admin: Browser, staffed: Acme) -> None:
    with staffed.acting() as act:
        for number in range(51):
            factories.kind(act, f"kind {number:02}")
    page = admin.get(f"{HOME}/kinds").text
    assert ">kind 49</a>" in page
    assert ">kind 50</a>" not in page
    following = page.split(f'<a href="{HOME}/kinds?after=')[1].split('"')[0]
    last = admin.get(f"{HOME}/kinds?after={following}").text
    assert ">kind 50</a>" in last
    assert ">other</a>" in last
    assert "kinds?after=" not in last


def test_a_form_is_a_fragment_for_htmx_and_a_page_for_everybody_else(admin: Browser, staffed: Acme) -> None:
    with staffed.acting() as act:
        site = factories.site(act)
    part = admin.client.get(f"{HOME}/sites/{site}", headers=HTMX)
    assert part.text.strip().startswith('<div id="site-form">')
    page = admin.get(f"{HOME}/sites/{site}").text
    assert page.startswith("<!doctype html>")
    ids = [piece.split('"')[0] for piece in page.split(' id="')[1:]]
    assert len(ids) == len(set(ids))
    assert page.count("<h1") == 1
