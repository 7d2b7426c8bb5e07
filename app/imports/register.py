"""Import of a register (DESIGN section 11): read, judge each record, and apply all accepted ones or none.

The caller's transaction decides; a dry run writes nothing at all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.domain.errors import Refused, quoted
from app.imports import headers, reading, turned
from app.imports.comebacks import come_back
from app.imports.dates import AUTO, DateReader, reader_of, warning
from app.imports.entries import Entry, EntryReader
from app.imports.headers import DUE_ON, PART_OF, Columns
from app.imports.known import Key, Known, lock_present, read_ids, read_known, read_parents, read_present
from app.imports.outcomes import Outcome, Report, Row, settle, settle_repeats, settle_unconfirmed, shortened
from app.imports.parents import refuse_orphans, settle_parents
from app.imports.quotes import check_quotes
from app.imports.records import Record, Table
from app.imports.shapes import as_json, shapes_of
from app.operations import imports
from app.operations.batches import AT_ONCE
from app.operations.imports import Parent
from app.operations.kinds import key_of, known_kinds
from app.trail.act import Act

REFUSE, LATEST = "refuse", "latest"
STARTS = (imports.NOW, imports.NEXT, imports.DRAFT)

TOLD_EVERY = 1_000  # Records: several times a second, and nothing beside what judging them costs.
Told = Callable[[int, int], None]  # Hears how many records have been judged, of how many.


def nobody(done: int, total: int) -> None:
    """Nobody listens."""


@dataclass(frozen=True)
class Options:
    """How a file is to be read and applied.

    `confirmed` are lines whose bare number is the date that it would be in a spreadsheet, as a person has said; with
    `loosely` such a line may have become another one since.
    """

    maps: tuple[str, ...] = ()
    date_format: str = AUTO
    no_expiry: tuple[str, ...] = ()
    on_conflict: str = REFUSE
    sheet: str | None = None
    header_row: int | None = None
    site: str | None = None
    start: str = imports.NOW
    dry_run: bool = False
    confirmed: tuple[int, ...] = ()
    confirm_all: bool = False
    loosely: bool = False

    def confirms(self, line: int) -> bool:
        return self.confirm_all or line in self.confirmed

    def check(self) -> None:
        """Raise Refused for an option with a value that is none of its own."""
        for name, value, known in (
            ("--on-conflict", self.on_conflict, (REFUSE, LATEST)),
            ("--start", self.start, STARTS),
        ):
            if value not in known:
                raise Refused(f"{name} {quoted(value)} is not understood: write one of {', '.join(known)}.")
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
    date_format: str
    warnings: list[str]
    mapping: Mapping[str, list[str]]
    shapes: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Found:
    """A file that was read: its records, and how they are to be understood. Nothing of it knows the register yet."""

    file_name: str
    how: Reading
    table: Table
    columns: Columns
    dates: DateReader


@dataclass(frozen=True)
class Imported:
    """What became of the file: the counts by outcome, a row for each record, and how it was read.

    `proposed` are the records whose bare number would be a date, confirmed or not.
    """

    counts: dict[str, int]
    rows: list[Row]
    kinds_made: list[str]
    dry_run: bool
    reading: Reading
    import_run_id: int | None
    proposed: list[Row] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The contract of section 11, `rows` apart: the counts at the top, and what a preview tells besides."""
        told = {"kinds_made": self.kinds_made, "dry_run": self.dry_run, "import_run_id": self.import_run_id}
        return {**self.counts, **told, **vars(self.reading)}


def read_register(source: bytes, file_name: str, options: Options) -> Found:
    """Read a file, without any transaction: its columns are found, and the column of due dates proves its order.

    Raises Refused for a file or an option that is refused whole.
    """
    options.check()
    table = read_table(source, options)
    columns = headers.columns_of(table.header, table.width, options.maps)
    cells = due_cells(table, columns)
    dates = reader_of(options.date_format, cells, options.no_expiry, table.day_zero)
    check_header(table, columns, dates)
    check_quotes(table, columns, DUE_ON, dates.is_certain)
    warnings = [*table.warnings, *filter(None, (warning(dates, cells), turned.warning(due_dated(table, columns))))]
    read_as = (table.format, table.encoding, table.delimiter, table.sheet, dates.format)
    shapes = as_json(shapes_of(table.records, columns, dates))
    how = Reading(hashlib.sha256(source).hexdigest(), *read_as, warnings, columns.described(), shapes)
    return Found(file_name, how, table, columns, dates)


def check_header(table: Table, columns: Columns, dates: DateReader) -> None:
    """Raise Refused for a header with a due date: it is the first record, and would be lost."""
    cell = columns.text(DUE_ON, table.header or ())
    if dates.is_date(cell):
        raise Refused(
            f"The header looks like a record, since its due date is {quoted(cell)}: "
            "say --header-row 0 if the file has no header."
        )


