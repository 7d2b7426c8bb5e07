"""`onus member away`, `back`, `leaving` and `staying`: who is not there, who stands in, and who takes over."""

from __future__ import annotations

import datetime as dt

import click
from flask.cli import with_appcontext

from app.cli.common import DAY, acting, json_option, org_option
from app.cli.people import member_group, say
from app.domain import recipients
from app.domain.acts import Held
from app.operations import absences, departures, people
from app.trail.act import Act


def add_to(main: click.Group) -> None:
    """The group `member` is there already; these are commands of it."""
    for command in (away, back, leaving, staying):
        member_group.add_command(command)


@click.command("away")
@click.argument("email")
@click.option("--from", "from_on", type=DAY, required=True, help="The first day.")
@click.option("--until", "until_on", type=DAY, required=True, help="The last day.")
@click.option("--stand-in", metavar="EMAIL", help="Who is told instead; without one the person is told as ever.")
@click.option("--note", default="", help="Why, for those who look.")
@org_option
@json_option
@with_appcontext
def away(
    email: str, from_on: dt.date, until_on: dt.date, stand_in: str | None, note: str, org: str | None, as_json: bool
) -> None:
    """Let the person be away on these days; both are days at the site of each entry."""
    with acting(org) as act:
        member_id = people.find_member(act, email).id
        other = people.find_member(act, stand_in).id if stand_in else None
        absence_id = absences.enter_absence(act, member_id, from_on, until_on, other, note)
    sentence = f"{email} is away from {from_on} until {until_on}; {stand_in or 'nobody'} stands in."
    say(as_json, True, sentence, member_id=member_id, absence_id=absence_id, stand_in_id=other)


@click.command("back")
@click.argument("email")
@org_option
@json_option
@with_appcontext
def back(email: str, org: str | None, as_json: bool) -> None:
    """End the absence that the person is in, or the next one that is to come."""
    with acting(org) as act:
        member_id = people.find_member(act, email).id
        changed = absences.come_back(act, member_id)
    say(as_json, changed, f"{email} is there." if changed else f"{email} is not away.", member_id=member_id)


@click.command("leaving")
@click.argument("email")
@click.option("--on", "leaves_on", type=DAY, required=True, help="The first day on which the person is not there.")
@click.option("--to", required=True, metavar="EMAIL|post:NAME", help="Who takes over everything on that day.")
@click.option("--about", default=Held.hand_over.value, metavar="hand_over|archive", help="Entries about the person.")
@org_option
@json_option
@with_appcontext
def leaving(email: str, leaves_on: dt.date, to: str, about: str, org: str | None, as_json: bool) -> None:
    """Let the person leave, and hand over what hangs on them: entries, posts, rules that name them."""
    with acting(org) as act:
        member_id = people.find_member(act, email).id
        departure_id = departures.leave(act, member_id, leaves_on, **heir_of(act, to), about=about)
    say(
        as_json,
        True,
        f"{email} leaves on {leaves_on}; {to} takes over.",
        member_id=member_id,
        departure_id=departure_id,
    )


@click.command("staying")
@click.argument("email")
@org_option
@json_option
@with_appcontext
def staying(email: str, org: str | None, as_json: bool) -> None:
    """Let a person who was leaving, or has left, be there; what was handed over stays where it is."""
    with acting(org) as act:
        member_id = people.find_member(act, email).id
        changed = departures.stay(act, member_id)
    say(as_json, changed, f"{email} stays.", member_id=member_id)


def heir_of(act: Act, to: str) -> dict[str, int]:
    if to.partition(":")[0].strip() == recipients.POST:
        return {"to_post_id": people.find_post(act, to.partition(":")[2]).id}
    return {"to_member_id": people.find_member(act, to).id}
