"""`onus seal`: seal the trail by hand, and let a new key take over. What `onus doctor` says of key and seal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click
from flask.cli import with_appcontext

from app import clock
from app.cli.common import json_option, org_option, report
from app.cli.watch import chosen
from app.config import settings
from app.database import SCHEDULER, WEB, transaction
from app.domain.errors import Refused
from app.queries.seal import UNSEALED_AT_MOST, read_seal
from app.queries.soundness import Check
from app.scheduler.rounds import organisations
from app.scheduler.seal_tick import present_signer, rotate_key, seal_tick
from app.trail.act import OPERATOR
from app.trail.signers import fault_of_key


def add_to(main: click.Group) -> None:
    main.add_command(seal_command)


@click.command("seal")
@click.option("--rotate", is_flag=True, help="Let a new key take over; the old one vouches for it.")
@click.option("--lost-key", is_flag=True, help="With --rotate: the old key is lost for good, and vouches for nothing.")
@org_option
@json_option
@with_appcontext
def seal_command(rotate: bool, lost_key: bool, org: str | None, as_json: bool) -> None:
    """Seal what has happened since the last seal. Again seals nothing. Exit 1 if an organisation failed."""
    only = chosen(org)
    if lost_key and not rotate:
        raise Refused("--lost-key goes with --rotate: a new key takes over for good")
    signer = rotate_key(lost=lost_key) if rotate else present_signer()
    done = seal_tick(only, actor=OPERATOR)
    logs = {slug: state_of(org_id) for org_id, slug in organisations(only)}
    lines = [
        f"{done.sealed} sealed",
        *(f"{slug}: {log['size']} in all, root {log['root']}" for slug, log in logs.items()),
    ]
    if rotate:
        lines.append(f"a new key seals from here on, give it to whoever verifies: {signer.key.text}")
    lines += [f"{error['org']}: {error['message']}" for error in done.errors]
    result = {"sealed": done.sealed, "key": signer.key.text, "rotated": rotate, "organisations": logs}
    report(as_json, result | {"errors": done.errors}, lines)
    sys.exit(1 if done.errors else 0)


def state_of(org: int) -> dict[str, Any]:
    with transaction(org, SCHEDULER) as session:
        state = read_seal(session, org)
    return {"size": state.size, "root": state.root, "at": state.at.isoformat() if state.at else None}


def seal_checks() -> Iterator[Check]:
    """Whether the key is there, and whether the seal keeps up. Changes nothing."""
    with transaction(None, SCHEDULER) as session:
        fault = fault_of_key(session, settings())
        now = clock.now(session, settings())
    remedy = "put the key back from its copy, or see `onus seal --help`"
    yield Check(
        "key of the seal", fault is None, fault or "it is the one that seals the trail", remedy if fault else ""
    )
    late = []
    for org, slug in organisations(None):
        with transaction(org, WEB) as session:
            late += [slug] if read_seal(session, org).is_late(now) else []
    limit = f"{UNSEALED_AT_MOST.total_seconds():.0f} seconds"
    found = f"unsealed for more than {limit}: {', '.join(late)}" if late else "nothing waits for long"
    yield Check("seal", not late, found, "let `onus scheduler` run, or run `onus seal`" if late else "")
