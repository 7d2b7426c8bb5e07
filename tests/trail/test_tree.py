"""The tree of RFC 6962: its known vectors, and its laws for any size."""

import hashlib
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.trail.tree import (
    Frontier,
    Packed,
    Tree,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    root,
    verify_consistency,
    verify_inclusion,
)

# The inputs and roots that the reference implementation of Certificate Transparency tests itself with.
INPUTS = [
    bytes.fromhex(text)
    for text in (
        "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"
    )
]  # fmt: skip
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
LEAVES = [leaf_hash(content) for content in INPUTS]

INCLUSION = {  # (index, size): the proof of the same tests.
    (0, 1): [],
    (0, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (5, 8): [
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 3): ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"],
    (1, 5): [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}
CONSISTENCY = {
    (1, 1): [],
    (1, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (6, 8): [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 5): [
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}


def many(size: int) -> list[bytes]:
    return [leaf_hash(str(n).encode()) for n in range(size)]


def by_the_book(leaves: list[bytes]) -> bytes:
    """RFC 6962, section 2.1, word for word."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return hashlib.sha256(b"\x01" + by_the_book(leaves[:k]) + by_the_book(leaves[k:])).digest()


def test_the_known_roots() -> None:
    assert [root(LEAVES[:size]).hex() for size in range(9)] == ROOTS


@pytest.mark.parametrize(("index", "size"), INCLUSION)
def test_the_known_proofs_of_inclusion(index: int, size: int) -> None:
    assert [step.hex() for step in inclusion_proof(LEAVES[:size], index)] == INCLUSION[index, size]


@pytest.mark.parametrize(("old", "size"), CONSISTENCY)
def test_the_known_proofs_of_consistency(old: int, size: int) -> None:
    assert [step.hex() for step in consistency_proof(LEAVES[:size], old)] == CONSISTENCY[old, size]


def test_a_frontier_has_the_root_of_every_size_and_survives_being_stored() -> None:
    leaves, frontier = many(300), Frontier()
    for size, leaf in enumerate(leaves):
        assert frontier.size == size
        assert frontier.root() == by_the_book(leaves[:size])
        frontier = Frontier.from_bytes(frontier.to_bytes())
        frontier.append(leaf)
    assert len(frontier.to_bytes()) <= 8 + 32 * 9


@pytest.mark.parametrize("stored", [b"", b"\0" * 7, b"\0" * 7 + b"\1", b"\0" * 7 + b"\3" + b"x" * 32, b"\0" * 40])
def test_a_frontier_that_is_cut_is_refused(stored: bytes) -> None:
    with pytest.raises(ValueError, match="frontier"):
        Frontier.from_bytes(stored)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 130).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1))))
def test_each_leaf_is_proven_and_no_other_is(case: tuple[int, int]) -> None:
    size, index = case
    leaves = many(size)
    proof, top = inclusion_proof(leaves, index), root(leaves)
    assert verify_inclusion(leaves[index], index, size, proof, top)
    assert not verify_inclusion(leaf_hash(b"another"), index, size, proof, top)
    assert not verify_inclusion(leaves[index], index, size, [*proof, top], top)
    assert not verify_inclusion(leaves[index], size, size, proof, top)
    for other in (index - 1, index + 1):
        assert not verify_inclusion(leaves[index], other, size, proof, top)
    for step in range(len(proof)):
        assert not verify_inclusion(leaves[index], index, size, proof[:step] + proof[step + 1 :], top)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 130).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size))))
def test_growth_is_proven_and_a_change_of_the_past_is_not(case: tuple[int, int]) -> None:
    size, old = case
    leaves = many(size)
    proof, old_root, new_root = consistency_proof(leaves, old), root(leaves[:old]), root(leaves)
    assert verify_consistency(old, size, old_root, new_root, proof)
    assert not verify_consistency(old, size, leaf_hash(b"forged"), new_root, proof)
    assert not verify_consistency(old, size, old_root, new_root, [*proof, new_root])
    if old:
        assert not verify_consistency(old, size, old_root, leaf_hash(b"forged"), proof)
        forged = [leaf_hash(b"forged"), *leaves[1:]]
        assert not verify_consistency(old, size, old_root, root(forged), consistency_proof(forged, old))
    if proof:
        assert not verify_consistency(old, size, old_root, new_root, proof[:-1])
        assert not verify_consistency(old, size, old_root, new_root, [leaf_hash(b"x"), *proof[1:]])


def test_a_tree_proves_what_the_single_proofs_prove_and_every_older_size() -> None:
    leaves = many(100)
    tree = Tree(Packed(b"".join(leaves)))
    assert tree.root() == by_the_book(leaves)
    assert [tree.inclusion_proof(index) for index in range(100)] == [inclusion_proof(leaves, i) for i in range(100)]
    for old, new in pairwise((0, 1, 7, 8, 64, 99, 100)):
        assert verify_consistency(
            old, new, root(leaves[:old]), root(leaves[:new]), consistency_proof(leaves[:new], old)
        )


@pytest.mark.parametrize(("call", "number"), [(inclusion_proof, 3), (inclusion_proof, -1), (consistency_proof, 4)])
def test_what_is_not_in_the_tree_has_no_proof(call, number: int) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(IndexError):
        call(many(3), number)


def test_sizes_that_run_backwards_prove_nothing() -> None:
    leaves = many(3)
    assert not verify_consistency(3, 2, root(leaves), root(leaves[:2]), [])
    assert not verify_consistency(-1, 2, root(leaves), root(leaves[:2]), [])
    assert not verify_inclusion(leaves[0], -1, 3, [], root(leaves))
