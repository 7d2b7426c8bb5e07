"""What the tests of the seal share: a key of their own, and a seal with everything that was sealed read back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app.trail.act import Act
from app.trail.notes import Signer, checkpoint_of, key_name
from app.trail.seal import Sealed, seal
from app.trail.tree import leaf_hash, root
from tests.factories import Acme

LEAVES = "select seq, event_id, content, hash from audit_leaf where org_id = :org order by seq"
NOTES = "select note from audit_checkpoint where org_id = :org order by size"
UNSEALED = "select count(*) from audit_unsealed where org_id = :org"


def signer_of(seed: int, before: Signer | None = None) -> Signer:
    return Signer(key_name("here"), Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32), before)


@pytest.fixture
def signer() -> Signer:
    return signer_of(1)


def sealed(acme: Acme, signer: Signer, now: Any = None) -> Sealed | None:
    with acme.watching(now) as act:
        return seal(act, signer)


def verified(act: Act, *signers: Signer) -> list[dict[str, Any]]:
    """The events as they were sealed, after everything that can be checked about them was checked."""
    leaves = act.run(LEAVES).all()
    assert [leaf.seq for leaf in leaves] == list(range(len(leaves))), "dense from 0"
    there = [leaf for leaf in leaves if leaf.hash is None]
    assert len({leaf.event_id for leaf in there}) == len(there), "each once"
    hashes = [leaf.hash or leaf_hash(leaf.content) for leaf in leaves]
    for note in act.run(NOTES).scalars():
        checkpoint = checkpoint_of(note, [signer.key for signer in signers])
        assert checkpoint.root == root(hashes[: checkpoint.size])
        assert checkpoint.origin == f"{signers[0].name}/{act.org}"
    return [json.loads(leaf.content) for leaf in there]
