"""A record that names an entry which was archived as entered in error: the entry comes back, as if it were new.

Decides only, like `outcomes.py`, by whose words and outcomes it goes; nothing here reads or writes the database.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from app.imports.entries import Entry
from app.imports.headers import KIND, TITLE
from app.imports.known import Present
from app.imports.outcomes import COLUMNS, Outcome, Report, due_conflict, moved, outcome_of
from app.operations.comebacks import Comeback
from app.operations.imports import OTHER, Amendment, Parent
from app.operations.kinds import key_of

REASON = "brought back: it was archived as entered in error"
TEXTS = ("legal_basis", "notes")  # Columns that are empty, and not null, where nothing is said.


def come_back(entry: Entry, present: Present, parent: Parent, report: Report) -> None:
    """The outcome of the record, and what it does to the entry.

    A due date that was closed as entered in error is opened again in its own row. Any other goes by the rules of every
    record: a date that was done stays closed, and one that somebody has opened since is moved, or a conflict.
    """
    refusal = due_conflict(entry.due.on, present)
    if refusal:
        report.add(entry, Outcome.conflict, refusal)
        return
    columns = as_new(entry, parent)
    old, new = differences(columns, present)
    reopened = reopened_by(entry.due.on, present)
    due_on = None if present.has(entry.due.on) else entry.due.on
    comeback = Comeback(entry.line, present.id, columns, entry.extra, reopened)
    part = parent if "part_of_id" in new else None
    change = (entry.line, present.id, old, new, due_on, moved(due_on, present), part, entry.extra, comeback)
    report.amendments.append(Amendment(*change))
    report.add(entry, outcome_of(entry, True), ", ".join([REASON, *([entry.due.reason] if entry.due.reason else [])]))


def as_new(entry: Entry, parent: Parent) -> dict[str, Any]:
    """All columns as the record has them, as of an entry that arrives."""
    columns: dict[str, Any] = {name: "" if field in TEXTS else None for field, name in COLUMNS.items()}
    columns |= {COLUMNS[field]: value for field, value in entry.said.items() if field in COLUMNS}
    return columns | {TITLE: entry.title, KIND: entry.said.get(KIND, OTHER), "part_of_id": parent}


def differences(columns: dict[str, Any], present: Present) -> tuple[dict[str, Any], dict[str, Any]]:
    """What becomes different: old and new values, for the trail."""
    was = {name: getattr(present, "owner_id" if name == "owner_member_id" else name) for name in columns}
    differ = [name for name in columns if columns[name] != was[name]]
    if key_of(columns[KIND]) == key_of(present.kind):
        differ = [name for name in differ if name != KIND]
    old, new = {name: was[name] for name in differ}, {name: columns[name] for name in differ}
    emptied = {name: value for name, value in present.beside.items() if value is not None}
    return old | emptied, new | dict.fromkeys(emptied)


def reopened_by(due_on: dt.date | None, present: Present) -> tuple[int, dt.date] | None:
    if due_on is None or due_on not in present.mistaken:
        return None
    return present.mistaken[due_on], due_on
