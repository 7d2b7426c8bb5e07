"""The register as a list: what it shows of an entry, filters, order, pages, sites out of sight; and adding an entry."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from sqlalchemy import text

from app.domain.acts import Status
from app.ledger.align import deliver
from app.ledger.scan import scan
from app.operations import filings, obligations, people, register
from tests import factories
from tests.factories import Acme
from tests.people import INSPECTOR, OFFICER, STAFF
from tests.web.conftest import HTMX, Browser

SignIn = Callable[[str], Browser]
LIST = "/o/acme/register"
TODAY = dt.date(2027, 3, 1)


def march(day: int) -> dt.date:
    return dt.date(2027, 3, day)


def rows(page: str) -> list[str]:
    """The lines of the list as a person reads them."""
    body = re.search(r'<tbody id="entries">(.*)</tbody>', page, re.DOTALL)
    found = re.findall(r"<tr.*?</tr>", body[1], re.DOTALL) if body else []
    return [" ".join(unescape(re.sub(r"<[^>]+>", " ", row)).split()) for row in found]


def references(page: str) -> list[str]:
    return [row.split()[0] for row in rows(page) if not row.startswith("Show more")]


def stored(acme: Acme, sql: str) -> list[tuple[Any, ...]]:
    with acme.acting() as act:
        return [tuple(row) for row in act.session.execute(text(sql))]


@pytest.fixture
def filled(staffed: Acme) -> Acme:
    """A permit with a part, and one entry for each state that the list knows."""
    with staffed.acting() as act:
        people.add_site(act, "Auckland", "Pacific/Auckland")
        ana = staffed.members["Ana"]
        permit = factories.subject(act, "P-1", dt.date(2027, 9, 1), title="Discharge permit", kind="permit")
        factories.subject(act, "P-1/4.2", march(10), title="Sample", kind="permit", part_of_id=permit.id)
        late = factories.subject(act, "C-7", dt.date(2027, 2, 27), title="Crane", owner_member_id=ana)
        factories.subject(act, "A-1", march(1), at="Auckland", title="Lift")
        factories.subject(act, "D-1", march(9), title="A draft", status=Status.draft)
        factories.subject(act, "N-1", title="Never expires")
        factories.subject(act, "X-1", dt.date(2026, 1, 1), title="Sold", status=Status.archived)
        filed = factories.subject(act, "F-1", dt.date(2027, 2, 1), title="Filed in time")
        paused = factories.subject(act, "S-1", dt.date(2027, 8, 1), title="Paused")
        register.snooze(act, paused, march(20), "planned")
        one = obligations.find_obligation(act, filed)
        filings.file(act, one.id, dt.date(2026, 12, 1), "ENT-1", "yes")
        factories.rule(act, thresholds=("30d", "7d", "0d"), kinds=("other",))
        assert late.id
    with staffed.watching() as act:
        scan(act, trigger="command")
        deliver(act)
    return staffed


def test_each_entry_is_one_line_with_its_state_in_words(filled: Acme, browser: SignIn) -> None:
    page = browser(OFFICER).get(LIST).text
    lines = {row.split()[0]: row for row in rows(page)}
    assert "27 February 2027 Expired 2 days ago Expired" in lines["C-7"]
    assert "1 February 2027 its date passed 28 days ago" in lines["F-1"]
    assert "Ana" in lines["C-7"]
    assert "on the day, 1 March 2027 nobody" in lines["C-7"]
    assert "10 March 2027 9 days left Within 30 days" in lines["P-1/4.2"]
    assert "part of P-1" in lines["P-1/4.2"]
    assert "Not watched: no rule for kind and site" in lines["P-1"]
    assert "In force, renewal pending" in lines["F-1"]
    assert "Expired" not in lines["F-1"]
    assert "OK" in lines["S-1"]
    assert "Paused until 20 March 2027" in lines["S-1"]
    assert "Draft" in lines["D-1"]
    assert "No date" in lines["N-1"]
    assert "Archived" in lines["X-1"]
    with filled.acting() as act:
        for reference, in_force in (("C-7", "unclear"), ("P-1/4.2", "no")):
            one = obligations.find_obligation(act, register.find_subject(act, reference))
            filings.file(act, one.id, dt.date(2027, 2, 1), "ENT-2", in_force)
    lines = {row.split()[0]: row for row in rows(browser(OFFICER).get(LIST).text)}
    assert "Expired 2 days ago Expired Pending with the authority, in force unclear" in lines["C-7"]
    assert "9 days left Pending with the authority, not in force Within 30 days" in lines["P-1/4.2"]


def test_today_is_that_of_the_site(filled: Acme, browser: SignIn) -> None:
    """At 11:00 UTC the second of March has just begun in Auckland."""
    (line,) = [row for row in rows(browser(OFFICER).get(LIST).text) if row.startswith("A-1")]
    assert "1 March 2027 Expired 1 day ago Expired" in line


def test_by_due_date_a_part_stands_under_its_whole_and_the_most_urgent_of_them_counts(
    filled: Acme, browser: SignIn
) -> None:
    assert references(browser(OFFICER).get(LIST).text) == [
        "F-1", "C-7", "A-1", "D-1", "P-1", "P-1/4.2", "S-1", "N-1", "X-1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("q=CRANE", {"C-7"}),
        ("q=p-1", {"P-1", "P-1/4.2"}),
        ("q=%25", set()),
        ("q=%00", {"F-1", "C-7", "A-1", "D-1", "P-1", "P-1/4.2", "S-1", "N-1", "X-1"}),
        ("state=overdue", {"A-1", "C-7"}),
        ("state=soon", {"P-1/4.2"}),
        ("state=filed", {"F-1"}),
        ("state=paused", {"S-1"}),
        ("state=draft", {"D-1"}),
        ("state=archived", {"X-1"}),
        ("state=no_date", {"N-1"}),
        ("state=out_of_service", set()),
        ("state=watched", {"F-1", "C-7", "A-1"}),
        ("state=not_watched", {"P-1", "P-1/4.2", "D-1", "N-1", "S-1"}),
        ("responsible=nobody", {"F-1", "A-1", "D-1", "P-1", "P-1/4.2", "S-1", "N-1", "X-1"}),
        ("responsible=member:x", set()),
        ("state=rubbish&site=&kind=x", {"F-1", "C-7", "A-1", "D-1", "P-1", "P-1/4.2", "S-1", "N-1", "X-1"}),
    ],
)
def test_filters(filled: Acme, browser: SignIn, query: str, found: set[str]) -> None:
    assert set(references(browser(OFFICER).get(f"{LIST}?{query}").text)) == found


def test_filters_by_site_kind_and_person(filled: Acme, browser: SignIn) -> None:
    person, ana = browser(OFFICER), filled.members["Ana"]
    ((auckland,),) = stored(filled, "select id from site where name = 'Auckland'")
    ((permit,),) = stored(filled, "select id from kind where name = 'permit'")
    assert references(person.get(f"{LIST}?site={auckland}").text) == ["A-1"]
    assert references(person.get(f"{LIST}?kind={permit}").text) == ["P-1", "P-1/4.2"]
    assert references(person.get(f"{LIST}?responsible=member:{ana}").text) == ["C-7"]
    nothing = person.get(f"{LIST}?site={auckland}&kind={permit}").text
    assert "None: no entry" in nothing
    assert f'<option value="{auckland}" selected>' in nothing


@pytest.mark.parametrize(
    ("query", "column", "says", "first"),
    [
        ("sort=reference", "Reference", "ascending", "A-1"),
        ("sort=reference&order=down", "Reference", "descending", "X-1"),
        ("sort=title", "Title", "ascending", "D-1"),
        ("sort=site", "Site", "ascending", "A-1"),
        ("", "Due", "ascending", "F-1"),
        ("order=down", "Due", "descending", "P-1"),
    ],
)
def test_the_order_is_said_in_the_head(
    filled: Acme, browser: SignIn, query: str, column: str, says: str, first: str
) -> None:
    page = browser(OFFICER).get(f"{LIST}?{query}").text
    heads = re.findall(r"<th scope=\"col\" aria-sort=\"(\w+)\"><a[^>]*>(\w+)", page)
    assert heads == [(says, column)]
    assert references(page)[0] == first


@pytest.mark.parametrize("order", ["", "&order=down"])
@pytest.mark.parametrize("sort", ["due", "reference", "title", "site"])
def test_pages_show_every_entry_once(staffed: Acme, browser: SignIn, sort: str, order: str) -> None:
    with staffed.acting() as act:
        for number in range(120):
            due = TODAY + dt.timedelta(days=number % 7) if number % 5 else None
            whole = factories.subject(act, f"E-{number:03}", due, title=f"Title {number % 9}")
            if number % 10 == 0:
                factories.subject(act, f"E-{number:03}/1", march(3), part_of_id=whole.id, title="Part")
    person, address, seen = browser(OFFICER), f"{LIST}?sort={sort}{order}", list[str]()
    for says in ("The first entries of this list", "Further entries of this list", "Further entries of this list"):
        page = person.get(address).text
        assert f"<caption>{says}" in page
        assert ("Back to the first entries" in page) is says.startswith("Further")
        seen += references(page)
        more = re.search(r'class="more"><a href="([^"]+)"', page)
        address = unescape(more[1]) if more else ""
    assert address == ""
    assert len(seen) == 132
    assert len(set(seen)) == 132
    for number in range(0, 120, 10):
        assert seen.index(f"E-{number:03}/1") == seen.index(f"E-{number:03}") + 1


@pytest.mark.parametrize("after", ["x", "[]", '["a","b",1,0,"c","d",99999999999999999999]', '["a"]', "null", "1e9"])
def test_a_page_that_cannot_be_read_is_the_first(filled: Acme, browser: SignIn, after: str) -> None:
    assert len(references(browser(OFFICER).get(LIST).text)) == 9
    page = browser(OFFICER).get(f"{LIST}?after={after}").text
    assert len(references(page)) == 9
    assert "Back to the first entries" not in page


def test_htmx_gets_the_lines_alone_and_history_the_whole_page(filled: Acme, browser: SignIn) -> None:
    person = browser(OFFICER)
    fragment = person.get(f"{LIST}?state=overdue", **HTMX)
    assert fragment.text.lstrip().startswith('<div id="lines">')
    assert fragment.headers["Vary"].startswith("HX-Request")
    restored = person.get(LIST, **HTMX, HX_History_Restore_Request="true").text
    assert restored.lstrip().startswith("<!doctype html>")


def test_who_is_limited_to_a_site_sees_its_entries_only(filled: Acme, browser: SignIn) -> None:
    ((auckland,),) = stored(filled, "select id from site where name = 'Auckland'")
    with filled.acting() as act:
        people.limit_member(act, filled.members["Dana"], [auckland])
    page = browser(INSPECTOR).get(LIST).text
    assert references(page) == ["A-1"]
    assert ">Madrid</option>" not in page
    assert "Add an entry" not in page


def test_staff_have_no_register(filled: Acme, browser: SignIn) -> None:
    assert browser(STAFF).get(LIST).status_code == 403


def test_an_empty_register_says_what_to_do(staffed: Acme, browser: SignIn) -> None:
    assert "None yet: the register is empty." in browser(OFFICER).get(LIST).text


NEW = f"{LIST}/new"


def typed(acme: Acme, **given: object) -> dict[str, object]:
    ((site,),) = stored(acme, "select id from site where name = 'Madrid'")
    ((kind,),) = stored(acme, "select id from kind where name = 'other'")
    return {"reference": "B-9", "title": "Boiler", "site": site, "kind": kind, "due_on": "2027-02-28"} | given


def test_adding_an_entry_keeps_everything_that_was_typed(staffed: Acme, browser: SignIn) -> None:
    person, bruno = browser(OFFICER), staffed.members["Bruno"]
    person.get(NEW)
    answer = person.post(
        NEW, **typed(staffed, kind="", new_kind=" Radiation  source", responsible=f"member:{bruno}", recurrence="1y",
                     recurrence_basis="done", legal_basis="RD 1/2001", notes="a\r\nb", holder=bruno)
    )  # fmt: skip
    ((subject_id, *rest),) = stored(
        staffed,
        "select s.id, s.reference, s.title, k.name, s.owner_member_id, s.holder_id, s.recurrence, s.recurrence_basis, "
        "s.legal_basis, s.notes, s.status, o.due_on, o.first_due_on from subject s join kind k on k.id = s.kind_id "
        "join obligation o on o.subject_id = s.id",
    )
    assert (answer.status_code, answer.location) == (303, f"{LIST}/{subject_id}")
    day = dt.date(2027, 2, 28)
    assert rest == [
        "B-9", "Boiler", "Radiation source", bruno, bruno, "1y", "done", "RD 1/2001", "a\nb", "watched", day, day,
    ]  # fmt: skip
    assert ("subject_created",) in stored(
        staffed, f"select type from audit_event where actor = 'member:{staffed.members['Ana']}'"
    )


def test_h29_a_day_that_no_calendar_has_is_said_beside_the_field_and_all_is_kept(
    staffed: Acme, browser: SignIn
) -> None:
    person = browser(OFFICER)
    person.get(NEW)
    for htmx in (False, True):
        answer = person.post(NEW, htmx, **typed(staffed, due_on="2027-02-29", notes="Keep <me>"))
        assert answer.status_code == 422
        field = re.search(r'<input id="due_on"[^>]*>', answer.text)
        assert field
        assert 'value="2027-02-29"' in field[0]
        assert 'aria-invalid="true"' in field[0]
        assert 'aria-describedby="due_on-hint due_on-fault"' in field[0]
        assert "is not a date" in answer.text
        assert 'value="Boiler"' in answer.text
        assert "Keep &lt;me&gt;" in answer.text
        assert answer.text.lstrip().startswith('<section id="new">') is htmx
    assert stored(staffed, "select count(*) from subject") == [(0,)]


@pytest.mark.parametrize(
    ("field", "given", "words"),
    [
        ("due_on", "20270228", "is not a date"),
        ("due_on", "28/02/2027", "is not a date"),
        ("due_on", "1899-01-01", "outside the years"),
        ("reference", " ", "Write the reference."),
        ("site", "", "Choose a site."),
        ("site", "999999", "Choose one of the list."),
        ("kind", "", "Choose a kind, or name a new one."),
        ("responsible", "member:999999", "Choose one of the list."),
        ("responsible", "owner", "Choose one of the list."),
        ("holder", "999999", "Choose one of the list."),
        ("recurrence", "yearly", "is not a recurrence"),
        ("recurrence_basis", "moon", "Choose one of the list."),
        ("title", "t" * 501, "shorten it"),
    ],
)
def test_what_is_wrong_stands_beside_its_field(
    staffed: Acme, browser: SignIn, field: str, given: str, words: str
) -> None:
    person = browser(OFFICER)
    person.get(NEW)
    answer = person.post(NEW, **typed(staffed, **{field: given}))
    assert answer.status_code == 422
    fault = re.search(rf'id="{field}-fault">(.*?)</p>', answer.text, re.DOTALL)
    assert fault
    assert words in unescape(fault[1])
    assert stored(staffed, "select count(*) from subject") == [(0,)]


def test_a_reference_that_is_there_is_refused_and_no_kind_is_left_behind(staffed: Acme, browser: SignIn) -> None:
    with staffed.acting() as act:
        factories.subject(act, "B-9")
    person = browser(OFFICER)
    person.get(NEW)
    answer = person.post(NEW, **typed(staffed, reference="b-9", kind="", new_kind="Fresh"))
    assert answer.status_code == 422
    assert 'id="reference-fault"' in answer.text
    assert stored(staffed, "select count(*) from kind where name = 'Fresh'") == [(0,)]


def test_who_may_not_see_the_site_is_not_made_responsible(staffed: Acme, browser: SignIn) -> None:
    bruno = staffed.members["Bruno"]
    with staffed.acting() as act:
        cork = people.add_site(act, "Cork", "Europe/Dublin")
        people.limit_member(act, bruno, [cork])
    person = browser(OFFICER)
    assert "Bruno" in person.get(NEW).text
    answer = person.post(NEW, **typed(staffed, responsible=f"member:{bruno}"))
    assert answer.status_code == 422
    assert "Bruno may not see Madrid: choose somebody else." in answer.text
    assert person.post(NEW, **typed(staffed, responsible=f"member:{bruno}", site=cork)).status_code == 303


def test_only_present_members_who_can_act_are_offered(staffed: Acme, browser: SignIn) -> None:
    with staffed.acting() as act:
        people.disable_member(act, staffed.members["Bruno"])
    page = browser(OFFICER).get(NEW).text
    assert ">Adela</option>" in page
    assert ">Bruno</option>" not in page
    assert ">Dana</option>" not in page


@pytest.mark.parametrize("email", [STAFF, INSPECTOR])
def test_only_managers_add_entries(staffed: Acme, browser: SignIn, email: str) -> None:
    person = browser(email)
    assert person.get(NEW).status_code == 403
    assert person.post(NEW, **typed(staffed)).status_code == 403
    assert stored(staffed, "select count(*) from subject") == [(0,)]


def test_the_register_leaves_as_a_file_of_the_page_or_of_all_that_match(staffed: Acme, browser: SignIn) -> None:
    """Inspectors may, within their sites; staff may not; and each export is on record with what was asked for."""
    with staffed.acting() as act:
        for number in range(60):
            factories.subject(act, f"P-{number:02}", dt.date(2027, 3, 20))
        people.add_site(act, "Yard", "Europe/Madrid")
        yard = factories.subject(act, "P-YARD", dt.date(2027, 3, 20), at="Yard").site_id
        people.limit_member(act, staffed.members["Dana"], [factories.site(act)])
    dana, address = browser(INSPECTOR), "/o/acme/register/export?q=p-"
    page = dana.get("/o/acme/register?q=p-").text
    shown = re.findall(r'name="shown" value="(\d+)"', page)
    assert f'formaction="{address}"' in page
    whole = dana.post(address, export="all.csv", shown=shown)
    assert whole.headers["Content-Disposition"] == "attachment; filename=acme-register-2027-03-01.csv"
    assert whole.data.count(b"\r\n") == 61
    assert b"P-YARD" not in whole.data
    part = dana.post(address, export="page.csv", shown=[*shown, yard, "x"])
    assert part.data.count(b"\r\n") == 51
    dana_is, told = f"member:{staffed.members['Dana']}", "select * from audit_event where type = 'register_exported'"
    with staffed.acting() as act:
        events = [(row.actor, row.detail) for row in act.run(f"{told} order by id")]
    asked = {"filters": {"q": "p-"}}
    assert events == [
        (dana_is, {"format": "csv", "scope": "all", "entries": 60, **asked}),
        (dana_is, {"format": "csv", "scope": "page", "entries": 50, **asked}),
    ]
    assert browser(STAFF).post(address, export="all.csv").status_code == 403
