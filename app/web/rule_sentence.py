"""A rule as one sentence, the way a person would say it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from app.domain.acts import OnlyIf, Role
from app.domain.recipients import HOLDER, MEMBER, OWNER, ROLE
from app.domain.thresholds import Threshold, parse
from app.queries.rules import RuleLine
from app.vocabulary import OF
from app.words import UNITS

ROLES: Mapping[str, str] = {
    Role.admin: "all administrators",
    Role.officer: "all compliance managers",
    Role.staff: "all team members",
    Role.inspector: "all inspectors",
}
NAMED_AT_MOST = 6  # Names of a sort in one sentence; the page of the rule has them all.


def sentence(rule: RuleLine) -> str:
    """Permits at all sites: 90, 30, 7 days before, on the day; e-mail and in the app; to the responsible."""
    ways = listed(OF["channel"][channel] for channel in rule.channels)
    return f"{about(rule)}: {notices_in_words(rule.notices)}; {ways}; {to_whom(rule)}"


def about(rule: RuleLine) -> str:
    kinds = listed(shortened(rule.kinds.values())) or "Everything"
    sites = listed(shortened(rule.sites.values())) or "all sites"
    only = f", only {listed(shortened(rule.entries.values()))}" if rule.entries else ""
    return f"{kinds[:1].upper()}{kinds[1:]} at {sites}{only}"


def to_whom(rule: RuleLine) -> str:
    told = listed(recipient_in_words(text, rule.people) for text in rule.recipients)
    return f"if nobody acts, to {told}" if rule.only_if == OnlyIf.nobody_on_it else f"to {told}"


def recipient_in_words(text: str, people: Mapping[str, str]) -> str:
    """Whom a recipient means; `people` has the names of members by address."""
    route, _, name = text.partition(":")
    if route == ROLE:
        return ROLES[name]
    if route == MEMBER:
        return people.get(name.lower(), name)
    return {OWNER: "the responsible", HOLDER: "the holder"}.get(route, f"the {name}")


def notices_in_words(notices: Sequence[str]) -> str:
    """90, 30, 7 days before, on the day, 7 days after: those of one unit and side share its words."""
    runs = groupby((parse(notice) for notice in notices), key=lambda one: (one.unit, one.after, one.count == 0))
    return ", ".join(run_in_words(list(run)) for _, run in runs)


def run_in_words(run: Sequence[Threshold]) -> str:
    first = run[0]
    if first.count == 0:
        return "on the day"
    counts = ", ".join(str(one.count) for one in run)
    plural = "" if len(run) == 1 and first.count == 1 else "s"
    return f"{counts} {UNITS[first.unit]}{plural} {'after' if first.after else 'before'}"


def shortened(names: Iterable[str]) -> list[str]:
    every = list(names)
    rest = len(every) - NAMED_AT_MOST
    return every if rest <= 0 else [*every[:NAMED_AT_MOST], f"{rest} more"]


def listed(words: Iterable[str]) -> str:
    """a, b and c."""
    every = list(words)
    return " and ".join(filter(None, (", ".join(every[:-1]), *every[-1:])))
