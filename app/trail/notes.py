"""Checkpoints in the form of C2SP: a tlog-checkpoint in a signed note, with Ed25519. No database, no files.

    onus/<installation>/<organisation>
    <number of events>
    <base64 of the root>

    — onus/<installation> <base64 of the key's id and the signature>

The origin names one organisation, so that a checkpoint of another can never stand in for it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

ED25519 = b"\x01"  # The type of signature, as C2SP numbers them.
PUBLIC, ID = 32, 4  # bytes of a public key and of a key's id
SIGNATURE = re.compile(r"— (?P<name>[^\s+]+) (?P<blob>[A-Za-z0-9+/]+={0,2})")


class Unsigned(ValueError):
    """This is no note that a trusted key has signed; the message says why."""


@dataclass(frozen=True)
class VerifierKey:
    """A public key under its name: what somebody must have in hand, from elsewhere, in order to believe a note."""

    name: str
    public: bytes

    @property
    def id(self) -> bytes:
        return hashlib.sha256(self.name.encode() + b"\n" + ED25519 + self.public).digest()[:ID]

    @property
    def text(self) -> str:
        """`name+hexkeyid+base64`, a vkey of C2SP."""
        return f"{self.name}+{self.id.hex()}+{base64.b64encode(ED25519 + self.public).decode()}"

    @classmethod
    def parse(cls, text: str) -> VerifierKey:
        """Raises ValueError for anything but the text form of a key, its own id included."""
        name, _, rest = text.strip().partition("+")
        id, _, coded = rest.partition("+")
        key = decoded(coded)
        if not name or re.search(r"\s", name) or key is None or key[:1] != ED25519 or len(key) != 1 + PUBLIC:
            raise ValueError("this is no verifier key: it reads name+id+base64")
        found = cls(name, key[1:])
        if found.id.hex() != id:
            raise ValueError("this verifier key does not have the id that it names: it was copied wrongly")
        return found

    def fits(self, text: str, signature: bytes) -> bool:
        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, text.encode())
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True)
class Signer:
    """A private key under its name, and the one that it replaces, as long as that can vouch for it."""

    name: str
    private: Ed25519PrivateKey
    before: Signer | None = None

    @property
    def key(self) -> VerifierKey:
        return VerifierKey(self.name, self.private.public_key().public_bytes_raw())

    def signature(self, text: str) -> str:
        """The signature line over this text."""
        blob = self.key.id + self.private.sign(text.encode())
        return f"— {self.name} {base64.b64encode(blob).decode()}\n"


@dataclass(frozen=True)
class Checkpoint:
    """How much of a log there was, and the one hash that stands for all of it."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """What is signed."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"


def key_name(installation: str) -> str:
    return f"onus/{installation}"


def origin(name: str, org: int) -> str:
    """The log of one organisation, under the name of the key that signs it first."""
    return f"{name}/{org}"


def signed(text: str, signers: Iterable[Signer]) -> str:
    """The note: the text, an empty line, and a signature of each."""
    return text + "\n" + "".join(signer.signature(text) for signer in signers)


def opened(note: str, trusted: Sequence[VerifierKey]) -> tuple[str, list[VerifierKey]]:
    """The signed text, and which trusted keys signed it, in the order of their lines; at least one.

    Raises Unsigned where none did, where a line of a trusted key does not fit the text, and for what is no note at all.
    Lines of keys that nobody trusts say nothing.
    """
    text, lines = divided(note)
    known = {(key.name, key.id): key for key in trusted}
    signed_by = []
    for line in lines:
        form = SIGNATURE.fullmatch(line)
        blob = decoded(form["blob"]) if form else None
        if form is None or blob is None or len(blob) <= ID:
            raise Unsigned("a signature line of the note cannot be read")
        key = known.get((form["name"], blob[:ID]))
        if key is not None and not key.fits(text, blob[ID:]):
            raise Unsigned(f"the signature of {key.name} ({key.id.hex()}) does not fit the text of the note")
        if key is not None:
            signed_by.append(key)
    if not signed_by:
        raise Unsigned("none of the keys that are trusted has signed this note")
    return text, signed_by


def has_signed(key: VerifierKey, note: str) -> bool:
    try:
        opened(note, [key])
    except Unsigned:
        return False
    return True


def checkpoint_of(note: str, trusted: Sequence[VerifierKey]) -> Checkpoint:
    """The checkpoint in a note that a trusted key signed. Raises Unsigned."""
    return read_checkpoint(opened(note, trusted)[0])


def read_checkpoint(text: str) -> Checkpoint:
    """The checkpoint of a text, whoever signed it; lines after the third are left alone. Raises Unsigned."""
    lines = text.split("\n")
    root = decoded(lines[2]) if len(lines) > 3 else None
    if root is None or len(root) != 32 or not lines[0] or not re.fullmatch(r"0|[1-9][0-9]{0,18}", lines[1]):
        raise Unsigned("the note is no checkpoint: it must name its origin, a size and a root")
    return Checkpoint(lines[0], int(lines[1]), root)


def divided(note: str) -> tuple[str, list[str]]:
    """The text, with its last line break, and the signature lines. Raises Unsigned."""
    text, gap, signatures = note.rpartition("\n\n")
    if not gap or not signatures.endswith("\n") or re.search(r"[\x00-\x09\x0b-\x1f]", note):
        raise Unsigned("this is no signed note: text, an empty line and signature lines are wanted")
    return text + "\n", signatures[:-1].split("\n")


def decoded(text: str) -> bytes | None:
    """The bytes of a base64 in its one right form; None for any other text."""
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return found if base64.b64encode(found).decode() == text else None
