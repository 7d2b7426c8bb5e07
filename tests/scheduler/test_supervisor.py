"""`onus up`'s supervision, with real processes: they start together, stop together, and leave nothing behind.

The supervisor runs in a process of its own. Its children are scripts that write their number into a file.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app import embedded, supervisor
from app.supervisor import PortTaken, refuse_taken_port

pytestmark = pytest.mark.real_commits  # nothing of the lane's database is used

WITHIN = 60.0  # seconds; only a failing test waits so long
ALL_STOPPED_WITHIN = 10.0  # seconds, the promise of `onus up`, the database included

# What `onus up` does, in short: acquire, run together, release.
UP = """
import json, runpy, sys
from pathlib import Path
embedded, supervisor, home, commands, env = sys.argv[1:]
database = runpy.run_path(embedded)["EmbeddedPostgres"](Path(home)) if home else None
dsn = database and database.acquire_dsn()
code = runpy.run_path(supervisor)["run_together"](json.loads(commands), json.loads(env), "Onus is at work.")
if database:
    database.release()
sys.exit(code)
"""
BEGIN = """
import os, runpy, signal, sys
supervisor, folder, name = sys.argv[1:]
def started(name):
    with open(f"{folder}/{name}.new", "w") as file:
        file.write(str(os.getpid()))
    os.rename(f"{folder}/{name}.new", f"{folder}/{name}")
"""
POLITE = BEGIN + "started(name)\nwhile True: signal.pause()\n"
STUBBORN = (
    BEGIN
    + """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0: name = "worker"
started(name)
while True: signal.pause()
"""
)
BRIEF = BEGIN + "started(name)\nsys.exit(3)\n"
FAITHFUL = (
    BEGIN
    + """
runpy.run_path(supervisor)["die_with_parent"]()
assert "ONUS_PARENT" not in os.environ
started(name)
while True: signal.pause()
"""
)


class Up:
    """A supervisor with its children, whose numbers stand in files of the folder."""

    def __init__(self, folder: Path, home: str = "", wrapper: tuple[str, ...] = (), **scripts: str) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        words = [supervisor.__file__, str(folder)]
        commands = {
            name: [sys.executable, "-c", script, *words, name] if "\n" in script else [script]
            for name, script in scripts.items()
        }
        arguments = [embedded.__file__, supervisor.__file__, home, json.dumps(commands), json.dumps(dict(os.environ))]
        self.process = subprocess.Popen(
            [*wrapper, sys.executable, "-c", UP, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def number(self, name: str) -> int:
        until((self.folder / name).exists)
        return int((self.folder / name).read_text())

    def ended(self) -> tuple[int, str, str, float]:
        """Exit code, what it said on stdout and on stderr, and after how many seconds."""
        began = time.monotonic()
        out, err = self.process.communicate(timeout=WITHIN)
        return self.process.returncode, out, err, time.monotonic() - began


def until(fact: Callable[[], object]) -> None:
    deadline = time.monotonic() + WITHIN
    while not fact():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.02)


def lives(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def naming(folder: Path) -> list[int]:
    """The processes whose command line names the folder: supervisors, children and workers alike."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.fsencode(folder) in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(int(pid))
    return found


@pytest.fixture
def folder() -> Iterator[Path]:
    """The folder of supervisors, which every account can reach; no process that names it may be left at the end."""
    path = Path(tempfile.mkdtemp(prefix="onus-test-", dir="/tmp"))
    path.chmod(0o755)
    try:
        yield path
        left = naming(path)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert left == [], "a process was left running"
    finally:
        shutil.rmtree(path)


@pytest.mark.parametrize("number", supervisor.STOPS)
def test_a_stop_that_was_asked_for_ends_all_with_0(folder: Path, number: signal.Signals) -> None:
    up = Up(folder / "up", web=POLITE, scheduler=POLITE)
    children = [up.number("web"), up.number("scheduler")]
    assert [os.getsid(pid) for pid in children] == children  # Ctrl-C reaches the supervisor alone
    up.process.send_signal(number)
    code, out, err, seconds = up.ended()
    assert (code, out, err) == (0, "Onus is at work.\n", "")
    assert seconds < supervisor.STOP_WITHIN
    assert not any(map(lives, children))


