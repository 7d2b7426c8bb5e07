"""`onus org`, `site`, `member`, `post`: organisations, their sites, their people and the posts that these hold."""

from __future__ import annotations

import datetime as dt
import sys
from typing import Any

import click
from flask.cli import with_appcontext

from app import clock
from app.cli.common import DAY, acting, json_option, org_option, report
from app.config import settings
from app.database import act_for, transaction
from app.domain.errors import Refused, quoted
from app.operations import accounts, passwords, people
from app.operations.inspectors import limit_to_kinds
from app.operations.kinds import find_kind
from app.trail.act import OPERATOR, Act

ON, OFF = "on", "off"


def add_to(main: click.Group) -> None:
    for group in (org_group, site_group, member_group, post_group):
        main.add_command(group)


@click.group("org")
def org_group() -> None:
    """Organisations."""


@click.group("site")
def site_group() -> None:
    """Sites: places with their own calendar."""


@click.group("member")
def member_group() -> None:
    """The people of an organisation."""


@click.group("post")
def post_group() -> None:
    """Posts: functions at a site, held by people from a day until a day."""


def say(as_json: bool, changed: bool, sentence: str, **ids: Any) -> None:
    """One sentence for a person, or one object with `changed` and the ids."""
    report(as_json, {"changed": changed, **ids}, [sentence if changed else f"Nothing changed: {sentence}"])


@org_group.command("add")
@click.argument("slug")
@click.option("--name", required=True, help="The name of the organisation, and of its first site.")
@click.option("--timezone", required=True, metavar="ZONE", help="The zone of that site, such as Europe/Madrid.")
@json_option
@with_appcontext
def add_organisation(slug: str, name: str, timezone: str, as_json: bool) -> None:
    """Make the organisation SLUG, with one site."""
    with transaction() as session:
        now = clock.now(session, settings())
        org = people.add_organisation(session, now, OPERATOR, slug, name, timezone)
        act_for(session, org)
        site_id = people.furnish(Act(session, org, now), name, timezone)
    say(as_json, True, f"{slug} is there, with the site {name}.", org_id=org, slug=slug, site_id=site_id)


@site_group.command("add")
@click.argument("name")
@click.option("--timezone", required=True, metavar="ZONE", help="Such as Europe/Madrid.")
@click.option("--country", metavar="CC", help="Two letters; its public holidays count, such as ES.")
@click.option("--region", help="A region of the country with holidays of its own, such as CT.")
@org_option
@json_option
@with_appcontext
def add_site(name: str, timezone: str, country: str | None, region: str | None, org: str | None, as_json: bool) -> None:
    """Make the site NAME."""
    with acting(org) as act:
        site_id = people.add_site(act, name, timezone, country, region)
    say(as_json, True, f"The site {name} is there.", site_id=site_id)


@member_group.command("add")
@click.argument("email")
@click.option("--role", required=True, metavar="ROLE", help="admin, officer, staff or inspector.")
@click.option("--name", help="As it is shown; else what stands before the @.")
@click.option("--password-stdin", is_flag=True, help="Read the password from stdin; one trailing newline is cut.")
@org_option
@json_option
@with_appcontext
def add_member(email: str, role: str, name: str | None, password_stdin: bool, org: str | None, as_json: bool) -> None:
    """Let the person of this address in."""
    password_hash = passwords.hashed(password_from_stdin()) if password_stdin else None
    with acting(org) as act:
        member_id = people.add_member(act, email, role, name, password_hash)
    say(as_json, True, f"{email} is a member now, as {role}.", member_id=member_id)


def password_from_stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode().removesuffix("\n")
    except UnicodeDecodeError:
        raise Refused("The password is not UTF-8 text: type it in a terminal that writes UTF-8.") from None


@member_group.command("disable")
@click.argument("email")
@org_option
@json_option
@with_appcontext
def disable_member(email: str, org: str | None, as_json: bool) -> None:
    """Let the person neither in nor be told anything; everything of theirs stays."""
    with acting(org) as act:
        member_id = people.find_member(act, email).id
        changed = people.disable_member(act, member_id)
    say(as_json, changed, f"{email} is disabled.", member_id=member_id)


