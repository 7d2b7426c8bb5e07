"""`onus erase-person`: forget somebody who has left, for good; what happened stays, and the trail still verifies."""

from __future__ import annotations

from dataclasses import asdict

import click
from flask.cli import with_appcontext
from sqlalchemy import select

from app.cli.common import acting, json_option, org_option, report
from app.database import transaction
from app.models import Member, Organisation
from app.operations import erasure, mentions


def add_to(main: click.Group) -> None:
    main.add_command(erase_person)


@click.command("erase-person")
@click.argument("email")
@click.option("--dry-run", is_flag=True, help="Say where else the person is named, and erase nothing.")
@org_option
@json_option
@with_appcontext
def erase_person(email: str, dry_run: bool, org: str | None, as_json: bool) -> None:
    """Erase who EMAIL was: name, address, number, own words, and what was sent to them. It cannot be taken back.

    Refused while they are a member; alerts, answers and who acted stay, under another name.
    """
    with acting(org) as act:
        found = erasure.find_who_left(act, email)
        here, account_id = act.org, found.account_id
        name, named_in = found.name, mentions.mentions(act, erasure.person_of(found)) if dry_run else {}
    if dry_run:
        lines = [f"{name} would be erased; nothing was.", *by_hand(named_in)]
        report(as_json, {"changed": False, "dry_run": True, "named_in": named_in}, lines)
        return
    shared = account_id is not None and is_known_elsewhere(here, account_id)
    with acting(org) as act:
        erased = erasure.erase(act, email, login_is_shared=shared)
    lines = [
        f"{erased.name}: {erased.values} values of the trail and {erased.messages} messages are erased.",
        f"Imported files whose lines were mended, or that were let go: {erased.imports}.",
        *by_hand(erased.named_in),
    ]
    if shared:
        lines.append("The login stays: another organisation has it.")
    report(as_json, {"changed": True, **asdict(erased)}, lines)


def by_hand(named_in: dict[str, list[str]]) -> list[str]:
    """What is left for somebody to edit, since only they know what must be said instead."""
    return [f"Named still, to be edited by hand: {words}" for words in mentions.in_words(named_in)]


def is_known_elsewhere(here: int, account_id: int) -> bool:
    """Whether another organisation has a member with this login. Each is asked by itself (P8)."""
    with transaction() as session:
        others = session.scalars(select(Organisation.id).where(Organisation.id != here)).all()
    return any(has_member(org, account_id) for org in others)


def has_member(org: int, account_id: int) -> bool:
    query = select(Member.id).where(Member.org_id == org, Member.account_id == account_id)
    with transaction(org) as session:
        return session.execute(query.limit(1)).one_or_none() is not None
