"""The form of a rule: from what was typed to a rule in words, and from a rule back to the fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flask import abort

from app.domain import thresholds
from app.domain.acts import OnlyIf, Role
from app.domain.delivery import Channel
from app.domain.errors import Refused, quoted
from app.domain.folding import fold_address
from app.domain.recipients import HOLDER, MEMBER, OWNER, POST, ROLE
from app.operations.rules import RuleText
from app.queries import rules as rule_queries
from app.queries import settings as setting_queries
from app.queries.rules import RuleLine
from app.vocabulary import OF
from app.web.access import Visit
from app.web.rule_sentence import ROLES
from app.web.typed_form import Form, sent
from app.wording import gettext, later
from app.words import before

USUAL = ("90d", "60d", "30d", "14d", "7d", "1d", "0d", "+1d", "+7d")
TEXTS = ("name", "notices", "entries", "others", "only_if", "fallback", "start", "version")
LISTS = ("kinds", "sites", "usual", "channels", "to")
EVERY_WAY = [channel.value for channel in Channel]
NEW = {"only_if": OnlyIf.always.value, "start": "now", "channels": EVERY_WAY, "to": [OWNER]}
STARTS = (
    ("now", later("Now: what is already within its notice is told at once")),
    ("next", later("Next: only from the next notice on")),
)
ONLY_IF = ((OnlyIf.always, later("Always")), (OnlyIf.nobody_on_it, later("Only if nobody acts")))
# What is said of a field that a rule needs, while it is empty.
MISSING = {
    "name": later("Give the rule a name."),
    "notices": later("Say when to tell: choose at least one, or write one."),
    "channels": later("Choose at least one way."),
    "to": later("Choose at least one, or write an address below."),
}


@dataclass(frozen=True)
class Choices:
    """What the form offers, as pairs of value and label."""

    kinds: Mapping[int, str]
    sites: Mapping[int, str]
    recipients: list[tuple[str, str]]
    fallbacks: list[tuple[str, str]]

    @property
    def usual(self) -> list[tuple[str, str]]:
        return [(notice, before(notice).capitalize()) for notice in USUAL]

    @property
    def channels(self) -> list[tuple[str, str]]:
        return [(channel, words[:1].upper() + words[1:]) for channel, words in OF["channel"].items()]

    @property
    def only_if(self) -> list[tuple[str, str]]:
        return [(value, gettext(words)) for value, words in ONLY_IF]

    @property
    def starts(self) -> list[tuple[str, str]]:
        return [(value, gettext(words)) for value, words in STARTS]


def choices(visit: Visit, rule: RuleLine | None = None) -> Choices:
    session, org = visit.act.session, visit.act.org
    audience = rule_queries.audience(session, org)
    people = dict(audience.people) | dict(rule.people if rule else {})
    recipients = [
        (OWNER, gettext("The responsible")),
        (HOLDER, gettext("The holder")),
        *((f"{POST}:{name}", gettext("The %(post)s", post=name)) for name in audience.posts),
        *((f"{ROLE}:{role}", gettext(ROLES[role]).capitalize()) for role in Role),
        *((f"{MEMBER}:{address}", f"{name}, {address}") for address, name in people.items()),
    ]
    known = {value for value, _ in recipients}
    fallback = [(rule.fallback, rule.fallback)] if rule and rule.fallback and rule.fallback not in known else []
    return Choices(
        kinds=setting_queries.kind_names(session, org),
        sites=setting_queries.site_names(session, org, rule.sites if rule else ()),
        recipients=recipients,
        fallbacks=recipients + fallback,
    )


def blank() -> Form:
    return Form(dict.fromkeys(TEXTS, "") | {name: [] for name in LISTS} | NEW)


def filled(rule: RuleLine) -> Form:
    """The fields of a rule as it stands."""
    return Form(
        {
            "name": rule.name,
            "notices": ", ".join(notice for notice in rule.notices if notice not in USUAL),
            "usual": [notice for notice in rule.notices if notice in USUAL],
            "entries": "\n".join(sorted(set(rule.entries.values()))),
            "others": "",
            "only_if": rule.only_if,
            "fallback": rule.fallback or "",
            "start": "now",
            "version": str(rule.version),
            "kinds": [str(kind) for kind in rule.kinds],
            "sites": [str(site) for site in rule.sites],
            "channels": list(rule.channels),
            "to": list(rule.recipients),
        }
    )


def typed(visit: Visit, offered: Choices) -> tuple[Form, RuleText]:
    """What was sent, and the rule that it says. What is not offered was not on the page: 404."""
    form = sent(*TEXTS, lists=LISTS)
    kinds, sites = named(form.values["kinds"], offered.kinds), named(form.values["sites"], offered.sites)
    if not {*form.values["to"], form.values["fallback"]} <= {"", *(value for value, _ in offered.fallbacks)}:
        abort(404)
    text = RuleText(
        name=form.values["name"],
        kinds=kinds,
        sites=sites,
        subjects=lines(form.values["entries"]),
        thresholds=tuple(notices(form)),
        channels=tuple(form.values["channels"]),
        to=tuple(dict.fromkeys([*form.values["to"], *(f"{MEMBER}:{one}" for one in others(visit, form))])),
        only_if=form.values["only_if"] or OnlyIf.always,
        start=form.values["start"] or "now",
        fallback=form.values["fallback"] or None,
    )
    given = {
        "name": text.name.strip(),
        "notices": text.thresholds,
        "channels": text.channels,
        "to": text.to or form.values["others"].strip(),
    }
    for field, words in MISSING.items():
        if not given[field] and field not in form.faults:
            form.faults[field] = gettext(words)
    return form, text


def named(ids: list[str], offered: Mapping[int, str]) -> tuple[str, ...]:
    if not all(one.isdecimal() and int(one) in offered for one in ids):
        abort(404)
    return tuple(offered[int(one)] for one in ids)


def notices(form: Form) -> list[str]:
    """Those that are ticked and those that are written, in any order and once each, earliest first."""
    written = [text.lower() for text in re.split(r"[\s,;]+", form.values["notices"]) if text]
    wrong = [text for text in written if form_of(thresholds.parse, text) is None]
    if wrong:
        form.faults["notices"] = gettext(
            "%(texts)s cannot be read: write 90d, 6w, 3m, 10bd or 0d for before and on the day, +7d, +2w, +1m or +5bd "
            "for after it, and nothing longer than ten years.",
            texts=", ".join(quoted(text) for text in wrong),
        )
    ticked = [text for text in form.values["usual"] if text in USUAL]
    return thresholds.in_order({*ticked, *(text for text in written if text not in wrong)})


def others(visit: Visit, form: Form) -> list[str]:
    """The members whose addresses were written, one a line."""
    addresses: dict[str, str | None] = {text: form_of(fold_address, text) for text in lines(form.values["others"])}
    known = rule_queries.names_of(visit.act.session, visit.act.org, [one for one in addresses.values() if one])
    wrong = [text for text, address in addresses.items() if address not in known]
    if wrong:
        written = ", ".join(quoted(text) for text in wrong)
        form.faults["others"] = gettext("No member has the address %(texts)s: correct it.", texts=written)
    return [address for address in addresses.values() if address is not None and address in known]


def form_of(read: Callable[[str], Any], text: str) -> Any:
    """What the text means, or None where it means nothing."""
    try:
        return read(text)
    except Refused:
        return None


def lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())
