"""What comes late, or not at all: answers after a doubt, workers that are gone, commits of which nobody knows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import pytest

from app.channels.message import Composed, silent
from app.domain.delivery import Fate, Outcome, Reply
from app.ledger.hand_over import settle
from app.ledger.sweep import leave
from app.operations import doubts, obligations
from app.scheduler import sender as sender_module
from app.scheduler.heartbeat import Heartbeat
from tests.mail.conftest import LEASE, Post, obligation_of, permit

TAKEN = Reply(Outcome.delivered, "dot", "250 2.0.0 queued as 7")


@dataclass
class Scripted:
    """A line on which the test decides what happens once the message is marked, and before."""

    after_mark: Callable[[], Reply] = lambda: TAKEN
    before_mark: Callable[[], None] = lambda: None
    marked: list[bool] = None  # type: ignore[assignment]
    answer_within: float = 5.0

    def send(self, composed: Composed, mark: Callable[[], bool], passed: Callable[[str], None] = silent) -> Reply:
        self.before_mark()
        ours = mark()
        self.marked = [*(self.marked or []), ours]
        return self.after_mark() if ours else Reply(Outcome.lost_lease, "mark", "not ours")

    def ready(self) -> Reply | None:
        return None

    def close(self) -> None:
        """Nothing is open."""

    drop = close


def told(post: Post) -> bool:
    return bool(post.rows("1", "x.state in ('handing_over', 'delivered', 'bounced', 'in_doubt')"))


def handed_over(post: Post, holder: Any = None) -> Any:
    """A message that was marked, and whose worker then was gone: the sender and the lease."""
    post.do(permit)
    post.scan()

    def vanish() -> Reply:
        raise SystemExit

    worker = post.sender(Scripted(after_mark=vanish))
    if holder is not None:
        worker.holder = holder
    lease, letter = post.lease(worker)
    with pytest.raises(SystemExit):
        worker.send(lease, letter)
    assert post.states() == ["handing_over"]
    return worker, lease


def test_p3_an_abandoned_hand_over_is_a_doubt_and_never_sent_by_machine(post: Post) -> None:
    handed_over(post)
    post.later(seconds=LEASE - 1).send()
    assert post.states() == ["handing_over"]
    for _ in range(5):
        post.later(minutes=30).send()
    assert post.rows("x.state, x.reason") == [("in_doubt", "abandoned")]
    assert post.messages() == []


def test_a_hand_over_of_a_living_process_is_waited_for_until_no_answer_can_come(post: Post) -> None:
    heartbeat = Heartbeat("command")
    handed_over(post, heartbeat.id)
    post.later(seconds=LEASE + 4)
    heartbeat.beat()
    post.send()
    assert post.states() == ["handing_over"]
    post.later(seconds=2)
    heartbeat.beat()
    post.send()
    assert post.rows("x.state, x.reason") == [("in_doubt", "abandoned")]


@pytest.mark.parametrize(
    ("late", "state"),
    [
        (TAKEN, "delivered"),
        (Reply(Outcome.retry, "dot", "451 4.3.0 later"), "pending"),
        (Reply(Outcome.failed, "dot", "554 5.7.1 no"), "failed"),
        (Reply(Outcome.transport, "dot", "421 4.3.2 closing"), "pending"),
    ],
    ids=lambda one: one.outcome if isinstance(one, Reply) else one,
)
def test_a_late_answer_of_the_same_token_settles_the_doubt(post: Post, late: Reply, state: str) -> None:
    _, lease = handed_over(post)
    post.later(minutes=30).send()
    assert post.states() == ["in_doubt"]
    with post.watch.acme.watching() as act:
        assert settle(act, lease, late) == 1
    assert post.states() == [state]
    assert told(post) is (state == "delivered")


def test_a_late_answer_after_a_persons_decision_moves_nothing_and_is_kept(post: Post) -> None:
    _, lease = handed_over(post)
    post.later(minutes=30).send()
    ((doubt,),) = post.rows("x.id")
    post.do(lambda act: doubts.resolve(act, doubt, "resend"))
    with post.watch.acme.watching() as act:
        assert settle(act, lease, TAKEN) == 0
    assert post.rows("x.state, x.resolution") == [("in_doubt", "resend"), ("pending", None)]
    assert ("late: delivered", TAKEN.text) in post.watch.rows("select outcome, reply from delivery_attempt")
    assert ("late_answer",) in post.watch.rows("select type from audit_event")


def test_an_answer_under_a_foreign_token_moves_nothing(post: Post) -> None:
    _, lease = handed_over(post)
    with post.watch.acme.watching() as act:
        assert settle(act, replace(lease, token=uuid4()), TAKEN) == 0
    assert post.states() == ["handing_over"]


def test_a_process_that_must_stop_writes_its_doubts_and_gives_its_leases_back(post: Post) -> None:
    worker, _ = handed_over(post)
    post.do(lambda act: permit(act, "P-2", dt.date(2027, 3, 30)))
    post.scan()
    post.lease(worker)
    with post.watch.acme.watching() as act:
        left = leave(act, worker.holder)
    assert (left.retried, left.in_doubt) == (1, 1)
    assert post.rows("x.state, x.reason, x.attempts") == [("in_doubt", str(Fate.stopped), 1), ("pending", None, 0)]


def test_h25_a_commit_of_which_nobody_knows_is_given_back_and_sent_once(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit may have been made: the worker lives and knows that it wrote no dot."""
    post.do(permit)
    post.scan()

    def lost(name: str) -> None:
        if name == "mail_commit_sent" and not lost_once:
            lost_once.append(name)
            raise sender_module.failpoints.Failed(name)

    lost_once: list[str] = []
    monkeypatch.setattr(sender_module.failpoints, "reached", lost)
    assert post.send().delivered == 1
    assert lost_once == ["mail_commit_sent"]
    assert len(post.messages()) == 1
    assert len(post.server.events("unfinished")) == 1
    assert post.watch.rows("select outcome from delivery_attempt order by id") == [("lost_lease",), ("delivered",)]
    assert post.rows("x.state, x.attempts") == [("delivered", 1)]


def test_a_refusal_at_the_dot_gives_the_alert_back_to_the_judge(post: Post) -> None:
    """The 30-day message is refused after its mark; by then the 7-day alert is there: only that one goes out."""
    post.do(permit)
    post.scan()
    worker = post.sender(Scripted(after_mark=lambda: Reply(Outcome.retry, "dot", "451 4.3.0 later")))
    lease, letter = post.lease(worker)
    worker.send(lease, letter)
    assert not told(post)
    post.at(dt.datetime(2027, 3, 24, 8, tzinfo=dt.UTC)).scan()
    post.send()
    assert post.watch.ledger() == {"30d": "superseded (sharper)", "7d": "open"}
    assert len(post.messages()) == 1


def test_what_is_handed_over_is_not_withdrawn_any_more(post: Post) -> None:
    handed_over(post)
    subject = post.watch.rows("select subject_id from notification_ledger")[0][0]
    post.do(lambda act: obligations.close(act, obligation_of(act, subject), "met"))
    post.send()
    assert post.watch.ledger() == {"30d": "open"}
    assert post.states() == ["handing_over"]
