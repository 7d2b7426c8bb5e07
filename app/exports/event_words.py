"""The history of an entry in words: who did what, when, and what it said before and after."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.acts import NextFrom
from app.domain.delivery import Resolution, State
from app.queries.entry_history import Event, History, Names
from app.vocabulary import OF
from app.words import before, counted, day, every, moment, word

SCHEDULER, OPERATOR = "system:scheduler", "system:operator"
EMPTY = "nothing"
DATES = ("old", "new", "series_from", "snoozed_until", "valid_until")  # What is a date, besides whatever ends in _on.

LABELS: Mapping[str, str] = {
    "title": "Title", "kind": "Kind", "kind_id": "Kind", "owner_member_id": "Responsible", "holder_id": "Holder",
    "recurrence": "Comes again", "recurrence_basis": "Counted", "legal_basis": "Legal basis", "notes": "Notes",
    "part_of_id": "Part of", "site_id": "Site", "filed_on": "Filed on", "filed_reference": "Receipt",
    "in_force_meanwhile": "In force meanwhile", "ask_again_on": "Ask again on", "filing_ended_on": "Answered on",
    "filing_result": "Answer", "owner_post_id": "Responsible post", "due_on": "Due date",
    "snoozed_until": "Paused until", "series_from": "Later dates are counted from",
    "due_from": "Due date from its whole",
}  # fmt: skip
REASONS: Mapping[str, str] = {
    "date_moved": "move_reason", "subject_snoozed": "snooze_reason", "subject_archived": "archive_reason",
    "obligation_closed": "close_reason", "obligation_reopened": "reopen_reason",
    "file_dropped": "drop_reason",
}  # fmt: skip


@dataclass(frozen=True)
class Change:
    """What something said before and says now."""

    label: str
    old: str
    new: str


@dataclass(frozen=True)
class Told:
    """One line of the history. `by` is empty where Onus itself did it."""

    at: str
    by: str
    what: str
    changes: Sequence[Change]
    note: str
    claim_id: int | None
    batch_id: int | None = None


def told_history(history: History, timezone: str) -> Sequence[Told]:
    return [told(event, history.names, timezone) for event in history.events]


def told(event: Event, names: Names, timezone: str) -> Told:
    by = {SCHEDULER: "Onus", OPERATOR: "An operator, by a command"}.get(event.actor) or names.of_actor(event.actor)
    note = str(event.detail.get("note") or "")
    said = sentence(event, names), changes(event, names), note, event.claim_id
    return Told(moment(event.at, timezone), by, *said, event.detail.get("batch"))


def sentence(event: Event, names: Names) -> str:
    """What happened; an event that has no words of its own yet is at least named."""
    words = PLAIN.get(event.type) or (BUILT[event.type](event.detail, names) if event.type in BUILT else "")
    words = words or event.type.replace("_", " ").capitalize()
    if event.type in REASONS and event.detail.get("reason"):
        words += f" ({word(event.detail['reason'], REASONS[event.type])})"
    if "line" in event.detail:
        words += f", by an import (line {event.detail['line']} of the file)"
    elif "import_in_error" in event.detail:
        words += ", with a whole import that was entered in error"
    return words + in_a_batch(event.detail)


def in_a_batch(detail: Mapping[str, Any]) -> str:
    """With 39 others, in one batch: Royal Decree 1/2027. Nothing for what was done to this entry alone."""
    if "batch" not in detail:
        return ""
    others = int(detail.get("others", 0))
    among = f", with {counted(others, 'other')}, in one batch" if others else ", in a batch of its own"
    return among + (f": {detail['by_act']}" if detail.get("by_act") else "")


PLAIN: Mapping[str, str] = {
    "subject_retitled": "Changed the title",
    "subject_changed": "Changed the entry",
    "subject_assigned": "Handed it over",
    "holder_assigned": "Changed the holder",
    "subject_archived": "Archived it",
    "subject_out_of_service": "Took it out of service",
    "left_by_mistaken_import": "Left it as it is",
    "subject_moved": "Moved it to another site",
    "subject_put_into": "Said what it is part of",
    "snooze_ended": "Ended the pause of its alerts",
    "claim_refreshed": "Brought an alert that was not sent yet up to date",
    "claim_delivered": "Everybody who was to be told of the alert has been told",
    "nobody_to_tell": "Found nobody to tell of the alert",
    "somebody_to_tell": "Found somebody to tell of the alert",
}


def hour_of(detail: Mapping[str, Any]) -> str:
    return word(detail["timed_by"], "waits_for") if detail.get("timed_by") else "at once"


def on(detail: Mapping[str, Any], name: str) -> str:
    """A date of the details in words."""
    return value_of(name, detail.get(name), Names()) if detail.get(name) else "an unknown day"


def deadline(detail: Mapping[str, Any], names: Names) -> str:
    """The deadline of 3 April 2027. Its date is as it was then; where the event has none, as it is now."""
    said = detail.get("due_on") or names.of("obligation_id", detail.get("obligation_id"))
    return f"the deadline of {value_of('due_on', said, names)}" if said else "a deadline"


def alert(detail: Mapping[str, Any]) -> str:
    return (
        f"the alert {before(detail['threshold'])} for {on(detail, 'due_on')}" if "threshold" in detail else "the alert"
    )


def created(detail: Mapping[str, Any], names: Names) -> str:
    at = names.of("site_id", detail.get("site_id"))
    return f"Added it: {detail.get('title') or detail.get('reference')}" + (f", at {at}" if at else "")


def closed(detail: Mapping[str, Any], names: Names) -> str:
    met_on = f" on {on(detail, 'met_on')}" if detail.get("met_on") else ""
    if detail.get("source") == "rhythm":
        return f"Closed {deadline(detail, names)}: the entry comes in another rhythm now, and nobody had acted on it"
    return f"Closed {deadline(detail, names)}: {word(detail.get('outcome'), 'outcome')}{met_on}"


def origin(detail: Mapping[str, Any]) -> str:
    if detail.get("after_obligation_id"):
        return {NextFrom.paper: ", the last day of the new paper", NextFrom.person: ", the next one, as was said"}.get(
            detail.get("source", ""), ", the next one"
        )
    return {"series": ", the next by the calendar", "whole": ", as its whole's date says"}.get(
        detail.get("source", ""), ""
    )


def opened(detail: Mapping[str, Any], names: Names) -> str:
    return f"Opened {deadline(detail, names)}" + origin(detail)


def reopened(detail: Mapping[str, Any], names: Names) -> str:
    disproved = "; its papers prove it no more" if detail.get("disproved") else ""
    return f"Opened {deadline(detail, names)} again{disproved}"


def with_whole(detail: Mapping[str, Any]) -> str:
    return ", with its whole" if detail.get("source") == "whole" else ""


def because(detail: Mapping[str, Any]) -> str:
    return f": {OF['reason'].get(detail['reason'], detail['reason'])}" if detail.get("reason") else ""


def person(detail: Mapping[str, Any], names: Names) -> str:
    channel = f" ({word(detail['channel'], 'channel')})" if detail.get("channel") else ""
    return (names.of("recipient", detail.get("recipient")) or "somebody") + channel


def code(detail: Mapping[str, Any]) -> str:
    """The code of the mail server's answer."""
    return f" ({detail['code']})" if detail.get("code") else ""


