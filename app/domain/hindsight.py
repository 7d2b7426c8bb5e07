"""What an entry was on an earlier day: what has happened since is taken back, event by event, the last one first.

The trail keeps the old value of whatever changed, so that nothing else has to be kept in order to know it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

# Events whose `old` is the value of one fact.
PLAIN: Mapping[str, str] = {
    "subject_retitled": "title",
    "subject_moved": "site_id",
    "holder_assigned": "holder_id",
    "subject_snoozed": "snoozed_until",
    "snooze_ended": "snoozed_until",
    "subject_archived": "status",
    "subject_out_of_service": "status",
    "subject_restored": "status",
    "subject_released": "status",
}
SEVERAL = frozenset({"subject_changed", "subject_put_into"})  # Whose `old` names the facts itself.
RESPONSIBLE: Mapping[str, str] = {"member_id": "owner_member_id", "post_id": "owner_post_id"}
KIND: Mapping[str, str] = {"kind": "kind_id"}  # An import has the kind by its name.
FILED = frozenset({"obligation_filed", "filing_ended"})
OF_DATES = frozenset({"obligation_opened", "date_moved", "obligation_closed", "obligation_reopened"}) | FILED
FILING = ("filed_on", "filed_reference", "in_force_meanwhile", "ask_again_on", "filing_ended_on", "filing_result")
CREATED, ASSIGNED = "subject_created", "subject_assigned"
TYPES = frozenset({*PLAIN, *SEVERAL, *OF_DATES, CREATED, ASSIGNED})


@dataclass(frozen=True)
class Deadline:
    """One due date of an entry; without an outcome it is open. `filing` is what is said of it with the authority."""

    due_on: dt.date
    outcome: str | None = None
    met_on: dt.date | None = None
    filing: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass
class Entry:
    """An entry by the names of its columns, and its deadlines by their ids."""

    facts: dict[str, Any]
    deadlines: dict[int, Deadline] = field(default_factory=dict)
    exists: bool = True


def take_back(entry: Entry, events: Iterable[tuple[str, Mapping[str, Any]]]) -> Entry:
    """The entry as it was before these events, which come the last one first, each as its type and its detail."""
    facts, deadlines, exists = dict(entry.facts), dict(entry.deadlines), entry.exists
    for type, detail in events:
        if type == CREATED:
            exists = False
        elif type in OF_DATES:
            _take_back_date(deadlines, type, detail)
        else:
            facts |= _old_facts(type, detail)
    return Entry(facts, deadlines, exists)


def _old_facts(type: str, detail: Mapping[str, Any]) -> dict[str, Any]:
    old = detail.get("old")
    if type in PLAIN:
        return {PLAIN[type]: old}
    if type == ASSIGNED and isinstance(old, Mapping):
        return {RESPONSIBLE[name]: value for name, value in old.items() if name in RESPONSIBLE}
    if type not in SEVERAL or not isinstance(old, Mapping):
        return {}
    return {KIND.get(name, name): value for name, value in old.items()}


def _take_back_date(deadlines: dict[int, Deadline], type: str, detail: Mapping[str, Any]) -> None:
    key = int(detail["obligation_id"])
    if type == "obligation_opened":
        deadlines.pop(key, None)
    elif key in deadlines and type == "date_moved":
        deadlines[key] = replace(deadlines[key], due_on=_day(detail["old"]))
    elif key in deadlines and type == "obligation_closed":
        deadlines[key] = replace(deadlines[key], outcome=None, met_on=None)
    elif key in deadlines and type in FILED:
        deadlines[key] = replace(deadlines[key], filing=_filing(detail["old"]))
    elif key in deadlines:
        old = detail["old"]
        deadlines[key] = replace(deadlines[key], outcome=old["outcome"], met_on=_day(old.get("met_on")))


def _filing(old: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _day(value) if name.endswith("_on") else value for name, value in old.items()}


def _day(text: str | None) -> Any:
    return dt.date.fromisoformat(text) if text else None
