"""The embedded server, with real processes: made, shared, killed, taken over and stopped. No process is left behind."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from app import embedded
from app.embedded import EmbeddedPostgres, Unusable

pytestmark = pytest.mark.real_commits  # servers of its own: nothing of the lane's database is used

ROOT = os.geteuid() == 0
NOBODY = pwd.getpwnam("nobody")
SERVER = {"user": NOBODY.pw_uid, "group": NOBODY.pw_gid} if ROOT else {}  # as whom the server runs
WITHIN = 60.0  # seconds; only a failing test waits so long

# A process that uses the server until its input ends. It loads the module alone, and becomes an ordinary user only
# then, so that this account needs to reach neither interpreter nor packages.
USER = """
import os, runpy, sys
from pathlib import Path
module, home, account = sys.argv[1:]
embedded = runpy.run_path(module)
import psycopg
if account:
    user, group = map(int, account.split(":"))
    os.setgroups([]), os.setgid(group), os.setuid(user)
os.chdir("/")
try:
    dsn = embedded["EmbeddedPostgres"](Path(home)).acquire_dsn()
except embedded["Unusable"] as refused:
    print("refused:", refused, flush=True)
    sys.exit(1)
if os.fork() == 0:
    sys.exit()  # a fork that ends stops nothing
os.wait()
with psycopg.connect(dsn):
    print("works", flush=True)
sys.stdin.read()
"""


class User:
    """Another process with a share in the server of a home, as ourselves or as an ordinary user."""

    def __init__(self, home: Path, ordinary: bool = False) -> None:
        account = f"{NOBODY.pw_uid}:{NOBODY.pw_gid}" if ordinary and ROOT else ""
        command = [sys.executable, "-c", USER, embedded.__file__, str(home), account]
        self.running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def said(self) -> str:
        return self.running.stdout.readline().strip()

    def end(self, kill: bool = False) -> None:
        if kill:
            self.running.kill()
        self.running.communicate(timeout=WITHIN)


def until(fact: Callable[[], object]) -> None:
    deadline = time.monotonic() + WITHIN
    while not fact():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.02)


def living(folder: Path) -> list[int]:
    """The processes at work below a folder, as all of a server are: an oracle that knows nothing of locks."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if Path(os.readlink(f"/proc/{pid}/cwd")).is_relative_to(folder):
                found.append(int(pid))
    return found


def postmaster(home: Path) -> int:
    return int((home / "postgres" / "postmaster.pid").read_bytes().split()[0])


def value(dsn: str, query: str) -> object:
    with psycopg.connect(dsn) as connection:
        return next(connection.execute(query))[0]


def lived_once(home: Path) -> bool:
    """Start the server of a home, ask it something, and stop it."""
    server = EmbeddedPostgres(home)
    answer = value(server.acquire_dsn(), "select 7")
    server.release()
    return answer == 7 and not living(home)


def refusal(home: Path) -> str:
    """What a person reads when it cannot run here: one line."""
    with pytest.raises(Unusable) as refused:
        EmbeddedPostgres(home).acquire_dsn()
    assert "\n" not in str(refused.value)
    return str(refused.value)


def reachable_folder() -> Iterator[Path]:
    """A folder that every account can reach; at the end no process may be at work in it."""
    path = Path(tempfile.mkdtemp(prefix="onus-test-", dir="/tmp"))
    path.chmod(0o755)
    try:
        yield path
        left = living(path)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert left == [], "a server was left running"
    finally:
        shutil.rmtree(path)


folder = pytest.fixture(reachable_folder, name="folder")
lasting = pytest.fixture(reachable_folder, name="lasting", scope="module")


@pytest.fixture(scope="module")
def home(lasting: Path) -> Path:
    """A home that was made before, for all the tests that spoil nothing in it: an initdb costs a second."""
    assert lived_once(lasting / "home")
    return lasting / "home"


@pytest.fixture
def spoilt(home: Path, folder: Path) -> Path:
    subprocess.run(["cp", "-a", home, folder / "home"], check=True)
    return folder / "home"


