"""The bundle: a report, the sealed events that it rests on, and what proves them, in one zip that anybody can verify.

Everything is in its canonical form and in a fixed order, each file is stored as it is and dated by the report, so that
the same facts give the same bytes. `app/verifier.py` says what is checked; nothing here decides whom one trusts.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import shutil
import zipfile
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from app import verifier
from app.domain.errors import Refused
from app.exports.report import alerts
from app.exports.report.pdf import write_pdf
from app.exports.report.recipe import recipe_of
from app.exports.report.report import Report
from app.exports.report.section import Section
from app.exports.report.spreadsheets import write_csv
from app.queries.report import sealed as queries
from app.trail.canonical import canonical, instant
from app.trail.notes import Checkpoint, Signer, signed
from app.trail.tree import Packed, Tree, leaf_hash
from app.verifier import (
    CHECKPOINTS,
    EVENTS,
    LARGEST_BUNDLE,
    MANIFEST,
    PERSONAL,
    PROOFS,
    REPORT,
    SIGNED,
    framed,
)
from app.version import VERSION

KEYS, RECIPE, CSV, PDF = "keys.txt", "RECIPE.txt", "report.csv", "report.pdf"
MANIFEST_VERSION = 1
TOO_LARGE = "The bundle would be larger than two gigabytes: narrow the period or the site."


@dataclass(frozen=True)
class Gathered:
    """The trail as the bundle shows it. `reported`: so many events were sealed before the report was read."""

    origin: str
    size: int
    root: bytes
    is_whole: bool
    events: int
    reported: int


def gather(session: Session, report: Report, origin: str, size: int, reported: int, folder: Path) -> Gathered:
    """Write the sealed events, and what proves them, into the folder."""
    org, whole = report.scope.org, queries.is_whole(report.scope)
    notes, leaves = list(queries.read_checkpoints(session, org, size)), queries.read_leaves(session, org, size)
    shown: Collection[int] = range(size)
    if whole:
        write_lines(folder / EVENTS, map(in_its_place, leaves))
        write_lines(folder / PROOFS, ())
    else:
        tree, shown = Tree(Packed(b"".join(leaf.hash or leaf_hash(leaf.content) for leaf in leaves))), set()
        part = queries.read_part(session, report.scope, size, claims_of(report))
        write_lines(folder / EVENTS, with_proof(part, tree, shown))
        write_lines(folder / PROOFS, grown((note.size for note in notes if 0 < note.size < size), tree))
    (folder / CHECKPOINTS).write_text("\n".join(note.note for note in notes), encoding="utf-8", newline="")
    write_lines(folder / KEYS, (vkey.encode() for vkey in queries.read_keys(session)))
    values = (value for value in queries.read_values(session, org, size) if value.seq in shown)
    write_lines(folder / PERSONAL, map(revealed, values))
    root = base64.b64decode(notes[-1].note.split("\n")[2])
    events = len(shown) - (queries.count_removed(session, org, size) if whole else 0)
    return Gathered(origin, size, root, whole, events, reported)


def in_its_place(leaf: Any) -> bytes:
    """An event as it was sealed; of one that went by a policy of retention the hash of its leaf."""
    if leaf.hash is not None:
        return b'{"leaf":"%b","seq":%d}' % (base64.b64encode(leaf.hash), leaf.seq)
    return b'{"event":%b,"seq":%d}' % (leaf.content, leaf.seq)


def with_proof(leaves: Iterable[Any], tree: Tree, shown: set[int]) -> Iterator[bytes]:
    """Each event with the proof that it has its place in the tree; `shown` has these places afterwards."""
    for leaf in leaves:
        shown.add(leaf.seq)
        proof = canonical(base64s(tree.inclusion_proof(leaf.seq)))
        yield b'{"event":%b,"proof":%b,"seq":%d}' % (leaf.content, proof, leaf.seq)


def revealed(value: Any) -> bytes:
    """As it was hashed, letter by letter."""
    line = {"seq": value.seq, "name": value.name, "salt": value.salt.hex(), "value": value.value}
    return verifier.canonical(line)


def grown(sizes: Iterable[int], tree: Tree) -> Iterator[bytes]:
    """For each size that the log once had, why it is the beginning of this tree."""
    for size in sizes:
        yield canonical({"size": size, "proof": base64s(tree.consistency_proof(size))})


def claims_of(report: Report) -> list[int]:
    """The numbers of the alerts that the report shows."""
    place = [column.key for column in alerts.PLAN.columns].index("alert")
    return [
        int(str(row[place])) for section in report.sections if section.plan is alerts.PLAN for row in section.rows()
    ]


def base64s(hashes: Iterable[bytes]) -> list[str]:
    return [base64.b64encode(one).decode() for one in hashes]


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        file.writelines(line + b"\n" for line in lines)


def pack(path: Path, report: Report, gathered: Gathered, signer: Signer, folder: Path) -> None:
    """Write the report beside what was gathered, sign for all of it, and pack. Raises Refused for what is too large."""
    write_lines(folder / REPORT, (line for section in report.sections for line in lines_of(section)))
    for name, writer in ((CSV, write_csv), (PDF, write_pdf)):
        with (folder / name).open("wb") as file:
            writer(file, report)
    (folder / RECIPE).write_text(recipe_of(report, gathered, signer), encoding="utf-8")
    made_at = instant(report.scope.sight.now)
    manifest = canonical(manifest_of(report, gathered, made_at, folder))
    (folder / MANIFEST).write_bytes(manifest)
    mark = Checkpoint(f"{gathered.origin}/bundle", len(manifest), hashlib.sha256(manifest).digest())
    (folder / SIGNED).write_text(signed(mark.text, [signer]), encoding="utf-8", newline="")
    if sum(file.stat().st_size for file in folder.iterdir()) > LARGEST_BUNDLE - 2**16:
        raise Refused(TOO_LARGE)
    with zipfile.ZipFile(path, "w") as archive:
        for name in (MANIFEST, SIGNED, *sorted(files_of(folder))):
            with (folder / name).open("rb") as source, archive.open(framed(name, made_at), "w") as target:
                shutil.copyfileobj(source, target)


def files_of(folder: Path) -> list[str]:
    """What the manifest names."""
    return [file.name for file in folder.iterdir() if file.name not in (MANIFEST, SIGNED)]


def lines_of(section: Section) -> Iterator[bytes]:
    keys = [column.key for column in section.columns]
    for number, row in enumerate(section.rows(), 1):
        cells = (cell.isoformat() if isinstance(cell, dt.date) else cell for cell in row)
        yield canonical({"section": section.key, "row": number, "cells": dict(zip(keys, cells, strict=True))})


def manifest_of(report: Report, gathered: Gathered, made_at: str, folder: Path) -> dict[str, Any]:
    return {
        "v": MANIFEST_VERSION,
        "origin": gathered.origin,
        "organisation": report.origin.organisation,
        "export": str(report.origin.export_id),
        "by": report.origin.by,
        "made_at": made_at,
        "onus": VERSION,
        "scope": "whole" if gathered.is_whole else "part",
        "filters": dict(report.scope.asked.as_json()),
        "size": gathered.size,
        "root": base64.b64encode(gathered.root).decode(),
        "reported": gathered.reported,
        "counts": {section.key: section.count for section in report.sections if section.count},
        "files": {name: digest_of(folder / name) for name in files_of(folder)},
    }


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
