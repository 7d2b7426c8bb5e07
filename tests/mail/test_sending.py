"""One message, never two, and none lost: the real functions, a real database, a real line to a scripted server (P3)."""

from __future__ import annotations

import datetime as dt
import email
import email.policy
from typing import Any

import pytest

from app.domain.backoff import TRIES_AT_MOST
from app.domain.errors import Refused
from app.ledger.queue import changed
from app.operations import doubts, members, obligations, people
from app.queries.doubts import read_doubts
from app.scheduler.mail_tick import mail_tick
from tests import factories
from tests.mail.conftest import LEASE, Post, obligation_of, permit


def parsed(message: dict[str, Any]) -> Any:
    raw = message["raw"].encode("utf-8", "surrogateescape")
    return email.message_from_bytes(raw, policy=email.policy.default)


def text_of(message: dict[str, Any]) -> str:
    return str(parsed(message).get_body(("plain",)).get_content())


def test_p3_one_alert_is_one_message_with_its_reply_kept(post: Post) -> None:
    post.do(permit)
    assert post.scan().deliveries == 1
    assert post.send().delivered == 1
    assert post.send().delivered == 0
    (message,) = post.messages()
    (row,) = post.rows("x.state, x.attempts, x.message_id, x.sent_to, x.last_reply, x.handed_over_at, x.delivered_at")
    assert row[:2] == ("delivered", 1)
    assert row[2:4] == (message["message_id"], "ana@acme.example")
    assert row[4].startswith("250 2.0.0 queued as")
    assert row[5:] == (post.now, post.now)
    assert message["rcpts"] == ["ana@acme.example"]
    assert parsed(message)["Auto-Submitted"] == "auto-generated"
    assert "29 days left" in text_of(message)
    assert post.watch.rows("select subject, handed_over_at from mail_message") == [
        (parsed(message)["Subject"], post.now)
    ]
    assert post.watch.rows("select verb, outcome from delivery_attempt") == [("dot", "delivered")]
    assert post.watch.rows("select delivered_at from notification_ledger where standing = 'open'") == [(post.now,)]
    assert ("handed_over",) in post.watch.rows("select type from audit_event")


def test_h03_one_person_by_three_routes_gets_one_message(post: Post) -> None:
    def dana(act: Any) -> None:
        dana = people.add_member(act, "dana@example.com", "staff", name="Dana")
        entry = permit(act, "D-1", dt.date(2027, 3, 8), owner_member_id=dana, kind="training")
        factories.rule(
            act, "Three", ("7d",), ("owner", "role:staff", "member:dana@example.com"), ("email",), subjects=[entry.id]
        )

    post.do(dana)
    post.scan()
    post.send()
    found = [one for one in post.messages() if one["rcpts"] == ["dana@example.com"]]
    assert len(found) == 1
    assert parsed(found[0])["To"].addresses[0].addr_spec == "dana@example.com"
    assert len(parsed(found[0])["To"].addresses) == 1


def test_h05_forty_old_entries_are_one_message_that_names_them_all(post: Post) -> None:
    def old(act: Any) -> None:
        for n in range(40):
            permit(act, f"O-{n:02}", dt.date(2025, 1, 1) + dt.timedelta(days=17 * n))

    post.do(old)
    assert post.scan().claimed == 40
    assert post.send().delivered == 40
    (message,) = post.messages()
    assert all(f"O-{n:02}" in text_of(message) for n in range(40))
    assert post.scan().claimed == 0
    post.send()
    assert len(post.messages()) == 1
    assert len({token for (token,) in post.rows("x.lease_token")}) == 1


def test_h13_a_recipient_disabled_after_the_claim_is_not_told(post: Post) -> None:
    post.do(permit)
    post.scan()
    post.do(lambda act: people.disable_member(act, people.find_member(act, "ana@acme.example").id))
    post.send()
    assert post.messages() == []
    assert post.rows("x.state, x.reason, x.attempts, l.reason") == [
        ("cancelled", "not_a_recipient", 0, "nobody_to_tell")
    ]


