"""The page of an entry and its acts: what a person sees, what the database holds afterwards, what is refused."""

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
from app.models import Obligation
from app.operations import answers, obligations, people, register
from tests import factories
from tests.factories import Acme
from tests.people import INSPECTOR, OFFICER, STAFF
from tests.web.conftest import HTMX, Browser

SignIn = Callable[[str], Browser]


def march(day: int) -> dt.date:
    return dt.date(2027, 3, day)


def words(page: str) -> str:
    """The page as a person reads it."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def stored(acme: Acme, sql: str, **given: object) -> list[tuple[Any, ...]]:
    with acme.acting() as act:
        return [tuple(row) for row in act.session.execute(text(sql), given)]


def events(acme: Acme) -> list[str]:
    return [type for (type,) in stored(acme, "select type from audit_event where actor like 'member:%' order by id")
            if type != "signed_in"]  # fmt: skip


def watch(acme: Acme) -> None:
    with acme.watching() as act:
        scan(act, trigger="command")
        deliver(act)


@pytest.fixture
def ids(staffed: Acme) -> dict[str, int]:
    """P-1, due on 5 March 2027, responsible Ana, and the id of its deadline; D-1, a draft; a second site."""
    with staffed.acting() as act:
        cork = people.add_site(act, "Cork", "Europe/Dublin")
        permit = factories.subject(
            act, "P-1", title="Discharge permit", kind="permit", owner_member_id=staffed.members["Ana"],
            notes="First line\nsecond line", recurrence="1y",
        )  # fmt: skip
        deadline = factories.obligation(act, permit, march(5))
        draft = factories.subject(act, "D-1", march(9), status=Status.draft)
        return {"P-1": permit.id, "deadline": deadline.id, "D-1": draft.id, "Cork": cork}


def page_of(ids: dict[str, int], deed: str = "", reference: str = "P-1", deadline: bool = False) -> str:
    middle = f"/deadlines/{ids['deadline']}" if deadline else ""
    return f"/o/acme/register/{ids[reference]}{middle}{f'/{deed}' if deed else ''}"


def obligation(acme: Acme, ids: dict[str, int]) -> Obligation:
    with acme.acting() as act:
        return act.session.get_one(Obligation, (act.org, ids["deadline"]))


def test_the_page_says_what_it_is_and_who_watches_it(staffed: Acme, ids: dict[str, int], browser: SignIn) -> None:
    with staffed.acting() as act:
        factories.rule(act, "Permits", thresholds=("0d", "30d", "7d"), kinds=("permit",))
        factories.subject(act, "P-1/4.2", title="Sample", part_of_id=ids["P-1"])
    page = words(browser(OFFICER).get(page_of(ids)).text)
    assert "P-1 Discharge permit" in page
    assert "Within 30 days Date: 5 March 2027 , 4 days left" in page
    assert "Permits : 30 days before, 7 days before, on the day" in page
    assert "Comes again every year, counted from the due date" in page
    assert "Responsible Ana" in page
    assert "Its parts P-1/4.2 Sample" in page
    assert "Nobody is told" not in page


def test_an_entry_that_no_rule_watches_says_so_loudly(ids: dict[str, int], browser: SignIn) -> None:
    page = words(browser(OFFICER).get(page_of(ids)).text)
    assert "Nobody is told of this entry now: no active rule is about its kind at its site." in page
    assert "None: no active rule is about an entry of this kind at this site" in page
    draft = words(browser(OFFICER).get(page_of(ids, reference="D-1")).text)
    assert "Nobody is told of this entry now: it is a draft." in draft


def test_what_is_held_back_says_by_whom_wherever_it_stands(staffed: Acme, ids: dict[str, int], browser: SignIn) -> None:
    with staffed.acting() as act:
        factories.rule(act, "Permits", thresholds=("7d",), to=("owner",), kinds=("permit",))
        to = (("4d", "0d"), ("owner",), ("email",), ("permit",))
        factories.rule(act, "Nobody acts", *to, only_if="nobody_on_it")
    watch(staffed)
    ana = browser(OFFICER)
    assert "4 days before , for 5 March 2027 Not sent yet" in words(ana.get(page_of(ids)).text)

    def say(answer: str, until_on: dt.date | None = None) -> str:
        with staffed.acting() as act:
            subject = register.get_subject(act, ids["P-1"])
            claim = {"rule": "Permits", "until_on": until_on}
            answers.acknowledge(act, people.find_member(act, OFFICER), subject, answer, **claim)  # type: ignore[arg-type]
        watch(staffed)
        return words(ana.get(page_of(ids)).text)

    page = say("on_it", march(4))
    assert "only if nobody acts. Held back now : Ana is on it until 4 March 2027" in page
    assert "4 days before , for 5 March 2027 Held back: Ana is on it until 4 March 2027" in page
    assert "Held back now : Ana says that it is done" in say("done")
    assert "Held back" not in say("help")


def test_alerts_say_who_was_told_and_why_one_was_not_sent(staffed: Acme, ids: dict[str, int], browser: SignIn) -> None:
    with staffed.acting() as act:
        factories.rule(act, "Permits", thresholds=("30d", "7d", "0d"), to=("owner",), kinds=("permit",))
    watch(staffed)
    with staffed.acting() as act:
        ana = people.find_member(act, OFFICER)
        subject = register.get_subject(act, ids["P-1"])
        answers.acknowledge(act, ana, subject, "on_it", until_on=march(4))
    page = browser(OFFICER).get(page_of(ids)).text
    said = words(page)
    assert "7 days before , for 5 March 2027 Sent" in said
    assert "30 days before , for 5 March 2027 Not sent: the 7-day alert covers it" in said
    assert "Ana, in the app (responsible for it): Delivered" in said
    assert "Ana: On it until 4 March 2027" in said
    assert "Raised late (3 days)" in said
    ((claim_id,),) = stored(staffed, "select id from notification_ledger where threshold = '7d'")
    assert f'href="/o/acme/evidence/alerts/{claim_id}"' in page


def test_what_was_past_when_entered_and_what_was_stopped(staffed: Acme, ids: dict[str, int], browser: SignIn) -> None:
    with staffed.acting() as act:
        factories.rule(act, "Permits", thresholds=("30d", "7d"), to=("owner",))
        register.release(act, register.get_subject(act, ids["D-1"]), "next")
        obligations.move(
            act, obligations.find_obligation(act, register.get_subject(act, ids["P-1"])).id, march(6), "agreed"
        )
    with staffed.watching() as act:
        scan(act, trigger="command")
    with staffed.acting() as act:
        obligations.move(act, ids["deadline"], dt.date(2027, 9, 1), "authority", "Letter of 1 March")
    watch(staffed)
    person = browser(OFFICER)
    assert "Not sent: already past when entered" in words(person.get(page_of(ids, reference="D-1")).text)
    page = words(person.get(page_of(ids)).text)
    assert "Stopped: the date was moved" in page
    assert "First due on 5 March 2027; moved since." in page
    assert "Moved the date from 6 March 2027 to 1 September 2027 (The authority set another date)" in page
    assert "“Letter of 1 March”" in page


def test_the_history_names_people_and_both_values_in_the_zone_of_the_site(
    staffed: Acme, ids: dict[str, int], browser: SignIn
) -> None:
    person = browser(OFFICER)
    person.get(page_of(ids, "hand-over"))
    person.post(page_of(ids, "hand-over"), responsible=f"member:{staffed.members['Bruno']}")
    page = words(person.get(page_of(ids)).text)
    assert "1 March 2027, 12:00:00 +01:00 Ana : Handed it over Responsible: Ana → Bruno" in page


def test_h07_saving_the_form_five_times_changes_nothing(staffed: Acme, ids: dict[str, int], browser: SignIn) -> None:
    person, before = browser(OFFICER), stored(staffed, "select * from subject order by id")
    for _ in range(5):
        form = person.get(page_of(ids, "edit")).text
        answer = person.post(page_of(ids, "edit"), **fields_of(form))
        assert answer.status_code == 303
    assert stored(staffed, "select * from subject order by id") == before
    assert events(staffed) == []
    assert obligation(staffed, ids).due_on == march(5)


def fields_of(page: str) -> dict[str, str]:
    """What a browser would send of the form, lines ended as browsers do."""
    form = page[page.index('<section id="act"') :]
    found = {name: unescape(value) for name, value in re.findall(r'<input id="(\w+)"[^>]*? value="([^"]*)"', form)}
    for name, body in re.findall(r'<textarea id="(\w+)"[^>]*>(.*?)</textarea>', form, re.DOTALL):
        found[name] = unescape(body).removeprefix("\n").replace("\n", "\r\n")
    for name, body in re.findall(r'<select id="(\w+)".*?>(.*?)</select>', form, re.DOTALL):
        chosen = re.search(r'<option value="([^"]*)" selected', body) or re.search(r'<option value="([^"]*)"', body)
        found[name] = chosen[1] if chosen else ""
    return found


def test_h07_a_responsible_who_has_left_stays_until_somebody_changes_that(
    staffed: Acme, ids: dict[str, int], browser: SignIn
) -> None:
    with staffed.acting() as act:
        register.assign(act, register.get_subject(act, ids["P-1"]), member_id=staffed.members["Bruno"])
        people.disable_member(act, staffed.members["Bruno"])
    person = browser(OFFICER)
    form = person.get(page_of(ids, "edit")).text
    assert "Bruno (no longer here)" in form
    assert person.post(page_of(ids, "edit"), **fields_of(form)).status_code == 303
    assert events(staffed) == []


def test_editing_writes_what_differs_and_shows_it(staffed: Acme, ids: dict[str, int], browser: SignIn) -> None:
    person = browser(OFFICER)
    form = fields_of(person.get(page_of(ids, "edit")).text)
    given = form | {"title": "Discharge", "kind": "", "new_kind": "Water", "recurrence": "3m", "notes": "New"}
    assert person.post(page_of(ids, "edit"), **given).location == page_of(ids)
    assert stored(
        staffed,
        "select s.title, k.name, s.recurrence, s.notes from subject s join kind k on k.id = s.kind_id where s.id = :id",
        id=ids["P-1"],
    ) == [("Discharge", "Water", "3m", "New")]
    page = words(person.get(page_of(ids)).text)
    assert "Title: Discharge permit → Discharge" in page
    assert "Kind: permit → Water" in page
    assert "Comes again: every year → every 3 months" in page


def test_closing_says_when_it_was_done_and_opens_the_next(staffed: Acme, ids: dict[str, int], browser: SignIn) -> None:
    person = browser(OFFICER)
    form = person.get(page_of(ids, "close", deadline=True)).text
    assert 'value="2027-03-01"' in form
    assert "once it is done, the next deadline is opened" in form
    given = {"how": "met", "met_on": "2027-02-28", "reason": "", "note": "By Bruno"}
    assert person.post(page_of(ids, "close", deadline=True), **given).location == page_of(ids)
    one = obligation(staffed, ids)
    assert (one.outcome, one.met_on, one.closed_by, one.note) == (
        "met", dt.date(2027, 2, 28), staffed.members["Ana"], "By Bruno",
    )  # fmt: skip
    page = words(person.get(page_of(ids)).text)
    assert "5 March 2028" in page
    assert "Closed the deadline of 5 March 2027: Done on 28 February 2027" in page


def test_h12_closing_twice_is_harmless(staffed: Acme, ids: dict[str, int], browser: SignIn) -> None:
    person = browser(OFFICER)
    person.get(page_of(ids, "close", deadline=True))
    for note in ("first", "second"):
        answer = person.post(page_of(ids, "close", deadline=True), how="met", met_on="2027-03-01", note=note)
        assert answer.location == page_of(ids)
    assert obligation(staffed, ids).note == "first"
    assert events(staffed) == ["obligation_closed", "obligation_opened"]
    assert person.get(page_of(ids, "close", deadline=True)).location == page_of(ids)


@pytest.mark.parametrize(
    ("reason", "outcome"), [("replaced", "not_required"), ("entered_in_error", "entered_in_error")]
)
def test_closing_without_doing_it(
    staffed: Acme, ids: dict[str, int], browser: SignIn, reason: str, outcome: str
) -> None:
    person = browser(OFFICER)
    person.get(page_of(ids, "close", deadline=True))
    given = {"how": "not_done", "met_on": "2027-03-01", "note": ""}
    refused = person.post(page_of(ids, "close", deadline=True), **given, reason="")
    assert refused.status_code == 422
    assert "Choose why it is closed without doing it." in refused.text
    person.post(page_of(ids, "close", deadline=True), **given, reason=reason)
    one = obligation(staffed, ids)
    assert (one.outcome, one.reason, one.met_on) == (outcome, reason, None)
    assert stored(staffed, "select count(*) from obligation") == [(2,)]


def test_failed_then_opened_again(staffed: Acme, ids: dict[str, int], browser: SignIn) -> None:
    person = browser(OFFICER)
    person.get(page_of(ids, "close", deadline=True))
    tested = {"met_on": "2027-03-01", "retest_on": "2027-03-10", "note": ""}
    wrong = person.post(page_of(ids, "close", deadline=True), how="met", **tested)
    assert (wrong.status_code, "Only what failed is tested again" in wrong.text) == (422, True)
    person.post(page_of(ids, "close", deadline=True), how="failed", **tested)
    assert "10 March 2027" in person.get(page_of(ids)).text
    assert obligation(staffed, ids).outcome == "failed"
    form = person.get(page_of(ids, "reopen", deadline=True)).text
    assert "How it was closed stays in the history." in form
    assert person.post(page_of(ids, "reopen", deadline=True), reason="", note="x").status_code == 422
    person.post(page_of(ids, "reopen", deadline=True), reason="not_done", note="")
    assert obligation(staffed, ids).closed_at is None
    page = words(person.get(page_of(ids)).text)
    assert "Opened the deadline of 5 March 2027 again (It was not done after all)" in page


def test_h29_moving_to_a_day_that_does_not_exist(staffed: Acme, ids: dict[str, int], browser: SignIn) -> None:
    person = browser(OFFICER)
    person.get(page_of(ids, "move", deadline=True))
    for htmx in (False, True):
        answer = person.post(
            page_of(ids, "move", deadline=True), htmx, due_on="2027-02-29", reason="agreed", note="Kept"
        )
        assert answer.status_code == 422
        field = re.search(r'<input id="due_on"[^>]*>', answer.text)
        assert field
        assert 'value="2027-02-29"' in field[0]
        assert 'aria-invalid="true"' in field[0]
        assert 'value="agreed" checked' in answer.text
        assert ">Kept</textarea>" in answer.text
        assert answer.text.lstrip().startswith('<section id="act"') is htmx
    assert obligation(staffed, ids).due_on == march(5)
    assert events(staffed) == []


def test_moving_keeps_the_first_date_and_refuses_a_day_that_is_taken(
    staffed: Acme, ids: dict[str, int], browser: SignIn
) -> None:
    person = browser(OFFICER)
    person.get(page_of(ids, "add-deadline"))
    assert person.post(page_of(ids, "add-deadline"), due_on="2027-04-01").location == page_of(ids)
    again = person.post(page_of(ids, "add-deadline"), due_on="2027-04-01")
    assert again.status_code == 422
    assert "has a deadline on 1 April 2027 already" in words(again.text)
    taken = person.post(page_of(ids, "move", deadline=True), due_on="2027-04-01", reason="agreed", note="")
    assert taken.status_code == 422
    assert "has a deadline on 1 April 2027 already" in words(taken.text)
    moved = person.post(page_of(ids, "move", deadline=True), True, due_on="2027-05-31", reason="agreed", note="")
    assert (moved.status_code, moved.headers["HX-Redirect"]) == (204, page_of(ids))
    one = obligation(staffed, ids)
    assert (one.due_on, one.first_due_on) == (dt.date(2027, 5, 31), march(5))
    assert "first due on 5 March 2027" in words(person.get(page_of(ids, "move", deadline=True)).text)


def test_filing_and_its_end(staffed: Acme, ids: dict[str, int], browser: SignIn) -> None:
    person = browser(OFFICER)
    person.get(page_of(ids, "file", deadline=True))
    given = {"filed_on": "2027-02-20", "filed_reference": "ENT-30571", "ask_again_on": "2027-03-18"}
    refused = person.post(page_of(ids, "file", deadline=True), **given)
    assert refused.status_code == 422
    assert "Say whether it stays in force meanwhile." in refused.text
    assert 'value="ENT-30571"' in refused.text
    early = person.post(
        page_of(ids, "file", deadline=True), **given | {"ask_again_on": "2027-02-20"}, in_force_meanwhile="yes"
    )
    assert 'id="ask_again_on-fault"' in early.text
    unclear = given | {"in_force_meanwhile": "unclear"}
    assert person.post(page_of(ids, "file", deadline=True), **unclear).status_code == 303
    assert "Pending with the authority, in force unclear" in words(person.get(page_of(ids)).text)
    person.get(page_of(ids, "file", deadline=True))
    assert person.post(page_of(ids, "file", deadline=True), **given, in_force_meanwhile="yes").status_code == 303
    page = words(person.get(page_of(ids)).text)
    filed = "Filed with the authority on 20 February 2027, receipt ENT-30571. In force meanwhile: yes."
    assert f"In force, renewal pending {filed} Ask again on 18 March 2027. Entered on 1 March 2027." in page
    person.get(page_of(ids, "end-filing", deadline=True))
    before = person.post(page_of(ids, "end-filing", deadline=True), result="granted", ended_on="2027-02-01")
    assert "Write the number of the paper." in before.text
    answer = {"result": "granted", "ended_on": "2027-02-01", "number": "C-1340", "next": "proposed"}
    before = person.post(page_of(ids, "end-filing", deadline=True), **answer, valid_until="2029-02-28")
    assert 'id="ended_on-fault"' in before.text
    assert 'value="C-1340"' in before.text
    misplaced = person.post(page_of(ids, "end-filing", deadline=True), **answer | {"result": "refused"})
    assert "A new paper comes only where it was granted" in misplaced.text
    assert obligation(staffed, ids).filing_ended_on is None
    right = answer | {"ended_on": "2027-02-28", "valid_until": "2029-02-28"}
    assert person.post(page_of(ids, "end-filing", deadline=True), **right).status_code == 303
    one = obligation(staffed, ids)
    assert (one.filing_result, one.filing_ended_on) == ("granted", dt.date(2027, 2, 28))
    assert (one.outcome, one.met_on) == ("met", dt.date(2027, 2, 28))
    page = words(person.get(page_of(ids)).text)
    assert "Answer: granted on 28 February 2027." in page
    assert "28 February 2029, Wednesday" in page
    assert "C-1340 Current" in page


def test_what_was_filed_late_and_refused_says_so(staffed: Acme, ids: dict[str, int], browser: SignIn) -> None:
    with staffed.acting() as act:
        obligations.move(act, ids["deadline"], dt.date(2027, 2, 15), "typing_error")
    person = browser(OFFICER)
    person.get(page_of(ids, "file", deadline=True))
    given = {"filed_on": "2027-02-18", "filed_reference": "ENT-30571", "in_force_meanwhile": "yes"}
    assert person.post(page_of(ids, "file", deadline=True), **given).status_code == 303
    assert "Filed 3 days late Filed with the authority on 18 February 2027" in words(person.get(page_of(ids)).text)
    person.get(page_of(ids, "end-filing", deadline=True))
    given = {"result": "refused", "ended_on": "2027-03-01", "number": "", "next": "proposed"}
    assert person.post(page_of(ids, "end-filing", deadline=True), **given).status_code == 303
    page = words(person.get(page_of(ids)).text)
    assert "Answer: refused on 1 March 2027." in page
    assert "Expired" in page
    assert "In force, renewal pending" not in page


def test_pausing_and_ending_the_pause(staffed: Acme, ids: dict[str, int], browser: SignIn) -> None:
    person = browser(OFFICER)
    person.get(page_of(ids, "pause"))
    today = person.post(page_of(ids, "pause"), until="2027-03-01", reason="planned", note="")
    assert today.status_code == 422
    assert "at the site it is 1 March 2027" in today.text
    person.post(page_of(ids, "pause"), until="2027-03-20", reason="planned", note="")
    assert "Paused until 20 March 2027" in words(person.get(page_of(ids)).text)
    person.get(page_of(ids, "resume"))
    assert person.post(page_of(ids, "resume")).location == page_of(ids)
    assert stored(staffed, "select snoozed_until from subject where id = :id", id=ids["P-1"]) == [(None,)]
    assert events(staffed) == ["subject_snoozed", "snooze_ended"]


def test_off_the_watch_and_back_on_it(staffed: Acme, ids: dict[str, int], browser: SignIn) -> None:
    person = browser(OFFICER)
    person.get(page_of(ids, "archive"))
    assert person.post(page_of(ids, "archive"), reason="", note="why").status_code == 422
    status = "select status from subject where id = :id"
    for deed, given, after in (
        ("out-of-service", {"note": "Broken"}, "out_of_service"), ("restore", {"note": ""}, "watched"),
        ("archive", {"reason": "sold", "note": ""}, "archived"), ("restore", {"note": ""}, "watched"),
    ):  # fmt: skip
        assert person.post(page_of(ids, deed), **given).location == page_of(ids)
        assert stored(staffed, status, id=ids["P-1"]) == [(after,)]
    refused = person.post(page_of(ids, "restore", reference="D-1"), note="")
    assert refused.status_code == 422
    assert "is a draft: release it instead" in words(refused.text)


@pytest.mark.parametrize(("start", "written"), [("now", 0), ("next", 2)])
def test_releasing_a_draft(staffed: Acme, ids: dict[str, int], browser: SignIn, start: str, written: int) -> None:
    with staffed.acting() as act:
        factories.rule(act, thresholds=("30d", "10d", "0d"))
    person = browser(OFFICER)
    person.get(page_of(ids, "release", reference="D-1"))
    person.post(page_of(ids, "release", reference="D-1"), start=start)
    assert stored(staffed, "select status from subject where id = :id", id=ids["D-1"]) == [("watched",)]
    assert stored(staffed, "select count(*) from notification_ledger where reason = 'start'") == [(written,)]


def test_moving_to_another_site_and_handing_over_to_who_may_see_it(
    staffed: Acme, ids: dict[str, int], browser: SignIn
) -> None:
    with staffed.acting() as act:
        post = people.add_post(act, "plant manager")
        people.limit_member(act, staffed.members["Bruno"], [ids["Cork"]])
    person = browser(OFFICER)
    assert "Bruno" not in person.get(page_of(ids, "hand-over")).text
    blind = person.post(page_of(ids, "hand-over"), responsible=f"member:{staffed.members['Bruno']}")
    assert blind.status_code == 422
    assert "Choose somebody of the list." in blind.text
    person.post(page_of(ids, "move-site"), site=ids["Cork"])
    person.post(page_of(ids, "hand-over"), responsible=f"post:{post}")
    assert stored(
        staffed, "select site_id, owner_member_id, owner_post_id from subject where id = :id", id=ids["P-1"]
    ) == [(ids["Cork"], None, post)]
    page = words(person.get(page_of(ids)).text)
    assert "Site: Madrid → Cork" in page
    assert "plant manager (post, held by nobody today)" in page


def test_an_act_comes_as_a_page_and_as_a_fragment(ids: dict[str, int], browser: SignIn) -> None:
    person = browser(OFFICER)
    page = person.get(page_of(ids, "pause")).text
    assert page.lstrip().startswith("<!doctype html>")
    assert page.count("<h1") == 1
    fragment = person.get(page_of(ids, "pause"), **HTMX).text
    assert fragment.lstrip().startswith('<section id="act"')
    assert "<h1" not in fragment


@pytest.mark.parametrize("email", [STAFF, INSPECTOR])
@pytest.mark.parametrize("deed", ["edit", "pause", "add-deadline", "nothing"])
def test_only_managers_change_anything(
    staffed: Acme, ids: dict[str, int], browser: SignIn, email: str, deed: str
) -> None:
    person = browser(email)
    assert person.get(page_of(ids, deed)).status_code == 403
    assert person.post(page_of(ids, deed)).status_code == 403
    assert person.post(page_of(ids, "close", deadline=True)).status_code == 403
    assert set(events(staffed)) == {"access_refused"}


def test_an_inspector_reads_and_is_offered_nothing(ids: dict[str, int], browser: SignIn) -> None:
    page = browser(INSPECTOR).get(page_of(ids)).text
    assert "Discharge permit" in page
    assert "Move the date" not in page
    assert "Hand over" not in page


def test_h38_foreign_unknown_and_unseen_look_the_same(staffed: Acme, ids: dict[str, int], browser: SignIn) -> None:
    other = factories.acme("other", "Lyon", "Europe/Paris")
    with other.acting() as act:
        foreign = factories.subject(act, "Z-1", march(3), at="Lyon").id
    with staffed.acting() as act:
        people.limit_member(act, staffed.members["Ana"], [ids["Cork"]])
    person = browser(OFFICER)
    missing = without_token(person.get("/o/acme/register/999999999").text)
    assert person.get(f"/o/acme/register/{10**25}").status_code == 404
    for address in (
        f"/o/acme/register/{foreign}", page_of(ids), page_of(ids, "edit"), page_of(ids, "close", deadline=True),
        f"/o/other/register/{foreign}",
    ):  # fmt: skip
        answer = person.get(address)
        assert answer.status_code == 404
        assert without_token(answer.text) == missing
        if address.count("/") > 4:
            assert person.post(address).status_code == 404
    assert "access_refused" not in events(staffed)


def without_token(page: str) -> str:
    """The page less the token against forged requests, which is new each second."""
    return re.sub(r'X-CSRFToken": "[^"]+', "", page)


def test_a_deadline_of_another_entry_is_not_found(ids: dict[str, int], browser: SignIn) -> None:
    address = f"/o/acme/register/{ids['D-1']}/deadlines/{ids['deadline']}/close"
    assert browser(OFFICER).get(address).status_code == 404
    assert browser(OFFICER).get(page_of(ids, "nothing")).status_code == 404
    assert browser(OFFICER).get(page_of(ids, "pause", deadline=True)).status_code == 404


def test_older_history_follows_page_by_page(staffed: Acme, ids: dict[str, int], browser: SignIn) -> None:
    with staffed.acting() as act:
        for number in range(120):
            register.retitle(act, register.get_subject(act, ids["P-1"]), f"Title {number}")
    person, address, seen = browser(OFFICER), page_of(ids), list[str]()
    for _ in range(3):
        page = person.get(address, **(HTMX if "?" in address else {})).text
        seen += re.findall(r"→ (Title \d+)<", page)
        more = re.search(r'href="([^"]+history=\d+)"', page)
        address = unescape(more[1]) if more else ""
    assert address == ""
    assert seen == [f"Title {number}" for number in reversed(range(120))]
    assert person.get(page_of(ids) + "?history=x").status_code == 404
