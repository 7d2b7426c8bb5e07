"""Addresses and forms that no page of Onus makes: foreign and unknown ids in filters and fields (H38), and nonsense."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest

from tests.people import OFFICER, OUTSIDER
from tests.web.conftest import ADMIN, Browser, forget_request
from tests.web.furnished import NO_NUMBER_OF_OURS, NO_SUCH, Furnished, SignIn, contents, plain, undone

pytestmark = pytest.mark.furnished

QUERIES = [
    ("today/unwatched", "site={site_id}", 404),
    ("today/overdue", "site={site_id}", 404),
    ("evidence/silent", "site={site_id}", 404),
    ("evidence/alerts", "site={site_id}", 404),
    ("evidence/alerts", "rule={rule_id}", 404),
    ("register", "site={site_id}", 200),
    ("register", "kind={kind_id}", 200),
    ("register", "responsible=member:{member_id}", 200),
    ("register", "responsible=post:{post_id}", 200),
]

LISTS = ["settings/sites", "settings/kinds", "settings/people", "settings/posts", "rules", "register", "inbox",
         "evidence/alerts", "evidence/checks", "evidence/undelivered", "evidence/nobody-to-tell", "evidence/returned",
         "evidence/off-the-watch", "evidence/past", "evidence/silent", "evidence/seal", "today/overdue",
         "today/unwatched", "calendar/agenda"]  # fmt: skip

NONSENSE = ["x", "-1", str(2**63), str(NO_NUMBER_OF_OURS), "9" * 18 + "." + "9" * 18, "%00", "%F0%28", "٣", "member:",
            "member:x", f"member:{NO_NUMBER_OF_OURS}", "9999-12-31", "0001-01-01", "9" * 5000]  # fmt: skip

ENTRY = {"reference": "N-1", "kind": "{own_kind_id}", "site": "{own_site_id}"}
RULE = {"name": "N", "usual": "30d", "channels": "email", "to": "owner"}
PERSON = {"email": "new@acme.example", "name": "N", "role": "staff"}
FORMS = [
    ("register/new", ENTRY | {"kind": "{kind_id}"}),
    ("register/new", ENTRY | {"site": "{site_id}"}),
    ("register/new", ENTRY | {"responsible": "member:{member_id}"}),
    ("register/new", ENTRY | {"responsible": "post:{post_id}"}),
    ("register/new", ENTRY | {"holder": "{member_id}"}),
    ("register/{subject_id}/hand-over", {"responsible": "member:{member_id}"}),
    ("register/{subject_id}/hand-over", {"responsible": "post:{post_id}"}),
    ("register/{alone_id}/move-site", {"site": "{yard_id}"}),
    ("rules", RULE | {"kinds": "{kind_id}"}),
    ("rules", RULE | {"sites": "{site_id}"}),
    ("rules", RULE | {"others": "{email}"}),
    ("rules", RULE | {"to": "member:{email}"}),
    ("rules", RULE | {"fallback": "member:{email}"}),
    ("settings/posts/{post_id}/assign", {"site": "{site_id}", "member": "{own_member_id}"}),
    ("settings/posts/{post_id}/assign", {"site": "{own_site_id}", "member": "{member_id}"}),
    ("settings/posts/{post_id}/above", {"above": "{other_post_id}"}),
    ("settings/posts/{post_id}/end", {"site": "{site_id}", "member": "{own_member_id}", "from_on": "2027-03-01"}),
    ("settings/posts/{post_id}/end", {"site": "{own_site_id}", "member": "{member_id}", "from_on": "2027-03-01"}),
    ("settings/people/{member_id}", PERSON | {"sites": "{site_id}"}),
    ("settings/people", PERSON | {"sites": "{site_id}"}),
    ("evidence/seal", {"readers": "{member_id}"}),
]

ODD = ["\0", "\ud800", "\u202e", "x" * 5000, "=1+1", "'; drop table subject; --", "%s %(x)s {0}", "0x1F", "٣"]


@pytest.mark.parametrize(("where", "query", "status"), QUERIES)
def test_h38_foreign_and_unknown_ids_in_filters_look_the_same(
    browser: SignIn, own: Furnished, foreign: Furnished, where: str, query: str, status: int
) -> None:
    person = browser(ADMIN)

    def asked(ids: dict[str, int]) -> tuple[int, str]:
        response = person.get(f"/o/acme/{where}?{query.format(**ids)}")
        number = query.partition("{")[2].partition("}")[0]
        return response.status_code, re.sub(rf"\b{ids[number]}\b", "ID", plain(response.text))

    assert asked(own.ids)[0] == 200
    theirs = asked(foreign.ids)
    assert theirs[0] == status
    assert "Boiler" not in theirs[1]
    for nobodys in (NO_SUCH, 10**17):
        status_of_nobody, page = asked(dict.fromkeys(foreign.ids, nobodys))
        assert status_of_nobody == status
        assert re.sub(rf"\b{foreign.ids[query.partition('{')[2].partition('}')[0]]}\b", "ID", page) == theirs[1]


@pytest.mark.parametrize(("where", "fields"), FORMS)
def test_h38_foreign_and_unknown_ids_in_forms_look_the_same(
    browser: SignIn, own: Furnished, foreign: Furnished, where: str, fields: dict[str, str]
) -> None:
    """With one's own ids each of these forms is taken, so that it is the id that is refused."""
    person, before = browser(ADMIN), contents(own, foreign)
    mine = {f"own_{name}": number for name, number in own.ids.items()}
    numbers = re.compile("|".join(rf"\b{number}\b" for number in (*foreign.ids.values(), NO_SUCH)))

    def sent(ids: dict[str, int], email: str) -> tuple[int, str]:
        form = {name: value.format(**ids, **mine, email=email) for name, value in fields.items()}
        response = person.post(f"/o/acme/{where.format(**own.ids)}", **form)
        page = numbers.sub("ID", plain(response.text)).replace(email, "EMAIL")
        return response.status_code, page

    with undone():
        assert sent(own.ids, OFFICER)[0] == 303
    theirs = sent(foreign.ids, OUTSIDER)
    assert theirs[0] in (404, 422)
    assert sent(dict.fromkeys(foreign.ids, NO_SUCH), "none@other.example") == theirs
    assert contents(own, foreign) == before


