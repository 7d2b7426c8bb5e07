"""Large files: judged and brought in by a child process of the scheduler, whole or not at all, whoever is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from flask import Flask

from app.domain.acts import ImportWish
from app.extensions import db
from app.imports.choices import Choices
from app.imports.findings import Findings
from app.imports.limits import CHILD_MEMORY, MOST_LINES_AT_ONCE
from app.imports.look import look_at
from app.operations import uploads, wishes
from app.scheduler import import_tick
from app.scheduler.import_child import Child
from app.scheduler.import_tick import Imports
from tests import factories
from tests.factories import Acme
from tests.scheduler.conftest import Database, Onus, until

pytestmark = pytest.mark.real_commits

LINES = 3_000
LARGE = "Reference,Due date,Title\n" + "".join(f"A-{n},2027-05-05,Boiler {n}\n" for n in range(LINES))
SMALL = "Reference,Due date,Title\nA-1,2027-05-05,Boiler\nA-2,soon,Lift\n"
FAR = "select done, total from import_work"
UNREAD = "select count(*) from import_work where beat_at is null and ended_at is null"


@pytest.fixture
def acme(real_app: Flask) -> Acme:
    made = factories.acme()
    with made.acting() as act:
        made.members["Ana"] = factories.member(act)
    return made


@pytest.fixture
def surroundings(onus: Onus, monkeypatch: pytest.MonkeyPatch) -> Onus:
    """The environment of `onus`, for ticks of this process: their children find the same database in it."""
    for name, word in onus.env.items():
        if name.startswith("ONUS_"):
            monkeypatch.setenv(name, word)
    return onus


def kept(acme: Acme, content: str) -> int:
    """The id of a file that waits, its columns said."""
    look = look_at(content.encode())
    with acme.acting() as act:
        said = (acme.members["Ana"], "a.csv", content.encode(), look.as_json(), look.header_key)
        upload_id = uploads.keep_upload(act, *said)
        uploads.say(act, uploads.find_upload(act, upload_id), Choices(look.understood()).as_json())
    return upload_id


def wish(acme: Acme, upload_id: int, what: ImportWish) -> None:
    with acme.acting() as act:
        wishes.ask(act, upload_id, acme.members["Ana"], what)


@contextlib.contextmanager
def ticking(app: Flask, imports: Imports | None = None) -> Iterator[threading.Thread]:
    """A tick at work beside the test, as in the pool of a scheduler."""
    tick = imports or Imports()

    def deed() -> None:
        with app.app_context():
            tick.tick()
            db.session.remove()

    thread = threading.Thread(target=deed)
    thread.start()
    try:
        yield thread
    finally:
        tick.stop.set()
        thread.join(30)
        assert not thread.is_alive()


@contextlib.contextmanager
def locked(database: Database, upload_id: int) -> Iterator[None]:
    """Whoever applies the file waits for us."""
    with database.other_session() as other:
        other.execute("select 1 from import_upload where id = %s for update", (upload_id,))
        yield


def reached(home: Path) -> list[int]:
    """The processes that came to a failpoint, in order."""
    log = home / "failpoints.log"
    return [int(line.split()[2]) for line in log.read_text().splitlines()] if log.exists() else []


def gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def children(onus: Onus) -> list[int]:
    """The child processes that work on a file."""
    named = b"\0import-work\0"
    found = []
    for pid in onus.living():
        with contextlib.suppress(OSError):
            if named in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def unreaped() -> set[int]:
    """The processes that this one has started and that have ended, and nobody has asked how."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
            if (state, parent) == ("Z", str(os.getpid())):
                found.add(int(pid))
    return found


