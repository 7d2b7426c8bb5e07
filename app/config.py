"""The settings: read from the environment once, into one frozen object. Nothing else reads the environment."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from flask import current_app

PACKAGE = Path(__file__).parent
ENVIRONMENTS = ("production", "development", "test")

NO_TLS, STARTTLS, IMPLICIT = "none", "starttls", "implicit"
PORTS = {NO_TLS: 25, STARTTLS: 587, IMPLICIT: 465}  # RFC 5321, RFC 6409, RFC 8314.
SMTP_FORM = "write smtp://user:password@host:port?tls=starttls (or implicit, or none), or file: alone"
SMTP_OPTIONS = frozenset({"tls", "cafile", "verb", "reply"})
VERB_WITHIN = 30.0  # seconds for the answer to one verb.
REPLY_WITHIN = 600.0  # seconds for the answer to the final dot, RFC 5321 section 4.5.3.2.6.
# An address that can stand after MAIL FROM without any extension; RFC 5321 section 4.1.2, less quoted local parts.
ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")
HERE = "http://127.0.0.1:8000"  # Where `onus up` and `onus web` serve unless they are told otherwise.


class Misconfigured(Exception):
    """A setting is missing or unusable; the message names it and says what to do."""


@dataclass(frozen=True)
class MailServer:
    """The mail server that messages are handed to. `tls` is what is required, never a wish; durations are seconds."""

    host: str
    port: int
    tls: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    cafile: str | None = None  # The authorities that are trusted instead of those of the host.
    verb_within: float = VERB_WITHIN
    reply_within: float = REPLY_WITHIN

    @property
    def is_loopback(self) -> bool:
        return is_loopback(self.host)


@dataclass(frozen=True)
class Outbox:
    """The folder into which messages are written instead of leaving this host."""

    folder: Path


@dataclass(frozen=True)
class Settings:
    """Every setting of Onus. Durations are seconds."""

    home: Path
    env: str = "development"
    database_url: str | None = None
    owner_url: str | None = None
    secret_key: str | None = None
    base_url: str | None = None
    smtp_url: str | None = field(default=None, repr=False)
    mail_from: str | None = None
    scan_every: float = 300.0
    deliver_every: float = 5.0
    lease: float = 300.0
    ping_url: str | None = None
    smtp_connections: int = 2
    trail_key: Path | None = None
    clock: dt.datetime | None = None
    failpoints: str | None = None

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> Settings:
        """Read the environment. Raises Misconfigured with the name of the setting at fault."""
        given = {name: value.strip() for name, value in environ.items() if name.startswith("ONUS_") and value.strip()}
        settings = cls(
            home=Path(given.get("ONUS_HOME") or default_home()).expanduser().absolute(),
            env=given.get("ONUS_ENV", "development"),
            database_url=given.get("ONUS_DATABASE_URL"),
            owner_url=given.get("ONUS_OWNER_URL") or given.get("ONUS_DATABASE_URL"),
            secret_key=given.get("ONUS_SECRET_KEY"),
            base_url=given.get("ONUS_BASE_URL"),
            smtp_url=given.get("ONUS_SMTP_URL"),
            mail_from=given.get("ONUS_MAIL_FROM"),
            scan_every=seconds(given, "ONUS_SCAN_EVERY", 300.0),
            deliver_every=seconds(given, "ONUS_DELIVER_EVERY", 5.0),
            lease=seconds(given, "ONUS_LEASE", 300.0),
            ping_url=given.get("ONUS_PING_URL"),
            smtp_connections=int(seconds(given, "ONUS_SMTP_CONNECTIONS", 2)),
            trail_key=Path(named).expanduser().absolute() if (named := given.get("ONUS_TRAIL_KEY")) else None,
            clock=fixed_clock(given.get("ONUS_CLOCK")),
            failpoints=given.get("ONUS_FAILPOINTS"),
        )
        settings.check()
        return settings

    def check(self) -> None:
        if self.env not in ENVIRONMENTS:
            raise Misconfigured(f"ONUS_ENV is {self.env!r}: use one of {', '.join(ENVIRONMENTS)}")
        if self.clock is not None and self.env != "test":
            raise Misconfigured("ONUS_CLOCK stops the clock, so it is refused unless ONUS_ENV=test: unset it")
        if self.failpoints is not None and self.env != "test":
            raise Misconfigured("ONUS_FAILPOINTS breaks Onus on purpose: unset it, or set ONUS_ENV=test")
        _ = self.mail_route(), self.mail_sender()
        if self.env == "production":
            for name, value in (("ONUS_SECRET_KEY", self.secret_key), ("ONUS_BASE_URL", self.base_url)):
                if value is None:
                    raise Misconfigured(f"{name} is required where ONUS_ENV=production: set it")

    def mail_route(self) -> MailServer | Outbox | None:
        """Where messages go; None while ONUS_SMTP_URL is unset. Raises Misconfigured, without the value."""
        if self.smtp_url is None:
            return None
        if self.smtp_url.lower().startswith("file:"):
            if self.smtp_url[5:].strip("/"):
                raise Misconfigured(
                    "ONUS_SMTP_URL names a file, but messages go to ONUS_HOME/outbox: write file: alone"
                )
            return Outbox(self.home / "outbox")
        return mail_server(self.smtp_url)

    def mail_sender(self) -> tuple[str | None, str]:
        """The name, if one is set, and the address that messages come from."""
        if self.mail_from is None:
            host = re.match(r"https?://([a-z0-9.-]*[a-z][a-z0-9.-]*)", self.links_to().lower())  # A name, not a number.
            return None, f"onus@{host[1] if host else 'localhost'}"
        named = re.fullmatch(r'"?([^"<>@\x00-\x1f]*?)"?\s*<([^<>]*)>', self.mail_from)
        name, address = (named[1].strip() or None, named[2].strip()) if named else (None, self.mail_from)
        if ADDRESS.fullmatch(address) is None:
            raise Misconfigured(
                f"ONUS_MAIL_FROM is {self.mail_from!r}: write onus@example.org or Onus <onus@example.org>, in ASCII"
            )
        return name, address

    def links_to(self) -> str:
        """The start of every link to a page that leaves Onus, without a slash at its end."""
        return (self.base_url or HERE).rstrip("/")

    def session_key(self) -> str:
        """The key that signs sessions: the one that was set, else one made once and kept in ONUS_HOME."""
        return self.secret_key or kept_secret(self.home / "secret_key")


def settings() -> Settings:
    """The settings of the current application."""
    chosen: Settings = current_app.extensions["onus_settings"]
    return chosen


def default_home() -> Path:
    """`var/` of a source tree, else `onus-var` where the command runs."""
    tree = PACKAGE.parent
    if (tree / "wsgi.py").is_file() and (tree / "pyproject.toml").is_file():
        return tree / "var"
    return Path("onus-var")


def beside(name: str) -> Path:
    """A folder of the project: beside the package in a source tree, inside it when installed from a wheel."""
    tree = PACKAGE.parent / name
    return tree if (PACKAGE.parent / "pyproject.toml").is_file() and tree.is_dir() else PACKAGE / name


def mail_server(url: str) -> MailServer:
    """Read `smtp://user:password@host:port?tls=…`. The password is never repeated in a refusal.

    Without `tls` it is `none` for this host itself, where nobody listens in between, and `starttls` for every other.
    """
    try:
        parts = urlsplit(url)
        host, port = unquote(parts.hostname or ""), parts.port
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError:
        raise Misconfigured(f"ONUS_SMTP_URL cannot be read: {SMTP_FORM}") from None
    if parts.scheme != "smtp" or re.fullmatch(r"[A-Za-z0-9._:-]+", host) is None or parts.path.strip("/") or port == 0:
        raise Misconfigured(f"ONUS_SMTP_URL cannot be read: {SMTP_FORM}")
    if unknown := options.keys() - SMTP_OPTIONS:
        known = ", ".join(sorted(SMTP_OPTIONS))
        raise Misconfigured(f"ONUS_SMTP_URL has the unknown option {min(unknown)!r}: use {known}")
    tls = options.get("tls", NO_TLS if is_loopback(host) else STARTTLS)
    if tls not in PORTS:
        raise Misconfigured(f"ONUS_SMTP_URL has tls={tls!r}: write tls=starttls, tls=implicit or tls=none")
    user, password = signed_in(parts)
    if user is not None and tls == NO_TLS and not is_loopback(host):
        raise Misconfigured("ONUS_SMTP_URL would send a password without TLS: write tls=starttls or tls=implicit")
    verb = seconds(options, "verb", VERB_WITHIN, " in ONUS_SMTP_URL")
    reply = seconds(options, "reply", REPLY_WITHIN, " in ONUS_SMTP_URL")
    return MailServer(host, port or PORTS[tls], tls, user, password, options.get("cafile"), verb, reply)


def signed_in(parts: SplitResult) -> tuple[str | None, str | None]:
    """User and password, both or neither; `%40` stands for an @."""
    if not parts.username and not parts.password:
        return None, None
    if not parts.username or not parts.password:
        raise Misconfigured("ONUS_SMTP_URL names a user or a password alone: write both, or neither")
    return unquote(parts.username), unquote(parts.password)


def is_loopback(host: str) -> bool:
    """This host itself, by a name or number that no name server is asked about."""
    return host in {"localhost", "::1"} or re.fullmatch(r"127(\.[0-9]{1,3}){3}", host) is not None


def seconds(given: Mapping[str, str], name: str, default: float, where: str = "") -> float:
    text = given.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise Misconfigured(f"{name}{where} is {text!r}: give a number above 0")
    return value


def fixed_clock(text: str | None) -> dt.datetime | None:
    if text is None:
        return None
    try:
        instant = dt.datetime.fromisoformat(text)
    except ValueError:
        instant = None
    if instant is None or instant.tzinfo is None:
        raise Misconfigured(f"ONUS_CLOCK is {text!r}: give an instant with an offset, such as 2027-03-02T11:00:00Z")
    return instant.astimezone(dt.UTC)


def kept_secret(path: Path) -> str:
    """The secret of this file, made whole at the first call, for its owner only; two at once agree on one."""
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
            draft.touch(mode=0o600)
            draft.write_text(secrets.token_hex(32))
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
            draft.unlink()
        return path.read_text()
    except OSError as fault:
        raise Misconfigured(
            f"{path} cannot be kept ({fault.strerror}): make ONUS_HOME writable, or set ONUS_SECRET_KEY"
        ) from None