def test_h14_what_was_done_after_the_claim_is_not_told(post: Post) -> None:
    entry = post.do(permit)
    post.scan()
    post.do(lambda act: obligations.close(act, obligation_of(act, entry.id), "met"))
    post.send()
    assert post.messages() == []
    assert post.rows("x.state, x.reason, x.attempts") == [("cancelled", "closed", 0)]


def test_h14_what_is_done_while_it_is_leased_is_not_handed_over(post: Post) -> None:
    entry = post.do(permit)
    post.scan()
    sender = post.sender()
    lease, letter = post.lease(sender)
    post.do(lambda act: obligations.close(act, obligation_of(act, entry.id), "met"))
    post.watch.deliver()
    assert sender.send(lease, letter).delivered == 0
    assert post.messages() == []
    assert post.server.events("unfinished"), "the body was sent, and the final dot was not"
    assert post.rows("x.state, x.reason") == [("cancelled", "closed")]


def test_h16_a_line_lost_after_the_dot_is_a_doubt_and_only_a_person_sends_again(post: Post) -> None:
    post.do(permit)
    post.scan()
    post.server.play({"DOT": ["drop after", "ok"]})
    assert post.send().in_doubt == 1
    for _ in range(12):
        assert post.later(minutes=5).send().delivered == 0
    assert len(post.messages()) == 1
    (row,) = post.rows("x.id, x.state, x.attempts, x.reason, x.resolution")
    assert row[1:] == ("in_doubt", 1, "no_answer", None)
    assert post.watch.rows("select delivered_at from notification_ledger where standing = 'open'") == [(None,)]
    with post.watch.acme.acting() as act:
        (doubt,) = read_doubts(act.session, act.org)
    assert (doubt.id, doubt.sent_to) == (row[0], "ana@acme.example")

    post.do(lambda act: doubts.resolve(act, row[0], "resend"))
    assert post.send().delivered == 1
    assert [one["message_id"] for one in post.messages()] == [doubt.message_id] * 2
    assert post.rows("x.state, x.resolution, x.resend_of") == [
        ("in_doubt", "resend", None), ("delivered", None, row[0]),
    ]  # fmt: skip
    assert post.watch.rows("select delivered_at from notification_ledger where standing = 'open'") == [(post.now,)]
    with pytest.raises(Refused, match="decided"):
        post.do(lambda act: doubts.resolve(act, row[0], "resend"))
    post.later(minutes=5).send()
    assert len(post.messages()) == 2


def test_h16_a_message_of_two_alerts_is_sent_again_whole_and_alone(post: Post) -> None:
    post.do(permit)
    post.do(lambda act: permit(act, "P-2", dt.date(2027, 3, 30)))
    post.scan()
    post.server.play({"DOT": ["drop after", "ok"]})
    assert post.send().in_doubt == 2
    (first, _) = [id for (id,) in post.rows("x.id")]
    assert len(post.do(lambda act: doubts.resolve(act, first, "resend"))) == 2
    post.do(lambda act: permit(act, "P-3", dt.date(2027, 3, 29)))
    post.scan()
    assert post.send().delivered == 3
    again, alone = post.messages()[1:]
    assert again["message_id"] == post.messages()[0]["message_id"] != alone["message_id"]
    assert "P-1" in text_of(again)
    assert "P-2" in text_of(again)
    assert "P-3" not in text_of(again)
    assert "P-3" in text_of(alone)


