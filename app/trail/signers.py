"""Who signs: the key in the file, checked against the public keys that this trail is known by. Rotation of that key.

A key is only ever made for a trail that has none. Afterwards the file must hold the key that is at work; a lost or a
wrong one stops the seal, loudly, and never begins another trail by itself.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.config import Misconfigured, Settings
from app.trail.keys import beside, kept_key, key_file, new_key, read_key, turn_over
from app.trail.notes import Signer, VerifierKey, key_name

HERE = "select uuid from installation where id = 1"
KEYS = "select vkey from trail_key order by id"
KEEP = """
insert into trail_key (vkey, since) values (:vkey, cast(:now as timestamptz)) on conflict (vkey) do nothing"""


def installation(session: Session) -> str:
    """The name of this Onus among all others."""
    return str(session.execute(text(HERE)).scalar_one())


def public_keys(session: Session) -> list[VerifierKey]:
    """Every key that has sealed here, the one at work last."""
    return [VerifierKey.parse(vkey) for vkey in session.execute(text(KEYS)).scalars()]


def open_signer(session: Session, settings: Settings, now: dt.datetime) -> Signer:
    """The key at work; made where this trail has none yet. Ends a rotation that was cut off. Raises Misconfigured."""
    path, name, known = key_file(settings), key_name(installation(session)), public_keys(session)
    if not known:
        made = Signer(name, read_key(path) if settings.trail_key else kept_key(path))
        keep(session, made, now)
        return made
    if (there := waiting(path)) and Signer(name, there).key == known[-1]:
        turn_over(path)
    signer = Signer(name, read_key(path), before_it(path, name, known))
    if signer.key != known[-1]:
        raise Misconfigured(
            f"{path} holds another key than the one that seals this trail ({known[-1].id.hex()}): put that one back "
            "from its copy; if it is lost for good, run `onus seal --rotate --lost-key`"
        )
    return signer


def fault_of_key(session: Session, settings: Settings) -> str | None:
    """Why `open_signer` would refuse, or None. Changes nothing, so that a trail without a key has no fault."""
    path, name, known = key_file(settings), key_name(installation(session)), public_keys(session)
    try:
        keys = [key for key in (waiting(path), read_key(path) if known else None) if key]
    except Misconfigured as fault:
        return str(fault)
    if known and known[-1] not in [Signer(name, key).key for key in keys]:
        return f"{path} holds another key than the one that seals this trail ({known[-1].id.hex()})"
    return None


def rotate(session: Session, settings: Settings, now: dt.datetime, *, lost: bool = False) -> Signer:
    """Let a new key take over; the next seal of each organisation says so, and is signed by both.

    `lost`: the old one is not there any more, and cannot vouch for the new one. What waits in the file with `.new` at
    its end is taken, so that a key may be made elsewhere. The file changes hands at the next `open_signer`, after this
    is committed: killed in between, nothing is lost.
    """
    path = key_file(settings)
    if not lost:
        open_signer(session, settings, now)
    made = Signer(key_name(installation(session)), new_key(path))
    keep(session, made, now)
    return made


def keep(session: Session, signer: Signer, now: dt.datetime) -> None:
    session.execute(text(KEEP), {"vkey": signer.key.text, "now": now})


def waiting(path: Path) -> Ed25519PrivateKey | None:
    """The key of a rotation that is under way."""
    return read_key(beside(path, "new")) if beside(path, "new").exists() else None


def before_it(path: Path, name: str, known: list[VerifierKey]) -> Signer | None:
    """The key before the one at work, if its file is still there and holds it."""
    old = beside(path, "old")
    if len(known) < 2 or not old.exists():
        return None
    signer = Signer(name, read_key(old))
    return signer if signer.key == known[-2] else None