def test_a_large_file_is_checked_and_brought_in_by_a_child(
    real_app: Flask, acme: Acme, surroundings: Onus, database: Database
) -> None:
    upload_id, before = kept(acme, LARGE), unreaped()
    assert look_at(LARGE.encode()).is_large
    assert not look_at(SMALL.encode()).is_large
    assert LINES > MOST_LINES_AT_ONCE
    wish(acme, upload_id, ImportWish.check)
    assert Imports().tick() == 1
    ((found, done, total, fault),) = database.rows("select found, done, total, fault from import_work")
    findings = Findings.of_json(found)
    assert (findings.counts["new"], findings.groups[0].count, len(findings.groups[0].rows)) == (LINES, LINES, 50)
    assert findings.digest == Choices(look_at(LARGE.encode()).understood()).digest(look_at(LARGE.encode()))
    assert (done, total, fault) == (0, 0, None) or (done, total) == (LINES, LINES)
    assert database.value("select count(*) from subject") == 0

    wish(acme, upload_id, ImportWish.apply)
    assert Imports().tick() == 1
    assert database.value("select count(*) from subject where status = 'draft'") == LINES
    assert database.rows("select content, import_run_id is not null from import_upload") == [(None, True)]
    assert database.value("select count(*) from import_work") == 0
    actor = f"member:{acme.members['Ana']}"
    assert database.rows("select actor, counts -> 'new' from import_run") == [(actor, LINES)]
    of_import = "select distinct actor from audit_event where type in ('register_imported', 'subject_created')"
    assert database.rows(of_import) == [(actor,)]
    assert Imports().tick() == 0
    assert (children(surroundings), unreaped() - before) == ([], set())