def test_what_was_to_be_sent_again_is_sent_when_the_pause_is_over(post: Post) -> None:
    """The person's decision outlives a snooze; without it the alert would be lost under a wrong reason."""

    def paused(until: str | None) -> None:
        def deed(act: Any) -> None:
            act.run("update subject set snoozed_until = :until where org_id = :org", {"until": until})
            changed(act, subject_id=entry.id)

        post.do(deed)

    entry = post.do(permit)
    post.scan()
    post.server.play({"DOT": ["drop after", "ok"]})
    post.send()
    ((doubt,),) = post.rows("x.id")
    post.do(lambda act: doubts.resolve(act, doubt, "resend"))
    paused("2027-03-09")
    post.send()
    assert post.rows("x.state, x.reason", "x.resend_of is not null") == [("cancelled", "snoozed")]
    paused(None)
    post.later(days=1).scan()
    post.send()
    assert post.rows("x.state, l.reason, l.delivered_at is not null", "x.resend_of is not null") == [
        ("delivered", None, True)
    ]
    assert len({one["message_id"] for one in post.messages()}) == 1
    post.later(days=1).scan()
    post.send()
    assert len(post.messages()) == 2


@pytest.mark.parametrize(("said", "state", "told"), [("delivered", "delivered", True), ("failed", "failed", False)])
def test_a_person_settles_a_doubt_without_a_message(post: Post, said: str, state: str, told: bool) -> None:
    post.do(permit)
    post.scan()
    post.server.play({"DOT": ["drop after", "ok"]})
    post.send()
    ((doubt,),) = post.rows("x.id")
    post.do(lambda act: doubts.resolve(act, doubt, said))
    post.later(minutes=5).send()
    assert post.rows("x.state, x.resolution, x.attempts, l.delivered_at is not null") == [(state, said, 1, told)]
    assert len(post.messages()) == 1
    assert len(post.watch.rows("select id from audit_event where type = :type", type=f"doubt_resolved_{said}")) == 1


def test_what_was_not_sent_stays_open_until_it_is_sent_again_or_settled(post: Post) -> None:
    post.do(permit)
    post.scan()
    post.server.play({"DOT": ["drop after", "ok"]})
    post.send()
    ((doubt,),) = post.rows("x.id")
    post.do(lambda act: doubts.resolve(act, doubt, "failed"))
    post.send()
    in_app = (
        "select m.name from delivery x join member m on m.id = x.recipient_id where x.because = 'returned' order by 1"
    )
    assert post.watch.rows(in_app) == [("Ana",), ("Berta",)], "the officers are told that it did not arrive"
    post.do(lambda act: doubts.resolve(act, doubt, "resend"))
    post.send()
    assert post.rows("x.state, x.resolution") == [("failed", "resend"), ("delivered", None)]
    with pytest.raises(Refused, match="decided"):
        post.do(lambda act: doubts.resolve(act, doubt, "settled"))


def test_what_was_settled_otherwise_counts_as_told(post: Post) -> None:
    post.do(permit)
    post.scan()
    post.server.play({"RCPT": ["550 5.1.1 unknown"]})
    post.send()
    ((delivery,),) = post.rows("x.id")
    post.do(lambda act: doubts.resolve(act, delivery, "settled"))
    post.send()
    assert post.rows("x.state, x.resolution, l.delivered_at, l.reason") == [("failed", "settled", post.now, None)]


def test_h17_three_recipients_each_with_an_outcome_of_their_own(post: Post) -> None:
    def three(act: Any) -> None:
        for name in ("a", "b", "c"):
            people.add_member(act, f"{name}@example.com", "staff", name=name.upper())
        entry = permit(act, kind="training")
        factories.rule(act, "Three", ("30d",), ("role:staff",), ("email",), subjects=[entry.id])
        people.disable_member(act, people.find_member(act, "ana@acme.example").id)

    post.do(three)
    post.scan()
    post.server.play(
        {
            "to": {
                "b@example.com": {"RCPT": ["451 4.7.1 later", "ok"]},
                "c@example.com": {"RCPT": ["550 5.1.1 no such user"]},
            }
        }
    )
    first = post.send()
    assert (first.delivered, first.retried, first.failed) == (1, 1, 1)
    ((again,),) = post.rows("x.next_attempt_at", "m.name = 'B'")
    assert dt.timedelta(seconds=60) <= again - post.now <= dt.timedelta(seconds=75)
    post.later(seconds=59).send()
    assert len(post.messages()) == 1
    post.later(seconds=16).send()
    assert sorted(one["rcpts"][0][0] for one in post.messages()) == ["a", "b"]
    rows = post.rows("m.name, x.state, x.attempts, x.reason, x.last_reply", "m.name in ('A', 'B', 'C')")
    assert [row[:4] for row in rows] == [
        ("A", "delivered", 1, None), ("B", "delivered", 2, None), ("C", "failed", 1, "refused"),
    ]  # fmt: skip
    assert rows[2][4].startswith("550 5.1.1")
    assert all(len(parsed(one)["To"].addresses) == 1 for one in post.messages())


