"""`onus up` with its own database, and what every command says where it cannot work: one line, never a traceback."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from app.logins import RUN_TIME
from tests.conftest import DSN, named, url_of
from tests.scheduler.conftest import (
    ALL_STOPPED_WITHIN,
    Ended,
    Onus,
    Running,
    command_of,
    fetch,
    free_port,
    health,
    living,
    until,
)

pytestmark = pytest.mark.real_commits

START_WITHIN = 60.0  # seconds; the embedded server is made, and two cores may be busy
NOWHERE = "postgresql://onus@127.0.0.1:1/onus"


def reachable_folder() -> Iterator[Path]:
    """A folder that every account can reach, as the embedded server runs as nobody where we are root."""
    path = Path(tempfile.mkdtemp(prefix="onus-test-", dir="/tmp"))
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path)


folder = pytest.fixture(reachable_folder, name="folder")
lasting = pytest.fixture(reachable_folder, name="lasting", scope="module")


@contextlib.contextmanager
def commands(home: Path, **env: str) -> Iterator[Onus]:
    """The commands of an ONUS_HOME; none of them, and no server of theirs, outlives the block."""
    onus = Onus(home, **env)
    try:
        yield onus
    finally:
        onus.close()


@pytest.fixture
def onus(lasting: Path) -> Iterator[Onus]:
    """The commands of a home that several tests use in turn, since to make its database takes a while."""
    with commands(lasting / "home") as onus:
        yield onus


def up(onus: Onus, port: int, **env: str) -> Running:
    """`onus up`, as soon as it is healthy."""
    started = onus.start("up", "--port", str(port), **env)
    until(lambda: started.gone() or fetch(port, "/healthz"), "an answer", START_WITHIN)
    assert not started.gone(), started.err
    until(lambda: health(port)[0] == 200, "a healthy answer")
    return started


def child(onus: Onus, words: str) -> int:
    """The process of `onus up` with these words."""
    (pid,) = [pid for pid in onus.living() if command_of(pid).endswith(words)]
    return pid


def servers(onus: Onus) -> list[int]:
    return [pid for pid in onus.living() if "postgres" in command_of(pid).split(" ")[0]]


def assert_stops(onus: Onus, started: Running, number: signal.Signals) -> None:
    began = time.monotonic()
    started.process.send_signal(number)
    ended = started.ended()
    assert time.monotonic() - began < ALL_STOPPED_WITHIN
    assert ended.code == 0
    assert "Traceback" not in ended.err
    assert onus.living() == []


def test_up_from_nothing_prints_its_address_serves_watches_and_stops_whole(folder: Path) -> None:
    port = free_port()
    with commands(folder / "not" / "made" / "yet") as onus:
        started = up(onus, port)
        assert started.out == f"Onus runs on http://127.0.0.1:{port} (data in {onus.home}). Ctrl-C stops it.\n"
        answers = {path: until(lambda path=path: fetch(port, path), "an answer") for path in ("/", "/status")}
        assert [status for status, _ in answers.values()] == [200, 200]
        assert "The watch is running." in answers["/status"][1]
        assert servers(onus) != []
        # Other commands work beside it, on the same database.
        assert onus("org", "add", "acme", "--name", "Madrid", "--timezone", "Europe/Madrid").code == 0
        scanned = onus("scan", "--json")
        assert (scanned.code, scanned.json["errors"]) == (0, [])
        assert_stops(onus, started, signal.SIGTERM)
        assert fetch(port, "/") is None


def test_up_takes_over_after_kill_9_with_the_data_that_was_there(onus: Onus) -> None:
    port = free_port()
    killed = up(onus, port)
    assert onus("org", "add", "kept", "--name", "Lima", "--timezone", "America/Lima").code == 0
    assert killed.killed().code == -signal.SIGKILL
    until(lambda: not [pid for pid in onus.living() if pid not in servers(onus)], "the end of web and scheduler")
    again = up(onus, port)
    status = onus("status", "--json")
    assert [(site["org"], site["site"]) for site in status.json["sites"]] == [("kept", "Lima")]
    assert_stops(onus, again, signal.SIGINT)


def test_up_outlives_its_server_and_ends_with_1_when_its_scheduler_is_killed(onus: Onus) -> None:
    port = free_port()
    started = up(onus, port, ONUS_SCAN_EVERY="0.5")
    os.kill(int((onus.home / "postgres" / "postmaster.pid").read_bytes().split()[0]), signal.SIGKILL)
    started.until_ticks(2, beyond=len(started.logged("scanned")))
    until(lambda: health(port)[0] == 200, "a healthy answer")
    os.kill(child(onus, " -m app scheduler"), signal.SIGKILL)
    ended = started.ended(ALL_STOPPED_WITHIN)
    assert ended.code == 1
    assert "onus: scheduler ended by itself (signal 9, Killed); stopping the rest" in ended.err.splitlines()
    assert onus.living() == []


def test_up_refuses_a_taken_port_before_it_starts_anything(folder: Path) -> None:
    with commands(folder / "home") as onus, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused = onus("up", "--port", str(taken.getsockname()[1]))
        assert (refused.code, refused.out) == (1, "")
        assert "cannot be used (Address already in use): stop what uses it" in refused.complaint
        assert not onus.home.exists()


def test_a_home_that_cannot_be_written_is_told_in_one_line(folder: Path) -> None:
    (folder / "file").touch()
    for home in (folder / "file" / "home", Path("/proc/onus")):
        with commands(home) as onus:
            refused = onus("up", "--port", str(free_port()))
            assert (refused.code, refused.out) == (1, "")
            assert refused.complaint.startswith(f"onus: ONUS_HOME {home} cannot be used: ")


EACH = {
    "up": ("up", "--port", "PORT"),
    "web": ("web", "--port", "PORT"),
    "scheduler": ("scheduler",),
    "scan": ("scan",),
    "status": ("status",),
    "owed": ("owed",),
    "org add": ("org", "add", "acme", "--name", "Madrid", "--timezone", "Europe/Madrid"),
}


def ends(onus: Onus, names: tuple[str, ...]) -> dict[str, Ended]:
    """All of them at once, for each loads for a second."""
    port = str(free_port())
    started = {name: onus.start(*(port if word == "PORT" else word for word in EACH[name])) for name in names}
    return {name: one.ended() for name, one in started.items()}


def test_a_database_that_cannot_be_reached_is_told_in_one_line(folder: Path) -> None:
    with commands(folder / "home", ONUS_DATABASE_URL=NOWHERE) as onus:
        for name, ended in ends(onus, ("up", "scheduler", "scan", "org add")).items():
            assert (name, ended.code, ended.out) == (name, 1, "")
            assert ended.complaint.startswith("onus: the database cannot be reached: ")


@pytest.fixture
def empty(worker: str, tmp_path: Path) -> Iterator[Onus]:
    """The commands on a database without a table, whose logins and roles are there."""
    name = sql.Identifier(named(f"empty_{worker}"))
    drop = sql.SQL("drop database if exists {} with (force)").format(name)
    with psycopg.connect(os.environ[DSN], autocommit=True) as connection:
        connection.execute(drop)
        connection.execute(sql.SQL("create database {}").format(name))
        with commands(tmp_path / "home", ONUS_DATABASE_URL=url_of(f"empty_{worker}", RUN_TIME)) as onus:
            yield onus
        connection.execute(drop)


@pytest.mark.parametrize(
    "names", [("web", "scheduler", "scan"), ("status", "owed", "org add")], ids=["what watches", "what looks or acts"]
)
def test_a_database_without_tables_is_told_in_one_line(empty: Onus, names: tuple[str, ...]) -> None:
    said = {name: (ended.code, ended.out, ended.err) for name, ended in ends(empty, names).items()}
    right = (1, "", "onus: the database has no tables yet: run `onus db upgrade`\n")
    assert said == dict.fromkeys(names, right)


def test_help_needs_no_database_and_starts_nothing(folder: Path) -> None:
    with commands(folder / "home") as onus:
        ended = onus("--help")
        assert (ended.code, ended.err) == (0, "")
        assert ended.out.startswith("Usage: onus ")
        assert "\n  scheduler " in ended.out
        assert not onus.home.exists()
        assert living(folder) == []
