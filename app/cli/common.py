"""What the commands share: the organisation, the act, the options that recur, and how a result is reported."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
from sqlalchemy import select

from app import clock
from app.config import settings
from app.database import WEB, transaction
from app.domain.errors import Refused
from app.domain.media import LARGEST_FILE
from app.models import Organisation
from app.operations.attachments import SentFile
from app.trail.act import OPERATOR, Act

Command = TypeVar("Command", bound=Callable[..., Any])


class Day(click.ParamType[dt.date]):
    """A calendar date, YYYY-MM-DD, without a time and without a zone (P6)."""

    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dt.date:
        if isinstance(value, dt.date):
            return value
        try:
            day = dt.date.fromisoformat(value)
            if day.isoformat() != value:  # Python reads 20270331 and 2027-W13-3, too.
                raise ValueError
            return day
        except ValueError:
            self.fail(f"{value!r} is not a date: write it as 2027-03-31", param, ctx)


DAY = Day()
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def org_option(command: Command) -> Command:
    return click.option("--org", metavar="SLUG", help="The organisation; may be left out where there is one.")(command)


def json_option(command: Command) -> Command:
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object alone on stdout.")(command)


def find_org(slug: str | None) -> int:
    """The id of the organisation. Raises Refused if there is none, or several and none named."""
    with transaction() as session:
        orgs = dict(session.execute(select(Organisation.slug, Organisation.id)).all())
    if slug is not None:
        if slug not in orgs:
            raise Refused(f"there is no organisation {slug!r}: `onus org add` makes one")
        return orgs[slug]
    if len(orgs) != 1:
        hint = f"name one with --org: {', '.join(sorted(orgs))}" if orgs else "make one with `onus org add`"
        raise Refused(f"there are {len(orgs)} organisations: {hint}")
    return next(iter(orgs.values()))


@contextlib.contextmanager
def acting(slug: str | None, role: str = WEB, actor: str = OPERATOR) -> Iterator[Act]:
    """One transaction for one organisation, with its instant. Commits at the end."""
    org = find_org(slug)
    with transaction(org, role) as session:
        yield Act(session, org, clock.now(session, settings()), actor)


def report(as_json: bool, result: Mapping[str, Any], lines: Iterable[str]) -> None:
    """The result as one JSON object, or its lines for a person."""
    if as_json:
        click.echo(json.dumps(result, default=str, ensure_ascii=False))
    else:
        for line in lines:
            click.echo(line)


def file_at(path: Path | None) -> SentFile | None:
    """The file, read no further than anything that could be kept. Raises Refused."""
    if path is None:
        return None
    try:
        with path.open("rb") as stream:
            return SentFile(path.name, stream.read(LARGEST_FILE + 1))
    except OSError as fault:
        raise Refused(f"{path} cannot be read ({fault.strerror}): name another file.") from None
