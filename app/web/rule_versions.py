"""The versions of a rule in words: who changed what, and what each part said before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.queries.rule_versions import RuleEvent, Versions
from app.web.rule_sentence import notices_in_words, recipient_in_words
from app.wording import gettext, later, listed
from app.words import moment, word

PARTS: Mapping[str, str] = {
    "kinds": later("Kinds"),
    "sites": later("Sites"),
    "subjects": later("Single entries"),
    "thresholds": later("When"),
    "channels": later("How"),
    "recipients": later("Who is told"),
    "only_if": later("Under which condition"),
    "fallback": later("If a message comes back"),
}


@dataclass(frozen=True)
class Version:
    """One line: when, who (empty: an operator), what was done, which version it made, and what differs."""

    at: str
    by: str
    done: str
    number: int | None
    changes: Sequence[tuple[str, str, str]]


def versions_in_words(found: Versions, timezone: str) -> Sequence[Version]:
    return [
        Version(
            at=moment(one.at, timezone),
            by=found.by(one),
            done=word(one.type, "rule_event"),
            number=one.version,
            changes=list(changes(one, found)),
        )
        for one in found.events
    ]


def changes(event: RuleEvent, found: Versions) -> Sequence[tuple[str, str, str]]:
    """Part, before, after. A new rule says nothing of before."""
    if event.type == "rule_renamed":
        return [(gettext("Name"), str(event.old), str(event.new))]
    if event.type != "rule_changed":
        return []
    says = words_of(found)
    return [(gettext(PARTS[part]), says[part](event.old[part]), says[part](event.new[part])) for part in event.new]


def words_of(found: Versions) -> Mapping[str, Callable[[Any], str]]:
    def people(recipients: Sequence[str]) -> str:
        return listed([recipient_in_words(one, found.people) for one in recipients])

    return {
        "kinds": lambda kinds: listed(kinds) or gettext("all"),
        "sites": lambda sites: listed(sites) or gettext("all"),
        "subjects": lambda ids: listed([found.references.get(one, str(one)) for one in ids]) or gettext("all"),
        "thresholds": notices_in_words,
        "channels": lambda channels: listed([word(one, "channel") for one in channels]),
        "recipients": people,
        "only_if": lambda condition: word(condition, "only_if"),
        "fallback": lambda one: people([one]) if one else gettext("nobody else"),
    }
