"""Rules in words: a file of them is applied, exported, and single ones are switched on and off.

A rule's name is its identity. Applying the same words twice changes nothing; rules that are not named stay as they are.
Every change leaves its trail and a row for the next scan (law 7).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import select

from app.domain import thresholds
from app.domain.errors import Refused, quoted
from app.ledger import queue, start
from app.ledger.coming import open_coming
from app.models import AlertRule, Kind, Site
from app.operations.rule_contents import (
    Content,
    RefusedRule,
    RuleText,
    Words,
    clean_rule_name,
    differing,
    load,
    names_of,
    references_of,
    resolve,
    store,
    trail_values,
)
from app.trail.act import Act

__all__ = ["AppliedRules", "RefusedRule", "RuleText", "apply", "export", "save", "switch"]

# Two appliers of one organisation take turns, so that the second sees what the first has made.
TAKE_TURNS = "select pg_advisory_xact_lock(hashtextextended('onus rules', :org))"


@dataclass(frozen=True)
class AppliedRules:
    """What became of the rules of a file, by name, and the kinds that were made for them."""

    created: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    renamed: list[str] = field(default_factory=list)
    kinds_made: list[str] = field(default_factory=list)


def apply(act: Act, rules: Sequence[RuleText]) -> AppliedRules:
    """Make the rules of the organisation say what these words say: all of them, or Refused and nothing.

    1. Names are cleaned and each stands for one rule only.
    2. What was called otherwise gets its new name, so that all later steps go by name.
    3. Rules that exist are changed where they differ; what is off stays off.
    4. New ones are made, after the changes, so that a new rule is compared with rules as they are to be.
    """
    act.run(TAKE_TURNS)
    texts = [replace(one, name=clean_rule_name(one.name), was=one.was and clean_rule_name(one.was)) for one in rules]
    refuse_repeats(texts)
    applied = AppliedRules()
    kept = kept_rules(act)
    rename(act, texts, kept, applied)
    words = Words(act)
    contents = load(act, kept.values())
    for text in texts:
        if text.name in kept:
            change(words, kept[text.name], contents, text, applied)
    for text in texts:
        if text.name not in kept:
            create(words, kept, contents, text, applied)
    return applied


def save(act: Act, text: RuleText, rule_id: int | None = None, version: int | None = None) -> int:
    """Make one rule say this: a new one, or this one, whatever it was called. Returns its id; else Refused.

    `version` is the one that the person has seen: what somebody else wrote meanwhile is not replaced unseen.
    """
    act.run(TAKE_TURNS)
    name, kept = clean_rule_name(text.name), kept_rules(act)
    present = next((rule for rule in kept.values() if rule.id == rule_id), None)
    if rule_id is not None and present is None:
        raise Refused("This rule is not there any more: make a new one.")
    if present is not None and version not in (None, present.version):
        meanwhile = "somebody has changed this rule since you opened it: compare, then save again to replace that."
        raise RefusedRule(name, meanwhile, "version")
    if name in kept and kept[name] is not present:
        taken = f"there is a rule {quoted(name)} already: choose another name."
        raise RefusedRule(name, taken, "name")
    apply(act, [replace(text, name=name, was=present.name if present else None)])
    return kept_rules(act)[name].id


def export(act: Act) -> list[RuleText]:
    """All rules that are not archived, those that are off included, by name: `apply` leaves them unchanged."""
    kept = kept_rules(act)
    contents = load(act, kept.values())
    kinds, sites = names_of(act, Kind), names_of(act, Site)
    references = references_of(act, {subject for content in contents.values() for subject in content.subjects})
    return [
        RuleText(
            name=name,
            kinds=tuple(sorted(kinds[kind] for kind in content.kinds)),
            sites=tuple(sorted(sites[site] for site in content.sites)),
            subjects=tuple(sorted({references[subject] for subject in content.subjects})),
            thresholds=tuple(thresholds.in_order(content.thresholds)),
            channels=tuple(sorted(content.channels)),
            to=tuple(sorted(content.recipients)),
            only_if=content.only_if,
            fallback=content.fallback,
        )
        for name, content in ((name, contents[kept[name].id]) for name in sorted(kept))
    ]


def switch(act: Act, name: str, on: bool) -> bool:
    """Switch a rule on or off; whether that changed anything. Raises Refused if there is no such rule."""
    act.run(TAKE_TURNS)
    rule = kept_rules(act).get(clean_rule_name(name))
    if rule is None:
        raise Refused(f"There is no rule {quoted(name)}: `onus rules export` names all rules.")
    if rule.is_active == on:
        return False
    rule.is_active = on
    act.record("rule_switched_on" if on else "rule_switched_off", rule_id=rule.id, name=rule.name)
    queue.changed(act, rule_id=rule.id)
    open_coming(act)
    return True


def refuse_repeats(texts: Iterable[RuleText]) -> None:
    for word, names in (("name", [text.name for text in texts]), ("was", [text.was for text in texts if text.was])):
        for name, times in Counter(names).items():
            if times > 1:
                raise Refused(f"Rule {quoted(name)}: {times} rules have this {word}: each needs its own.")


def kept_rules(act: Act) -> dict[str, AlertRule]:
    """The rules that are not archived, by name, as the database has them now."""
    asked = select(AlertRule).where(AlertRule.org_id == act.org, AlertRule.archived_at.is_(None))
    return {rule.name: rule for rule in act.session.scalars(asked.execution_options(populate_existing=True))}


def rename(act: Act, texts: Sequence[RuleText], kept: dict[str, AlertRule], applied: AppliedRules) -> None:
    """Give rules their new names, in an order in which each new name is free. Done already: nothing happens.

    Raises Refused where both names exist and the file speaks of one only: which of the two is meant?
    """
    waiting = [text for text in texts if text.was and text.was != text.name]
    while ready := [text for text in waiting if text.was in kept and text.name not in kept]:
        text = ready[0]
        rule = kept.pop(str(text.was))
        rule.name = text.name
        act.session.flush()
        kept[text.name] = rule
        act.record("rule_renamed", rule_id=rule.id, old=text.was, new=text.name)
        applied.renamed.append(text.name)
        waiting.remove(text)
    named = {text.name for text in texts}
    for text in waiting:
        if text.was in kept and text.was not in named:
            both = f"a rule of this name and the rule {quoted(text.was)} both exist"
            raise Refused(f"Rule {quoted(text.name)}: {both}: remove `was`, or rename one of them first.")


def change(words: Words, rule: AlertRule, contents: dict[int, Content], text: RuleText, applied: AppliedRules) -> None:
    """Make a rule that exists mean what the text says; with start "next", nothing that it newly reaches is told."""
    act, old = words.act, contents[rule.id]
    new, made = resolve(words, text, old.subjects)
    words.check_here(text.name, old, new)
    applied.kinds_made.extend(made)
    parts = differing(old, new)
    if not parts:
        if rule.name not in applied.renamed:
            applied.unchanged.append(rule.name)
        return
    before = seen_before(act, rule.id) if text.start == "next" else None
    store(act, rule, old, new)
    rule.version += 1
    act.record(
        "rule_changed",
        rule_id=rule.id,
        name=rule.name,
        version=rule.version,
        old=trail_values(words, old, parts),
        new=trail_values(words, new, parts),
    )
    queue.changed(act, rule_id=rule.id)
    came = open_coming(act)
    if before is not None:
        before = replace(before, deadlines=[*before.deadlines, *came.dates])
        start.hold_back(act, rule_id=rule.id, before=before)
    contents[rule.id] = new
    applied.changed.append(rule.name)


def seen_before(act: Act, rule_id: int) -> start.Before:
    """What the rule had before a change. What was to come anyway is none of the change's."""
    open_coming(act)
    return start.before_change(act, rule_id)


def create(
    words: Words, kept: dict[str, AlertRule], contents: dict[int, Content], text: RuleText, applied: AppliedRules
) -> None:
    """Make a new rule. Raises Refused if an active one does the same already: it was probably given a new name."""
    act = words.act
    new, made = resolve(words, text, ())
    words.check_here(text.name, None, new)
    applied.kinds_made.extend(made)
    for twin in kept.values():
        if twin.is_active and contents[twin.id] == new:
            twins = f"it equals the active rule {quoted(twin.name)} in all but its name"
            hint = f'{twins}; to rename that one, write was = "{twin.name}".'
            raise RefusedRule(text.name, hint, bare=f"{twins}: change that one instead.")
    rule = AlertRule(org_id=act.org, name=text.name, channels=sorted(new.channels), is_active=True, version=1)
    act.session.add(rule)
    store(act, rule, None, new)
    kept[rule.name] = rule
    contents[rule.id] = new
    act.record("rule_created", rule_id=rule.id, name=rule.name, version=1, new=trail_values(words, new, vars(new)))
    queue.changed(act, rule_id=rule.id)
    open_coming(act)
    if text.start == "next":
        start.hold_back(act, rule_id=rule.id)
    applied.created.append(rule.name)