@pytest.mark.parametrize("nonsense", NONSENSE)
def test_an_address_that_was_tampered_with_is_no_fault_of_ours(browser: SignIn, own: Furnished, nonsense: str) -> None:
    person = browser(ADMIN)
    wheres = [f"/o/acme/{page}?after={nonsense}" for page in LISTS]
    wheres += [f"/o/acme/register/{own.ids['subject_id']}?{name}={nonsense}" for name in ("alerts", "history")]
    wheres += [f"/o/acme/register?{name}={nonsense}" for name in ("q", "site", "kind", "responsible", "state", "sort")]
    wheres += [f"/o/acme/evidence/alerts?{name}={nonsense}" for name in ("site", "rule", "state", "from", "reference")]
    wheres += [f"/o/acme/evidence/off-the-watch?{name}={nonsense}" for name in ("from", "until")]
    wheres += [f"/o/acme/evidence/past?{name}={nonsense}" for name in ("on", "q")]
    wheres += [f"/o/acme/today/unwatched?{name}={nonsense}" for name in ("site", "why")]
    wheres += [f"/o/acme/{page}/{nonsense}" for page in ("register", "rules", "settings/sites", "inbox")]
    wheres += [f"/o/acme/today/{nonsense}", f"/o/{nonsense}/register", f"/login?next={nonsense}", f"/{nonsense}"]
    assert [where for where in wheres if person.get(where).status_code >= 500] == []


WRITTEN = [
    ("register/new", ENTRY, ("reference", "title", "new_kind", "recurrence", "legal_basis", "notes", "due_on", "site")),
    ("register/{subject_id}/edit", {"title": "T", "kind": "{own_kind_id}"}, ("title", "holder")),
    ("register/{subject_id}/pause", {"until": "2027-04-01", "reason": "other"}, ("note", "until", "reason")),
    ("rules", RULE, ("name", "notices", "entries", "others", "only_if", "start", "channels", "to", "fallback")),
    ("rules/{rule_id}", RULE, ("name", "version", "kinds", "sites")),
    ("settings", {"name": "N", "hours": "24"}, ("name", "hours")),
    ("settings/kinds", {"name": "N", "wording": "expires"}, ("name", "wording", "what_to_do")),
    ("settings/posts", {"name": "N"}, ("name",)),
    ("settings/people", PERSON, ("email", "name", "role", "valid_until", "password", "sites")),
    ("settings/sites", {"name": "N", "timezone": "Europe/Madrid"}, ("name", "timezone", "country", "region",
                                                                     "alert_from")),
    ("my-alerts", {"email_alerts": "off", "mail": "daily", "rest": "own"}, (
        "email_alerts", "mail", "daily_at", "rest", "rest_from", "rest_days_off", "timezone", "country", "region")),
    ("settings/people/{member_id}/alerts", {"email_alerts": "on", "mail": "daily", "rest": "own"}, (
        "daily_at", "rest_until")),
    ("inbox/{claim_id}/answer", {"answer": "on_it", "until_on": "2027-04-01"}, ("answer", "until_on", "note")),
    ("settings/posts/{post_id}/above", {}, ("above",)),
    ("settings/posts/{post_id}/end", {}, ("site", "member", "from_on", "until_on")),
]  # fmt: skip


@pytest.mark.parametrize(("where", "fields", "names"), WRITTEN)
def test_whatever_is_written_into_a_field_is_taken_or_refused(
    browser: SignIn, own: Furnished, where: str, fields: dict[str, str], names: tuple[str, ...]
) -> None:
    person, faults = browser(ADMIN), []
    mine = {f"own_{name}": number for name, number in own.ids.items()}
    form = {name: value.format(**mine) for name, value in fields.items()}
    for name in names:
        for odd in ODD:
            with undone():
                written = odd.encode("utf-8", "surrogatepass")
                if posted(person, f"/o/acme/{where.format(**own.ids)}", form | {name: written}) not in (303, 404, 422):
                    faults.append((name, odd))
    assert faults == []


def posted(person: Browser, where: str, form: dict[str, str | bytes]) -> int:
    """The status; a body that is no UTF-8 is sent as it is."""
    body = "&".join(f"{name}={quote(value)}" for name, value in {"csrf_token": person.token, **form}.items())
    forget_request()
    return person.client.post(where, data=body, content_type="application/x-www-form-urlencoded").status_code


@pytest.mark.parametrize("odd", ODD)
def test_whatever_is_written_into_the_login_form_is_refused(browser: SignIn, odd: str) -> None:
    person = browser(ADMIN)
    person.post("/logout")
    person.get("/login")
    written = odd.encode("utf-8", "surrogatepass")
    for form in ({"email": written, "password": "p"}, {"email": ADMIN, "password": written}):
        assert posted(person, "/login", form) == 422
