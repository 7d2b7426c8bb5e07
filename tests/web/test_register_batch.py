"""Many entries at once, on the pages: choosing, what would become of each, doing just that, and what is refused."""

from __future__ import annotations

import datetime as dt
import re
from html import unescape
from io import BytesIO
from typing import Any

import pytest

from app.domain.acts import Status
from app.operations import obligations, people, register
from tests import factories
from tests.factories import Acme
from tests.people import ADMIN, INSPECTOR, OFFICER, STAFF
from tests.web.conftest import Browser
from tests.web.furnished import SignIn
from tests.web.test_import_pages import stored, words

LIST = "/o/acme/register"
BATCH = f"{LIST}/batch"
LAW = "Royal Decree 12/2027"
MOVE = {"how": "to", "due_on": "2028-01-01", "several": "next", "reason": "law_change", "by_act": LAW, "note": "<b>"}
BY = {"how": "by", "count": "1", "unit": "m", "direction": "later", "several": "leave", "reason": "law_change"}


@pytest.fixture
def forty(staffed: Acme) -> Acme:
    """Forty-two entries; the new day is open at P-03 already, and closed at P-07."""
    with staffed.acting() as act:
        for number in range(42):
            one = factories.subject(act, f"P-{number:02}", dt.date(2027, 6, 1) + dt.timedelta(days=number))
            if number in (3, 7):
                there = factories.obligation(act, one, dt.date(2028, 1, 1))
                if number == 7:
                    obligations.close(act, there.id, "not_required", reason="replaced")
    return staffed


def hidden(page: str, address: str) -> dict[str, str]:
    """What the form to this address carries, as a browser without script sends it."""
    found = re.search(rf'<form method="post" action="{re.escape(address)}[?"].*?</form>', page, re.DOTALL)
    assert found, address
    pairs = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', found[0])
    return {name: unescape(value) for name, value in pairs if name != "csrf_token"}


def ids_of(acme: Acme, *references: str) -> list[int]:
    found = stored(acme, "select reference, id from subject order by id")
    return [number for reference, number in found if not references or reference in references]


def look(person: Browser, deed: str, query: str = "", **form: Any) -> Any:
    """Choose, say what, and see what it would do."""
    person.get(LIST)
    page = person.post(
        f"{BATCH}{query}", **{name: form.pop(name) for name in ("scope", "entry", "shown") if name in form}
    )
    assert page.status_code == 200, page.text
    carried = hidden(page.text, f"{BATCH}/move")
    assert person.post(f"{BATCH}/{deed}{query}", **carried).status_code == 200
    return person.post(f"{BATCH}/{deed}{query}", **carried, see="yes", **form)


def apply(person: Browser, deed: str, page: Any, query: str = "") -> Any:
    return person.post(f"{BATCH}/{deed}/apply{query}", **hidden(page.text, f"{BATCH}/{deed}/apply"))


def test_forty_dates_are_moved_by_a_law_in_one_batch_without_script(forty: Acme, browser: SignIn) -> None:
    ana = browser(OFFICER)
    listed = ana.get(f"{LIST}?q=P-").text
    assert listed.count('type="checkbox" name="entry"') == 42
    assert "All 42 that match" in listed
    seen = look(ana, "move", "?q=P-", scope="all", **MOVE)
    told = words(seen.text)
    assert "40 entries would change, and 2 entries would stay as they are" in told
    assert (
        "2 entries stay: there is a deadline on the new day already P-03 Permit P-03, Madrid, 4 June 2027 P-07" in told
    )
    assert "1 June 2027 1 January 2028" in told
    assert "It tells nobody at once." in told
    assert stored(forty, "select count(*) from audit_event where type = 'date_moved'") == [(0,)]

    done = apply(ana, "move", seen, "?q=P-")
    [(batch,)] = stored(forty, "select id from audit_event where type = 'batch_applied'")
    assert done.location == f"{LIST}/batches/{batch}?q=P-"
    result = ana.get(done.location).text
    assert "Done: 40 entries." in words(result)
    assert "2 entries left: there is a deadline on the new day already P-03" in words(result)
    assert f'href="{LIST}?q=P-"' in result
    assert "&lt;b&gt;" in result
    assert stored(
        forty,
        "select count(*), count(distinct detail -> 'batch') from audit_event where type = 'date_moved' "
        f"and detail -> 'batch' = to_jsonb({batch}) and actor = 'member:{forty.members['Ana']}'",
    ) == [(40, 1)]
    history = ana.get(f"{LIST}/{ids_of(forty, 'P-00')[0]}").text
    assert (
        "Moved the date from 1 June 2027 to 1 January 2028 (The law changed), "
        f"with 39 others, in one batch: {LAW}" in words(history)
    )
    assert f'href="{LIST}/batches/{batch}"' in history


