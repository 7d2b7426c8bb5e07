"""Messages that need a person: in doubt, refused, come back, held; what was sent, and what a person decided (H16)."""

from __future__ import annotations

import datetime as dt
import itertools
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest
from flask import Flask
from sqlalchemy import text

from app import clock
from app.database import SCHEDULER, transaction
from app.domain.delivery import Outcome, Reply, State
from app.ledger import hand_over, holds, lease
from app.ledger.align import deliver
from app.ledger.queue import changed
from app.ledger.scan import scan
from app.ledger.sweep import leave
from app.models import DatabaseIdentity, MailTransport
from app.operations import doubts, people
from app.queries.queues import Queue, count_queue
from app.queries.sight import read_sight
from app.queries.watch import undelivered
from tests import factories
from tests.factories import NOW, Acme
from tests.people import ADMIN, HASH, INSPECTOR, OFFICER, STAFF
from tests.web.conftest import HTMX, Browser
from tests.web.markup import read

SignIn = Callable[[str], Browser]
TODAY = NOW.date()
HOUR = dt.timedelta(hours=1)
NOON = "1 March 2027, 12:00:00 +01:00"
HOLDER = uuid.UUID(int=7)
BAD = "<img src=x onerror=alert(1)>"


@dataclass
class Post:
    """What a sender did with the mail of acme: the id of the first delivery of each message, by entry."""

    acme: Acme
    ids: dict[str, int] = field(default_factory=dict)
    claims: dict[str, int] = field(default_factory=dict)

    def where(self, reference: str) -> str:
        return f"/o/acme/evidence/messages/{self.ids[reference]}"

    def alert(self, reference: str) -> str:
        return f"/o/acme/evidence/alerts/{self.claims[reference]}"

    def count(self, sql: str) -> int:
        with self.acme.acting() as act:
            return int(act.session.scalar(text(sql)) or 0)

    def take(self) -> lease.Lease:
        """Lease and hand over what is due to Bruno, as far as the final dot."""
        with self.acme.watching() as act:
            leased = lease.lease_for(act, self.acme.members["Bruno"], HOLDER, HOUR, "acme.example")
            assert leased is not None
            taken = leased.lease
            assert taken is not None
            words = {"subject": f"Alert {BAD}", "body": f"First line\n  {BAD}", "sha256": "a" * 64}
            hand_over.hand_over(act, taken, answer_within=HOUR, **words)
            found = act.run(
                "select x.id, l.reference from delivery x join notification_ledger l on l.id = x.claim_id "
                "where x.org_id = :org and x.id = any (:ids)",
                {"ids": list(taken.delivery_ids)},
            )
            self.ids |= {row.reference: row.id for row in found}
        return taken

    def send(self, outcome: Outcome, verb: str = "dot", said: str = "") -> None:
        self.settle(self.take(), outcome, verb, said)

    def settle(self, taken: lease.Lease, outcome: Outcome, verb: str = "dot", said: str = "") -> None:
        with self.acme.watching() as act:
            hand_over.settle(act, taken, Reply(outcome, verb, said))


def watch(acme: Acme, at: dt.datetime = NOW) -> None:
    for deed in (scan, deliver):
        with acme.watching(at) as act:
            deed(act)


def add(post: Post, *references: str, channels: Sequence[str] = ("in_app", "email")) -> None:
    """Entries of Bruno's that are due in twenty days, and told by the 30-day alert."""
    acme, due_on = post.acme, TODAY + dt.timedelta(days=20)
    with acme.acting(NOW - HOUR) as act:
        subjects = [factories.subject(act, one, due_on, owner_member_id=acme.members["Bruno"]).id for one in references]
        factories.rule(act, f"Rule {references[0]}", ("30d",), ("owner",), channels, subjects=subjects)
        changed(act)
    watch(acme)
    with acme.acting() as act:
        for row in act.run("select id, reference from notification_ledger where org_id = :org and standing = 'open'"):
            post.claims[row.reference] = row.id


@pytest.fixture
def post(staffed: Acme) -> Post:
    return Post(staffed)


@pytest.fixture
def doubtful(post: Post) -> Post:
    """D-1 and D-2 went to Bruno in one message, and the line broke before the answer."""
    add(post, "D-1", "D-2")
    post.send(Outcome.in_doubt, said=f"no answer {BAD}")
    return post