def import_register(act: Act, found: Found, options: Options, told: Told = nobody) -> Imported:
    """Import what was read in the caller's transaction. Raises Refused for an option that is refused whole.

    1. Each record is judged for itself, then among the records of the file, then against the register as it is.
    2. Unless this is a dry run, all accepted records are applied, and the import is kept as evidence.
    """
    if not options.dry_run:
        imports.take_turns(act)
    known = read_known(act)
    check_site(known, options.site)
    reader = EntryReader(found.columns, found.dates, known, options.site or "", found.table.widths, options.confirms)
    report = judge(act, found.table.records, reader, options, told)
    check_confirmed(report, options)
    rows = report.in_order()
    if options.dry_run:
        return Imported(report.counts(), rows, new_kinds(act, report), True, found.how, None, report.proposed)
    kept = evidence(found, report.counts(), rows, options)
    applied = imports.apply(act, kept, report.arrivals, report.amendments, options.start)
    return Imported(report.counts(), rows, applied.kinds_made, False, found.how, applied.import_run_id, report.proposed)


def check_site(known: Known, name: str | None) -> None:
    """Raise Refused for a `--site` that no record could have; one in a cell only rejects its record."""
    if name is None:
        return
    try:
        known.site(name)
    except Refused as refused:
        raise Refused(f"--site: {refused}: name a site that is there.") from None


def check_confirmed(report: Report, options: Options) -> None:
    """Raise Refused for a line that is confirmed and has nothing to confirm."""
    there = {row.line for row in report.proposed}
    strange = [line for line in options.confirmed if line not in there]
    if strange and not options.loosely:
        raise Refused(
            f"--confirm {strange[0]}: no date is to be confirmed there; --dry-run lists the lines that wait for it."
        )


def read_table(source: bytes, options: Options) -> Table:
    return reading.read(source, options.sheet, options.header_row, lambda cells: headers.is_header(cells, options.maps))


def due_dated(table: Table, columns: Columns) -> Iterator[tuple[str, bool]]:
    """The cells of the due column, each with whether it is a date in the file itself."""
    place = columns.fields[DUE_ON][0]
    for record in table.records:
        yield columns.text(DUE_ON, record.cells), place in record.dated


def due_cells(table: Table, columns: Columns) -> list[str]:
    """The cells of the due column. Those of shifted records prove nothing: another column's cell stands there."""
    widths = table.widths
    return [columns.text(DUE_ON, record.cells) for record in table.records if not widths.fault(record)]


def judge(act: Act, records: Sequence[Record], reader: EntryReader, options: Options, told: Told) -> Report:
    """The outcome of each record, and what the accepted ones do."""
    report, entries = Report(), list[Entry]()
    for first in range(0, len(records), TOLD_EVERY):
        told(first, len(records))
        some = (judged_alone(record, reader, report) for record in records[first : first + TOLD_EVERY])
        entries += [entry for entry in some if entry is not None]
    told(len(records), len(records))
    if PART_OF in reader.columns.fields:
        entries = refuse_orphans(entries, read_ids(act, references_of(entries)), report)
    entries = settle_unconfirmed(settle_repeats(entries, options.on_conflict == LATEST, report), report)
    if not options.dry_run:
        lock_present(act, references_of(entries))
    parents: dict[Key, Parent] = {}
    if PART_OF in reader.columns.fields:
        ids = read_ids(act, references_of(entries))
        entries, parents = settle_parents(entries, ids, read_parents(act), report)
    entries.reverse()
    while entries:
        settle_some(act, [entries.pop() for _ in entries[:AT_ONCE]], parents, report)
    return report


def settle_some(act: Act, entries: Sequence[Entry], parents: Mapping[Key, Parent], report: Report) -> None:
    """The outcome of some records against the register, so that what it has of them is not in memory at once."""
    present = read_present(act, {entry.key[1] for entry in entries})
    for entry in entries:
        found, parent = present.get(entry.key), parents.get(entry.key)
        if found is not None and found.is_in_error:
            come_back(entry, found, parent, report)
        else:
            settle(entry, found, parent, report)


def references_of(entries: Iterable[Entry]) -> set[str]:
    """The folded references of entries, and of what they are part of."""
    return {text for entry in entries for text in (entry.key[1], entry.said.get(PART_OF)) if text is not None}


def judged_alone(record: Record, reader: EntryReader, report: Report) -> Entry | None:
    """The entry of a record, or None: blank, or rejected for itself."""
    if record.is_blank:
        report.rows.append(Row(record.line, Outcome.skipped, "blank"))
        return None
    try:
        entry = reader.read(record)
        if entry.due.number:
            report.propose(entry)
        return entry
    except Refused as refused:
        reason, fields = str(refused).rstrip("."), (headers.REFERENCE, headers.TITLE, headers.SITE)
        reference, title, site = (shortened(reader.text(field, record)) for field in fields)
        report.rows.append(Row(record.line, Outcome.rejected, reason, reference, title, site))
        return None


def new_kinds(act: Act, report: Report) -> list[str]:
    """The kinds that the accepted records name and the organisation does not have, as they would be made."""
    there = set(known_kinds(act))
    names = imports.kind_names(report.arrivals, report.amendments)
    return list({key_of(name): name for name in reversed(names) if key_of(name) not in there}.values())[::-1]


def evidence(found: Found, counts: Mapping[str, int], rows: Sequence[Row], options: Options) -> imports.Evidence:
    asked = {name: value for name, value in vars(options).items() if value and name != "loosely"}
    mapping = {**vars(found.how), "options": asked}
    return imports.Evidence(found.file_name, found.how.file_sha256, mapping, counts, (row.as_json() for row in rows))
