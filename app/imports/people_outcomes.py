"""One outcome for each line of a file of people: who is meant, among the lines and against who is there.

A person is one number, or else one address; they may stand on several lines, with several sites and posts. Decides
only: nothing here reads or writes the database. A file hands out no powers, so administrators and compliance managers
are neither made nor changed into by one, and nobody gets another address to sign in with.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from app.domain.acts import Role
from app.imports.outcomes import Outcome
from app.imports.people_known import Colleague, Roster
from app.imports.people_lines import WORDS, Line
from app.operations.kinds import key_of
from app.operations.people_file import Change, Holding, Newcomer

OUTCOMES = tuple(one for one in Outcome if one not in (Outcome.confirm, Outcome.no_expiry))
GIVEN = frozenset({Role.staff, Role.inspector})  # The roles that a file may give.
MOST_LINES_NAMED = 5  # Other lines that a reason names.

NO_POWERS = "a file makes nobody an administrator or a compliance manager: give this role in Settings"
ROLE_STAYS = "a file does not change the role of administrators and compliance managers: change it in Settings"
SIGHT_STAYS = "a file does not widen what administrators and compliance managers see: do it in Settings"
SIGNS_IN = "this person has a login, so their e-mail is changed in Settings"
TWO_PEOPLE = "the number and the e-mail belong to {} different people here: none of their lines is applied"
OTHER_NUMBER = "the e-mail belongs to somebody with another number: none of their lines is applied"


@dataclass(frozen=True, slots=True)
class Row:
    """The outcome of one line, as it is reported. `member_id` is of a person who was there before."""

    line: int
    outcome: Outcome
    reason: str = ""
    name: str = ""
    number: str = ""
    email: str = ""
    site: str = ""
    post: str = ""
    member_id: int | None = None

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__ if name != "member_id"}


@dataclass
class Report:
    """The rows so far, and what the accepted ones do."""

    rows: list[Row] = field(default_factory=list)
    newcomers: list[Newcomer] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    def add(self, line: Line, outcome: Outcome, reason: str = "", member_id: int | None = None) -> None:
        site = line.site.name if line.site else ""
        facts = (line.name, line.number, line.email, site, line.post)
        self.rows.append(Row(line.line, outcome, reason, *facts, member_id))

    def add_all(self, lines: Iterable[Line], outcome: Outcome, reason: str, member_id: int | None = None) -> None:
        for line in lines:
            self.add(line, outcome, reason, member_id)

    def in_order(self) -> list[Row]:
        return sorted(self.rows, key=lambda row: row.line)

    def counts(self) -> dict[str, int]:
        counted = Counter(row.outcome for row in self.rows)
        return {outcome.value: counted[outcome] for outcome in OUTCOMES}


def people_of(lines: Sequence[Line], roster: Roster) -> list[list[Line]]:
    """The lines by person: whatever has a number, an address or a member in common is one, directly or by others."""
    parents: dict[Any, Any] = {}

    def root(key: Any) -> Any:
        while parents.setdefault(key, key) != key:
            parents[key] = parents[parents[key]]
            key = parents[key]
        return key

    for line in lines:
        keys = keys_of(line) + [("member", str(one)) for one in roster.members_of(line)]
        for key in keys[1:]:
            parents[root(key)] = root(keys[0])
    together: dict[Any, list[Line]] = defaultdict(list)
    for line in lines:
        together[root(keys_of(line)[0])].append(line)
    return list(together.values())


def keys_of(line: Line) -> list[tuple[str, str]]:
    """By what the line says who is meant; it has a number or an address, or it is no line."""
    return [key for key in (("number", line.number_key), ("email", line.email)) if key[1]]


def settle_people(lines: Sequence[Line], roster: Roster, report: Report) -> None:
    """The outcome of each line.

    1. Lines that say the same are duplicates.
    2. Lines of one person that contradict each other, or that mean several people, are conflicts, all of them.
    3. What is left is new, or compared with the member who is meant.
    """
    for same in people_of(lines, roster):
        different = without_duplicates(same, report)
        members = sorted({one for line in different for one in roster.members_of(line)})
        if reason := contradiction(different):
            for line in different:
                report.add(line, Outcome.conflict, f"{others(line, different)} {reason}: none of them is applied")
        elif len(members) > 1:
            report.add_all(different, Outcome.conflict, TWO_PEOPLE.format(len(members)))
        elif not members:
            arrive(different, roster, report)
        else:
            compare(different, roster.people[members[0]], roster, report)


def without_duplicates(same: Sequence[Line], report: Report) -> list[Line]:
    first: dict[tuple[Any, ...], Line] = {}
    for line in same:
        earlier = first.setdefault(line.meaning, line)
        if earlier is not line:
            report.add(line, Outcome.duplicate, f"the same as line {earlier.line}")
    return list(first.values())


def contradiction(lines: Sequence[Line]) -> str:
    """In what the lines of one person contradict each other; nothing if they do not. A blank cell says nothing."""
    said = {
        "name": {key_of(line.name) for line in lines},
        "number": {line.number_key for line in lines},
        "email": {line.email for line in lines},
        "role": {line.role or "" for line in lines},
    }
    wrong = [WORDS.get(field, field) for field, values in said.items() if len(values - {""}) > 1]
    return f"gives the same person another {' and another '.join(wrong)}" if wrong else ""


def others(line: Line, lines: Sequence[Line]) -> str:
    """The other lines of a person, the first few by their numbers."""
    numbers = [str(one.line) for one in islice((one for one in lines if one is not line), MOST_LINES_NAMED)]
    return f"line {', '.join(numbers)}" + (" and others" if len(lines) > MOST_LINES_NAMED + 1 else "")


def stated(lines: Sequence[Line], column: str) -> Line | None:
    """The first line that says something in this column."""
    return next((line for line in lines if getattr(line, column)), None)


def arrive(lines: Sequence[Line], roster: Roster, report: Report) -> None:
    """The outcome of somebody who is new: limited to the sites that are named for them."""
    role = (said.role if (said := stated(lines, "role")) else None) or Role.staff
    if role not in GIVEN:
        report.add_all(lines, Outcome.rejected, NO_POWERS)
        return
    fit = [line for line in lines if can_hold(line, roster, report)]
    if not fit:
        return
    words: dict[int, list[str]] = defaultdict(list)
    sites = {line.site.id: line.site.name for line in fit if line.site and line.is_named}
    words[fit[0].line] += [] if role == Role.staff else [f"role {role}"]
    words[fit[0].line].append(f"sees {', '.join(sites.values())} only" if sites else "sees all sites: none is named")
    held = holdings(fit, frozenset(), roster, words)
    number, email = (getattr(found, name) if (found := stated(fit, name)) else "" for name in ("number", "email"))
    report.newcomers.append(Newcomer(fit[0].line, fit[0].name, number, email, role, tuple(sites), held))
    for line in fit:
        same = [f"the same person as line {fit[0].line}"] if line is not fit[0] else []
        report.add(line, Outcome.new, "; ".join([*same, *words[line.line]]))


def can_hold(line: Line, roster: Roster, report: Report) -> bool:
    """Whether a post can be held from today on; where the day is not known, the line is rejected."""
    if line.post and line.site and roster.days[line.site.id] is None:
        report.add(line, Outcome.rejected, "the time zone of the site cannot be used: correct it in Settings")
        return False
    return True


def holdings(
    lines: Iterable[Line], held: frozenset[tuple[str, int]], roster: Roster, words: dict[int, list[str]]
) -> list[Holding]:
    """The posts that the lines add, each once."""
    added: dict[tuple[str, int], Holding] = {}
    for line in lines:
        if not line.post or line.site is None or (today := roster.days[line.site.id]) is None:
            continue
        key = (key_of(line.post), line.site.id)
        if key not in held and key not in added:
            added[key] = Holding(line.line, line.post, line.site.id, today)
            words[line.line].append(f"holds {line.post} at {line.site.name}")
    return list(added.values())


def compare(lines: Sequence[Line], person: Colleague, roster: Roster, report: Report) -> None:
    """The outcome of lines about a member: what they do not say stays as it is."""
    if refusal := refusal_of(lines, person):
        outcome = Outcome.conflict if refusal == OTHER_NUMBER else Outcome.rejected
        report.add_all(lines, outcome, refusal, person.id)
        return
    fit = [line for line in lines if can_hold(line, roster, report) and may_be_there(line, person, report)]
    words: dict[int, list[str]] = defaultdict(list)
    old, new = differences(fit, person, words)
    more: dict[int, None] = {}
    for line in fit:
        if line.site and line.is_named and not person.may_see(line.site.id) and line.site.id not in more:
            more[line.site.id] = None
            words[line.line].append(f"may now see {line.site.name}")
    held = holdings(fit, person.held, roster, words)
    if words:
        first = min(words)
        limits = tuple(sorted(person.limits))
        report.changes.append(Change(first, person.id, old, new, limits, tuple(more), held))
    for line in fit:
        outcome = Outcome.changed if line.line in words else Outcome.unchanged
        report.add(line, outcome, "; ".join(words.get(line.line, ())), person.id)


def refusal_of(lines: Sequence[Line], person: Colleague) -> str:
    """Why nothing of these lines is applied to the member, or nothing."""
    number, email, role = (stated(lines, name) for name in ("number", "email", "role"))
    if person.number_key and number and number.number_key != person.number_key:
        return OTHER_NUMBER
    if person.absence:
        return person.absence
    if role and role.role != person.role:
        if role.role not in GIVEN:
            return NO_POWERS
        if person.role not in GIVEN:
            return ROLE_STAYS
    if email and person.has_account and email.email != (person.email or "").lower():
        return SIGNS_IN
    return ""


def may_be_there(line: Line, person: Colleague, report: Report) -> bool:
    """Whether the member sees the site of the line, or will by it; else the line is rejected."""
    if line.site is None or person.may_see(line.site.id):
        return True
    if line.is_named and person.role in GIVEN:
        return True
    reason = SIGHT_STAYS if line.is_named else "this person may not see the site: name it in the file"
    report.add(line, Outcome.rejected, reason, person.id)
    return False


def differences(
    lines: Sequence[Line], person: Colleague, words: dict[int, list[str]]
) -> tuple[dict[str, str | None], dict[str, str]]:
    """The columns in which the lines differ from the member: their old and their new values."""
    old: dict[str, str | None] = {}
    new: dict[str, str] = {}
    for column in ("name", "number", "email", "role"):
        line = stated(lines, column)
        was = getattr(person, column)
        if line is None or getattr(line, column) == was or (column == "number" and was):
            continue
        old[column], new[column] = was, getattr(line, column)
        told = f"role {was} → {new[column]}" if column == "role" else WORDS.get(column, column)
        words[line.line].append(told)
    return old, new
