"""The settings: read from the environment once, into one frozen object. Nothing else reads the environment."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flask import current_app

PACKAGE = Path(__file__).parent
ENVIRONMENTS = ("production", "development", "test")


class Misconfigured(Exception):
    """A setting is missing or unusable; the message names it and says what to do."""


@dataclass(frozen=True)
class Settings:
    """Every setting of Onus. Durations are seconds."""

    home: Path
    env: str = "development"
    database_url: str | None = None
    owner_url: str | None = None
    secret_key: str | None = None
    base_url: str | None = None
    smtp_url: str | None = None
    mail_from: str | None = None
    scan_every: float = 300.0
    deliver_every: float = 5.0
    lease: float = 300.0
    ping_url: str | None = None
    smtp_connections: int = 2
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
        if self.env == "production":
            for name, value in (("ONUS_SECRET_KEY", self.secret_key), ("ONUS_BASE_URL", self.base_url)):
                if value is None:
                    raise Misconfigured(f"{name} is required where ONUS_ENV=production: set it")

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


def seconds(given: Mapping[str, str], name: str, default: float) -> float:
    text = given.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise Misconfigured(f"{name} is {text!r}: give a number above 0")
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
