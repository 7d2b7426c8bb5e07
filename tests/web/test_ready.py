"""Is this site ready, and the test mail, as pages: who sees what, without script and with it, and what is refused."""

from __future__ import annotations

import datetime as dt
import re
import uuid
from collections.abc import Callable
from dataclasses import replace

import pytest
from flask import Flask
from sqlalchemy import update

from app.config import settings
from app.domain.trials import TrialEnd
from app.ledger import holds
from app.ledger.trials import DueTrial, hand_over_trial, settle_trial
from app.models import AuditEvent, MailTransport, MailTrial, Member, SchedulerProcess
from app.operations import people
from app.operations.trials import ask_for_trial
from app.queries.readiness_checks import About, Verdict
from app.vocabulary import OF
from tests import factories
from tests.factories import NOW, Acme
from tests.people import INSPECTOR, OFFICER, STAFF
from tests.web.conftest import ADMIN, HTMX, Browser
from tests.web.furnished import NO_SUCH, Furnished
from tests.web.markup import read
from tests.web.test_pages import faults_of

SignIn = Callable[[str], Browser]
MAIL = "/o/acme/settings/test-mail"
READY = "/o/acme/settings/sites/ready"


@pytest.fixture
def mailing(app: Flask, browser: SignIn) -> None:
    """A mail server is set up; nothing of the pages may speak to it."""
    app.extensions["onus_settings"] = replace(app.extensions["onus_settings"], smtp_url="smtp://127.0.0.1:1?tls=none")


def site_of(acme: Acme, name: str = "Madrid") -> int:
    with acme.acting() as act:
        return factories.site(act, name)


def where(acme: Acme, name: str = "Madrid") -> str:
    return f"/o/acme/settings/sites/{site_of(acme, name)}/ready"


def rows(page: str) -> dict[str, str]:
    """The checks of a page: their state by their name."""
    table = read(page).all("tbody")[0]
    return {row.all("th")[0].text: row.all("td")[0].text for row in table.all("tr")}


def settled(acme: Acme, end: TrialEnd, reply: str = "250 queued") -> None:
    with acme.acting() as act:
        trial = ask_for_trial(act, acme.members["Ana"], settings())
    with acme.watching() as act:
        due = DueTrial(trial, "Acme", "acme", "Ana", OFFICER, "en", None, act.now)
        assert hand_over_trial(act, due)
        assert settle_trial(act, trial, end, reply, handed_over=True)


def test_every_check_has_a_word_and_a_shape(browser: SignIn, staffed: Acme) -> None:
    page = browser(OFFICER).get(where(staffed)).text
    assert "Madrid is not ready" in page
    found = rows(page)
    assert len(found) == 10
    assert found["Rules"] == "▲ Open"
    assert found["Drafts"] == "✓ Fine"
    assert list(found.values()).index("✓ Fine") >= list(found.values()).count("▲ Open")  # What is open stands first.


def test_what_was_never_tested_is_not_fine(browser: SignIn, staffed: Acme, mailing: None) -> None:
    assert rows(browser(OFFICER).get(where(staffed)).text)["Test mail"] == "○ Not tested yet"


def test_each_open_check_leads_to_where_it_is_mended(browser: SignIn, staffed: Acme) -> None:
    with staffed.acting() as act:
        factories.subject(act, "D-1", NOW.date(), status="draft")
        factories.subject(act, "P-1", NOW.date())
        factories.rule(act, to=("post:night watch",), channels=("email",))
        people.add_post(act, "night watch")
    ana, madrid = browser(OFFICER), site_of(staffed)
    page = ana.get(where(staffed)).text.replace("&amp;", "&")
    for address in (
        f"/o/acme/today/unwatched?why=draft&site={madrid}", f"/o/acme/register?site={madrid}&responsible=nobody",
        f"/o/acme/register?site={madrid}&state=watched",
        "/o/acme/settings/posts", "/o/acme/rules", MAIL, "/o/acme/",
    ):  # fmt: skip
        assert f'href="{address}"' in page, address
        assert ana.get(address).status_code == 200, address
    assert "night watch: nobody holds it today" in page


def test_all_sites_have_a_row_each(browser: SignIn, staffed: Acme) -> None:
    with staffed.acting() as act:
        people.add_site(act, "Cork", "Europe/Dublin")
        people.archive_site(act, people.add_site(act, "Old", "Europe/Dublin"))
    page = browser(OFFICER).get(READY).text
    assert list(rows(page)) == ["Cork", "Madrid"]
    assert all("open" in state for state in rows(page).values())


