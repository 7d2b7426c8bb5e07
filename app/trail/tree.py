"""The tree of RFC 6962: one hash that stands for all events of an organisation, and short proofs about it.

Leaves are given as leaf hashes, 32 bytes each. Inner nodes are never stored twice: a level is one run of bytes, so that
the tree of a million leaves takes 64 MB.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

HASH = 32  # bytes of SHA-256
SIZE = 8  # bytes of the number of leaves before the hashes of a stored frontier

EMPTY_ROOT = hashlib.sha256(b"").digest()


def leaf_hash(content: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + content).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


class Frontier:
    """What has to be remembered of a tree in order to go on with it: the roots of its whole subtrees, O(log n)."""

    def __init__(self, size: int = 0, peaks: Iterable[bytes] = ()) -> None:
        self.size = size
        self.peaks = list(peaks)  # From the largest to the smallest: one for each bit of the size.

    def append(self, leaf: bytes) -> None:
        """Add one leaf hash."""
        node, rest = leaf, self.size
        while rest & 1:
            node, rest = node_hash(self.peaks.pop(), node), rest >> 1
        self.peaks.append(node)
        self.size += 1

    def extend(self, leaves: Iterable[bytes]) -> None:
        for leaf in leaves:
            self.append(leaf)

    def root(self) -> bytes:
        """The root of RFC 6962 over all leaves so far."""
        if not self.peaks:
            return EMPTY_ROOT
        *others, node = self.peaks
        for peak in reversed(others):
            node = node_hash(peak, node)
        return node

    def to_bytes(self) -> bytes:
        return self.size.to_bytes(SIZE, "big") + b"".join(self.peaks)

    @classmethod
    def from_bytes(cls, stored: bytes) -> Frontier:
        """Raises ValueError unless these are bytes that `to_bytes` has made."""
        size, hashes = int.from_bytes(stored[:SIZE], "big"), stored[SIZE:]
        if len(stored) < SIZE or len(hashes) != HASH * size.bit_count():
            raise ValueError("this is no frontier of a tree")
        return cls(size, Packed(hashes))


class Packed(Sequence[bytes]):
    """Hashes side by side in one run of bytes, read as a sequence."""

    def __init__(self, hashes: bytes | bytearray) -> None:
        if len(hashes) % HASH:
            raise ValueError("hashes have 32 bytes each")
        self.hashes = hashes

    def __len__(self) -> int:
        return len(self.hashes) // HASH

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> Packed: ...
    def __getitem__(self, index: int | slice) -> bytes | Packed:
        if isinstance(index, slice):
            first, end, step = index.indices(len(self))
            if step != 1:
                raise ValueError("hashes side by side have no steps")
            return Packed(self.hashes[first * HASH : max(first, end) * HASH])
        if not 0 <= index < len(self):
            raise IndexError(index)
        return bytes(self.hashes[index * HASH : (index + 1) * HASH])

    def __iter__(self) -> Iterator[bytes]:
        return (bytes(self.hashes[at : at + HASH]) for at in range(0, len(self.hashes), HASH))


class Tree:
    """All levels over given leaves, hashed once, for as many proofs as are wanted."""

    def __init__(self, leaves: Sequence[bytes]) -> None:
        level = Packed(leaves.hashes if isinstance(leaves, Packed) else b"".join(leaves))
        self.size = len(level)
        self.levels = [level]
        while len(level) > 1:
            level = above(level)
            self.levels.append(level)

    def root(self) -> bytes:
        return self.levels[-1][0] if self.size else EMPTY_ROOT

    def inclusion_proof(self, index: int) -> list[bytes]:
        """The neighbours from the leaf up (RFC 6962, section 2.1.1). Raises IndexError for no leaf of this tree."""
        if not 0 <= index < self.size:
            raise IndexError(index)
        places = ((level, (index >> height) ^ 1) for height, level in enumerate(self.levels))
        return [level[place] for level, place in places if place < len(level)]

    def consistency_proof(self, old_size: int) -> list[bytes]:
        """Why the first `old_size` leaves are still those (section 2.1.2); empty for none, or for all of them.

        Raises IndexError for a size that this tree never had.
        """
        if not 0 <= old_size <= self.size:
            raise IndexError(old_size)
        if old_size in (0, self.size):
            return []
        # The last whole subtree of the old tree is where both trees part; each step up adds what one of them lacks.
        place, height = old_size - 1, 0
        while place & 1:
            place, height = place >> 1, height + 1
        proof = [self.levels[height][place]] if place else []
        for level in self.levels[height:]:
            if (place ^ 1) < len(level):
                proof.append(level[place ^ 1])
            place >>= 1
        return proof


def above(level: Packed) -> Packed:
    """The next level: each pair in one hash, and what has no neighbour as it is."""
    hashes, pairs = level.hashes, len(level) // 2
    nodes = bytearray()
    for at in range(0, pairs * 2 * HASH, 2 * HASH):
        nodes += hashlib.sha256(b"\x01" + hashes[at : at + 2 * HASH]).digest()
    nodes += hashes[pairs * 2 * HASH :]
    return Packed(nodes)


def root(leaves: Sequence[bytes]) -> bytes:
    frontier = Frontier()
    frontier.extend(leaves)
    return frontier.root()


def inclusion_proof(leaves: Sequence[bytes], index: int) -> list[bytes]:
    return Tree(leaves).inclusion_proof(index)


def consistency_proof(leaves: Sequence[bytes], old_size: int) -> list[bytes]:
    return Tree(leaves).consistency_proof(old_size)


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], top: bytes) -> bool:
    """Whether this leaf hash stands at this index in the tree of this size and root (RFC 9162, section 2.1.3.2)."""
    if not 0 <= index < size:
        return False
    place, last, node = index, size - 1, leaf
    for step in proof:
        if last == 0:
            return False
        if place & 1 or place == last:
            node = node_hash(step, node)
            while place and not place & 1:
                place, last = place >> 1, last >> 1
        else:
            node = node_hash(node, step)
        place, last = place >> 1, last >> 1
    return last == 0 and node == top


def verify_consistency(old_size: int, new_size: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether the tree of the new root begins with the tree of the old one (RFC 9162, section 2.1.4.2)."""
    if not 0 <= old_size <= new_size:
        return False
    if old_size == 0:
        return not proof and old_root == EMPTY_ROOT
    if old_size == new_size:
        return not proof and old_root == new_root
    steps = list(proof) if old_size & (old_size - 1) else [old_root, *proof]
    place, last = old_size - 1, new_size - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    if not steps:
        return False
    old = new = steps[0]
    for step in steps[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            old, new = node_hash(step, old), node_hash(step, new)
            while place and not place & 1:
                place, last = place >> 1, last >> 1
        else:
            new = node_hash(new, step)
        place, last = place >> 1, last >> 1
    return last == 0 and old == old_root and new == new_root
