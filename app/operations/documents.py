"""Papers: added, renewed, and marked where they were entered in error. Nothing of them is deleted.

A renewal is one act: the new paper replaces the last one, its deadline is done, and the next one is opened. Each
function locks what it changes, so that of two people who do the same at once exactly one does it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import exists, select
from sqlalchemy.orm import aliased

from app.domain import media
from app.domain.acts import Basis, FilingResult, NextFrom, Outcome
from app.domain.calendars import LAST_DAY
from app.domain.errors import Refused
from app.domain.folding import clean_text, fold_reference
from app.models import Document, Obligation, Subject
from app.operations import attachments, filings, obligations, proofs, typed
from app.operations.attachments import SentFile
from app.operations.people import site_today
from app.operations.typed import iso
from app.trail.act import Act
from app.wording import later

FIRST_DAY = dt.date(1900, 1, 1)  # Papers are older than due dates: there are concessions of a hundred years.
OF_A_SERIES = (NextFrom.due, NextFrom.done, NextFrom.calendar)  # Closing the deadline sees to these by itself.


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

    @property
    def said(self) -> dict[str, str | None]:
        """What it says, as the trail of an act upon many entries keeps it."""
        days = {name: iso(getattr(self, name)) for name in ("issued_on", "valid_from", "valid_until")}
        return {"number": self.number, "issuer": self.issuer, **days}


@dataclass(frozen=True)
class Links:
    """What a new paper belongs to. A proof may have number and dates of another paper of its entry."""

    replaces_id: int | None = None
    obligation_id: int | None = None
    is_proof: bool = False


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
    links = Links(last[0] if last else None, obligation_id)
    document_id = _add(act, subject, paper, links, member_id)
    of_series = proposal.source in OF_A_SERIES
    obligations.close(act, obligation_id, Outcome.met, met_on, member_id=member_id, opens_next=of_series)
    if not of_series and proposal.due_on is not None:
        obligations.open_successor(act, obligation, subject, proposal.due_on, proposal.source)
    return Renewal(document_id, last[0] if last else None, proposal)


def grant(
    act: Act,
    obligation_id: int,
    ended_on: dt.date | None,
    paper: Paper,
    next_due_on: dt.date | None = None,
    *,
    goes_on: bool = True,
    member_id: int | None = None,
) -> Renewal | None:
    """The authority granted what was filed: the filing ends, and the deadline is renewed as met on that day.

    None where it is closed already.
    """
    obligation, _ = obligations.find_both(act, obligation_id, lock=True)
    if obligation.closed_at is not None:
        return None
    filings.end_filing(act, obligation_id, ended_on, FilingResult.granted)
    met_on = obligation.filing_ended_on
    return renew(act, obligation_id, paper, next_due_on, goes_on=goes_on, met_on=met_on, member_id=member_id)


def close_with(
    act: Act,
    obligation_id: int,
    proof: Paper,
    met_on: dt.date | None = None,
    note: str = "",
    member_id: int | None = None,
) -> bool:
    """Add the proof and close the deadline as met; False, and no paper, where it is closed already.

    A proof without a number is called by its file. It replaces no paper, and each deadline may have one of the name.
    """
    obligation, subject = obligations.find_both(act, obligation_id, lock=True)
    if obligation.closed_at is not None:
        return False
    if proof.file is None and not proof.number.strip():
        proofs.ask(act, obligation, subject)
    else:
        _lock(act, subject.id)
        _add(act, subject, _named(proof), Links(obligation_id=obligation_id, is_proof=True), member_id)
    return obligations.close(act, obligation_id, Outcome.met, met_on, note=note, member_id=member_id)


def _named(proof: Paper) -> Paper:
    if proof.number.strip() or proof.file is None:
        return proof
    kind = media.media_type(proof.file.name, proof.file.content)
    return replace(proof, number=media.clean_file_name(proof.file.name, kind))


def add_paper(
    act: Act,
    subject: Subject,
    paper: Paper,
    replaces_id: int | None = None,
    member_id: int | None = None,
    *,
    proves_id: int | None = None,
) -> int:
    """Add a paper; no deadline is closed. It stands beside the others, or replaces one that is current.

    It may be the proof of a deadline of this entry, which is then closed as done by whoever sees to that.
    """
    _lock(act, subject.id)
    if proves_id is not None and obligations.find_both(act, proves_id)[1].id != subject.id:
        words = later("%(reference)s has no such deadline: choose one of its deadlines.")
        raise Refused(words, reference=subject.reference)
    if replaces_id is not None and replaces_id not in _current(act, subject.id):
        raise Refused("The paper that it replaces is not current any more: look at the papers, and choose again.")
    return _add(act, subject, paper, Links(replaces_id, proves_id, is_proof=proves_id is not None), member_id)


def withdraw(act: Act, subject: Subject, document_id: int, note: str = "", member_id: int | None = None) -> bool:
    """Mark a paper as entered in error. What replaced it replaces from now on what it had replaced itself."""
    noted = typed.note(note)
    _lock(act, subject.id)
    own = select(Document).where(Document.org_id == act.org, Document.subject_id == subject.id)
    found = own.execution_options(populate_existing=True)
    document = act.session.scalars(found.where(Document.id == document_id)).one_or_none()
    if document is None:
        raise Refused("%(reference)s has no such paper: choose one of its papers.", reference=subject.reference)
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
    """The papers that nothing has replaced, the last one first; those entered in error, and proofs, are none."""
    newer = aliased(Document)
    is_replaced = exists().where(
        newer.org_id == act.org, newer.replaces_id == Document.id, newer.withdrawn_at.is_(None)
    )
    query = select(Document.id).where(
        Document.org_id == act.org,
        Document.subject_id == subject_id,
        Document.withdrawn_at.is_(None),
        ~is_replaced,
        ~Document.is_proof,
    )
    return list(act.session.scalars(query.order_by(Document.id.desc())))


def _add(act: Act, subject: Subject, paper: Paper, to: Links, member_id: int | None) -> int:
    stored = _stored(act, subject, paper)
    if not to.is_proof:
        _refuse_twin(act, subject, stored)
    links = {"replaces_id": to.replaces_id, "obligation_id": to.obligation_id, "is_proof": to.is_proof}
    added = {"added_at": act.now, "added_by": member_id}
    document = Document(org_id=act.org, subject_id=subject.id, **stored, **links, **added)
    act.session.add(document)
    act.session.flush()
    days = {name: iso(stored[name]) for name in ("issued_on", "valid_from", "valid_until")}
    said = {name: stored[name] for name in ("number", "issuer", "note")} | days | links
    file = attachments.keep(act, paper.file, member_id, document_id=document.id) if paper.file else None
    act.record("paper_added", subject_id=subject.id, document_id=document.id, **said, file=file)
    return document.id


def _stored(act: Act, subject: Subject, paper: Paper) -> dict[str, Any]:
    """The columns of a new paper, cleaned and checked."""
    stored = cleaned(paper)
    issued_on, today = stored["issued_on"], site_today(act, subject.site_id)
    if issued_on is not None and issued_on > today:
        words = later("The day of issue %(day)s is still to come: today is %(today)s at the site.")
        raise Refused(words, day=issued_on, today=today)
    return stored


def cleaned(paper: Paper) -> dict[str, Any]:
    """The columns that a paper fills, whatever entry it is of. Raises Refused for what is wrong with it by itself."""
    number = typed.text(paper.number, later("The number of the paper"), typed.LONGEST_REFERENCE)
    issuer = clean_text(paper.issuer, later("The issuer"), typed.LONGEST_NAME).replace("\n", " ")
    issued_on = _day(paper.issued_on, later("The day of issue"))
    valid_from = _day(paper.valid_from, later("The first day of validity"))
    valid_until = _day(paper.valid_until, later("The last day of validity"))
    if valid_from and valid_until and valid_until < valid_from:
        words = later("The last day of validity %(last)s is before the first, %(first)s: correct one of them.")
        raise Refused(words, last=valid_until, first=valid_from)
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
        raise Refused(
            "%(field)s %(day)s is outside the years %(first)s to %(last)s: correct it, or leave it out where there is "
            "none.",
            field=Refused(what), day=day, first=FIRST_DAY.year, last=LAST_DAY.year,
        )  # fmt: skip
    return day


def having(act: Act, stored: dict[str, Any], subject_ids: Sequence[int]) -> set[int]:
    """Those of the entries that have this very paper already: its number and all its dates."""
    same = {name: stored[name] for name in ("number_key", "issued_on", "valid_from", "valid_until")}
    of = select(Document.subject_id).where(Document.org_id == act.org, Document.subject_id.in_(subject_ids))
    alike = of.where(Document.withdrawn_at.is_(None), *(
        getattr(Document, name).is_not_distinct_from(value) for name, value in same.items()
    ))  # fmt: skip
    return set(act.session.scalars(alike))


def _refuse_twin(act: Act, subject: Subject, stored: dict[str, Any]) -> None:
    """A paper that is renewed may keep its number, but not all its dates, too: that is the same paper once more."""
    if having(act, stored, [subject.id]):
        raise Refused(
            "The number of the paper, %(number)s, is there already with the same dates: %(reference)s "
            "has this paper. If a deadline is done with it, close the deadline.",
            number=stored["number"],
            reference=subject.reference,
        )