def words(markup: str) -> str:
    return read(markup).text


def fact(markup: str, name: str) -> str:
    """What stands beside this word in a list of facts."""
    facts = read(markup).all("dt", "dd")
    return next(after.text for one, after in itertools.pairwise(facts) if one.tag == "dt" and one.text == name)


def test_an_alert_says_where_it_went_what_was_sent_and_what_was_answered(browser: SignIn, post: Post) -> None:
    add(post, "A-1")
    post.send(Outcome.delivered, said=f"250 queued {BAD}")
    bruno = browser(STAFF)
    bruno.get("/o/acme/inbox")
    bruno.post(f"/o/acme/inbox/{post.claims['A-1']}/opened")
    page = browser(INSPECTOR).get(post.alert("A-1")).text
    said = words(page)
    for told in (
        "responsible for it", "Address used bruno@acme.example", "SHA-256 of the whole message: aaaa",
        f"The mail server of acme.example took it on {NOON}; Onus cannot know whether it was read",
        f"; in the app it was opened on {NOON}.",
        f"the mail server took it, after the whole message; the answer: “250 queued {BAD}”", f"Alert {BAD}",
    ):  # fmt: skip
        assert told in said, told
    assert "<img" not in page
    letter = next(one for one in read(page).walk() if one.get("class") == "letter")
    assert letter.children == [f"First line\n  {BAD}"]
    assert [one.tag for one in read(page).all("details")] == ["details"]


def test_a_file_has_not_left_this_host(browser: SignIn, post: Post) -> None:
    add(post, "A-1", channels=("email",))
    post.send(Outcome.delivered, "file", "written to the file x.eml in ONUS_HOME/outbox; it did not leave this host")
    said = words(browser(INSPECTOR).get(post.alert("A-1")).text)
    assert "has not left this host; it was not shown in the app." in said
    assert "took it" not in said


def test_what_waits_is_tried_again_and_what_was_refused_is_not(browser: SignIn, post: Post) -> None:
    add(post, "A-1", channels=("email",))
    post.send(Outcome.retry, "rcpt", "451 later")
    dana = browser(INSPECTOR)
    said = words(dana.get(post.alert("A-1")).text)
    assert "It waits, and is tried again on 1 March 2027, 12:" in said
    assert "refused for now, at the recipient's address; the answer: “451 later”" in said
    with post.acme.watching() as act:
        act.run("update delivery set next_attempt_at = :now where org_id = :org")
    post.send(Outcome.failed, "rcpt", "550 no such mailbox")
    said = words(dana.get(post.alert("A-1")).text)
    assert "The mail server refused it for good; it is not tried again by itself." in said
    assert said.index("451 later") < said.index("550 no such mailbox")


def test_doubts_are_one_line_a_message_with_all_the_evidence(browser: SignIn, doubtful: Post) -> None:
    dana = browser(INSPECTOR)
    page = dana.get("/o/acme/evidence/doubts").text
    assert len([one for one in read(page).walk() if one.get("id").startswith("message-")]) == 1
    assert fact(page, "About").count("30 days before") == 2
    assert fact(page, "Address used") == "bruno@acme.example"
    assert fact(page, "The mail server said") == f"“no answer {BAD}”"
    assert "being sent on 1 March 2027, 12:00:00 +01:00, and the line broke" in fact(page, "What became of it")
    assert "in the app it has not been opened" in fact(page, "What became of it")
    assert fact(page, "Came back") == "no report of that so far"
    assert "<img" not in page
    assert not [one for one in read(page).all("button") if one.get("name") == "decision"]  # An inspector only reads.
    for reader in (OFFICER, ADMIN):
        buttons = [one.text for one in read(browser(reader).get("/o/acme/evidence/doubts").text).all("button")]
        assert buttons[1:] == ["It arrived", "It was not sent", "Send it again"]
    assert "Bruno may get it twice" in words(browser(OFFICER).get("/o/acme/evidence/doubts").text)


