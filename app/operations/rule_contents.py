"""What a rule says: its words as a rules file has them, and their meaning as ids of the organisation.

Resolves the words, loads and stores the meanings. Must not decide what becomes of a rule; that is `rules.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import delete, insert, select

from app.domain import recipients, thresholds
from app.domain.acts import OnlyIf
from app.domain.delivery import Channel
from app.domain.errors import Refused, quoted
from app.domain.folding import clean_text, fold_reference
from app.models import (
    AlertRule,
    Kind,
    Member,
    Post,
    RuleKind,
    RuleRecipient,
    RuleSite,
    RuleSubject,
    RuleThreshold,
    Site,
    Subject,
)
from app.operations import typed
from app.operations.absences import days_of_today
from app.operations.kinds import clean_name, find_or_make, key_of
from app.operations.presence import check_here
from app.trail.act import Act

STARTS = ("now", "next")


class RefusedRule(Refused):
    """A refusal that knows the part of the rule at fault (empty: the whole), and the bare reason, for a form."""

    def __init__(self, rule: str, reason: str, part: str = "", bare: str | None = None) -> None:
        super().__init__(f"Rule {quoted(rule)}: {reason}")
        self.part = part
        self.reason = bare or reason


# Where each part of a meaning is kept: the table of its rows, and the column that holds it.
PARTS: tuple[tuple[str, Any, str], ...] = (
    ("thresholds", RuleThreshold, "threshold"),
    ("recipients", RuleRecipient, "recipient"),
    ("kinds", RuleKind, "kind_id"),
    ("sites", RuleSite, "site_id"),
    ("subjects", RuleSubject, "subject_id"),
)


@dataclass(frozen=True)
class RuleText:
    """A rule in words, as it stands in a rules file. Empty kinds, sites or subjects mean all of them."""

    name: str
    kinds: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    thresholds: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    to: tuple[str, ...] = ()
    only_if: str = OnlyIf.always
    start: str = "now"
    fallback: str | None = None
    was: str | None = None


@dataclass(frozen=True)
class Content:
    """What a rule means, in ids and canonical texts. Two rules of one content do the same."""

    thresholds: frozenset[str]
    channels: frozenset[str]
    recipients: frozenset[str]
    kinds: frozenset[int]
    sites: frozenset[int]
    subjects: frozenset[int]
    only_if: str
    fallback: str | None


class Words:
    """The names that rules may use in this organisation, and what they stand for."""

    def __init__(self, act: Act) -> None:
        self.act = act
        sites = act.session.execute(select(Site.name, Site.id).where(Site.org_id == act.org))
        posts = act.session.scalars(select(Post.name).where(Post.org_id == act.org))
        people = select(Member.email, Member.id).where(Member.org_id == act.org, Member.email.is_not(None))
        self.sites = {key_of(name): site_id for name, site_id in sites}
        self.posts = {key_of(name): name for name in posts}
        self.members = {str(email).lower(): member_id for email, member_id in act.session.execute(people)}

    def recipient(self, text: str) -> str:
        """The canonical text of a recipient that exists. Raises Refused."""
        found = recipients.parse(text)
        if found.route == recipients.MEMBER and str(found.name) not in self.members:
            raise Refused(f"there is no member {quoted(found.name)}: add the person with `onus member add`.")
        if found.route == recipients.POST:
            post = self.posts.get(key_of(str(found.name)))
            if post is None:
                raise Refused(f"there is no post {quoted(found.name)}: add it with `onus post add`.")
            return f"{recipients.POST}:{post}"
        return found.text

    def site(self, name: str) -> int:
        if key_of(name) not in self.sites:
            raise Refused(f"there is no site {quoted(name)}: add it with `onus site add`.")
        return self.sites[key_of(name)]

    def references(self, text: str, sites: Collection[int], present: Collection[int]) -> frozenset[int]:
        """The entries of this reference: at all the sites that are named; the only one, if none are.

        Where it is ambiguous, those that the rule has already; a file that was exported then changes nothing.
        """
        key = fold_reference(clean_text(text, "A reference", typed.LONGEST_REFERENCE))
        asked = select(Subject.id).where(Subject.org_id == self.act.org, Subject.reference_key == key)
        if sites:
            asked = asked.where(Subject.site_id.in_(sites))
        found = frozenset(self.act.session.scalars(asked))
        if not found:
            where = " at the sites of this rule" if sites else ""
            raise Refused(f"there is no entry {quoted(text)}{where}: correct the reference.")
        if len(found) > 1 and not sites:
            found = found & frozenset(present)
            if not found:
                raise Refused(f"the reference {quoted(text)} exists at several sites: name the sites of this rule.")
        return found

    def check_here(self, rule: str, old: Content | None, new: Content) -> None:
        """Raise RefusedRule if it newly names a person who is gone at one of the sites. Whom it named already stays."""
        named = {"to": new.recipients - (old.recipients if old else frozenset())}
        fallback = new.fallback if old is None or new.fallback != old.fallback else None
        named["fallback"] = frozenset({fallback} if fallback else ())
        day = days_of_today(self.act)[1]
        for part, texts in named.items():
            for text in sorted(texts):
                route, _, name = text.partition(":")
                if route != recipients.MEMBER:
                    continue
                try:
                    check_here(self.act.session.get_one(Member, (self.act.org, self.members[name.lower()])), day)
                except Refused as refused:
                    raise RefusedRule(rule, str(refused), part) from None

    def in_trail(self, recipient: str) -> str:
        """A recipient as the trail keeps it: people by id (P7)."""
        route, _, name = recipient.partition(":")
        return f"{route}:{self.members.get(name.lower(), 'unknown')}" if route == recipients.MEMBER else recipient


def clean_rule_name(name: str) -> str:
    cleaned = clean_name(name, "The name of a rule")
    if not cleaned:
        raise Refused("A rule has no name: give it one.")
    return cleaned


def resolve(words: Words, rule: RuleText, present: Collection[int]) -> tuple[Content, list[str]]:
    """The meaning of a rule, and the kinds that were made for it. `present` are the entries that it has already.

    Raises Refused, which names the rule and the word at fault.
    """
    part = ""
    try:
        check_choices(rule)
        kinds = find_or_make(words.act, (cleaned(kind, "a kind") for kind in rule.kinds))
        sites = frozenset(words.site(site) for site in rule.sites)
        part = "subjects"
        subjects = frozenset(one for text in rule.subjects for one in words.references(text, sites, present))
        part = ""
        content = Content(
            thresholds=distinct_thresholds(rule.thresholds),
            channels=frozenset(channel_of(channel) for channel in rule.channels),
            recipients=frozenset(words.recipient(to) for to in rule.to),
            kinds=frozenset(kinds.ids[key_of(kind)] for kind in rule.kinds),
            sites=sites,
            subjects=subjects,
            only_if=rule.only_if,
            fallback=None if rule.fallback is None else words.recipient(rule.fallback),
        )
    except Refused as refused:
        raise RefusedRule(rule.name, str(refused), part) from None
    return content, kinds.made


def cleaned(name: str, what: str) -> str:
    if not key_of(name):
        raise Refused(f"the name of {what} is empty: write it, or leave it out.")
    return name


def check_choices(rule: RuleText) -> None:
    """Raise Refused unless the rule has at least one of each that it needs, and known words for its choices."""
    for word, given in (("thresholds", rule.thresholds), ("channels", rule.channels), ("to", rule.to)):
        if not given:
            raise Refused(f"{word} is empty: name at least one.")
    if rule.only_if not in set(OnlyIf):
        raise Refused(f"only_if is {quoted(rule.only_if)}: write one of {', '.join(OnlyIf)}.")
    if rule.start not in STARTS:
        raise Refused(f"start is {quoted(rule.start)}: write one of {', '.join(STARTS)}.")


def channel_of(text: str) -> str:
    if text not in set(Channel):
        raise Refused(f"{quoted(text)} is not a channel: write one of {', '.join(Channel)}.")
    return Channel(text).value


def distinct_thresholds(texts: Sequence[str]) -> frozenset[str]:
    """The canonical thresholds. Raises Refused for one that is none, and for one that is named twice."""
    seen: set[str] = set()
    for text in texts:
        threshold = thresholds.parse(text).text
        if threshold in seen:
            raise Refused(f"the threshold {quoted(threshold)} is named twice: remove one.")
        seen.add(threshold)
    return frozenset(seen)


def load(act: Act, rules: Iterable[AlertRule]) -> dict[int, Content]:
    """The meanings of these rules by their ids."""
    by_id = {rule.id: rule for rule in rules}
    held: dict[tuple[str, int], set[Any]] = defaultdict(set)
    for part, table, column in PARTS:
        rows = select(table.rule_id, getattr(table, column)).where(table.org_id == act.org, table.rule_id.in_(by_id))
        for rule_id, value in act.session.execute(rows):
            held[part, rule_id].add(value)
    return {
        rule.id: Content(
            channels=frozenset(rule.channels),
            only_if=rule.only_if,
            fallback=rule.fallback,
            **{part: frozenset(held[part, rule.id]) for part, _, _ in PARTS},
        )
        for rule in by_id.values()
    }


def store(act: Act, rule: AlertRule, old: Content | None, new: Content) -> None:
    """Keep the new meaning: only rows that differ are written."""
    rule.channels = sorted(new.channels)
    rule.only_if = new.only_if
    rule.fallback = new.fallback
    act.session.flush()
    for part, table, column in PARTS:
        before = getattr(old, part) if old is not None else frozenset()
        after = getattr(new, part)
        if before - after:
            gone = getattr(table, column).in_(before - after)
            act.session.execute(delete(table).where(table.org_id == act.org, table.rule_id == rule.id, gone))
        if after - before:
            rows = [{"org_id": act.org, "rule_id": rule.id, column: value} for value in sorted(after - before)]
            act.session.execute(insert(table), rows)


def names_of(act: Act, table: type[Kind] | type[Site]) -> dict[int, str]:
    return dict(act.session.execute(select(table.id, table.name).where(table.org_id == act.org)).all())


def references_of(act: Act, subject_ids: Collection[int]) -> dict[int, str]:
    asked = select(Subject.id, Subject.reference).where(Subject.org_id == act.org, Subject.id.in_(subject_ids))
    return dict(act.session.execute(asked).all())


def trail_values(words: Words, content: Content, parts: Iterable[str]) -> dict[str, Any]:
    """These parts of a meaning as the trail keeps them: kinds and sites by name, entries and people by id."""
    kinds, sites = names_of(words.act, Kind), names_of(words.act, Site)
    worded: dict[str, Callable[[Content], Any]] = {
        "thresholds": lambda one: thresholds.in_order(one.thresholds),
        "channels": lambda one: sorted(one.channels),
        "recipients": lambda one: sorted(words.in_trail(recipient) for recipient in one.recipients),
        "kinds": lambda one: sorted(kinds[kind] for kind in one.kinds),
        "sites": lambda one: sorted(sites[site] for site in one.sites),
        "subjects": lambda one: sorted(one.subjects),
        "only_if": lambda one: one.only_if,
        "fallback": lambda one: one.fallback and words.in_trail(one.fallback),
    }
    return {part: worded[part](content) for part in parts}


def differing(old: Content, new: Content) -> list[str]:
    """The names of the parts in which two meanings differ."""
    return [part.name for part in fields(Content) if getattr(old, part.name) != getattr(new, part.name)]
