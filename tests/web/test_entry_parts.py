"""What an entry is part of: said on its page, shown there and in the register, followed by its due date."""

from __future__ import annotations

import datetime as dt

import pytest

from app.operations import obligations, parts, people, register
from app.operations.register import Entry
from tests import factories
from tests.factories import Acme
from tests.people import OFFICER
from tests.web.test_entry import SignIn, events, stored, words

DUE = dt.date(2027, 12, 31)


@pytest.fixture
def ids(staffed: Acme) -> dict[str, int]:
    """0417, due on 31 December 2027, and 4.2 without a date; elsewhere in Cork."""
    with staffed.acting() as act:
        people.add_site(act, "Cork", "Europe/Dublin")
        whole = factories.subject(act, "0417", DUE, title="Discharge permit")
        part = factories.subject(act, "4.2", title="Quarterly sample")
        return {"0417": whole.id, "4.2": part.id}


def page_of(ids: dict[str, int], reference: str = "4.2", deed: str = "") -> str:
    return f"/o/acme/register/{ids[reference]}{deed and '/' + deed}"


def test_a_condition_is_put_into_its_permit_and_follows_its_date(
    staffed: Acme, ids: dict[str, int], browser: SignIn
) -> None:
    ana = browser(OFFICER)
    assert "Due date from its whole" in ana.get(page_of(ids, deed="part-of")).text
    assert ana.post(page_of(ids, deed="part-of"), part_of=" 0417 ", due_from="180d").location == page_of(ids)
    page = words(ana.get(page_of(ids)).text)
    assert "Part of 0417 : due 180 days before its due date, and moved with it" in page
    assert "4 July 2027" in page
    assert "Said what it is part of" in page
    assert "as its whole's date says" in page
    assert "4.2 Quarterly sample" in words(ana.get(page_of(ids, "0417")).text)
    assert events(staffed) == ["subject_put_into", "obligation_opened"]
    assert 'value="180d"' in ana.get(page_of(ids, deed="part-of")).text
    assert "part-of" not in ana.get(page_of(ids, "0417")).text  # Parts have no parts.
    for reference in ("0417", "4.2"):
        assert "/move-site" not in ana.get(page_of(ids, reference)).text  # They stay at one site.
    ana.post(page_of(ids, deed="part-of"), part_of="", due_from="")
    assert stored(staffed, "select part_of_id, due_from from subject where id = :id", id=ids["4.2"]) == [(None, None)]
    assert stored(staffed, "select due_on, follows_id from obligation where subject_id = :id", id=ids["4.2"]) == [
        (dt.date(2027, 7, 4), None)
    ]


def test_a_date_whose_whole_is_closed_says_that_it_stays(staffed: Acme, ids: dict[str, int], browser: SignIn) -> None:
    with staffed.acting() as act:
        parts.put_into(act, register.get_subject(act, ids["4.2"]), ids["0417"], "180d")
        whole = obligations.find_obligation(act, register.get_subject(act, ids["0417"]))
        obligations.close(act, whole.id, "not_required", None, "replaced")
    page = words(browser(OFFICER).get(page_of(ids)).text)
    assert "It followed the deadline of its whole on 31 December 2027, which is closed: Closed without doing it" in page


def test_another_rhythm_says_before_which_dates_would_go(staffed: Acme, ids: dict[str, int], browser: SignIn) -> None:
    with staffed.acting() as act:
        entry = Entry(factories.site(act), factories.kind(act), "W", due_on=dt.date(2027, 3, 1), recurrence="1w",
                      recurrence_basis="calendar")  # fmt: skip
        ids["W"] = register.add_subject(act, entry)
    ana = browser(OFFICER)
    page = ana.get(page_of(ids, "W", "edit")).text
    assert "Opened by the calendar, and not acted on yet: 8 March 2027." in words(page)
    monthly = {"recurrence": "1m", "recurrence_basis": "calendar"}
    ana.post(page_of(ids, "W", "edit"), title="W", kind=str(entry.kind_id), **monthly)
    assert "the entry comes in another rhythm now" in words(ana.get(page_of(ids, "W")).text)


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ({"part_of": "", "due_from": "180d"}, "Name the entry whose due date it follows."),
        ({"part_of": "0417", "due_from": "half"}, "is not a threshold"),
        ({"part_of": "4.2", "due_from": ""}, "cannot be part of itself"),
        ({"part_of": "nothing", "due_from": ""}, "There is no entry"),
    ],
)
def test_what_cannot_be_is_said_beside_the_form(
    staffed: Acme, ids: dict[str, int], browser: SignIn, said: dict[str, str], fault: str
) -> None:
    ana = browser(OFFICER)
    ana.get(page_of(ids))
    refused = ana.post(page_of(ids, deed="part-of"), **said)
    assert refused.status_code == 422
    assert fault in words(refused.text)
    assert events(staffed) == []


def test_a_new_entry_is_part_of_another_from_its_first_day(staffed: Acme, ids: dict[str, int], browser: SignIn) -> None:
    ana = browser(OFFICER)
    page = ana.get("/o/acme/register/new").text
    assert "Due date from its whole" in page
    with staffed.acting() as act:
        site, kind = factories.site(act), factories.kind(act)
    said = {"reference": "6.1", "title": "Annual report", "site": site, "kind": kind, "part_of": " 0417 "}
    for wrong, fault in (
        ({"part_of": "", "due_from": "180d"}, "Name the entry whose due date it follows."),
        ({"due_from": "180d", "due_on": "2027-05-01"}, "It follows the due date of its whole"),
        ({"due_from": "180d", "recurrence": "1y"}, "It comes again with its whole"),
        ({"part_of": "nothing"}, "There is no entry"),
    ):
        refused = ana.post("/o/acme/register/new", **said | wrong)
        assert refused.status_code == 422
        assert f"Error: {fault}" in words(refused.text)
    made = ana.post("/o/acme/register/new", **said, due_from="180d")
    assert made.status_code == 303
    page = words(ana.get(made.location).text)
    assert "Part of 0417 : due 180 days before its due date, and moved with it" in page
    assert "4 July 2027" in page