@pytest.mark.parametrize(
    ("decision", "state", "follows"),
    [
        ("delivered", State.delivered, "Nothing more is sent. Without an answer"),
        ("failed", State.failed, "tell Bruno in another way. The alert is in their inbox in the app."),
        ("resend", State.in_doubt, "It goes to bruno@acme.example with the next round"),
    ],
)
def test_a_doubt_is_decided_for_the_whole_message_and_leaves_every_list(
    browser: SignIn, doubtful: Post, decision: str, state: State, follows: str
) -> None:
    ana = browser(OFFICER)
    queue = ana.get("/o/acme/today/doubt").text
    assert doubtful.where("D-1") in queue
    answered = ana.post(doubtful.where("D-1"), htmx=True, decision=decision)
    assert answered.status_code == 200
    assert answered.text.lstrip().startswith(f'<div id="message-{doubtful.ids["D-1"]}"')
    assert follows in fact(answered.text, "What follows")
    assert fact(answered.text, "Decided").startswith("Ana, 1 March 2027, 12:00:00 +01:00: ")
    mail = "channel = 'email' and resend_of is null and resolution is not null"
    assert doubtful.count(f"select count(*) from delivery where {mail} and state = '{state}'") == 2
    if state is State.failed:  # Not sent is no end: it is listed with what was refused, until it is settled.
        assert "D-1" in ana.get("/o/acme/evidence/returned").text
        assert "D-1" in ana.get("/o/acme/today/attention").text
        assert ana.post(doubtful.where("D-1"), htmx=True, decision="settled").status_code == 200
    for page in ("evidence/doubts", "evidence/returned", "today/doubt", "today/attention"):
        assert "D-1" not in ana.get(f"/o/acme/{page}").text, page
    with doubtful.acme.acting() as act:
        sight = read_sight(act.session, act.org, doubtful.acme.members["Ana"], NOW)
        assert count_queue(act.session, sight, Queue.doubt) == count_queue(act.session, sight, Queue.attention) == 0
    assert ana.post(doubtful.where("D-1"), decision="delivered").status_code == 422


def test_h16_sent_again_is_one_new_delivery_each_linked_both_ways(browser: SignIn, doubtful: Post) -> None:
    ana = browser(OFFICER)
    ana.get("/o/acme/evidence/doubts")
    before = doubtful.count("select count(*) from delivery")
    assert ana.post(doubtful.where("D-1"), decision="resend").location == doubtful.where("D-1")
    for _ in range(2):
        assert ana.post(doubtful.where("D-2"), htmx=True, decision="resend").status_code == 422
    assert doubtful.count("select count(*) from delivery") == before + 2  # One for each alert of the message.
    assert doubtful.count("select count(distinct message_id) from delivery where channel = 'email'") == 1
    new = doubtful.count(f"select id from delivery where resend_of = {doubtful.ids['D-1']}")
    page = ana.get(doubtful.alert("D-1")).text
    ids = {one.get("id") for one in read(page).walk()}
    assert {f"message-{new}", f"message-{doubtful.ids['D-1']}"} <= ids
    assert f'href="#message-{new}"' in page
    assert f'href="#message-{doubtful.ids["D-1"]}"' in page
    assert f'href="/o/acme/evidence/messages/{new}"' in ana.get(doubtful.where("D-1")).text
    assert f'href="{doubtful.where("D-1")}"' in ana.get(f"/o/acme/evidence/messages/{new}").text


@pytest.mark.parametrize("htmx", [True, False])
def test_two_officers_at_once_the_second_is_told_who_was_first(browser: SignIn, doubtful: Post, htmx: bool) -> None:
    ana, adela = browser(OFFICER), browser(ADMIN)
    for person in (ana, adela):
        person.get("/o/acme/evidence/doubts")
    assert ana.post(doubtful.where("D-1"), htmx=True, decision="delivered").status_code == 200
    second = adela.post(doubtful.where("D-2"), htmx=htmx, decision="resend")
    assert second.status_code == 422
    assert ("<!doctype html>" in second.text) is not htmx
    said = words(second.text)
    assert f"Somebody has decided already Ana, {NOON}: it arrived. What you chose was not done." in said
    assert doubtful.count("select count(*) from delivery where resend_of is not null") == 0
    assert doubtful.count("select count(*) from audit_event where type like 'doubt_resolved%'") == 2


