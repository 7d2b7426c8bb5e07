"""The section *Register*: each entry as it stood when the report was made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy.orm import Session

from app.exports.report.said import person
from app.exports.report.section import Column, Group, Plan, date, number
from app.exports.tables import Row
from app.queries.report.register import EntryFacts, PaperFacts, read_entries
from app.queries.report.scope import Scope
from app.vocabulary import OF
from app.words import every, word

PLAN = Plan(
    "register",
    "Register",
    "Each entry as it stood at the moment of this report, whatever period was asked for.",
    (
        number("entry", "Entry"), Column("reference", "Reference"), Column("title", "Title"), Column("kind", "Kind"),
        Column("site", "Site"), Column("part_of", "Part of"), Column("status", "Status"),
        Column("responsible", "Responsible"), Column("holder", "Holder"), date("due_on", "Due date"),
        number("deadline", "Deadline"), Column("other_due_dates", "Other open due dates"), Column("basis", "Basis"),
        Column("filing", "With the authority"), Column("paper", "Paper in force"), Column("issuer", "Issued by"),
        date("issued_on", "Issued on"), date("valid_from", "Valid from"), date("valid_until", "Valid until"),
        Column("files", "Files"), Column("sha256", "SHA-256 of the files"), Column("other_papers", "Other papers in force"),
        Column("legal_basis", "Legal basis"), Column("notes", "Notes"),
    ),
    (
        Group("Entry", ("reference", "title", "kind", "part_of", "entry"), 3),
        Group("Site", ("site", "status"), 1.3),
        Group("Responsible", ("responsible", "holder"), 1.6),
        Group("Due date", ("due_on", "other_due_dates", "basis", "filing"), 1.6),
        Group("Paper in force", ("paper", "issuer", "issued_on", "valid_from", "valid_until", "files", "sha256",
                                 "other_papers"), 2.6),
        Group("Notes", ("legal_basis", "notes"), 2),
    ),
)  # fmt: skip
NO_PAPER = PaperFacts(0, "", "", None, None, None, ())


def rows(session: Session, scope: Scope) -> Iterator[Row]:
    return map(_row, read_entries(session, scope))


def _row(one: EntryFacts) -> Row:
    row, next_due = one.row, one.deadlines[0] if one.deadlines else None
    paper, *others = one.papers or [NO_PAPER]
    return (
        row.id, row.reference, row.title, row.kind, row.site, row.whole, _status(one), _responsible(one),
        person(row.holder, row.holder_id), next_due and next_due.due_on, next_due and next_due.id,
        "; ".join(other.due_on.isoformat() for other in one.deadlines[1:]) or None, _basis(one), _filing(one),
        paper.number or None, paper.issuer or None, paper.issued_on, paper.valid_from, paper.valid_until,
        _joined([name for name, _ in paper.files]), _joined([sha256 for _, sha256 in paper.files]),
        _joined([other.number for other in others]), row.legal_basis or None, row.notes or None,
    )  # fmt: skip


def _joined(parts: Sequence[str]) -> str | None:
    return "; ".join(parts) or None


def _status(one: EntryFacts) -> str:
    paused = f"; alerts paused until {one.row.snoozed_until}" if one.row.snoozed_until else ""
    return word(one.row.status, "status") + paused


def _responsible(one: EntryFacts) -> str | None:
    post = f"{one.row.owner_post} (post)" if one.row.owner_post else None
    return person(one.row.owner, one.row.owner_member_id) or post


def _basis(one: EntryFacts) -> str:
    """How often the date comes again, and from what it is counted."""
    counted = OF["basis"].get(one.row.recurrence_basis or "")
    comes = every(one.row.recurrence)
    return f"{comes}, counted {counted}" if one.row.recurrence and counted else comes


def _filing(one: EntryFacts) -> str | None:
    pending = [deadline for deadline in one.deadlines if deadline.filed_on and not deadline.filing_ended_on]
    return _joined(
        [
            f"filed on {deadline.filed_on}" + (f", receipt {deadline.filed_reference}" if deadline.filed_reference else "")
            + f"; in force meanwhile: {word(deadline.in_force_meanwhile, 'in_force').lower()}"
            for deadline in pending
        ]
    )  # fmt: skip
