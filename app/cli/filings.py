"""`onus obligation file` and `file-end`: a deadline is filed with the authority, and the authority answers."""

from __future__ import annotations

import datetime as dt

import click

from app.cli.acts import deadline, due_on_option, ids, obligation_group, of_entry
from app.cli.common import DAY
from app.cli.people import say
from app.operations import obligations


def add_to(_: click.Group) -> None:
    for command in (file, file_end):
        obligation_group.add_command(command)


@click.command("file")
@click.option("--filed-on", type=DAY, help="The day of filing; else today at the site.")
@click.option("--filed-reference", metavar="TEXT", help="The authority's receipt.")
@click.option("--in-force-meanwhile", metavar="yes|no|unclear", help="yes keeps the alerts silent until the end.")
@click.option("--ask-again-on", type=DAY, help="When to ask the authority again.")
@due_on_option
@of_entry
def file(
    reference: str,
    filed_on: dt.date | None,
    filed_reference: str | None,
    in_force_meanwhile: str | None,
    ask_again_on: dt.date | None,
    due_on: dt.date | None,
    site: str | None,
    org: str | None,
    as_json: bool,
) -> None:
    """Note that a deadline of REF was filed with the authority."""
    with deadline(org, reference, site, due_on) as (act, obligation):
        changed = obligations.file(act, obligation.id, filed_on, filed_reference, in_force_meanwhile, ask_again_on)
    say(
        as_json,
        changed,
        f"{reference} was filed on {obligation.filed_on}.",
        **ids(obligation),
        filed_on=obligation.filed_on,
    )


@click.command("file-end")
@click.option("--outcome", "--result", "result", metavar="RESULT", help="granted, refused or withdrawn.")
@click.option("--ended-on", type=DAY, help="The day it ended; else today at the site.")
@due_on_option
@of_entry
def file_end(
    reference: str,
    result: str | None,
    ended_on: dt.date | None,
    due_on: dt.date | None,
    site: str | None,
    org: str | None,
    as_json: bool,
) -> None:
    """Note how the filing of a deadline of REF ended."""
    with deadline(org, reference, site, due_on) as (act, obligation):
        changed = obligations.end_filing(act, obligation.id, ended_on, result)
    facts = ids(obligation) | {"filing_result": obligation.filing_result, "filing_ended_on": obligation.filing_ended_on}
    say(as_json, changed, f"The filing of {reference} ended: {obligation.filing_result}.", **facts)