def test_a_decision_counts_for_what_its_officer_saw(browser: SignIn, doubtful: Post) -> None:
    """ "Not sent" may be followed by "send it again", yet not by somebody who still looks at the doubt."""
    ana, adela = browser(OFFICER), browser(ADMIN)
    for person in (ana, adela):
        assert 'name="seen" value="in_doubt"' in person.get("/o/acme/evidence/doubts").text
    assert ana.post(doubtful.where("D-1"), htmx=True, decision="failed", seen="in_doubt").status_code == 200
    late = adela.post(doubtful.where("D-2"), htmx=True, decision="resend", seen="in_doubt")
    assert late.status_code == 422
    assert "Somebody has decided already" in late.text
    assert 'name="seen" value="failed"' in late.text
    assert adela.post(doubtful.where("D-2"), htmx=True, decision="resend", seen="failed").status_code == 200


def test_a_late_answer_is_said_in_red_words(browser: SignIn, post: Post) -> None:
    add(post, "A-1", channels=("email",))
    taken = post.take()
    with post.acme.watching() as act:
        leave(act, HOLDER)
    with post.acme.acting() as act:
        doubts.resolve(act, post.ids["A-1"], "failed", post.acme.members["Ana"])
    post.settle(taken, Outcome.delivered, said="250 queued")
    page = browser(INSPECTOR).get(post.alert("A-1")).text
    late = "An answer that came late, after a person had decided; it changed nothing:"
    assert f'<strong class="late">{late}</strong> the mail server took it' in page
    assert "and Onus was stopped before the answer came. A person decided." in words(page)
    assert "the answer: “Onus was stopped before the answer came”" in words(page)  # Noted, and no code of ours.


def test_what_came_back_can_be_sent_again_or_settled(browser: SignIn, post: Post) -> None:
    add(post, "B-1", channels=("email",))
    post.send(Outcome.failed, "rcpt", "550 no such mailbox")
    ana = browser(OFFICER)
    page = ana.get("/o/acme/evidence/returned").text
    assert [one.text for one in read(page).all("button")][1:] == ["Send it again", "Settled otherwise"]
    assert post.where("B-1") in ana.get("/o/acme/today/attention").text
    with post.acme.acting() as act:
        assert act.session.execute(undelivered(act.org, NOW)).scalar_one() == 1
    assert ana.post(post.where("B-1"), htmx=True, decision="delivered").status_code == 422  # It is no doubt.
    assert ana.post(post.where("B-1"), htmx=True, decision="settled").status_code == 200
    for where in ("evidence/returned", "today/attention", "evidence/undelivered"):
        assert "B-1" not in ana.get(f"/o/acme/{where}").text, where
    with post.acme.acting() as act:  # Nor does it come back to the list when the limit is over.
        assert act.session.execute(undelivered(act.org, NOW + 48 * HOUR)).scalar_one() == 0
    tag = ana.get(f"/o/acme/register/{post.count('select id from subject')}").text
    assert "decided: settled otherwise" in tag
    assert '<span class="tag late">Refused by the mail server' not in tag


def test_a_decision_needs_a_button_and_a_role(browser: SignIn, doubtful: Post) -> None:
    ana = browser(OFFICER)
    ana.get("/o/acme/evidence/doubts")
    for given in ("", "nonsense", "settled"):
        refused = ana.post(doubtful.where("D-1"), htmx=True, decision=given)
        assert refused.status_code == 422
        assert "Choose one of the buttons." in refused.text
    for email in (STAFF, INSPECTOR):
        person = browser(email)
        assert person.get(doubtful.where("D-1")).status_code == (200 if email == INSPECTOR else 403)
        person.get("/status")
        for where in (doubtful.where("D-1"), "/o/acme/evidence/held/release"):
            assert person.post(where, decision="resend").status_code == 403, where
    assert doubtful.count("select count(*) from delivery where resolution is not null") == 0


