"""Papers: added, renewed, and marked where they were entered in error. Nothing of them is deleted.

A renewal is one act: the new paper replaces the last one, its deadline is done, and the next one is opened. Each
function locks what it changes, so that of two people who do the same at once exactly one does it.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from dataclasses import dataclass
from typing import Any

from sqlalchemy import exists, select
from sqlalchemy.orm import aliased

from app.domain import media
from app.domain.acts import Basis, NextFrom, Outcome
from app.domain.calendars import LAST_DAY
from app.domain.errors import Refused
from app.domain.folding import clean_text, fold_reference
from app.models import Attachment, Document, Obligation, Subject
from app.operations import obligations, typed
from app.operations.people import site_today
from app.operations.typed import iso
from app.trail.act import Act

FIRST_DAY = dt.date(1900, 1, 1)  # Papers are older than due dates: there are concessions of a hundred years.
OF_A_SERIES = (NextFrom.due, NextFrom.done, NextFrom.calendar)  # Closing the deadline sees to these by itself.


@dataclass(frozen=True)
class SentFile:
    """A file as it came; what its name says is not believed."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Paper:
    """What is known of a new paper; only its number is needed."""

    number: str
    issuer: str = ""
    issued_on: dt.date | None = None
    valid_from: dt.date | None = None
    valid_until: dt.date | None = None
    note: str = ""
    file: SentFile | None = None


@dataclass(frozen=True)
class Proposal:
    """The next due date, None where there is none, and where it comes from."""

    due_on: dt.date | None
    source: NextFrom


@dataclass(frozen=True)
class Renewal:
    """What a renewal has made."""

    document_id: int
    replaces_id: int | None
    next: Proposal


NOTHING = Proposal(None, NextFrom.nothing)


def propose_next(
    act: Act, obligation_id: int, valid_until: dt.date | None = None, met_on: dt.date | None = None
) -> Proposal:
    """The next due date once this deadline is renewed. What comes by the calendar does not hang on a paper.

    Else the last day of the new paper's validity wins over the recurrence of the entry.
    """
    obligation, subject = obligations.find_both(act, obligation_id)
    by_calendar = subject.recurrence is not None and subject.recurrence_basis == Basis.calendar
    if valid_until is not None and not by_calendar:
        return Proposal(valid_until, NextFrom.paper)
    due_on = obligations.next_of(act, obligation, subject, met_on or site_today(act, subject.site_id))
    if due_on is None:
        return NOTHING
    return Proposal(due_on, NextFrom(subject.recurrence_basis or Basis.due))


def renew(
    act: Act,
    obligation_id: int,
    paper: Paper,
    next_due_on: dt.date | None = None,
    *,
    goes_on: bool = True,
    met_on: dt.date | None = None,
    member_id: int | None = None,
) -> Renewal | None:
    """Add the paper, close the deadline as met, open the next one; None where it is closed already.

    The next date is the one given, else the one proposed; none with `goes_on` false. `met_on` is today if not given.
    """
    obligation, subject = obligations.find_both(act, obligation_id, lock=True)
    if obligation.closed_at is not None:
        return None
    if next_due_on is not None:
        proposal = Proposal(next_due_on, NextFrom.person)
    else:
        proposal = propose_next(act, obligation_id, paper.valid_until, met_on) if goes_on else NOTHING
    _lock(act, subject.id)
    last = _current(act, subject.id)[:1]
    document_id = _add(act, subject, paper, last[0] if last else None, obligation_id, member_id)
    of_series = proposal.source in OF_A_SERIES
    obligations.close(act, obligation_id, Outcome.met, met_on, member_id=member_id, opens_next=of_series)
    if not of_series and proposal.due_on is not None:
        obligations.open_successor(act, obligation, subject, proposal.due_on, proposal.source)
    return Renewal(document_id, last[0] if last else None, proposal)


def add_paper(
    act: Act, subject: Subject, paper: Paper, replaces_id: int | None = None, member_id: int | None = None
) -> int:
    """Add a paper; no deadline is touched. It stands beside the others, or replaces one that is current."""
    _lock(act, subject.id)
    if replaces_id is not None and replaces_id not in _current(act, subject.id):
        raise Refused("The paper that it replaces is not current any more: look at the papers, and choose again.")
    return _add(act, subject, paper, replaces_id, None, member_id)


def withdraw(act: Act, subject: Subject, document_id: int, note: str = "", member_id: int | None = None) -> bool:
    """Mark a paper as entered in error. What replaced it replaces from now on what it had replaced itself."""
    noted = typed.note(note)
    _lock(act, subject.id)
    own = select(Document).where(Document.org_id == act.org, Document.subject_id == subject.id)
    found = own.execution_options(populate_existing=True)
    document = act.session.scalars(found.where(Document.id == document_id)).one_or_none()
    if document is None:
        raise Refused(f"{subject.reference} has no such paper: choose one of its papers.")
    if document.withdrawn_at is not None:
        return False
    document.withdrawn_at, document.withdrawn_by = act.now, member_id
    act.session.flush()
    standing = found.where(Document.replaces_id == document.id, Document.withdrawn_at.is_(None))
    successor = act.session.scalars(standing).one_or_none()
    if successor is not None:
        successor.replaces_id = document.replaces_id
        act.session.flush()
    detail: dict[str, Any] = {"document_id": document.id, "number": document.number, "note": noted}
    detail["successor_id"] = successor.id if successor else None
    act.record("paper_withdrawn", subject_id=subject.id, **detail)
    return True


