"""The inbox: one line a deadline, answers that are noted once, and nothing that a person typed is lost."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from flask import Flask
from itsdangerous import TimestampSigner
from sqlalchemy import text

from app import clock
from app.channels.composing import compose
from app.channels.message import Composed
from app.config import Settings
from app.domain.delivery import State
from app.ledger.align import deliver
from app.ledger.scan import scan
from app.operations import filings, obligations, register, rules
from app.operations.rule_contents import RuleText
from app.queries.letters import Envelope, read_letter
from tests import factories
from tests.factories import Acme
from tests.people import INSPECTOR, OFFICER, STAFF
from tests.web.conftest import PASSWORD, Browser, do

SignIn = Callable[[str], Browser]
NOTE = "x" * 480 + " the supplier comes"


@pytest.fixture
def claim(staffed: Acme) -> int:
    """Bruno is responsible for P-1, due on 20 March, and was told by the 30-day alert; the claim."""

    def furnish(act: object) -> None:
        subject = factories.subject(act, "P-1", dt.date(2027, 3, 20), title="<b>Boiler</b> permit")  # type: ignore[arg-type]
        register.assign(act, subject, member_id=staffed.members["Bruno"])  # type: ignore[arg-type]
        rules.apply(act, [RuleText("Permits", thresholds=("90d", "30d", "7d"), channels=("in_app",), to=("owner",))])  # type: ignore[arg-type]

    do(staffed, furnish)
    tick(staffed)
    with staffed.acting() as act:
        return int(act.session.scalar(text("select id from notification_ledger where standing = 'open'")) or 0)


def tick(acme: Acme, now: dt.datetime | None = None) -> None:
    for deed in (scan, deliver):
        with acme.watching(now) as act:
            deed(act)


def count(acme: Acme, sql: str) -> int:
    with acme.acting() as act:
        return int(act.session.scalar(text(sql)) or 0)


def test_the_inbox_shows_the_alert_and_the_count_of_unread(browser: SignIn, claim: int) -> None:
    page = browser(STAFF).get("/o/acme/inbox")
    assert "&lt;b&gt;Boiler&lt;/b&gt; permit" in page.text
    assert "19 days left" in page.text
    assert "Saturday, 20 March 2027" in page.text
    assert '1<span class="aside"> unread</span>' in page.text


def test_while_it_is_filed_the_inbox_asks_for_the_answer_of_the_authority(
    staffed: Acme, browser: SignIn, claim: int
) -> None:
    def file(act: object) -> None:
        one = obligations.find_obligation(act, register.find_subject(act, "P-1"))  # type: ignore[arg-type]
        filings.file(act, one.id, dt.date(2027, 2, 20), "ENT-1", "yes", dt.date(2027, 3, 1))  # type: ignore[arg-type]

    do(staffed, file)
    tick(staffed)
    bruno = browser(STAFF)
    page = bruno.get("/o/acme/inbox").text
    assert page.count('class="alert"') == 1
    assert '<strong class="soon">Ask the authority again</strong>, filed on 20 February 2027, receipt ENT-1' in page
    assert "19 days left" not in page
    assert "alert to ask the authority again" in page
    assert "It is done" not in page, "having asked is not having done what was filed"
    asked = re.findall(r"/o/acme/inbox/(\d+)/answer", page)[0]
    refused = bruno.post(f"/o/acme/inbox/{asked}/answer", answer="done", done_on="2027-03-01")
    assert refused.status_code == 422
    assert "Nothing is done by asking the authority again" in refused.text
    shown = browser(OFFICER).get("/o/acme/evidence/alerts").text
    assert "to ask the authority again" in shown


def test_opening_it_is_recorded_once_and_by_no_get(staffed: Acme, browser: SignIn, claim: int) -> None:
    bruno = browser(STAFF)
    assert bruno.get(f"/o/acme/inbox/{claim}").status_code == 200
    assert count(staffed, "select count(*) from delivery where seen_at is not null") == 0
    for _ in range(2):
        assert bruno.post(f"/o/acme/inbox/{claim}/opened", htmx=True).status_code == 200
    assert count(staffed, "select count(*) from delivery where seen_at is not null") == 1
    assert count(staffed, "select count(*) from audit_event where type = 'opened'") == 1


@pytest.mark.parametrize("htmx", [True, False])
def test_an_answer_is_noted_and_can_be_taken_back(staffed: Acme, browser: SignIn, claim: int, htmx: bool) -> None:
    bruno = browser(STAFF)
    bruno.get("/o/acme/inbox")
    answered = bruno.post(
        f"/o/acme/inbox/{claim}/answer", htmx=htmx, answer="on_it", until_on="2027-03-10", note="Thursday"
    )
    assert answered.status_code == (200 if htmx else 303)
    assert "You:</strong> On it until 10 March 2027" in bruno.get("/o/acme/inbox").text
    bruno.post(f"/o/acme/inbox/{claim}/take-back", htmx=htmx)
    assert "You:</strong>" not in bruno.get("/o/acme/inbox").text
    assert count(staffed, "select count(*) from acknowledgement where taken_back_at is not null") == 1
    assert count(staffed, "select count(*) from notification_ledger where acknowledged_at is not null") == 0


def test_h28_a_double_click_is_one_answer(staffed: Acme, browser: SignIn, claim: int) -> None:
    bruno = browser(STAFF)
    bruno.get("/o/acme/inbox")
    first, second = (bruno.post(f"/o/acme/inbox/{claim}/answer", htmx=True, answer="seen") for _ in range(2))
    assert (first.status_code, second.status_code) == (200, 200)
    assert "You:</strong> Got it" in second.text
    assert count(staffed, "select count(*) from acknowledgement") == 1
    assert count(staffed, "select count(*) from audit_event where type = 'acknowledged'") == 1


def test_h28_two_people_are_two_answers_and_the_second_sees_the_first(
    staffed: Acme, browser: SignIn, claim: int
) -> None:
    everyone = RuleText("Permits", thresholds=("90d", "30d", "7d"), channels=("in_app",), to=("owner", "role:officer"))
    do(staffed, lambda act: rules.apply(act, [everyone]))
    tick(staffed, factories.NOW + dt.timedelta(days=12))  # The 7-day alert goes to both.
    last = count(staffed, "select max(id) from notification_ledger where threshold = '7d'")
    bruno, ana = browser(STAFF), browser(OFFICER)
    for person, answer in ((bruno, "seen"), (ana, "help")):
        person.get("/o/acme/inbox")
        assert person.post(f"/o/acme/inbox/{last}/answer", htmx=True, answer=answer).status_code == 200
    assert count(staffed, "select count(*) from acknowledgement") == 2
    assert (
        count(staffed, "select acknowledged_by from notification_ledger where threshold = '7d'")
        == staffed.members["Bruno"]
    )
    assert "<strong>Bruno:</strong> Got it" in ana.get("/o/acme/inbox").text


@pytest.mark.parametrize(
    ("until", "words"), [("", "Choose the day"), ("2027-02-29", "is not a date"), ("2027-02-01", "is over already")]
)
def test_h29_a_bad_day_is_422_beside_the_field_and_keeps_the_note(
    browser: SignIn, claim: int, until: str, words: str
) -> None:
    bruno = browser(STAFF)
    bruno.get("/o/acme/inbox")
    for htmx in (True, False):
        refused = bruno.post(f"/o/acme/inbox/{claim}/answer", htmx=htmx, answer="on_it", until_on=until, note=NOTE)
        assert refused.status_code == 422
        assert words in refused.text
        assert NOTE in refused.text
        assert 'aria-invalid="true"' in refused.text
        assert ("<!doctype html>" in refused.text) is not htmx


def test_h14_what_is_done_is_gone_from_the_inbox(staffed: Acme, browser: SignIn, claim: int) -> None:
    def close(act: object) -> None:
        subject = register.find_subject(act, "P-1")  # type: ignore[arg-type]
        obligations.close(act, obligations.find_obligation(act, subject).id, "met")  # type: ignore[arg-type]

    do(staffed, close)
    bruno = browser(STAFF)
    assert "Nothing waits for you" in bruno.get("/o/acme/inbox").text
    assert bruno.get(f"/o/acme/inbox/{claim}").status_code == 404


def test_older_alerts_of_a_deadline_are_folded_into_the_sharpest(staffed: Acme, browser: SignIn, claim: int) -> None:
    tick(staffed, factories.NOW + dt.timedelta(days=12))
    page = browser(STAFF).get("/o/acme/inbox").text
    assert page.count("<h2>") == 1
    assert "alert 7 days before, after 30 days before" in page


def test_the_count_is_of_lines_and_reaches_zero(staffed: Acme, browser: SignIn, claim: int) -> None:
    tick(staffed, factories.NOW + dt.timedelta(days=12))
    last = count(staffed, "select max(id) from notification_ledger where threshold = '7d'")
    bruno = browser(STAFF)
    assert '1<span class="aside"> unread</span>' in bruno.get("/o/acme/inbox").text  # Two alerts, one line.
    bruno.post(f"/o/acme/inbox/{last}/opened", htmx=True)
    assert '0<span class="aside"> unread</span>' in bruno.get("/o/acme/inbox").text
    assert count(staffed, "select count(*) from delivery where seen_at is null") == 0


def test_whom_it_does_not_concern(browser: SignIn, claim: int) -> None:
    assert browser(OFFICER).get(f"/o/acme/inbox/{claim}").status_code == 404  # Ana was not told.
    inspector = browser(INSPECTOR)
    inspector.get("/o/acme/evidence")
    assert inspector.post(f"/o/acme/inbox/{claim}/answer", answer="seen").status_code == 403
    bruno = browser(STAFF)
    bruno.get("/o/acme/inbox")
    assert bruno.post("/o/acme/inbox/999999/answer", answer="seen").status_code == 404


def signed_at(signer: TimestampSigner) -> int:
    """The token of a form is 3,601 seconds old; the session is not."""
    age = 3601 if signer.salt == b"wtf-csrf-token" else 0
    return int(clock.host_now().timestamp()) - age


def test_h28_a_page_that_was_open_for_more_than_an_hour_still_saves_what_was_typed(
    staffed: Acme, browser: SignIn, claim: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bruno = browser(STAFF)
    with monkeypatch.context() as an_hour_ago:
        an_hour_ago.setattr(TimestampSigner, "get_timestamp", signed_at)
        assert bruno.get("/o/acme/inbox").status_code == 200
    answered = bruno.post(f"/o/acme/inbox/{claim}/answer", htmx=True, answer="help", note=NOTE)
    assert answered.status_code == 200
    assert count(staffed, f"select count(*) from acknowledgement where note = '{NOTE}'") == 1


@dataclass
class Mailed:
    """An alert that Bruno was told by e-mail alone, and the delivery."""

    claim: int
    delivery: int


@pytest.fixture
def mailed(staffed: Acme) -> Mailed:
    with staffed.acting() as act:
        factories.subject(
            act, "P-1", dt.date(2027, 3, 20), title="Boiler permit", owner_member_id=staffed.members["Bruno"]
        )
        factories.rule(act, thresholds=("30d",), to=("owner",), channels=("email",))
    tick(staffed)
    return Mailed(*(count(staffed, f"select {what} from delivery") for what in ("claim_id", "id")))


def put(acme: Acme, state: State) -> None:
    with acme.watching() as act:
        act.run(
            "update delivery set state = :state, lease_token = gen_random_uuid(), handed_over_at = :now "
            "where org_id = :org and channel = 'email'",
            {"state": state},
        )


@pytest.mark.parametrize("state", [State.handing_over, State.delivered, State.in_doubt])
def test_whoever_was_told_by_e_mail_alone_answers_from_the_link(
    staffed: Acme, browser: SignIn, mailed: Mailed, state: State
) -> None:
    put(staffed, state)
    bruno = browser(STAFF)
    page = bruno.get("/o/acme/inbox").text
    assert page.count("<h2>") == 1
    assert "Boiler permit" in page
    assert '0<span class="aside"> unread</span>' in page  # The app told nothing, so that nothing is new in it.
    assert bruno.get(f"/o/acme/inbox/{mailed.claim}").status_code == 200
    answered = bruno.post(f"/o/acme/inbox/{mailed.claim}/answer", htmx=True, answer="done")
    assert answered.status_code == 200
    assert count(staffed, "select count(*) from acknowledgement") == 1


@pytest.mark.parametrize("state", [State.pending, State.failed, State.cancelled, State.held])
def test_what_has_not_left_by_e_mail_is_in_no_inbox(
    staffed: Acme, browser: SignIn, mailed: Mailed, state: State
) -> None:
    put(staffed, state)
    bruno = browser(STAFF)
    assert "Nothing waits for you" in bruno.get("/o/acme/inbox").text
    assert bruno.get(f"/o/acme/inbox/{mailed.claim}").status_code == 404


def test_told_in_the_app_and_by_e_mail_is_one_line_and_new_until_it_is_opened(staffed: Acme, browser: SignIn) -> None:
    with staffed.acting() as act:
        factories.subject(act, "P-1", dt.date(2027, 3, 20), owner_member_id=staffed.members["Bruno"])
        factories.rule(act, thresholds=("30d",), to=("owner",), channels=("in_app", "email"))
    tick(staffed)
    put(staffed, State.delivered)
    bruno = browser(STAFF)
    page = bruno.get("/o/acme/inbox").text
    assert page.count("<h2>") == 1
    assert '1<span class="aside"> unread</span>' in page
    bruno.post(f"/o/acme/inbox/{count(staffed, 'select claim_id from delivery limit 1')}/opened", htmx=True)
    assert '0<span class="aside"> unread</span>' in bruno.get("/o/acme/inbox").text


def test_h40c_whatever_opens_the_link_of_a_message_answers_nothing(
    app: Flask, staffed: Acme, browser: SignIn, mailed: Mailed
) -> None:
    """A mail filter that opens links is not signed in; a person's preview is. Neither answers: a button does."""
    put(staffed, State.delivered)
    where = f"/o/acme/inbox/{mailed.claim}"
    bruno, before = browser(STAFF), count(staffed, "select count(*) from audit_event")
    for person in (Browser(app.test_client()), bruno):
        for _ in range(3):
            assert person.get(where + "?answer=done").status_code in (200, 302)
        assert person.client.head(where).status_code in (200, 302)
    assert count(staffed, "select count(*) from acknowledgement") == 0
    assert count(staffed, "select count(*) from delivery where seen_at is not null") == 0
    assert count(staffed, "select count(*) from audit_event") == before
    assert bruno.post(f"{where}/answer", htmx=True, answer="done").status_code == 200
    assert count(staffed, "select count(*) from acknowledgement") == 1