def test_whoever_is_limited_to_sites_sees_these_alone(browser: SignIn, staffed: Acme) -> None:
    with staffed.acting() as act:
        cork = people.add_site(act, "Cork", "Europe/Dublin")
        people.limit_member(act, staffed.members["Ana"], [cork])
    ana = browser(OFFICER)
    assert list(rows(ana.get(READY).text)) == ["Cork"]
    assert ana.get(where(staffed, "Cork")).status_code == 200
    assert ana.get(where(staffed)).status_code == 404
    assert f"/sites/{site_of(staffed)}/ready" not in ana.get("/o/acme/settings/sites").text


def test_archived_unknown_and_foreign_sites_are_not_found(browser: SignIn, staffed: Acme) -> None:
    with staffed.acting() as act:
        old = people.add_site(act, "Old", "Europe/Dublin")
        people.archive_site(act, old)
    other = factories.acme("other", "Elsewhere")
    ana = browser(OFFICER)
    for site_id in (old, NO_SUCH, site_of(other, "Elsewhere")):
        assert ana.get(f"/o/acme/settings/sites/{site_id}/ready").status_code == 404


@pytest.mark.parametrize("email", [STAFF, INSPECTOR])
def test_staff_and_inspectors_see_none_of_it(browser: SignIn, staffed: Acme, email: str) -> None:
    person = browser(email)
    for address in (READY, where(staffed), MAIL):
        assert person.get(address).status_code == 403
    assert person.post(MAIL).status_code == 403


def test_it_is_linked_from_the_sites_and_from_today(browser: SignIn, staffed: Acme) -> None:
    ana = browser(OFFICER)
    for address in ("/o/acme/settings/sites", "/o/acme/"):
        assert f'href="{where(staffed)}"' in ana.get(address).text, address
    assert f'href="{READY}"' in ana.get("/o/acme/settings/sites").text


def test_it_is_linked_from_the_result_of_an_import(browser: SignIn, own: Furnished) -> None:
    page = browser(OFFICER).get(f"/o/acme/register/imports/{own.ids['import_run_id']}").text
    assert f'href="{READY}"' in page


def test_the_button_asks_and_nothing_is_sent_by_the_page(browser: SignIn, staffed: Acme, mailing: None) -> None:
    ana = browser(OFFICER)
    assert f"to {OFFICER}" in ana.get(MAIL).text
    answer = ana.post(MAIL)
    assert (answer.status_code, answer.headers["Location"]) == (303, MAIL)
    page = ana.get(MAIL).text
    assert "It waits to be sent." in page
    assert "Look again" in page
    assert faults_of(page) == []
    with staffed.acting() as act:
        (trial,) = act.session.query(MailTrial).filter_by(org_id=act.org).all()
        assert (trial.member_id, trial.handed_over_at) == (staffed.members["Ana"], None)
        (asked,) = act.session.query(AuditEvent).filter_by(org_id=act.org, type="mail_trial_asked").all()
        assert asked.actor == f"member:{staffed.members['Ana']}"


def test_with_htmx_the_part_looks_again_until_it_is_settled(
    browser: SignIn, staffed: Acme, mailing: None, app: Flask
) -> None:
    ana = browser(OFFICER)
    ana.get(MAIL)
    part = ana.post(MAIL, htmx=True)
    assert part.status_code == 200
    assert part.text.lstrip().startswith('<div id="test-mail"')
    assert 'hx-trigger="every 2s"' in part.text
    assert "HX-Trigger" not in part.headers
    with staffed.watching() as act:
        act.session.execute(update(MailTrial).values(settled_at=NOW, outcome="taken", reply="250 2.0.0 queued"))
    part = ana.get(MAIL, **HTMX)
    assert "every 2s" not in part.text
    assert part.headers["HX-Trigger"] == "test-mail-settled"  # At which the checks of the page look again.
    assert "“250 2.0.0 queued”" in part.text
    assert rows(ana.get(where(staffed)).text)["Test mail"] == "✓ Fine"
    assert "test-mail-settled from:body" in ana.get(where(staffed)).text


def test_twice_within_a_minute_is_refused_with_words(browser: SignIn, staffed: Acme, mailing: None) -> None:
    ana = browser(OFFICER)
    ana.get(MAIL)
    assert ana.post(MAIL).status_code == 303
    for htmx in (False, True):
        ana.get(MAIL)
        refused = ana.post(MAIL, htmx=htmx)
        assert refused.status_code == 422
        assert "less than a minute ago" in refused.text
    with staffed.acting() as act:
        assert act.session.query(MailTrial).filter_by(org_id=act.org).count() == 1
    adela = browser(ADMIN)
    adela.get(MAIL)
    assert adela.post(MAIL).status_code == 303


