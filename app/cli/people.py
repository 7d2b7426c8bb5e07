"""`onus org`, `site`, `member`, `post`: organisations, their sites, their people and the posts that these hold."""

from __future__ import annotations

import dataclasses
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
from app.operations import accounts, checkpoint_readers, languages, mail_hours, passwords, people
from app.operations.inspectors import limit_to_kinds
from app.operations.kinds import find_kind
from app.operations.mail_hours import OwnHours
from app.operations.posts_above import set_post_above
from app.queries.untold import Untold, without_mail
from app.trail.act import OPERATOR, Act
from app.web.hours_texts import hours_words, untold_words
from app.wording import ENGLISH

ON, OFF, DEFAULT = "on", "off", "default"


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
@click.option("--lang", default=ENGLISH, metavar="LANG", help="Of whoever comes new: en (the default) or es.")
@json_option
@with_appcontext
def add_organisation(slug: str, name: str, timezone: str, lang: str, as_json: bool) -> None:
    """Make the organisation SLUG, with one site."""
    with transaction() as session:
        now = clock.now(session, settings())
        org = people.add_organisation(session, now, OPERATOR, slug, name, timezone, lang)
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
@click.option("--lang", metavar="LANG", help="Of pages and messages: en or es; else as the organisation has it.")
@org_option
@json_option
@with_appcontext
def add_member(
    email: str, role: str, name: str | None, password_stdin: bool, lang: str | None, org: str | None, as_json: bool
) -> None:
    """Let the person of this address in."""
    password_hash = passwords.hashed(password_from_stdin()) if password_stdin else None
    with acting(org) as act:
        member_id = people.add_member(act, email, role, name, password_hash, language=lang)
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
        untold = without_mail(act.session, act.org, member_id, act.now) if state == OFF else Untold()
        changed = people.set_email_alerts(act, member_id, state == ON)
    sentence = f"E-mail alerts to {email} are {state}. {untold_words(untold, 'they')}".rstrip()
    left = {name: len(getattr(untold, name)) for name in ("in_app", "not_told", "nobody")}
    say(as_json, changed, sentence, member_id=member_id, email_alerts=state == ON, **left)


@member_group.command("language")
@click.argument("email")
@click.argument("language", metavar="LANG")
@org_option
@json_option
@with_appcontext
def set_language(email: str, language: str, org: str | None, as_json: bool) -> None:
    """Let pages and messages of the person be in this language: en or es."""
    with acting(org) as act:
        member_id = people.find_member(act, email).id
        changed = languages.set_language(act, member_id, language)
    say(as_json, changed, f"{email} reads in this language: {language}.", member_id=member_id, language=language)


@member_group.command("daily-checkpoint")
@click.argument("email")
@click.argument("state", metavar="on|off")
@org_option
@json_option
@with_appcontext
def set_daily_checkpoint(email: str, state: str, org: str | None, as_json: bool) -> None:
    """Mail the seal of each day to the person, who keeps it; nobody gets it unless somebody says so."""
    if state not in (ON, OFF):
        raise Refused(f"{quoted(state)} is neither {ON} nor {OFF}: write one of them.")
    with acting(org) as act:
        member_id = people.find_member(act, email).id
        changed = checkpoint_readers.set_reader(act, member_id, state == ON)
    sentence = f"The seal of each day is {'' if state == ON else 'not '}mailed to {email}."
    say(as_json, changed, sentence, member_id=member_id, daily_checkpoint=state == ON)


@member_group.command("mail")
@click.argument("email")
@click.option("--at-once", is_flag=True, help="An e-mail for whatever is new.")
@click.option("--daily-at", metavar="HH:MM", help="One e-mail a working day, at this local hour.")
@click.option("--rest", metavar="HH:MM-HH:MM|none|default", help="No e-mail then; default: as the organisation has it.")
@click.option("--days-off", is_flag=True, help="With --rest: no e-mail on days off, either.")
@click.option("--timezone", metavar="ZONE", help="Of these hours; empty: the organisation's.")
@click.option("--country", metavar="CC", help="Whose public holidays are days off; empty: Monday to Friday.")
@click.option("--region", help="A region of the country with holidays of its own; empty: none.")
@org_option
@json_option
@with_appcontext
def set_mail_hours(email: str, org: str | None, as_json: bool, **given: Any) -> None:
    """Say when e-mail goes to the person; what is not named stays as it is."""
    with acting(org) as act:
        member_id = people.find_member(act, email).id
        hours = with_options(mail_hours.hours_of(act, member_id), **given)
        changed = mail_hours.set_hours(act, member_id, hours)
    sentence = f"E-mail to {email} goes {hours_words(hours.daily_at, hours.rest) or 'at once'}."
    say(as_json, changed, sentence, member_id=member_id)


def with_options(
    old: OwnHours, at_once: bool, daily_at: str | None, rest: str | None, days_off: bool, **place: str | None
) -> OwnHours:
    """The hours with what was named put in their place. An empty option takes its part away."""
    if at_once and daily_at is not None:
        raise Refused("--at-once and --daily-at exclude each other: leave one of them out.")
    if days_off and rest in (None, DEFAULT):
        raise Refused("--days-off is a part of a rest time: name it, too, with --rest 20:00-06:00 or --rest none.")
    new: dict[str, Any] = {name: value or None for name, value in place.items() if value is not None}
    if at_once or daily_at is not None:
        new["daily_at"] = None if daily_at is None else mail_hours.hour(daily_at)
    if rest is not None:
        new["rest"] = None if rest == DEFAULT else mail_hours.span(rest, days_off=days_off)
    return dataclasses.replace(old, **new)


@org_group.command("rest")
@click.argument("hours", metavar="HH:MM-HH:MM|none")
@click.option("--days-off", is_flag=True, help="No e-mail on days off, either.")
@org_option
@json_option
@with_appcontext
def set_rest(hours: str, days_off: bool, org: str | None, as_json: bool) -> None:
    """Say when no e-mail goes to people who have no rest time of their own."""
    with acting(org) as act:
        rest = mail_hours.span(hours, days_off=days_off)
        changed = mail_hours.set_organisation_rest(act, rest)
    say(as_json, changed, f"The rest time is {hours}{' and days off' if days_off else ''}.")


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


@post_group.command("above")
@click.argument("name")
@click.option("--to", "above", metavar="NAME", help="The post that is told.")
@click.option("--none", "nobody", is_flag=True, help="No other post is told.")
@org_option
@json_option
@with_appcontext
def put_above(name: str, above: str | None, nobody: bool, org: str | None, as_json: bool) -> None:
    """Let another post be told when something of the post NAME is nobody's for a working day."""
    if (above is None) is not nobody:
        raise Refused("Name the post above with --to, or say --none: one of them.")
    with acting(org) as act:
        post, other = people.find_post(act, name), people.find_post(act, above) if above is not None else None
        above_id = other.id if other else None
        changed = set_post_above(act, post.id, above_id)
    told = f"the post {other.name} is told" if other else "no other post is told"
    say(
        as_json,
        changed,
        f"When something of the post {post.name} is nobody's, {told}.",
        post_id=post.id,
        above_id=above_id,
    )