def test_h17_a_server_that_puts_off_for_ever_is_given_up_after_a_day(post: Post) -> None:
    post.do(permit)
    post.scan()
    post.server.play({"RCPT": ["451 4.7.1 later"]})
    began, tries = post.now, 0
    while post.states() == ["pending"]:
        ((due,),) = post.rows("x.next_attempt_at")
        post.at(max(due, began)).send()
        tries += 1
    assert tries == TRIES_AT_MOST == 12
    assert post.now - began >= dt.timedelta(hours=24)
    assert post.rows("x.state, x.reason, x.attempts") == [("failed", "gave_up", 12)]
    assert post.watch.rows("select count(*) from delivery_attempt where outcome = 'retry'") == [(12,)]


def test_h18_a_line_break_in_a_title_stops_nobody(post: Post) -> None:
    def three(act: Any) -> None:
        permit(act, "B-1", title="Boiler permit\r\nBcc: intruder@evil.example")
        permit(act, "B-2", title="<img src=x onerror=alert(1)> valve")
        permit(act, "B-3", title="Plain")

    post.do(three)
    post.scan()
    assert post.send().delivered == 3
    (message,) = post.messages()
    assert message["rcpts"] == ["ana@acme.example"]
    assert parsed(message)["Bcc"] is None
    assert "&lt;img" in str(parsed(message).get_body(("html",)).get_content())


def test_h18_a_message_that_cannot_be_made_stops_none_of_the_others(post: Post) -> None:
    def three(act: Any) -> None:
        for name in ("x", "y"):
            people.add_member(act, f"{name}@example.com", "staff", name=name)
        entry = permit(act, kind="training")
        factories.rule(act, "Three", ("30d",), ("role:staff",), ("email",), subjects=[entry.id])
        act.run("update member set email = 'x y@example.com' where org_id = :org and email = 'x@example.com'")

    post.do(three)
    post.scan()
    done = post.send()
    assert done.failed == 1
    assert ("y@example.com",) in [tuple(one["rcpts"]) for one in post.messages()]
    assert post.rows("x.state", "m.name = 'x'") == [("failed",)]


def test_h21_a_try_that_was_lost_is_freed_and_made_again(post: Post) -> None:
    post.do(permit)
    post.scan()
    post.lease(post.sender())
    assert post.later(seconds=LEASE - 1).send().delivered == 0
    assert post.states() == ["leased"]
    assert post.later(seconds=2).send().delivered == 1
    assert len(post.messages()) == 1
    assert post.watch.rows("select outcome from delivery_attempt order by id") == [("lost",), ("delivered",)]
    assert post.rows("x.attempts") == [(2,)]


def test_h21_the_last_try_that_is_lost_is_seen_to_have_failed(post: Post) -> None:
    post.do(permit)
    post.scan()
    with post.watch.acme.watching() as act:
        act.run("update delivery set attempts = 11 where org_id = :org")
    post.lease(post.sender())
    post.later(seconds=LEASE + 1).send()
    assert post.rows("x.state, x.reason, x.attempts") == [("failed", "gave_up", 12)]