def decided(decision: Resolution) -> Callable[[Mapping[str, Any], Names], str]:
    return lambda d, n: f"Decided about the message to {person(d, n)}: {word(decision, 'resolution')}"


def answered(detail: Mapping[str, Any], names: Names) -> str:
    until = f" until {on(detail, 'until_on')}" if detail.get("until_on") else ""
    done = f", on {on(detail, 'done_on')}" if detail.get("done_on") else ""
    whose = names.of("whose_member_id", detail.get("whose_member_id")) or names.of(
        "whose_post_id", detail.get("whose_post_id")
    )
    hers = f", it belongs to {whose}" if whose else ""
    said = f"{names.of('member', detail.get('member'))} answered: {word(detail.get('answer'), 'answer')}"
    return f"{said}{until}{done}{hers}{with_file(detail)}"


def paper_added(detail: Mapping[str, Any], _: Names) -> str:
    until = f", valid until {on(detail, 'valid_until')}" if detail.get("valid_until") else ""
    renewed = ", with which it was renewed" if detail.get("obligation_id") else ""
    return f"Added the paper {detail['number']}{until}{renewed}{with_file(detail)}"


def with_file(detail: Mapping[str, Any]) -> str:
    """With what a reader needs to tell whether a file is still the same."""
    file = detail.get("file") or {}
    return f", with the file {file['name']} (SHA-256 {file['sha256']})" if file else ""


def about_answer(did: str) -> Callable[[Mapping[str, Any], Names], str]:
    return lambda d, n: f"{did} the answer of {n.of('member', d.get('member'))}: {word(d.get('answer'), 'answer')}"


