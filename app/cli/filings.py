"""`onus obligation file` and `file-end`: a deadline is filed with the authority, and the authority answers."""

from __future__ import annotations

import datetime as dt
from typing import Any

import click

from app.cli.acts import deadline, due_on_option, ids, obligation_group, of_entry
from app.cli.common import DAY
from app.cli.documents import next_of, paper_of, renewal_options, say_renewed
from app.cli.people import say
from app.domain.acts import FilingResult
from app.domain.errors import Refused
from app.operations import documents, filings

ENDED = ("filing_result", "filing_ended_on", "outcome", "met_on")


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
        changed = filings.file(act, obligation.id, filed_on, filed_reference, in_force_meanwhile, ask_again_on)
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
@click.option("--number", default="", metavar="N", help="Granted: the new paper, with which REF is renewed.")
@renewal_options
@due_on_option
@of_entry
def file_end(
    reference: str,
    result: str | None,
    ended_on: dt.date | None,
    next_due: dt.date | str | None,
    due_on: dt.date | None,
    site: str | None,
    org: str | None,
    as_json: bool,
    **said: Any,
) -> None:
    """Note how the filing of a deadline of REF ended; granted with a new paper, it is renewed."""
    paper = paper_of(**said)
    if paper.number and result != FilingResult.granted:
        raise Refused("A new paper comes only with the result granted: leave --number out.")
    with deadline(org, reference, site, due_on) as (act, obligation):
        if paper.number:
            made = documents.grant(act, obligation.id, ended_on, paper, **next_of(next_due))
            recurrence = documents.recurrence_of(act, obligation)
        else:
            changed = filings.end_filing(act, obligation.id, ended_on, result)
        facts = ids(obligation) | {name: getattr(obligation, name) for name in ENDED}
        is_open = obligation.closed_at is None
    if paper.number:
        say_renewed(as_json, reference, paper, made, recurrence, facts)
        return
    hint = (
        " Its deadline is still open: renew it with the new paper."
        if is_open and result == FilingResult.granted
        else ""
    )
    say(as_json, changed, f"The filing of {reference} ended: {facts['filing_result']}.{hint}", **facts)