@pytest.fixture
def stranger(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has nothing to do with any server, and outlives the test."""
    with subprocess.Popen(["sleep", "600"], cwd="/", **request.param) as process:
        yield process
        alive = process.poll() is None
        process.kill()
    assert alive, "a stranger was killed"


def test_a_cold_start_under_odd_conditions(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Home and server are made by eight threads at once, under a strict umask and a misleading environment."""
    for name, word in {"PGPORT": "6543", "PGDATA": "/nowhere", "LC_ALL": "xx_YY", "ONUS_SECRET_KEY": "hush"}.items():
        monkeypatch.setenv(name, word)
    home = folder / "new" / "home"
    server, before = EmbeddedPostgres(home), os.umask(0o077)
    with ThreadPoolExecutor(8) as pool:
        started = pool.map(lambda _: value(server.acquire_dsn(), "select pg_postmaster_start_time()"), range(8))
        assert len(set(started)) == 1
    os.umask(before)
    again = server.acquire_dsn(user="postgres", dbname="template1")
    assert value(again, "select current_database() || lower('ÉÑ')") == "template1éñ"
    for setting, wanted in {"fsync": "on", "max_connections": "200", "listen_addresses": "", "timezone": "UTC"}.items():
        assert value(again, f"show {setting}") == wanted
    assert value(again, "show idle_in_transaction_session_timeout") == "5min"
    assert b"hush" not in Path(f"/proc/{postmaster(home)}/environ").read_bytes()
    assert [oct(path.stat().st_mode)[-3:] for path in (home, folder)] == ["711" if ROOT else "700", "755"]
    server.release()
    assert not living(home)
    server.release()  # again: nothing to do
    assert lived_once(home)


def test_the_server_of_a_killed_user_is_taken_over_revived_and_stopped(home: Path) -> None:
    killed, server = User(home), EmbeddedPostgres(home)
    assert killed.said() == "works"
    orphaned = postmaster(home)
    killed.end(kill=True)
    assert orphaned in living(home)
    with contextlib.closing(psycopg.connect(server.acquire_dsn(), autocommit=True)) as busy:
        assert postmaster(home) == orphaned
        busy.pgconn.send_query(b"select pg_sleep(0.5)")
        os.kill(orphaned, signal.SIGKILL)
        server.revive()  # waits for the orphan at work instead of starting beside it
    server.release()
    assert lived_once(home)


def test_a_killed_server_is_revived_with_what_was_committed(spoilt: Path) -> None:
    server, other = EmbeddedPostgres(spoilt), User(spoilt)
    assert other.said() == "works"
    dsn = server.acquire_dsn()
    with psycopg.connect(dsn) as connection:
        connection.execute("create table kept as select 7 as n")
    os.kill(postmaster(spoilt), signal.SIGKILL)
    until(lambda: not living(spoilt))
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: server.revive(), range(3)))
    revived = postmaster(spoilt)
    assert value(dsn, "select n from kept") == 7
    server.revive()  # it lives: nothing to do
    server.release()
    assert postmaster(spoilt) == revived  # the other still uses it
    other.end()
    assert not living(spoilt)


@pytest.mark.parametrize("stranger", [SERVER, {}], indirect=True, ids=["of the server's account", "of our own"])
def test_the_process_id_in_the_file_may_be_a_strangers(home: Path, stranger: subprocess.Popen[bytes]) -> None:
    server, named = EmbeddedPostgres(home), home / "postgres" / "postmaster.pid"
    server.acquire_dsn()
    real = named.read_text()
    forged = real.replace(str(postmaster(home)), str(stranger.pid), 1)
    named.write_text(forged)
    server.release(within=0.3)  # finds nothing to signal
    named.write_text(real)
    server.acquire_dsn()
    os.kill(postmaster(home), signal.SIGKILL)
    until(lambda: not living(home))
    named.write_text(forged)  # as after a crash of the host
    server.release()
    assert lived_once(home)


