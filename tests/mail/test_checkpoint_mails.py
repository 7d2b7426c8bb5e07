"""The seal of each day by mail: to whom was chosen, once a day however often it is tried, and good to verify with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.database import SCHEDULER
from app.domain.errors import Refused
from app.domain.trials import TrialEnd
from app.ledger.checkpoint_mails import ask_for_checkpoints
from app.operations import people
from app.operations.checkpoint_readers import choose, set_reader
from app.operations.trials import ask_for_trial
from app.queries.checkpoint_mails import CheckpointMail, read_checkpoint_mails, read_readers
from app.queries.trials import read_last_trial
from app.trail.seal import seal
from app.verifier import Key, read_given
from tests.mail.conftest import Post
from tests.mail.test_sending import parsed, text_of
from tests.trail.conftest import signer_of

ANA = "ana@acme.example"
SIGNER = signer_of(1)


def watch(post: Post, deed: Any) -> Any:
    with post.watch.acme.acting(post.now, SCHEDULER, "system:scheduler") as act:
        return deed(act)


def sealed(post: Post) -> str:
    return str(watch(post, lambda act: seal(act, SIGNER)).note)


def ask(post: Post) -> int:
    return int(watch(post, ask_for_checkpoints))


def mails(post: Post) -> list[CheckpointMail]:
    return list(post.do(lambda act: read_checkpoint_mails(act.session, act.org)))


def test_p3_each_day_it_goes_once_to_whom_was_chosen_and_verifies(post: Post, tmp_path: Path) -> None:
    ana = post.watch.acme.members[ANA]
    assert ask(post) == 0, "nobody is chosen by default"
    assert post.do(lambda act: set_reader(act, ana, True))
    assert not post.do(lambda act: set_reader(act, ana, True))
    assert ask(post) == 0, "nothing is sealed"
    note = sealed(post)
    assert [ask(post), ask(post)] == [1, 0]
    post.send()
    post.later(minutes=5).send()
    assert ask(post) == 0
    (message,) = post.messages()
    assert message["rcpts"] == [ANA]
    assert "Seal of the history, to keep" in parsed(message)["Subject"]
    body = text_of(message)
    assert note.strip() in body.replace("\r\n", "\n")
    (tmp_path / "kept.txt").write_text(body.split("-" * 40)[1])
    (kept,) = read_given(str(tmp_path / "kept.txt"))
    assert kept.signers([key := Key(SIGNER.key.text)]) == {key}
    (mail,) = mails(post)
    assert (mail.outcome, mail.person, mail.sent_to) == (TrialEnd.taken, "Ana", ANA)
    assert post.do(lambda act: read_last_trial(act.session, act.org)) is None, "it is no test mail"
    types = post.watch.rows(
        "select type from audit_event where type like '%checkpoint%' or type like 'mail_%' order by id"
    )
    assert [type for (type,) in types] == [
        "daily_checkpoint_changed", "checkpoint_mail_asked", "checkpoint_mail_handed_over", "checkpoint_mail_settled",
    ]  # fmt: skip
    post.later(hours=24)
    assert ask(post) == 1
    assert post.do(lambda act: ask_for_trial(act, ana, post.settings)), "a test mail may be asked for beside it"
    post.send()
    assert len(post.messages()) == 3


def test_what_cannot_leave_is_said_and_never_sent_late(post: Post) -> None:
    """It waits for most of a day, longer than a test mail, and is lost for that day then; whoever left gets none."""
    ana = post.watch.acme.members[ANA]
    post.do(lambda act: set_reader(act, ana, True))
    sealed(post)
    ask(post)
    post.server.play({"EHLO": ["drop"] * 50})
    post.send()
    assert [mail.outcome for mail in mails(post)] == [None]
    post.server.play({})
    post.later(hours=21).send()
    assert ([mail.outcome for mail in mails(post)], post.messages()) == ([TrialEnd.too_late], [])
    post.do(lambda act: people.disable_member(act, ana))
    post.later(hours=24)
    assert ask(post) == 0


def test_only_members_with_an_address_can_be_chosen(post: Post) -> None:
    ana = post.watch.acme.members[ANA]
    nobody = post.watch.acme.members["berta@acme.example"]
    post.do(lambda act: act.run("update member set email = null where id = :id", {"id": nobody}))
    with pytest.raises(Refused, match="has no e-mail address"):
        post.do(lambda act: choose(act, [nobody]))
    with pytest.raises(LookupError):
        post.do(lambda act: choose(act, [ana, 10**9]))
    assert post.do(lambda act: choose(act, [ana]))
    chosen = post.do(lambda act: [one.id for one in read_readers(act.session, act.org) if one.is_chosen])
    assert chosen == [ana]
    assert post.do(lambda act: choose(act, []))
