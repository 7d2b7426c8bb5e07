"""`onus renew`: a new paper for an entry, its deadline done with it, and the next one opened, in one transaction."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from app.cli.acts import deadline, due_on_option, ids, note_option, of_entry
from app.cli.common import DAY, FILE, Command, file_at
from app.cli.people import say
from app.operations import documents
from app.words import next_from

NONE = "none"
Options = Sequence[Callable[[Any], Any]]


def add_to(main: click.Group) -> None:
    main.add_command(renew)


class Next(click.ParamType[dt.date | str]):
    """A date, or the word none."""

    name = "date|none"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> dt.date | str:
        return NONE if value == NONE else DAY.convert(value, param, ctx)


PAPER: Options = (
    click.option("--issuer", default="", metavar="NAME", help="Who issued it."),
    click.option("--issued-on", type=DAY, help="The day of issue."),
    click.option("--valid-from", type=DAY, help="The first day on which it is valid."),
    click.option("--valid-until", type=DAY, help="The last one; the next due date, unless --next says otherwise."),
    click.option("--file", "path", type=FILE, help="At most 20 MB."),
)
RENEWAL: Options = (
    *PAPER,
    click.option("--next", "next_due", type=Next(), help="The next due date, or none; else it is proposed and said."),
    note_option,
)


def paper_options(command: Command) -> Command:
    """What is said of a new paper, its number apart."""
    return with_options(command, PAPER)


def renewal_options(command: Command) -> Command:
    """The same, and what is said of the date that comes next."""
    return with_options(command, RENEWAL)


def with_options(command: Command, options: Options) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def paper_of(number: str, path: Path | None, **said: Any) -> documents.Paper:
    return documents.Paper(number, file=file_at(path), **said)


@click.command("renew")
@click.option("--number", required=True, metavar="N", help="The number on the new paper.")
@renewal_options
@click.option("--met-on", "--done-on", "met_on", type=DAY, help="The day it was done; else today at the site.")
@due_on_option
@of_entry
def renew(
    reference: str,
    next_due: dt.date | str | None,
    met_on: dt.date | None,
    due_on: dt.date | None,
    site: str | None,
    org: str | None,
    as_json: bool,
    **said: Any,
) -> None:
    """Renew REF: add the new paper, close its deadline as met, and open the next one."""
    paper = paper_of(**said)
    with deadline(org, reference, site, due_on) as (act, obligation):
        made = documents.renew(act, obligation.id, paper, **next_of(next_due), met_on=met_on)
        facts = ids(obligation) | {"outcome": obligation.outcome, "met_on": obligation.met_on}
        recurrence = documents.recurrence_of(act, obligation)
    say_renewed(as_json, reference, paper, made, recurrence, facts)


def next_of(next_due: dt.date | str | None) -> dict[str, Any]:
    return {"next_due_on": next_due if isinstance(next_due, dt.date) else None, "goes_on": next_due != NONE}


def say_renewed(
    as_json: bool,
    reference: str,
    paper: documents.Paper,
    made: documents.Renewal | None,
    recurrence: str | None,
    facts: dict[str, Any],
) -> None:
    if made is None:
        say(as_json, False, f"The deadline {facts['due_on']} of {reference} is closed already.", **facts)
        return
    source = next_from(made.next.source, recurrence)
    coming = f"The next one is due on {made.next.due_on}: {source}" if made.next.due_on else f"There is {source}"
    facts |= {"document_id": made.document_id, "replaces_id": made.replaces_id}
    facts |= {"next_due_on": made.next.due_on, "next_from": made.next.source, "next_words": source}
    say(as_json, True, f"{reference} is renewed with {paper.number}. {coming}.", **facts)
