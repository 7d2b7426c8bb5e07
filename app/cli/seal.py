"""`onus seal`: seal the trail by hand, and let a new key take over. What status and doctor say of key and seal."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Iterator, Mapping
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


def seal_status(orgs: Mapping[str, int], now: dt.datetime) -> dict[str, Any]:
    """How far the logs of these organisations (id by slug) are sealed, for how long something waits for that, and what
    is wrong with the key. Changes nothing.

    It is no part of "the watch is broken": alerts are raised and sent without it.
    """
    with transaction(None, WEB) as session:
        fault = fault_of_key(session, settings())
    logs = []
    for slug, org in orgs.items():
        with transaction(org, WEB) as session:
            state = read_seal(session, org)
        at = state.at.isoformat() if state.at else None
        waits = {"unsealed_seconds": state.waits_for(now), "late": state.is_late(now)}
        logs.append({"org": slug, "size": state.size, "root": state.root, "at": at, **waits})
    waiting = [log["unsealed_seconds"] for log in logs if log["unsealed_seconds"] is not None]
    late = any(log["late"] for log in logs)
    return {"oldest_unsealed_seconds": max(waiting, default=None), "late": late, "key_fault": fault, "logs": logs}


def lines_of_seal(seal: Mapping[str, Any]) -> Iterator[str]:
    for log in seal["logs"]:
        waits = log["unsealed_seconds"]
        behind = "" if waits is None else f"; the oldest event that is not sealed waits for {waits} s"
        yield f"seal of {log['org']}: {log['size']} events, last sealed {log['at'] or 'never'}{behind}"
    if seal["late"]:
        yield "the seal is late: let `onus scheduler` run, or run `onus seal`"
    if seal["key_fault"]:
        yield f"key of the seal: {seal['key_fault']}"


def seal_checks() -> Iterator[Check]:
    """Whether the key is there, and whether the seal keeps up. Changes nothing."""
    with transaction(None, SCHEDULER) as session:
        fault = fault_of_key(session, settings())
        now = clock.now(session, settings())
    remedy = "put the key back from its copy, or see `onus seal --help`"
    yield Check(
        "key of the seal", fault is None, fault or "it is the one that seals the trail", remedy if fault else ""
    )
    logs = seal_status({slug: org for org, slug in organisations(None)}, now)["logs"]
    late = [log["org"] for log in logs if log["late"]]
    limit = f"{UNSEALED_AT_MOST.total_seconds():.0f} seconds"
    last = "; ".join(f"{log['org']}: {log['size']} events, last {log['at']}" for log in logs if log["at"])
    found = f"unsealed for more than {limit}: {', '.join(late)}" if late else "nothing waits for long"
    found += f" ({last})" if last else ""
    yield Check("seal", not late, found, "let `onus scheduler` run, or run `onus seal`" if late else "")