def test_a_half_made_data_folder_is_made_again(folder: Path) -> None:
    killed = User(folder)
    until((folder / "postgres.new" / "PG_VERSION").exists)
    killed.end(kill=True)  # its initdb may go on for a moment, and keeps the gate shut so long
    assert not (folder / "postgres").exists()
    assert lived_once(folder)


def test_spoilt_data_is_refused(spoilt: Path) -> None:
    data = spoilt / "postgres"
    data.chmod(0o755)
    assert refusal(spoilt).startswith("PostgreSQL did not start (exit 1): ")
    assert refusal(spoilt).endswith(f"invalid permissions; see {spoilt / 'postgres.log'}")
    data.chmod(0o700)
    (data / "backup_label").touch()
    assert f'FATAL: invalid data in file "backup_label"; see {data / "log"}' in refusal(spoilt)
    (data / "PG_VERSION").write_text("17\n")
    assert "made by PostgreSQL 17, this Onus brings 18: write it out with the pg_dump" in refusal(spoilt)
    (data / "PG_VERSION").unlink()
    assert f"{data} is not the whole data of a PostgreSQL: move it away" in refusal(spoilt)


def test_a_server_that_onus_did_not_start_is_left_alone(home: Path) -> None:
    command = [embedded.programs() / "postgres", "-D", home / "postgres", "-c", "listen_addresses="]
    command += ["-c", f"unix_socket_directories={home / 'postgres'}"]
    with subprocess.Popen(command, cwd="/", stderr=subprocess.DEVNULL, **SERVER) as foreign:
        until((home / "postgres" / ".s.PGSQL.5432").exists)
        assert f"not of Onus, process {foreign.pid}, runs on {home / 'postgres'}: stop it first" in refusal(home)
        foreign.send_signal(signal.SIGINT)
        assert foreign.wait(WITHIN) == 0


def test_an_initdb_that_fails_is_told(folder: Path) -> None:
    limited = ["sh", "-c", 'ulimit -f 64; exec "$@"', "sh", sys.executable, "-c", USER]  # no file of more than 32 KB
    limited += [embedded.__file__, str(folder), ""]
    done = subprocess.run(limited, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (1, "", 1)
    assert done.stdout.startswith(f"refused: initdb in {folder / 'postgres.new'} failed: ")
    assert not (folder / "postgres").exists()


def test_a_home_that_cannot_be_made_is_told(folder: Path) -> None:
    (folder / "file").touch()
    (folder / "home").mkdir()
    (folder / "home" / "postgres").touch()
    for home in (folder / "file", folder / "file" / "home", folder / "home"):
        assert refusal(home).startswith(f"ONUS_HOME {home} cannot be used: ")
        assert "a file is in the way: move it" in refusal(home)
    assert "choose another ONUS_HOME" in refusal(Path("/proc/onus"))


def test_a_home_of_somebody_else_is_told(folder: Path) -> None:
    closed, locked = folder / "closed", folder / "locked"
    closed.mkdir(mode=0o555)
    locked.mkdir()
    (locked / "postgres.gate").touch(mode=0o600 if ROOT else 0o000)
    for home in (closed, closed / "below", locked):
        user = User(home, ordinary=True)
        said = user.said()
        user.end()
        assert said.startswith(f"refused: ONUS_HOME {home} cannot be used: ")
        assert "Permission denied; it is another account's: run onus as that one" in said


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EPERM, errno.EIO])
def test_every_error_of_a_disk_becomes_one_line(folder: Path, number: int) -> None:
    with pytest.raises(Unusable) as refused, EmbeddedPostgres(folder)._worded():
        raise OSError(number, os.strerror(number), str(folder / "postgres.gate"))
    assert f"{folder / 'postgres.gate'}: {os.strerror(number)}; " in str(refused.value)


@pytest.mark.parametrize("name", ["l" * 150, "space, 'quote' \"double\" Ñ", "odd'\"name", "\udce9 is not UTF-8"])
def test_long_and_odd_paths(spoilt: Path, name: str) -> None:
    odd = spoilt.rename(spoilt.with_name(name))
    server = EmbeddedPostgres(odd)
    assert value(server.acquire_dsn(), "select 7") == 7
    server.release()
    assert not living(odd)
    if server.sockets == server.base:
        assert name == "odd'\"name"
        return
    server.sockets.chmod(0o755)  # as if somebody had made it before
    assert f"{server.sockets}, is somebody else's: remove it" in refusal(odd)
    server.sockets.rmdir()


