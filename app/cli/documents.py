"""`onus renew`: a new paper for an entry, its deadline done with it, and the next one opened, in one transaction."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import click

from app.cli.acts import deadline, due_on_option, ids, note_option, of_entry
from app.cli.common import DAY, Command
from app.cli.people import say
from app.domain.errors import Refused
from app.domain.media import LARGEST_FILE
from app.operations import attachments, documents
from app.web.words import next_from

NONE = "none"


def add_to(main: click.Group) -> None:
    main.add_command(renew)


class Next(click.ParamType[dt.date | str]):
    """A date, or the word none."""

    name = "date|none"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> dt.date | str:
        return NONE if value == NONE else DAY.convert(value, param, ctx)


def paper_options(command: Command) -> Command:
    """What is known of a new paper."""
    path = click.Path(exists=True, dir_okay=False, path_type=Path)
    for option in (
        click.option("--file", "path", type=path, help="At most 20 MB."),
        click.option("--valid-until", type=DAY, help="The last day of its validity."),
        click.option("--valid-from", type=DAY, help="The first day on which it is valid."),
        click.option("--issued-on", type=DAY, help="The day of issue."),
        click.option("--issuer", default="", metavar="NAME", help="Who issued it."),
    ):
        command = option(command)
    return command


@click.command("renew")
@click.option("--number", required=True, metavar="N", help="The number on the new paper.")
@paper_options
@click.option("--met-on", "--done-on", "met_on", type=DAY, help="The day it was done; else today at the site.")
@click.option(
    "--next",
    "next_due",
    type=Next(),
    help="The next due date, or none; else it is proposed and said.",
)
@note_option
@due_on_option
@of_entry
def renew(
    reference: str,
    number: str,
    issuer: str,
    issued_on: dt.date | None,
    valid_from: dt.date | None,
    valid_until: dt.date | None,
    path: Path | None,
    met_on: dt.date | None,
    next_due: dt.date | str | None,
    note: str,
    due_on: dt.date | None,
    site: str | None,
    org: str | None,
    as_json: bool,
) -> None:
    """Renew REF: add the new paper, close its deadline as met, and open the next one."""
    days = {"issued_on": issued_on, "valid_from": valid_from, "valid_until": valid_until}
    paper = documents.Paper(number, issuer, **days, note=note, file=file_at(path))
    with deadline(org, reference, site, due_on) as (act, obligation):
        next_on = next_due if isinstance(next_due, dt.date) else None
        made = documents.renew(act, obligation.id, paper, next_on, goes_on=next_due != NONE, met_on=met_on)
        facts = ids(obligation) | {"outcome": obligation.outcome, "met_on": obligation.met_on}
        recurrence = documents.recurrence_of(act, obligation)
    if made is None:
        say(as_json, False, f"The deadline {facts['due_on']} of {reference} is closed already.", **facts)
        return
    source = next_from(made.next.source, recurrence)
    coming = f"The next one is due on {made.next.due_on}: {source}" if made.next.due_on else f"There is {source}"
    facts |= {"document_id": made.document_id, "replaces_id": made.replaces_id}
    facts |= {"next_due_on": made.next.due_on, "next_from": made.next.source, "next_words": source}
    say(as_json, True, f"{reference} is renewed with {number}. {coming}.", **facts)


def file_at(path: Path | None) -> attachments.SentFile | None:
    """The file, read no further than anything that could be kept. Raises Refused."""
    if path is None:
        return None
    try:
        with path.open("rb") as stream:
            return attachments.SentFile(path.name, stream.read(LARGEST_FILE + 1))
    except OSError as fault:
        raise Refused(f"{path} cannot be read ({fault.strerror}): name another file.") from None
