"""`onus site change` and `onus site day-off`: the calendar of a site, with what a change would move said before."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any

import click
from flask.cli import with_appcontext

from app.cli.common import DAY, acting, json_option, org_option, report
from app.cli.people import site_group
from app.domain.days_off import DayOff
from app.domain.errors import Refused
from app.operations import days_off as operations
from app.operations import people, places
from app.operations.calendar_changes import Foresight, foresee
from app.queries import days_off as queries
from app.trail.act import Act

SHOWN, ALL = 50, 1_000_000  # Lines of each list for a person; --json has all of them.


def add_to(main: click.Group) -> None:
    site_group.add_command(change_site)
    site_group.add_command(day_off_group)


dry_run_option = click.option("--dry-run", is_flag=True, help="Say what would move, and write nothing.")


@click.group("day-off")
def day_off_group() -> None:
    """Days on which an organisation does not work, beside the public holidays."""


@day_off_group.command("add")
@click.argument("first", type=DAY)
@click.option("--until", type=DAY, help="The last day; else the first day alone.")
@click.option("--name", required=True, help="What for, such as 'Summer shutdown'.")
@click.option("--yearly", is_flag=True, help="On the same days of every year.")
@click.option("--site", metavar="NAME", help="The site; else all sites.")
@dry_run_option
@org_option
@json_option
@with_appcontext
def add_day_off(
    first: dt.date,
    until: dt.date | None,
    name: str,
    yearly: bool,
    site: str | None,
    dry_run: bool,
    org: str | None,
    as_json: bool,
) -> None:
    """Nobody works from the day FIRST on."""
    period = DayOff(first, until or first, yearly)
    with acting(org) as act:
        site_id = None if site is None else people.find_site(act, site).id
        made, seen = changed(act, lambda: operations.add_day_off(act, name, period, site_id), dry_run)
    tell(as_json, dry_run, seen, f"{name} is off from {first} to {period.until_day}.", True, day_off_id=made)


@day_off_group.command("remove")
@click.argument("day_off_id", metavar="ID", type=int)
@dry_run_option
@org_option
@json_option
@with_appcontext
def remove_day_off(day_off_id: int, dry_run: bool, org: str | None, as_json: bool) -> None:
    """Let people work again on the days off of this ID, which `onus site day-off list` shows."""
    with acting(org) as act:
        found = queries.day_off(act.session, act.org, day_off_id)
        if found is None:
            raise Refused(f"There are no days off with the number {day_off_id}: `onus site day-off list` shows them.")
        _, seen = changed(act, lambda: operations.remove_day_off(act, day_off_id), dry_run)
    tell(as_json, dry_run, seen, f"{found.name} is removed.", True, day_off_id=day_off_id)


@day_off_group.command("list")
@click.option("--site", metavar="NAME", help="Those that count at this site; else all.")
@org_option
@json_option
@with_appcontext
def list_days_off(site: str | None, org: str | None, as_json: bool) -> None:
    """The days off of the organisation, by their first day."""
    with acting(org) as act:
        found = queries.days_off(act.session, act.org)
        if site is not None:
            found = queries.at_site(found, people.find_site(act, site).id)
    rows = [
        {"id": one.id, "name": one.name, "site": one.site, "first": one.period.on_day, "until": one.period.until_day,
         "yearly": one.period.is_yearly} for one in found
    ]  # fmt: skip
    text = "{id}  {first} to {until}{again}  {name}  ({where})"
    lines = [
        text.format(**row, again=" yearly" * bool(row["yearly"]), where=row["site"] or "all sites") for row in rows
    ]
    report(as_json, {"days_off": rows}, lines or ["There are none."])


@click.command("change")
@click.argument("name")
@click.option("--rename", metavar="NAME", help="Its new name.")
@click.option("--timezone", metavar="ZONE", help="Such as Europe/Madrid.")
@click.option("--country", metavar="CC", help="Two letters, such as ES; empty for none.")
@click.option("--region", help="A region of the country, such as CT; empty for none.")
@dry_run_option
@org_option
@json_option
@with_appcontext
def change_site(
    name: str,
    rename: str | None,
    timezone: str | None,
    country: str | None,
    region: str | None,
    dry_run: bool,
    org: str | None,
    as_json: bool,
) -> None:
    """Change the site NAME: what is not given stays as it is."""
    with acting(org) as act:
        site = people.find_site(act, name)
        given = {"name": rename, "timezone": timezone, "country": country, "region": region}
        if country is not None and region is None and country.upper() != site.country:
            given["region"] = ""  # Regions are the old country's.
        facts: dict[str, Any] = {"site_id": site.id, "alert_from": site.alert_from}
        facts |= {part: getattr(site, part) if said is None else said or None for part, said in given.items()}
        facts["name"] = facts["name"] or ""
        was_changed, seen = changed(act, lambda: places.change_site(act, **facts), dry_run)
    tell(as_json, dry_run, seen, f"The site {facts['name']} is changed.", bool(was_changed), site_id=facts["site_id"])


def changed(act: Act, change: Callable[[], Any], dry_run: bool) -> tuple[Any, Foresight]:
    """What the change gives, and what it moves; in a dry run it is not made."""
    seen = foresee(act, change, ALL)
    return (None if dry_run else change()), seen


def tell(as_json: bool, dry_run: bool, seen: Foresight, sentence: str, was_changed: bool, **ids: Any) -> None:
    moved = seen.shifts
    counts = {"moved": moved.alerts, "entries": moved.entries, "earlier": moved.earlier, "parts": len(seen.parts)}
    alerts = {"told_at_once": len(seen.alerts), "messages": seen.messages}
    moves = [
        {"reference": one.reference, "site": one.site, "rule": one.rule, "threshold": one.threshold,
         "due_on": one.due_on, "old": one.old, "new": one.new, "at_once": one.comes} for one in moved.lines
    ]  # fmt: skip
    result = {"changed": was_changed and not dry_run, "dry_run": dry_run, **ids, **counts, **alerts, "moves": moves}
    result["moved_parts"] = [vars(one) for one in seen.parts]
    report(as_json, result, lines(seen, dry_run, sentence if was_changed else f"Nothing changed: {sentence}"))


def lines(seen: Foresight, dry_run: bool, sentence: str) -> Iterator[str]:
    moved = seen.shifts
    yield f"alerts moved {moved.alerts} of {moved.entries} entries, {moved.earlier} to an earlier day"
    for one in moved.lines[:SHOWN]:
        at_once = ", at once" if one.comes else ""
        yield f"  {one.reference} due {one.due_on}, {one.threshold} ({one.rule}): {one.old} -> {one.new}{at_once}"
    for part in seen.parts[:SHOWN]:
        yield f"  {part.reference}: due date {part.old} -> {part.new}"
    if max(moved.alerts, len(seen.parts)) > SHOWN:
        yield "and more: --json lists all of them"
    yield f"alerts raised at once {len(seen.alerts)}, messages {seen.messages}"
    yield "This was a dry run: nothing was written." if dry_run else sentence