def test_a_site_out_of_sight_hides_its_messages_and_counts_its_alerts(browser: SignIn, post: Post) -> None:
    with post.acme.acting() as act:
        people.add_site(act, "Cork", "Europe/Dublin")
        bruno = post.acme.members["Bruno"]
        for reference, at in (("M-1", "Madrid"), ("C-1", "Cork")):
            factories.subject(act, reference, TODAY + 20 * dt.timedelta(days=1), at, owner_member_id=bruno)
        factories.rule(act, thresholds=("30d",), to=("owner",), channels=("email",))
        people.limit_member(act, post.acme.members["Ana"], [factories.site(act, "Cork")])
    watch(post.acme)
    post.send(Outcome.in_doubt)
    ana = browser(OFFICER)
    page = ana.get("/o/acme/evidence/doubts").text
    assert "and 1 alert at sites that you do not see" in words(page)
    assert "M-1" not in page
    assert ana.get(f"/o/acme/evidence/messages/{post.ids['C-1']}").status_code == 200
    assert ana.get(f"/o/acme/evidence/messages/{post.ids['M-1']}").status_code == 404
    assert ana.post(f"/o/acme/evidence/messages/{post.ids['M-1']}", decision="resend").status_code == 404
    assert post.count("select count(*) from delivery where resolution is not null") == 0


def test_what_is_held_is_said_listed_and_let_go_once(browser: SignIn, post: Post) -> None:
    add(post, "H-1")
    with post.acme.watching() as act:
        holds.hold(act, f"the database was restored {BAD}")
        act.session.add(DatabaseIdentity(id=1, system_identifier="1", timeline_id=1, noticed_at=NOW, changed_at=NOW))
    ana, dana = browser(OFFICER), browser(INSPECTOR)
    for page in ("", "register", "rules", "inbox", "evidence"):
        said = words(ana.get(f"/o/acme/{page}").text)
        assert f"All messages are held since {NOON}: the database was restored {BAD}. 1 message waits" in said, page
    assert "all messages are held until a person lets them go" in ana.get("/o/acme/").text
    assert "All messages are held since" not in browser(STAFF).get("/o/acme/inbox").text
    assert ana.get("/healthz").get_json()["held"] == 1
    assert "acme" not in ana.get("/status").text
    listed = dana.get("/o/acme/evidence/held").text
    assert "Bruno, e-mail" in words(listed)
    assert "Let them go" not in words(listed)
    page = ana.get("/o/acme/evidence/held").text
    assert "What was told in the time that was lost is told again." in words(page)
    assert "<img" not in page
    assert ana.post("/o/acme/evidence/held/release").location == "/o/acme/evidence/held"
    again = ana.post("/o/acme/evidence/held/release", htmx=True)
    assert again.status_code == 422
    assert "somebody else may have released it already" in again.text
    assert post.count("select released_by from delivery_hold") == post.acme.members["Ana"]
    assert post.count("select count(*) from delivery where state = 'pending'") == 1
    assert "All messages are held" not in ana.get("/o/acme/").text
    assert ana.get("/healthz").get_json()["held"] == 0


