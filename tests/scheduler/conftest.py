"""Real processes on a real database: started, watched, and ended for sure.

A process is found again by the ONUS_HOME that it carries in its environment, or by the folder that it works in, so
that children and servers are found, too. Only such processes are ever ended.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psycopg
import pytest
from flask import Flask

from app.ledger.planning import KEY
from app.operations import people
from app.queries.facts import read_facts
from app.queries.owed import Owed, owed
from tests import factories
from tests.factories import Acme

CHECKOUT = Path(__file__).parents[2]
WITHIN = 30.0  # seconds; only a failing test waits so long
ALL_STOPPED_WITHIN = 10.0  # seconds, the promise of every process of Onus

Fact = TypeVar("Fact")


def until(fact: Callable[[], Fact], what: str = "it", within: float = WITHIN) -> Fact:
    """Wait for the fact to hold, and return it."""
    deadline = time.monotonic() + within
    while not (found := fact()):
        assert time.monotonic() < deadline, f"{what} did not come true in {within:.0f} s"
        time.sleep(0.05)
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def fetch(port: int, path: str) -> tuple[int, str] | None:
    """Status and body of a page of this host; None while nobody answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read().decode()
    except (OSError, ValueError):
        return None


def health(port: int) -> tuple[int, dict[str, Any]]:
    """What /healthz says, as soon as somebody answers."""
    status, body = until(lambda: fetch(port, "/healthz"), "an answer")
    return status, json.loads(body)


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)

    @property
    def complaint(self) -> str:
        """The one line on stderr, all that a person may be shown."""
        assert self.err.count("\n") == 1, self.err
        assert self.err.startswith("onus: "), self.err
        return self.err.strip()