def recurrence_of(act: Act, obligation: Obligation) -> str | None:
    """How often its entry comes again."""
    return obligations.find_both(act, obligation.id)[1].recurrence


def _lock(act: Act, subject_id: int) -> None:
    """One at a time changes the papers of an entry; deadlines may be added meanwhile."""
    query = select(Subject.id).where(Subject.org_id == act.org, Subject.id == subject_id)
    act.session.execute(query.with_for_update(key_share=True))


def _current(act: Act, subject_id: int) -> list[int]:
    """The papers that nothing has replaced, the last one first; those entered in error are none."""
    later = aliased(Document)
    is_replaced = exists().where(
        later.org_id == act.org, later.replaces_id == Document.id, later.withdrawn_at.is_(None)
    )
    query = select(Document.id).where(
        Document.org_id == act.org, Document.subject_id == subject_id, Document.withdrawn_at.is_(None), ~is_replaced
    )
    return list(act.session.scalars(query.order_by(Document.id.desc())))


def _add(
    act: Act,
    subject: Subject,
    paper: Paper,
    replaces_id: int | None,
    obligation_id: int | None,
    member_id: int | None,
) -> int:
    stored = _stored(act, subject, paper)
    _refuse_twin(act, subject, stored)
    links = {"replaces_id": replaces_id, "obligation_id": obligation_id}
    added = {"added_at": act.now, "added_by": member_id}
    document = Document(org_id=act.org, subject_id=subject.id, **stored, **links, **added)
    act.session.add(document)
    act.session.flush()
    days = {name: iso(stored[name]) for name in ("issued_on", "valid_from", "valid_until")}
    said = {name: stored[name] for name in ("number", "issuer", "note")} | days | links
    file = keep(act, paper.file, member_id, document_id=document.id) if paper.file else None
    act.record("paper_added", subject_id=subject.id, document_id=document.id, **said, file=file)
    return document.id


def facts_of(file: SentFile) -> dict[str, Any]:
    """What the trail says of a file, so that a third party can tell whether it is still the same. Raises Refused."""
    kind = media.media_type(file.name, file.content)
    facts = {"media_type": kind, "size": len(file.content), "sha256": hashlib.sha256(file.content).hexdigest()}
    return {"name": media.clean_file_name(file.name, kind), **facts}


def keep(act: Act, file: SentFile, member_id: int | None, **of: int) -> dict[str, Any]:
    """Keep the file with the paper or the answer that `of` names; what the trail says of it."""
    facts = facts_of(file)
    stored = {name: value for name, value in facts.items() if name != "name"} | {"file_name": facts["name"]}
    kept = Attachment(org_id=act.org, content=file.content, added_at=act.now, added_by=member_id, **stored, **of)
    act.session.add(kept)
    act.session.flush()
    return {"attachment_id": kept.id, **facts}


def _stored(act: Act, subject: Subject, paper: Paper) -> dict[str, Any]:
    """The columns of a new paper, cleaned and checked."""
    number = typed.text(paper.number, "The number of the paper", typed.LONGEST_REFERENCE)
    issuer = clean_text(paper.issuer, "The issuer", typed.LONGEST_NAME).replace("\n", " ")
    issued_on = _day(paper.issued_on, "The day of issue")
    if issued_on is not None and issued_on > (today := site_today(act, subject.site_id)):
        raise Refused(f"The day of issue {issued_on} is still to come: today is {today} at the site.")
    valid_from = _day(paper.valid_from, "The first day of validity")
    valid_until = _day(paper.valid_until, "The last day of validity")
    if valid_from and valid_until and valid_until < valid_from:
        raise Refused(f"The last day of validity {valid_until} is before the first, {valid_from}: correct one of them.")
    return {
        "number": number,
        "number_key": fold_reference(number),
        "issuer": issuer,
        "issued_on": issued_on,
        "valid_from": valid_from,
        "valid_until": valid_until,
        "note": typed.note(paper.note),
    }


def _day(day: dt.date | None, what: str) -> dt.date | None:
    if day is not None and not FIRST_DAY <= day <= LAST_DAY:
        years = f"{FIRST_DAY.year} to {LAST_DAY.year}"
        raise Refused(f"{what} {day} is outside the years {years}: correct it, or leave it out where there is none.")
    return day


def _refuse_twin(act: Act, subject: Subject, stored: dict[str, Any]) -> None:
    """A paper that is renewed may keep its number, but not all its dates, too: that is the same paper once more."""
    same = {name: stored[name] for name in ("number_key", "issued_on", "valid_from", "valid_until")}
    own = select(Document.id).where(Document.org_id == act.org, Document.subject_id == subject.id)
    alike = own.where(Document.withdrawn_at.is_(None), *(
        getattr(Document, name).is_not_distinct_from(value) for name, value in same.items()
    ))  # fmt: skip
    if act.session.scalars(alike.limit(1)).one_or_none() is not None:
        raise Refused(
            f"The number of the paper, {stored['number']}, is there already with the same dates: {subject.reference} "
            "has this paper. If a deadline is done with it, close the deadline."
        )
