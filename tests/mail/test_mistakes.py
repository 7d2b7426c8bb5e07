"""An import that was entered in error, seen from the post: what was not told never leaves, what was told is listed."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from flask import Flask

from app.domain.acts import Answer
from app.domain.errors import Refused
from app.imports.register import Options, import_register, read_register
from app.ledger import answers
from app.operations import mistakes, register
from app.operations.mistake_plan import Plan
from app.queries.facts import read_facts
from app.queries.imports import read_run
from app.queries.mistakes import Told, count_told, read_entered, read_told
from app.queries.owed import owed
from app.trail.act import Act
from tests import factories
from tests.factories import Acme
from tests.mail.conftest import BEGIN, Post
from tests.mail.test_durable import both, office  # noqa: F401  (fixture)
from tests.scheduler.conftest import Database, until

ANA, BERTA = "ana@acme.example", "berta@acme.example"
FILE = b"reference,due_on\nP-1,2027-03-31\n"


def bring(act: Act, source: bytes = FILE, start: str = "now") -> int:
    asked = Options(start=start)
    run = import_register(act, read_register(source, "register.csv", asked), asked).import_run_id
    assert run is not None
    return run


def told(post: Post, run_id: int) -> list[Told]:
    """What is listed as told; the count says the same."""

    def read(act: Act) -> list[Told]:
        run = read_run(act.session, act.org, run_id)
        assert run is not None
        entered = read_entered(act.session, act.org, run)
        found = read_told(act.session, act.org, run, entered)
        assert count_told(act.session, act.org, run, entered) == len(found)
        return found

    listed: list[Told] = post.do(read)
    return listed


def nothing_owed(post: Post) -> None:
    post.scan()
    with post.watch.acme.watching() as act:
        assert owed(read_facts(act.session, act.org), act.now).count == 0


def tell_some(post: Post, start: str = "now") -> int:
    """An alert may have reached Ana by e-mail, has reached Berta in the app, and waits to reach her by e-mail."""

    def furnish(act: Act) -> int:
        for name, channel in (("App", "in_app"), ("Mail", "email")):
            factories.rule(act, name, ("30d",), (f"member:{BERTA}",), (channel,))
        return bring(act, start=start)

    run: int = post.do(furnish)
    post.server.play({"to": {ANA: {"DOT": ["drop after", "ok"]}, BERTA: {"RCPT": ["451 4.7.1 later", "ok"]}}})
    post.scan()
    post.send()
    assert states(post) == {(ANA, "email", "in_doubt"), (BERTA, "in_app", "delivered"), (BERTA, "email", "pending")}
    return run


def states(post: Post) -> set[tuple[Any, ...]]:
    sql = "select m.email, d.channel, d.state from delivery d join member m on m.id = d.recipient_id"
    return set(post.watch.rows(sql))


def answer(post: Post, said: Answer) -> None:
    claim = "select claim_id from delivery where channel = 'in_app'"
    [(claim_id,)] = post.watch.rows(claim)
    member = post.watch.acme.members[BERTA]
    post.do(lambda act: answers.acknowledge_once(act, claim_id=claim_id, member_id=member, answer=said))


def test_what_was_not_told_never_leaves_and_what_was_told_is_listed(post: Post) -> None:
    run = tell_some(post)
    answer(post, Answer.not_mine)
    before = len(post.messages())
    post.later(minutes=5)
    listed = {(one.person, one.channel, one.state, one.answer) for one in told(post, run)}
    assert listed == {("Ana", "email", "in_doubt", None), ("Berta", "in_app", "delivered", "not_mine")}
    post.do(lambda act: mistakes.enter_in_error(act, run, "The wrong file."))
    for _ in range(3):
        post.later(hours=6).send()
    assert len(post.messages()) == before
    assert states(post) == {(ANA, "email", "in_doubt"), (BERTA, "in_app", "delivered"), (BERTA, "email", "cancelled")}
    assert {(one.person, one.channel, one.state, one.answer) for one in told(post, run)} == listed
    assert {(one.reference, one.threshold, str(one.due_on), one.at) for one in told(post, run)} == {
        ("P-1", "30d", "2027-03-31", BEGIN)
    }
    nothing_owed(post)


def test_what_a_sender_holds_already_does_not_leave(post: Post) -> None:
    run = post.do(bring)
    post.scan()
    sender = post.sender()
    lease, letter = post.lease(sender)
    assert states(post) == {(ANA, "email", "leased")}
    post.do(lambda act: mistakes.enter_in_error(act, run))
    assert states(post) == {(ANA, "email", "cancelled")}
    assert sender.send(lease, letter).delivered == 0
    assert post.messages() == []
    assert told(post, run) == []
    nothing_owed(post)


@pytest.mark.parametrize(("start", "more"), [("now", 1), ("next", 0)])
def test_p1_the_right_file_tells_again_only_what_nobody_was_told(post: Post, start: str, more: int) -> None:
    """Berta's e-mail had waited. Ana's may have arrived and the one in the app has: neither is sent again."""
    run = tell_some(post)
    post.later(minutes=5)
    post.do(lambda act: mistakes.enter_in_error(act, run))
    post.later(hours=6).send()
    nothing_owed(post)
    before = len(post.messages())
    post.do(lambda act: bring(act, start=start))
    nothing_owed(post)
    for _ in range(2):
        post.later(hours=6).send()
    assert len(post.messages()) == before + more
    assert post.watch.rows("select count(*) from notification_ledger where threshold = '30d'") == [(3,)]
    left = "delivered" if more else "cancelled"
    assert states(post) == {(ANA, "email", "in_doubt"), (BERTA, "in_app", "delivered"), (BERTA, "email", left)}
    assert {one.channel for one in told(post, run)} == {"in_app", "email"}
    assert len(told(post, run)) == 2, "what the right file tells is none of the wrong one's"
    nothing_owed(post)


@pytest.mark.parametrize("start", ["now", "next"])
def test_an_alert_that_reached_some_goes_to_the_others_when_the_entry_is_back(post: Post, start: str) -> None:
    """What was told is final: with the next alert, too, it is the same alert, and still open."""

    def furnish(act: Act) -> int:
        factories.rule(act, "Both", ("30d",), (f"member:{ANA}", f"member:{BERTA}"), ("email",))
        act.run("update alert_rule set is_active = false where name <> 'Both'")
        return bring(act)

    run = post.do(furnish)
    post.server.play({"to": {BERTA: {"RCPT": ["451 4.7.1 later", "ok"]}}})
    post.scan()
    post.send()
    post.do(lambda act: mistakes.enter_in_error(act, run))
    assert states(post) == {(ANA, "email", "delivered"), (BERTA, "email", "cancelled")}
    post.later(hours=6).do(lambda act: bring(act, start=start))
    nothing_owed(post)
    assert post.send().delivered == 1
    assert [message["rcpts"] for message in post.messages()] == [[ANA], [BERTA]]


def test_another_date_of_the_right_file_is_news(post: Post) -> None:
    run = tell_some(post)
    post.do(lambda act: mistakes.enter_in_error(act, run))
    post.later(hours=6).send()
    post.do(lambda act: bring(act, FILE.replace(b"03-31", b"03-30")))
    nothing_owed(post)
    post.server.play({})
    assert post.send().delivered == 3


@pytest.mark.real_commits
def test_of_two_at_once_one_takes_it_back(real_app: Flask, office: Acme, database: Database) -> None:  # noqa: F811
    with office.acting() as act:
        run = bring(act, FILE.replace(b"P-1", b"Q-1"))

    def enter() -> object:
        with office.acting() as act:
            return mistakes.enter_in_error(act, run).counts["archived"]

    results = both(real_app, [enter, enter])
    assert [one for one in results if isinstance(one, int)] == [1]
    [refused] = [one for one in results if isinstance(one, Refused)]
    assert "entered in error already" in str(refused)
    sql = "select type, count(*) from audit_event where detail ->> 'import_in_error' = %s group by 1 order by 1"
    done = [("obligation_closed", 1), ("subject_archived", 1)]
    assert database.rows(sql.replace("%s", f"'{run}'")) == done
    assert database.rows("select count(*) from audit_event where type = 'import_entered_in_error'") == [(1,)]


@pytest.mark.real_commits
def test_work_that_is_under_way_is_waited_for_and_left(real_app: Flask, office: Acme, database: Database) -> None:  # noqa: F811
    """Somebody changes an entry and has not committed while the import is taken back."""
    with office.acting() as act:
        run = bring(act, FILE.replace(b"P-1", b"Q-1"))
    plans: list[Plan] = []

    def enter() -> None:
        with real_app.app_context(), office.acting() as act:
            plans.append(mistakes.enter_in_error(act, run))

    late = threading.Thread(target=enter)
    with office.acting() as act:
        register.retitle(act, register.find_subject(act, "Q-1"), "Mended")
        late.start()
        until(lambda: database.waiting("transactionid") == 1, "the import waits for the entry")
    late.join()
    assert [(plan.counts["archived"], plan.counts["left"]) for plan in plans] == [(0, 1)]
    assert database.rows("select status, title from subject where reference = 'Q-1'") == [("watched", "Mended")]
