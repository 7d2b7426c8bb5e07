"""`onus import register`: a file of entries, with one outcome for each record."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import click
from flask.cli import AppGroup

from app.cli.common import acting, json_option, org_option
from app.domain.errors import Refused, quoted
from app.imports.outcomes import Outcome
from app.imports.register import LATEST, REFUSE, STARTS, Imported, Options, import_register, read_register

AT_ONCE = 1_000  # Rows that are made into JSON at a time.
EVERY = "all"  # Of --confirm: every line that waits to be confirmed.
SHOWN = 20  # Reasons printed for a person; all of them are in --json.


def add_to(main: click.Group) -> None:
    main.add_command(group)


@click.group("import", cls=AppGroup)
def group() -> None:
    """Bring in what is kept elsewhere."""


@group.command("register")
@click.argument("file", type=click.File("rb"))
@click.option("--map", "maps", multiple=True, metavar="FIELD=COLUMN", help="A column, A+B, or a position from 1.")
@click.option("--date-format", default="auto", metavar="F", help="auto, ymd, dmy, mdy, or a pattern such as %d/%m/%Y.")
@click.option("--no-expiry", multiple=True, metavar="WORD", help="A word that says: no due date. May be repeated.")
@click.option("--on-conflict", type=click.Choice([REFUSE, LATEST]), default=REFUSE, help="If records contradict.")
@click.option("--sheet", metavar="S", help="The sheet of a workbook.")
@click.option("--header-row", type=click.IntRange(min=0), metavar="N", help="The record that is the header; 0: none.")
@click.option("--site", metavar="NAME", help="The site of records that name none.")
@click.option("--start", type=click.Choice(STARTS), default="now", help="From when it is told: at once, from the next.")
@click.option("--confirm", multiple=True, metavar="LINE", help="Its bare number is a date; all: in each line.")
@click.option("--dry-run", is_flag=True, help="Say what would become of each record, and write nothing.")
@org_option
@json_option
def register(
    file: BinaryIO,
    maps: tuple[str, ...],
    date_format: str,
    no_expiry: tuple[str, ...],
    on_conflict: str,
    sheet: str | None,
    header_row: int | None,
    site: str | None,
    start: str,
    confirm: tuple[str, ...],
    dry_run: bool,
    org: str | None,
    as_json: bool,
) -> None:
    """Import the entries of FILE (text, XLSX, XLSM, XLS or ODS; - for stdin). Importing it again changes nothing."""
    confirmed = (lines_of(confirm), EVERY in confirm)
    options = Options(maps, date_format, no_expiry, on_conflict, sheet, header_row, site, start, dry_run, *confirmed)
    found = read_register(file.read(), name_of(file), options)
    with acting(org) as act:
        imported = import_register(act, found, options)
    if as_json:
        for piece in json_of(imported):
            click.echo(piece, nl=False)
    else:
        for line in lines(imported):
            click.echo(shown(line))


def name_of(file: BinaryIO) -> str:
    """The name of the file without its folder. What of it is not UTF-8 could not be kept: it is replaced."""
    return os.fsencode(Path(file.name).name).decode("utf-8", "replace")


def lines_of(confirm: Iterable[str]) -> tuple[int, ...]:
    """The lines that are named, each once, in order. Raises Refused for what is no line."""
    named = {word for word in confirm if word != EVERY}
    for word in named:
        if not (word.isascii() and word.isdecimal() and len(word) < 10):
            raise Refused(f"--confirm {quoted(word)} is not understood: write the number of a line, or {EVERY}.")
    return tuple(sorted(map(int, named)))


def json_of(imported: Imported) -> Iterator[str]:
    """One JSON object in pieces: a row for each of 100,000 records as objects would fill the memory."""
    yield json.dumps(imported.as_json(), default=str, ensure_ascii=False)[:-1] + ', "rows": ['
    for first in range(0, len(imported.rows), AT_ONCE):
        rows = [row.as_json() for row in imported.rows[first : first + AT_ONCE]]
        yield (", " if first else "") + json.dumps(rows, ensure_ascii=False)[1:-1]
    yield "]}\n"


def shown(line: str) -> str:
    """A line for a terminal: what a file holds must not steer it."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)


def lines(imported: Imported) -> Iterator[str]:
    """The counts, and the first records that need a person, by line."""
    how = imported.reading
    read_as = f"sheet {how.sheet}" if how.sheet else f"{how.encoding}, columns by {how.delimiter}"
    yield f"{how.format}, {read_as}, due dates {how.date_format}"
    yield ", ".join(f"{outcome.replace('_', ' ')} {count}" for outcome, count in imported.counts.items() if count)
    for shape in how.shapes:
        yield f"due dates {shape['shape']}: {shape['count']}, such as {shape['example']!r} in line {shape['line']}"
    yield from how.warnings
    if imported.kinds_made:
        yield f"kinds {'to be made' if imported.dry_run else 'made'}: {', '.join(imported.kinds_made)}"
    quiet = (Outcome.new, Outcome.unchanged, Outcome.skipped)
    spoken = [row for row in imported.rows if row.outcome not in quiet]
    for row in spoken[:SHOWN]:
        yield f"line {row.line}: {row.outcome.replace('_', ' ')}: {row.reference or '(no reference)'}: {row.reason}"
    if len(spoken) > SHOWN:
        yield f"and {len(spoken) - SHOWN} more: --json lists all of them"
    if imported.dry_run:
        yield "This was a dry run: nothing was written."