@pytest.mark.parametrize("made_by_user", [True, False])
def test_a_user_and_root_share_one_server_and_the_last_stops_it(folder: Path, made_by_user: bool) -> None:
    """From cold. Where we are not root, all are of one ordinary user."""
    (home := folder / "home").mkdir(mode=0o700)
    if ROOT:
        os.chown(home, NOBODY.pw_uid, NOBODY.pw_gid)
    if made_by_user:
        first, last = User(home, ordinary=True), User(home, ordinary=True)
        assert first.said() == last.said() == "works"
        first.end()
        assert postmaster(home) in living(home)
        last.end()
        assert not living(home)
    server = EmbeddedPostgres(home)
    server.acquire_dsn()
    user = User(home, ordinary=True)
    assert user.said() == "works"
    server.release()
    assert postmaster(home) in living(home)
    user.end()
    assert not living(home)
    assert (home / "postgres").stat().st_uid == (NOBODY.pw_uid if ROOT else os.geteuid())


def test_a_closed_folder_above_is_told_and_never_opened(folder: Path) -> None:
    """As root, whose server runs as nobody; an ordinary owner passes."""
    (folder / "closed").mkdir(mode=0o700)
    if ROOT:
        said = refusal(folder / "closed" / "home")
        assert f"runs as nobody, whom a folder above {folder / 'closed' / 'home'} shuts out: run onus as an" in said
    else:
        assert lived_once(folder / "closed" / "home")
    assert oct((folder / "closed").stat().st_mode)[-3:] == "700"


def test_the_home_of_an_account_without_a_name(folder: Path) -> None:
    """Initdb refuses such an account, for example the owner of a folder that is mounted into a container."""
    (folder / "postgres").mkdir()  # empty is as good as missing
    if ROOT:
        os.chown(folder, 54321, 54321)
    assert lived_once(folder)


def test_neither_a_hung_server_nor_a_fork_holds_up_the_release(home: Path) -> None:
    server = EmbeddedPostgres(home)
    server.acquire_dsn()
    if (fork := os.fork()) == 0:
        time.sleep(WITHIN)  # with our open files
        os._exit(0)
    hung, began = postmaster(home), time.monotonic()
    os.kill(hung, signal.SIGSTOP)
    server.release(within=1.5)
    assert time.monotonic() - began < 5
    with (home / "postgres.use").open() as use:
        fcntl.flock(use, fcntl.LOCK_EX | fcntl.LOCK_NB)  # it is free
    os.kill(fork, signal.SIGKILL)
    os.kill(hung, signal.SIGCONT)  # now it hears what it was told meanwhile
    until(lambda: not living(home))


def test_neither_a_client_at_work_nor_one_at_the_gate_holds_up_the_release(home: Path) -> None:
    server = EmbeddedPostgres(home)
    server.acquire_dsn()
    with (home / "postgres.gate").open() as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        server.release(within=0.3)
    assert living(home) != []
    with contextlib.closing(psycopg.connect(server.acquire_dsn())) as busy:
        busy.pgconn.send_query(b"select pg_sleep(600)")
        server.release(within=WITHIN)
    seen = subprocess.check_output([embedded.programs() / "pg_controldata", home / "postgres"], env={"LC_ALL": "C"})
    assert re.search(rb"cluster state: +shut down\n", seen)  # not "in production", as after an immediate stop


def test_a_home_that_has_gone_does_not_break_the_release(spoilt: Path) -> None:
    server = EmbeddedPostgres(spoilt)
    server.acquire_dsn()
    elsewhere = spoilt.rename(spoilt.with_name("elsewhere"))
    server.release()
    os.kill(postmaster(elsewhere), signal.SIGQUIT)
    until(lambda: not living(elsewhere))
