"""`onus paper`: the papers of an entry by commands: listed, added, marked as wrong, and their files removed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from app.cli.acts import entry, note_option, of_entry, reason_option
from app.cli.common import file_at, report
from app.cli.documents import paper_options
from app.cli.people import say
from app.domain.errors import Refused, quoted
from app.domain.folding import fold_reference
from app.operations import attachments, documents
from app.queries.papers import Paper, read_papers


def add_to(main: click.Group) -> None:
    main.add_command(paper_group)


@click.group("paper")
def paper_group() -> None:
    """Papers of an entry: permits, certificates, and the files that prove them."""


@paper_group.command("list")
@of_entry
def list_papers(reference: str, site: str | None, org: str | None, as_json: bool) -> None:
    """List the papers of REF, the last one first."""
    with entry(org, reference, site) as (act, subject):
        papers = read_papers(act.session, act.org, subject.id)
    facts = [
        {name: value for name, value in vars(one).items() if name != "files"}
        | {"is_current": one.is_current, "files": [vars(file) for file in one.files]}
        for one in papers
    ]
    report(as_json, {"reference": reference, "papers": facts}, lines(reference, papers))


def lines(reference: str, papers: Sequence[Paper]) -> Iterator[str]:
    if not papers:
        yield f"{reference} has no papers."
    for one in papers:
        state = "entered in error" if one.withdrawn_at else "current"
        state = f"replaced by {one.replaced_by}" if one.replaced_by and not one.withdrawn_at else state
        state += ", proves its deadline no more" if one.disproved_at else ""
        until = f", valid until {one.valid_until}" if one.valid_until else ""
        files = "".join(f", {one.file_name}{' (removed)' if one.is_dropped else ''}" for one in one.files)
        yield f"{one.number}: {state}{until}{files}"


@paper_group.command("add")
@click.option("--number", required=True, metavar="N", help="The number on the paper.")
@paper_options
@click.option("--replaces", metavar="N", help="The number of the current paper that it replaces.")
@note_option
@of_entry
def add(
    reference: str,
    number: str,
    issuer: str,
    issued_on: dt.date | None,
    valid_from: dt.date | None,
    valid_until: dt.date | None,
    path: Path | None,
    replaces: str | None,
    note: str,
    site: str | None,
    org: str | None,
    as_json: bool,
) -> None:
    """Add a paper to REF; no deadline is touched (`onus renew` closes one with it)."""
    days = {"issued_on": issued_on, "valid_from": valid_from, "valid_until": valid_until}
    paper = documents.Paper(number, issuer, **days, note=note, file=file_at(path))
    with entry(org, reference, site) as (act, subject):
        papers = read_papers(act.session, act.org, subject.id)
        replaces_id = meant(reference, papers, replaces).id if replaces else None
        document_id = documents.add_paper(act, subject, paper, replaces_id)
    facts = {"subject_id": subject.id, "document_id": document_id, "replaces_id": replaces_id}
    say(as_json, True, f"{reference} has the paper {number}.", **facts)


@paper_group.command("withdraw")
@note_option
@of_entry
@click.argument("number", metavar="NUMBER")
def withdraw(reference: str, number: str, note: str, site: str | None, org: str | None, as_json: bool) -> None:
    """Mark the paper NUMBER of REF as entered in error; it stays, and so does what was closed with it."""
    with entry(org, reference, site) as (act, subject):
        one = meant(reference, read_papers(act.session, act.org, subject.id), number)
        changed = documents.withdraw(act, subject, one.id, note)
    words = f"The paper {number} of {reference} is marked as entered in error."
    say(as_json, changed, words, subject_id=subject.id, document_id=one.id)


@paper_group.command("drop-file")
@reason_option("kept_long_enough, personal, wrong_file or other")
@note_option
@of_entry
@click.argument("number", metavar="NUMBER")
def drop_file(
    reference: str, number: str, reason: str | None, note: str, site: str | None, org: str | None, as_json: bool
) -> None:
    """Remove for good what is in the file of the paper NUMBER of REF; its name and its hash stay."""
    with entry(org, reference, site) as (act, subject):
        files = meant(reference, read_papers(act.session, act.org, subject.id), number).files
        if not files:
            raise Refused(f"The paper {number} of {reference} has no file: `onus paper list` says what has one.")
        changed = [attachments.drop(act, subject, one.id, reason, note) for one in files]
    words = f"The file of the paper {number} of {reference} is removed."
    say(as_json, any(changed), words, subject_id=subject.id, attachment_ids=[one.id for one in files])


def meant(reference: str, papers: Sequence[Paper], number: str) -> Paper:
    """The paper of this number; of several the one that is current, and those marked as wrong come last."""
    found = [one for one in papers if fold_reference(one.number) == fold_reference(number)]
    standing = [one for one in found if one.is_current] or [one for one in found if one.withdrawn_at is None] or found
    if not standing:
        raise Refused(f"{reference} has no such paper {quoted(number)}: `onus paper list {reference}` names them.")
    if len(standing) > 1:
        raise Refused(f"{reference} has several papers {quoted(number)}: choose the one on its page.")
    return standing[0]
