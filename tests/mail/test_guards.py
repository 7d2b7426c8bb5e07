"""The guards: another database, a wrong clock, messages that come back, the dead man's switch."""

from __future__ import annotations

import datetime as dt
import http.server
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import pytest
from flask import Flask

from app.channels.returns import read_return
from app.cli import main
from app.domain.errors import Refused
from app.operations import doubts, obligations, people
from app.queries.guards import problems_of_mail, read_mail
from app.scheduler import process
from app.scheduler.mail_tick import mail_tick
from app.scheduler.ticks import deliver_tick
from tests import factories
from tests.mail.conftest import Post, obligation_of, permit

REPORT = """From: MAILER-DAEMON@mail.example.org
To: {to}
Subject: Undelivered Mail Returned to Sender
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b
Content-Type: text/plain

I'm sorry.
--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mail.example.org

Final-Recipient: rfc822; ana@acme.example
Action: {action}
Status: 5.1.1
Diagnostic-Code: smtp; 550 5.1.1 no such user
--b--
"""


def another_database(post: Post) -> None:
    with post.watch.acme.watching() as act:
        act.run("update database_identity set timeline_id = timeline_id + 7")


def test_a_restored_database_holds_everything_until_an_officer_lets_it_go(post: Post) -> None:
    post.do(lambda act: factories.rule(act, "App", ("30d",), ("role:officer",), ("in_app",)))
    post.do(permit)
    post.scan()
    deliver_tick()
    post.do(lambda act: permit(act, "P-2", dt.date(2027, 3, 30)))
    post.scan()
    another_database(post)
    assert post.send().delivered == 0
    assert set(post.states()) == {"held"}
    assert post.watch.rows("select distinct reason from delivery where state = 'held'") == [("restored",)]

    post.do(lambda act: permit(act, "P-3", dt.date(2027, 3, 29)))
    post.scan()
    assert post.later(minutes=5).send().delivered == 0, "what becomes due while it is held is held, too"
    assert post.messages() == []
    assert set(post.watch.rows("select distinct state from delivery")) == {("held",), ("delivered",)}

    held = post.watch.rows("select count(*) from delivery where state = 'held'")[0][0]
    assert post.do(doubts.release) == held
    assert post.send().delivered == held
    assert len(post.messages()) == 1
    with pytest.raises(Refused, match="held"):
        post.do(doubts.release)
    types = {type for (type,) in post.watch.rows("select type from audit_event")}
    assert {"deliveries_held", "delivery_held", "deliveries_released", "delivery_released"} <= types


def test_what_is_held_without_a_hold_can_be_let_go(post: Post) -> None:
    """A downgrade drops the table of holds, and not what they held."""
    post.do(permit)
    post.scan()
    deliver_tick()
    another_database(post)
    post.send()
    with post.watch.acme.watching() as act:
        act.run("update delivery_hold set released_at = :now where org_id = :org")
    assert post.do(doubts.release) == 1
    assert post.send().delivered == 1


def test_what_was_done_while_it_was_held_is_not_told(post: Post) -> None:
    entry = post.do(permit)
    post.scan()
    deliver_tick()
    another_database(post)
    post.send()
    post.do(lambda act: obligations.close(act, obligation_of(act, entry.id), "met"))
    post.do(doubts.release)
    post.send()
    assert post.messages() == []
    assert post.rows("x.state, x.reason") == [("cancelled", "closed")]


@pytest.mark.parametrize(
    ("what", "cause"),
    [
        ("system_identifier = '1' || system_identifier", "the database was restored into another server"),
        ("system_identifier = system_identifier || '0'", "the database was restored from a dump"),
        ("timeline_id = timeline_id + 1", "the database was restored or failed over (timeline"),
    ],
)
def test_each_sign_of_another_database_holds_everything(post: Post, what: str, cause: str) -> None:
    post.do(permit)
    post.scan()
    deliver_tick()
    with post.watch.acme.watching() as act:
        act.run(f"update database_identity set {what}")
    post.send()
    assert post.states() == ["held"]
    assert post.watch.rows("select cause from delivery_hold")[0][0].startswith(cause)


def test_an_identity_that_was_kept_without_its_table_is_completed_and_holds_nothing(post: Post) -> None:
    post.do(permit)
    post.scan()
    deliver_tick()
    with post.watch.acme.watching() as act:
        act.run("update database_identity set system_identifier = split_part(system_identifier, '/', 1)")
    assert post.send().delivered == 1
    assert post.watch.rows("select system_identifier like '%/%', changed_at from database_identity") == [(True, None)]


