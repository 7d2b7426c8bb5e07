"""`onus export`: what Onus knows as a file. The file appears when it is whole."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import click
from flask.cli import with_appcontext

from app.cli.common import acting, json_option, org_option, report
from app.domain.errors import Refused, quoted
from app.exports.tables import WRITERS, Format
from app.operations import kinds, people
from app.operations.exports import note_register
from app.queries.register import Filters, Shown
from app.queries.register_export import read_exported
from app.queries.sight import read_sight
from app.trail.act import Act
from app.web.exported import header_of, row_of

NOBODY = 0  # No member's number: an operator is limited to no site.


def add_to(main: click.Group) -> None:
    main.add_command(export_group)


@click.group("export")
def export_group() -> None:
    """Files for others: the register, the trail."""


@export_group.command("register")
@click.option("--text", default="", metavar="TEXT", help="Part of the reference or title, or the number of a paper.")
@click.option("--site", metavar="NAME", help="Only the entries at this site.")
@click.option("--kind", metavar="NAME", help="Only the entries of this kind.")
@click.option("--state", type=click.Choice([one.value for one in Shown]), default=Shown.all.value, show_default=True)
@click.option("--format", "written_as", type=click.Choice([one.value for one in Format]), default=Format.csv.value)
@click.option("-o", "--output", "path", type=click.Path(dir_okay=False, path_type=Path), required=True, metavar="FILE")
@org_option
@json_option
@with_appcontext
def register(
    text: str,
    site: str | None,
    kind: str | None,
    state: str,
    written_as: str,
    path: Path,
    org: str | None,
    as_json: bool,
) -> None:
    """Write the register, or what matches, as CSV or as a workbook."""
    asked = {"q": text, "site": site, "kind": kind, "state": "" if state == Shown.all else state}
    with acting(org) as act:
        filters = Filters(text.strip(), *places(act, site, kind), shown=Shown(state))
        count = write(act, filters, Format(written_as), path)
        note_register(act, written_as, "all", {name: value for name, value in asked.items() if value}, count)
    facts: dict[str, Any] = {"file": str(path), "format": written_as, "entries": count}
    report(as_json, facts, [f"{count} entries in {path}"])


def places(act: Act, site: str | None, kind: str | None) -> tuple[int | None, int | None]:
    """The ids of the site and of the kind that are named. Raises Refused."""
    kind_id = kinds.known_kinds(act).get(kinds.key_of(kind)) if kind else None
    if kind and kind_id is None:
        raise Refused(f"There is no kind {quoted(kind)}: look for its name under Settings.")
    return (people.find_site(act, site).id if site else None), kind_id


def write(act: Act, filters: Filters, format: Format, path: Path) -> int:
    rows = map(row_of, read_exported(act.session, read_sight(act.session, act.org, NOBODY, act.now), filters))
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
            partly = Path(file.name)
            try:
                count = WRITERS[format](file, header_of(format), rows)
                partly.replace(path)
            except BaseException:
                partly.unlink()
                raise
    except OSError as fault:
        raise Refused(f"{quoted(str(path))} cannot be written ({fault.strerror}): name another file.") from None
    return count
