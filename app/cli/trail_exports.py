"""`onus export trail`: how it was known, as a file for an inspector. The file appears when it is whole."""

from __future__ import annotations

import contextlib
import datetime as dt
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from flask.cli import with_appcontext

from app import clock
from app.cli.common import DAY, find_org, json_option, org_option, report
from app.cli.exports import export_group
from app.config import settings
from app.database import WEB, transaction
from app.domain.acts import ReportFormat
from app.domain.errors import Refused, quoted
from app.operations import export_runs, people, register
from app.operations.export_runs import Limits, Made, Order
from app.queries.report.names import find_rule
from app.queries.report.scope import Asked
from app.scheduler.exporting import make
from app.trail.act import OPERATOR, Act
from app.wording import languages

LANGUAGES = tuple(sorted(languages()))


def add_to(main: click.Group) -> None:
    export_group.add_command(trail)


@click.command("trail")
@click.option("--from", "from_on", type=DAY, metavar="D", help="From this day on, in the organisation's own calendar.")
@click.option("--to", "to_on", type=DAY, metavar="D", help="Until this day, included.")
@click.option("--site", metavar="NAME", help="Only what is about this site.")
@click.option("--rule", metavar="NAME", help="Only what is about this rule.")
@click.option("--subject", metavar="REF", help="Only the story of this entry.")
@click.option("--format", "written_as", type=click.Choice([one.value for one in ReportFormat]), required=True)
@click.option("--lang", "language", type=click.Choice(LANGUAGES), default="en", show_default=True)
@click.option("-o", "--output", "path", type=click.Path(dir_okay=False, path_type=Path), required=True, metavar="FILE")
@org_option
@json_option
@with_appcontext
def trail(written_as: str, language: str, path: Path, org: str | None, as_json: bool, **narrowed: Any) -> None:
    """Write what an inspector asks for: the register, alerts, messages, answers, changes, people, checks."""
    format, org_id = ReportFormat(written_as), find_org(org)
    with transaction(org_id) as session:
        act = Act(session, org_id, clock.now(session, settings()), OPERATOR)
        asked = asked_of(act, **narrowed)
        order = Order(
            export_runs.ask(act, format, language, asked.as_json(), Limits()), None, format, language, asked.as_json()
        )
    made = made_whole(org_id, order, path)
    facts = {"export_id": order.id, "file": str(path), "format": written_as, "counts": made.counts, "size": made.size}
    rows = sum(made.counts.values())
    report(as_json, {**facts, "sha256": made.sha256}, [f"{rows} rows in {path}", f"SHA-256 {made.sha256}"])


def asked_of(
    act: Act,
    from_on: dt.date | None,
    to_on: dt.date | None,
    site: str | None,
    rule: str | None,
    subject: str | None,
) -> Asked:
    """What is named, by number. Raises Refused for what there is not."""
    if from_on and to_on and to_on < from_on:
        raise Refused("the last day is before the first one: change --from or --to")
    rule_id = find_rule(act.session, act.org, rule) if rule is not None else None
    if rule is not None and rule_id is None:
        raise Refused(f"there is no rule {quoted(rule)}: look for its name under Rules")
    site_id = people.find_site(act, site).id if site is not None else None
    subject_id = register.find_subject(act, subject, site).id if subject is not None else None
    return Asked(from_on, to_on, site_id, rule_id, subject_id)


def made_whole(org: int, order: Order, path: Path) -> Made:
    """The report at this path, and its end on record; neither, if it comes to nothing."""
    try:
        with partly(path) as part:
            made = make(org, order, part, lambda *_: None, keeps=False)
            with transaction(org, WEB) as session:
                export_runs.settle(Act(session, org, clock.now(session, settings()), OPERATOR), order, made)
            part.replace(path)
    except BaseException as fault:
        why = str(fault) if isinstance(fault, Refused) else "It was broken off."
        with transaction(org, WEB) as session:
            export_runs.fail(Act(session, org, clock.now(session, settings()), OPERATOR), order.id, why)
        raise
    return made


@contextlib.contextmanager
def partly(path: Path) -> Iterator[Path]:
    """A file beside the path, to take its place at the end; nothing of it is left otherwise."""
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            part = Path(file.name)
    except OSError as fault:
        raise Refused(f"{quoted(str(path))} cannot be written ({fault.strerror}): name another file.") from None
    try:
        yield part
    finally:
        part.unlink(missing_ok=True)
