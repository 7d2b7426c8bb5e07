"""The signed return address: where a refusal comes back to, and proof that it is about a message of ours.

    local+<org>.<the 16 octets of the message's uuid, base32>.<80 bits of HMAC-SHA256, base32>@domain

Lower case, and read without regard to case, since mail servers change it. Nobody can make one without the key.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b32decode, b32encode
from uuid import UUID

from app.config import Settings

LONGEST_LOCAL = 64  # Octets before the @: RFC 5321 section 4.5.3.1.1.
MAC_BYTES = 10  # 80 bits: nobody guesses one, and it is 16 letters.
# Bounded on both sides, so that a hostile header costs no more than its length.
SIGNED = re.compile(
    r"[^@\s<>,;:\"()]{0,64}\+(([0-9]{1,19})\.([a-z2-7]{26})\.([a-z2-7]{16}))@[a-z0-9.-]{1,253}", re.IGNORECASE
)


def sign_return(settings: Settings, org: int, message: UUID) -> str:
    """The return address of one message.

    Where ONUS_MAIL_FROM leaves no room for it (`has_room`), the plain address: the message goes out all the same, and
    what comes back has to be read by a person.
    """
    address = settings.mail_sender()[1]
    local, _, domain = address.partition("@")
    signed = f"{local}+{signature(settings, org, message)}"
    return f"{signed}@{domain}".lower() if len(signed) <= LONGEST_LOCAL else address


def read_return(settings: Settings, address: str) -> tuple[int, UUID] | None:
    """Organisation and message of a return address that this installation signed; None for any other text."""
    found = SIGNED.fullmatch(address.strip())
    if found is None:
        return None
    org, message = int(found[2]), UUID(bytes=b32decode(found[3].upper() + "======"))
    mine = signature(settings, org, message)
    return (org, message) if hmac.compare_digest(mine.encode(), found[1].lower().encode()) else None


def has_room(settings: Settings, org: int) -> bool:
    """Whether the part of ONUS_MAIL_FROM before the @ is short enough to be signed for this organisation."""
    return "+" in sign_return(settings, org, UUID(int=0)).removeprefix(settings.mail_sender()[1].partition("@")[0])


def signature(settings: Settings, org: int, message: UUID) -> str:
    key = hmac.digest(settings.session_key().encode(), b"onus return address", hashlib.sha256)
    seal = hmac.digest(key, f"{org}.{message.hex}".encode(), hashlib.sha256)[:MAC_BYTES]
    return f"{org}.{base32(message.bytes)}.{base32(seal)}"


def base32(octets: bytes) -> str:
    return b32encode(octets).decode().rstrip("=").lower()
