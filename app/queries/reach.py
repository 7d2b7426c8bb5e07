"""Which rules in force reach an entry, judged in plain Python over bare facts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from app.queries.facts import Register, RuleRow, SubjectRow


class Reach:
    """Which rules in force reach a subject: by kind, by site and by entry, where no row of a sort means all."""

    def __init__(self, register: Register) -> None:
        self._kinds = _sets((row.rule_id, row.kind_id) for row in register.rule_kinds)
        self._sites = _sets((row.rule_id, row.site_id) for row in register.rule_sites)
        named = _sets((row.rule_id, row.subject_id) for row in register.rule_subjects)
        in_force = [rule for rule in register.rules if rule.is_active and rule.archived_at is None]
        self._in_force, self._named = in_force, named
        self._general = [rule for rule in in_force if rule.id not in named]
        self._special: defaultdict[int, list[RuleRow]] = defaultdict(list)
        for rule in in_force:
            for subject_id in named.get(rule.id, ()):
                self._special[subject_id].append(rule)
        self._found: dict[tuple[int, int], list[RuleRow]] = {}

    def rules_for(self, subject: SubjectRow) -> list[RuleRow]:
        place = (subject.kind_id, subject.site_id)
        if place not in self._found:
            self._found[place] = [rule for rule in self._general if self._covers(rule, *place)]
        return self._found[place] + [rule for rule in self._special.get(subject.id, ()) if self._covers(rule, *place)]

    def rules_at(self, site_id: int, subject_ids: Collection[int]) -> list[RuleRow]:
        """The rules in force that are about this site, with these entries, whatever their kinds."""
        return [
            rule
            for rule in self._in_force
            if site_id in self._sites.get(rule.id, {site_id})
            and (rule.id not in self._named or not self._named[rule.id].isdisjoint(subject_ids))
        ]

    def _covers(self, rule: RuleRow, kind_id: int, site_id: int) -> bool:
        return kind_id in self._kinds.get(rule.id, {kind_id}) and site_id in self._sites.get(rule.id, {site_id})


def _sets(pairs: Iterable[tuple[int, int]]) -> dict[int, set[int]]:
    grouped: defaultdict[int, set[int]] = defaultdict(set)
    for key, value in pairs:
        grouped[key].add(value)
    return dict(grouped)
