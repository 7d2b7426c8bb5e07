"""What is said to be done, with a photo: accepted on the day it was done, or sent back with words."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, text

from app.domain.errors import Refused
from app.ledger.align import deliver
from app.ledger.scan import scan
from app.models import Acknowledgement, Attachment, AuditEvent, Kind, Obligation
from app.operations import (
    answer_checks,
    answers,
    attachments,
    departures,
    people,
    proofs,
    register,
    reopenings,
)
from app.operations.attachments import SentFile
from app.queries.answer_files import read_sent_files
from app.queries.facts import read_facts
from app.queries.inbox import Alert, count_unread, new_to, read_inbox
from app.queries.owed import owed
from app.queries.queues import Queue, Waiting, read_queue
from app.queries.sight import read_sight
from app.trail.act import Act
from tests import factories
from tests.factories import Acme
from tests.operations.story import march
from tests.operations.test_races import at_once
from tests.people import OFFICER, STAFF

PHOTO = SentFile("IMG_0641.HEIC", b"\x00\x00\x00\x18ftypheic" + b"photo")
MANAGER = "carla@acme.example"
WORDS = "The label of the bottle cannot be read."


class Shift:
    """Bruno is told of P-1, due on 20 March, 30 days before; Carla 7 days before, only if nobody is on it."""

    def __init__(self, acme: Acme) -> None:
        self.acme = acme
        with acme.acting() as act:
            self.ana, self.bruno = (
                factories.member(act, who, role) for who, role in ((OFFICER, "officer"), (STAFF, "staff"))
            )
            self.carla = factories.member(act, MANAGER, "staff")
            self.subject_id = factories.subject(act, "P-1", march(20), owner_member_id=self.bruno, recurrence="1m").id
            factories.rule(act, "Permits", ("30d",), to=("owner",))
            factories.rule(act, "Manager", ("7d",), to=(f"member:{MANAGER}",), only_if="nobody_on_it")
        self.tick()

    def tick(self, now: dt.datetime | None = None) -> None:
        for deed in (scan, deliver):
            with self.acme.watching(now) as act:
                deed(act)
        with self.acme.acting(now) as act:
            assert owed(read_facts(act.session, act.org), act.now).count == 0

    def say(self, said: str, **given: Any) -> answers.Answered:
        with self.acme.acting() as act:
            return answers.acknowledge(
                act, people.find_member(act, STAFF), register.find_subject(act, "P-1"), said, **given
            )

    def waiting(self, queue: Queue) -> list[Waiting]:
        with self.acme.acting() as act:
            return read_queue(act.session, read_sight(act.session, act.org, 0, act.now), queue).rows

    def check(self) -> int:
        [row] = self.waiting(Queue.check)
        return int(row.answer_id or 0)

    def inbox(self, member_id: int) -> list[Alert]:
        with self.acme.acting() as act:
            return read_inbox(act.session, read_sight(act.session, act.org, member_id, act.now), member_id)

    def dates(self) -> list[tuple[dt.date, str | None, dt.date | None, int | None]]:
        with self.acme.acting() as act:
            rows = act.session.scalars(select(Obligation).order_by(Obligation.due_on))
            return [(row.due_on, row.outcome, row.met_on, row.closed_by) for row in rows]

    def event(self, type: str) -> dict[str, Any]:
        with self.acme.acting() as act:
            return dict(act.session.scalars(select(AuditEvent.detail).where(AuditEvent.type == type)).one())


@pytest.fixture
def shift(acme: Acme) -> Shift:
    return Shift(acme)


def test_a_photo_is_kept_as_it_was_sent_and_hashed_into_the_trail(shift: Shift) -> None:
    assert shift.say("done", done_on=march(1), file=PHOTO, note="Two litres").changed
    assert not shift.say("done", done_on=march(1), file=PHOTO, note="Two litres").changed  # A second tap.
    assert not shift.say("done", done_on=march(1), note="Two litres").changed  # It says no more than the first.
    with shift.acme.acting() as act:
        [kept] = act.session.scalars(select(Attachment))
        assert (kept.content, kept.file_name, kept.media_type) == (PHOTO.content, "IMG_0641.HEIC", "image/heic")
        assert (kept.document_id, kept.added_by) == (None, shift.bruno)
        sha256 = kept.sha256
    assert shift.event("acknowledged")["file"]["sha256"] == sha256
    other = SentFile("b.pdf", b"%PDF-1.7\n")
    assert shift.say("done", done_on=march(1), file=other, note="Two litres").changed  # Another photo is news.
    assert [row.on for row in shift.waiting(Queue.check)] == [march(1)]


def test_the_photo_of_an_answer_is_removed_with_a_reason_and_the_answer_stays(shift: Shift) -> None:
    shift.say("done", done_on=march(1), file=PHOTO)
    with shift.acme.acting() as act:
        entry, other = register.find_subject(act, "P-1"), factories.subject(act, "P-2")
        [photo] = read_sent_files(act.session, act.org, entry.id)
        for subject, reason, why in ((entry, None, "a reason for removing"), (other, "other", "no such file")):
            with pytest.raises(Refused, match=why):
                attachments.drop(act, subject, photo.id, reason)
        assert attachments.drop(act, entry, photo.id, "personal", "A face")
        assert not attachments.drop(act, entry, photo.id, "personal")
        kept = act.session.get_one(Attachment, (act.org, photo.id))
        assert (kept.content, kept.file_name) == (None, "IMG_0641.HEIC")
        assert list(read_sent_files(act.session, act.org, entry.id)) == []
        answer_id = kept.acknowledgement_id
    dropped = shift.event("file_dropped")
    assert (dropped["answer_id"], dropped["reason"], dropped["note"]) == (answer_id, "personal", "A face")
    assert shift.check() == answer_id, "it still waits to be checked"


@pytest.mark.parametrize(
    ("said", "file", "words"),
    [
        ("done", SentFile("a.jpg", b"<html>"), "of a kind that is not kept"),
        ("done", SentFile("a.jpg", b"some words"), "neither a photo nor a PDF"),
        ("done", SentFile("a.jpg", b""), "is empty"),
        ("seen", PHOTO, "The answer seen has no file"),
    ],
)
def test_what_is_no_photo_is_refused_whole(shift: Shift, said: str, file: SentFile, words: str) -> None:
    with pytest.raises(Refused, match=words):
        shift.say(said, file=file)
    assert shift.waiting(Queue.check) == []


def test_what_is_accepted_is_closed_on_the_day_it_was_done(shift: Shift) -> None:
    shift.say("done", done_on=dt.date(2027, 2, 27), file=PHOTO, note="Two litres")
    answer_id = shift.check()
    shift.acme.now += dt.timedelta(days=2)
    with shift.acme.acting() as act:
        obligation_id = act.session.scalars(select(Obligation.id)).one()
        assert not proofs.has_accepted_file(act, obligation_id)
        answer_checks.accept(act, answer_id, shift.ana)
        assert proofs.has_accepted_file(act, obligation_id)
    assert shift.dates() == [
        (march(20), "met", dt.date(2027, 2, 27), shift.ana),
        (dt.date(2027, 4, 20), None, None, None),
    ]
    assert shift.event("answer_accepted") == {"member": shift.bruno, "answer": "done", "answer_id": answer_id}
    assert shift.waiting(Queue.check) == []
    shift.tick()
    assert shift.inbox(shift.bruno) == []
    for deed in (answer_checks.accept, lambda *who: answer_checks.send_back(*who[:2], WORDS, who[2])):
        with (
            pytest.raises(Refused, match="The answer of bruno was accepted already by ana"),
            shift.acme.acting() as act,
        ):
            deed(act, answer_id, shift.ana)
    with pytest.raises(Refused, match="was closed with this answer"), shift.acme.acting() as act:
        answers.take_back(act, people.find_member(act, STAFF), register.find_subject(act, "P-1"), due_on=march(20))
    with pytest.raises(Refused, match="was closed with this answer"):
        shift.say("seen", due_on=march(20))  # Another answer would take it back, too.
    said = {"done_on": dt.date(2027, 2, 27), "file": PHOTO, "note": "Two litres", "due_on": march(20)}
    assert not shift.say("done", **said).changed


def test_without_a_day_it_was_done_on_the_day_of_the_answer_at_the_site(shift: Shift) -> None:
    shift.acme.now = dt.datetime(2027, 3, 4, 23, 30, tzinfo=dt.UTC)  # At the site it is the fifth.
    shift.say("done")
    answer_id = shift.check()
    with shift.acme.acting(shift.acme.now + dt.timedelta(days=3)) as act:
        assert answer_checks.accept(act, answer_id).met_on == march(5)


def unread_of(act: Act, member_id: int) -> int:
    sight, new = read_sight(act.session, act.org, member_id, act.now), act.session.execute(new_to(act.org, member_id))
    return count_unread(act.session, sight, member_id, list(new.scalars()))


def test_what_is_sent_back_is_no_answer_and_its_words_are_in_the_inbox(shift: Shift) -> None:
    shift.say("done", done_on=march(1), file=PHOTO)
    shift.acme.now += dt.timedelta(days=13)
    shift.tick()
    assert shift.inbox(shift.carla) == []  # Bruno is on it, so nobody above is told.
    answer_id = shift.check()
    with pytest.raises(Refused, match="say what is missing"), shift.acme.acting() as act:
        answer_checks.send_back(act, answer_id, " ", shift.ana)
    claim_id = shift.inbox(shift.bruno)[0].claim_id
    with shift.acme.acting() as act:
        assert unread_of(act, shift.bruno) == 1  # He has not opened it yet.
        answers.open_claim(act, shift.bruno, claim_id)
        assert unread_of(act, shift.bruno) == 0
        answer_checks.send_back(act, answer_id, WORDS, shift.ana)
        assert unread_of(act, shift.bruno) == 1
    assert shift.event("answer_sent_back")["note"].keys() == {"sha256"}, "the words are beside the trail"
    [told] = shift.inbox(shift.bruno)
    assert told.mine is None
    assert told.sent_back is not None
    assert (told.sent_back.by, told.sent_back.words, told.sent_back.answer) == ("ana", WORDS, "done")
    assert shift.waiting(Queue.check) == []
    assert [row.reference for row in shift.waiting(Queue.silent)] == ["P-1"]
    with shift.acme.acting() as act:
        assert act.session.execute(text("select count(acknowledged_at) from notification_ledger")).scalar_one() == 0
    shift.tick()  # The fast scan: what was sent back is in its queue.
    assert [alert.threshold for alert in shift.inbox(shift.carla)] == ["7d"]
    with pytest.raises(Refused, match="was sent back already by ana"), shift.acme.acting() as act:
        answer_checks.accept(act, answer_id, shift.ana)
    shift.say("done", done_on=march(14), file=PHOTO)  # Done once more: the words are answered.
    assert [alert.sent_back for alert in shift.inbox(shift.bruno)] == [None]
    assert shift.check() != answer_id


def test_an_answer_that_was_taken_back_cannot_be_accepted(shift: Shift) -> None:
    shift.say("done")
    answer_id = shift.check()
    with shift.acme.acting() as act:
        answers.take_back(act, people.find_member(act, STAFF), register.find_subject(act, "P-1"))
    for queue, rows in ((Queue.check, 0), (Queue.silent, 1), (Queue.attention, 0)):
        assert len(shift.waiting(queue)) == rows
    with pytest.raises(Refused, match="bruno has taken the answer back"), shift.acme.acting() as act:
        answer_checks.accept(act, answer_id)
    with pytest.raises(LookupError), shift.acme.acting() as act:
        answer_checks.accept(act, answer_id + 999)


def test_what_is_not_done_is_not_accepted_and_what_asks_nothing_not_sent_back(shift: Shift) -> None:
    for said, deed, words in (
        ("help", answer_checks.accept, "does not say that it is done"),
        ("seen", lambda act, one: answer_checks.send_back(act, one, WORDS), "asks for nothing"),
    ):
        shift.say(said)
        with pytest.raises(Refused, match=words), shift.acme.acting() as act:
            deed(act, act.session.scalars(select(Acknowledgement.id).where(Acknowledgement.answer == said)).one())


def test_a_kind_may_let_whoever_does_it_close_it_at_once(shift: Shift) -> None:
    with shift.acme.acting() as act:
        act.session.scalars(select(Kind)).one().staff_may_close = True
    said = shift.say("done", done_on=march(1), file=PHOTO, note="Two litres")
    assert (said.changed, said.is_closed) == (True, True)
    assert shift.dates()[0] == (march(20), "met", march(1), shift.bruno)
    assert shift.event("answer_accepted")["member"] == shift.bruno
    assert shift.event("obligation_closed")["note"] == "Two litres"
    assert shift.waiting(Queue.check) == []
    with pytest.raises(Refused, match="was closed with this answer"):
        shift.say("done", done_on=march(1), due_on=march(20))
    assert len(shift.dates()) == 2


def test_not_mine_says_whose_and_nobody_is_on_it_until_it_is_handed_over(shift: Shift) -> None:
    shift.say("not_mine", whose_member_id=shift.carla, note="It is on her list.")
    [row] = shift.waiting(Queue.attention)
    assert (row.what, row.person, row.whose, row.whose_member_id) == ("not_mine", "bruno", "carla", shift.carla)
    shift.tick(shift.acme.now + dt.timedelta(days=13))
    assert [alert.threshold for alert in shift.inbox(shift.carla)] == ["7d"]  # Told as the one above.
    for said, given, words in (
        ("help", {"whose_member_id": shift.carla}, "does not say whose it is"),
        ("not_mine", {"whose_member_id": shift.carla, "whose_post_id": 1}, "either a person's or a post's"),
        ("not_mine", {"whose_member_id": 999_999}, "no such person"),
    ):
        with pytest.raises(Refused, match=words):
            shift.say(said, **given)


@pytest.mark.parametrize("said", ["not_mine", "help"])
def test_whoever_it_is_handed_over_to_is_told_of_it(shift: Shift, said: str) -> None:
    """Neither answer takes the alert up; one that does leaves nothing to tell whoever comes after."""
    shift.say(said)
    shift.tick()
    assert shift.inbox(shift.carla) == [], "nothing was handed over"
    with shift.acme.acting() as act:
        register.assign(act, register.find_subject(act, "P-1"), member_id=shift.carla)
    shift.tick()
    assert [alert.threshold for alert in shift.inbox(shift.carla)] == ["30d"]
    with shift.acme.acting() as act:
        carla = people.find_member(act, MANAGER)
        answers.acknowledge(act, carla, register.find_subject(act, "P-1"), "seen")
        register.assign(act, register.find_subject(act, "P-1"), member_id=shift.ana)
    shift.tick()
    assert shift.inbox(shift.ana) == []


def test_a_promise_ends_when_whoever_gave_it_leaves(shift: Shift) -> None:
    """Whoever takes over is told at once, and whoever waited for nobody to act is not kept waiting for the day."""
    shift.say("on_it", until_on=march(19))
    with shift.acme.acting() as act:
        departures.leave(act, shift.bruno, march(2), to_member_id=shift.ana)
    for day, told in ((2, []), (14, ["7d"])):
        now = shift.acme.now + dt.timedelta(days=day - 1)
        with shift.acme.acting(now) as act:
            departures.hand_on_due(act)
        shift.tick(now)
        assert [alert.threshold for alert in shift.inbox(shift.ana)] == ["30d"]
        assert [alert.threshold for alert in shift.inbox(shift.carla)] == told
    assert shift.event("answer_taken_back")["answer"] == "on_it"


def test_a_question_is_answered_by_sending_it_back_with_words(shift: Shift) -> None:
    shift.say("help", note="Which bottle?")
    [row] = shift.waiting(Queue.attention)
    with shift.acme.acting() as act:
        answer_checks.send_back(act, int(row.answer_id or 0), "The blue one.", shift.ana)
    assert shift.waiting(Queue.attention) == []
    [told] = shift.inbox(shift.bruno)
    assert told.sent_back is not None
    assert (told.sent_back.words, told.sent_back.answer) == ("The blue one.", "help")


@pytest.mark.real_commits
def test_of_two_officers_who_decide_at_once_one_does_and_the_other_is_told(real_app: Flask) -> None:
    shift = Shift(factories.acme())
    shift.say("done", done_on=march(1))
    answer_id, told = shift.check(), []

    def decide(deed: Any) -> bool:
        try:
            with shift.acme.acting() as act:
                deed(act)
            return True
        except Refused as refused:
            told.append(str(refused))
            return False

    def take_back(act: Act) -> None:
        if not answers.take_back(act, people.find_member(act, STAFF), register.find_subject(act, "P-1")).changed:
            raise Refused("nothing stood")

    deeds = [
        lambda act: answer_checks.accept(act, answer_id, shift.ana),
        lambda act: answer_checks.accept(act, answer_id, shift.ana),
        lambda act: answer_checks.send_back(act, answer_id, WORDS, shift.ana),
        take_back,
    ]
    assert at_once(real_app, [lambda deed=deed: decide(deed) for deed in deeds]) == [False] * 3 + [True]
    assert len(told) == 3


def test_what_is_reopened_waits_to_be_checked_again(shift: Shift) -> None:
    shift.say("done", done_on=march(1))
    answer_id = shift.check()
    with shift.acme.acting() as act:
        closed = answer_checks.accept(act, answer_id)
        reopenings.reopen(act, closed.id, "typing_error")
    assert shift.check() == answer_id
    with shift.acme.acting() as act:
        answer_checks.send_back(act, answer_id, WORDS)
        assert not proofs.has_accepted_file(act, closed.id)
    assert shift.waiting(Queue.check) == []


def test_what_was_not_done_after_all_is_sent_back_and_nobody_is_on_it(shift: Shift) -> None:
    """Whoever said that it is done reads why, no rule is held back by it, and the photo proves nothing."""
    shift.say("done", done_on=march(1))
    answer_id = shift.check()
    with shift.acme.acting() as act:
        closed = answer_checks.accept(act, answer_id)
        assert reopenings.reopen(act, closed.id, "not_done", WORDS)
        assert not reopenings.reopen(act, closed.id, "not_done", WORDS)
        assert not proofs.has_accepted_file(act, closed.id)
        rows = act.run("select a.sent_back_note, l.acknowledged_at from acknowledgement a join notification_ledger l "
                       "on l.id = a.claim_id where a.org_id = :org").all()  # fmt: skip
        assert rows == [(WORDS, None)]
    assert shift.waiting(Queue.check) == []
