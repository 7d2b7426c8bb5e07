"""`onus import people`: a file of people, with one outcome for each line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import click
from flask.cli import with_appcontext

from app.cli.common import acting, json_option, org_option, report
from app.cli.imports import SHOWN, group, name_of, shown
from app.imports.outcomes import Outcome
from app.imports.people import Imported, Options, import_people, read_people


def add_to(main: click.Group) -> None:
    group.add_command(people)


@click.command("people")
@click.argument("file", type=click.File("rb"))
@click.option("--map", "maps", multiple=True, metavar="FIELD=COLUMN", help="A column, A+B, or a position from 1.")
@click.option("--sheet", metavar="S", help="The sheet of a workbook.")
@click.option("--header-row", type=click.IntRange(min=0), metavar="N", help="The record that is the header; 0: none.")
@click.option("--site", metavar="NAME", help="The site of people for whom none is named.")
@click.option("--dry-run", is_flag=True, help="Say what would become of each line, and write nothing.")
@org_option
@json_option
@with_appcontext
def people(
    file: BinaryIO,
    maps: tuple[str, ...],
    sheet: str | None,
    header_row: int | None,
    site: str | None,
    dry_run: bool,
    org: str | None,
    as_json: bool,
) -> None:
    """Import the people of FILE (text, XLSX, XLSM, XLS or ODS; - for stdin). Importing it again changes nothing.

    The fields are name, number, email, site, post and role: a name, and a number or an e-mail, for each. The sites that
    are named for somebody new are the only ones that they may see. A file makes no logins, no administrators and no
    compliance managers.
    """
    options = Options(maps, sheet, header_row, site, dry_run)
    found = read_people(file.read(), name_of(file), options)
    with acting(org) as act:
        imported = import_people(act, found, options)
    rows = [row.as_json() for row in imported.rows] if as_json else []
    report(as_json, {**imported.as_json(), "rows": rows}, map(shown, lines(imported)))


def lines(imported: Imported) -> Iterator[str]:
    """The counts, what is made, and the first lines that need a person."""
    how, does = imported.reading, imported.effects
    read_as = f"sheet {how.sheet}" if how.sheet else f"{how.encoding}, columns by {how.delimiter}"
    yield f"{how.format}, {read_as}"
    yield ", ".join(f"{outcome} {count}" for outcome, count in imported.counts.items() if count)
    yield from how.warnings
    yield f"people new {does.people_new}, changed {does.people_changed}"
    if does.unlimited:
        yield f"new people who see all sites, since none is named for them: {does.unlimited}"
    if does.widened:
        yield f"people who see more sites than before: {does.widened}"
    if does.posts_made:
        yield f"posts {'to be made' if imported.dry_run else 'made'}: {', '.join(does.posts_made)}"
    spoken = [row for row in imported.rows if row.outcome not in (Outcome.new, Outcome.unchanged, Outcome.skipped)]
    for row in spoken[:SHOWN]:
        who = row.number or row.email or row.name or "(nobody)"
        yield f"line {row.line}: {row.outcome}: {who}: {row.reason}"
    if len(spoken) > SHOWN:
        yield f"and {len(spoken) - SHOWN} more: --json lists all of them"
    if imported.dry_run:
        yield "This was a dry run: nothing was written."
