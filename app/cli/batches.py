"""`onus batch`: one act upon many entries, with what it would do said before, and as one batch in the trail."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from flask.cli import with_appcontext

from app.cli.common import DAY, acting, file_at, json_option, org_option, report
from app.cli.documents import paper_options
from app.domain.batches import BatchAct, Several
from app.operations import batch_acts, documents, register
from app.operations.batch_acts import Foresight
from app.operations.batch_plan import Order

SHOWN = 50  # Lines of each list; --json has all of them.


def add_to(main: click.Group) -> None:
    main.add_command(batch_group)


@click.group("batch")
def batch_group() -> None:
    """One act upon many entries."""


@batch_group.command("move")
@click.argument("references", metavar="REF...", nargs=-1, required=True)
@click.option("--to", type=DAY, help="The new due date of all of them; or --by.")
@click.option("--by", metavar="LENGTH", help="How far each moves: 30d, 6w, 3m or 1y.")
@click.option("--earlier", "is_earlier", is_flag=True, help="With --by: earlier, not later.")
@click.option("--next", "next_only", is_flag=True, help="Of several open dates move the next one; else they are left.")
@click.option("--reason", metavar="REASON", help="authority, typing_error, law_change, agreed or other.")
@click.option("--by-act", default="", metavar="TEXT", help="The law or decision that it follows from.")
@click.option("--note", default="", metavar="TEXT", help="What a reader of the history should know.")
@click.option("--site", metavar="NAME", help="The site of the entries, where several have such a reference.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and write nothing.")
@org_option
@json_option
@with_appcontext
def move(
    references: tuple[str, ...],
    site: str | None,
    dry_run: bool,
    org: str | None,
    as_json: bool,
    next_only: bool,
    **said: Any,
) -> None:
    """Move the due dates of the entries REF..., all that can be moved or, if one changes meanwhile, none."""
    order = Order(BatchAct.move, several=Several.next if next_only else Several.leave, **said)
    seen, batch_id = done(org, order, references, site, dry_run)
    report(as_json, found_of(seen, batch_id, dry_run, "moved"), lines(seen, dry_run, "dates moved"))


@batch_group.command("renew")
@click.argument("references", metavar="REF...", nargs=-1, required=True)
@click.option("--number", required=True, metavar="N", help="The number on the paper.")
@paper_options
@click.option("--met-on", "--done-on", "met_on", type=DAY, help="The day it was done; else today at each site.")
@click.option("--next", "next_only", is_flag=True, help="Of several open dates close the next one; else they are left.")
@click.option("--note", default="", metavar="TEXT", help="What a reader of the history should know.")
@click.option("--site", metavar="NAME", help="The site of the entries, where several have such a reference.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and write nothing.")
@org_option
@json_option
@with_appcontext
def renew(
    references: tuple[str, ...],
    path: Path | None,
    met_on: dt.date | None,
    next_only: bool,
    note: str,
    site: str | None,
    dry_run: bool,
    org: str | None,
    as_json: bool,
    **said: Any,
) -> None:
    """Renew the entries REF... with one paper, all that can be or, if one changes meanwhile, none."""
    several = Several.next if next_only else Several.leave
    paper = documents.Paper(**said, file=file_at(path))
    order = Order(BatchAct.renew, paper=paper, met_on=met_on, several=several, note=note)
    seen, batch_id = done(org, order, references, site, dry_run)
    report(as_json, found_of(seen, batch_id, dry_run, "renewed"), lines(seen, dry_run, "renewed"))


def done(
    org: str | None, order: Order, references: Sequence[str], site: str | None, dry_run: bool
) -> tuple[Foresight, int | None]:
    """What it would do, and the batch, if it was done."""
    with acting(org) as act:
        ids = sorted({register.find_subject(act, reference, site).id for reference in references})
        seen = batch_acts.foresee(act, order, ids)
        if dry_run or not seen.plan.doing:
            return seen, None
        return seen, batch_acts.apply(act, order, ids, seen.plan.mark, seen.looked)


def found_of(seen: Foresight, batch_id: int | None, dry_run: bool, verb: str) -> dict[str, Any]:
    """What became of each entry. `next_from` says of a renewal where the new date comes from."""
    doing = [{"reference": one.reference, "site": one.site, "old": one.old, "new": one.new} for one in seen.plan.doing]
    if verb == "renewed":
        doing = [row | {"next_from": one.next_from} for row, one in zip(doing, seen.plan.doing, strict=True)]
    left = [{"reference": one.reference, "site": one.site, "reason": one.left} for one in seen.plan.leaving]
    counts = {"changed": batch_id is not None, verb: len(doing), "left": len(left), "parts": seen.parts}
    alerts = {"told_at_once": len(seen.alerts), "messages": seen.messages, "stopped": len(seen.stopped)}
    return {"batch": batch_id, "dry_run": dry_run, **counts, **alerts, f"{verb}_entries": doing, "left_entries": left}


def lines(seen: Foresight, dry_run: bool, done: str) -> Iterator[str]:
    doing, leaving = seen.plan.doing, seen.plan.leaving
    yield f"{done} {len(doing)}, left {len(leaving)}, parts that follow {seen.parts}"
    for one in doing[:SHOWN]:
        yield f"  {one.reference}: {one.old} -> {one.new}"
    for one in leaving[:SHOWN]:
        yield f"  {one.reference}: left: {str(one.left).replace('_', ' ')}"
    if max(len(doing), len(leaving)) > SHOWN:
        yield "and more: --json lists all of them"
    yield f"alerts raised at once {len(seen.alerts)}, messages {seen.messages}; alerts stopped {len(seen.stopped)}"
    if dry_run:
        yield "This was a dry run: nothing was written."
