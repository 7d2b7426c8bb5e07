"""Verify an evidence bundle of Onus, without Onus: this one file, Python 3.11 or later, and the library `cryptography`.

    python onus_verify.py bundle.zip --key VKEY [--key VKEY …] [--checkpoint FILE …] [--json]

VKEY is the public key of the installation, which you have from the organisation itself and never from the bundle. FILE
is a checkpoint that you have kept, or a whole earlier bundle. Ends with 0: good; 1: altered; 2: incomplete (the bundle,
or what you gave); 3: unreadable. It imports nothing of Onus and has no option to be lenient: read it in one sitting.
"""

import argparse
import base64
import datetime as dt
import hashlib
import json
import re
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

WORDS = """is as it was sealed: {events} of the {size} events of {organisation}, in agreement with its checkpoints \
({inside}) and those that you gave ({given})"""
VERDICTS = ("good", "altered", "incomplete", "unreadable")
GOOD, ALTERED, INCOMPLETE, UNREADABLE = range(4)
MANIFEST, SIGNED, EVENTS, CHECKPOINTS = "manifest.json", "manifest.note", "events.jsonl", "checkpoints.txt"
PERSONAL, REPORT, PROOFS, THE_ZIP = "personal.jsonl", "report.jsonl", "consistency.jsonl", "The zip"
LARGEST_BUNDLE, LARGEST_TEXT, MOST_FILES = 2**31 - 1, 2**24, 64  # bytes; bytes of one line or small file; files
LARGEST_INT = 2**53 - 1  # RFC 8785: what every reader of JSON reads alike
BACK_AT_MOST = dt.timedelta(days=1)  # A long act is dated by its beginning, and a clock may have been put right.
KEY, RAISES, PLANS = ("rule", "threshold", "due_on"), {"claimed", "superseded"}, {"delivery_due", "delivery_resent"}
NOT_TAKEN, CELLS = {"delivery_put_off", "delivery_given_back", "delivery_lost"}, ("entry", "rule_id", "code", "due_on")
REMOVED = "; {} events were removed by retention, last on {:.10} under the policy “{}” (tombstone: event {})"
TOMB = ("events", "at", "policy", "seq")  # What is told of a tombstone; behind it, what may go.
VISITS = {"absence_summary_read", "access_refused", "looked", "sign_in_refused", "signed_in"}


class Finding(Exception):
    """What is wrong: the code to end with, the file, and the words that say what and where."""


def must(holds: object, file: str, words: str, code: int = ALTERED) -> None:
    if not holds:
        raise Finding(code, file, words)


def canonical(value: Any) -> bytes:
    """RFC 8785 for what `read_json` reads; raises ValueError for numbers that not every reader takes alike."""
    if isinstance(value, list):
        return b"[" + b",".join(map(canonical, value)) + b"]"
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return b"{" + b",".join(canonical(name) + b":" + canonical(value[name]) for name in names) + b"}"
    if isinstance(value, int) and abs(value) > LARGEST_INT:
        raise ValueError(f"{value} is too large")
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object. `json` would let the last of two members of one name win, in silence."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return dict(pairs)


def read_json(text: bytes, file: str, where: str = "") -> dict[str, Any]:
    """One object in its canonical form, byte for byte."""
    try:
        value: dict[str, Any] = json.loads(text.decode(), object_pairs_hook=once)
        must(canonical(value) == text, file, f"is not written in the form in which Onus seals{where}")
    except (ValueError, RecursionError) as fault:
        raise Finding(UNREADABLE, file, f"cannot be read as JSON{where}: {fault}") from None
    return value


def hashed(*parts: bytes) -> bytes:
    """SHA-256. In the tree of RFC 6962 that of a leaf begins with 0, that of two neighbours with 1."""
    return hashlib.sha256(b"".join(parts)).digest()


class Tree:
    """Grows leaf by leaf; keeps only the roots of its complete halves, the largest first."""

    def __init__(self) -> None:
        self.size, self.halves = 0, list[bytes]()

    def append(self, leaf: bytes) -> None:
        rest, self.size = self.size, self.size + 1
        while rest & 1:
            leaf, rest = hashed(b"\1", self.halves.pop(), leaf), rest >> 1
        self.halves.append(leaf)

    def root(self) -> bytes:
        root = self.halves[-1] if self.halves else hashed()
        for half in reversed(self.halves[:-1]):
            root = hashed(b"\1", half, root)
        return root


