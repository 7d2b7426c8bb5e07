"""Personal values of events: kept beside the trail, where only the hash of a salt and the value stands for them.

Whoever has salt and value can prove that this was the value. When both are deleted nobody can find it again, not even
by trying all names there are, and the sealed event is what it was.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

SALT = 32  # bytes


@dataclass(frozen=True)
class Veiled:
    """A value with its salt, and what the event holds instead."""

    name: str
    salt: bytes
    value: str

    @property
    def stand_in(self) -> dict[str, str]:
        return {"sha256": hashed(self.salt, self.value)}


def hashed(salt: bytes, value: str) -> str:
    return hashlib.sha256(salt + value.encode()).hexdigest()


def veiled(personal: Mapping[str, str]) -> list[Veiled]:
    """Each value under a salt of its own; what is empty hides nothing, and is left out."""
    return [Veiled(name, secrets.token_bytes(SALT), value) for name, value in personal.items() if value]
