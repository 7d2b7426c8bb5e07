"""The sections *Changes* and *Taken off the watch*: what was done by whom, old and new values, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy.orm import Session

from app.exports.event_words import BUILT, PLAIN, REASONS, Change, changes, sentence
from app.exports.report.said import actor, instant, person, yes
from app.exports.report.section import Column, Group, Plan, date, number
from app.exports.report.section import instant as instants
from app.exports.tables import Row
from app.queries.entry_history import Event, Names
from app.queries.report.changes import ChangeFacts, read_changes
from app.queries.report.scope import Scope
from app.queries.report.taken_off import read_taken_off_rows
from app.trail.act import OPERATOR, SCHEDULER
from app.vocabulary import OF
from app.words import word

CHANGES = Plan(
    "changes",
    "Changes",
    "What was done in the period to entries, deadlines, papers, rules, sites and people, in the order in which it was recorded.",
    (
        number("event", "Event"), number("seq", "Place in the seal"), *instants("at", "At"), Column("by", "By"),
        Column("what", "What"), Column("type", "Type"), number("entry", "Entry"), Column("reference", "Reference"),
        Column("old", "Old"), Column("new", "New"), Column("reason", "Reason"), Column("note", "Note"),
        Column("source", "Source"),
    ),
    (
        Group("Event", ("event", "at"), 2), Group("By", ("by", "source"), 1.5), Group("Reference", ("reference",), 1.2),
        Group("What", ("what", "reason", "note"), 3), Group("Old", ("old",), 2), Group("New", ("new",), 2),
    ),
)  # fmt: skip
TAKEN_OFF = Plan(
    "taken_off",
    "Taken off the watch",
    "What was archived, paused, closed without doing it, moved, or lost its rule in the period, and whether it is still so.",
    (
        number("event", "Event"), *instants("at", "At"), Column("by", "By"), Column("what", "What"), number("entry", "Entry"),
        Column("reference", "Reference"), Column("title", "Title"), Column("site", "Site"), Column("rule", "Rule"),
        date("due_on", "Due date"), date("to", "Until, or moved to"), Column("outcome", "Outcome"), Column("reason", "Reason"),
        Column("note", "Note"), Column("still_so", "Still so"),
    ),
    (
        Group("At", ("at", "by"), 2), Group("What", ("what", "due_on", "to", "outcome"), 2),
        Group("Entry", ("reference", "title", "site", "rule"), 3), Group("Why", ("reason", "note"), 2),
        Group("Still so", ("still_so",), 0.7),
    ),
)  # fmt: skip
REASON_OF = {**REASONS, "subject_out_of_service": "archive_reason"}


def change_rows(session: Session, scope: Scope) -> Iterator[Row]:
    for one in read_changes(session, scope):
        event, found = one.event, _values(one)
        yield (
            event.id, one.row.seq, *instant(event.at, one.row.timezone or scope.zone),
            actor(event.actor, one.names.of_actor(event.actor)), what_of(event, one.names), event.type,
            one.row.subject_id, one.row.reference, *found, _reason(event), event.detail.get("note") or None,
            source_of(event),
        )  # fmt: skip


def what_of(event: Event, names: Names) -> str:
    """What happened; what is about no entry says what it is about."""
    said, detail = sentence(event, names), event.detail
    if event.type in PLAIN or event.type in BUILT:
        return said
    named = [person(names.of("member_id", detail["member_id"]), detail["member_id"])] if "member_id" in detail else []
    named += [names.of(key, detail[key]) for key in ("post_id", "kind_id", "site_id") if key in detail]
    about = ", ".join(dict.fromkeys(filter(None, [detail.get("name"), *named])))
    return f"{said}: {about}" if about else said


def _values(one: ChangeFacts) -> tuple[str | None, str | None]:
    """Old and new, in words where the pages have them, else as they were recorded."""
    worded = changes(one.event, one.names)
    if worded:
        return _lines(worded, "old"), _lines(worded, "new")
    return _plain(one.event.detail.get("old"), one.names), _plain(one.event.detail.get("new"), one.names)


def _lines(worded: Any, side: str) -> str:
    found: list[Change] = list(worded)
    return "; ".join(f"{one.label}: {getattr(one, side)}" for one in found)


def _plain(value: Any, names: Names) -> str | None:
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_plain(part, names) or 'nothing'}" for name, part in value.items()) or None
    if isinstance(value, list):
        return ", ".join(str(part) for part in value) or None
    return None if value is None or value == "" else str(value)


def _reason(event: Event) -> str | None:
    reason = event.detail.get("reason")
    return word(reason, REASON_OF.get(event.type, "reason")) if reason else None


def source_of(event: Event) -> str:
    """By which way it came in."""
    if "line" in event.detail:
        return f"import, line {event.detail['line']}"
    if "batch" in event.detail:
        return f"batch {event.detail['batch']}"
    if "import_in_error" in event.detail:
        return "an import that was entered in error"
    return {SCHEDULER: "Onus itself", OPERATOR: "command"}.get(event.actor, "page")


def taken_off_rows(session: Session, scope: Scope) -> Iterator[Row]:
    for one, zone in read_taken_off_rows(session, scope):
        reason = word(one.reason, REASON_OF.get(one.type, "reason")) if one.reason else None
        yield (
            one.id, *instant(one.at, zone), actor(one.actor, one.person), OF["off_watch"][one.type], one.subject_id,
            one.reference, one.title, one.site, one.rule, one.due_on, one.to,
            word(one.outcome, "outcome") if one.outcome else None, reason, one.note or None, yes(one.still_so),
        )  # fmt: skip
