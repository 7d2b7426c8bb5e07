"""`onus acknowledge`: a person's answer to an alert; `onus answer check`: what officers make of such answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from flask.cli import with_appcontext

from app.cli.acts import due_on_option, entry, note_option, of_entry, owner, reason_option
from app.cli.common import DAY, acting, file_at, json_option, org_option, report
from app.cli.people import say
from app.domain.errors import Refused, quoted
from app.operations import answer_checks, answers, attachments, people
from app.queries.answer_files import read_answer_files, read_sent_files
from app.queries.keyset import Cursor, read_cursor
from app.queries.queues import Queue, Waiting, read_queue
from app.queries.sight import Sight, read_sight
from app.trail.act import Act

EVERYBODY = 0  # No member has this number: a command sees every site.


def add_to(main: click.Group) -> None:
    for command in (acknowledge, answer_group):
        main.add_command(command)


@click.command("acknowledge")
@click.option("--as", "email", required=True, metavar="EMAIL", help="Who answers.")
@click.option("--answer", metavar="ANSWER", help="seen, on_it, done, not_mine or help.")
@click.option("--until", type=DAY, help="With on_it: the last day.")
@click.option("--done-on", type=DAY, help="With done: the day it was done.")
@click.option("--file", "path", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="With done: a photo (JPEG, PNG, HEIC) or a PDF, at most 20 MB.")  # fmt: skip
@click.option("--whose", metavar="EMAIL|post:NAME", help="With not_mine: whose it is.")
@note_option
@click.option("--take-back", is_flag=True, help="Take the last answer back.")
@due_on_option
@click.option("--rule", metavar="NAME", help="Which alert, where REF has several.")
@click.option("--threshold", metavar="30d", help="Which alert, where REF has several.")
@of_entry
def acknowledge(
    reference: str,
    email: str,
    answer: str | None,
    take_back: bool,
    site: str | None,
    org: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Answer the alert about REF for a person; this closes nothing, unless the kind of REF lets whoever did it."""
    if take_back == (answer is not None):
        raise Refused("Give either --answer or --take-back.")
    which: dict[str, Any] = {name: given[name] for name in ("due_on", "rule", "threshold")}
    with entry(org, reference, site) as (act, subject):
        member = people.find_member(act, email)
        if answer is None:
            done = answers.take_back(act, member, subject, **which)
        else:
            done = answers.acknowledge(act, member, subject, answer, **which, **said(act, given))
    sentence = (
        f"{email} answered {answer} about {reference}." if answer else f"{email} has no answer about {reference}."
    )
    facts = {"claim_id": done.claim_id, "subject_id": subject.id, "member_id": member.id}
    say(as_json, done.changed, sentence, **facts, closed=done.is_closed)


def said(act: Act, given: dict[str, Any]) -> answers.Said:
    """What the options add to the answer."""
    whose = owner(act, given["whose"]) if given["whose"] else {}
    return {
        "until_on": given["until"],
        "done_on": given["done_on"],
        "note": given["note"],
        "whose_member_id": whose.get("member_id"),
        "whose_post_id": whose.get("post_id"),
        "file": file_at(given["path"]),
    }


@click.group("answer")
def answer_group() -> None:
    """Answers of people to alerts."""


@answer_group.command("drop-file")
@reason_option("kept_long_enough, personal, wrong_file or other")
@note_option
@of_entry
@click.argument("name", metavar="FILE")
def drop_file(
    reference: str, name: str, reason: str | None, note: str, site: str | None, org: str | None, as_json: bool
) -> None:
    """Remove for good what is in FILE, which was sent with an answer about REF; its name and its hash stay."""
    with entry(org, reference, site) as (act, subject):
        ids = [one.id for one in read_sent_files(act.session, act.org, subject.id) if one.file_name == name]
        if not ids:
            raise Refused(f"No answer about {reference} has a file {quoted(name)} that is kept: correct its name.")
        changed = [attachments.drop(act, subject, one, reason, note) for one in ids]
    words = f"The file {name} of an answer about {reference} is removed."
    say(as_json, any(changed), words, subject_id=subject.id, attachment_ids=ids)


@answer_group.group("check")
def check_group() -> None:
    """What is said to be done, and waits for somebody who looks."""


def as_option(command: Any) -> Any:
    return click.option("--as", "email", metavar="EMAIL", help="Who decides; nobody is named unless this is given.")(
        command
    )


@check_group.command("list")
@org_option
@json_option
@with_appcontext
def list_checks(org: str | None, as_json: bool) -> None:
    """What is to be checked, the most urgent first."""
    with acting(org) as act:
        sight = read_sight(act.session, act.org, EVERYBODY, act.now)
        rows = list(every_check(act, sight))
        files = read_answer_files(act.session, act.org, [row.answer_id for row in rows if row.answer_id])
        found = [shown(row, [file.file_name for file in files.get(row.answer_id or 0, ())]) for row in rows]
    report(as_json, {"answers": found}, map(line, found))


def every_check(act: Act, sight: Sight) -> Iterator[Waiting]:
    """All pages of the queue."""
    after: Cursor | None = None
    while True:
        page = read_queue(act.session, sight, Queue.check, after=after)
        yield from page.rows
        if page.after is None:
            return
        after = read_cursor(page.after)


def shown(row: Waiting, files: list[str]) -> dict[str, Any]:
    """One answer as a report has it."""
    return {
        "id": row.answer_id, "reference": row.reference, "site": row.site, "due_on": row.due_on, "person": row.person,
        "done_on": row.on, "note": row.note, "files": files, "answered_at": row.since,
    }  # fmt: skip


def line(one: dict[str, Any]) -> str:
    on = f" on {one['done_on']}" if one["done_on"] else ""
    files = f" ({', '.join(one['files'])})" if one["files"] else ""
    note = f": {one['note']}" if one["note"] else ""
    return f"{one['id']} {one['reference']} {one['due_on']}: {one['person']} says done{on}{files}{note}"


@check_group.command("accept")
@click.argument("answer_id", metavar="ID", type=int)
@as_option
@org_option
@json_option
@with_appcontext
def accept(answer_id: int, email: str | None, org: str | None, as_json: bool) -> None:
    """Accept answer ID: its deadline is closed as met, on the day it was done."""
    with acting(org) as act:
        try:
            found = answer_checks.accept(act, answer_id, decider(act, email))
        except LookupError:
            raise unknown(answer_id) from None
        facts = {"answer_id": answer_id, "obligation_id": found.id, "due_on": found.due_on, "met_on": found.met_on}
    say(as_json, True, f"Answer {answer_id} is accepted: done on {facts['met_on']}.", **facts)


@check_group.command("send-back")
@click.argument("answer_id", metavar="ID", type=int)
@click.option("--note", required=True, help="What is missing; the person reads it.")
@as_option
@org_option
@json_option
@with_appcontext
def send_back(answer_id: int, note: str, email: str | None, org: str | None, as_json: bool) -> None:
    """Send answer ID back with words: from now on it counts as none."""
    with acting(org) as act:
        try:
            answer_checks.send_back(act, answer_id, note, decider(act, email))
        except LookupError:
            raise unknown(answer_id) from None
    say(as_json, True, f"Answer {answer_id} is sent back.", answer_id=answer_id)


def decider(act: Act, email: str | None) -> int | None:
    return people.find_member(act, email).id if email else None


def unknown(answer_id: int) -> Refused:
    return Refused(f"There is no answer {answer_id}: `onus answer check list` names those that wait.")
