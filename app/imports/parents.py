"""What entries of a file are part of: an entry of the register, or another one of the file; never, in a circle, itself.

A record whose whole is neither there nor accepted is rejected, and so are the parts of what is rejected.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from app.domain.errors import quoted
from app.imports.entries import Entry
from app.imports.headers import PART_OF
from app.imports.known import Key
from app.imports.outcomes import Outcome, Report, has_parent
from app.operations.imports import Parent

Node = int | Key  # An entry of the register by its id, or one that the file brings by its key.


def settle_parents(
    entries: Sequence[Entry], register: Mapping[Key, int], edges: Mapping[int, int], report: Report
) -> tuple[list[Entry], dict[Key, Parent]]:
    """The records that are left, and what each is part of. `edges` say what is part of what in the register.

    1. Each record's parent is found by its reference: at its own site first, else anywhere, if there is only one.
    2. Who is, by records and register together, part of itself is rejected.
    3. Parts of a rejected newcomer have nothing to be part of: they are rejected with it.
    """
    if not any(has_parent(entry) for entry in entries):
        return list(entries), {}
    family = Family(entries, register)
    for entry in entries:
        if has_parent(entry):
            family.place(entry)
    family.refuse_circles(edges)
    for entry, reason in family.refused.values():
        report.add(entry, Outcome.rejected, reason)
    left = [entry for entry in entries if entry.key not in family.refused]
    return left, {entry.key: family.parents[entry.key] for entry in left if entry.key in family.parents}


def refuse_orphans(entries: Sequence[Entry], register: Mapping[Key, int], report: Report) -> list[Entry]:
    """The records that are left without those whose whole is nowhere. They are rejected for themselves.

    Comes before repeats are settled, in which they take no part; here a reference may stand in several records.
    """
    standing = Counter(entry.key for entry in entries)
    found: dict[str, set[Key]] = defaultdict(set)
    parts: dict[str, list[Entry]] = defaultdict(list)
    for key in (*standing, *register):
        found[key[1]].add(key)
    for entry in filter(has_parent, entries):
        parts[entry.said[PART_OF]].append(entry)
    waiting = [(entry, lost(entry, found)) for some in parts.values() for entry in some]
    refused: set[int] = set()
    while waiting:
        entry, reason = waiting.pop()
        if not reason or entry.line in refused:
            continue
        refused.add(entry.line)
        report.add(entry, Outcome.rejected, reason)
        standing[entry.key] -= 1
        if not standing[entry.key] and entry.key not in register:
            found[entry.key[1]].discard(entry.key)
            waiting += [(part, lost(part, found) and rejected_with(part)) for part in parts[entry.key[1]]]
    return [entry for entry in entries if entry.line not in refused]


def lost(entry: Entry, found: Mapping[str, set[Key]]) -> str:
    """Why nothing can be what this entry is part of, or nothing: it is at its own site, or at one site alone."""
    reference = entry.said[PART_OF]
    keys = found.get(reference, set())
    if (entry.key[0], reference) in keys or len(keys) == 1:
        return ""
    what = "is at several sites" if keys else "is neither in the register nor among the accepted records"
    return f"part_of {quoted(entry.part_of)} {what}"


def rejected_with(part: Entry) -> str:
    return f"part_of {quoted(part.part_of)} is rejected itself"


class Family:
    """The records by what they are part of."""

    def __init__(self, entries: Sequence[Entry], register: Mapping[Key, int]) -> None:
        self.register = register
        self.entries = {entry.key: entry for entry in entries}
        self.parents: dict[Key, Node] = {}
        self.parts: dict[Node, list[Entry]] = defaultdict(list)
        self.refused: dict[Key, tuple[Entry, str]] = {}
        self.by_reference: dict[str, set[Key]] = defaultdict(set)
        for key in (*self.entries, *register):
            self.by_reference[key[1]].add(key)

    def node(self, key: Key) -> Node:
        return self.register.get(key, key)

    def place(self, entry: Entry) -> None:
        """Find what the entry is part of, or refuse it."""
        if reason := lost(entry, self.by_reference):
            self.refuse(entry, reason)
            return
        here = (entry.key[0], entry.said[PART_OF])
        found = self.by_reference[here[1]]
        node = self.node(here if here in found else next(iter(found)))
        if not isinstance(node, int) and node in self.refused:
            self.refuse(entry, rejected_with(entry))
            return
        self.parents[entry.key] = node
        self.parts[node].append(entry)

    def refuse(self, entry: Entry, reason: str) -> None:
        """Refuse an entry, and, if it is a newcomer, all that is part of it."""
        waiting = [(entry, reason)]
        while waiting:
            one, why = waiting.pop()
            if one.key in self.refused:
                continue
            self.refused[one.key] = (one, why)
            self.parents.pop(one.key, None)
            if one.key not in self.register:
                waiting += [(part, rejected_with(part)) for part in self.parts[one.key]]

    def refuse_circles(self, edges: Mapping[int, int]) -> None:
        all_edges: dict[Node, Node] = dict(edges.items())
        all_edges.update((self.node(key), parent) for key, parent in self.parents.items())
        on_circle = circles(all_edges)
        for key in list(self.parents):
            if self.node(key) in on_circle:
                self.refuse(self.entries[key], "part_of makes it a part of itself")


def circles(edges: Mapping[Node, Node]) -> set[Node]:
    """The nodes that reach themselves."""
    seen: dict[Node, int] = {}
    on_circle: set[Node] = set()
    for walk, start in enumerate(edges):
        path: list[Node] = []
        node = start
        while node in edges and node not in seen:
            seen[node] = walk
            path.append(node)
            node = edges[node]
        if seen.get(node) == walk:
            on_circle.update(path[path.index(node) :])
    return on_circle
