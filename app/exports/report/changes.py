"""The sections *Changes* and *Taken off the watch*: what was done by whom, old and new values, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy.orm import Session

from app.exports.event_words import BUILT, EMPTY, LABELS, PLAIN, REASONS, Change, changes, sentence
from app.exports.report.said import actor, instant, person, yes
from app.exports.report.section import Column, Group, Plan, date, number
from app.exports.report.section import instant as instants
from app.exports.tables import Row
from app.queries.entry_history import BARE, Event
from app.queries.names import NAMED, Names
from app.queries.report.changes import ChangeFacts, read_changes
from app.queries.report.scope import Scope
from app.queries.report.taken_off import read_taken_off_rows
from app.trail.act import OPERATOR, SCHEDULER
from app.vocabulary import OF
from app.wording import gettext
from app.wording import later as _
from app.words import unended, word

CHANGES = Plan(
    "changes",
    _("Changes"),
    _("What was done in the period to entries, deadlines, papers, rules, sites and people, in the order in which it was recorded."),
    (
        number("event", _("Event")), number("seq", _("Place in the seal")), *instants("at", _("At")), Column("by", _("By")),
        Column("what", _("What")), Column("type", _("Type")), number("entry", _("Entry")), Column("reference", _("Reference")),
        Column("old", _("Old")), Column("new", _("New")), Column("reason", _("Reason")), Column("note", _("Note")),
        Column("source", _("Source")),
    ),
    (
        Group(_("Event"), ("event", "at"), 2), Group(_("By"), ("by", "source"), 1.5), Group(_("Reference"), ("reference",), 1.2),
        Group(_("What"), ("what", "reason", "note"), 3), Group(_("Old"), ("old",), 2), Group(_("New"), ("new",), 2),
    ),
)  # fmt: skip
TAKEN_OFF = Plan(
    "taken_off",
    _("Taken off the watch"),
    _("What was archived, paused, closed without doing it, moved, or lost its rule in the period, and whether it is still so."),
    (
        number("event", _("Event")), *instants("at", _("At")), Column("by", _("By")), Column("what", _("What")), number("entry", _("Entry")),
        Column("reference", _("Reference")), Column("title", _("Title")), Column("site", _("Site")), Column("rule", _("Rule")),
        date("due_on", _("Due date")), date("to", _("Until, or moved to")), Column("outcome", _("Outcome")), Column("reason", _("Reason")),
        Column("note", _("Note")), Column("still_so", _("Still so")),
    ),
    (
        Group(_("At"), ("at", "by"), 2), Group(_("What"), ("what", "due_on", "to", "outcome"), 2),
        Group(_("Entry"), ("reference", "title", "site", "rule"), 3), Group(_("Why"), ("reason", "note"), 2),
        Group(_("Still so"), ("still_so",), 0.7),
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
    old, new, bare = one.event.detail.get("old"), one.event.detail.get("new"), BARE.get(one.event.type, "")
    return _plain(old, one.names, bare), _plain(new, one.names, bare)


def change_in_words(one: ChangeFacts) -> str:
    """What happened, with old and new values, the reason and the note."""
    said = [what_of(one.event, one.names)]
    for change in changes(one.event, one.names):
        said.append(gettext("%(label)s: %(old)s → %(new)s", label=change.label, old=change.old, new=change.new))
    if one.event.type not in REASONS and (reason := _reason(one.event)):
        said.append(gettext("reason: %(reason)s", reason=reason))
    if note := one.event.detail.get("note"):
        said.append(f"“{unended(note)}”")
    return "; ".join(said)


def _lines(worded: Any, side: str) -> str:
    found: list[Change] = list(worded)
    return "; ".join(f"{one.label}: {getattr(one, side)}" for one in found)


def _plain(value: Any, names: Names, word: str = "") -> str | None:
    """As it was recorded; but a row by its name, where the word under which it stands names one."""
    if isinstance(value, Mapping):
        parts = (
            f"{gettext(LABELS.get(name, name))}: {_plain(part, names, name) or gettext(EMPTY)}"
            for name, part in value.items()
        )
        return "; ".join(parts) or None
    if isinstance(value, list):
        return ", ".join(_plain(part, names, word) or "" for part in value) or None
    if word in NAMED and isinstance(value, int):
        return names.of(word, value)
    return None if value is None or value == "" else str(value)


def _reason(event: Event) -> str | None:
    reason = event.detail.get("reason")
    return word(reason, REASON_OF.get(event.type, "reason")) if reason else None


def source_of(event: Event) -> str:
    """By which way it came in."""
    if "line" in event.detail:
        return gettext("import, line %(line)s", line=event.detail["line"])
    if "batch" in event.detail:
        return gettext("batch %(number)s", number=event.detail["batch"])
    if "import_in_error" in event.detail:
        return gettext("an import that was entered in error")
    ways = {SCHEDULER: _("Onus itself"), OPERATOR: _("command")}
    by_hand = _("page")
    return gettext(ways.get(event.actor, by_hand))


def taken_off_rows(session: Session, scope: Scope) -> Iterator[Row]:
    for one, zone in read_taken_off_rows(session, scope):
        reason = word(one.reason, REASON_OF.get(one.type, "reason")) if one.reason else None
        yield (
            one.id, *instant(one.at, zone), actor(one.actor, one.person), OF["off_watch"][one.type], one.subject_id,
            one.reference, one.title, one.site, one.rule, one.due_on, one.to,
            word(one.outcome, "outcome") if one.outcome else None, reason, one.note or None, yes(one.still_so),
        )  # fmt: skip
