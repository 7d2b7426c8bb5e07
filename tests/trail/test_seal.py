"""The seal: everything once and dense, whatever happens at once; and what it shows that grants cannot forbid."""

import datetime as dt
import threading

import psycopg
import pytest
from flask import Flask
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, IntegrityError

from app import failpoints
from app.database import SCHEDULER, WEB, transaction
from app.models import AuditEvent
from app.trail import seal as sealing
from app.trail.canonical import event_bytes
from app.trail.notes import Signer, checkpoint_of, opened
from app.trail.seal import seal
from app.trail.tree import consistency_proof, leaf_hash, root, verify_consistency
from tests import factories
from tests.conftest import url_of
from tests.factories import NOW, Acme
from tests.trail.conftest import LEAVES, NOTES, UNSEALED, sealed, signer_of, verified

WRITERS, EACH = 8, 150


def record(acme: Acme, *types: str, now: dt.datetime | None = None) -> None:
    with acme.acting(now) as act:
        for type in types:
            act.record(type, note="é", n=1.5)


def test_events_are_sealed_in_their_bytes_and_only_once(
    acme: Acme, signer: Signer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed(acme, signer)
    record(acme, *"abcde")
    monkeypatch.setattr(sealing, "MOST", 3)
    first, second = sealed(acme, signer), sealed(acme, signer)
    assert first is not None
    assert second is not None
    assert (first.events, second.events, second.size) == (3, 2, first.size + 2)
    assert sealed(acme, signer) is None, "nothing is left"
    with acme.watching() as act:
        events = verified(act, signer)
        assert [event["type"] for event in events[-5:]] == list("abcde")
        assert act.run(UNSEALED).scalar_one() == 0
        last = act.session.query(AuditEvent).order_by(AuditEvent.id.desc()).first()
        assert last is not None
        content = event_bytes(
            org=act.org, id=last.id, at=last.at, actor=last.actor, type=last.type, subject=None, claim=None,
            delivery=None, detail=last.detail,
        )  # fmt: skip
        assert act.run(LEAVES).all()[-1].content == content
        assert act.run(NOTES).scalars().all()[-1] == second.note


def test_a_key_takes_over_in_the_seal_that_names_it_however_much_had_waited(
    acme: Acme, signer: Signer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed(acme, signer)
    record(acme, *"abcdefg")
    monkeypatch.setattr(sealing, "MOST", 3)
    new = signer_of(2, before=signer)
    made = [one for one in (sealed(acme, new) for _ in range(4)) if one is not None]
    assert [one.events for one in made] == [3, 3, 2]
    keys = [signer.key, new.key]
    assert [opened(one.note, keys)[1] for one in made] == [[signer.key], [signer.key], keys]
    with acme.watching() as act:
        assert verified(act, signer, new)[made[-1].size - 1]["type"] == "trail_key_changed"


def test_organisations_have_logs_of_their_own(acme: Acme, signer: Signer) -> None:
    other = factories.acme("other")
    assert sealed(acme, signer) is not None
    with other.watching() as act:
        assert act.run(LEAVES).all() == []
    record(other, "theirs")
    theirs = sealed(other, signer)
    assert theirs is not None
    assert theirs.origin == f"{signer.name}/{other.org}"
    with other.watching() as act:
        assert {event["org"] for event in verified(act, signer)} == {str(other.org)}


def test_silence_is_sealed_for_each_whole_day_in_which_nothing_happened(acme: Acme, signer: Signer) -> None:
    def at(day: int, hour: int = 0) -> dt.datetime:
        return NOW.replace(day=day, hour=hour, minute=1)

    def silences() -> list[dict[str, str]]:
        with acme.watching() as act:
            return [event["detail"] for event in verified(act, signer) if event["type"] == "day_sealed"]

    sealed(acme, signer, at(1, 12))
    assert sealed(acme, signer, at(2)) is None, "on the first something happened"
    assert silences() == []
    sealed(acme, signer, at(3))
    assert sealed(acme, signer, at(3, 5)) is None, "said once"
    sealed(acme, signer, at(4))
    record(acme, "moved", now=at(4, 1))
    sealed(acme, signer, at(4, 2))
    assert sealed(acme, signer, at(5)) is None
    sealed(acme, signer, at(9))  # The scheduler was off for days.
    assert silences() == [
        {"from": "2027-03-02", "until": "2027-03-02"},
        {"from": "2027-03-03", "until": "2027-03-03"},
        {"from": "2027-03-05", "until": "2027-03-08"},
    ]


def test_a_key_that_takes_over_is_vouched_for_by_the_one_before(acme: Acme, signer: Signer) -> None:
    sealed(acme, signer)
    new = signer_of(2, before=signer)
    first = sealed(acme, new)
    assert first is not None, "although nothing else has happened"
    assert opened(first.note, [signer.key, new.key])[1] == [signer.key, new.key]
    assert sealed(acme, new) is None
    record(acme, "later")
    second = sealed(acme, new)
    assert second is not None
    assert opened(second.note, [signer.key, new.key])[1] == [new.key]
    with acme.watching() as act:
        (said,) = (event for event in verified(act, signer, new) if event["type"] == "trail_key_changed")
    assert said["detail"] == {"vkey": new.key.text, "vouched_for_by": signer.key.text}
    lost = sealed(acme, signer_of(3))
    assert lost is not None
    assert opened(lost.note, [new.key, signer_of(3).key])[1] == [signer_of(3).key]


def test_a_seal_that_breaks_off_leaves_nothing_and_the_next_one_seals_it_all(acme: Acme, signer: Signer) -> None:
    sealed(acme, signer)
    record(acme, "a", "b")
    failpoints.arm("seal_before_commit:raise")
    try:
        with pytest.raises(failpoints.Failed):
            sealed(acme, signer)
    finally:
        failpoints.arm(None)
    with acme.watching() as act:
        assert act.run(UNSEALED).scalar_one() == 2
    done = sealed(acme, signer)
    assert done is not None
    assert done.events == 2
    with acme.watching() as act:
        verified(act, signer)


def test_without_the_lock_one_of_two_seals_wins_whole(acme: Acme, signer: Signer) -> None:
    """As if another sealer had gone on from the same checkpoint: the unique keys refuse the second one."""
    first = sealed(acme, signer)
    assert first is not None
    record(acme, "a")
    with acme.watching() as act:
        before = act.run(sealing.LAST).one()
        seal(act, signer)
        record_again = act.session.begin_nested()
        act.record("b")
        frontier = sealing.Frontier.from_bytes(before.frontier)
        with pytest.raises(IntegrityError, match="audit_leaf_pkey"), act.session.begin_nested():
            sealing.put_leaves(act, frontier, act.run(sealing.TAKE, {"most": 10}).all())
        record_again.rollback()
    with acme.watching() as act:
        verified(act, signer)


@pytest.mark.real_commits
def test_what_many_write_at_once_is_sealed_once_each_and_dense(real_app: Flask, signer: Signer) -> None:
    acme, over = factories.acme(), threading.Event()

    def write() -> None:
        with real_app.app_context():
            for number in range(EACH // 3):
                with acme.acting() as act:
                    for part in range(3):
                        act.record("written", number=number, part=part)

    def seal_on() -> None:
        with real_app.app_context():
            while not over.is_set():
                sealed(acme, signer)

    writers = [threading.Thread(target=write) for _ in range(WRITERS)]
    sealers = [threading.Thread(target=seal_on) for _ in range(2)]
    for thread in writers + sealers:
        thread.start()
    for thread in writers:
        thread.join()
    over.set()
    for thread in sealers:
        thread.join()
    sealed(acme, signer)
    with acme.watching() as act:
        events = verified(act, signer)
        ids = act.session.query(AuditEvent.id).order_by(AuditEvent.id).all()
        assert sorted(int(event["id"]) for event in events) == [id for (id,) in ids]
        assert sum(event["type"] == "written" for event in events) == WRITERS * EACH
        assert act.run(UNSEALED).scalar_one() == 0
        assert len(act.run(NOTES).all()) > 2, "they were sealed while they were written"


@pytest.mark.real_commits
def test_what_a_superuser_takes_away_is_seen_against_an_earlier_checkpoint(
    real_app: Flask, worker: str, signer: Signer
) -> None:
    acme = factories.acme()
    record(acme, *"abcdef")
    kept = sealed(acme, signer)
    assert kept is not None
    with acme.watching() as act:
        hashes = [leaf_hash(leaf.content) for leaf in act.run(LEAVES)]
        victim = act.run(LEAVES).all()[3].event_id
    with psycopg.connect(url_of(f"real_{worker}", "postgres"), autocommit=True) as superuser:
        superuser.execute("set session_replication_role = replica")
        superuser.execute("delete from audit_event where id = %s", (victim,))
        superuser.execute("truncate audit_leaf, audit_checkpoint")
        superuser.execute("insert into audit_unsealed select org_id, id from audit_event")
    record(acme, "g")
    forged = sealed(acme, signer)  # The log is written anew, with the right key and without the victim.
    assert forged is not None
    with acme.watching() as act:
        now = [leaf_hash(leaf.content) for leaf in act.run(LEAVES)]
        verified(act, signer)
    earlier = checkpoint_of(kept.note, [signer.key])  # Which somebody outside has kept.
    assert root(hashes) == earlier.root
    assert len(now) == earlier.size, "one is gone, one has come"
    assert root(now) == forged.root != earlier.root
    grown = [*now, leaf_hash(b"h")]
    proof = consistency_proof(grown, earlier.size)
    assert not verify_consistency(earlier.size, len(grown), earlier.root, root(grown), proof)


@pytest.mark.parametrize("role", [WEB, SCHEDULER])
@pytest.mark.parametrize("deed", ["update {} set {} = {}", "delete from {}", "truncate {}"])
def test_nobody_may_change_a_seal(acme: Acme, signer: Signer, role: str, deed: str) -> None:
    sealed(acme, signer)
    for table, column in (
        ("audit_event", "type"),
        ("audit_leaf", "seq"),
        ("audit_checkpoint", "size"),
        ("trail_key", "id"),
    ):
        with transaction(acme.org, role) as session:
            with pytest.raises(DBAPIError) as refused, session.begin_nested():
                session.execute(text(deed.format(table, column, column)))
            assert getattr(refused.value.orig, "sqlstate", None) == "42501", table
