"""Answers with a photo, and what an officer does with them in their row of Today."""

from __future__ import annotations

import datetime as dt
import io
import re

import pytest
from sqlalchemy import text, update
from werkzeug.test import TestResponse

from app.models import Kind
from app.operations import people, register
from tests import factories
from tests.factories import NOW, Acme
from tests.people import INSPECTOR, OFFICER, STAFF
from tests.web.conftest import Browser, forget_request
from tests.web.markup import read
from tests.web.test_inbox import NOTE, SignIn, count, tick

JPEG = b"\xff\xd8\xff\xe0" + b"\0" * 20
PAGE = b"<html><script>alert(1)</script>"
TODAY = NOW.date()
CHECK, ATTENTION = "/o/acme/today/check", "/o/acme/today/attention"


@pytest.fixture
def claim(staffed: Acme) -> int:
    """Bruno is responsible for P-1, due in nineteen days, and was told; the alert."""
    with staffed.acting() as act:
        due = TODAY + dt.timedelta(days=19)
        factories.subject(act, "P-1", due, title="Sample", owner_member_id=staffed.members["Bruno"])
        factories.rule(act, thresholds=("30d",), to=("owner",))
        people.add_post(act, "maintenance")
    tick(staffed)
    return count(staffed, "select id from notification_ledger")


def answer(person: Browser, claim: int, said: str, **given: object) -> int:
    """The status of the answer, given on the page of the alert."""
    person.get(f"/o/acme/inbox/{claim}")
    return person.post(f"/o/acme/inbox/{claim}/answer", answer=said, **given).status_code


def answer_id(acme: Acme) -> int:
    return count(acme, "select max(id) from acknowledgement")


def decide(person: Browser, one: int, where: str, decision: str, **given: str) -> tuple[int, str]:
    """What becomes of a button in a row of the queue, and the page that then comes."""
    person.get(where)
    queue = where.rpartition("/")[2]
    done = person.post(f"/o/acme/today/answers/{one}", decision=decision, queue=queue, **given)
    return done.status_code, person.get(done.location).text if done.status_code == 303 else done.text


def fetched(person: Browser, address: str) -> TestResponse:
    """A file, which is no page: its bytes are not read as text."""
    forget_request()
    return person.client.get(address)


def file(content: bytes, name: str) -> tuple[io.BytesIO, str]:
    return io.BytesIO(content), name


def test_done_with_a_photo_is_seen_and_accepted_by_an_officer(staffed: Acme, browser: SignIn, claim: int) -> None:
    bruno, ana = browser(STAFF), browser(OFFICER)
    form = bruno.get(f"/o/acme/inbox/{claim}").text
    assert 'capture="environment"' in form
    assert f'value="{TODAY}"' in form  # Done today, unless another day is chosen.
    given = {"done_on": "2027-02-27", "note": "Two litres", "photo": file(JPEG, "IMG.php")}
    assert answer(bruno, claim, "done", **given) == 303
    assert "on 27 February 2027, with IMG.php.jpg: “Two litres”" in bruno.get("/o/acme/inbox").text
    page = ana.get(CHECK).text
    [address] = set(re.findall(r'<img src="([^"]+)"', page))
    assert "“Two litres”. Said on" in " ".join(read(page).text.split())
    [saved] = re.findall(r'<a href="([^"]+)" download><img ', page)
    assert saved == address
    assert "Two litres" in page
    picture = fetched(ana, address)
    assert (picture.data, picture.headers["Content-Type"]) == (JPEG, "image/jpeg")
    assert picture.headers["Content-Disposition"].startswith("attachment; ")
    assert picture.headers["Content-Security-Policy"].startswith("sandbox; ")
    assert picture.headers["X-Content-Type-Options"] == "nosniff"
    assert fetched(browser(INSPECTOR), address).status_code == 200
    assert bruno.get(address).status_code == 403
    status, page = decide(ana, answer_id(staffed), CHECK, "accept")
    assert (status, "No answer waits to be checked." in page) == (303, True)
    assert count(staffed, "select count(*) from obligation where met_on = '2027-02-27' and outcome = 'met'") == 1
    entry = ana.get(f"/o/acme/register/{count(staffed, 'select id from subject')}").text
    assert address in entry
    assert "accepted" in entry
    assert "Accepted the answer of Bruno: Done" in entry
    drop = f"/o/acme/register/{count(staffed, 'select id from subject')}/drop-file"
    form = ana.get(drop).text
    assert "IMG.php.jpg, sent by Bruno on 1 March 2027" in form
    assert ana.post(drop, paper=address.rsplit("/", 1)[1], reason="personal", note="").status_code == 303
    assert fetched(ana, address).status_code == 404
    status, page = decide(browser(OFFICER), answer_id(staffed), CHECK, "send_back", note=NOTE)
    assert status == 422
    assert "was accepted already by Ana" in page


