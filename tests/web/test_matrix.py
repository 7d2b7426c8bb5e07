"""Every route, asked by everybody, with ids of one's own, of another organisation and of nobody (H38).

The table says who may and what then comes. A route that it does not name, or a name that no route has, fails.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from flask import Flask
from werkzeug.routing import Rule

from app.operations import people
from app.web.entry import DEADLINE_DEEDS, ENTRY_DEEDS
from tests.people import OUTSIDER
from tests.web.conftest import ADMIN, HTMX, Browser
from tests.web.furnished import (
    NO_NUMBER_OF_OURS,
    NO_SUCH,
    ROLES,
    Furnished,
    SignIn,
    address,
    contents,
    plain,
    refusals,
    routes,
    undone,
)

pytestmark = pytest.mark.furnished

ADMINS = ("admin",)
MANAGERS = ("admin", "officer")
READERS = ("admin", "officer", "inspector")
EVERYBODY = ("admin", "officer", "staff", "inspector")
ANSWERING = ("admin", "officer", "staff")

# Who may, and what comes: 200 a page, 303 done, 422 the form again, since nothing was filled in.
MATRIX: dict[str, tuple[tuple[str, ...], int]] = {
    "GET /o/<slug>/": (MANAGERS, 200),
    "GET /o/<slug>/today/<queue>": (MANAGERS, 200),
    "GET /o/<slug>/today/missing": (MANAGERS, 200),
    "GET /o/<slug>/today/unwatched": (MANAGERS, 200),
    "POST /o/<slug>/today/answers/<int:answer_id>": (MANAGERS, 422),
    "GET /o/<slug>/today/unreached": (MANAGERS, 200),
    "GET /o/<slug>/register": (READERS, 200),
    "GET /o/<slug>/register/new": (MANAGERS, 200),
    "POST /o/<slug>/register/new": (MANAGERS, 422),
    "GET /o/<slug>/register/import": (MANAGERS, 200),
    "POST /o/<slug>/register/import": (MANAGERS, 422),
    "GET /o/<slug>/register/import/<int:upload_id>": (MANAGERS, 200),
    "POST /o/<slug>/register/import/<int:upload_id>": (MANAGERS, 422),
    "POST /o/<slug>/register/import/<int:upload_id>/table": (MANAGERS, 303),
    "POST /o/<slug>/register/import/<int:upload_id>/apply": (MANAGERS, 422),
    "POST /o/<slug>/register/import/<int:upload_id>/drop": (MANAGERS, 303),
    "GET /o/<slug>/register/imports/<int:import_run_id>": (MANAGERS, 200),
    "GET /o/<slug>/register/imports/<int:import_run_id>/left-over.csv": (MANAGERS, 200),
    "POST /o/<slug>/register/imports/<int:import_run_id>/left-over/drop": (MANAGERS, 303),
    "GET /o/<slug>/register/imports/<int:import_run_id>/release": (MANAGERS, 200),
    "POST /o/<slug>/register/imports/<int:import_run_id>/release": (MANAGERS, 422),
    "GET /o/<slug>/register/imports/<int:import_run_id>/in-error": (MANAGERS, 200),
    "POST /o/<slug>/register/imports/<int:import_run_id>/in-error": (MANAGERS, 303),
    "POST /o/<slug>/register/export": (READERS, 200),
    "POST /o/<slug>/register/batch": (MANAGERS, 422),
    "POST /o/<slug>/register/batch/<deed>": (MANAGERS, 422),
    "POST /o/<slug>/register/batch/<deed>/apply": (MANAGERS, 422),
    "GET /o/<slug>/register/batches/<int:batch_id>": (READERS, 200),
    "GET /o/<slug>/register/<int:subject_id>": (READERS, 200),
    "GET /o/<slug>/register/<int:subject_id>/<deed>": (MANAGERS, 200),
    "POST /o/<slug>/register/<int:subject_id>/<deed>": (MANAGERS, 422),
    "GET /o/<slug>/register/<int:subject_id>/deadlines/<int:obligation_id>/<deed>": (MANAGERS, 200),
    "POST /o/<slug>/register/<int:subject_id>/deadlines/<int:obligation_id>/<deed>": (MANAGERS, 422),
    "GET /o/<slug>/register/<int:subject_id>/files/<int:attachment_id>": (READERS, 200),
    "GET /o/<slug>/rules": (MANAGERS, 200),
    "POST /o/<slug>/rules": (MANAGERS, 422),
    "GET /o/<slug>/rules/new": (MANAGERS, 200),
    "GET /o/<slug>/rules/<int:rule_id>": (MANAGERS, 200),
    "POST /o/<slug>/rules/<int:rule_id>": (MANAGERS, 422),
    "GET /o/<slug>/rules/<int:rule_id>/edit": (MANAGERS, 200),
    "GET /o/<slug>/rules/<int:rule_id>/preview": (MANAGERS, 200),
    "POST /o/<slug>/rules/<int:rule_id>/preview": (MANAGERS, 422),
    "POST /o/<slug>/rules/preview": (MANAGERS, 422),
    "POST /o/<slug>/rules/<int:rule_id>/switch": (MANAGERS, 303),
    "GET /o/<slug>/inbox": (ANSWERING, 200),
    "GET /o/<slug>/inbox/unread": (ANSWERING, 200),
    "GET /o/<slug>/inbox/<int:claim_id>": (ANSWERING, 200),
    "POST /o/<slug>/inbox/<int:claim_id>/opened": (ANSWERING, 303),
    "POST /o/<slug>/inbox/<int:claim_id>/answer": (ANSWERING, 422),
    "POST /o/<slug>/inbox/<int:claim_id>/take-back": (ANSWERING, 303),
    "GET /o/<slug>/away": (ANSWERING, 200),
    "POST /o/<slug>/away": (ANSWERING, 422),
    "POST /o/<slug>/away/end": (ANSWERING, 404),  # It must name an absence, and names none.
    "POST /o/<slug>/inbox/summary/read": (ANSWERING, 404),  # The same.
    "GET /o/<slug>/calendar": (EVERYBODY, 200),
    "POST /o/<slug>/calendar": (EVERYBODY, 422),
    "POST /o/<slug>/calendar/revoke": (EVERYBODY, 404),  # It must name an address, and names none.
    "GET /o/<slug>/calendar/year": (EVERYBODY, 200),
    "GET /o/<slug>/calendar/agenda": (EVERYBODY, 200),
    "GET /o/<slug>/my-alerts": (EVERYBODY, 200),
    "POST /o/<slug>/my-alerts": (EVERYBODY, 422),
    "GET /o/<slug>/evidence": (READERS, 200),
    "GET /o/<slug>/evidence/undelivered": (READERS, 200),
    "GET /o/<slug>/evidence/nobody-to-tell": (READERS, 200),
    "GET /o/<slug>/evidence/doubts": (READERS, 200),
    "GET /o/<slug>/evidence/returned": (READERS, 200),
    "GET /o/<slug>/evidence/messages/<int:delivery_id>": (READERS, 200),
    "POST /o/<slug>/evidence/messages/<int:delivery_id>": (MANAGERS, 422),
    "GET /o/<slug>/evidence/held": (READERS, 200),
    "POST /o/<slug>/evidence/held/release": (MANAGERS, 303),
    "GET /o/<slug>/evidence/missing": (READERS, 200),
    "GET /o/<slug>/evidence/silent": (READERS, 200),
    "GET /o/<slug>/evidence/alerts": (READERS, 200),
    "GET /o/<slug>/evidence/alerts/<int:claim_id>": (READERS, 200),
    "GET /o/<slug>/evidence/checks": (READERS, 200),
    "POST /o/<slug>/evidence/checks": (MANAGERS, 422),
    "GET /o/<slug>/evidence/seal": (READERS, 200),
    "POST /o/<slug>/evidence/seal": (MANAGERS, 303),
    "GET /o/<slug>/evidence/off-the-watch": (READERS, 200),
    "GET /o/<slug>/evidence/past": (READERS, 200),
    "GET /o/<slug>/evidence/exports": (READERS, 200),
    "POST /o/<slug>/evidence/exports": (READERS, 422),
    "GET /o/<slug>/evidence/exports/files/<int:export_id>": (READERS, 200),
    "GET /o/<slug>/settings": (MANAGERS, 200),
    "POST /o/<slug>/settings": (ADMINS, 422),
    "GET /o/<slug>/settings/sites": (MANAGERS, 200),
    "POST /o/<slug>/settings/sites": (ADMINS, 422),
    "GET /o/<slug>/settings/sites/new": (ADMINS, 200),
    "GET /o/<slug>/settings/sites/<int:site_id>": (ADMINS, 200),
    "POST /o/<slug>/settings/sites/<int:site_id>": (ADMINS, 422),
    "POST /o/<slug>/settings/sites/<int:site_id>/archive": (ADMINS, 422),  # Entries are watched there.
    "GET /o/<slug>/settings/sites/<int:site_id>/calendar": (MANAGERS, 200),
    "GET /o/<slug>/settings/days-off": (MANAGERS, 200),
    "POST /o/<slug>/settings/days-off": (ADMINS, 422),
    "POST /o/<slug>/settings/days-off/<int:day_off_id>/remove": (ADMINS, 303),  # It moves nothing.
    "GET /o/<slug>/settings/sites/ready": (MANAGERS, 200),
    "GET /o/<slug>/settings/sites/<int:site_id>/ready": (MANAGERS, 200),
    "GET /o/<slug>/settings/test-mail": (MANAGERS, 200),
    "POST /o/<slug>/settings/test-mail": (MANAGERS, 422),  # No mail server is set up.
    "GET /o/<slug>/settings/kinds": (MANAGERS, 200),
    "POST /o/<slug>/settings/kinds": (ADMINS, 422),
    "GET /o/<slug>/settings/kinds/new": (ADMINS, 200),
    "GET /o/<slug>/settings/kinds/<int:kind_id>": (ADMINS, 200),
    "POST /o/<slug>/settings/kinds/<int:kind_id>": (ADMINS, 422),
    "GET /o/<slug>/settings/people": (MANAGERS, 200),
    "POST /o/<slug>/settings/people": (ADMINS, 422),
    "GET /o/<slug>/settings/people/new": (ADMINS, 200),
    "GET /o/<slug>/settings/people/<int:member_id>": (ADMINS, 200),
    "POST /o/<slug>/settings/people/<int:member_id>": (ADMINS, 422),
    "GET /o/<slug>/settings/people/<int:member_id>/alerts": (ADMINS, 200),
    "POST /o/<slug>/settings/people/<int:member_id>/alerts": (ADMINS, 422),
    "GET /o/<slug>/settings/people/<int:member_id>/away": (MANAGERS, 200),
    "POST /o/<slug>/settings/people/<int:member_id>/away": (MANAGERS, 422),
    "POST /o/<slug>/settings/people/<int:member_id>/away/end": (MANAGERS, 404),  # It must name an absence.
    "GET /o/<slug>/settings/people/<int:member_id>/leaving": (ADMINS, 200),
    "POST /o/<slug>/settings/people/<int:member_id>/leaving": (ADMINS, 422),
    "POST /o/<slug>/settings/people/<int:member_id>/staying": (ADMINS, 303),
    "POST /o/<slug>/settings/people/<int:member_id>/disable": (ADMINS, 303),
    "POST /o/<slug>/settings/people/<int:member_id>/enable": (ADMINS, 303),
    "POST /o/<slug>/settings/people/<int:member_id>/phones/forget": (ADMINS, 303),
    "POST /o/<slug>/settings/people/<int:member_id>/calendar/revoke": (ADMINS, 404),  # It must name an address.
    "GET /o/<slug>/settings/people/import": (ADMINS, 200),
    "POST /o/<slug>/settings/people/import": (ADMINS, 422),
    "GET /o/<slug>/settings/people/import/<int:people_file_id>": (ADMINS, 200),
    "POST /o/<slug>/settings/people/import/<int:people_file_id>": (ADMINS, 422),
    "POST /o/<slug>/settings/people/import/<int:people_file_id>/table": (ADMINS, 303),
    "POST /o/<slug>/settings/people/import/<int:people_file_id>/apply": (ADMINS, 422),
    "POST /o/<slug>/settings/people/import/<int:people_file_id>/drop": (ADMINS, 303),
    "GET /o/<slug>/settings/people/imports/<int:people_import_id>": (ADMINS, 200),
    "GET /o/<slug>/settings/people/imports/<int:people_import_id>/left-over.csv": (ADMINS, 200),
    "GET /o/<slug>/settings/posts": (MANAGERS, 200),
    "POST /o/<slug>/settings/posts": (ADMINS, 422),
    "GET /o/<slug>/settings/posts/<int:post_id>": (MANAGERS, 200),
    "POST /o/<slug>/settings/posts/<int:post_id>/assign": (ADMINS, 422),
    "POST /o/<slug>/settings/posts/<int:post_id>/above": (ADMINS, 303),
    "POST /o/<slug>/settings/posts/<int:post_id>/end": (ADMINS, 404),  # It must name a holding, and names none.
}

# Routes of no organisation: what nobody gets, and what anybody who is signed in gets.
OUTSIDE = {
    "GET /": (302, 302),
    "GET /login": (200, 302),
    "POST /login": (422, 422),
    "GET /status": (200, 200),
    "GET /healthz": (200, 200),
    "GET /calendar/<token>.ics": (404, 404),  # Of this token; the right ones are in test_calendar.
    "GET /assets/<stamp>/<name>": (404, 404),  # Of this stamp; the right one is in test_headers.
    "GET /phones": (302, 200),
    "POST /phones/forget": (302, 303),
    "POST /logout": (302, 303),  # The last one: nobody is signed in any more.
}


@pytest.fixture
def inside(app: Flask) -> dict[str, Rule]:
    """The routes of an organisation."""
    return {name: rule for name, rule in routes(app).items() if "slug" in rule.arguments}


def ask(person: Browser, name: str, where: str, htmx: bool = False) -> tuple[int, str]:
    """What comes, without the token."""
    if name.startswith("GET "):
        response = person.get(where, **({"HX_Request": "true"} if htmx else {}))
    else:
        response = person.post(where, htmx)
    return response.status_code, plain(response.text)


def test_the_table_names_every_route_and_no_other(app: Flask) -> None:
    assert set(routes(app)) == set(MATRIX) | set(OUTSIDE)
    assert all(("slug" in rule.arguments) == (name in MATRIX) for name, rule in routes(app).items())


def test_nobody_is_sent_to_the_login_page(app: Flask, browser: SignIn, own: Furnished, inside: dict[str, Rule]) -> None:
    stranger, before = Browser(app.test_client()), contents(own)
    stranger.get("/login")
    for name, rule in inside.items():
        where = address(rule, "acme", own.ids)
        asked = stranger.get(where) if name.startswith("GET ") else stranger.post(where)
        assert (asked.status_code, asked.location.partition("?")[0]) == (302, "/login"), name
        by_htmx = stranger.get(where, HX_Request="true") if name.startswith("GET ") else stranger.post(where, True)
        assert by_htmx.status_code == 204, name
        assert by_htmx.headers["HX-Redirect"].startswith("/login?next="), name
        assert (by_htmx.text, by_htmx.location) == ("", None), name
    assert contents(own) == before
    assert refusals(own) == 0


def test_what_lies_outside_of_the_organisations(app: Flask, browser: SignIn, own: Furnished) -> None:
    stranger, adela, known = Browser(app.test_client()), browser(ADMIN), routes(app)
    stranger.get("/login")
    for name, expected in OUTSIDE.items():
        where = address(known[name], "acme", {})
        assert (ask(stranger, name, where)[0], ask(adela, name, where)[0]) == expected, name


@pytest.mark.parametrize("role", ROLES)
def test_each_role_gets_what_the_table_says(
    browser: SignIn, own: Furnished, inside: dict[str, Rule], role: str
) -> None:
    person, wrong = browser(ROLES[role]), []
    for name, rule in inside.items():
        roles, status = MATRIX[name]
        expected = (status, 0) if role in roles else (403, 1)
        with undone():
            seen = ask(person, name, address(rule, "acme", own.ids))[0], refusals(own)
        if seen != expected:
            wrong.append(f"{name}: {seen}, not {expected}")
    assert wrong == []


def test_a_refused_access_is_on_the_trail_with_who_and_where(browser: SignIn, own: Furnished) -> None:
    bruno = browser(ROLES["staff"])
    for number in (3, 4):  # The same within a minute is on it once.
        bruno.get(f"/o/acme/settings/people?after={number}")
    with own.acme.acting() as act:
        row = act.run("select actor, detail from audit_event where org_id = :org and type = 'access_refused'").one()
    assert row == (
        f"member:{own.ids['member_id']}",
        {"path": "/o/acme/settings/people", "method": "GET", "route": row.detail["route"]},
    )


def strange(rule: Rule, own: Furnished, foreign: Furnished) -> Iterator[dict[str, int]]:
    """The ids of the route, each of them one's own, foreign, unknown or too long, and not all one's own."""
    names = sorted(rule.arguments & own.ids.keys())
    assert all(own.ids[name] != foreign.ids[name] for name in names)
    kinds = [[own.ids[name], foreign.ids[name], NO_SUCH, NO_NUMBER_OF_OURS] for name in names]
    yield from (dict(zip(names, chosen, strict=True)) for chosen in list(itertools.product(*kinds))[1:])


@pytest.mark.parametrize("role", ROLES)
def test_h38_foreign_and_unknown_ids_look_the_same(
    browser: SignIn, own: Furnished, foreign: Furnished, inside: dict[str, Rule], role: str
) -> None:
    person, wrong = browser(ROLES[role]), []
    before, missing = contents(own, foreign), ask(person, "GET", "/o/acme/nowhere")
    assert missing[0] == 404
    for name, rule in inside.items():
        may = role in MATRIX[name][0]
        for ids in strange(rule, own, foreign):
            status, page = ask(person, name, address(rule, "acme", ids))
            if status != (404 if may else 403) or (may and page != missing[1]):
                wrong.append(f"{name} {ids}: {status}")
            by_htmx = ask(person, name, address(rule, "acme", ids), htmx=True)[0]
            if by_htmx != status:
                wrong.append(f"{name} {ids} by htmx: {by_htmx}")
    assert wrong == []
    assert contents(own, foreign) == before


def test_h38_every_act_on_a_foreign_entry_or_deadline_is_not_found(
    browser: SignIn, own: Furnished, foreign: Furnished
) -> None:
    person, here, there = browser(ADMIN), own.ids, foreign.ids
    before, missing = contents(own, foreign), ask(person, "GET", "/o/acme/nowhere")
    wheres = [f"/o/acme/register/{there['subject_id']}/{deed}" for deed in ENTRY_DEEDS]
    for subject, obligation in itertools.product((here, there), (there,)):
        deadline = f"/o/acme/register/{subject['subject_id']}/deadlines/{obligation['obligation_id']}"
        wheres += [f"{deadline}/{deed}" for deed in DEADLINE_DEEDS]
    wheres += [f"/o/acme/register/{here['subject_id']}/nothing", f"/o/acme/register/{here['subject_id']}/close"]
    for where, method in itertools.product(wheres, ("GET", "POST")):
        assert ask(person, f"{method} ", where) == missing, where
    assert contents(own, foreign) == before


@pytest.mark.parametrize(("email", "slug"), [(OUTSIDER, "acme"), (ADMIN, "other")])
def test_h38_another_organisation_is_none(
    browser: SignIn, own: Furnished, foreign: Furnished, inside: dict[str, Rule], email: str, slug: str
) -> None:
    person, place = browser(email), own if slug == "acme" else foreign
    before = contents(own, foreign)
    for name, rule in inside.items():
        found = [ask(person, name, address(rule, where, place.ids)) for where in (slug, "nowhere", "%00", "a%27b")]
        assert found[0][0] == 404, name
        assert all(answer == found[0] for answer in found), name
        assert ask(person, name, address(rule, slug, place.ids), htmx=True)[0] == 404, name
    assert contents(own, foreign) == before
    assert refusals(own) == refusals(foreign) == 0


@pytest.mark.parametrize("role", ROLES)
def test_no_get_changes_anything(app: Flask, browser: SignIn, own: Furnished, foreign: Furnished, role: str) -> None:
    person = browser(ROLES[role])
    before = contents(own, foreign)
    for name, rule in routes(app).items():
        if name.startswith("GET "):
            for headers in ({}, HTMX):
                with person.client.get(address(rule, "acme", own.ids), headers=headers) as response:
                    assert response.status_code < 500, name
    for deed in ENTRY_DEEDS:
        person.get(f"/o/acme/register/{own.ids['subject_id']}/{deed}")
    assert contents(own, foreign) == before


def test_nothing_is_done_without_the_token(app: Flask, browser: SignIn, own: Furnished) -> None:
    person, stranger, before = browser(ADMIN), Browser(app.test_client()), contents(own)
    stranger.get("/login")
    changing = {name: rule for name, rule in routes(app).items() if not name.startswith("GET ")}
    assert len(changing) > 20
    for name, rule in changing.items():
        for token in ("", "nonsense", stranger.token):
            person.token = token
            for htmx in (False, True):
                assert person.post(address(rule, "acme", own.ids), htmx).status_code == 400, name
    assert contents(own) == before
    assert person.get("/o/acme/").status_code == 200


def test_h38_a_site_out_of_sight_is_not_there(browser: SignIn, own: Furnished, inside: dict[str, Rule]) -> None:
    """Ana was told of P-1 in Madrid, and is limited to the yard since: nothing of that entry is there for her."""
    with own.acme.acting() as act:
        people.limit_member(act, own.acme.members["Ana"], [own.ids["yard_id"]])
    ana, before, wrong = browser(ROLES["officer"]), contents(own), []
    missing = ask(ana, "GET ", "/o/acme/nowhere")
    hidden = {name: rule for name, rule in inside.items() if rule.arguments & {"subject_id", "claim_id", "delivery_id"}}
    assert len(hidden) > 8
    for name, rule in hidden.items():
        if "officer" in MATRIX[name][0] and ask(ana, name, address(rule, "acme", own.ids)) != missing:
            wrong.append(name)
    assert wrong == []
    assert contents(own) == before
    for page in (
        "register",
        "evidence/alerts",
        "evidence/doubts",
        "evidence/returned",
        "evidence/held",
        "today/silent",
        "today/overdue",
        "inbox",
    ):
        assert "Boiler" not in ana.get(f"/o/acme/{page}").text, page


@pytest.mark.parametrize("change", ["is_active = false", "left_on = '2027-03-01'", "valid_until = '2027-02-28'"])
def test_whoever_is_no_member_any_more_is_a_stranger_at_once(
    browser: SignIn, own: Furnished, inside: dict[str, Rule], change: str
) -> None:
    """In the session that is open; the account itself may be a member elsewhere."""
    dana = browser(ROLES["inspector"])
    assert dana.get("/o/acme/evidence").status_code == 200
    with own.acme.acting() as act:
        act.run(f"update member set {change} where org_id = :org and role = 'inspector'")
    for name, rule in inside.items():
        assert ask(dana, name, address(rule, "acme", own.ids))[0] == 404, name
    assert refusals(own) == 0
