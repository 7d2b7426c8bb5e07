"""`onus subject`, `obligation`: the acts of a person on the register, for scripts and tests.

Each names its entry by REF, and says where that is ambiguous. Each reports whether anything changed, and the ids.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from flask.cli import with_appcontext

from app.cli.common import DAY, FILE, Command, acting, file_at, json_option, org_option
from app.cli.people import say
from app.domain.acts import CloseReason, Outcome
from app.domain.errors import Refused
from app.domain.recipients import MEMBER, POST, parse
from app.models import Obligation, Subject
from app.operations import documents, obligations, people, register, reopenings
from app.trail.act import Act


def add_to(main: click.Group) -> None:
    for command in (subject_group, obligation_group):
        main.add_command(command)


@click.group("subject")
def subject_group() -> None:
    """Entries of the register."""


@click.group("obligation")
def obligation_group() -> None:
    """Deadlines of an entry."""


def of_entry(command: Command) -> Command:
    """What every act on an entry takes: REF, --site where it is ambiguous, --org, --json."""
    site = click.option("--site", metavar="NAME", help="The site of REF, where several have it.")
    reference = click.argument("reference", metavar="REF")
    return reference(site(org_option(json_option(with_appcontext(command)))))


def due_on_option(command: Command) -> Command:
    return click.option("--due-on", type=DAY, help="Which deadline, where REF has several.")(command)


def note_option(command: Command) -> Command:
    return click.option("--note", default="", help="What a reader of the history should know.")(command)


def reason_option(words: str) -> Callable[[Command], Command]:
    return click.option("--reason", metavar="REASON", help=f"{words}.")


@contextlib.contextmanager
def entry(org: str | None, reference: str, site: str | None) -> Iterator[tuple[Act, Subject]]:
    """One transaction and the entry that is meant."""
    with acting(org) as act:
        yield act, register.find_subject(act, reference, site)


@contextlib.contextmanager
def deadline(
    org: str | None, reference: str, site: str | None, due_on: dt.date | None, closed: bool = False
) -> Iterator[tuple[Act, Obligation]]:
    """One transaction and the deadline that is meant."""
    with entry(org, reference, site) as (act, subject):
        yield act, obligations.find_obligation(act, subject, due_on, closed)


def ids(obligation: Obligation) -> dict[str, Any]:
    return {
        "subject_id": obligation.subject_id,
        "obligation_id": obligation.id,
        "due_on": obligation.due_on,
        "first_due_on": obligation.first_due_on,
    }


@subject_group.command("assign")
@click.option("--to", metavar="EMAIL|post:NAME", help="Who is responsible.")
@click.option("--holder", metavar="EMAIL", help="Whom it is about, such as the person trained.")
@of_entry
def assign(
    reference: str, to: str | None, holder: str | None, site: str | None, org: str | None, as_json: bool
) -> None:
    """Make somebody responsible for REF, or its holder."""
    if to is None and holder is None:
        raise Refused("Nobody is named: add --to or --holder.")
    with entry(org, reference, site) as (act, subject):
        changed = False
        if to is not None:
            changed = register.assign(act, subject, **owner(act, to))
        if holder is not None:
            changed = register.assign_holder(act, subject, people.find_member(act, holder).id) or changed
    say(
        as_json,
        changed,
        f"{reference} is assigned.",
        subject_id=subject.id,
        owner_member_id=subject.owner_member_id,
        owner_post_id=subject.owner_post_id,
        holder_id=subject.holder_id,
    )


def owner(act: Act, to: str) -> dict[str, int]:
    """An address, `member:EMAIL` or `post:NAME`, as the argument of `register.assign`."""
    route = parse(to if ":" in to else f"{MEMBER}:{to}")
    if route.route == POST:
        return {"post_id": people.find_post(act, str(route.name)).id}
    if route.route == MEMBER:
        return {"member_id": people.find_member(act, str(route.name)).id}
    raise Refused(f"An entry cannot be assigned to {route.text}: name one person or post:NAME.")


@subject_group.command("snooze")
@click.option("--until", type=DAY, help="The first day on which alerts go out again.")
@reason_option("waiting, planned or other")
@note_option
@click.option("--take-back", is_flag=True, help="End the snooze now.")
@of_entry
def snooze(
    reference: str,
    until: dt.date | None,
    reason: str | None,
    note: str,
    take_back: bool,
    site: str | None,
    org: str | None,
    as_json: bool,
) -> None:
    """Keep the alerts before the due date of REF silent for a while; the date stays."""
    if take_back == (until is not None):
        raise Refused("A snooze needs either --until or --take-back: give one of them.")
    with entry(org, reference, site) as (act, subject):
        if until is None:
            changed = register.end_snooze(act, subject)
        else:
            changed = register.snooze(act, subject, until, reason, note)
    sentence = f"{reference} is silent until {until}." if until else f"{reference} is not snoozed."
    say(as_json, changed, sentence, subject_id=subject.id, snoozed_until=subject.snoozed_until)


@subject_group.command("archive")
@reason_option("gone, replaced, sold or other")
@note_option
@of_entry
def archive(reference: str, reason: str | None, note: str, site: str | None, org: str | None, as_json: bool) -> None:
    """Take REF off the watch for good."""
    with entry(org, reference, site) as (act, subject):
        changed = register.archive(act, subject, reason, note)
    say_status(as_json, changed, subject)


@subject_group.command("restore")
@note_option
@of_entry
def restore(reference: str, note: str, site: str | None, org: str | None, as_json: bool) -> None:
    """Watch REF again, which was archived or out of service."""
    with entry(org, reference, site) as (act, subject):
        changed = register.restore(act, subject, note)
    say_status(as_json, changed, subject)


@subject_group.command("release")
@click.option(
    "--start", default=register.NOW, metavar="now|next", help="next: tell nothing of what has crossed already."
)
@of_entry
def release(reference: str, start: str, site: str | None, org: str | None, as_json: bool) -> None:
    """Watch the draft REF."""
    with entry(org, reference, site) as (act, subject):
        changed = register.release(act, subject, start)
    say_status(as_json, changed, subject)


@subject_group.command("out-of-service")
@note_option
@of_entry
def out_of_service(reference: str, note: str, site: str | None, org: str | None, as_json: bool) -> None:
    """Take REF off the watch while it is not in use."""
    with entry(org, reference, site) as (act, subject):
        changed = register.take_out_of_service(act, subject, note)
    say_status(as_json, changed, subject)


def say_status(as_json: bool, changed: bool, subject: Subject) -> None:
    sentence = f"{subject.reference} is {subject.status.replace('_', ' ')}."
    say(as_json, changed, sentence, subject_id=subject.id, status=subject.status)


@subject_group.command("move")
@click.option("--to", required=True, metavar="SITE", help="The site where it is from now on.")
@of_entry
def move_to_site(reference: str, to: str, site: str | None, org: str | None, as_json: bool) -> None:
    """Move REF to another site; its due dates stay."""
    with entry(org, reference, site) as (act, subject):
        changed = register.move_to_site(act, subject, people.find_site(act, to).id)
    say(as_json, changed, f"{reference} is at {to}.", subject_id=subject.id, site_id=subject.site_id)


@obligation_group.command("close")
@click.option(
    "--outcome", metavar="OUTCOME", help="met (unless said otherwise), failed, not_required or entered_in_error."
)
@click.option("--met-on", "--done-on", "met_on", type=DAY, help="The day it was done; else today at the site.")
@click.option("--retest-on", type=DAY, help="Where it failed: the day by which it must pass.")
@reason_option("Where it was not done: not_required, replaced, entered_in_error or other")
@note_option
@click.option("--proof", type=FILE, help="A file that proves it; some kinds ask for proof.")
@click.option("--proof-number", default="", metavar="N", help="The number of the paper that proves it.")
@due_on_option
@of_entry
def close(
    reference: str,
    outcome: str | None,
    met_on: dt.date | None,
    retest_on: dt.date | None,
    reason: str | None,
    note: str,
    proof: Path | None,
    proof_number: str,
    due_on: dt.date | None,
    site: str | None,
    org: str | None,
    as_json: bool,
) -> None:
    """Close a deadline of REF; one that was met opens the next of a recurrence, and may need proof."""
    said, paper = outcome or outcome_of(reason), documents.Paper(proof_number, file=file_at(proof))
    check_goes_with(said, bool(proof or proof_number), retest_on)
    with deadline(org, reference, site, due_on) as (act, obligation):
        if proof or proof_number:
            changed = documents.close_with(act, obligation.id, paper, met_on, note)
        elif retest_on:
            changed = obligations.fail(act, obligation.id, met_on, retest_on, note)
        else:
            changed = obligations.close(act, obligation.id, said, met_on, reason, note)
        still = {"open_due_on": obligations.open_dates(act, obligation.subject_id)}
    facts = ids(obligation) | {"outcome": obligation.outcome, "met_on": obligation.met_on} | still
    say(as_json, changed, f"The deadline {obligation.due_on} of {reference} is {obligation.outcome}.", **facts)


def check_goes_with(outcome: str, has_proof: bool, retest_on: dt.date | None) -> None:
    """Raise Refused for what an outcome does not have."""
    if has_proof and outcome != Outcome.met:
        raise Refused(f"The outcome {outcome} has no proof: only what is closed as done has. Leave --proof out.")
    if retest_on and outcome != Outcome.failed:
        raise Refused(f"The outcome {outcome} has no re-test: only what failed has. Leave --retest-on out.")


def outcome_of(reason: str | None) -> str:
    """The outcome that goes without saying: done, or what a reason for not doing it says."""
    if reason is None:
        return Outcome.met
    return Outcome.entered_in_error if reason == CloseReason.entered_in_error else Outcome.not_required


@obligation_group.command("move")
@click.option("--to", required=True, type=DAY, help="The new due date.")
@reason_option("authority, typing_error, law_change, agreed or other")
@note_option
@due_on_option
@of_entry
def move(
    reference: str,
    to: dt.date,
    reason: str | None,
    note: str,
    due_on: dt.date | None,
    site: str | None,
    org: str | None,
    as_json: bool,
) -> None:
    """Move the due date of a deadline of REF."""
    with deadline(org, reference, site, due_on) as (act, obligation):
        changed = obligations.move(act, obligation.id, to, reason, note)
    say(as_json, changed, f"{reference} is due on {obligation.due_on}.", **ids(obligation))


@obligation_group.command("reopen")
@reason_option("not_done, typing_error or other")
@note_option
@due_on_option
@of_entry
def reopen(
    reference: str,
    reason: str | None,
    note: str,
    due_on: dt.date | None,
    site: str | None,
    org: str | None,
    as_json: bool,
) -> None:
    """Open a closed deadline of REF again."""
    with deadline(org, reference, site, due_on, closed=True) as (act, obligation):
        changed = reopenings.reopen(act, obligation.id, reason, note)
    say(as_json, changed, f"The deadline {obligation.due_on} of {reference} is open.", **ids(obligation))