def test_a_mail_server_that_cannot_be_used_is_said_and_that_nothing_is_lost(
    browser: SignIn, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(post, "A-1")
    ana = browser(OFFICER)
    assert "E-mail is not set up." in words(ana.get("/o/acme/").text)
    assert ana.get("/healthz").get_json()["mail"]["state"] == "not configured"
    use_mail(ana, monkeypatch, "file:")
    assert "written to files of the host" in words(ana.get("/o/acme/register").text)
    use_mail(ana, monkeypatch, "smtp://mail.example")
    assert "mail" not in words(ana.get("/o/acme/inbox").text).lower()
    with transaction(None, SCHEDULER) as session:
        session.add(MailTransport(id=1, opened_at=NOW, retry_at=NOW + HOUR, faults=1, reason=f"refused {BAD}"))
    for page in ("", "rules"):
        said = words(ana.get(f"/o/acme/{page}").text)
        for told in ("No e-mail leaves since 1 March 2027, 12:00:00 +01:00", f"refused {BAD}", "Nothing is lost",
                     "tried again on 1 March 2027, 13:00:00 +01:00"):  # fmt: skip
            assert told in said, (page, told)
    assert "no e-mail leaves, since the mail server cannot be used" in ana.get("/o/acme/").text
    told = ana.get("/healthz")
    assert told.status_code == 503
    assert set(told.get_json()) == {"healthy", "problems", "last_scan_age_seconds", "version", "mail", "held", "seal"}
    assert told.get_json()["mail"]["state"] == "stopped"
    assert any("no e-mail leaves since" in problem for problem in told.get_json()["problems"])
    assert "stopped since 1 March 2027" in words(ana.get("/status").text)


def use_mail(person: Browser, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    known = person.client.application.extensions
    monkeypatch.setitem(known, "onus_settings", replace(known["onus_settings"], smtp_url=url))


def test_clocks_that_are_apart_are_said(browser: SignIn, post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    ana = browser(OFFICER)
    monkeypatch.setattr("app.queries.guards.clock.refuse_a_jump", apart)
    for page in ("", "register"):
        assert "more than an hour apart. Nothing is raised or sent" in words(ana.get(f"/o/acme/{page}").text)
    assert "the clocks are apart" in ana.get("/o/acme/").text
    assert any("clocks" in problem for problem in ana.get("/healthz").get_json()["problems"])


def apart(*_: object) -> None:
    raise clock.ClockFault("2:00:00 apart")


def test_whose_mail_does_not_arrive_is_marked_beside_the_address(browser: SignIn, post: Post) -> None:
    add(post, "A-1", channels=("email",))
    post.send(Outcome.failed, "rcpt", "550 no such mailbox")
    ana = browser(OFFICER)
    row = next(one for one in read(ana.get("/o/acme/settings/people").text).all("tr") if "Bruno" in one.text)
    assert "bruno@acme.example Refused by the mail server" in row.text
    adela = browser(ADMIN)
    form = adela.get(f"/o/acme/settings/people/{post.acme.members['Bruno']}").text
    assert "The last message to this address did not arrive." in form
    add(post, "A-2", channels=("email",))
    post.send(Outcome.delivered, said="250 queued")
    assert "Refused" not in ana.get("/o/acme/settings/people").text


def test_e_mail_alerts_are_switched_by_an_administrator(browser: SignIn, post: Post) -> None:
    adela, bruno = browser(ADMIN), post.acme.members["Bruno"]
    off = {"email_alerts": "off", "mail": "at_once", "rest": "organisation", "sure": "yes"}
    adela.get(f"/o/acme/settings/people/{bruno}")
    assert adela.post(f"/o/acme/settings/people/{bruno}/alerts", **off).status_code == 303
    assert post.count(f"select count(*) from member where id = {bruno} and email_alerts") == 0
    row = next(one for one in read(adela.get("/o/acme/settings/people").text).all("tr") if "Bruno" in one.text)
    assert [one.text for one in row.all("td") if one.get("data-label") == "E-mail alerts"] == ["off"]


def test_pages_are_fragments_for_htmx(browser: SignIn, doubtful: Post) -> None:
    dana = browser(INSPECTOR)
    for where in (doubtful.where("D-1"), "/o/acme/evidence/doubts", "/o/acme/evidence/held"):
        assert dana.get(where, **HTMX).text.lstrip().startswith("<div id="), where


def test_a_message_in_the_app_has_no_page_of_its_own(browser: SignIn, doubtful: Post) -> None:
    shown = doubtful.count("select min(id) from delivery where channel = 'in_app'")
    assert browser(OFFICER).get(f"/o/acme/evidence/messages/{shown}").status_code == 404


@pytest.mark.real_commits
def test_of_two_officers_in_one_moment_one_decides(real_app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(real_app.extensions, "onus_settings", replace(real_app.extensions["onus_settings"], clock=NOW))
    acme = factories.acme()
    with acme.acting() as act:
        for email, role in ((OFFICER, "officer"), (ADMIN, "admin"), (STAFF, "staff")):
            name = email.partition("@")[0].capitalize()
            acme.members[name] = people.add_member(act, email, role, name=name, password_hash=HASH)
    post = Post(acme)
    add(post, "D-1")
    post.send(Outcome.in_doubt)
    officers = [Browser(real_app.test_client()).sign_in(email) for email in (OFFICER, ADMIN)]
    for one in officers:
        one.get("/o/acme/evidence/doubts")
    barrier, statuses = threading.Barrier(2), []

    def decide(one: Browser) -> None:
        barrier.wait()
        form = {"csrf_token": one.token, "decision": "resend"}
        statuses.append(one.client.post(post.where("D-1"), data=form, headers=HTMX).status_code)

    threads = [threading.Thread(target=decide, args=(one,)) for one in officers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200, 422]
    assert post.count("select count(*) from delivery where resend_of is not null") == 1
