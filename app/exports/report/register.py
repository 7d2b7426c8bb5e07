"""The section *Register*: each entry as it stood at the end of the last day asked for, or when the report was made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy.orm import Session

from app.exports.report.said import person
from app.exports.report.section import Column, Group, Plan, date, number
from app.exports.tables import Row
from app.queries.report.register import DeadlineRow, EntryFacts, PaperFacts, read_entries
from app.queries.report.scope import Scope
from app.vocabulary import OF
from app.wording import gettext
from app.wording import later as _
from app.words import every, word

PLAN = Plan(
    "register",
    _("Register"),
    _("Each entry as it stood at the end of the last day of the period, by the clock of its site; without one, at the moment of this report."),
    (
        number("entry", _("Entry")), Column("reference", _("Reference")), Column("title", _("Title")), Column("kind", _("Kind")),
        Column("site", _("Site")), Column("part_of", _("Part of")), Column("status", _("Status")),
        Column("responsible", _("Responsible")), Column("holder", _("Holder")), date("due_on", _("Due date")),
        number("deadline", _("Deadline")), Column("other_due_dates", _("Other open due dates")), Column("basis", _("Basis")),
        Column("filing", _("With the authority")), Column("paper", _("Paper in force")), Column("issuer", _("Issued by")),
        date("issued_on", _("Issued on")), date("valid_from", _("Valid from")), date("valid_until", _("Valid until")),
        Column("files", _("Files")), Column("sha256", _("SHA-256 of the files")), Column("other_papers", _("Other papers in force")),
        Column("legal_basis", _("Legal basis")), Column("notes", _("Notes")),
    ),
    (
        Group(_("Entry"), ("reference", "title", "kind", "part_of", "entry"), 3),
        Group(_("Site"), ("site", "status"), 1.3),
        Group(_("Responsible"), ("responsible", "holder"), 1.6),
        Group(_("Due date"), ("due_on", "other_due_dates", "basis", "filing"), 1.6),
        Group(_("Paper in force"), ("paper", "issuer", "issued_on", "valid_from", "valid_until", "files", "sha256",
                                 "other_papers"), 2.6),
        Group(_("Notes"), ("legal_basis", "notes"), 2),
    ),
)  # fmt: skip
NO_PAPER = PaperFacts(0, "", "", None, None, None, ())


def rows(session: Session, scope: Scope) -> Iterator[Row]:
    return map(_row, read_entries(session, scope))


def _row(one: EntryFacts) -> Row:
    row, next_due = one.row, one.deadlines[0] if one.deadlines else None
    paper, *others = one.papers or [NO_PAPER]
    return (
        row.id, row.reference, row.title, row.kind, row.site or gettext("another site"), row.whole, _status(one), _responsible(one),
        person(row.holder, row.holder_id), next_due.due_on if next_due else None, next_due.id if next_due else None,
        "; ".join(other.due_on.isoformat() for other in one.deadlines[1:]) or None, _basis(one), _filing(one),
        paper.number or None, paper.issuer or None, paper.issued_on, paper.valid_from, paper.valid_until,
        _joined([name for name, _ in paper.files]), _joined([sha256 for _, sha256 in paper.files]),
        _joined([other.number for other in others]), row.legal_basis or None, row.notes or None,
    )  # fmt: skip


def _joined(parts: Sequence[str]) -> str | None:
    return "; ".join(parts) or None


def _status(one: EntryFacts) -> str:
    status = word(one.row.status, "status")
    if not one.row.snoozed_until:
        return status
    return gettext("%(status)s; alerts paused until %(day)s", status=status, day=one.row.snoozed_until)


def _responsible(one: EntryFacts) -> str | None:
    post = gettext("%(post)s (post)", post=one.row.owner_post) if one.row.owner_post else None
    return person(one.row.owner, one.row.owner_member_id) or post


def _basis(one: EntryFacts) -> str:
    """How often the date comes again, and from what it is counted."""
    counted = OF["basis"].get(one.row.recurrence_basis or "")
    comes = every(one.row.recurrence)
    return (
        gettext("%(every)s, counted %(basis)s", every=comes, basis=counted) if one.row.recurrence and counted else comes
    )


def _filing(one: EntryFacts) -> str | None:
    pending = [deadline for deadline in one.deadlines if deadline.filed_on and not deadline.filing_ended_on]
    return _joined([_pending(deadline) for deadline in pending])


def _pending(one: DeadlineRow) -> str:
    in_force = word(one.in_force_meanwhile, "in_force").lower()
    if one.filed_reference:
        said = _("filed on %(day)s, receipt %(receipt)s; in force meanwhile: %(in_force)s")
        return gettext(said, day=one.filed_on, receipt=one.filed_reference, in_force=in_force)
    return gettext("filed on %(day)s; in force meanwhile: %(in_force)s", day=one.filed_on, in_force=in_force)