def test_who_ignores_the_stop_is_killed_in_time_with_its_workers(folder: Path) -> None:
    """Once by SIGTERM with the embedded database, once by SIGINT; further signals do not break the stop."""
    home = folder / "home"
    ups = [
        Up(folder / "term", home=str(home), web=POLITE, scheduler=STUBBORN),
        Up(folder / "int", web=STUBBORN, scheduler=POLITE),
    ]
    children = [up.number(name) for up in ups for name in ("web", "scheduler", "worker")]
    server = int((home / "postgres" / "postmaster.pid").read_text().split()[0])
    began = time.monotonic()
    for up, number in zip(ups, (signal.SIGTERM, signal.SIGINT), strict=True):
        up.process.send_signal(number)
    until(lambda: sum(map(lives, children)) == 4)  # the polite ones have gone
    for again in supervisor.STOPS:
        for up in ups:
            up.process.send_signal(again)
    ends = [up.ended() for up in ups]
    assert time.monotonic() - began < ALL_STOPPED_WITHIN
    assert [code for code, *_ in ends] == [0, 0]
    assert ends[0][2] == "onus: scheduler did not stop in 6 s; killed\n"
    assert ends[1][2] == "onus: web did not stop in 6 s; killed\n"
    assert not any(map(lives, [*children, server]))
    assert supervisor.STOP_WITHIN + embedded.STOP_WITHIN < ALL_STOPPED_WITHIN


def test_a_child_that_ends_by_itself_ends_all_with_1(folder: Path) -> None:
    up = Up(folder / "up", web=POLITE, scheduler=BRIEF)
    code, _, err, seconds = up.ended()
    assert (code, err) == (1, "onus: scheduler ended by itself (exit 3); stopping the rest\n")
    assert seconds < supervisor.STOP_WITHIN


def test_a_killed_child_ends_all_with_1_its_workers_included(folder: Path) -> None:
    up = Up(folder / "up", web=STUBBORN, scheduler=POLITE)
    up.number("scheduler"), up.number("worker")
    os.kill(up.number("web"), signal.SIGKILL)
    code, _, err, _ = up.ended()
    assert (code, err) == (1, "onus: web ended by itself (signal 9, Killed); stopping the rest\n")


def test_a_child_that_does_not_start_ends_all_with_1(folder: Path) -> None:
    up = Up(folder / "up", web=POLITE, scheduler="/no/such/program")
    code, out, err, _ = up.ended()
    assert (code, out) == (1, "")
    assert err == "onus: scheduler did not start (No such file or directory: /no/such/program); stopping the rest\n"


def test_the_children_of_a_killed_supervisor_end(folder: Path) -> None:
    up = Up(folder / "up", web=FAITHFUL, scheduler=FAITHFUL)
    children = [up.number("web"), up.number("scheduler")]
    up.process.kill()
    assert up.ended()[0] == -signal.SIGKILL
    until(lambda: not any(map(lives, children)))


def test_a_child_whose_supervisor_ended_before_it_asked_ends(folder: Path) -> None:
    command = [sys.executable, "-c", FAITHFUL, supervisor.__file__, str(folder), "late"]
    gone = subprocess.Popen(["true"])
    gone.wait()
    done = subprocess.run(command, env={**os.environ, supervisor.PARENT: str(gone.pid)}, timeout=WITHIN)
    assert done.returncode == -signal.SIGTERM


def test_nohup_keeps_its_meaning(folder: Path) -> None:
    up = Up(folder / "up", wrapper=("nohup",), web=POLITE, scheduler=POLITE)
    up.number("web"), up.number("scheduler")
    status = Path(f"/proc/{up.process.pid}/status").read_text()
    ignored = int(status.partition("SigIgn:")[2].split()[0], 16)
    up.process.send_signal(signal.SIGTERM)
    assert up.ended()[0] == 0
    assert ignored & 1 << signal.SIGHUP - 1


def test_a_taken_port_is_told_in_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortTaken) as refused:
            refuse_taken_port(port)
    assert str(refused.value) == (
        f"port {port} of 127.0.0.1 cannot be used (Address already in use): "
        "stop what uses it, or choose another with --port"
    )
    refuse_taken_port(port)  # it is free again


@pytest.mark.parametrize(("port", "host"), [(70000, "127.0.0.1"), (8000, "192.0.2.1"), (8000, "no.such.host.invalid")])
def test_a_port_or_host_that_does_not_exist_is_told_in_one_line(port: int, host: str) -> None:
    with pytest.raises(PortTaken) as refused:
        refuse_taken_port(port, host)
    assert str(refused.value).startswith(f"port {port} of {host} cannot be used (")
    assert "\n" not in str(refused.value)
