"""Passwords: what is kept of one, never the password itself."""

from __future__ import annotations

import functools
import secrets

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from app.domain.errors import Refused

SHORTEST = 12  # Characters: long enough to need no rules about digits and signs (NIST SP 800-63B).
LONGEST = 128  # Characters: a long sentence; hashing more would let a stranger burn our time.

HASHER = PasswordHasher()


def hashed(password: str) -> str:
    """The argon2id hash of a password of 12 to 128 characters. Raises Refused for another length."""
    if not SHORTEST <= len(password) <= LONGEST:
        limits = {"least": SHORTEST, "most": LONGEST}
        raise Refused(
            "The password has %(length)s characters: use %(least)s to %(most)s.", length=len(password), **limits
        )
    return HASHER.hash(password)


@functools.cache
def hash_of_nobody() -> str:
    return HASHER.hash(secrets.token_hex(16))


def matches(kept: str | None, password: str) -> bool:
    """Whether this is the password. Where there is none, the same time is taken, and the answer is no."""
    if len(password) > LONGEST:
        return False
    try:
        return HASHER.verify(kept or hash_of_nobody(), password) and kept is not None
    except (VerificationError, InvalidHashError):
        return False
