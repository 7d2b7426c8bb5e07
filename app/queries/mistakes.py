"""Imports that are, or may be, entered in error: what was told of them, and which entries are left as they are.

What was told is read from the trail: whatever was handed over between the import and its being taken back. A message
that may have been sent counts as told.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session

from app.domain.delivery import TOLD, State
from app.models import Acknowledgement, AuditEvent, Delivery, Member, NotificationLedger, Obligation, Site, Subject
from app.queries.entry_history import Event, names_of
from app.queries.imports import Run
from app.queries.names import Names
from app.queries.personal import read_personal

HANDED_OVER = (State.delivered, "handed_over")  # The events of what reached somebody, in the app and by e-mail.
ENTERED, LEFT = "import_entered_in_error", "left_by_mistaken_import"

Reason = tuple[int, int | None, Sequence[str]]  # An entry, the event of the work on it, what was not put back.


@dataclass(frozen=True)
class Told:
    """One message of an alert that reached somebody, or may have; and what that person answered."""

    delivery_id: int
    claim_id: int
    subject_id: int
    reference: str
    threshold: str
    due_on: dt.date
    person: str
    channel: str
    state: str
    at: dt.datetime
    answer: str | None


@dataclass(frozen=True)
class Entered:
    """An import was entered in error: the event, and how much it took back and left."""

    event_id: int
    counts: Mapping[str, int]


@dataclass(frozen=True)
class LeftEntry:
    """An entry that is left as it is: the last work on it since the import, or what could not be put back."""

    subject_id: int
    reference: str
    title: str
    site: str
    work: Event | None
    kept: Sequence[str]


@dataclass(frozen=True)
class Named:
    """An entry of the register, with its open due dates."""

    id: int
    reference: str
    title: str
    site: str
    status: str
    due_ons: Sequence[dt.date]


def read_entered(session: Session, org: int, run: Run) -> Entered | None:
    """What taking the import back came to; None while it is not in error."""
    if run.in_error_at is None:
        return None
    query = select(AuditEvent.id, AuditEvent.detail).where(AuditEvent.org_id == org, AuditEvent.at == run.in_error_at)
    query = query.where(AuditEvent.type == ENTERED, AuditEvent.detail["import_run_id"].as_integer() == run.id)
    found = session.execute(query).one()
    return Entered(found.id, found.detail["counts"])


def count_told(session: Session, org: int, run: Run, entered: Entered | None) -> int:
    """How many messages reached somebody, or may have."""
    return int(session.scalar(select(func.count()).select_from(_told(org, run, entered).subquery())) or 0)


def read_told(session: Session, org: int, run: Run, entered: Entered | None, most: int | None = None) -> list[Told]:
    """What reached somebody, the last one first, at most so many."""
    query = _told(org, run, entered).order_by(Delivery.handed_over_at.desc(), Delivery.id.desc())
    return [Told(**row._mapping) for row in session.execute(query.limit(most))]


def _told(org: int, run: Run, entered: Entered | None) -> Any:
    delivery, claim, answer = Delivery, NotificationLedger, Acknowledgement
    columns = (
        delivery.id.label("delivery_id"), delivery.claim_id, claim.subject_id, claim.reference, claim.threshold,
        claim.due_on, Member.name.label("person"), delivery.channel, delivery.state,
        delivery.handed_over_at.label("at"), answer.answer,
    )  # fmt: skip
    own = and_(answer.org_id == org, answer.claim_id == claim.id, answer.member_id == delivery.recipient_id)
    stands = and_(answer.taken_back_at.is_(None), answer.sent_back_at.is_(None))
    return (
        select(*columns)
        .join(claim, and_(claim.org_id == org, claim.id == delivery.claim_id))
        .join(Member, and_(Member.org_id == org, Member.id == delivery.recipient_id))
        .outerjoin(answer, and_(own, stands))
        .where(delivery.org_id == org, delivery.state.in_(TOLD), delivery.id.in_(_handed_over(org, run, entered)))
    )


def _handed_over(org: int, run: Run, entered: Entered | None) -> Any:
    """The deliveries that were handed over since the import, of the entries that it made or changed."""
    ours, event = _events(org, run), AuditEvent
    query = select(event.delivery_id).where(event.org_id == org, event.type.in_(HANDED_OVER))
    query = query.where(event.subject_id.in_(select(ours.c.subject_id)))
    query = query.where(event.id > select(func.min(ours.c.id)).scalar_subquery())
    return query if entered is None else query.where(event.id < entered.event_id)


def _events(org: int, run: Run) -> Any:
    """What the import did to entries, by the trail; its events bear its instant."""
    event = AuditEvent
    query = select(event.id, event.subject_id).where(event.org_id == org, event.at == run.at)
    query = query.where(event.detail["import_run_id"].as_integer() == run.id, event.subject_id.is_not(None))
    return query.cte("ours")


def read_left(session: Session, org: int, run: Run, most: int | None = None) -> list[Reason]:
    """The entries that were left when the import was taken back, as the trail has them, at most so many."""
    event = AuditEvent
    query = select(event.subject_id, event.detail).where(event.org_id == org, event.at == run.in_error_at)
    query = query.where(event.type == LEFT, event.detail["import_in_error"].as_integer() == run.id)
    rows = session.execute(query.order_by(event.id).limit(most))
    return [(row.subject_id, row.detail["work"], row.detail["kept"]) for row in rows]


def read_reasons(session: Session, org: int, reasons: Sequence[Reason]) -> tuple[list[LeftEntry], Names]:
    """The entries with the work that was done on them, and the names of whom and what these events name."""
    events = _works(session, org, {event_id for _, event_id, _ in reasons if event_id is not None})
    known = {one.id: one for one in read_named(session, org, [subject_id for subject_id, _, _ in reasons])}
    left = [
        LeftEntry(at, known[at].reference, known[at].title, known[at].site, events.get(event_id or 0), kept)
        for at, event_id, kept in reasons
    ]
    return left, names_of(session, org, list(events.values()))


def _works(session: Session, org: int, ids: Collection[int]) -> dict[int, Event]:
    event = AuditEvent
    query = select(event.id, event.at, event.actor, event.type, event.claim_id, event.detail)
    rows = session.execute(query.where(event.org_id == org, event.id.in_(ids))).all()
    known = read_personal(session, org, [row.id for row in rows])
    return {row.id: replace(Event(*row), detail=known.in_words(row.id, row.detail)) for row in rows}


def read_named(session: Session, org: int, ids: Sequence[int]) -> list[Named]:
    """These entries in the order of their references."""
    mine = and_(Obligation.org_id == org, Obligation.subject_id == Subject.id, Obligation.closed_at.is_(None))
    due_ons = select(func.array_agg(Obligation.due_on)).where(mine).scalar_subquery().label("due_ons")
    query = select(Subject.id, Subject.reference, Subject.title, Site.name, Subject.status, due_ons)
    query = query.join(Site, and_(Site.org_id == org, Site.id == Subject.site_id))
    query = query.where(Subject.org_id == org, Subject.id.in_(ids)).order_by(Subject.reference_key, Subject.id)
    return [
        Named(row.id, row.reference, row.title, row.name, row.status, sorted(row.due_ons or ()))
        for row in session.execute(query)
    ]