@member_group.command("enable")
@click.argument("email")
@org_option
@json_option
@with_appcontext
def enable_member(email: str, org: str | None, as_json: bool) -> None:
    """Let a disabled person in again."""
    with acting(org) as act:
        member_id = people.find_member(act, email).id
        changed = people.enable_member(act, member_id)
    say(as_json, changed, f"{email} is enabled.", member_id=member_id)


@member_group.command("limit")
@click.argument("email")
@click.option("--site", "sites", multiple=True, metavar="NAME", help="May be repeated; without any, all sites again.")
@click.option("--kind", "kinds", multiple=True, metavar="NAME", help="For inspectors; without any, all kinds again.")
@org_option
@json_option
@with_appcontext
def limit_member(email: str, sites: tuple[str, ...], kinds: tuple[str, ...], org: str | None, as_json: bool) -> None:
    """Let the person see these sites only, and an inspector these kinds only."""
    with acting(org) as act:
        member_id = people.find_member(act, email).id
        site_ids = sorted({people.find_site(act, name).id for name in sites})
        kind_ids = sorted({find_kind(act, name) for name in kinds})
        limited = [people.limit_member(act, member_id, site_ids), limit_to_kinds(act, member_id, kind_ids)]
    sentence = f"{email} sees {', '.join(sites) or 'all sites'}, {', '.join(kinds) or 'all kinds'}."
    say(as_json, any(limited), sentence, member_id=member_id, site_ids=site_ids, kind_ids=kind_ids)


@member_group.command("email-alerts")
@click.argument("email")
@click.argument("state", metavar="on|off")
@org_option
@json_option
@with_appcontext
def set_email_alerts(email: str, state: str, org: str | None, as_json: bool) -> None:
    """Send the person alerts by e-mail, or in the app only."""
    if state not in (ON, OFF):
        raise Refused(f"{quoted(state)} is neither {ON} nor {OFF}: write one of them.")
    with acting(org) as act:
        member_id = people.find_member(act, email).id
        changed = people.set_email_alerts(act, member_id, state == ON)
    say(as_json, changed, f"E-mail alerts to {email} are {state}.", member_id=member_id, email_alerts=state == ON)


@member_group.command("forget-phones")
@click.argument("email")
@org_option
@json_option
@with_appcontext
def forget_phones(email: str, org: str | None, as_json: bool) -> None:
    """Sign out every phone of the person that stays signed in, such as a lost one."""
    with acting(org) as act:
        member_id = people.find_member(act, email).id
        forgotten = accounts.forget_phones(act, member_id)
    say(as_json, forgotten > 0, f"{forgotten} phones of {email} are signed out.", member_id=member_id, phones=forgotten)


@post_group.command("add")
@click.argument("name")
@org_option
@json_option
@with_appcontext
def add_post(name: str, org: str | None, as_json: bool) -> None:
    """Make the post NAME."""
    with acting(org) as act:
        post_id = people.add_post(act, name)
    say(as_json, True, f"The post {name} is there; nobody holds it yet.", post_id=post_id)


@post_group.command("assign")
@click.argument("name")
@click.argument("email")
@click.option("--site", required=True, metavar="NAME")
@click.option("--from", "from_on", type=DAY, help="The first day; else today at the site.")
@click.option("--until", "until_on", type=DAY, help="The last day; else until further notice.")
@org_option
@json_option
@with_appcontext
def assign_post(
    name: str,
    email: str,
    site: str,
    from_on: dt.date | None,
    until_on: dt.date | None,
    org: str | None,
    as_json: bool,
) -> None:
    """Let the person hold the post at the site; given a new last day, they hold it until then."""
    with acting(org) as act:
        post, member, place = people.find_post(act, name), people.find_member(act, email), people.find_site(act, site)
        ids = {"post_id": post.id, "member_id": member.id, "site_id": place.id}
        changed = people.assign_post(act, **ids, from_on=from_on, until_on=until_on)
    say(as_json, changed, f"{email} holds the post {name} at {site}.", **ids)