def test_the_same_database_is_not_held(post: Post) -> None:
    post.do(permit)
    post.scan()
    for _ in range(3):
        deliver_tick()
    assert post.send().delivered == 1
    assert post.watch.rows("select count(*) from delivery_hold") == [(0,)]


def test_nothing_leaves_while_the_clocks_are_apart(post: Post) -> None:
    post.do(permit)
    post.scan()
    wrong = post.watch.acme.now + dt.timedelta(days=400)  # The database's clock is months behind this high-water mark.
    post.at(wrong).scan()
    with post.watch.acme.watching() as act:
        act.run("update delivery set next_attempt_at = '2020-01-01' where org_id = :org")
    post.app.extensions["onus_settings"] = replace(post.settings, clock=None)
    _, errors = deliver_tick()
    assert "clock" in str(errors[0]["message"])
    sender = post.sender()
    sender.settings = post.settings
    _, faults = mail_tick(sender, forced=True)
    assert "ClockFault" in str(faults[0]["message"])
    assert post.messages() == []


def test_the_breaker_is_a_problem_that_says_what_is_wrong(post: Post) -> None:
    post.do(permit)
    post.scan()
    post.server.play({"GREETING": ["421 4.3.2 closed for today"]})
    post.send()
    with post.watch.acme.watching() as act:
        (problem,) = problems_of_mail(read_mail(act.session, post.settings))
        assert "closed for today" in problem
        assert list(problems_of_mail(read_mail(act.session, replace(post.settings, smtp_url=None)))) == []
    post.server.play({})
    post.send()
    with post.watch.acme.watching() as act:
        assert list(problems_of_mail(read_mail(act.session, post.settings))) == []


def test_an_open_breaker_closes_though_nothing_is_due(post: Post) -> None:
    post.do(permit)
    post.scan()
    post.server.play({"GREETING": ["421 4.3.2 no"]})
    post.send()
    post.do(lambda act: people.set_email_alerts(act, people.find_member(act, "ana@acme.example").id, wanted=False))
    post.server.play({})
    post.send()
    assert post.watch.rows("select opened_at from mail_transport") == [(None,)]


def sent(post: Post) -> str:
    """One message to Ana under a rule with a fallback; its return address."""

    def ruled(act: object) -> None:
        entry = permit(act, kind="training")  # type: ignore[arg-type]
        rule = factories.rule(act, "Fallback", ("30d",), ("member:ana@acme.example",), ("email",), subjects=[entry.id])  # type: ignore[arg-type]
        rule.fallback = "member:berta@acme.example"
        people.add_member(act, "carl@acme.example", "staff", name="Carl")  # type: ignore[arg-type]
        act.run("update alert_rule set is_active = false where org_id = :org and name = 'Permits'")  # type: ignore[attr-defined]

    post.do(ruled)
    post.scan()
    post.send()
    return str(post.messages()[0]["sender"])


def bounced(post: Post, to: str, action: str = "failed") -> dict[str, object]:
    result = post.app.test_cli_runner().invoke(
        main, ["bounces", "-", "--json"], input=REPORT.format(to=to, action=action)
    )
    assert result.exit_code == 0, result.output
    return json.loads(result.output)  # type: ignore[no-any-return]


def test_a_message_that_comes_back_is_marked_and_told_to_officers_and_the_fallback(post: Post) -> None:
    address = sent(post)
    assert read_return(post.settings, address) is not None
    said = bounced(post, address)
    assert said["outcome"] == "bounced"
    assert post.rows("x.state, x.last_reply") == [("bounced", "550 5.1.1 no such user")]
    assert bounced(post, address)["marked"] == []
    post.send()
    rows = post.watch.rows(
        "select m.name, x.channel, x.because, x.state from delivery x "
        "join member m on m.org_id = x.org_id and m.id = x.recipient_id where x.because in ('fallback', 'returned') "
        "order by 1, 2"
    )
    assert rows == [
        ("Ana", "in_app", "returned", "delivered"),
        ("Berta", "email", "fallback", "delivered"),
        ("Berta", "in_app", "returned", "delivered"),
    ]
    assert post.messages()[-1]["rcpts"] == ["berta@acme.example"]