def test_by_htmx_it_is_the_same(forty: Acme, browser: SignIn) -> None:
    ana, ids = browser(OFFICER), ids_of(forty, "P-00", "P-01")
    ana.get(LIST)
    carried = {"scope": "ids", "ids": ",".join(map(str, ids))}
    wrong = ana.post(f"{BATCH}/move", htmx=True, **carried, see="yes", how="by")
    assert wrong.status_code == 422
    assert wrong.text.lstrip().startswith('<section id="batch">')
    assert "Choose a reason." in wrong.text
    seen = ana.post(f"{BATCH}/move", htmx=True, **carried, see="yes", **BY)
    done = ana.post(f"{BATCH}/move/apply", htmx=True, **hidden(seen.text, f"{BATCH}/move/apply"))
    assert (done.status_code, "/register/batches/" in done.headers["HX-Redirect"]) == (204, True)


def test_the_ticked_ones_those_of_the_page_and_all_are_each_their_own_choice(staffed: Acme, browser: SignIn) -> None:
    with staffed.acting() as act:
        for number in range(60):
            factories.subject(act, f"P-{number:02}", dt.date(2027, 6, 1) + dt.timedelta(days=number))
    ana, ids = browser(OFFICER), ids_of(staffed)
    shown = re.findall(r'name="shown" value="(\d+)"', ana.get(LIST).text)
    assert len(shown) == 50
    form = {"entry": ids[:2], "shown": shown}
    for scope, count in (("ticked", 2), ("page", 50), ("all", 60)):
        page = ana.post(BATCH, scope=scope, **form)
        assert f"{count} entries are chosen" in words(page.text)
        assert "The first 20 of them" in words(page.text) or count == 2
    for nothing in ({}, {"scope": "ticked"}, {"scope": "nonsense"}, {"scope": "ids", "ids": ",x,"}):
        refused = ana.post(BATCH, **nothing)
        assert (refused.status_code, "No entry is chosen" in words(refused.text)) == (422, True)


def test_what_is_foreign_out_of_sight_or_nothing_is_left_out_and_said(staffed: Acme, browser: SignIn) -> None:
    other = factories.acme("elsewhere", "Porto")
    with other.acting() as act:
        foreign = factories.subject(act, "X-1", dt.date(2027, 6, 1), at="Porto").id
    with staffed.acting() as act:
        yard = people.add_site(act, "Yard", "Europe/Madrid")
        here = factories.subject(act, "HERE", dt.date(2027, 6, 1), at="Yard").id
        there = factories.subject(act, "THERE", dt.date(2027, 6, 1)).id
        people.limit_member(act, staffed.members["Ana"], [yard])
    ana = browser(OFFICER)
    seen = look(ana, "move", scope="ticked", entry=[here, there, foreign, 987654321, "x", 10**30], **BY)
    assert "1 entry would change" in words(seen.text)
    tampered = hidden(seen.text, f"{BATCH}/move/apply") | {"ids": f"{here},{there},{foreign}"}
    page = ana.post(f"{BATCH}/move", **tampered | {"see": "yes"})
    assert "2 entries of the choice are left out" in words(page.text)
    assert "THERE" not in page.text
    assert ana.post(f"{BATCH}/move/apply", **tampered).status_code == 303
    for place in (staffed, other):
        assert stored(place, "select count(*) from obligation where due_on = '2027-07-01'") == [
            (1 if place is staffed else 0,)
        ]
    assert stored(staffed, f"select due_on from obligation where subject_id = {there}") == [(dt.date(2027, 6, 1),)]


def test_all_that_match_are_looked_for_again_and_nothing_is_done_if_they_are_others(
    forty: Acme, browser: SignIn
) -> None:
    ana = browser(OFFICER)
    seen = look(ana, "move", "?q=P-", scope="all", **BY)
    with forty.acting() as act:
        factories.subject(act, "P-99", dt.date(2027, 6, 1))
    refused = apply(ana, "move", seen, "?q=P-")
    assert refused.status_code == 422
    assert "Nothing was done" in words(refused.text)
    assert "There were 42 when you chose." in words(refused.text)
    assert stored(forty, "select count(*) from audit_event where type = 'batch_applied'") == [(0,)]
    assert apply(ana, "move", refused, "?q=P-").status_code == 303


