"""A small bundle, made by hand from a story of twelve events, and made anew after any piece of it was changed."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app.trail.notes import Checkpoint, Signer, signed
from app.trail.tree import Tree, leaf_hash

NAME = "onus/3f2b"
ORIGIN = f"{NAME}/7"
SIGNER = Signer(NAME, Ed25519PrivateKey.from_private_bytes(bytes(32)))
STRANGER = Signer(NAME, Ed25519PrivateKey.from_private_bytes(bytes([1] * 32)))
VKEY = SIGNER.key.text
SALT = bytes(range(32))

Event = dict[str, Any]


def salted(value: str) -> dict[str, str]:
    return {"sha256": hashlib.sha256(SALT + value.encode()).hexdigest()}


def event(
    number: int, type: str, day: int, *, claim: int | None = None, delivery: int | None = None, **detail: Any
) -> Event:
    return {
        "v": 1,
        "org": "7",
        "id": str(number),
        "at": f"2027-03-{day:02}T11:00:00.000000Z",
        "actor": "system:scheduler",
        "type": type,
        "subject": None if claim is None else "3",
        "claim": None if claim is None else str(claim),
        "delivery": None if delivery is None else str(delivery),
        "detail": detail,
    }


def story() -> list[Event]:
    alert = {"rule": 2, "due_on": "2027-03-31", "crossed_on": "2027-03-01"}
    return [
        event(100, "organisation_created", 1, name="Café «Umbrosa»"),
        event(101, "member_created", 1, member_id=4, name=salted("Ana"), email=salted("ana@example.com")),
        event(102, "claimed", 1, claim=5, threshold="30d", **alert),
        event(103, "superseded", 1, claim=6, threshold="90d", reason="sharper", **alert),
        event(104, "delivery_due", 1, claim=5, delivery=8, channel="email", recipient=4),
        event(105, "delivery_due", 1, claim=5, delivery=9, channel="in_app", recipient=4),
        event(106, "delivered", 1, claim=5, delivery=9, channel="in_app", recipient=4),
        event(107, "handed_over", 2, claim=5, delivery=8, channel="email", recipient=4),
        event(108, "delivered", 2, claim=5, delivery=8, channel="email", recipient=4, code="250"),
        event(109, "acknowledged", 3, claim=5, answer="on_it"),
        event(110, "day_sealed", 4),
        event(111, "day_sealed", 5),
    ]


def tomb(number: int, *ranges: list[int], **said: Any) -> Event:
    """What removed the events of these ranges, all of them looks, unless it says something else."""
    count = sum(last - first + 1 for first, last in ranges)
    told = {"policy": "Rule 7", "events": count, "ranges": list(ranges), "types": {"looked": count} if count else {}}
    return event(number, "retention_applied", 6, **(told | said))


def alert_row(row: int, claim: str, threshold: str) -> dict[str, Any]:
    cells = {"alert": int(claim), "entry": 3, "rule_id": 2, "code": threshold, "due_on": "2027-03-31"}
    return {"section": "alerts", "row": row, "cells": cells}


@dataclass
class Case:
    """What a bundle is made of. `shown` are the numbers of a part of the trail; None: all of it."""

    events: list[Event] = field(default_factory=story)
    shown: list[int] | None = None
    sizes: list[int] = field(default_factory=lambda: [3, 8])
    signers: list[Signer] = field(default_factory=lambda: [SIGNER])
    gone: list[int] = field(default_factory=list)  # Of which only the hash is left in a bundle of the whole.
    personal: list[dict[str, Any]] = field(
        default_factory=lambda: [{"seq": 1, "name": "name", "salt": SALT.hex(), "value": "Ana"}]
    )
    rows: list[dict[str, Any]] = field(
        default_factory=lambda: [
            {"section": "register", "row": 1, "cells": {"title": "Permit"}},
            alert_row(1, "5", "30d"),
            alert_row(2, "6", "90d"),
        ]
    )
    manifest: dict[str, Any] = field(default_factory=dict)  # What stands in it instead.

    @property
    def tree(self) -> Tree:
        return Tree([leaf_hash(rfc8785.dumps(one)) for one in self.events])

    def checkpoint(self, size: int, *signers: Signer) -> str:
        root = Tree([leaf_hash(rfc8785.dumps(one)) for one in self.events[:size]]).root()
        return signed(Checkpoint(ORIGIN, size, root).text, signers or self.signers)

    def files(self) -> dict[str, bytes]:
        """All but the manifest."""
        size, tree = len(self.events), self.tree
        lines: list[dict[str, Any]] = [self.line(seq) for seq in self.shown or range(size)]
        grown = []
        if self.shown is not None:
            lines = [line | {"proof": base64s(tree.inclusion_proof(line["seq"]))} for line in lines]
            grown = [{"size": old, "proof": base64s(tree.consistency_proof(old))} for old in self.sizes]
        return {
            "RECIPE.txt": b"How to verify this.\n",
            "checkpoints.txt": "\n".join(self.checkpoint(old) for old in [*self.sizes, size]).encode(),
            "consistency.jsonl": jsonl(grown),
            "events.jsonl": jsonl(lines),
            "keys.txt": f"{VKEY}\n".encode(),
            "personal.jsonl": jsonl(self.personal),
            "report.csv": b"Section,Row\r\n",
            "report.jsonl": jsonl(self.rows),
            "report.pdf": b"%PDF-1.7\n\xff\n",
        }

    def line(self, seq: int) -> dict[str, Any]:
        if seq in self.gone:
            return {"seq": seq, "leaf": base64s([leaf_hash(rfc8785.dumps(self.events[seq]))])[0]}
        return {"seq": seq, "event": self.events[seq]}

    def signed_files(self, files: dict[str, bytes] | None = None) -> dict[str, bytes]:
        """The files with a manifest of them, signed."""
        files = self.files() if files is None else files
        manifest = {
            "v": 1,
            "origin": ORIGIN,
            "organisation": "Umbrosa",
            "export": "1",
            "made_at": "2027-03-06T11:00:01.000000Z",
            "scope": "whole" if self.shown is None else "part",
            "filters": {},
            "size": len(self.events),
            "root": base64.b64encode(self.tree.root()).decode(),
            "reported": len(self.events),
            "counts": dict(Counter(row["section"] for row in self.rows)),
            "files": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
        }
        return with_manifest(rfc8785.dumps(manifest | self.manifest), self.signers) | files

    def bundle(self) -> bytes:
        return pack(self.signed_files())


def retained(**said: Any) -> Case:
    """The story with three looks in it, at 4, 5 and 14; the first two went by the policy that event 15 names."""
    events = story()
    looks = [event(number, "looked", 1) for number in (201, 202)]
    events = [*events[:4], *looks, *events[4:], event(112, "looked", 5), tomb(113, [4, 5]), event(114, "day_sealed", 6)]
    return Case(**({"events": events, "sizes": [3, 6, 15], "gone": [4, 5]} | said))


def with_manifest(manifest: bytes, signers: list[Signer]) -> dict[str, bytes]:
    digest = hashlib.sha256(manifest).digest()
    note = signed(Checkpoint(f"{ORIGIN}/bundle", len(manifest), digest).text, signers)
    return {"manifest.json": manifest, "manifest.note": note.encode()}


def base64s(hashes: list[bytes]) -> list[str]:
    return [base64.b64encode(one).decode() for one in hashes]


def jsonl(lines: list[dict[str, Any]]) -> bytes:
    return b"".join(rfc8785.dumps(line) + b"\n" for line in lines)


def pack(files: dict[str, bytes], *, compressed: bool = False) -> bytes:
    """As Onus packs, whatever the files are."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            frame = zipfile.ZipInfo(name, (2027, 3, 6, 11, 0, 1))
            frame.create_system, frame.external_attr = 3, 0o100644 << 16
            frame.compress_type = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
            archive.writestr(frame, content)
    return stream.getvalue()
