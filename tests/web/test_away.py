"""Away and leaving on the pages: a holiday with a stand-in, its summary, and a leaver with sixty entries."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest

from app.ledger.align import deliver
from app.ledger.scan import scan
from app.models import Absence, AuditEvent, Departure, Subject
from app.operations import people, register
from tests import factories
from tests.factories import NOW, Acme
from tests.people import OFFICER, STAFF
from tests.web.conftest import ADMIN, Browser
from tests.web.markup import read
from tests.web.test_pages import faults_of

SignIn = Callable[[str], Browser]
TODAY = NOW.date()
MANY = 60


def days(count: int) -> str:
    return (TODAY + dt.timedelta(days=count)).isoformat()


def watch(acme: Acme, at: dt.datetime = NOW) -> None:
    for deed in (scan, deliver):
        with acme.watching(at) as act:
            deed(act)


@pytest.fixture
def told(staffed: Acme) -> Acme:
    """Bruno is responsible for P-1 and was told of it."""
    with staffed.acting() as act:
        register.assign(
            act, factories.subject(act, due_on=TODAY + dt.timedelta(days=5)), member_id=staffed.members["Bruno"]
        )
        factories.rule(act, thresholds=("7d",), to=("owner",))
    watch(staffed)
    return staffed


def test_a_holiday_with_a_stand_in_and_what_awaits_the_returned(browser: SignIn, told: Acme) -> None:
    bruno, ana = browser(STAFF), browser(OFFICER)
    where = "/o/acme/away"
    wrong = bruno.post(where, from_on=days(3), until_on=days(1), stand_in="", note="Sea & sun")
    assert wrong.status_code == 422
    assert "before the first day" in wrong.text
    assert "Sea &amp; sun" in wrong.text, "what was typed stays"
    missing = bruno.post(where, from_on="", until_on="31.3.", stand_in=told.members["Ana"])
    assert "Choose the first day." in missing.text
    assert "is no date" in missing.text
    assert bruno.post(where, from_on=days(0), until_on=days(2), stand_in="987654321").status_code == 404
    sent = {"from_on": days(0), "until_on": days(2), "stand_in": told.members["Ana"], "note": "Sea"}
    assert bruno.post(where, **sent).status_code == 303
    page = bruno.get(where).text
    assert faults_of(page) == []
    assert "Back already" in page
    assert "Stands in for" in ana.get(where).text
    assert "Ana</span> stands in" not in page
    watch(told)
    inbox = ana.get("/o/acme/inbox").text
    assert "stands in for Bruno" in inbox
    assert '<span class="tag">In place of Bruno</span>' in inbox
    assert "While you were away" not in bruno.get("/o/acme/inbox").text, "it is not over"
    listed = ana.get("/o/acme/settings/people").text
    assert '<span class="tag soon">Away</span> Ana stands in' in listed
    # A compliance manager ends it; the summary awaits him until he has read it.
    with told.acting() as act:
        absence = act.session.query(Absence.id).one()[0]
    bruno_id = told.members["Bruno"]
    assert ana.post(f"/o/acme/settings/people/{bruno_id}/away/end", absence=absence).status_code == 303
    page = bruno.get("/o/acme/inbox").text
    assert faults_of(page) == []
    assert "While you were away" in page
    assert "told to Ana, 7 days before" in " ".join(read(page).text.split())
    assert "Still open, no answer" in page
    assert ana.post("/o/acme/inbox/summary/read", absence=absence).status_code == 404
    assert bruno.post("/o/acme/inbox/summary/read", absence=absence).status_code == 303
    assert "While you were away" not in bruno.get("/o/acme/inbox").text


def test_what_would_reach_nobody_is_on_today(browser: SignIn, told: Acme) -> None:
    ana = browser(OFFICER)
    with told.acting() as act:
        later = TODAY + dt.timedelta(days=20)
        register.assign(act, factories.subject(act, "P-2", later), member_id=told.members["Bruno"])
    assert '<span class="figure none">0</span>' in ana.get("/o/acme/").text
    bruno = told.members["Bruno"]
    ana.post(f"/o/acme/settings/people/{bruno}/away", from_on=days(10), until_on=days(15))
    page = ana.get("/o/acme/today/unreached").text
    assert faults_of(page) == []
    assert "P-2" in page
    assert "P-1" not in page, "its alert is in the past"
    assert "Everybody is away, and nobody stands in" in page


def test_a_leaver_with_sixty_entries(browser: SignIn, staffed: Acme) -> None:
    """Seen before it is done; by a name, at once; then all of it hangs on the other, as one batch."""
    adela, gil, hal = browser(ADMIN), 0, staffed.members["Bruno"]
    with staffed.acting() as act:
        gil = people.add_member(act, "gil@acme.example", "staff", name="Gil")
        people.assign_post(act, people.add_post(act, "manager"), gil, factories.site(act), TODAY - dt.timedelta(days=9))
        for number in range(MANY):
            factories.subject(act, f"G-{number}", TODAY + dt.timedelta(days=5), owner_member_id=gil)
        factories.rule(act, thresholds=("7d",), to=("owner", "member:gil@acme.example"))
    watch(staffed)
    where = f"/o/acme/settings/people/{gil}/leaving"
    page = adela.get(where).text
    assert faults_of(page) == []
    assert "60 entries" in page
    assert page.count("<tr><th") == MANY + 1
    assert "<details><summary>Responsible for 60 entries</summary>" in page, "closed: a phone shows what follows"
    assert "Choose who takes over." in adela.post(where, leaves_on=days(0), to="", about="hand_over").text
    assert adela.post(where, leaves_on=days(0), to="member:987654321", about="hand_over").status_code == 404
    chosen = {"leaves_on": days(0), "to": f"member:{hal}", "about": "hand_over"}
    seen = " ".join(read(adela.post(where, **chosen).text).text.split())
    assert "What would happen at once" in seen
    assert "60 entries go to Bruno. 60 alerts that are not answered go, too" in seen
    assert "1 post ends the day before, and Bruno holds what ended" in seen
    assert "1 rule names Bruno instead" in seen
    with staffed.acting() as act:
        assert act.session.query(Departure).count() == 0
    assert adela.post(where, **chosen, sure="yes").status_code == 303
    after = adela.get(where).text
    assert faults_of(after) == []
    assert "What hung on Gil went to Bruno" in after
    assert "Nothing: no entry, post, rule or absence names this person." in after
    assert "See what would happen" not in after
    assert "Left on 1 March 2027" in " ".join(read(adela.get("/o/acme/settings/people").text).text.split())
    with staffed.acting() as act:
        assert {one.owner_member_id for one in act.session.query(Subject)} == {hal}
        [batch] = act.session.query(AuditEvent).filter_by(type="batch_applied").all()
        assert batch.detail["done"] == MANY
    assert "60 entries" in adela.get(f"/o/acme/register/batches/{batch.id}").text
    assert adela.post(f"/o/acme/settings/people/{gil}/staying").status_code == 303
    assert "went to Bruno" not in adela.get(where).text
