"""Checkpoints as C2SP signed notes: what is signed, who signed, and what is no signature."""

import base64
import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app.trail.notes import Checkpoint, Signer, Unsigned, VerifierKey, checkpoint_of, key_name, opened, origin, signed
from app.trail.tree import leaf_hash

# The example of c2sp.org/signed-note, made with the key of golang.org/x/mod/sumdb/note's tests.
GO_VKEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
GO_NOTE = (
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n"
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)

HERE = "0b1f7a52-6d0e-4d55-9d6a-0e3f2a2f9c11"
OLD = Signer(key_name(HERE), Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
NEW = Signer(key_name(HERE), Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33))))
CHECKPOINT = Checkpoint(origin(key_name(HERE), 7), 3, leaf_hash(b"root"))


def test_a_note_of_the_reference_implementation_is_opened() -> None:
    text, names = opened(GO_NOTE, [VerifierKey.parse(GO_VKEY)])
    assert text.startswith("If you think")
    assert [key.text for key in names] == [GO_VKEY]


def test_a_checkpoint_is_three_lines_and_a_signature() -> None:
    note = signed(CHECKPOINT.text, [OLD])
    head, _, signatures = note.partition("\n\n")
    assert head == f"onus/{HERE}/7\n3\n{base64.b64encode(CHECKPOINT.root).decode()}"
    public = OLD.key.public
    expected = hashlib.sha256(f"onus/{HERE}".encode() + b"\n\x01" + public).digest()[:4]
    dash, name, blob = signatures.removesuffix("\n").split(" ")
    assert (dash, name, base64.b64decode(blob)[:4]) == ("—", f"onus/{HERE}", expected)
    coded = base64.b64encode(b"\x01" + public).decode()
    assert OLD.key.text == f"onus/{HERE}+{expected.hex()}+{coded}"
    assert VerifierKey.parse(OLD.key.text) == OLD.key
    assert checkpoint_of(note, [OLD.key]) == CHECKPOINT


def test_a_rotated_key_signs_beside_the_old_one_and_each_alone_is_enough() -> None:
    note = signed(CHECKPOINT.text, [OLD, NEW])
    assert checkpoint_of(note, [OLD.key]) == checkpoint_of(note, [NEW.key]) == CHECKPOINT
    assert opened(note, [OLD.key, NEW.key])[1] == [OLD.key, NEW.key]


def test_what_nobody_we_trust_has_signed_is_refused() -> None:
    note = signed(CHECKPOINT.text, [OLD])
    with pytest.raises(Unsigned, match="none of the keys"):
        opened(note, [NEW.key])
    with pytest.raises(Unsigned, match="none of the keys"):
        opened(note, [])
    with pytest.raises(Unsigned, match="does not fit"):
        opened(note.replace("\n3\n", "\n4\n"), [OLD.key])
    with pytest.raises(Unsigned, match="does not fit"):  # A wrong line beside a right one is no accident.
        opened(note + NEW.signature("another text\n"), [OLD.key, NEW.key])


@pytest.mark.parametrize(
    "spoilt",
    [
        "",
        "text\n",
        "text\n\n",
        "text\n\nno signature\n",
        "text\n\n— name\n",
        "text\n\n— name !!!!\n",
        "text\n\n— name AAAA\n",
        "text\n\n- name AAAAAAAA\n",
        "text\n\n— name AAAAAAAA",
        "te\x00xt\n\n— name AAAAAAAA\n",
    ],
)
def test_what_is_no_signed_note_is_said_to_be_none(spoilt: str) -> None:
    with pytest.raises(Unsigned):
        opened(spoilt, [OLD.key])


@pytest.mark.parametrize(
    "body", ["o\n1\n", "o\n01\n{r}\n", "o\n-1\n{r}\n", "o\n1\nAAAA\n", "\n1\n{r}\n", "o\n1\n{r} \n"]
)
def test_what_is_signed_and_no_checkpoint_is_refused(body: str) -> None:
    text = body.replace("{r}", base64.b64encode(bytes(32)).decode())
    with pytest.raises(Unsigned, match="checkpoint"):
        checkpoint_of(signed(text, [OLD]), [OLD.key])


def test_lines_that_a_later_version_adds_are_left_alone() -> None:
    assert checkpoint_of(signed(CHECKPOINT.text + "more\n", [OLD]), [OLD.key]) == CHECKPOINT


@pytest.mark.parametrize(
    "text", ["", "a+b", "a+00000000+AQ==", "n+zz+AQ==", OLD.key.text + "A", OLD.key.text.replace("onus", "anus")]
)
def test_what_is_no_verifier_key_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="key"):
        VerifierKey.parse(text)