def test_an_entry_that_changed_meanwhile_is_named_and_nothing_is_done(forty: Acme, browser: SignIn) -> None:
    ana = browser(OFFICER)
    seen = look(ana, "archive", scope="all", reason="sold")
    with forty.acting() as act:
        register.archive(act, register.find_subject(act, "P-05"), "gone")
    refused = apply(ana, "archive", seen)
    assert refused.status_code == 422
    assert "P-05 has changed since you looked. Nothing was done" in words(refused.text)
    assert "41 entries would change, and 1 entry would stay" in words(refused.text)
    assert stored(forty, "select count(*) from subject where status = 'archived'") == [(1,)]
    twice = apply(ana, "archive", refused)
    assert twice.status_code == 303
    assert apply(ana, "archive", refused).status_code == 422  # Once is enough.


@pytest.mark.parametrize(
    ("deed", "form", "sql", "says"),
    [
        ("hand-over", {"responsible": "member"}, "owner_member_id is not null", "nobody Bruno"),
        ("hand-over", {"responsible": "post"}, "owner_post_id is not null", "plant manager"),
        ("pause", {"until": "2027-04-01", "reason": "planned"}, "snoozed_until = '2027-04-01'", "until 1 April 2027"),
        ("resume", {}, "snoozed_until is null", "paused until 5 March 2027 not paused"),
        ("release", {"start": "now"}, "status = 'watched'", "Draft Watched"),
        ("out-of-service", {}, "status = 'out_of_service'", "Out of service"),
        ("archive", {"reason": "gone"}, "status = 'archived'", "Archived"),
    ],
)
def test_each_act_does_what_it_showed(
    staffed: Acme, browser: SignIn, deed: str, form: dict[str, str], sql: str, says: str
) -> None:
    given: dict[str, Any] = {"resume": {"snoozed_until": dt.date(2027, 3, 5)}, "release": {"status": Status.draft}}
    with staffed.acting() as act:
        post = people.add_post(act, "plant manager")
        for name in ("A", "B"):
            factories.subject(act, name, dt.date(2027, 6, 1), **given.get(deed, {}))
    owners = {"member": f"member:{staffed.members['Bruno']}", "post": f"post:{post}"}
    form = {name: owners.get(value, value) for name, value in form.items()}
    ana = browser(OFFICER)
    seen = look(ana, deed, scope="all", **form)
    assert says in words(seen.text)
    assert stored(staffed, f"select count(*) from subject where {sql}") == [(0,)]
    assert apply(ana, deed, seen).status_code == 303
    assert stored(staffed, f"select count(*) from subject where {sql}") == [(2,)]
    [(batch,)] = stored(staffed, "select id from audit_event where type = 'batch_applied'")
    assert "Done: 2 entries. None was left." in words(ana.get(f"{LIST}/batches/{batch}").text)
    for number in ids_of(staffed):
        assert "with 1 other, in one batch" in words(ana.get(f"{LIST}/{number}").text)


@pytest.mark.parametrize(
    ("deed", "given", "field", "says"),
    [
        ("move", {"reason": ""}, "reason", "Choose a reason."),
        ("move", {"how": ""}, "how", "Choose how the dates move."),
        ("move", {"how": "x"}, "how", "Choose"),
        ("move", {"count": "0"}, "count", "Write a whole number from 1 to 120"),
        ("move", {"count": "121"}, "count", "Write a whole number from 1 to 120"),
        ("move", {"count": "a"}, "count", "Write a whole number"),
        ("move", {"unit": "x"}, "unit", "Choose one of the list."),
        ("move", {"direction": ""}, "direction", "later or earlier"),
        ("move", {"several": ""}, "several", "several open dates"),
        ("move", {"how": "to", "due_on": "2027-02-30"}, "due_on", "is not a date"),
        ("move", {"how": "to", "due_on": "1901-01-01"}, "due_on", "outside the years"),
        ("move", {"note": "x" * 4001}, "note", "The note"),
        ("hand-over", {"responsible": ""}, "responsible", "Choose who"),
        ("hand-over", {"responsible": "member:987654"}, "responsible", "Choose one of the list."),
        ("pause", {"until": "", "reason": "planned"}, "until", "Choose the day"),
        ("pause", {"until": "2027-04-01", "reason": "x"}, "reason", "Choose"),
        ("release", {"start": ""}, "start", "Choose from when on"),
        ("archive", {"reason": ""}, "reason", "Choose a reason."),
    ],
)
def test_what_is_wrong_stands_beside_its_field(
    forty: Acme, browser: SignIn, deed: str, given: dict[str, str], field: str, says: str
) -> None:
    form = (BY if deed == "move" else {}) | given
    answer = look(browser(OFFICER), deed, scope="all", **form)
    assert answer.status_code == 422
    fault = re.search(rf'id="{field}-fault">(.*?)</p>', answer.text, re.DOTALL)
    assert fault
    assert says in unescape(fault[1])