def test_what_a_person_took_for_arrived_and_comes_back_waits_for_a_person_again(post: Post) -> None:
    post.server.play({"DOT": ["drop after", "ok"]})
    address = sent(post)
    ((doubt,),) = post.rows("x.id")
    post.do(lambda act: doubts.resolve(act, doubt, "delivered"))
    bounced(post, address)
    post.send()
    assert post.rows("x.state, x.resolution, x.resolved_at", "x.because = 'named'") == [("bounced", None, None)]
    assert post.watch.rows("select distinct because from delivery order by 1") == [
        ("fallback",), ("named",), ("returned",),
    ]  # fmt: skip
    post.do(lambda act: doubts.resolve(act, doubt, "settled"))


def test_the_books_of_what_came_back_are_open_though_nobody_else_is_told(post: Post) -> None:
    post.do(permit)
    post.scan()
    post.send()
    post.do(lambda act: act.run("update member set role = 'staff' where org_id = :org"))
    assert post.rows("l.delivered_at is not null") == [(True,)]
    bounced(post, str(post.messages()[0]["sender"]))
    post.send()
    assert post.rows("x.state, l.delivered_at") == [("bounced", None)]


def test_what_was_sent_again_and_comes_back_stays_decided(post: Post) -> None:
    post.server.play({"DOT": ["drop after", "ok"]})
    address = sent(post)
    ((doubt,),) = post.rows("x.id")
    post.do(lambda act: doubts.resolve(act, doubt, "resend"))
    bounced(post, address)
    assert post.rows("x.state, x.resolution") == [("bounced", "resend"), ("pending", None)]


def test_a_report_as_large_as_may_be_is_read_to_its_end(post: Post) -> None:
    address = sent(post)
    padded = REPORT.format(to=address, action="failed").replace("I'm sorry.", "sorry, \n" * (5_100_000 // 8))
    result = post.app.test_cli_runner().invoke(main, ["bounces", "-", "--json"], input=padded)
    assert result.exit_code == 0, result.output
    assert post.states() == ["bounced"]


def test_a_report_of_a_delay_changes_nothing(post: Post) -> None:
    address = sent(post)
    assert bounced(post, address, "delayed")["outcome"] == "ignored"
    assert post.states() == ["delivered"]


def test_a_report_without_our_signature_is_refused(post: Post) -> None:
    address = sent(post)
    forged = address[:-25] + ("a" if address[-25] != "a" else "b") + address[-24:]
    result = post.app.test_cli_runner().invoke(main, ["bounces", "-"], input=REPORT.format(to=forged, action="failed"))
    assert result.exit_code == 2
    assert post.states() == ["delivered"]


def test_a_message_that_came_back_can_be_sent_again_or_settled(post: Post) -> None:
    address = sent(post)
    bounced(post, address)
    ((delivery,),) = post.rows("x.id")
    with pytest.raises(Refused, match="resend, settled"):
        post.do(lambda act: doubts.resolve(act, delivery, "delivered"))
    post.do(lambda act: doubts.resolve(act, delivery, "resend"))
    post.send()
    assert post.rows("x.state, x.resolution", "x.because = 'named'") == [("bounced", "resend"), ("delivered", None)]


class Switch(http.server.BaseHTTPRequestHandler):
    """A dead man's switch that counts its calls."""

    calls: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.calls.append(self.path)
        self.send_response(200 if self.path == "/good" else 500)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def switch() -> Iterator[str]:
    server = http.server.HTTPServer(("127.0.0.1", 0), Switch)
    Switch.calls.clear()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_good_scan_calls_the_dead_mans_switch_and_a_failing_one_does_not(app: Flask, post: Post, switch: str) -> None:
    app.extensions["onus_settings"] = replace(post.settings, ping_url=f"{switch}/good")
    heartbeat = process.Heartbeat()
    process.scan_once(heartbeat)
    assert Switch.calls == ["/good"]
    with post.watch.acme.watching() as act:
        act.run("update scan_run set started_at = :now where org_id = :org")
    app.extensions["onus_settings"] = replace(post.settings, ping_url=f"{switch}/good", clock=None)
    process.scan_once(heartbeat)
    assert Switch.calls == ["/good"], "the clock is behind its own past, so this scan failed"


def test_a_switch_that_is_broken_does_not_stop_the_watch(app: Flask, post: Post, switch: str) -> None:
    app.extensions["onus_settings"] = replace(post.settings, ping_url=f"{switch}/bad")
    process.scan_once(process.Heartbeat())
    assert Switch.calls == ["/bad"]
