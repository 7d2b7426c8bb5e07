"""One outcome for each record (DESIGN section 11): among the records of the file, and against the register as it is.

Decides only. Nothing here reads or writes the database, and nothing knows the format of the file.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from app.domain.acts import Basis, Status
from app.domain.errors import quoted
from app.imports.entries import OWNER_POST, Entry
from app.imports.headers import DUE_FROM, KIND, PART_OF
from app.imports.known import Key, Present
from app.operations.imports import Amendment, Arrival, Parent
from app.operations.kinds import key_of
from app.operations.typed import LONGEST_REFERENCE, iso

# The fields of a record and the columns of a subject that keep them.
COLUMNS = {
    "title": "title",
    "owner": "owner_member_id",
    OWNER_POST: "owner_post_id",
    "holder": "holder_id",
    "recurrence": "recurrence",
    "recurrence_basis": "recurrence_basis",
    "due_from": "due_from",
    "legal_basis": "legal_basis",
    "notes": "notes",
}

MOST_LINES_NAMED = 5  # In a reason.
LONGEST_KEPT = LONGEST_REFERENCE  # Characters of a cell that was not accepted.


class Outcome(StrEnum):
    """What becomes of a record."""

    new = "new"
    changed = "changed"
    unchanged = "unchanged"
    confirm = "confirm"
    no_expiry = "no_expiry"
    duplicate = "duplicate"
    conflict = "conflict"
    skipped = "skipped"
    rejected = "rejected"


@dataclass(frozen=True, slots=True)
class Row:
    """The outcome of the record that starts at this line, as it is reported and kept."""

    line: int
    outcome: Outcome
    reason: str = ""
    reference: str = ""
    title: str = ""
    site: str = ""
    due_on: dt.date | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "line": self.line,
            "outcome": self.outcome.value,
            "reason": self.reason,
            "reference": self.reference,
            "title": self.title,
            "site": self.site,
            "due_on": iso(self.due_on),
        }


@dataclass
class Report:
    """The rows so far, and what the accepted ones do to the register."""

    rows: list[Row] = field(default_factory=list)
    arrivals: list[Arrival] = field(default_factory=list)
    amendments: list[Amendment] = field(default_factory=list)
    proposed: list[Row] = field(default_factory=list)  # Bare numbers that would be dates, confirmed or not.

    def propose(self, entry: Entry) -> None:
        due, reason = entry.due, f"the number {entry.due.number} would be {entry.due.on} in a spreadsheet"
        facts = (entry.reference, entry.title, entry.site.name, due.on)
        self.proposed.append(Row(entry.line, Outcome.confirm, reason, *facts))

    def add(self, entry: Entry, outcome: Outcome, reason: str = "") -> None:
        title, site = entry.title, entry.site.name
        self.rows.append(Row(entry.line, outcome, reason, entry.reference, title, site, entry.due.on))

    def in_order(self) -> list[Row]:
        return sorted(self.rows, key=lambda row: row.line)

    def counts(self) -> dict[str, int]:
        counted = Counter(row.outcome for row in self.rows)
        return {outcome.value: counted[outcome] for outcome in Outcome}


def settle_repeats(entries: Iterable[Entry], takes_latest: bool, report: Report) -> list[Entry]:
    """What is left when each reference stands once: repeats are duplicates or conflicts.

    Identical to an earlier record: duplicate. Otherwise all of the reference are conflicts and none is applied, unless
    the latest due date is taken and one record alone has it.
    """
    by_key: dict[Key, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_key[entry.key].append(entry)
    left: list[Entry] = []
    for same in by_key.values():
        different = without_duplicates(same, report)
        latest = latest_of(different) if takes_latest else None
        if len(different) == 1:
            left.append(different[0])
            continue
        for entry in different:
            if entry is latest:
                left.append(entry)
            else:
                what = f"the latest due date, in line {latest.line}, is taken" if latest else "none is applied"
                reason = f"line {others(entry, different)} gives the same reference other values: {what}"
                report.add(entry, Outcome.conflict, reason)
    return left


def others(entry: Entry, same: Sequence[Entry]) -> str:
    """The lines of the other records; a few, since thousands may have one reference, and each of them says this."""
    named = [str(other.line) for other in same[: MOST_LINES_NAMED + 1] if other is not entry][:MOST_LINES_NAMED]
    more = len(same) - 1 - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def shortened(text: str) -> str:
    """A cell that was not accepted, as it is reported and kept: of any length in the file, it is shown and not used."""
    return text if len(text) <= LONGEST_KEPT else f"{text[: LONGEST_KEPT - 1]}…"


def without_duplicates(same: Sequence[Entry], report: Report) -> list[Entry]:
    """The records of one reference that differ; the others are reported with the line that they repeat."""
    if len(same) == 1:
        return [same[0]]
    first: dict[tuple[Any, ...], Entry] = {}
    for entry in same:
        earlier = first.setdefault(entry.meaning, entry)
        if earlier is not entry:
            report.add(entry, Outcome.duplicate, f"the same as line {earlier.line}")
    return list(first.values())


def latest_of(entries: Sequence[Entry]) -> Entry | None:
    """The one with the latest due date, if all have certain ones and no other shares it."""
    dates = [entry.due.on for entry in entries if entry.due.on is not None and not entry.due.must_confirm]
    if len(dates) < len(entries):
        return None
    last = max(dates)
    with_latest = [entry for entry in entries if entry.due.on == last]
    return with_latest[0] if len(with_latest) == 1 else None


def settle_unconfirmed(entries: Iterable[Entry], report: Report) -> list[Entry]:
    """What is left without the dates that a person must confirm first."""
    left = []
    for entry in entries:
        if entry.due.must_confirm:
            report.add(entry, Outcome.confirm, entry.due.reason)
        else:
            left.append(entry)
    return left


def settle(entry: Entry, present: Present | None, parent: Parent, report: Report) -> None:
    """The outcome of a record that stands alone, against the entry that the register has, if it has one."""
    if present is None:
        arrive(entry, parent, report)
        return
    refusal = "" if DUE_FROM in entry.said and entry.due.on is None else due_conflict(entry.due.on, present)
    if refusal:
        report.add(entry, Outcome.conflict, refusal)
        return
    old, new = differences(entry, present)
    if new.get("due_from") and present.recurrence:
        report.add(entry, Outcome.conflict, "the entry comes again by itself: take its recurrence off first")
        return
    part = parent if parent != present.part_of_id else None
    if part is not None:
        old["part_of_id"] = present.part_of_id
    due_on = None if present.has(entry.due.on) else entry.due.on
    differs = bool(old) or due_on is not None
    if differs and entry.site.is_archived:
        report.add(entry, Outcome.rejected, f"the site {quoted(entry.site.name)} is archived")
        return
    if differs:
        moved_from = moved(due_on, present)
        change = Amendment(entry.line, present.id, old, new, due_on, moved_from, part, entry.extra)
        report.amendments.append(change)
    report.add(entry, outcome_of(entry, differs), reason_of(entry, present, old, due_on))


def arrive(entry: Entry, parent: Parent, report: Report) -> None:
    columns = {COLUMNS[name]: value for name, value in entry.said.items() if name in COLUMNS and name != "title"}
    kind = entry.said.get(KIND)
    report.arrivals.append(
        Arrival(entry.line, entry.key, entry.reference, entry.title, kind, entry.due.on, parent, columns, entry.extra)
    )
    report.add(entry, Outcome.new if entry.is_dated else Outcome.no_expiry, entry.due.reason)


def differences(entry: Entry, present: Present) -> tuple[dict[str, Any], dict[str, Any]]:
    """The columns in which a record differs from the entry: their old and their new values."""
    was = {
        "title": present.title,
        "owner": present.owner_id,
        OWNER_POST: present.owner_post_id,
        "holder": present.holder_id,
        "recurrence": present.recurrence,
        "recurrence_basis": present.recurrence_basis or (Basis.due.value if present.recurrence else None),
        "due_from": present.due_from,
        "legal_basis": present.legal_basis,
        "notes": present.notes,
    }
    differ = [name for name in COLUMNS if name in entry.said and entry.said[name] != was[name]]
    old = {COLUMNS[name]: was[name] for name in differ}
    new = {COLUMNS[name]: entry.said[name] for name in differ}
    if KIND in entry.said and key_of(entry.said[KIND]) != key_of(present.kind):
        old[KIND], new[KIND] = present.kind, entry.said[KIND]
    if "owner_member_id" in old and present.owner_post_id is not None:
        old["owner_post_id"], new["owner_post_id"] = present.owner_post_id, None  # The person takes the post's place.
    if "owner_post_id" in old and new["owner_post_id"] is not None and present.owner_id is not None:
        old["owner_member_id"], new["owner_member_id"] = present.owner_id, None
    return old, new


def due_conflict(due_on: dt.date | None, present: Present) -> str:
    """Why the due date of a record cannot be taken over without a person, or nothing."""
    open_ones = sorted(present.open_due_ons)
    if due_on in open_ones or not open_ones:
        return ""
    dates = ", ".join(str(day) for day in open_ones)
    if due_on is None:
        return f"the record has no due date, and the entry is open for {dates}: close it first"
    if len(open_ones) > 1:
        return f"the entry has several open due dates ({dates}): move the right one"
    if present.has(due_on):
        return f"the entry had the due date {due_on} before, it is closed; open is {dates}"
    return ""


def moved(due_on: dt.date | None, present: Present) -> tuple[int, dt.date] | None:
    """The one open obligation, and its day, if there is one for this new due date to move."""
    open_ones = present.open_due_ons
    if due_on is None or not open_ones:
        return None
    ((old, obligation_id),) = open_ones.items()
    return obligation_id, old


def outcome_of(entry: Entry, differs: bool) -> Outcome:
    if not entry.is_dated:
        return Outcome.no_expiry
    return Outcome.changed if differs else Outcome.unchanged


def reason_of(entry: Entry, present: Present, old: Mapping[str, Any], due_on: dt.date | None) -> str:
    """What differs, in words; and that nobody is told of an entry that is not watched."""
    words = [column.removesuffix("_id").removesuffix("_member").replace("_", " ") for column in old]
    if due_on is not None:
        before = ", ".join(str(day) for day in present.open_due_ons) or "none"
        words.append(f"due date {before} → {due_on}")
    if entry.due.reason:
        words.append(entry.due.reason)
    if present.status != Status.watched:
        words.append(f"the entry is not watched: {present.status.replace('_', ' ')}")
    return ", ".join(words)


def has_parent(entry: Entry) -> bool:
    return PART_OF in entry.said
