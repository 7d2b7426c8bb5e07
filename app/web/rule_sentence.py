"""A rule as one sentence, the way a person would say it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from app.domain.acts import OnlyIf, Role
from app.domain.recipients import HOLDER, MEMBER, OWNER, ROLE
from app.domain.thresholds import Threshold, parse
from app.queries.rules import RuleLine
from app.vocabulary import OF
from app.wording import gettext, later, listed, ngettext, plural

ROLES: Mapping[str, str] = {
    Role.admin: later("all administrators"),
    Role.officer: later("all compliance managers"),
    Role.staff: later("all team members"),
    Role.inspector: later("all inspectors"),
}
# Distances of one unit and side, which share its words: 90, 30, 7 days before.
BEFORE: Mapping[str, tuple[str, str]] = {
    "d": plural("%(counts)s day before", "%(counts)s days before"),
    "w": plural("%(counts)s week before", "%(counts)s weeks before"),
    "m": plural("%(counts)s month before", "%(counts)s months before"),
    "bd": plural("%(counts)s business day before", "%(counts)s business days before"),
}
AFTER: Mapping[str, tuple[str, str]] = {
    "d": plural("%(counts)s day after", "%(counts)s days after"),
    "w": plural("%(counts)s week after", "%(counts)s weeks after"),
    "m": plural("%(counts)s month after", "%(counts)s months after"),
    "bd": plural("%(counts)s business day after", "%(counts)s business days after"),
}
NAMED_AT_MOST = 6  # Names of a sort in one sentence; the page of the rule has them all.


def sentence(rule: RuleLine) -> str:
    """Permits at all sites: 90, 30, 7 days before, on the day; e-mail and in the app; to the responsible."""
    return gettext(
        "%(about)s: %(notices)s; %(ways)s; %(told)s",
        about=about(rule),
        notices=notices_in_words(rule.notices),
        ways=listed([OF["channel"][channel] for channel in rule.channels]),
        told=to_whom(rule),
    )


def about(rule: RuleLine) -> str:
    kinds = listed(shortened(rule.kinds.values())) or gettext("Everything")
    sites = listed(shortened(rule.sites.values())) or gettext("all sites")
    capital = kinds[:1].upper() + kinds[1:]
    if not rule.entries:
        return gettext("%(kinds)s at %(sites)s", kinds=capital, sites=sites)
    entries = listed(shortened(rule.entries.values()))
    return gettext("%(kinds)s at %(sites)s, only %(entries)s", kinds=capital, sites=sites, entries=entries)


def to_whom(rule: RuleLine) -> str:
    told = listed([recipient_in_words(text, rule.people) for text in rule.recipients])
    if rule.only_if == OnlyIf.nobody_on_it:
        return gettext("if nobody acts, to %(told)s", told=told)
    return gettext("to %(told)s", told=told)


def recipient_in_words(text: str, people: Mapping[str, str]) -> str:
    """Whom a recipient means; `people` has the names of members by address."""
    route, _, name = text.partition(":")
    if route == ROLE:
        return gettext(ROLES[name])
    if route == MEMBER:
        return people.get(name.lower(), name)
    if route == OWNER:
        return gettext("the responsible")
    return gettext("the holder") if route == HOLDER else gettext("the %(post)s", post=name)


def notices_in_words(notices: Sequence[str]) -> str:
    """90, 30, 7 days before, on the day, 7 days after: those of one unit and side share its words."""
    runs = groupby((parse(notice) for notice in notices), key=lambda one: (one.unit, one.after, one.count == 0))
    return ", ".join(run_in_words(list(run)) for _, run in runs)


def run_in_words(run: Sequence[Threshold]) -> str:
    first = run[0]
    if first.count == 0:
        return gettext("on the day")
    sentences = AFTER if first.after else BEFORE
    many = first.count if len(run) == 1 else len(run)
    return ngettext(*sentences[first.unit], many, counts=", ".join(str(one.count) for one in run))


def shortened(names: Iterable[str]) -> list[str]:
    every = list(names)
    rest = len(every) - NAMED_AT_MOST
    return every if rest <= 0 else [*every[:NAMED_AT_MOST], ngettext("%(number)d more", "%(number)d more", rest)]
