"""Test mails: sent once by the sender's own line, never again by themselves, and never an alert (P3)."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from app import failpoints
from app.channels.outbox import OutboxChannel
from app.channels.smtp import SmtpChannel
from app.domain.errors import Refused
from app.domain.trials import TrialEnd
from app.ledger import holds
from app.models import Member
from app.operations import people
from app.operations.trials import ask_for_trial
from app.queries.trials import Trial, read_last_trial
from app.scheduler import breaker, trials
from app.scheduler.mail_tick import mail_tick
from app.scheduler.rounds import organisations
from app.scheduler.sender import Sender
from app.scheduler.trials import Posting, send_trials, send_trials_of
from tests.mail.conftest import Post, permit
from tests.mail.test_sending import parsed, text_of

ANA = "ana@acme.example"


def ask(post: Post, address: str = ANA) -> int:
    return int(post.do(lambda act: ask_for_trial(act, post.watch.acme.members[address], post.settings)))


def last(post: Post) -> Trial:
    found = post.do(lambda act: read_last_trial(act.session, act.org))
    assert found is not None
    return found


def events(post: Post) -> list[Any]:
    return post.watch.rows(
        "select type, actor, detail ->> 'outcome' from audit_event where type like 'mail_trial%' order by id"
    )


def test_p3_a_test_mail_is_sent_once_and_its_answer_is_kept(post: Post) -> None:
    ask(post)
    assert (last(post).is_open, last(post).handed_over_at) == (True, None)
    post.send()
    post.later(minutes=5).send()
    (message,) = post.messages()
    found = last(post)
    assert (found.outcome, found.sent_to, found.person) == (TrialEnd.taken, ANA, "Ana")
    assert found.reply is not None
    assert found.reply.startswith("250 2.0.0 queued as")
    assert found.handed_over_at == found.settled_at == post.now - dt.timedelta(minutes=5)
    assert message["rcpts"] == [ANA]
    assert parsed(message)["Auto-Submitted"] == "auto-generated"
    assert "This is a test mail." in text_of(message)
    assert [(kind, outcome) for kind, _, outcome in events(post)] == [
        ("mail_trial_asked", None), ("mail_trial_handed_over", None), ("mail_trial_settled", "taken"),
    ]  # fmt: skip
    assert {actor for _, actor, _ in events(post)} == {"system:operator", "system:scheduler"}


@pytest.mark.parametrize("forced", [True, False])
def test_it_counts_as_no_alert_anywhere(post: Post, forced: bool) -> None:
    ask(post)
    done, errors = mail_tick(post.sender(), post.watch.acme.org, forced=forced)
    assert (sum(vars(done).values()), errors) == (0, [])
    assert len(post.messages()) == 1
    for table in ("delivery", "notification_ledger", "mail_message", "delivery_attempt"):
        assert post.watch.rows(f"select 1 from {table}") == [], table
    assert post.scan().claimed == 0
    assert (post.watch.owed().missing, post.watch.owed().stalled) == ([], [])


@pytest.mark.parametrize(
    ("script", "end", "reply"),
    [
        ({"RCPT": ["550 5.1.1 unknown"]}, TrialEnd.refused, "550 5.1.1 unknown"),
        ({"DOT": ["554 5.7.1 spam"]}, TrialEnd.refused, "554 5.7.1 spam"),
        ({"RCPT": ["451 4.7.1 later"]}, TrialEnd.put_off, "451 4.7.1 later"),
        ({"DOT": ["451 4.3.0 later"]}, TrialEnd.put_off, "451 4.3.0 later"),
        ({"DATA": ["drop"]}, TrialEnd.broken, "the connection"),
        ({"DOT": ["421 4.3.2 closing"]}, TrialEnd.broken, "421 4.3.2 closing"),
    ],
)
def test_what_the_server_says_is_kept_and_it_is_not_tried_again(
    post: Post, script: dict[str, Any], end: TrialEnd, reply: str
) -> None:
    ask(post)
    post.server.play(script)
    post.send()
    found = last(post)
    assert found.outcome is end
    assert reply in str(found.reply)
    post.server.play({})
    post.later(minutes=5).send()
    assert post.messages() == []
    assert events(post)[-1][2] == str(end)
    with post.watch.acme.watching() as act:
        assert not breaker.is_open(act.session)  # One test mail says nothing of the alerts.


def test_p3_a_line_lost_after_the_dot_is_in_doubt_and_nothing_is_sent_again(post: Post) -> None:
    ask(post)
    post.server.play({"DOT": ["drop after", "ok"]})
    post.send()
    assert last(post).outcome is TrialEnd.no_answer
    for _ in range(5):
        post.later(minutes=20).send()
    assert len(post.messages()) == 1


@pytest.mark.parametrize(("point", "taken"), [("mail_after_hand", 0), ("mail_after_dot", 1)])
def test_p3_a_sender_that_dies_after_the_mark_leaves_a_doubt(
    post: Post, monkeypatch: pytest.MonkeyPatch, point: str, taken: int
) -> None:
    class Died(BaseException):
        """The process is gone: not even its own clean-up runs."""

    def die(reached: str) -> None:
        if reached == point:
            raise Died

    ask(post)
    with monkeypatch.context() as patch:
        patch.setattr(failpoints, "reached", die)
        with pytest.raises(Died):
            post.send()
    assert (last(post).is_open, last(post).handed_over_at) == (True, post.now)
    post.later(minutes=1).send()
    assert last(post).is_open  # Its sender may still be waiting for the answer.
    post.later(minutes=20).send()
    assert last(post).outcome is TrialEnd.no_answer
    assert events(post)[-1][2] == "no_answer"
    if taken:
        post.server.until("message")
    assert len(post.messages()) == taken


def test_a_late_answer_settles_the_doubt(post: Post) -> None:
    ask(post)
    sender = post.sender()
    taken = SmtpChannel.send

    def slow(self: SmtpChannel, *given: Any) -> Any:
        reply = taken(self, *given)
        post.later(minutes=30)
        send_trials(other, post.watch.acme.org)
        assert last(post).outcome is TrialEnd.no_answer
        return reply

    other = post.sender()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SmtpChannel, "send", slow)
        send_trials(sender, post.watch.acme.org)
    assert last(post).outcome is TrialEnd.taken


def test_p3_of_two_senders_with_the_whole_message_one_releases_it(post: Post) -> None:
    """Both have sent the body before the first of them marks: the other cuts its line, and settles nothing."""
    ask(post)
    first, second = post.sender(), post.sender()
    mark = Posting.mark

    def other_first(posting: Posting) -> bool:
        if posting.sender is first:
            send_trials(second, post.watch.acme.org)
        return mark(posting)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Posting, "mark", other_first)
        send_trials(first, post.watch.acme.org)
    assert len(post.messages()) == 1
    assert post.server.until("unfinished"), "the body of the first was sent, and its final dot was not"
    assert last(post).outcome is TrialEnd.taken
    assert [kind for kind, _, _ in events(post)].count("mail_trial_settled") == 1


def test_a_refusal_to_one_sender_does_not_settle_what_another_is_sending(post: Post) -> None:
    ask(post)
    first, second = post.sender(), post.sender()
    post.server.play({"RCPT": ["ok", "550 5.1.1 unknown"]})
    mark = Posting.mark

    def marks_then_other(posting: Posting) -> bool:
        due = Posting(second, posting.org, posting.trial)
        marked = mark(posting)
        due.send()
        return marked

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Posting, "mark", marks_then_other)
        send_trials(first, post.watch.acme.org)
    assert last(post).outcome is TrialEnd.taken


def test_a_server_that_is_down_opens_the_breaker_and_the_test_mail_waits(post: Post) -> None:
    ask(post)
    post.server.play({"GREETING": ["421 4.3.2 not now"]})
    post.send()
    assert last(post).is_open
    with post.watch.acme.watching() as act:
        assert breaker.is_open(act.session)
    post.server.play({})
    mail_tick(post.sender(), post.watch.acme.org)
    assert (last(post).is_open, post.messages()) == (True, [])
    post.later(minutes=6)
    mail_tick(post.sender(), post.watch.acme.org)
    assert last(post).outcome is TrialEnd.taken
    with post.watch.acme.watching() as act:
        assert not breaker.is_open(act.session)


def test_after_an_hour_it_is_not_sent_any_more(post: Post) -> None:
    ask(post)
    post.later(minutes=60).send()
    assert last(post).outcome is TrialEnd.too_late
    assert post.messages() == []
    assert events(post)[-1][2] == "too_late"


def test_nothing_that_a_restored_database_may_have_sent_before_is_sent(post: Post) -> None:
    ask(post)
    with post.watch.acme.watching() as act:
        holds.hold(act, "the database was restored")
    post.later(minutes=1).send()
    assert (last(post).is_open, post.messages()) == (True, [])
    with post.watch.acme.watching() as act:
        holds.release(act, None)
    post.later(minutes=1).send()
    assert post.messages() == []
    ask(post)
    post.send()
    assert len(post.messages()) == 1


def test_whoever_was_disabled_meanwhile_gets_none(post: Post) -> None:
    ask(post)
    post.do(lambda act: people.disable_member(act, post.watch.acme.members[ANA]))
    post.send()
    assert (last(post).is_open, post.messages()) == (True, [])


def test_a_sender_that_is_asked_to_stop_begins_none(post: Post) -> None:
    ask(post)
    sender = post.sender()
    sender.stop.set()
    assert send_trials(sender, post.watch.acme.org) == []
    assert (last(post).is_open, post.server.events("connect")) == (True, [])


def test_it_goes_before_the_alerts_and_leaves_them_alone(post: Post) -> None:
    post.do(permit)
    post.scan()
    ask(post)
    post.server.play({"RCPT": ["550 5.1.1 unknown", "ok"]})
    assert post.send().delivered == 1
    assert last(post).outcome is TrialEnd.refused
    assert "29 days left" in text_of(post.messages()[0])


def test_files_take_one_too(post: Post, tmp_path: Any) -> None:
    ask(post)
    sender = Sender(post.settings, OutboxChannel(tmp_path / "outbox"), post.sender().holder)
    for _ in range(2):
        assert send_trials(sender, post.watch.acme.org) == []
    (file,) = (tmp_path / "outbox").iterdir()
    assert file.name.endswith(".eml")
    assert file.name in str(last(post).reply)
    assert last(post).outcome is TrialEnd.filed  # It reached nobody, and shows nothing of a mail server.


def test_at_most_one_a_minute_a_member(post: Post) -> None:
    ask(post)
    post.later(seconds=59)
    with pytest.raises(Refused, match="less than a minute ago"):
        ask(post)
    ask(post, "berta@acme.example")
    post.later(seconds=1)
    ask(post)


def test_who_gets_none_is_told_why(post: Post) -> None:
    def furnish(act: Any) -> None:
        mute = Member(org_id=act.org, name="Mute", role="staff")
        act.session.add(mute)
        act.session.flush()
        post.watch.acme.members["mute"] = mute.id
        people.disable_member(act, post.watch.acme.members[ANA])

    post.do(furnish)
    with pytest.raises(Refused, match="no e-mail address"):
        ask(post, "mute")
    with pytest.raises(Refused, match="not active"):
        ask(post)


def test_one_organisation_that_fails_stops_no_other(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(post)
    found = list(organisations(None))

    def fails_first(sender: Sender, org: int) -> None:
        if org == 0:
            raise ValueError("no such thing")
        send_trials_of(sender, org)

    monkeypatch.setattr(trials, "organisations", lambda only: [(0, "broken"), *found])
    monkeypatch.setattr(trials, "send_trials_of", fails_first)
    assert [error["org"] for error in send_trials(post.sender(), None)] == ["broken"]
    assert len(post.messages()) == 1