def test_h22_a_worker_that_lost_its_lease_hands_nothing_over_and_writes_nothing(post: Post) -> None:
    post.do(permit)
    post.scan()
    slow, quick = post.sender(), post.sender()
    lease, letter = post.lease(slow)
    post.later(seconds=LEASE + 1).send(quick)
    before = post.rows("x.state, x.lease_token, x.attempts, x.last_reply")
    assert slow.send(lease, letter).delivered == 0
    assert post.rows("x.state, x.lease_token, x.attempts, x.last_reply") == before
    assert len(post.messages()) == 1


def test_h22_a_worker_that_wakes_before_anybody_else_came_still_hands_nothing_over(post: Post) -> None:
    post.do(permit)
    post.scan()
    slow = post.sender()
    lease, letter = post.lease(slow)
    post.later(seconds=LEASE + 1)
    assert slow.send(lease, letter).delivered == 0
    assert post.messages() == []
    assert post.states() == ["pending"]
    assert post.send().delivered == 1


def test_what_is_refused_at_the_dot_was_not_told(post: Post) -> None:
    post.do(permit)
    post.scan()
    post.server.play({"DOT": ["554 5.7.1 no"]})
    assert post.send().failed == 1
    assert post.rows("x.state, x.reason, x.handed_over_at") == [("failed", "refused", None)]
    assert post.messages() == []


def test_a_mail_server_that_is_down_burns_no_try_and_is_left_alone(post: Post) -> None:
    post.do(permit)
    post.scan()
    post.server.play({"GREETING": ["421 4.3.2 not now"]})
    assert post.send().delivered == 0
    assert post.rows("x.state, x.attempts") == [("pending", 0)]
    ((reason,),) = post.watch.rows("select reason from mail_transport")
    assert "421" in reason
    post.server.play({})
    post.server.forget()
    mail_tick(post.sender())
    assert post.server.events("connect") == [], "left alone until it is tried again"
    post.later(seconds=20)
    assert mail_tick(post.sender())[0].delivered == 1
    assert post.watch.rows("select opened_at, faults from mail_transport") == [(None, 0)]


def test_a_line_that_breaks_before_the_dot_is_the_transports(post: Post) -> None:
    post.do(permit)
    post.scan()
    post.server.play({"DATA": ["drop", "ok"]})
    assert post.send().delivered == 0
    assert post.rows("x.state, x.attempts") == [("pending", 0)]
    assert post.send().delivered == 1
    assert len(post.messages()) == 1


def test_more_than_fifty_alerts_are_counted_and_all_delivered(post: Post) -> None:
    post.do(lambda act: [permit(act, f"N-{n:02}") for n in range(60)])
    post.scan()
    assert post.send().delivered == 60
    assert len(post.messages()) == 1


def test_people_do_not_wait_for_each_other(post: Post) -> None:
    def both(act: Any) -> None:
        factories.rule(act, "Both", ("30d",), ("role:officer",), ("email",))
        permit(act)

    post.do(both)
    post.scan()
    post.server.play({"to": {"ana@acme.example": {"RCPT": ["550 5.1.1 unknown"]}}})
    done = post.send()
    assert (done.delivered, done.failed) == (1, 2)
    assert [one["rcpts"] for one in post.messages()] == [["berta@acme.example"]]


def test_a_member_without_email_alerts_is_not_mailed(post: Post) -> None:
    post.do(permit)
    post.scan()
    post.do(lambda act: people.set_email_alerts(act, people.find_member(act, "ana@acme.example").id, wanted=False))
    post.send()
    assert post.messages() == []
    assert post.rows("x.state") == [("cancelled",)]


def test_a_role_changed_before_sending_is_seen(post: Post) -> None:
    def by_role(act: Any) -> None:
        factories.rule(act, "Role", ("30d",), ("role:officer",), ("email",))
        permit(act)

    post.do(by_role)
    post.scan()
    member = post.watch.acme.members["berta@acme.example"]
    post.do(lambda act: members.change_member(act, member, "Berta", "staff", None))
    post.send()
    assert [one["rcpts"] for one in post.messages()] == [["ana@acme.example"]]
