"""`onus batch`: one act upon many entries, with what it would do said before, and as one batch in the trail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from flask.cli import with_appcontext

from app.cli.common import DAY, acting, json_option, org_option, report
from app.domain.batches import BatchAct, Several
from app.operations import batch_acts, register
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
    with acting(org) as act:
        ids = sorted({register.find_subject(act, reference, site).id for reference in references})
        seen, batch_id = batch_acts.foresee(act, order, ids), None
        if not dry_run and seen.plan.doing:
            batch_id = batch_acts.apply(act, order, ids, seen.plan.mark, seen.looked)
    report(as_json, found_of(seen, batch_id, dry_run), lines(seen, dry_run))


def found_of(seen: Foresight, batch_id: int | None, dry_run: bool) -> dict[str, Any]:
    moved = [{"reference": one.reference, "site": one.site, "old": one.old, "new": one.new} for one in seen.plan.doing]
    left = [{"reference": one.reference, "site": one.site, "reason": one.left} for one in seen.plan.leaving]
    counts = {"changed": batch_id is not None, "moved": len(moved), "left": len(left), "parts": seen.parts}
    alerts = {"told_at_once": len(seen.alerts), "messages": seen.messages, "stopped": len(seen.stopped)}
    return {"batch": batch_id, "dry_run": dry_run, **counts, **alerts, "moved_entries": moved, "left_entries": left}


def lines(seen: Foresight, dry_run: bool) -> Iterator[str]:
    doing, leaving = seen.plan.doing, seen.plan.leaving
    yield f"dates moved {len(doing)}, left {len(leaving)}, parts that follow {seen.parts}"
    for one in doing[:SHOWN]:
        yield f"  {one.reference}: {one.old} -> {one.new}"
    for one in leaving[:SHOWN]:
        yield f"  {one.reference}: left: {str(one.left).replace('_', ' ')}"
    if max(len(doing), len(leaving)) > SHOWN:
        yield "and more: --json lists all of them"
    yield f"alerts raised at once {len(seen.alerts)}, messages {seen.messages}; alerts stopped {len(seen.stopped)}"
    if dry_run:
        yield "This was a dry run: nothing was written."
