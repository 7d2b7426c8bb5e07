"""`onus import list` and `onus import in-error`: the imports there were, and taking back a whole one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from flask.cli import with_appcontext
from sqlalchemy import select

from app.cli.common import acting, json_option, org_option, report
from app.cli.imports import SHOWN, group, shown
from app.models import ImportRun
from app.operations import mistakes
from app.queries.imports import read_run
from app.queries.mistakes import LeftEntry, Told, read_entered, read_reasons, read_told
from app.trail.act import Act


def add_to(main: click.Group) -> None:
    group.add_command(listed)
    group.add_command(in_error)


@click.command("list")
@org_option
@json_option
@with_appcontext
def listed(org: str | None, as_json: bool) -> None:
    """List the imports there were, the last one first."""
    run = ImportRun
    names = ("id", "at", "actor", "file_name", "contents", "counts", "in_error_at", "in_error_by", "in_error_note")
    query = select(*(getattr(run, name) for name in names)).order_by(run.id.desc())
    with acting(org) as act:
        runs = [dict(row._mapping) for row in act.session.execute(query.where(run.org_id == act.org))]
    report(as_json, {"imports": runs}, (shown(line_of(one)) for one in runs))


def line_of(run: dict[str, Any]) -> str:
    counts = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in run["counts"].items() if count)
    mistaken = f"; entered in error {run['in_error_at']:%Y-%m-%d %H:%M} UTC" if run["in_error_at"] else ""
    return f"{run['id']}  {run['at']:%Y-%m-%d %H:%M} UTC  {run['contents']}  {run['file_name']}: {counts}{mistaken}"


@click.command("in-error")
@click.argument("run_id", type=click.IntRange(min=1, max=10**18))
@click.option("--note", default="", metavar="TEXT", help="What was wrong with the file; it stays with the import.")
@click.option("--dry-run", is_flag=True, help="Say what would be taken back, and write nothing.")
@org_option
@json_option
@with_appcontext
def in_error(run_id: int, note: str, dry_run: bool, org: str | None, as_json: bool) -> None:
    """Take the whole import RUN_ID back, released or not. What somebody has worked on since is left, and listed."""
    with acting(org) as act:
        plan = mistakes.preview_mistake(act, run_id) if dry_run else mistakes.enter_in_error(act, run_id, note)
        reasons = [(one.subject_id, one.event_id, one.kept) for one in plan.left]
        left, _ = read_reasons(act.session, act.org, reasons)
        told = messages_of(act, run_id)
    found = {"import_run_id": run_id, "dry_run": dry_run, **plan.counts, "told": len(told)}
    lists = {"left_entries": [left_json(one) for one in left], "told_messages": [vars(one) for one in told]}
    report(as_json, found | lists, map(shown, lines(found, left, told)))


def messages_of(act: Act, run_id: int) -> list[Told]:
    act.session.flush()
    run = read_run(act.session, act.org, run_id)
    return read_told(act.session, act.org, run, read_entered(act.session, act.org, run)) if run else []


def left_json(one: LeftEntry) -> dict[str, Any]:
    work = one.work and {"type": one.work.type, "at": one.work.at, "actor": one.work.actor}
    return {"reference": one.reference, "title": one.title, "site": one.site, "work": work, "not_put_back": one.kept}


def lines(found: dict[str, Any], left: list[LeftEntry], told: list[Told]) -> Iterator[str]:
    yield f"entries archived {found['archived']}, deadlines closed {found['closed']}"
    yield f"entries put back {found['put_back']}, due dates put back {found['moved_back']}"
    yield f"entries left as they are {found['left']}, for a person to decide one by one"
    for one in left[:SHOWN]:
        yield f"  {one.reference}: {why(one)}"
    yield f"messages that had been sent, or may have been, {found['told']}"
    for message in told[:SHOWN]:
        said = f"{message.person}, {message.channel}, {message.state}, {message.at:%Y-%m-%d %H:%M} UTC"
        which = f"{message.reference} due {message.due_on}, {message.threshold}"
        yield f"  {which}: {said}, {message.answer or 'no answer'}"
    if len(left) > SHOWN or len(told) > SHOWN:
        yield "and more: --json lists all of them"
    if found["dry_run"]:
        yield "This was a dry run: nothing was written."


def why(one: LeftEntry) -> str:
    if one.work is None:
        return f"not what the import wrote any more: {', '.join(one.kept)}"
    return f"{one.work.type.replace('_', ' ')} by {one.work.actor}, {one.work.at:%Y-%m-%d %H:%M} UTC"