def test_how_far_it_is_is_seen_from_outside_and_a_killed_child_leaves_nothing(
    real_app: Flask, acme: Acme, surroundings: Onus, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONUS_FAILPOINTS", "import_counted:stop")
    monkeypatch.setattr(import_tick, "BEAT_EVERY", 0.1)
    wish(acme, kept(acme, LARGE), ImportWish.apply)
    with ticking(real_app) as tick:
        child = until(lambda: reached(surroundings.home), "the first count")[0]
        for far in (0, 1_000, 2_000):
            until(lambda far=far: database.rows(FAR) == [(far, LINES)], f"{far} lines")
            os.kill(child, signal.SIGCONT)
        until(lambda: len(reached(surroundings.home)) == 4, "the last count")
        os.kill(child, signal.SIGKILL)
        tick.join(30)
    assert database.rows("select fault from import_work where ended_at is not null") == [(import_tick.KILLED,)]
    assert database.value("select count(*) from subject") == 0
    assert database.value("select count(*) from import_run") == 0
    assert database.value("select count(*) from import_upload where content is not null") == 1
    assert gone(child)  # Not even a zombie is left of it.


def test_what_is_refused_whole_is_said_in_the_wish(
    real_app: Flask, acme: Acme, database: Database, taken: Callable[[], wishes.Wish | None]
) -> None:
    upload_id = kept(acme, "Reference,Due date\nA-1,04/05/2027\nA-2,05/06/2027\n")
    wish(acme, upload_id, ImportWish.check)
    found = taken()
    assert found is not None
    Child(acme.org, upload_id, found.asked_at).work()
    assert "Nothing in the column says which is the day" in database.value("select fault from import_work")


@pytest.mark.parametrize(
    ("code", "words"),
    [(3, f"than {CHILD_MEMORY // 1_000_000:,} MB"), (-signal.SIGXCPU, "300 seconds"), (-signal.SIGKILL, "outside")],
)
def test_what_ended_a_child_has_its_words(code: int, words: str) -> None:
    assert words in import_tick.fault_of(code)
    assert import_tick.fault_of(1) == import_tick.FAILED


def test_a_child_ends_with_its_scheduler_and_the_wish_is_begun_again(
    real_app: Flask, acme: Acme, surroundings: Onus, database: Database
) -> None:
    upload_id = kept(acme, SMALL)
    wish(acme, upload_id, ImportWish.apply)
    with locked(database, upload_id):
        scheduler = surroundings.start("scheduler")
        until(lambda: database.waiting("transactionid"), "the child at the lock")
        (child,) = children(surroundings)
        scheduler.killed()
        until(lambda: gone(child), "the end of the child")
    assert database.value("select count(*) from import_run") == 0

    assert Imports().tick() == 0  # Its last sign is too young for anybody to think that it is gone.
    database.rows("update import_work set beat_at = beat_at - interval '31 seconds'")
    assert Imports().tick() == 1
    assert database.rows("select reference from subject") == [("A-1",)]


def test_a_scheduler_that_is_told_to_stop_gives_the_wish_back(
    real_app: Flask, acme: Acme, surroundings: Onus, database: Database
) -> None:
    upload_id = kept(acme, SMALL)
    wish(acme, upload_id, ImportWish.apply)
    with locked(database, upload_id):
        scheduler = surroundings.start("scheduler")
        until(lambda: database.waiting("transactionid"), "the child at the lock")
        (child,) = children(surroundings)
        assert scheduler.stopped().code == 0
        assert gone(child)
        assert database.value(UNREAD) == 1
    assert database.value("select count(*) from import_run") == 0


def test_two_who_bring_the_same_file_in_bring_it_in_once(
    real_app: Flask, acme: Acme, surroundings: Onus, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one is taken for dead while it waits, and is not."""
    monkeypatch.setattr(import_tick, "BEAT_EVERY", 3600)
    upload_id = kept(acme, SMALL)
    wish(acme, upload_id, ImportWish.apply)
    with contextlib.ExitStack() as stack:
        with locked(database, upload_id):
            threads = [stack.enter_context(ticking(real_app))]
            until(lambda: database.waiting("transactionid") + database.waiting("tuple") == 1, "one at the lock")
            database.rows("update import_work set beat_at = beat_at - interval '31 seconds'")
            threads.append(stack.enter_context(ticking(real_app)))
            until(lambda: len(children(surroundings)) == 2, "two children")
            until(lambda: database.waiting("transactionid") + database.waiting("tuple") >= 2, "two at the lock")
        for thread in threads:
            thread.join(30)
    assert database.value("select count(*) from import_run") == 1
    assert database.rows("select reference from subject") == [("A-1",)]
    assert database.value("select count(*) from import_work") == 0


def test_the_last_wish_wins(
    real_app: Flask, acme: Acme, surroundings: Onus, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child that works on an older one is ended, and could not write its result anyway."""
    monkeypatch.setattr(import_tick, "BEAT_EVERY", 0.1)
    upload_id = kept(acme, SMALL)
    wish(acme, upload_id, ImportWish.check)
    monkeypatch.setenv("ONUS_FAILPOINTS", "import_taken:stop")
    with ticking(real_app) as tick:
        child = until(lambda: reached(surroundings.home), "the child")[0]
        older = database.value("select asked_at from import_work")
        changed = Choices({0: "reference", 1: "due_on", 2: "notes"})
        with acme.acting() as act:
            uploads.say(act, uploads.find_upload(act, upload_id), changed.as_json())
            wishes.ask(act, upload_id, acme.members["Ana"], ImportWish.check)
        tick.join(30)
        assert gone(child)
    with acme.acting() as act:
        assert not wishes.find_if_wished(act, upload_id, older, {"of": "the older one"})
        assert not wishes.fail_if_wished(act, upload_id, older, "of the older one")
    monkeypatch.delenv("ONUS_FAILPOINTS")
    Imports().tick()
    found = Findings.of_json(database.value("select found from import_work"))
    assert found.digest == changed.digest(look_at(SMALL.encode()))


@pytest.fixture
def taken(acme: Acme) -> Callable[[], wishes.Wish | None]:
    def take() -> wishes.Wish | None:
        with acme.acting() as act:
            return wishes.take(act)

    return take


def test_a_wish_is_one_worker_s_until_nothing_is_heard_of_it(
    acme: Acme, database: Database, taken: Callable[[], wishes.Wish | None]
) -> None:
    """With a clock that stands still, too: no two wishes and no two beats are at the same instant."""
    upload_id = kept(acme, SMALL)
    wish(acme, upload_id, ImportWish.check)
    first = taken()
    assert first is not None
    assert taken() is None
    with acme.acting() as act:
        second = wishes.beat(act, first, 1, 2)
        assert second is not None
        assert second.beat_at > first.beat_at
        assert wishes.beat(act, first, 2, 2) is None
    assert database.rows(FAR) == [(1, 2)]
    with acme.acting(acme.now + wishes.SILENT_AFTER * 2) as act:
        third = wishes.take(act)
        assert third is not None
        assert wishes.beat(act, second, 2, 2) is None
        assert not wishes.fail_if_wished(act, upload_id, second.asked_at, "of a stranger", second.beat_at)
    wish(acme, upload_id, ImportWish.check)
    with acme.acting() as act:
        assert wishes.beat(act, third, 2, 2) is None
        assert not wishes.settle_if_wished(act, upload_id, third.asked_at)
