"""The verifier takes what is whole, and says of it what there was to check; the pieces that it is made of."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from app import verifier
from app.domain.retention import VISITS
from app.trail.tree import Tree, leaf_hash
from tests.verifier.bundles import SIGNER, STRANGER, VKEY, Case, event, pack, retained, tomb
from tests.verifier.conftest import Judge

WHOLE = st.integers(-(2**53) + 1, 2**53 - 1)
JSON = st.recursive(
    st.none() | st.booleans() | WHOLE | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_its_canonical_form_is_that_of_the_library(value: object) -> None:
    assert verifier.canonical(value) == rfc8785.dumps(value)


@pytest.mark.parametrize("text", [b'{"a":1,"a":1}', b"{", b'{"a":NaN}', b'{"a":9007199254740993}', b'"\xff"'])
def test_json_that_could_be_read_in_two_ways_is_refused(text: bytes) -> None:
    with pytest.raises(verifier.Finding) as found:
        verifier.read_json(text, "x.json")
    assert found.value.args[0] == verifier.UNREADABLE


@given(st.integers(1, 70), st.integers(0, 69), st.integers(1, 69))
def test_it_climbs_every_proof_that_a_tree_gives_and_no_other(size: int, seq: int, old: int) -> None:
    leaves = [leaf_hash(bytes([number])) for number in range(size)]
    tree, own = Tree(leaves), verifier.Tree()
    for leaf in leaves:
        own.append(leaf)
    assert own.root() == tree.root()
    proof = tree.inclusion_proof(seq % size)
    climbed = verifier.climb(seq % size, size - 1, leaves[seq % size], proof)
    assert climbed is not None
    assert climbed[1] == tree.root()
    if old < size:
        first, proof = Tree(leaves[:old]).root(), tree.consistency_proof(old)
        assert verifier.grew(old, size, first, tree.root(), proof)
        assert not verifier.grew(old, size, leaf_hash(first), tree.root(), proof)
        assert not verifier.grew(old, size, first, tree.root(), [*proof, first])


PART = [1, 2, 3, 4, 5, 7, 8, 10]


def test_a_whole_bundle_and_a_part_are_good(verdict_on: Judge) -> None:
    whole, part = verdict_on(Case().bundle()), verdict_on(Case(shown=PART).bundle())
    assert (whole["code"], whole["verdict"], whole["events"], whole["size"], whole["inside"]) == (0, "good", 12, 12, 3)
    assert (part["code"], part["scope"], part["events"], part["size"]) == (0, "part", 8, 12)
    assert "12 of the 12 events of Umbrosa" in whole["sentence"]
    with zipfile.ZipFile(io.BytesIO(Case().bundle())) as archive:  # Any other reader takes it, too.
        assert archive.testzip() is None


def test_what_was_kept_is_compared_with_it(verdict_on: Judge) -> None:
    """A checkpoint as it comes out of a mail, one that the part has a proof for, and a whole earlier bundle."""
    earlier = Case(events=Case().events[:10], sizes=[2])
    mailed = f"\r\n{Case().checkpoint(7)}\n".replace("\n", "\r\n")
    whole = verdict_on(Case().bundle(), mailed, earlier.bundle())
    assert (whole["code"], whole["given"]) == (0, 3)
    assert verdict_on(Case(shown=PART).bundle(), Case().checkpoint(8))["code"] == 0
    assert verdict_on(Case(shown=PART, sizes=[2, 7, 10]).bundle(), mailed, earlier.bundle())["code"] == 0


def test_an_empty_trail_and_what_was_erased_are_good(verdict_on: Judge) -> None:
    erased = Case(personal=[])
    assert verdict_on(erased.bundle())["code"] == 0
    assert verdict_on(Case(events=[], sizes=[], personal=[], rows=[]).bundle())["code"] == 0


def test_what_went_by_a_stated_policy_is_said_and_good(verdict_on: Judge) -> None:
    """Of the whole, of a part, and compared with what was kept before: checkpoints are what they were."""
    whole, before = retained(), retained(gone=[], events=retained().events[:15], sizes=[3])
    verdict = verdict_on(whole.bundle(), before.bundle(), whole.checkpoint(6))
    assert (verdict["code"], verdict["events"], verdict["size"]) == (0, 15, 17)
    assert verdict["removed"] == [{"events": 2, "at": "2027-03-06T11:00:00.000000Z", "policy": "Rule 7", "seq": 15}]
    assert verdict["sentence"].endswith(
        "; 2 events were removed by retention, last on 2027-03-06 under the policy “Rule 7” (tombstone: event 15)."
    )
    part = retained(shown=[1, 2, 15], rows=[])
    assert verdict_on(part.bundle(), whole.checkpoint(6))["code"] == 0
    beside = Case(events=[*Case().events, tomb(113)])
    assert "removed" not in verdict_on(beside.bundle())["sentence"], "only things beside the trail went"


def test_trust_goes_over_to_a_new_key_that_the_old_one_has_named(verdict_on: Judge) -> None:
    """The event names the new key, the next checkpoint is signed by both: either key alone is enough to know."""
    changed = event(112, "trail_key_changed", 5, vkey=STRANGER.key.text)
    turned = Case(events=[*Case().events, changed, event(113, "day_sealed", 6)], sizes=[8])
    turned.signers = [STRANGER]
    files = turned.files()
    notes = [Case().checkpoint(8), turned.checkpoint(13, SIGNER, STRANGER), turned.checkpoint(14)]
    bundle = pack(turned.signed_files(files | {"checkpoints.txt": "\n".join(notes).encode()}))
    assert verdict_on(bundle)["code"] == 0
    unlinked = [Case().checkpoint(8), turned.checkpoint(14)]
    bundle = pack(turned.signed_files(files | {"checkpoints.txt": "\n".join(unlinked).encode()}))
    found = verdict_on(bundle)
    assert (found["code"], found["file"]) == (1, "manifest.note")


def test_it_runs_alone(tmp_path: Path) -> None:
    """In an empty folder, with nothing but itself and the library, by a Python that looks nowhere else."""
    shutil.copy(verifier.__file__, tmp_path / "onus_verify.py")
    (tmp_path / "bundle.zip").write_bytes(Case().bundle())

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", "onus_verify.py", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env={})

    good = run("bundle.zip", "--key", VKEY, "--json")
    assert (good.returncode, json.loads(good.stdout)["verdict"], good.stderr) == (0, "good", "")
    keyless = run("bundle.zip")
    assert (keyless.returncode, keyless.stdout) == (
        2, "Incomplete: The key of the installation is not given: name it with --key.\n"
    )  # fmt: skip
    assert run("--help").returncode == 0


def test_what_it_lets_go_is_what_a_policy_may_name() -> None:
    assert frozenset(VISITS) == verifier.VISITS