def test_the_link_of_a_message_leads_through_the_sign_in_to_the_alert(
    app: Flask, staffed: Acme, browser: SignIn, mailed: Mailed
) -> None:
    put(staffed, State.delivered)
    stranger, where = Browser(app.test_client()), f"/o/acme/inbox/{mailed.claim}"
    sent_on = stranger.get(where)
    assert (sent_on.status_code, sent_on.location) == (302, f"/login?next={where}")
    form = stranger.get(sent_on.location).text
    assert f'name="next" value="{where}"' in form
    arrived = stranger.post("/login", email=STAFF, password=PASSWORD, next=where)
    assert (arrived.status_code, arrived.location) == (303, where)
    assert "<h1>Boiler permit</h1>" in stranger.get(where).text


def test_every_button_of_a_message_opens_the_page_of_its_alert(staffed: Acme, browser: SignIn, mailed: Mailed) -> None:
    with staffed.watching() as act:
        envelope = Envelope(
            staffed.members["Bruno"], STAFF, [mailed.delivery], "<1@acme.example>", "r@acme.example", False
        )
        letter = read_letter(act.session, act.org, envelope, act.now)
    composed = compose(letter, Settings(home=Path("/nowhere"), base_url="https://onus.example"))
    assert isinstance(composed, Composed)
    links = set(re.findall(r'href="([^"]+)"|(https://onus\.example\S+)', composed.html + composed.text))
    assert {one or other for one, other in links} == {f"https://onus.example/o/acme/inbox/{mailed.claim}"}
    assert composed.html.count(f'href="https://onus.example/o/acme/inbox/{mailed.claim}"') == 4
