"""The mail parts of the reported faults (H02, H04, H06, H20), from the scan to the server's log."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from app.channels.smtp import SmtpChannel
from app.config import VERB_WITHIN, mail_server
from app.operations import doubts, kinds, people
from app.operations.kinds import KindText
from app.queries.watch import watch_organisation
from app.scheduler.mail_tick import mail_tick
from tests import factories
from tests.channels.certificates import Certificates
from tests.chaos.smtp_server import running
from tests.mail.conftest import Post, permit
from tests.mail.test_sending import text_of
from tests.scheduler.conftest import Database, Onus, until
from tests.scheduler.test_process import organisation


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def test_h02_the_repeated_hour_of_autumn_mails_once(post: Post) -> None:
    post.do(lambda act: people.add_site(act, "New York", "America/New_York"))
    post.do(lambda act: permit(act, due_on=dt.date(2027, 12, 7), at="New York"))
    for instant in ("2027-11-07T05:30:00+00:00", "2027-11-07T06:30:00+00:00"):
        post.at(at(instant)).scan()
        post.send()
    assert len(post.messages()) == 1
    assert "30 days left" in text_of(post.messages()[0])


def test_h04_after_downtime_the_mail_says_what_is_left_today(post: Post) -> None:
    post.at(at("2027-01-01T09:00:00+00:00"))
    post.do(lambda act: factories.rule(act, "Ninety", ("90d", "30d", "7d"), ("role:officer",), ("email",)))
    post.do(lambda act: act.run("update alert_rule set is_active = false where org_id = :org and name = 'Permits'"))
    post.do(lambda act: permit(act, due_on=dt.date(2027, 4, 1)))
    post.scan()
    post.send()
    before = len(post.messages())
    for _ in range(2):
        post.at(at("2027-03-04T09:00:00+00:00")).scan()
        post.send()
    told = post.messages()[before:]
    assert {one["rcpts"][0] for one in told} == {"ana@acme.example", "berta@acme.example"}
    assert len(told) == 2
    assert all("28 days left" in text_of(one) for one in told)


def test_h06_a_verb_is_given_half_a_minute() -> None:
    assert mail_server("smtp://mail.example.org").verb_within == VERB_WITHIN == 30.0


@pytest.mark.real_commits
def test_h06_a_mail_server_that_says_nothing_holds_up_no_scan(
    real_app: Flask,
    onus: Onus,
    database: Database,
    tmp_path: Path,
) -> None:
    acme, other = organisation(), organisation("other")
    for one in (acme, other):
        with one.acting() as act:
            act.run("update alert_rule set channels = array['email', 'in_app'] where org_id = :org")
    with running(tmp_path) as mail:
        mail.play({"GREETING": ["stall"]})
        url = f"smtp://127.0.0.1:{mail.port}?tls=none&verb=15"
        scheduler = onus.start("scheduler", ONUS_SCAN_EVERY="0.3", ONUS_DELIVER_EVERY="0.2", ONUS_SMTP_URL=url)
        until(lambda: mail.events("connect"), "a line to the mail server")
        ticks = len(scheduler.logged("scanned"))
        scheduler.until_ticks(2, ticks)
        until(
            lambda: (
                database.value("select count(*) from delivery where channel = 'in_app' and state = 'delivered'") == 2
            ),
            "both in the app",
        )
        assert database.rows("select distinct state, attempts from delivery where channel = 'email'") == [
            ("pending", 0)
        ]
        assert scheduler.stopped().code == 0


def test_h20_without_the_tls_that_is_required_the_mail_waits_and_the_banner_says_why(
    post: Post,
    certificates: Certificates,
) -> None:
    post.do(permit)
    post.scan()

    def sent(**script: Any) -> tuple[Any, ...]:
        post.server.play(script)
        url = f"smtp://onus:word@127.0.0.1:{post.server.port}?tls=starttls&verb=10&cafile={cafile}"
        post.channels.append(SmtpChannel(mail_server(url)))
        mail_tick(post.sender(post.channels[-1]), post.watch.acme.org, forced=True)
        return post.rows("x.state, x.attempts")[0] + post.watch.rows("select reason from mail_transport")[0]

    cafile = certificates.good.cert
    state = sent(offers=["AUTH PLAIN LOGIN"])
    assert state[:2] == ("pending", 0)
    assert "TLS is required" in state[2]
    state = sent(**certificates.of_another_host.offered())
    assert state[:2] == ("pending", 0)
    assert "certificate is not trusted" in state[2]
    assert post.server.events("auth", "message") == []
    cafile = certificates.authority
    assert sent(**certificates.good.offered()) == ("delivered", 1, None)
    assert [one["tls"] for one in post.server.events("auth")] == [True]
    assert len(post.messages()) == 1


@pytest.mark.real_commits
def test_p3_a_scheduler_that_must_stop_writes_the_outstanding_hand_over_as_in_doubt(
    real_app: Flask, onus: Onus, database: Database, tmp_path: Path
) -> None:
    with organisation().acting() as act:
        act.run("update alert_rule set channels = array['email'] where org_id = :org")
    with running(tmp_path) as mail:
        mail.play({"DOT": ["stall after"]})
        url = f"smtp://127.0.0.1:{mail.port}?tls=none"
        scheduler = onus.start("scheduler", ONUS_SCAN_EVERY="0.3", ONUS_DELIVER_EVERY="0.2", ONUS_SMTP_URL=url)
        until(lambda: mail.events("message"), "the message")
        assert scheduler.stopped().code == 0
        assert database.rows("select state, reason, attempts from delivery") == [("in_doubt", "stopped", 1)]
        assert len(mail.events("message")) == 1


def test_a_doubt_that_was_decided_is_counted_no_more_by_status(post: Post) -> None:
    post.do(permit)
    post.scan()
    post.server.play({"DOT": ["drop after", "ok"]})
    post.send()
    ((doubt,),) = post.rows("x.id")
    assert counted(post) == (1, 1)
    post.do(lambda act: doubts.resolve(act, doubt, "resend"))
    assert counted(post) == (0, 1)


def counted(post: Post) -> tuple[int, int]:
    """Doubts that wait for a person, and all that are in this state."""
    with post.watch.acme.acting() as act:
        watch = watch_organisation(act.session, act.org, "acme", act.now, dt.timedelta(minutes=10))
    return watch.doubts, watch.deliveries["in_doubt"]


def test_what_to_do_is_told_in_the_language_of_its_reader(post: Post) -> None:
    said = KindText("other", what_to_do="Take the sample.", what_to_do_in={"es": "Tome la muestra."})
    post.do(lambda act: kinds.change_kind(act, factories.kind(act), said))
    post.do(lambda act: factories.rule(act, "Officers", ("30d",), ("role:officer",), ("email",)))
    post.do(lambda act: act.run("update member set locale = 'es-ES' where org_id = :org and email like 'berta@%'"))
    post.do(permit)
    post.scan()
    post.send()
    told = {one["rcpts"][0]: text_of(one) for one in post.messages()}
    assert "Take the sample." in told["ana@acme.example"]
    assert "Tome la muestra." in told["berta@acme.example"]
    assert "Take the sample." not in told["berta@acme.example"]