def test_an_act_that_there_is_not_is_not_found(forty: Acme, browser: SignIn) -> None:
    ana = browser(OFFICER)
    ana.get(LIST)
    assert ana.post(f"{BATCH}/delete").status_code == 404
    assert ana.get(f"{LIST}/batches/1").status_code == 404


@pytest.mark.parametrize("email", [STAFF, INSPECTOR])
def test_only_managers_choose_and_act(forty: Acme, browser: SignIn, email: str) -> None:
    person = browser(email)
    for where in (BATCH, f"{BATCH}/move", f"{BATCH}/move/apply"):
        assert person.post(where, scope="all").status_code == 403
    if email == INSPECTOR:
        page = person.get(LIST).text
        assert "checkbox" not in page
        assert "/register/batch" not in page


def test_a_result_is_for_those_who_see_one_of_its_entries(forty: Acme, browser: SignIn) -> None:
    adela, dana = browser(ADMIN), browser(INSPECTOR)
    done = apply(adela, "move", look(adela, "move", scope="all", **BY)).location
    assert dana.get(done).status_code == 200
    with forty.acting() as act:
        yard = people.add_site(act, "Yard", "Europe/Madrid")
        people.limit_member(act, forty.members["Dana"], [yard])
    assert dana.get(done).status_code == 404
    with forty.acting() as act:
        register.move_to_site(act, register.find_subject(act, "P-00"), yard)
    seen = dana.get(done)
    assert (seen.status_code, "P-03" in seen.text) == (200, False)


def test_which_of_several_open_dates_is_moved_is_said(staffed: Acme, browser: SignIn) -> None:
    with staffed.acting() as act:
        one = factories.subject(act, "P-1", dt.date(2027, 6, 1))
        factories.obligation(act, one, dt.date(2027, 9, 1))
    ana = browser(OFFICER)
    assert "1 entry stays: several dates are open" in words(look(ana, "move", scope="all", **BY).text)
    seen = look(ana, "move", scope="all", **BY | {"several": "next"})
    assert "1 June 2027, the next of 2 open dates 1 July 2027" in words(seen.text)


def test_many_are_renewed_with_one_paper_and_its_file_comes_with_the_last_step(staffed: Acme, browser: SignIn) -> None:
    with staffed.acting() as act:
        ids = [factories.subject(act, f"P-{number}", dt.date(2027, 3, 20)).id for number in range(3)]
        factories.subject(act, "NONE")
    ana = browser(OFFICER)
    choice = {"scope": "ticked", "entry": ids_of(staffed)}
    wrong = look(ana, "renew", **choice, met_on="2027-02-28", several="leave", valid_until="31.12.2027")
    assert wrong.status_code == 422
    assert "Write the number of the paper." in wrong.text
    assert "&#39;31.12.2027&#39; is not a date" in wrong.text or "is not a date" in wrong.text
    paper = {"number": "C-7", "issuer": "Authority", "valid_until": "2029-06-30", "met_on": "2027-02-28"}
    seen = look(ana, "renew", **choice, **paper, several="leave")
    told = words(seen.text)
    assert "3 entries would change, and 1 entry would stay as it is" in told
    assert "1 entry stays: there is no date NONE" in told
    assert "20 March 2027 done; next 30 June 2029, the day until which the new paper is valid" in told
    assert re.search(r'<form [^>]*enctype="multipart/form-data"[^>]*>.*?type="file"', seen.text, re.DOTALL)
    carried = hidden(seen.text, f"{BATCH}/renew/apply")
    page = ana.post(f"{BATCH}/renew/apply", **carried, file=(BytesIO(b"<html>"), "scan.pdf"))
    assert (page.status_code, "The file" in page.text) == (422, True)
    assert stored(staffed, "select count(*) from document") == [(0,)]
    done = ana.post(f"{BATCH}/renew/apply", **carried, file=(BytesIO(b"%PDF-1.7\n%%EOF\n"), "scan.pdf"))
    result = words(ana.get(done.location).text)
    assert "Done: 3 entries." in result
    assert "Paper C-7, Authority" in result
    history = words(ana.get(f"{LIST}/{ids[1]}").text)
    assert "with which it was renewed, with the file scan.pdf" in history
    assert "with 2 others, in one batch" in history
    assert stored(staffed, "select count(*), count(content) from attachment") == [(3, 1)]
