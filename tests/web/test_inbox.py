"""The inbox: one line a deadline, answers that are noted once, and nothing that a person typed is lost."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest
from itsdangerous import TimestampSigner
from sqlalchemy import text

from app import clock
from app.ledger.align import deliver
from app.ledger.scan import scan
from app.operations import obligations, register, rules
from app.operations.rule_contents import RuleText
from tests import factories
from tests.factories import Acme
from tests.people import INSPECTOR, OFFICER, STAFF
from tests.web.conftest import Browser, do

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
    assert "You: On it until 10 March 2027" in bruno.get("/o/acme/inbox").text
    bruno.post(f"/o/acme/inbox/{claim}/take-back", htmx=htmx)
    assert "You:" not in bruno.get("/o/acme/inbox").text
    assert count(staffed, "select count(*) from acknowledgement where taken_back_at is not null") == 1
    assert count(staffed, "select count(*) from notification_ledger where acknowledged_at is not null") == 0


def test_h28_a_double_click_is_one_answer(staffed: Acme, browser: SignIn, claim: int) -> None:
    bruno = browser(STAFF)
    bruno.get("/o/acme/inbox")
    first, second = (bruno.post(f"/o/acme/inbox/{claim}/answer", htmx=True, answer="seen") for _ in range(2))
    assert (first.status_code, second.status_code) == (200, 200)
    assert "You: Got it" in second.text
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