class Running:
    """A process of ours. Its output goes into files, so that nothing can hold it up."""

    def __init__(self, words: tuple[str, ...], env: dict[str, str], folder: Path) -> None:
        number = len(list(folder.iterdir()))
        self.words = words
        self._out, self._err = folder / f"{number}.out", folder / f"{number}.err"
        with self._out.open("w") as out, self._err.open("w") as err:
            self.process = subprocess.Popen(
                words, env=env, cwd=CHECKOUT, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def err(self) -> str:
        return self._err.read_text()

    def logged(self, event: str) -> list[dict[str, Any]]:
        """The whole lines of its log with this message."""
        lines = [line for line in self.err.splitlines(keepends=True) if line.startswith("{") and line.endswith("}\n")]
        return [entry for entry in map(json.loads, lines) if entry["event"] == event]

    def until_ticks(self, count: int, beyond: int = 0) -> None:
        """Wait until it has finished so many scans of all organisations, more than `beyond`."""
        until(lambda: len(self.logged("scanned")) >= beyond + count or self.gone(), f"{count} ticks")
        assert self.process.poll() is None, self.err

    def gone(self) -> bool:
        return self.process.poll() is not None

    def ended(self, within: float = WITHIN) -> Ended:
        code = self.process.wait(within)
        return Ended(code, self.out, self.err)

    def stopped(self, number: signal.Signals = signal.SIGTERM) -> Ended:
        """Ask it to stop, which it must within the promised time."""
        self.process.send_signal(number)
        return self.ended(ALL_STOPPED_WITHIN)

    def killed(self) -> Ended:
        self.process.kill()
        return self.ended()


class Onus:
    """The command `onus`, from this checkout, in an environment of its own."""

    def __init__(self, home: Path, **env: str) -> None:
        self.home = home
        self._folder = Path(tempfile.mkdtemp(prefix="onus-said-"))
        self._started: list[Running] = []
        kept = {name: word for name, word in os.environ.items() if not name.startswith("ONUS_")}
        self.env = {**kept, "ONUS_ENV": "test", "ONUS_HOME": str(home), "PYTHONUNBUFFERED": "1", **env}

    def start(self, *words: str, **env: str) -> Running:
        return self.start_python("-m", "app", *words, **env)

    def start_python(self, *words: str, **env: str) -> Running:
        started = Running((sys.executable, *words), {**self.env, **env}, self._folder)
        self._started.append(started)
        return started

    def __call__(self, *words: str, **env: str) -> Ended:
        """Run the command to its end."""
        return self.start(*words, **env).ended()

    def living(self) -> list[int]:
        return living(self.home)

    def close(self) -> None:
        """End whatever was started. What does not end when it is asked to, and what it leaves behind, is a failure."""
        for started in self._started:
            if not started.gone():
                os.killpg(started.pid, signal.SIGCONT)
                os.killpg(started.pid, signal.SIGTERM)
        deadline = time.monotonic() + ALL_STOPPED_WITHIN
        for started in self._started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                started.process.wait(max(0.0, deadline - time.monotonic()))
        while self.living() and time.monotonic() < deadline:
            time.sleep(0.2)
        left = [(pid, command_of(pid)) for pid in self.living()]
        for pid, _ in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for started in self._started:
            started.process.wait(WITHIN)
        shutil.rmtree(self._folder)
        assert left == [], "processes were left running"


def living(home: Path) -> list[int]:
    """The processes that were started for this ONUS_HOME, or work below it, as all of its server do. No zombies."""
    marked = os.fsencode(f"ONUS_HOME={home}")
    found = []
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        with contextlib.suppress(OSError):
            named = marked in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            if named or Path(os.readlink(f"/proc/{pid}/cwd")).is_relative_to(home):
                found.append(pid)
    return found


def command_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return ""


@pytest.fixture
def onus(real_app: Flask, tmp_path: Path) -> Iterator[Onus]:
    """The command on the test's own database, whose commits are real; no process outlives the test."""
    given = real_app.extensions["onus_settings"]
    onus = Onus(tmp_path / "home", ONUS_DATABASE_URL=given.database_url, ONUS_OWNER_URL=given.owner_url)
    try:
        yield onus
    finally:
        onus.close()


class Database:
    """The test's own database by its owner, who sees all organisations; each statement commits by itself."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.connection = psycopg.connect(url, autocommit=True)

    def rows(self, sql: str, *given: Any) -> list[tuple[Any, ...]]:
        cursor = self.connection.execute(sql, given or None)
        return cursor.fetchall() if cursor.description else []

    def value(self, sql: str, *given: Any) -> Any:
        return self.rows(sql, *given)[0][0]

    def locks(self, kind: str, granted: bool = True) -> int:
        """How many sessions of this database hold, or wait for, a lock of this kind (advisory, relation …)."""
        return self.value(
            "select count(distinct l.pid) from pg_locks l join pg_stat_activity a on a.pid = l.pid "
            "where a.datname = current_database() and l.locktype = %s and l.granted = %s",
            kind,
            granted,
        )

    def waiting(self, kind: str) -> int:
        return self.locks(kind, granted=False)

    @contextlib.contextmanager
    def judging(self, acme: Acme) -> Iterator[None]:
        """Hold the lock under which an organisation is scanned and aligned, as if another judge were at work."""
        with self.other_session() as judge:
            judge.execute("select pg_advisory_xact_lock(%s, %s)", (KEY, acme.org))
            yield

    @contextlib.contextmanager
    def other_session(self) -> Iterator[psycopg.Connection[Any]]:
        """A transaction of its own, for what has to wait or be waited for. It is rolled back unless committed."""
        with contextlib.closing(psycopg.connect(self.url)) as connection:
            yield connection


@pytest.fixture
def database(real_app: Flask) -> Iterator[Database]:
    database = Database(real_app.extensions["onus_settings"].owner_url)
    with contextlib.closing(database.connection):
        yield database


# Due dates one day after the other from 1 February on, so many days long, so that there is some of everything.
MANY = """
with made as (
  insert into subject (org_id, site_id, kind_id, reference, reference_key, title, owner_member_id)
  select :org, :site, :kind, 'P-' || n, 'p-' || n, 'Permit ' || n, :owner from generate_series(1, :count) n
  returning id, substr(reference, 3)::int as n)
insert into obligation (org_id, subject_id, due_on, first_due_on, opened_at)
select :org, id, due_on, due_on, :now from (select id, date '2027-02-01' + n % 170 as due_on from made) dated"""


def many_permits(acme: Acme, count: int) -> None:
    """Two officers are told of what lies ahead, the owner of what is near or late. On 1 March 2027 seven in ten have
    crossed something. No act, and so no queue row, stands behind them."""
    with acme.acting() as act:
        for name in ("ana", "berta"):
            people.add_member(act, f"{name}@acme.example", "officer")
        owner = people.add_member(act, "carl@acme.example", "staff")
        factories.rule(act, "Ahead", thresholds=("90d", "30d"), to=("role:officer",))
        factories.rule(act, "Near", thresholds=("7d", "0d", "+7d"), to=("owner",))
        facts = {"site": factories.site(act), "kind": factories.kind(act), "owner": owner, "count": count}
        act.run(MANY, facts)


def iso(instant: dt.datetime) -> str:
    return instant.isoformat()


def owed_now(acme: Acme, now: dt.datetime) -> Owed:
    """The independent oracle's word on this organisation."""
    with acme.watching(now) as act:
        return owed(read_facts(act.session, act.org), now)