@pytest.mark.parametrize("htmx", [True, False])
def test_a_bad_file_or_day_is_422_beside_its_field_and_nothing_is_lost(
    staffed: Acme, browser: SignIn, claim: int, htmx: bool
) -> None:
    bruno = browser(STAFF)
    bruno.get(f"/o/acme/inbox/{claim}")
    for given, words in (
        ({"file": file(PAGE, "photo.jpg")}, "of a kind that is not kept"),
        ({"photo": file(b"words", "photo.jpg")}, "neither a photo nor a PDF"),
        ({"photo": file(JPEG, "a.jpg"), "file": file(JPEG, "b.jpg")}, "Choose one: the photo, or the file."),
        ({"done_on": "2027-03-02"}, "is still to come"),
        ({"done_on": "yesterday"}, "is not a date"),
    ):
        form = {"answer": "done", "note": NOTE, "done_on": "2027-02-27"} | given
        refused = bruno.post(f"/o/acme/inbox/{claim}/answer", htmx=htmx, **form)
        assert (refused.status_code, words in refused.text, NOTE in refused.text) == (422, True, True), words
        assert 'aria-invalid="true"' in refused.text
        assert ("Choose it again: a page cannot keep it. It was" in refused.text) is ("done_on" not in given)
    assert count(staffed, "select count(*) from acknowledgement") == 0


def test_what_is_sent_back_is_read_in_the_inbox_and_answered_again(staffed: Acme, browser: SignIn, claim: int) -> None:
    bruno, ana = browser(STAFF), browser(OFFICER)
    assert answer(bruno, claim, "done") == 303
    status, page = decide(ana, answer_id(staffed), CHECK, "send_back", note=" ")
    assert (status, "say what is missing" in page) == (422, True)
    assert decide(ana, answer_id(staffed), CHECK, "nonsense")[0] == 422
    assert decide(ana, answer_id(staffed), CHECK, "send_back", note="<b>Which bottle?</b>")[0] == 303
    inbox = bruno.get("/o/acme/inbox").text
    assert '1<span class="aside"> unread</span>' in inbox
    assert "Ana, about your answer “Done”" in inbox
    assert "&lt;b&gt;Which bottle?&lt;/b&gt;" in inbox
    assert answer(bruno, claim, "done", note="The blue one") == 303
    assert "Which bottle?" not in bruno.get("/o/acme/inbox").text
    assert "The blue one" in ana.get(CHECK).text


def test_not_mine_is_handed_over_in_its_row_to_whom_it_names(staffed: Acme, browser: SignIn, claim: int) -> None:
    bruno, ana = browser(STAFF), browser(OFFICER)
    assert '<option value="maintenance">' in bruno.get(f"/o/acme/inbox/{claim}").text
    assert answer(bruno, claim, "not_mine", whose="The tall one", note="with the van") == 303
    assert "“The tall one. with the van”" in ana.get(ATTENTION).text
    assert answer(bruno, claim, "not_mine", whose=" MAINTENANCE ") == 303
    page = ana.get(ATTENTION).text
    assert "Says that it belongs to maintenance." in page
    [chosen] = re.findall(r'<option value="([^"]+)" selected>', page)
    one = answer_id(staffed)
    for nobody in ("", "member:999999", "post:x"):
        assert decide(ana, one, ATTENTION, "hand_over", responsible=nobody)[0] == 422
    staffed.now += dt.timedelta(minutes=1)
    with staffed.acting() as act:
        assert register.find_subject(act, "P-1").owner_post_id is None
    assert decide(ana, one, ATTENTION, "hand_over", responsible=chosen)[0] == 303
    with staffed.acting() as act:
        assert chosen == f"post:{register.find_subject(act, 'P-1').owner_post_id}"


def test_whoever_asks_for_help_is_answered(staffed: Acme, browser: SignIn, claim: int) -> None:
    bruno, ana = browser(STAFF), browser(OFFICER)
    assert answer(bruno, claim, "help", note="Which bottle?") == 303
    assert decide(ana, answer_id(staffed), ATTENTION, "send_back", note="The blue one.")[0] == 303
    assert "P-1" not in ana.get(ATTENTION).text
    inbox = bruno.get("/o/acme/inbox").text
    assert "Ana, about your answer “Help needed”" in inbox
    assert "The blue one." in inbox


@pytest.mark.parametrize("htmx", [True, False])
def test_where_the_kind_says_so_done_closes_it_and_the_page_says_that(
    staffed: Acme, browser: SignIn, claim: int, htmx: bool
) -> None:
    with staffed.acting() as act:
        act.session.execute(update(Kind).values(staff_may_close=True))
    bruno = browser(STAFF)
    bruno.get(f"/o/acme/inbox/{claim}")
    done = bruno.post(f"/o/acme/inbox/{claim}/answer", htmx=htmx, answer="done")
    page = done.text if htmx else bruno.get(done.location.partition("#")[0]).text
    assert "he deadline is closed" in page
    assert count(staffed, "select closed_by from obligation") == staffed.members["Bruno"]


def test_an_officer_decides_nothing_at_a_site_out_of_sight(staffed: Acme, browser: SignIn, claim: int) -> None:
    assert answer(browser(STAFF), claim, "done") == 303
    ana = browser(OFFICER)
    with staffed.acting() as act:
        people.limit_member(act, staffed.members["Ana"], [people.add_site(act, "Cork", "Europe/Dublin")])
    assert decide(ana, answer_id(staffed), CHECK, "accept")[0] == 404
    assert decide(ana, 999_999, CHECK, "accept")[0] == 404
    with staffed.acting() as act:
        assert act.session.execute(text("select closed_at from obligation")).scalar_one() is None
