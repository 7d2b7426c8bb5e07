"""Import of people: read, judge each line, and apply all accepted ones or none, by the same way as a register.

The caller's transaction decides; a dry run writes nothing at all. Whoever the file does not name is left alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from app.domain.acts import Contents
from app.domain.errors import Refused
from app.imports import headers, reading
from app.imports.headers import Columns
from app.imports.known import Known, read_places
from app.imports.outcomes import Outcome, shortened
from app.imports.people_headers import EMAIL, NAME, NUMBER, PEOPLE, POST, SITE
from app.imports.people_known import read_roster
from app.imports.people_lines import Line, LineReader
from app.imports.people_outcomes import Report, Row, settle_people
from app.imports.quotes import check_quotes
from app.imports.records import Record, Table
from app.imports.register import check_site
from app.operations import imports, people_file
from app.operations.kinds import key_of
from app.trail.act import Act

QUOTED = re.compile(r"""['"].*""", re.DOTALL)  # What a reason quotes of a cell that was not accepted, and the rest.


@dataclass(frozen=True)
class Options:
    """How a file is to be read. `site` is that of lines that name none."""

    maps: tuple[str, ...] = ()
    sheet: str | None = None
    header_row: int | None = None
    site: str | None = None
    dry_run: bool = False

    def check(self) -> None:
        """Raise Refused for an option with a value that is none of its own."""
        if self.header_row is not None and self.header_row < 0:
            raise Refused("--header-row counts records from 1; 0 means that there is no header.")


@dataclass(frozen=True)
class Reading:
    """How the file was read."""

    file_sha256: str
    format: str
    encoding: str | None
    delimiter: str | None
    sheet: str | None
    warnings: list[str]
    mapping: Mapping[str, list[str]]


@dataclass(frozen=True)
class Found:
    """A file that was read: its lines, and how they are to be understood. Nothing of it knows the organisation yet."""

    file_name: str
    how: Reading
    table: Table
    columns: Columns


@dataclass(frozen=True)
class Effects:
    """What the accepted lines do: how many people are new and changed, who sees what, and which posts are made."""

    people_new: int
    people_changed: int
    limited: int  # Newcomers who see only the sites that are named for them.
    unlimited: int  # Newcomers who see all sites.
    widened: int  # Members who see more sites than before.
    posts_made: list[str]


@dataclass(frozen=True)
class Imported:
    """What became of the file: the counts by outcome, a row for each line, what they do, and how it was read."""

    counts: dict[str, int]
    rows: list[Row]
    effects: Effects
    dry_run: bool
    reading: Reading
    import_run_id: int | None

    def as_json(self) -> dict[str, Any]:
        """The same shape as a register's, `rows` apart: the counts at the top, then what is made, then the reading."""
        told = {"dry_run": self.dry_run, "import_run_id": self.import_run_id}
        return {**self.counts, **vars(self.effects), **told, **vars(self.reading)}


def read_people(source: bytes, file_name: str, options: Options) -> Found:
    """Read a file, without any transaction. Raises Refused for a file or an option that is refused whole."""
    options.check()
    table = reading.read(
        source, options.sheet, options.header_row, lambda cells: headers.is_header(cells, options.maps, PEOPLE)
    )
    columns = headers.columns_of(table.header, table.width, options.maps, PEOPLE)
    check_header(table, columns)
    check_quotes(table, columns, EMAIL, is_address)
    read_as = (table.format, table.encoding, table.delimiter, table.sheet, table.warnings)
    how = Reading(hashlib.sha256(source).hexdigest(), *read_as, columns.described())
    return Found(file_name, how, table, columns)


def check_header(table: Table, columns: Columns) -> None:
    """Raise Refused for a header with an address: it is the first line, and somebody would be lost."""
    if is_address(columns.text(EMAIL, table.header or ())):
        raise Refused("The header looks like a line, since it has an e-mail: say --header-row 0 if there is no header.")


def is_address(text: str) -> bool:
    return "@" in text and not any(map(str.isspace, text))


def import_people(act: Act, found: Found, options: Options) -> Imported:
    """Import what was read in the caller's transaction. Raises Refused for an option that is refused whole.

    1. Each line is judged for itself, then among the lines of the file, then against the people as they are.
    2. Unless this is a dry run, all accepted lines are applied, and the import is kept as evidence.
    """
    imports.take_turns(act)
    known = Known(read_places(act))
    check_site(known, options.site)
    report = Report()
    reader = LineReader(found.columns, known, options.site or "", found.table.widths)
    lines = [line for record in found.table.records if (line := judged_alone(record, reader, report)) is not None]
    roster = read_roster(act)
    if not options.dry_run:
        people_file.lock(act, {member_id for line in lines for member_id in roster.members_of(line)})
        roster = read_roster(act)
    settle_people(lines, roster, report)
    rows, effects = report.in_order(), effects_of(act, report)
    run_id = None if options.dry_run else apply(act, found, report, rows, options)
    return Imported(report.counts(), rows, effects, options.dry_run, found.how, run_id)


def judged_alone(record: Record, reader: LineReader, report: Report) -> Line | None:
    """What a line says, or None: blank, or rejected for itself."""
    if record.is_blank:
        report.rows.append(Row(record.line, Outcome.skipped, "blank"))
        return None
    try:
        return reader.read(record)
    except Refused as refused:
        fields = (NAME, NUMBER, EMAIL, SITE, POST)
        name, number, email, site, post = (shortened(reader.text(field, record)) for field in fields)
        reason = str(refused).rstrip(".")
        report.rows.append(Row(record.line, Outcome.rejected, reason, name, number, email, site, post))
        return None


def effects_of(act: Act, report: Report) -> Effects:
    there = set(people_file.known_posts(act))
    held = [one.post for who in report.newcomers for one in who.holdings]
    held += [one.post for who in report.changes for one in who.holdings]
    made = list({key_of(name): name for name in reversed(held) if key_of(name) not in there}.values())[::-1]
    limited = sum(bool(one.site_ids) for one in report.newcomers)
    widened = sum(bool(one.more_sites) for one in report.changes)
    count = len(report.newcomers)
    return Effects(count, len(report.changes), limited, count - limited, widened, made)


def apply(act: Act, found: Found, report: Report, rows: Iterable[Row], options: Options) -> int:
    """Apply what is accepted; the id of the import."""
    # A warning may quote the file by an example, and a header that was none may be a line: both may name somebody.
    asked = {name: value for name, value in vars(options).items() if value and name != "maps"}
    how = {name: value for name, value in vars(found.how).items() if name != "warnings"}
    how["mapping"] = mapping_of(found.columns)
    kept = imports.Evidence(
        found.file_name, found.how.file_sha256, {**how, "options": asked}, report.counts(),
        (evidence_of(row) for row in rows), Contents.people,
    )  # fmt: skip
    return people_file.apply(act, kept, report.newcomers, report.changes).import_run_id


def mapping_of(columns: Columns) -> dict[str, list[str]]:
    """The columns of each field, by the headers that are understood; any other by its position."""
    known = {name for names in PEOPLE.understood.values() for name in names}
    known |= {name for parts in PEOPLE.together[NAME] for names in parts for name in names}
    return {
        field: [
            columns.names[place] if headers.plain_header(columns.names[place]) in known else f"column {place + 1}"
            for place in places
        ]
        for field, places in columns.fields.items()
    }


def evidence_of(row: Row) -> dict[str, Any]:
    """What is kept of a line for good: no name and no address, since a person may have to be forgotten.

    Of lines that were not accepted, nothing that their reason quotes is kept either: columns may have been mixed up.
    """
    reason = row.reason
    if row.outcome in (Outcome.rejected, Outcome.conflict):
        reason = QUOTED.sub("…", reason)
    kept = {"line": row.line, "outcome": row.outcome.value, "reason": reason}
    accepted = row.outcome in (Outcome.new, Outcome.changed, Outcome.unchanged, Outcome.duplicate)
    return {**kept, "number": row.number if accepted else "", "member_id": row.member_id}
