"""What must not pass: a bundle that anybody altered, and one that its own operator made anew with the right key.

A deed of `BY_ANYBODY` changes the files, and packs them as Onus does. One of `BY_THE_OPERATOR` changes the files and
signs a manifest of them; one of `IN_THE_TRAIL` changes what happened, and seals and signs all of it anew.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import rfc8785
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.trail.notes import Checkpoint, Signer, signed
from app.verifier import ALTERED, INCOMPLETE, UNREADABLE
from tests.verifier.bundles import (
    NAME,
    ORIGIN,
    SIGNER,
    STRANGER,
    VKEY,
    Case,
    event,
    jsonl,
    pack,
    retained,
    tomb,
    with_manifest,
)
from tests.verifier.conftest import Judge

Files = dict[str, bytes]
PART = [1, 2, 3, 4, 5, 7, 8, 10]


def flipped(name: str) -> Callable[[Files], Files]:
    def deed(files: Files) -> Files:
        content = bytearray(files[name])
        content[len(content) // 2 : len(content) // 2 + 1] = bytes([content[len(content) // 2] ^ 1 if content else 10])
        return files | {name: bytes(content)}

    return deed


def without(name: str) -> Callable[[Files], Files]:
    return lambda files: {one: content for one, content in files.items() if one != name}


def line_of(files: Files, number: int) -> bytes:
    return files["events.jsonl"].splitlines(keepends=True)[number]


def lines(name: str, deed: Callable[[list[bytes]], Any]) -> Callable[[Files], Files]:
    """A deed upon the lines of one file."""

    def on_lines(files: Files) -> Files:
        content = files[name].splitlines(keepends=True)
        deed(content)
        return files | {name: b"".join(content)}

    return on_lines


def replaced(name: str, old: str, new: str) -> Callable[[Files], Files]:
    def deed(files: Files) -> Files:
        assert old.encode() in files[name]
        return files | {name: files[name].replace(old.encode(), new.encode(), 1)}

    return deed


def in_manifest(**fields: Any) -> Callable[[Files], Files]:
    """The manifest says something else, and its hash is put right, without the key."""

    def deed(files: Files) -> Files:
        manifest = rfc8785.dumps(json.loads(files["manifest.json"]) | fields)
        right = with_manifest(manifest, [SIGNER])["manifest.note"].decode().split("\n\n")[0]
        stamps = files["manifest.note"].decode().split("\n\n")[1]
        return files | {"manifest.json": manifest, "manifest.note": f"{right}\n\n{stamps}".encode()}

    return deed


def by_stranger(files: Files) -> Files:
    return files | with_manifest(files["manifest.json"], [STRANGER])


EVERY_FILE = ("RECIPE.txt", "checkpoints.txt", "consistency.jsonl", "events.jsonl", "keys.txt", "personal.jsonl")
EVERY_FILE += ("report.csv", "report.jsonl", "report.pdf", "manifest.json", "manifest.note")

BY_ANYBODY: dict[str, tuple[Callable[[Files], Files], int, str]] = {
    **{f"flip {name}": (flipped(name), ALTERED, name) for name in EVERY_FILE},
    **{f"no {name}": (without(name), INCOMPLETE, f"{name} is missing") for name in EVERY_FILE},
    "one file more": (lambda files: files | {"zz.txt": b""}, ALTERED, "zz.txt was added"),
    "manifest changed and hashed anew": (in_manifest(organisation="Other"), ALTERED, "no key you trust"),
    "manifest signed by a stranger": (by_stranger, ALTERED, "manifest.note is signed by no key you trust"),
    "a report of another export": (
        lambda files: files | {"report.pdf": b"%PDF-1.7\n\n\n"}, ALTERED, "report.pdf is not the file that was signed"
    ),
    "two files in the other order": (
        lambda files: {name: files[name] for name in reversed(files)}, ALTERED, "The zip was altered"
    ),
}  # fmt: skip


def swap(content: list[bytes]) -> None:
    content[9], content[10] = content[10], content[9]


ONE_MORE = jsonl([{"seq": 12, "event": event(112, "day_sealed", 6)}])


def noted(*notes: str) -> Callable[[Files], Files]:
    """Other checkpoints, and behind them the right last one."""
    return lambda files: files | {"checkpoints.txt": "\n".join([*notes, Case().checkpoint(12)]).encode()}


BY_THE_OPERATOR: dict[str, tuple[Callable[[Files], Files], int, str]] = {
    "a leaf dropped": (lines("events.jsonl", lambda content: content.pop(4)), ALTERED, "event 5 behind 3"),
    "a leaf twice": (lines("events.jsonl", lambda content: content.insert(4, content[4])), ALTERED, "event 4 behind 4"),
    "two leaves swapped": (lines("events.jsonl", swap), ALTERED, "event 10 behind 8"),
    "the tail cut off": (lines("events.jsonl", lambda content: content.pop()), INCOMPLETE, "ends after 11 of 12"),
    "a leaf more": (lines("events.jsonl", lambda content: content.append(ONE_MORE)), ALTERED, "other events than were sealed"),
    "a leaf changed": (replaced("events.jsonl", "on_it", "done"), ALTERED, "other events than were sealed"),
    "a leaf of another organisation": (replaced("events.jsonl", '"org":"7"', '"org":"8"'), ALTERED, "another organisation's"),
    "a text in NFD": (replaced("events.jsonl", "é", "e\u0301"), ALTERED, "other events than were sealed"),
    "white space": (replaced("events.jsonl", '"seq":1}', '"seq": 1}'), ALTERED, "form in which Onus seals in line 2"),
    "a name twice": (replaced("events.jsonl", '"v":1}', '"v":1,"v":1}'), UNREADABLE, "stands twice"),
    "NaN": (replaced("report.jsonl", '"row":1', '"row":NaN'), UNREADABLE, "cannot be read as JSON in line 1"),
    "half a line": (lines("report.jsonl", lambda content: content.append(content.pop()[:-1])), UNREADABLE, "middle of a line"),
    "another salt": (replaced("personal.jsonl", '"salt":"00', '"salt":"01'), ALTERED, "another value than was sealed with event 1"),
    "another value": (replaced("personal.jsonl", "Ana", "Eva"), ALTERED, "another value than was sealed with event 1"),
    "a value twice": (lines("personal.jsonl", lambda content: content.append(content[0])), ALTERED, "another value"),
    "a row dropped": (lines("report.jsonl", lambda content: content.pop()), ALTERED, "other numbers of rows"),
    "a row twice": (lines("report.jsonl", lambda content: content.append(content[0])), ALTERED, "out of order in line 4"),
    "another due date in the report": (replaced("report.jsonl", "2027-03-31", "2027-04-30"), ALTERED, "alert 5 not as it was raised"),
    "an alert that nothing raised": (replaced("report.jsonl", '"alert":6,', '"alert":7,'), ALTERED, "alert 7 not as it was raised"),
    "the newest checkpoint dropped": (
        lambda files: files | {"checkpoints.txt": "\n".join(map(Case().checkpoint, [3, 8])).encode()}, ALTERED, "ends with another one",
    ),
    "a checkpoint of a stranger": (noted(Case().checkpoint(3, STRANGER)), ALTERED, "checkpoints.txt is signed by no key you trust"),
    "a checkpoint that was never made": (
        noted(signed(Checkpoint(ORIGIN, 8, bytes(32)).text, [SIGNER])), ALTERED, "is of 8 events that are not the first of the bundle"
    ),
    "a checkpoint of another organisation": (
        noted(signed(Checkpoint(f"{NAME}/8", 0, bytes(32)).text, [SIGNER])), ALTERED, f"is of {NAME}/8, the bundle of {ORIGIN}"
    ),
    "a checkpoint that is none": (lambda files: files | {"checkpoints.txt": b"hello\n"}, UNREADABLE, "signed notes"),
}  # fmt: skip


def trail(deed: Callable[[Case], Any]) -> Callable[[], Case]:
    def made() -> Case:
        case = Case()
        deed(case)
        return case

    return made


def dated(case: Case, number: int, at: str) -> None:
    case.events[number]["at"] = at


IN_THE_TRAIL: dict[str, tuple[Callable[[], Case], int, str]] = {
    "sealed twice": (trail(lambda case: case.events.append(case.events[11])), ALTERED, "event 12 (day_sealed) was sealed twice"),
    "of another organisation": (trail(lambda case: case.events[10].update(org="8")), ALTERED, "event 10 (day_sealed) is another organisation's"),
    "dated back": (trail(lambda case: dated(case, 11, "2027-03-01T11:00:00.000000Z")), ALTERED, "event 11 (day_sealed) is dated back"),
    "delivered and never handed over": (trail(lambda case: case.events.pop(7)), ALTERED, "message 8 arrived, which was never handed over"),
    "delivered after it was refused": (
        trail(lambda case: case.events.insert(8, event(120, "delivery_put_off", 2, claim=5, delivery=8))), ALTERED, "never handed over",
    ),
    "delivered and never planned": (trail(lambda case: case.events.pop(5)), ALTERED, "message 9 of alert 5, which nothing before it planned"),
    "answered and never raised": (trail(lambda case: case.events[9].update(claim="77")), ALTERED, "alert 77, which nothing before it raised"),
    "an alert left out of the report": (trail(lambda case: case.rows.pop()), ALTERED, "leaves out alert 6, which event 3 raised"),
    "a key that does not fit its id": (
        trail(lambda case: case.events.append(event(130, "trail_key_changed", 5, vkey=VKEY.replace("+", "+0", 1)))), INCOMPLETE, "is none",
    ),
    "no version that is known": (trail(lambda case: case.manifest.update(v=2)), UNREADABLE, "take a newer verifier"),
    "a size that is none": (trail(lambda case: case.manifest.update(size="12")), UNREADABLE, "cannot be read as a bundle"),
    "another log's name": (trail(lambda case: case.manifest.update(origin=f"{NAME}/8")), ALTERED, "signed for something else"),
    "a part that says it is the whole": (
        lambda: replace(Case(shown=PART), manifest={"scope": "whole"}), ALTERED, "has event 1 behind -1",
    ),
    "a part with a leaf moved": (lambda: Moved(shown=PART), ALTERED, "as event 6 another than was sealed"),
    "signed by a stranger from the start": (lambda: Case(signers=[STRANGER]), ALTERED, "no key you trust"),
}  # fmt: skip


def said_otherwise(*ranges: list[int], **said: Any) -> Callable[[], Case]:
    """The tombstone of the story says something else, and all is sealed and signed anew."""

    def made() -> Case:
        case = retained()
        case.events[15] = tomb(113, *ranges, **said)
        return case

    return made


def with_leaf(number: int, **line: Any) -> Callable[[Files], Files]:
    """Of this event the bundle has another line."""

    def change(content: list[bytes]) -> None:
        content[number] = jsonl([json.loads(content[number]) | line])

    return lines("events.jsonl", change)


def more(*events: dict[str, Any], **said: Any) -> Callable[[], Case]:
    """The story with these events behind it."""
    return lambda: retained(events=[*retained().events, *events], **said)


BY_RETENTION: dict[str, tuple[Callable[[], Case], int, str]] = {
    "removed without a tombstone": (lambda: retained(gone=[4, 5, 14]), INCOMPLETE, "event [14] is missing, and nothing in the trail"),
    "one more than the tombstone says": (said_otherwise([4, 4]), INCOMPLETE, "event [5] is missing, and nothing in the trail"),
    "the tombstone dropped": (
        lambda: retained(events=[*retained().events[:15], retained().events[16]]), INCOMPLETE, "event [4] is missing",
    ),
    "the tombstone itself removed": (more(tomb(115, [15, 15]), gone=[4, 5, 15]), INCOMPLETE, "event [4] is missing"),
    "a tombstone, and nothing removed": (lambda: retained(gone=[]), ALTERED, "event [4] is there, which was let go"),
    "less than the tombstone says": (lambda: retained(gone=[4]), ALTERED, "event [5] is there, which was let go"),
    "a tombstone of what is to come": (said_otherwise([4, 5], [16, 16]), ALTERED, "lets go what was not before it"),
    "a tombstone of itself": (said_otherwise([4, 5], [15, 15]), ALTERED, "lets go what was not before it"),
    "a range that runs backwards": (said_otherwise([5, 4], events=2), ALTERED, "lets go what was not before it"),
    "another number than its ranges have": (said_otherwise([4, 5], events=3), ALTERED, "other events than it counts"),
    "other types than it counts": (said_otherwise([4, 5], types={"looked": 1}), ALTERED, "other events than it counts"),
    "an event twice": (said_otherwise([4, 5], [5, 5]), ALTERED, "other events than it counts"),
    "an event of an earlier tombstone": (more(tomb(115, [5, 5])), ALTERED, "event 17 lets go other events than it counts"),
    "an alert let go": (said_otherwise([4, 5], types={"claimed": 2}), ALTERED, "lets go what nobody may let go"),
    "an alert let go as a look": (
        more(tomb(115, [2, 2]), gone=[2, 4, 5]), ALTERED, "alert 5, which nothing before it raised",
    ),
    "a hand-over let go as a look": (more(tomb(115, [9, 9]), gone=[4, 5, 9]), ALTERED, "which was never handed over"),
    "a tombstone of another organisation": (
        lambda: retained(events=[*retained().events[:15], tomb(113, [4, 5]) | {"org": "8"}]), ALTERED, "another organisation's",
    ),
    "a tombstone without ranges": (said_otherwise([4, 5], ranges="4-5"), UNREADABLE, "cannot be read as a bundle"),
    "a part that shows what was let go": (
        lambda: retained(shown=[4, 15], gone=[], personal=[], rows=[]), ALTERED, "event [4] is there",
    ),
    "a part with a hash for an event": (
        lambda: retained(shown=[4, 15], personal=[], rows=[]), UNREADABLE, "cannot be read as a bundle",
    ),
}  # fmt: skip

IN_PLACE_OF_EVENTS: dict[str, tuple[Callable[[Files], Files], int, str]] = {
    "a forged tombstone": (replaced("events.jsonl", "Rule 7", "Rule 8"), ALTERED, "other events than were sealed"),
    "another hash": (with_leaf(4, leaf=retained().line(5)["leaf"]), ALTERED, "other events than were sealed"),
    "a hash of other length": (with_leaf(4, leaf="AAAA"), ALTERED, "other events than were sealed"),
    "a hash and an event": (with_leaf(4, event=event(201, "looked", 2)), ALTERED, "other events than were sealed"),
    "two hashes swapped": (lines("events.jsonl", lambda content: content.insert(4, content.pop(5))), ALTERED, "event 5 behind 3"),
}  # fmt: skip


class Moved(Case):
    """A leaf under another number, with the proof of its own."""

    def files(self) -> Files:
        return replaced("events.jsonl", '"seq":5}', '"seq":6}')(super().files())


@pytest.mark.parametrize("deed", BY_ANYBODY)
def test_what_anybody_alters_is_seen(deed: str, verdict_on: Judge) -> None:
    change, code, words = BY_ANYBODY[deed]
    expect(verdict_on(pack(change(Case().signed_files()))), code, words)


@pytest.mark.parametrize("deed", BY_THE_OPERATOR)
def test_what_the_operator_signs_anew_is_seen(deed: str, verdict_on: Judge) -> None:
    change, code, words = BY_THE_OPERATOR[deed]
    expect(verdict_on(pack(Case().signed_files(change(Case().files())))), code, words)


@pytest.mark.parametrize("deed", IN_THE_TRAIL)
def test_what_cannot_have_happened_is_seen(deed: str, verdict_on: Judge) -> None:
    made, code, words = IN_THE_TRAIL[deed]
    expect(verdict_on(made().bundle()), code, words)


@pytest.mark.parametrize("deed", BY_RETENTION)
def test_what_was_removed_otherwise_than_a_tombstone_says_is_seen(deed: str, verdict_on: Judge) -> None:
    made, code, words = BY_RETENTION[deed]
    expect(verdict_on(made().bundle()), code, words)


@pytest.mark.parametrize("deed", IN_PLACE_OF_EVENTS)
def test_what_is_put_in_the_place_of_a_removed_event_is_seen(deed: str, verdict_on: Judge) -> None:
    change, code, words = IN_PLACE_OF_EVENTS[deed]
    case = retained()
    expect(verdict_on(pack(case.signed_files(change(case.files())))), code, words)


def expect(verdict: dict[str, Any], code: int, words: str) -> None:
    assert (verdict["code"], words in verdict["sentence"]) == (code, True), verdict["sentence"]


def rewritten(size: int) -> Case:
    """The trail as if the answer had been another; an operator holds the key and seals all of it anew."""
    case = Case(events=Case().events[:size], sizes=[3])
    case.events[9]["detail"]["answer"] = "done"
    return case


@pytest.mark.parametrize(
    ("bundle", "kept", "code", "words"),
    [
        (rewritten(12), Case().checkpoint(10), ALTERED, "of 10 events that are not the first of the bundle"),
        (rewritten(12), Case().bundle(), ALTERED, "of 12 events that are not the first of the bundle"),
        (
            Case(events=Case().events[:11]),
            Case().checkpoint(12),
            INCOMPLETE,
            "the bundle of 11: it is older, or was cut",
        ),
        (Case(shown=PART), Case().checkpoint(7), INCOMPLETE, "of 7 events, of which the bundle proves nothing"),
        (Case(), Case().checkpoint(8, STRANGER), INCOMPLETE, "is signed by no key you trust"),
        (Case(), Case().checkpoint(8).replace(ORIGIN, f"{NAME}/8", 1), INCOMPLETE, "is signed by no key you trust"),
        (Case(), signed(Checkpoint(f"{NAME}/8", 0, bytes(32)).text, [SIGNER]), ALTERED, f"is of {NAME}/8"),
        (Case(), "the root was 5f3a", INCOMPLETE, "cannot be read as signed notes"),
    ],
)
def test_what_was_kept_convicts_whoever_holds_the_key(
    bundle: Case, kept: str | bytes, code: int, words: str, verdict_on: Judge
) -> None:
    expect(verdict_on(bundle.bundle(), kept), code, words)


def test_a_part_cannot_hide_behind_the_proof_of_another_tree(verdict_on: Judge) -> None:
    """The checkpoint that was kept is of the first trail; the proofs are of the second one."""
    forged = replace(rewritten(12), shown=PART, sizes=[10])
    expect(verdict_on(forged.bundle(), Case().checkpoint(10)), ALTERED, "of 10 events that are not the first")


@pytest.mark.parametrize(
    ("key", "code", "words"),
    [
        (STRANGER.key.text, ALTERED, "no key you trust"),
        (Signer(f"{NAME}x", SIGNER.private).key.text, ALTERED, "no key you trust"),
        # The name and id of the right key before another key: an id has four bytes, and can be met on purpose.
        ("+".join([*VKEY.split("+", 2)[:2], STRANGER.key.text.split("+", 2)[2]]), INCOMPLETE, "do not fit"),
        ("ssh-ed25519 AAAA", INCOMPLETE, "is none"),
    ],
)
def test_only_the_key_that_was_given_counts(key: str, code: int, words: str, verdict_on: Judge) -> None:
    expect(verdict_on(Case().bundle(), keys=(key,)), code, words)


def appended(name: str, content: bytes) -> bytes:
    """The bundle with one more file of a name that is there already."""
    stream = io.BytesIO(Case().bundle())
    with zipfile.ZipFile(stream, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr(name, content)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("bundle", "code", "words"),
    [
        (b"", UNREADABLE, "cannot be read as a bundle"),
        (b"%PDF-1.7 and more", UNREADABLE, "cannot be read as a bundle"),
        (Case().bundle()[:-1], UNREADABLE, "cannot be read as a bundle"),
        (Case().bundle()[:2000], UNREADABLE, "cannot be read as a bundle"),
        (Case().bundle() + b"x", ALTERED, "The zip was altered"),
        (b"x" + Case().bundle(), ALTERED, "The zip was altered"),
        (pack({}), INCOMPLETE, "manifest.json is missing"),
        (pack(Case().signed_files(), compressed=True), UNREADABLE, "is compressed"),
        (pack({"report.csv": bytes(2**25)}, compressed=True), UNREADABLE, "is compressed"),  # 32 kB that would swell.
        (pack({"manifest.json": bytes(2**24 + 1)}), UNREADABLE, "is larger than"),
        (pack({f"file{number}": b"" for number in range(65)}), UNREADABLE, "more than 64 files"),
        (pack(Case().signed_files() | {"../passwd": b""}), ALTERED, "../passwd was added"),
        (appended("report.pdf", Case().files()["report.pdf"]), ALTERED, "The zip was altered"),
        (appended("events.jsonl", b""), ALTERED, "events.jsonl is not the file that was signed"),
    ],
)
def test_a_zip_that_is_not_as_onus_packs_is_seen(bundle: bytes, code: int, words: str, verdict_on: Judge) -> None:
    expect(verdict_on(bundle), code, words)


WHOLE, OF_A_PART = Case().bundle(), Case(shown=PART).bundle()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([WHOLE, OF_A_PART]), st.integers(0, 2**20), st.integers(1, 255))
def test_one_byte_changed_anywhere_is_seen(verdict_on: Judge, bundle: bytes, at: int, by: int) -> None:
    at %= len(bundle)
    found = verdict_on(bundle[:at] + bytes([bundle[at] ^ by]) + bundle[at + 1 :])
    assert found["code"] in (ALTERED, INCOMPLETE, UNREADABLE), found
