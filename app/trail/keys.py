"""The private key that signs checkpoints: a file for its owner only. Commands and the scheduler read it, pages never.

PEM (PKCS 8) without a pass phrase, as `openssl genpkey -algorithm ed25519` writes it. Beside it lie, with `.new` at
the end, the key of a rotation that is under way, and with `.old` the one before.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from app.config import Misconfigured, Settings

OWNER_READS = 0o400


def key_file(settings: Settings) -> Path:
    """The file of the key, whether it exists or not."""
    return settings.trail_key or settings.home / "trail.key"


def read_key(path: Path) -> Ed25519PrivateKey:
    """The key of this file. Raises Misconfigured, which never repeats what the file holds."""
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except OSError as fault:
        raise Misconfigured(
            f"the key that seals the trail, {path}, cannot be read ({fault.strerror}): put it back from its copy"
        ) from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise Misconfigured(f"{path} holds no Ed25519 key: write one by `openssl genpkey -algorithm ed25519`")
    return key


def kept_key(path: Path) -> Ed25519PrivateKey:
    """The key of this file, made whole at the first call; two at once agree on one. Raises Misconfigured."""
    if not path.exists():
        write_key(path)
    return read_key(path)


def new_key(path: Path) -> Ed25519PrivateKey:
    """The key that will take over, made beside the one at work, or left there by a rotation that was cut off."""
    return kept_key(beside(path, "new"))


def turn_over(path: Path) -> None:
    """Let the new key take the place of the one at work, which stays beside it. Again, it changes nothing.

    Raises Misconfigured where the folder cannot be written.
    """
    new, old = beside(path, "new"), beside(path, "old")
    if not new.exists():
        return
    try:
        if path.exists():
            old.unlink(missing_ok=True)
            os.link(path, old)
        new.replace(path)
    except OSError as fault:
        raise Misconfigured(
            f"{new} cannot take the place of {path} ({fault.strerror}): let them change places, {path} as {old.name}"
        ) from None


def beside(path: Path, suffix: str) -> Path:
    return path.with_name(f"{path.name}.{suffix}")


def write_key(path: Path) -> None:
    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        opened = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_READS)
        with os.fdopen(opened, "wb") as file:
            file.write(pem)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    except OSError as fault:
        raise Misconfigured(
            f"the key that seals the trail cannot be kept in {path} ({fault.strerror}): make its folder writable, "
            "or set ONUS_TRAIL_KEY to a key of yours"
        ) from None