BUILT: Mapping[str, Callable[[Mapping[str, Any], Names], str]] = {
    "subject_created": created,
    "subject_snoozed": lambda d, _: f"Paused its alerts until {on(d, 'new')}",
    "subject_restored": lambda d, _: f"Put it back {'as a draft' if d.get('new') == 'draft' else 'on the watch'}",
    "subject_released": lambda d, _: f"Released the draft: {word(d.get('start'), 'start').lower()}",
    "obligation_opened": opened,
    "obligation_closed": closed,
    "obligation_reopened": reopened,
    "date_moved": lambda d, _: f"Moved the date from {on(d, 'old')} to {on(d, 'new')}{with_whole(d)}",
    "part_left_behind": lambda d, _: (
        f"Could not move the date from {on(d, 'old')} to {on(d, 'new')} with its whole, since there is a "
        "deadline on that day already. Move that one, and this one follows; or move this one yourself"
    ),
    "paper_added": paper_added,
    "paper_withdrawn": lambda d, _: f"Marked the paper {d['number']} as entered in error",
    "file_dropped": lambda d, _: f"Removed the file {d['name']} (SHA-256 {d['sha256']})",
    "recurrence_anchored": lambda d, _: f"Later dates are counted from {on(d, 'series_from')}",
    "obligation_filed": lambda d, n: f"Filed {deadline(d, n)} with the authority",
    "filing_ended": lambda d, n: f"Noted the answer of the authority to {deadline(d, n)}",
    "claimed": lambda d, _: f"Raised {alert(d)}",
    "superseded": lambda d, _: f"Did not send {alert(d)}{because(d)}",
    "withdrawn": lambda d, _: f"Stopped {alert(d)}{because(d)}",
    "reopened": lambda d, _: f"Raised {alert(d)} again",
    "delivery_due": lambda d, n: f"Is to tell {person(d, n)}",
    "delivery_timed": lambda d, n: f"Set the hour of the message to {person(d, n)}: {hour_of(d)}",
    "delivery_cancelled": lambda d, n: f"Does not tell {person(d, n)}{because(d)}",
    State.delivered: lambda d, n: f"Told {person(d, n)}",
    "handed_over": lambda d, n: f"Sent it to the mail server for {person(d, n)}",
    "delivery_put_off": lambda d, n: f"Could not tell {person(d, n)} yet: refused for now{code(d)}",
    "delivery_failed": lambda d, n: f"Could not tell {person(d, n)}: refused by the mail server{code(d)}",
    "delivery_in_doubt": lambda d, n: f"May have told {person(d, n)}: not confirmed",
    "delivery_given_back": lambda d, n: f"Could not tell {person(d, n)} yet: the mail server could not be used",
    "delivery_lost": lambda d, n: f"Could not tell {person(d, n)} yet: broken off before it was sent",
    State.bounced: lambda d, n: f"The message to {person(d, n)} came back{code(d)}",
    "late_answer": lambda d, n: f"An answer about the message to {person(d, n)} came late{code(d)}",
    "delivery_resent": lambda d, n: f"Is to tell {person(d, n)} again",
    "delivery_held": lambda d, n: f"Holds the message to {person(d, n)}: the database was restored",
    "delivery_released": lambda d, n: f"Let the message to {person(d, n)} go",
    **{f"doubt_resolved_{decision}": decided(decision) for decision in Resolution},
    "opened": lambda d, n: f"{n.of('member', d.get('member')) or 'Somebody'} opened the alert in the app",
    "acknowledged": answered,
    "answer_accepted": about_answer("Accepted"),
    "answer_sent_back": about_answer("Sent back"),
    "answer_taken_back": lambda d, n: f"{n.of('member', d.get('member'))} took back: {word(d.get('answer'), 'answer')}",
}  # fmt: skip


def changes(event: Event, names: Names) -> Sequence[Change]:
    """Old and new values, where the words do not say them already."""
    old, new = event.detail.get("old"), event.detail.get("new")
    if event.type == "subject_retitled":
        return [Change("Title", str(old), str(new))]
    if event.type == "holder_assigned":
        return [Change("Holder", value_of("holder_id", old, names), value_of("holder_id", new, names))]
    if event.type == "subject_moved":
        return [Change("Site", value_of("site_id", old, names), value_of("site_id", new, names))]
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return []
    if event.type == "subject_assigned":
        return [Change("Responsible", owner(old, names), owner(new, names))]
    differ = [name for name in new if old.get(name) != new[name]]
    return [
        Change(LABELS.get(name, name), value_of(name, old.get(name), names), value_of(name, new[name], names))
        for name in differ
    ]


def owner(detail: Mapping[str, Any], names: Names) -> str:
    found = names.of("member_id", detail.get("member_id")) or names.of("post_id", detail.get("post_id"))
    return found or "nobody"


def value_of(name: str, value: object, names: Names) -> str:
    """A value in words: dates, people, kinds, sites and codes by what the screens call them."""
    if value is None or value == "":
        return EMPTY
    if name == "recurrence":
        return every(str(value))
    if (of := {"recurrence_basis": "basis", "in_force_meanwhile": "in_force"}.get(name, name)) in OF:
        return word(value, of)
    if name.endswith("_id") and name != "part_of_id" and isinstance(value, int):
        return names.of(name, value) or str(value)
    if name == "part_of_id":
        return "an entry"
    if name == "due_from":
        return before(str(value))
    if name.endswith("_on") or name in DATES:
        return day(dt.date.fromisoformat(str(value)))
    return str(value)