def test_without_a_mail_server_there_is_no_button(browser: SignIn, staffed: Acme) -> None:
    ana = browser(OFFICER)
    page = ana.get(MAIL).text
    assert "ONUS_SMTP_URL" in page
    assert "Send me a test mail" not in page
    refused = ana.post(MAIL)
    assert refused.status_code == 422
    assert "No mail server is set up" in refused.text


def test_without_an_address_there_is_no_button_either(browser: SignIn, staffed: Acme, mailing: None) -> None:
    ana = browser(OFFICER)
    with staffed.acting() as act:
        act.session.execute(update(Member).where(Member.id == staffed.members["Ana"]).values(email=None))
    page = ana.get(MAIL).text
    assert "You have no e-mail address here" in page
    assert "Send me a test mail" not in page
    assert ana.post(MAIL).status_code == 422


def test_what_keeps_it_waiting_is_said(browser: SignIn, staffed: Acme, mailing: None) -> None:
    ana = browser(OFFICER)
    ana.get(MAIL)
    ana.post(MAIL)
    with staffed.watching() as act:
        down = {"opened_at": NOW, "retry_at": NOW + dt.timedelta(minutes=5), "faults": 1, "reason": "refused"}
        act.session.add(MailTransport(id=1, **down))
    assert "The mail server cannot be used: refused. It is tried again by itself" in ana.get(MAIL).text
    with staffed.watching() as act:
        holds.hold(act, "the database was restored")
    assert "what was asked for before they are let go is not sent" in ana.get(MAIL).text


def test_a_hand_over_without_an_answer_is_said_to_be_in_doubt(browser: SignIn, staffed: Acme, mailing: None) -> None:
    ana = browser(OFFICER)
    ana.get(MAIL)
    ana.post(MAIL)
    with staffed.watching() as act:
        act.session.execute(update(MailTrial).values(handed_over_at=NOW, sent_to=OFFICER))
    page = ana.get(MAIL).text
    assert "It may have been sent, not confirmed so far." in page
    assert "every 2s" in page


ENDS = {
    TrialEnd.taken: "The mail server took it.", TrialEnd.filed: "reached nobody", TrialEnd.put_off: "for now",
    TrialEnd.refused: "was not sent", TrialEnd.broken: "broke before", TrialEnd.no_answer: "not confirmed",
    TrialEnd.too_late: "Not sent: no mail was sent within an hour.",
}  # fmt: skip


def test_every_code_has_its_words() -> None:
    for of, codes in (("trial_end", TrialEnd), ("verdict", Verdict), ("ready", About), ("ready_mend", About)):
        assert set(OF[of]) == set(codes), of


@pytest.mark.parametrize("end", TrialEnd)
def test_each_end_has_its_sentence(browser: SignIn, staffed: Acme, mailing: None, end: TrialEnd) -> None:
    settled(staffed, end)
    page = browser(OFFICER).get(MAIL).text
    assert ENDS[end] in page
    assert faults_of(page) == []
    assert "Send me a test mail" in page


def test_what_a_mail_server_says_is_only_text(browser: SignIn, staffed: Acme, mailing: None) -> None:
    settled(staffed, TrialEnd.refused, "550 <script>alert(1)</script>")
    assert "<script>alert" not in browser(OFFICER).get(MAIL).text


def test_no_other_organisation_sees_a_test_mail(browser: SignIn, staffed: Acme, mailing: None) -> None:
    settled(staffed, TrialEnd.taken)
    other = factories.acme("other", "Elsewhere")
    with other.acting() as act:
        people.add_member(act, OFFICER, "officer", name="Ana")
    ana = browser(OFFICER)
    assert "No test mail was sent yet." in ana.get("/o/other/settings/test-mail").text
    assert "No test mail was sent yet." not in ana.get(MAIL).text


def test_it_is_read_and_nothing_is_written(browser: SignIn, staffed: Acme) -> None:
    with staffed.watching() as act:
        beat = {"heartbeat_at": NOW, "scanned_at": NOW, "delivered_at": NOW}
        act.session.add(SchedulerProcess(id=uuid.uuid4(), host="h", pid=1, version="1", started_at=NOW, **beat))
    ana = browser(OFFICER)

    def count() -> int:
        with staffed.acting() as act:
            return int(act.session.query(AuditEvent).filter_by(org_id=act.org).count())

    before = count()
    for address in (READY, where(staffed), MAIL):
        assert re.search(r"<h1>.+</h1>", ana.get(address).text)
    assert count() == before
