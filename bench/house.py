"""A throw-away Onus with processes and a database of its own, worked from outside: by its commands and its pages."""

from __future__ import annotations

import contextlib
import http.cookiejar
import json
import os
import re
import resource
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from app.embedded import EmbeddedPostgres

WITHIN = 120.0  # Seconds for the start of everything, on a loaded machine.
EMAIL = "ana@acme.example"
TOKEN = re.compile(r'name="csrf_token"[^>]* value="([^"]+)"')


@dataclass(frozen=True)
class Ran:
    """What a command took as a whole process, by the accounting of the operating system."""

    code: int
    seconds: float
    cpu: float  # Seconds, user and system.
    megabytes: float  # At its peak.
    said: bytes


@dataclass
class House:
    """One installation and its organisation `acme`, with Ana as its administrator."""

    home: Path
    port: int
    password: str = field(default_factory=lambda: secrets.token_urlsafe(16))

    @property
    def environment(self) -> dict[str, str]:
        mine = {"ONUS_HOME": str(self.home), "ONUS_ENV": "test", "PYTHONTZPATH": ""}
        return {name: value for name, value in os.environ.items() if not name.startswith("ONUS_")} | mine

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-m", "app", "up", "--port", str(self.port)]
        with (self.home / "up.log").open("wb") as log:
            return subprocess.Popen(words, env=self.environment, stdout=log, stderr=subprocess.STDOUT)

    def until_healthy(self, up: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + WITHIN
        while time.monotonic() < deadline and up.poll() is None:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.address}/healthz", timeout=5):
                return
            time.sleep(0.2)
        raise RuntimeError(f"Onus did not start: {(self.home / 'up.log').read_text()[-2000:]}")

    def furnish(self) -> None:
        self.run("org", "add", "acme", "--name", "Plant", "--timezone", "Europe/Madrid")
        words = ("member", "add", EMAIL, "--role", "admin", "--name", "Ana", "--org", "acme", "--password-stdin")
        self.run(*words, given=self.password.encode())

    def run(self, *words: str, given: bytes = b"") -> Ran:
        """Run a command to its end. Raises RuntimeError unless it exits with 0."""
        began = time.monotonic()
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as complained, tempfile.TemporaryFile() as told:
            told.write(given)
            told.seek(0)
            command = [sys.executable, "-m", "app", *words]
            child = subprocess.Popen(command, env=self.environment, stdin=told, stdout=said, stderr=complained)
            _, status, used = os.wait4(child.pid, 0)
            took = time.monotonic() - began
            child.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            complained.seek(0)
            if child.returncode:
                raise RuntimeError(f"onus {' '.join(words)}: exit {child.returncode}: {complained.read()[-2000:]!r}")
            return Ran(child.returncode, took, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, said.read())

    def json(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json").said)

    def database(self) -> psycopg.Connection[Any]:
        """A session of the superuser, for what the benchmark itself lays beside the tables of Onus."""
        server = EmbeddedPostgres(self.home)
        return psycopg.connect(server.acquire_dsn(), autocommit=True)


@dataclass
class Browser:
    """A signed-in person, without script."""

    house: House
    opener: urllib.request.OpenerDirector = field(init=False)

    def __post_init__(self) -> None:
        self.opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar(secrets_policy()))
        )
        self.post("/login", {"email": EMAIL, "password": self.house.password}, form_at="/login")

    def get(self, path: str) -> str:
        with self.opener.open(self.house.address + path, timeout=WITHIN) as answer:
            return str(answer.read().decode())

    def post(self, path: str, fields: dict[str, str], form_at: str, file: tuple[str, bytes] | None = None) -> str:
        """Send a form as the page at `form_at` would; the address to which it leads."""
        token = TOKEN.search(self.get(form_at))
        if token is None:
            raise RuntimeError(f"{form_at} has no form")
        body, kind = encoded({**fields, "csrf_token": token[1]}, file)
        sent = urllib.request.Request(self.house.address + path, data=body, headers={"Content-Type": kind})
        try:
            with self.opener.open(sent, timeout=WITHIN) as answer:
                answer.read()
                return str(answer.geturl())
        except urllib.error.HTTPError as refused:
            raise RuntimeError(f"{path}: {refused.code}: {words(refused.read().decode())}") from None


def words(page: str) -> str:
    """What a page says, near where it says that something is wrong."""
    plain = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    wrong = plain.find("cannot")
    return plain[max(0, wrong - 100) : wrong + 400]


def secrets_policy() -> http.cookiejar.DefaultCookiePolicy:
    """Cookies that are for https alone may pass here, since this host is the only one."""
    return http.cookiejar.DefaultCookiePolicy(secure_protocols=("http", "https"))


def encoded(fields: dict[str, str], file: tuple[str, bytes] | None) -> tuple[bytes, str]:
    """A form as its bytes and their type; RFC 7578 where a file is with it."""
    if file is None:
        return urllib.parse.urlencode(fields).encode(), "application/x-www-form-urlencoded"
    mark = uuid.uuid4().hex
    parts = [f'--{mark}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
             for name, value in fields.items()]  # fmt: skip
    head = f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{file[0]}"\r\n\r\n'.encode()
    return b"".join([*parts, head, file[1], f"\r\n--{mark}--\r\n".encode()]), f"multipart/form-data; boundary={mark}"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextlib.contextmanager
def running() -> Iterator[House]:
    """An Onus that runs, and is gone afterwards."""
    home = Path(tempfile.mkdtemp(prefix="onus-bench-", dir="/var/tmp"))
    home.chmod(0o755)
    house = House(home, free_port())
    up = house.start()
    try:
        house.until_healthy(up)
        house.furnish()
        yield house
    finally:
        up.send_signal(signal.SIGTERM)
        up.wait(WITHIN)
        shutil.rmtree(home, ignore_errors=True)


def machine() -> str:
    """What the figures were measured on, in a line."""
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    memory = "no limit of memory" if limit == resource.RLIM_INFINITY else f"{limit >> 20} MB at most"
    return f"{os.cpu_count()} cores, load {load} at the start, {memory}, Python {sys.version.split()[0]}"
