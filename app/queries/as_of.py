"""What the register said at an instant of the past, and who had been told what by then.

An entry is what it is now less what the trail says has happened since (`app/domain/hindsight.py`). Alerts need nothing
taken back: they are only added to, each with its instants.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, and_, exists, func, or_, select
from sqlalchemy.orm import Session

from app.domain.delivery import TOLD
from app.domain.hindsight import CREATED, FILING, TYPES, Deadline, Entry, take_back
from app.models import (
    Acknowledgement,
    AlertRule,
    AuditEvent,
    Delivery,
    Member,
    NotificationLedger,
    Obligation,
    Subject,
)
from app.queries.keyset import PAGE, Cursor, Page, page_of
from app.queries.names import Names, read_names_of_entries
from app.queries.register import matches
from app.queries.sight import Sight

# What an entry says; the last line of them only a report shows.
FACTS = ("site_id", "kind_id", "title", "owner_member_id", "owner_post_id", "holder_id", "status", "snoozed_until",
         "part_of_id", "recurrence", "recurrence_basis", "legal_basis", "notes")  # fmt: skip


@dataclass(frozen=True)
class Told:
    """That somebody had been told of a due date by then, or had answered: `how` is the channel, or the answer."""

    at: dt.datetime
    due_on: dt.date
    rule: str
    threshold: str
    person: str
    how: str
    is_answer: bool


@dataclass(frozen=True)
class EntryThen:
    """An entry as it stood at the instant, in the names that places and people have now."""

    subject_id: int
    reference: str
    title: str
    site: str | None  # None where it then was at a site that the person may not see.
    timezone: str
    kind: str
    responsible: str | None
    holder: str | None
    status: str
    snoozed_until: dt.date | None
    deadlines: Sequence[Deadline]
    told: Sequence[Told]


def read_as_of(
    session: Session, sight: Sight, instant: dt.datetime, text: str = "", after: Cursor | None = None
) -> Page[EntryThen]:
    """The entries that there were right before the instant, in the order in which they were entered.

    Who may see an entry goes by the present, as everywhere; `text` is looked for in what it is called now.
    """
    page = page_of(session.execute(_entries(sight, instant, text, after)).all(), lambda row: (0, row.id))
    ids = [row.id for row in page.rows]
    then = entries_at(session, sight.org, ids, instant)
    names, told = read_names_of_entries(session, sight.org), read_told(session, sight.org, ids, instant)
    rows = [_shown(row, then[row.id], sight, names, told.get(row.id, [])) for row in page.rows]
    return Page(rows, page.after)


def entries_at(session: Session, org: int, subject_ids: Sequence[int], instant: dt.datetime) -> dict[int, Entry]:
    """These entries, as they were right before the instant; one that was entered later does not exist in its answer."""
    columns = [getattr(Subject, name) for name in FACTS]
    query = select(Subject.id, *columns).where(Subject.org_id == org, Subject.id.in_(subject_ids))
    now = {row.id: Entry({name: getattr(row, name) for name in FACTS}) for row in session.execute(query)}
    own = (Obligation.org_id == org, Obligation.subject_id.in_(subject_ids))
    filing = [getattr(Obligation, name) for name in FILING]
    dates = select(
        Obligation.subject_id, Obligation.id, Obligation.due_on, Obligation.outcome, Obligation.met_on, *filing
    )
    for subject_id, id, due_on, outcome, met_on, *filed in session.execute(dates.where(*own).order_by(Obligation.id)):
        now[subject_id].deadlines[id] = Deadline(due_on, outcome, met_on, dict(zip(FILING, filed, strict=True)))
    since: dict[int, list[tuple[str, Mapping[str, Any]]]] = defaultdict(list)
    event = AuditEvent
    happened = select(event.subject_id, event.type, event.detail).where(
        event.org_id == org, event.subject_id.in_(subject_ids), event.at >= instant, event.type.in_(TYPES)
    )
    for subject_id, type, detail in session.execute(happened.order_by(event.id.desc())):
        since[subject_id].append((type, detail))
    return {id: take_back(entry, since[id]) for id, entry in now.items()}


def _entries(sight: Sight, instant: dt.datetime, text: str, after: Cursor | None) -> Select[Any]:
    later = exists().where(
        AuditEvent.org_id == Subject.org_id,
        AuditEvent.subject_id == Subject.id,
        AuditEvent.type == CREATED,
        AuditEvent.at >= instant,
    )
    columns: list[Any] = [Subject.id, Subject.site_id, Subject.reference]
    query: Select[Any] = select(*columns)
    query = query.where(Subject.org_id == sight.org, sight.covers(Subject), ~later)
    if text:
        query = query.where(matches(sight.org, text, Subject))
    if after is not None:
        query = query.where(Subject.id > after[1])
    return query.order_by(Subject.id).limit(PAGE + 1)


def read_told(session: Session, org: int, subject_ids: Sequence[int], instant: dt.datetime) -> dict[int, list[Told]]:
    """By entry, in the order of time: what had been handed over, and the answers that stood."""
    claim, told = NotificationLedger, defaultdict(list)
    of = (claim.org_id == org, claim.subject_id.in_(subject_ids), claim.claimed_at < instant)
    what = (claim.subject_id, claim.due_on, AlertRule.name.label("rule"), claim.threshold, Member.name)
    left = func.coalesce(Delivery.handed_over_at, Delivery.delivered_at)
    sent = (
        select(*what, left.label("at"), Delivery.channel.label("how"))
        .join(Delivery, and_(Delivery.org_id == claim.org_id, Delivery.claim_id == claim.id))
        .join(Member, and_(Member.org_id == claim.org_id, Member.id == Delivery.recipient_id))
        .where(Delivery.state.in_(TOLD), left < instant)
    )
    said = Acknowledgement
    answered = (
        select(*what, said.acknowledged_at.label("at"), said.answer.label("how"))
        .join(said, and_(said.org_id == claim.org_id, said.claim_id == claim.id))
        .join(Member, and_(Member.org_id == claim.org_id, Member.id == said.member_id))
        .where(said.acknowledged_at < instant, _stood(said.taken_back_at, instant), _stood(said.sent_back_at, instant))
    )
    for query, is_answer in ((sent, False), (answered, True)):
        by_rule = query.join(AlertRule, and_(AlertRule.org_id == claim.org_id, AlertRule.id == claim.rule_id))
        for row in session.execute(by_rule.where(*of)):
            told[row.subject_id].append(Told(row.at, row.due_on, row.rule, row.threshold, row.name, row.how, is_answer))
    return {id: sorted(rows, key=lambda one: (one.at, one.is_answer, one.person)) for id, rows in told.items()}


def _stood(ended: Any, instant: dt.datetime) -> Any:
    return or_(ended.is_(None), ended >= instant)


def _shown(row: Any, then: Entry, sight: Sight, names: Names, told: Sequence[Told]) -> EntryThen:
    facts = then.facts
    site = sight.sites.get(facts["site_id"])
    snoozed = facts["snoozed_until"]
    return EntryThen(
        subject_id=row.id,
        reference=row.reference,
        title=facts["title"],
        site=site.name if site else None,
        timezone=(site or sight.sites[row.site_id]).timezone,
        kind=names.of("kind_id", facts["kind_id"]) or "",
        responsible=names.of("member_id", facts["owner_member_id"]) or names.of("post_id", facts["owner_post_id"]),
        holder=names.of("holder_id", facts["holder_id"]),
        status=facts["status"],
        snoozed_until=dt.date.fromisoformat(snoozed) if isinstance(snoozed, str) else snoozed,
        deadlines=sorted(then.deadlines.values(), key=lambda one: one.due_on),
        told=told,
    )
