"""`onus retention`: what a stated policy would let go, and with --apply its removal, under a tombstone in the trail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from flask.cli import with_appcontext
from sqlalchemy.exc import ProgrammingError

from app import clock
from app.cli.common import acting, find_org, json_option, org_option, report
from app.config import settings
from app.database import owner_transaction, tried_again
from app.domain.errors import Refused
from app.domain.retention import MEANING, Kept, Policy, policy_of
from app.models import Organisation
from app.operations import retention
from app.operations.retention import Lot
from app.scheduler.seal_tick import present_signer
from app.trail.act import OPERATOR, Act
from app.trail.notes import Signer
from app.trail.sealed import seal_up

NO_RIGHT = "42501"  # PostgreSQL: insufficient_privilege.


def add_to(main: click.Group) -> None:
    main.add_command(retention_command)


def ages(command: Any) -> Any:
    """An option for each kind: from which age on it goes."""
    for kept in reversed(Kept):
        words = f"Let {MEANING[kept]} go at this age."
        command = click.option(f"--{kept}", kept.value, metavar="AGE", help=words)(command)
    return command


@click.command("retention")
@ages
@click.option("--policy", "words", default="", metavar="TEXT", help="Which policy this is; it stays in the trail.")
@click.option("--apply", "applies", is_flag=True, help="Let it go, for good.")
@click.option("--confirm", "confirmed", metavar="SLUG", help="With --apply: the organisation, named once more.")
@org_option
@json_option
@with_appcontext
def retention_command(
    words: str, applies: bool, confirmed: str | None, org: str | None, as_json: bool, **given: str | None
) -> None:
    """Show what a policy of retention would let go, and change nothing; with --apply let it go.

    AGE is 10y, 18m, 26w or 400d, and never below ninety days. Nothing else goes, and nothing by itself.
    """
    policy = policy_of({Kept(name): age for name, age in given.items() if age is not None}, words)
    with acting(org) as act:
        lots = retention.foresee(act, policy)
        slug = act.session.get_one(Organisation, act.org).slug
    went = apply(slug, policy, confirmed) if applies else 0
    found = {"org": slug, "applied": applies, "removed": went, "lots": [as_facts(lot) for lot in lots]}
    report(as_json, found, lines(lots, went, applies))


def apply(slug: str, policy: Policy, confirmed: str | None) -> int:
    """Let everything go that the policy names, so many events a transaction; how much went. Raises Refused."""
    if not policy.words:
        raise Refused('say with --policy "…" which policy this is: the trail keeps these words')
    if confirmed != slug:
        raise Refused(f"this cannot be taken back: say --confirm {slug} as well, once the list is right")
    org, signer, went = find_org(slug), present_signer(), 0
    while True:
        now_gone = tried_again(lambda: let_some_go(org, policy, signer))
        went += now_gone
        if not now_gone:
            return went


def let_some_go(org: int, policy: Policy, signer: Signer) -> int:
    """One transaction: what is there is sealed, some goes, and the tombstone is sealed. Raises Refused."""
    try:
        with owner_transaction(settings(), org) as session:
            act = Act(session, org, clock.now(session, settings()), OPERATOR)
            seal_up(act, signer)
            went = retention.let_go(act, policy)
            seal_up(act, signer)
            return went
    except ProgrammingError as fault:
        if getattr(fault.orig, "sqlstate", None) != NO_RIGHT:
            raise
        raise Refused(
            "no login of Onus may remove an event: name the one that owns the tables in ONUS_OWNER_URL for this command"
        ) from None


def as_facts(lot: Lot) -> dict[str, Any]:
    days = {"first_on": lot.first_at and lot.first_at.date(), "last_on": lot.last_at and lot.last_at.date()}
    return {"kept": lot.kept.value, "before": lot.before.isoformat(), "count": lot.count, **days}


def lines(lots: list[Lot], went: int, applied: bool) -> Iterator[str]:
    for lot in lots:
        span = f", from {lot.first_at:%Y-%m-%d} to {lot.last_at:%Y-%m-%d}" if lot.first_at and lot.last_at else ""
        yield f"{lot.kept}: {lot.count} before {lot.before:%Y-%m-%d}{span} ({MEANING[lot.kept]})"
    yield f"{went} removed, under a tombstone in the trail." if went else "Nothing was removed."
    if not applied and any(lot.count for lot in lots):
        yield "With --apply all of this goes, for good."
