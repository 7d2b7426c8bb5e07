"""Making one report: sealed first, read from one moment, and written without any transaction.

The same for a command and for the child of the scheduler. It commits nothing: whoever calls ends the report.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from app import clock
from app.config import settings
from app.database import SCHEDULER, WEB, transaction
from app.domain.acts import ReportFormat
from app.domain.errors import Refused
from app.exports.report.bundle import Gathered, gather, pack
from app.exports.report.cover import Origin, Seal
from app.exports.report.formats import write
from app.exports.report.report import Report, read_report, seal_first
from app.operations.export_runs import LARGEST_KEPT, TOO_LARGE, Made, Order
from app.queries.report.names import names_of_asked, names_of_kinds, read_asker, read_place
from app.queries.report.scope import Asked, Scope
from app.queries.report.sealed import read_size
from app.queries.sight import read_sight
from app.trail.act import SCHEDULER as SCHEDULER_ACTOR
from app.trail.act import Act
from app.trail.notes import Signer, origin
from app.trail.signers import open_signer
from app.words import word

NOBODY = 0  # No member's number: an operator is limited to no site.
GONE = "Whoever asked for this report is not let in any more."
OPERATOR = "An operator, by a command"

Told = Callable[[int, int], None]


def make(org: int, order: Order, path: Path, told: Told, *, keeps: bool) -> Made:
    """Write the report to this path. With `keeps`, its content goes into the database. Raises Refused.

    1. Seal. 2. Read everything from one moment. 3. Write, while the database may go on. A bundle seals once more in
    between, so that whatever that moment saw is sealed.
    """
    _, seal = seal_now(org)
    with tempfile.TemporaryDirectory(prefix="onus-report-") as folder, tempfile.TemporaryDirectory() as parts:
        report = read(org, order, seal, Path(folder), told)
        if order.format is not ReportFormat.bundle:
            write(order.format, path, report)
            return made_of(path, report, keeps)
        gathered, signer = gather_sealed(org, report, seal.size if seal else 0, Path(parts))
        pack(path, report, gathered, signer, Path(parts))
    return replace(made_of(path, report, keeps), sealed=gathered.size)


def seal_now(org: int) -> tuple[Signer, Seal | None]:
    with transaction(org, SCHEDULER) as session:
        now = clock.now(session, settings())
        signer = open_signer(session, settings(), now)
        return signer, seal_first(Act(session, org, now, SCHEDULER_ACTOR), signer)


def gather_sealed(org: int, report: Report, reported: int, folder: Path) -> tuple[Gathered, Signer]:
    signer, seal = seal_now(org)
    if seal is None:
        raise Refused("Nothing has happened yet, so there is nothing to verify: take xlsx, pdf or csv.")
    with transaction(org, WEB, snapshot=True) as session:
        size = read_size(session, org)  # Of this moment, as are the leaves: what removes some was sealed with that.
        return gather(session, report, origin(signer.name, org), size, reported, folder), signer


def read(org: int, order: Order, seal: Seal | None, folder: Path, told: Told) -> Report:
    with transaction(org, WEB, snapshot=True) as session:
        now = clock.now(session, settings())
        name, timezone = read_place(session, org)
        asked = Asked.of_json(order.filters)
        scope = Scope(read_sight(session, org, order.asked_by or NOBODY, now), timezone, asked)
        by = OPERATOR
        if order.asked_by is not None:
            asker = read_asker(session, org, order.asked_by)
            if asker is None or not asker.is_active:
                raise Refused(GONE)
            by = f"{asker.name} (no. {order.asked_by}), {word(asker.role, 'role')}"
        narrowed = names_of_asked(session, org, asked)
        origin = Origin(order.id, name, by, narrowed, names_of_kinds(session, scope), seal)
        return read_report(session, scope, origin, folder, told)


def made_of(path: Path, report: Report, keeps: bool) -> Made:
    size = path.stat().st_size
    if keeps and size > LARGEST_KEPT:
        raise Refused(TOO_LARGE)
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return Made(report.counts, size, sha256, path.read_bytes() if keeps else None)