def climb(at: int, last: int, start: bytes, proof: Sequence[bytes]) -> tuple[bytes, bytes] | None:
    """RFC 9162, 2.1.3.2 and 2.1.4.2: from a node up to the old and the new root; None if no tree has such a proof."""
    old = new = start
    for other in proof:
        if last == 0:
            return None
        if at & 1 or at == last:
            old, new = hashed(b"\1", other, old), hashed(b"\1", other, new)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            new = hashed(b"\1", new, other)
        at, last = at >> 1, last >> 1
    return (old, new) if last == 0 else None


def grew(old_size: int, size: int, old_root: bytes, root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether the tree of `size` begins with all of that of `old_size`; `0 < old_size < size`."""
    path = [old_root, *proof] if old_size & (old_size - 1) == 0 else list(proof)
    at, last = old_size - 1, size - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    return bool(path) and climb(at, last, path[0], path[1:]) == (old_root, root)


def unbase64(text: str) -> bytes:
    """Raises ValueError unless it is the one way to write these bytes."""
    if base64.b64encode(value := base64.b64decode(text, validate=True)).decode() != text:
        raise ValueError(f"{text[:60]!r} is not base64 as it is written")
    return value


class Key:
    """A public Ed25519 key by its text NAME+ID+KEY (C2SP signed-note), where the ID belongs to the other two."""

    def __init__(self, text: str) -> None:
        found = re.fullmatch(r"([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})", text)
        name, number, whole = (found[1], found[2], base64.b64decode(found[3])) if found else ("", "", b"")
        self.text, self.name, self.id = text, name, hashed(name.encode(), b"\n", whole)[:4]
        fits = whole[:1] == b"\1" and number == self.id.hex()
        must(fits, f"The key {text[:90]!r}", "is none: its name, its number and the rest do not fit", INCOMPLETE)
        self.public = Ed25519PublicKey.from_public_bytes(whole[1:])

    def signed(self, words: str, name: str, stamp: bytes) -> bool:
        try:
            self.public.verify(stamp[4:], words.encode())
        except InvalidSignature:
            return False
        return (name, stamp[:4]) == (self.name, self.id)


class Note:
    """Signed: of what, how much, which hash. A checkpoint: of a log, so many events, the root of their tree."""

    def __init__(self, file: str, words: str, stamps: str) -> None:
        self.file, self.words, (self.origin, size, root) = file, f"{words}\n", words.split("\n")
        self.size, self.root, lines = int(size), unbase64(root), stamps.split("\n")
        self.stamps = [(name, unbase64(stamp)) for _, name, stamp in (line.split(" ") for line in lines)]
        if str(self.size) != size or self.size < 0 or len(self.root) != 32 or {line[0] for line in lines} != {"—"}:
            raise ValueError(f"{words[:90]!r} is no size and root with signatures")

    def signers(self, keys: Iterable[Key]) -> set[Key]:
        return {key for key in keys for name, stamp in self.stamps if key.signed(self.words, name, stamp)}


def read_notes(text: Iterable[bytes], file: str, code: int = UNREADABLE) -> list[Note]:
    """One after another: three lines, an empty one, the signatures, an empty one (C2SP tlog-checkpoint)."""
    parts = b"".join(text).decode("utf-8", "replace").removesuffix("\n").split("\n\n")
    try:
        return [Note(file, *pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
    except (ValueError, IndexError) as fault:
        raise Finding(code, file, f"cannot be read as signed notes: {fault}") from None


def framed(name: str, made_at: str) -> zipfile.ZipInfo:
    """How a file stands in the zip: as it is, dated by the export. So each byte of the zip has one right value."""
    frame = zipfile.ZipInfo(name, dt.datetime.fromisoformat(made_at).timetuple()[:6])
    frame.create_system, frame.external_attr = 3, 0o100644 << 16
    return frame


class Bundle:
    """The zip. Nothing is unpacked: what is compressed is refused, and with it whatever would swell."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        must(stream.seek(0, 2) <= LARGEST_BUNDLE, THE_ZIP, f"is larger than {LARGEST_BUNDLE} bytes", UNREADABLE)
        self.zip = zipfile.ZipFile(stream)
        self.names, files = self.zip.namelist(), self.zip.infolist()
        must(len(files) <= MOST_FILES, THE_ZIP, f"holds more than {MOST_FILES} files", UNREADABLE)
        for file in files:
            must(file.compress_type == 0, file.filename, "is compressed: the zip was packed anew", UNREADABLE)
            small = file.file_size <= LARGEST_TEXT or file.filename not in (MANIFEST, SIGNED, CHECKPOINTS)
            must(small, file.filename, f"is larger than {LARGEST_TEXT} bytes", UNREADABLE)

    def pieces(self, name: str) -> Iterator[bytes]:
        must(name in self.names, name, "is missing", INCOMPLETE)
        try:
            with self.zip.open(name) as file:
                yield from iter(lambda: file.read(2**16), b"")
        except zipfile.BadZipFile as fault:
            raise Finding(ALTERED, name, f"was altered: {fault}") from None

    def lines(self, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Each line by its number, from 1: one object."""
        rest, number = b"", 0
        for piece in self.pieces(name):
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                number += 1
                yield number, read_json(line, name, f" in line {number}")
            must(len(rest) <= LARGEST_TEXT, name, f"has a line of over {LARGEST_TEXT} bytes", UNREADABLE)
        must(not rest, name, "ends in the middle of a line", UNREADABLE)

    def check(self, names: list[str], digests: dict[str, str], made_at: str) -> None:
        """Each file is there, in its order and with its hash, no other, and the zip around them is as Onus packs."""
        for name in (*names, *self.names):
            must(name in self.names, name, "is missing", INCOMPLETE)
            must(name in names, name, "was added: the manifest does not name it")
        with tempfile.TemporaryFile() as right:
            with zipfile.ZipFile(right, "w") as copy:
                for name in names:
                    digest = hashlib.sha256()
                    with copy.open(framed(name, made_at), "w") as file:
                        for piece in self.pieces(name):
                            digest.update(piece)
                            file.write(piece)
                    same = name in (MANIFEST, SIGNED) or digests.get(name) == digest.hexdigest()
                    must(same, name, "is not the file that was signed")
            sums = {file.seek(0) or hashlib.file_digest(file, "sha256").digest() for file in (right, self.stream)}
            must(len(sums) == 1, THE_ZIP, "was altered, or packed anew, around files that are as they were signed")


class Trail:
    """The events, taken one after another, and what must have come before what by their own words."""

    def __init__(self, org: str) -> None:
        self.org, self.latest = org, dt.datetime.min.replace(tzinfo=dt.UTC)
        self.ids, self.keys, self.left, self.planned = dict[str, int](), dict[str, int](), set[str](), dict[str, str]()
        self.raised, self.hidden = dict[str, tuple[int, list[str]]](), dict[tuple[int, str], str]()
        self.gone, self.tombs = set[int](), list[dict[str, Any]]()  # Of which only the hash is left, and why.

    def follow(self, seq: int, event: dict[str, Any]) -> Iterator[tuple[object, str]]:
        """Take one event; each thing that must hold, and what is wrong if it does not."""
        type, detail, at = event["type"], event["detail"], dt.datetime.fromisoformat(event["at"])
        claim, message = event["claim"], event["delivery"]
        yield event["org"] == self.org, "is another organisation's"
        yield event["id"] not in self.ids, "was sealed twice"
        yield self.latest - at <= BACK_AT_MOST, f"is dated back: one of {self.latest} was sealed before"
        if type in RAISES and claim not in self.raised:
            self.raised[claim] = seq, [event["subject"], *(str(detail[name]) for name in KEY)]
        elif type in PLANS:
            self.planned[message] = claim
        elif type == "trail_key_changed":
            self.keys[detail["vkey"]] = seq
        elif type == "retention_applied":
            self.tombs.append(detail | {"seq": seq, "at": event["at"]})
        yield claim is None or claim in self.raised, f"is about alert {claim}, which nothing before it raised"
        planned = message is None or self.planned.get(message) == claim
        yield planned, f"is about message {message} of alert {claim}, which nothing before it planned"
        arrived = type == "delivered" and detail["channel"] == "email"
        yield not arrived or message in self.left, f"says that message {message} arrived, which was never handed over"
        if type == "handed_over" or type in NOT_TAKEN:
            (self.left.add if type == "handed_over" else self.left.discard)(message)
        salted = {name: value for name, value in detail.items() if isinstance(value, dict) and [*value] == ["sha256"]}
        self.hidden |= {(seq, name): value["sha256"] for name, value in salted.items()}
        self.latest = max(self.latest, at)
        self.ids[event["id"]] = seq

    def removed(self) -> Iterator[tuple[object, str, int]]:
        """Like `follow`: what is gone was let go by one tombstone behind it, and nothing else is gone."""
        said = set[int]()
        for tomb in self.tombs:
            seq, ranges, types, before = tomb["seq"], tomb["ranges"], tomb["types"], len(said)
            yield all(0 <= a <= b < seq for a, b in ranges), f"event {seq} lets go what was not before it", ALTERED
            yield types.keys() <= VISITS, f"event {seq} lets go what nobody may let go", ALTERED
            said |= {one for a, b in ranges for one in range(a, b + 1)}
            counts = {len(said) - before, tomb["events"], sum(types.values()), sum(b - a + 1 for a, b in ranges)}
            yield len(counts) == 1, f"event {seq} lets go other events than it counts", ALTERED
        there, lost = sorted(said & set(self.ids.values())), sorted(self.gone - said)
        yield not there, f"event {there[:1]} is there, which was let go as the trail says", ALTERED
        yield not lost, f"event {lost[:1]} is missing, and nothing in the trail let it go", INCOMPLETE


class Verification:
    """One bundle, step by step, from the zip to the rows of the report. `told` is what there was to check."""

    def __init__(self, stream: Any, keys: list[Key], given: list[Note]) -> None:
        self.bundle, self.roots = Bundle(stream), {0: Tree().root()}
        note = self.read_manifest()
        self.is_whole = self.manifest["scope"] == "whole"
        names = [MANIFEST, SIGNED, *sorted({EVENTS, CHECKPOINTS, PROOFS, PERSONAL, REPORT, *self.manifest["files"]})]
        self.bundle.check(names, self.manifest["files"], self.manifest["made_at"])
        inside = read_notes(self.bundle.pieces(CHECKPOINTS), CHECKPOINTS)
        self.read_events({old.size for old in (*inside, *given)})
        known = self.trusted(keys, inside)
        for old in (note, *inside, *given):
            must(old.signers(known), old.file, "is signed by no key you trust", INCOMPLETE if old in given else ALTERED)
        self.compare(inside, given)
        for holds, fault, code in self.trail.removed():
            must(holds, EVENTS, f"is not whole: {fault}", code)
        self.check_personal()
        self.check_report()
        told = {name: self.manifest[name] for name in ("organisation", "origin", "scope", "made_at", "size", "root")}
        told["removed"] = [{name: one[name] for name in TOMB} for one in self.trail.tombs if one["events"]]
        self.told = told | {"events": len(self.trail.ids), "inside": len(inside), "given": len(given)}

    def read_manifest(self) -> Note:
        """As it was signed; whether one trusts the signer is open yet."""
        text, notes = b"".join(self.bundle.pieces(MANIFEST)), read_notes(self.bundle.pieces(SIGNED), SIGNED, ALTERED)
        must([len(note.stamps) for note in notes] == [1], SIGNED, "is not one text with one signature")
        must((notes[0].size, notes[0].root) == (len(text), hashed(text)), MANIFEST, "is not the one that was signed")
        self.manifest = read_json(text, MANIFEST)
        must(self.manifest["v"] == 1, MANIFEST, "is of a later version: take a newer verifier", UNREADABLE)
        must(notes[0].origin == f"{self.manifest['origin']}/bundle", SIGNED, "was signed for something else")
        return notes[0]

    def read_events(self, sizes: set[int]) -> None:
        """Each proven to have its number; and the roots that the tree had at these sizes."""
        tree, size, root, last = Tree(), self.manifest["size"], unbase64(self.manifest["root"]), -1
        self.trail = Trail(self.manifest["origin"].rpartition("/")[2])
        for _, found in self.bundle.lines(EVENTS):
            seq, gone = found["seq"], self.is_whole and [*found] == ["leaf", "seq"]
            leaf = unbase64(found["leaf"]) if gone else hashed(b"\0", canonical(found["event"]))
            must(seq == last + 1 if self.is_whole else last < seq < size, EVENTS, f"has event {seq} behind {last}")
            if self.is_whole:
                tree.append(leaf)
                self.roots |= {tree.size: tree.root()} if tree.size in sizes else {}
            else:
                tops = climb(seq, size - 1, leaf, [unbase64(other) for other in found["proof"]])
                must(tops and tops[1] == root, EVENTS, f"holds as event {seq} another than was sealed")
            self.trail.gone |= {seq} if gone else set()
            for holds, fault in () if gone else self.trail.follow(seq, found["event"]):
                must(holds, EVENTS, f"is not in order: event {seq} ({found['event']['type']}) {fault}")
            last = seq
        if self.is_whole:
            must(tree.size >= size, EVENTS, f"ends after {tree.size} of {size} events", INCOMPLETE)
            must((tree.size, tree.root()) == (size, root), EVENTS, "holds other events than were sealed")
        self.roots[size] = root

    def trusted(self, keys: list[Key], signed: list[Note]) -> set[Key]:
        """The keys, and each that an event names under a checkpoint which a trusted key and itself have signed."""
        known, others = set(keys), [Key(text) for text in self.trail.keys]
        for note in signed * len(others):
            if note.signers(known):
                known |= {key for key in note.signers(others) if self.trail.keys.get(key.text, note.size) < note.size}
        return known

    def compare(self, inside: list[Note], given: list[Note]) -> None:
        """That the trail of the bundle begins with all that each of these checkpoints was of."""
        proofs = {line["size"]: line["proof"] for _, line in self.bundle.lines(PROOFS)}
        size, origin = self.manifest["size"], self.manifest["origin"]
        must((inside[-1].size, inside[-1].root) == (size, self.roots[size]), CHECKPOINTS, "ends with another one")
        for old in (*inside, *given):
            of = f"is of {old.size} events"
            must(old.origin == origin, old.file, f"is of {old.origin}, the bundle of {origin}")
            must(old.size <= size, old.file, f"{of}, the bundle of {size}: it is older, or was cut off", INCOMPLETE)
            root, proof = self.roots.get(old.size), [unbase64(other) for other in proofs.get(old.size, ())]
            must(root or proof, old.file, f"{of}, of which the bundle proves nothing: ask for all of it", INCOMPLETE)
            same = root == old.root if root else grew(old.size, size, old.root, self.roots[size], proof)
            must(same, old.file, f"{of} that are not the first of the bundle: some were changed, or removed")

    def check_personal(self) -> None:
        """Each revealed value is the one whose salted hash was sealed."""
        for number, found in self.bundle.lines(PERSONAL):
            digest = hashed(bytes.fromhex(found["salt"]), found["value"].encode()).hex()
            same = self.trail.hidden.pop((found["seq"], found["name"]), None) == digest
            must(same, PERSONAL, f"has in line {number} another value than was sealed with event {found['seq']}")

    def check_report(self) -> None:
        """As many rows as the cover counts; each alert as the trail raised it; and of the whole none left out."""
        counts, shown = Counter[str](), set[str]()
        for number, row in self.bundle.lines(REPORT):
            counts[row["section"]] += 1
            must(row["row"] == counts[row["section"]], REPORT, f"is out of order in line {number}")
            if row["section"] == "alerts":
                shown.add(claim := str(row["cells"]["alert"]))
                key = [str(row["cells"][name]) for name in CELLS]
                must(self.trail.raised.get(claim, (0, []))[1] == key, REPORT, f"has alert {claim} not as it was raised")
        must(counts == Counter(self.manifest["counts"]), REPORT, "has other numbers of rows than its cover says")
        for claim, (seq, _) in self.trail.raised.items() if self.is_whole else ():
            late = seq >= self.manifest["reported"]  # Raised while the report was written.
            must(late or claim in shown, REPORT, f"leaves out alert {claim}, which event {seq} raised")


def read_given(path: str) -> list[Note]:
    """The checkpoints of a file that was kept: a text, perhaps out of a mail, or a whole bundle."""
    with open(path, "rb") as file:
        pieces = Bundle(file).pieces(CHECKPOINTS) if zipfile.is_zipfile(path) else [file.read(LARGEST_TEXT)]
        return read_notes([b"".join(pieces).replace(b"\r", b"").strip()], path, INCOMPLETE)


def judge(path: str, keys: Iterable[str], given: Iterable[str]) -> dict[str, Any]:
    """The verdict: its code and word, one sentence, and of a good bundle what there was to check."""
    told, code, file, words = dict[str, Any](), GOOD, path, WORDS
    try:
        known, kept = [Key(key) for key in keys], [note for one in given for note in read_given(one)]
        must(known, "The key", "of the installation is not given: name it with --key", INCOMPLETE)
        with open(path, "rb") as stream:
            told = Verification(stream, known, kept).told
    except Finding as finding:
        code, file, words = finding.args
    except Exception as fault:  # Whatever else a strange file leads to: it is not good.
        code, words = UNREADABLE, f"cannot be read as a bundle: {fault!r}"
    words, gone = words.format(**told) if told else words, [tuple(tomb.values()) for tomb in told.get("removed", ())]
    words += REMOVED.format(sum(one[0] for one in gone), *gone[-1][1:]) if gone else ""
    sentence = f"{VERDICTS[code].capitalize()}: {file} {words}."
    return {"code": code, "verdict": VERDICTS[code], "file": file, "sentence": sentence, **told}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    for name, value in (("--key", "VKEY"), ("--checkpoint", "FILE")):
        parser.add_argument(name, action="append", default=[], metavar=value)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(arguments)
    verdict = judge(asked.bundle, asked.key, asked.checkpoint)
    sys.stdout.write(f"{json.dumps(verdict, ensure_ascii=False) if asked.json else verdict['sentence']}\n")
    return int(verdict["code"])


if __name__ == "__main__":
    sys.exit(main())
