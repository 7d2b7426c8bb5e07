"""`onus doubt`, `onus bounces`, `onus hold`: what a person decides about messages, and what mail servers report."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import asdict
from typing import BinaryIO

import click
from flask.cli import with_appcontext

from app.channels.bounces import LARGEST_REPORT, Report, read_report
from app.channels.returns import read_return
from app.cli.common import acting, json_option, org_option, report
from app.config import settings
from app.database import WEB
from app.domain.delivery import Resolution, State
from app.domain.errors import Refused
from app.operations import doubts
from app.queries.doubts import Doubt, read_doubts
from app.scheduler.rounds import in_transaction, organisations
from app.trail.act import OPERATOR


def add_to(main: click.Group) -> None:
    for command in (doubt_group, hold_group, read_bounce):
        main.add_command(command)


@click.group("doubt")
def doubt_group() -> None:
    """Messages that may have been sent, not confirmed."""


@doubt_group.command("list")
@org_option
@json_option
@with_appcontext
def list_doubts(org: str | None, as_json: bool) -> None:
    """Show each message in doubt, with what evidence there is."""
    with acting(org) as act:
        found = read_doubts(act.session, act.org)
    report(as_json, {"count": len(found), "doubts": [asdict(one) for one in found]}, lines_of(found))


def lines_of(found: list[Doubt]) -> Iterator[str]:
    for one in found:
        at = f"{one.handed_over_at:%Y-%m-%d %H:%M:%S}Z" if one.handed_over_at else "unknown"
        yield f"{one.id}: {one.recipient} <{one.sent_to}>, handed over {at}, {one.message_id}"
        yield f"    {one.reply or one.reason}{'; opened in the app' if one.opened_in_app else ''}"
        yield from (f"    {alert}" for alert in one.alerts)
    yield f"{len(found)} messages may have been sent, not confirmed"


@doubt_group.command("resolve")
@click.argument("delivery", metavar="ID", type=int)
@click.option(
    "--as",
    "resolution",
    required=True,
    metavar="delivered|failed|resend",
    help="It arrived, it was not sent, or send it again: the person may then have it twice.",
)
@org_option
@json_option
@with_appcontext
def resolve_doubt(delivery: int, resolution: str, org: str | None, as_json: bool) -> None:
    """Decide about the message of delivery ID, the whole message."""
    with acting(org, WEB) as act:
        try:
            decided = doubts.resolve(act, delivery, resolution)
        except LookupError:
            raise Refused(f"there is no e-mail delivery {delivery}: `onus doubt list` shows them") from None
    again = "; it is sent again with the next delivery" if resolution == Resolution.resend else ""
    report(as_json, {"resolved": decided, "as": resolution}, [f"{len(decided)} deliveries: {resolution}{again}"])


@click.group("hold")
def hold_group() -> None:
    """What is held back since the database was restored or failed over."""


@hold_group.command("release")
@org_option
@json_option
@with_appcontext
def release_hold(org: str | None, as_json: bool) -> None:
    """Let everything go on. What was told in the time that the restored database does not know is told again."""
    with acting(org, WEB) as act:
        released = doubts.release(act)
    report(as_json, {"released": released}, [f"{released} deliveries go on"])


@click.command("bounces")
@click.argument("file", type=click.File("rb"))
@json_option
@with_appcontext
def read_bounce(file: BinaryIO, as_json: bool) -> None:
    """Read one message that came back to a return address, from FILE or - (a mail pipe).

    A report that a message did not arrive marks its deliveries, even delivered ones. Reports of a delay and automatic
    answers change nothing. Exit 2 for what is no message, or not signed by this installation.
    """
    raw = file.read(LARGEST_REPORT + 1)  # One more, so that what is too large is refused, not cut.
    found = read_report(raw)
    message = signed_message(found)
    if message is None:
        raise Refused("no address in this message was signed by this installation: it is about no message of ours")
    marked = mark(found, *message)
    said = {"outcome": str(State.bounced) if found.failure else "ignored", "marked": marked, "org": message[0]}
    report(as_json, said, [f"{len(marked)} deliveries came back" if found.failure else "nothing came back: ignored"])


def signed_message(found: Report) -> tuple[int, uuid.UUID] | None:
    signed = (read_return(settings(), address) for address in found.candidates)
    return next((one for one in signed if one is not None), None)


def mark(found: Report, org: int, message: uuid.UUID) -> list[int]:
    failure = found.failure
    if failure is None or org not in {known for known, _ in organisations(org)}:
        return []
    return in_transaction(org, OPERATOR, lambda act: doubts.came_back(act, message, failure.diagnostic, failure.status))
