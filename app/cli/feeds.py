"""`onus feed`: the calendar addresses that are in use, and revoking one. No command shows or makes an address."""

from __future__ import annotations

import click
from flask.cli import with_appcontext

from app.cli.common import acting, json_option, org_option, report
from app.cli.people import say
from app.domain.errors import Refused
from app.operations import feeds, people
from app.queries.feeds import feed_owners


def add_to(main: click.Group) -> None:
    main.add_command(feed_group)


@click.group("feed")
def feed_group() -> None:
    """Calendar addresses of people."""


@feed_group.command("list")
@click.option("--member", "email", metavar="EMAIL", help="Of this person; else of everybody.")
@org_option
@json_option
@with_appcontext
def list_feeds(email: str | None, org: str | None, as_json: bool) -> None:
    """The addresses that are not revoked, each by its ID, with whose it is and when it was last read."""
    with acting(org) as act:
        member_id = None if email is None else people.find_member(act, email).id
        found = feed_owners(act.session, act.org, member_id)
    rows = [
        {"id": one.id, "member": one.member, "email": one.email, "site": one.site, "made_at": one.created_at,
         "last_read_at": one.last_read_at} for one in found
    ]  # fmt: skip
    lines = [
        f"{one.id}  {one.member} ({one.email or 'no address'})  {one.site or 'what concerns them'}  "
        f"made {one.created_at:%Y-%m-%d}, {f'read {one.last_read_at:%Y-%m-%d}' if one.last_read_at else 'never read'}"
        for one in found
    ]
    report(as_json, {"feeds": rows}, lines or ["There are none."])


@feed_group.command("revoke")
@click.argument("feed_id", metavar="ID", type=int)
@org_option
@json_option
@with_appcontext
def revoke_feed(feed_id: int, org: str | None, as_json: bool) -> None:
    """Let the address of this ID lead nowhere, at once and for ever."""
    with acting(org) as act:
        owner = feeds.owner_of(act, feed_id)
        if owner is None:
            raise Refused(f"There is no calendar address with the number {feed_id}: `onus feed list` shows them.")
        was_in_use = feeds.revoke_feed(act, owner, feed_id)
    say(as_json, was_in_use, f"The calendar address {feed_id} is revoked.", feed_id=feed_id, member_id=owner)
